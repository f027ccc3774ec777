"""Names and notes of payments in the form that figures display."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.plots._parts import _fonts, style
from p2p_analytics.plots._parts.text import join_words, to_drawable, to_drawable_names


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        ("Ada Quill", "Ada Quill"),
        ("Zoë Łukasz", "Zoë Łukasz"),
        ("rent 🏠", "rent"),
        ("Maya 🌻 Lind", "Maya Lind"),
        ("🇺🇸", "(United States)"),
        ("🌻🏠", "(sunflower house)"),
        ("Z\u0303\u0301\u0302\u0301\u0302o", "Z\u0303\u0301o"),
        ("e\u0301" * 3, "ééé"),
        ("two\r\nlines\tand  gaps", "two lines and gaps"),
        ("bell\x07 nul\x00 \u202eoverride\u2069", "bell nul override"),
        ("王小明", "(Chinese script)"),
        ("田中さくら", "(Japanese script)"),
        ("김민준", "(Korean script)"),
        ("สมชาย", "(Thai script)"),
        ("ᚠᛇᚻ", "(Runic script)"),
        ("Maya 王小明", "Maya …"),
        ("王 and 明", "… and …"),
        ("王 $5", "(Chinese script)"),
        ("\U0001d800\U0001d801", "(symbols)"),
        ("Maya \U0001d800", "Maya"),
        ("\U0001d4dc\U0001d4ea\U0001d502\U0001d4ea \uff2c\uff49\uff4e\uff44", "Maya Lind"),
        ("محمد علي", "محمد علي"),
        ("שלום", "שלום"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("Ma\u200dya \u200cLind\u200d", "Maya Lind"),
        ("_ada", "\u200a_ada"),
        ("½ rent", "½ rent"),
        ("$x$ and $y$", "$x$ and $y$"),
        ("exactly twenty-four long", "exactly twenty-four long"),
        ("this one is longer than twenty-four", "this one is longer than…"),
        ("", "(no name)"),
        (" \n\u200b", "(no name)"),
        (None, "(no name)"),
    ],
)
def test_clean(written: str | None, drawn: str) -> None:
    """A name is one short line of drawable characters; emoji and scripts without a font become words."""
    assert to_drawable(written) == drawn


@pytest.fixture(autouse=True)
def _shaping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any matplotlib join letters, as the newer ones do: `test_plots` draws with the installed one."""
    monkeypatch.setattr(_fonts, "CAN_SHAPE", True)


def test_lengths() -> None:
    """The limit counts displayed characters, including the ellipsis."""
    assert to_drawable("abcdefgh", longest=5) == "abcd…"
    assert len(to_drawable("👨‍👩‍👧‍👦" * 9)) <= 24


def test_suffixes_of_equal_names() -> None:
    """Equal displayed names get the username, else four characters of the id, or as many as make them unique."""
    names = ["Sam 🌻", "Sam", "Ann", "Ann", "Bo", "Bo", None, "Bo"]
    ids = ["11234", "25678", "3", "3", "901111", "911111", None, None]
    usernames = ["sam-1", None, "ann", "ann", None, None, None, None]
    assert to_drawable_names(names, usernames, ids) == [
        "Sam @sam-1", "Sam (…5678)", "Ann", "Ann", "Bo (…01111)", "Bo (…11111)", "(no name)", "Bo",
    ]  # fmt: skip
    long = "a name that never seems to come to any end"
    assert to_drawable_names([long, long], ["_long", None], ["1234", "5678"]) == [
        "a name that neve… @_long", "a name that nev… (…5678)",
    ]  # fmt: skip


def test_a_username_is_drawn_whole_or_not_at_all() -> None:
    """A username that does not fit, or has characters without a glyph, is replaced by the end of the id."""
    assert to_drawable_names(["Bo"] * 3, ["a" * 24, "🌻bo", "b" * 23], ["1111", "2222", "3333"]) == [
        "Bo (…1111)", "Bo (…2222)", "Bo @" + "b" * 23,
    ]  # fmt: skip


def test_a_name_in_a_script_without_a_font_is_the_username() -> None:
    """It is the username, or the script with the end of the id even if no other name is in that script."""
    names = ["王小明", "김민준", "王五", "李四", "김민준"]
    usernames = ["wang-1", None, "wang-1", "_li", None]
    assert to_drawable_names(names, usernames, ["1111", "2222", "3333", "4444", None]) == [
        "@wang-1 (…1111)", "(Korean script) (…2222)", "@wang-1 (…3333)", "@_li", "(Korean script)",
    ]  # fmt: skip
    assert to_drawable_names(["ᚠᛇᚻ"], [None], [None]) == ["(Runic script)"]


def test_plots_take_names_that_are_given() -> None:
    """Inside the block a person has the given name; others are named as without it."""
    people = {"counterparty_id": ["1", "2"], "counterparty_name": ["Sam"] * 2, "counterparty_username": ["sam", None]}
    names = style.name_people(people)
    assert names == {("1", "Sam"): "Sam @sam", ("2", "Sam"): "Sam (…2)"}
    alone = {"counterparty_id": ["1"], "counterparty_name": ["Sam"]}
    with style.use_names(names):
        assert style.read_names(alone, 1) == ["Sam @sam"]
        both = {"counterparty_id": ["1", "3"], "counterparty_name": ["Sam", "Ann"]}
        assert style.read_names(both, 2) == ["Sam @sam", "Ann"]
    assert style.read_names(alone, 1) == ["Sam"]


def test_names_from_right_to_left_keep_their_suffix_on_the_right() -> None:
    """An invisible letter on both sides makes the label read from left to right; a lone name needs none."""
    assert to_drawable_names(["محمد علي", "محمد علي", "שלום"], ["ali", None, None], ["11111", "22222", "33333"]) == [
        "\u200eمحمد علي\u200e @ali", "\u200eمحمد علي\u200e (…2222)", "שלום",
    ]  # fmt: skip
    assert join_words("40", "محمد") == "40 \u200eمحمد\u200e"


def test_scripts_that_an_older_matplotlib_draws_wrongly_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before version 3.11 letters are not joined, and stand from left to right."""
    monkeypatch.setattr(_fonts, "CAN_SHAPE", False)
    assert to_drawable("محمد علي") == "(Arabic script)"
    assert to_drawable("שלום") == "(Hebrew script)"
    assert to_drawable("Zoë") == "Zoë"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text(), st.none() | st.text(), st.none() | st.text()), max_size=5))
def test_any_names_are_drawable(people: list[tuple[str, str | None, str | None]]) -> None:
    """Whatever a name, a username and an id hold, the label has only characters with a glyph, on one line."""
    names, usernames, ids = (list(column) for column in zip(*people, strict=True)) if people else ([], [], [])
    labels = to_drawable_names(names, usernames, ids)
    assert len(labels) == len(people)
    for label in labels:
        assert label.strip()
        assert label.splitlines() == [label]
        assert not _fonts.find_undrawable(label)
