"""Names and notes of payments in the form that figures display, and the fonts that draw them."""

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import ft2font
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from p2p_analytics import plots
from support.plots.axes import list_rows

shapes_letters = pytest.mark.skipif(mpl.__version_info__ < (3, 11), reason="this matplotlib does not join letters")


def draw_names(*people: tuple[str | None, str | None, str | None]) -> list[str]:
    """Return the labels of people with these names, usernames and ids."""
    names, usernames, ids = ([*column] for column in zip(*people, strict=True))
    columns = {"counterparty_id": ids, "counterparty_name": names, "counterparty_username": usernames}
    return [*plots.name_people(columns).values()]


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        ("Zoë Łukasz", "Zoë Łukasz"),
        ("Maya 🌻 Lind", "Maya Lind"),
        ("🇺🇸", "(United States)"),
        ("🌻🏠", "(sunflower house)"),
        ("Z\u0303\u0301\u0302\u0301\u0302o", "Z\u0303\u0301o"),
        ("e\u0301" * 3, "ééé"),
        ("two\r\nlines\tand  gaps", "two lines and gaps"),
        ("bell\x07 nul\x00 \u202eoverride\u2069", "bell nul override"),
        ("王小明", "(Chinese script)"),
        ("田中さくら", "(Japanese script)"),
        ("สมชาย", "(Thai script)"),
        ("Maya 王小明", "Maya …"),
        ("王 and 明", "… and …"),
        ("王 $5", "(Chinese script)"),
        ("\U0001d800\U0001d801", "(symbols)"),
        ("Maya \U0001d800", "Maya"),
        ("\U0001d4dc\U0001d4ea\U0001d502\U0001d4ea \uff2c\uff49\uff4e\uff44", "Maya Lind"),
        ("Ma\u200dya \u200cLind\u200d", "Maya Lind"),
        ("_ada", "\u200a_ada"),
        ("½ rent", "½ rent"),
        ("$x$ and $y$", "$x$ and $y$"),
        ("exactly twenty-four long", "exactly twenty-four long"),
        ("this one is longer than twenty-four", "this one is longer than…"),
        ("👨‍👩‍👧‍👦" * 9, "(family man woman girl…"),
        ("", "(no name)"),
        (" \n\u200b", "(no name)"),
        (None, "(no name)"),
    ],
)
def test_clean(written: str | None, drawn: str) -> None:
    """A name is one short line of drawable characters; emoji and scripts without a font become words."""
    assert draw_names((written, None, None)) == [drawn]


def test_suffixes_of_equal_names() -> None:
    """Equal displayed names get the username, else four characters of the id, or as many as make them unique."""
    people = [
        ("Sam 🌻", "sam-1", "11234"), ("Sam", None, "25678"), ("Ann", "ann", "3"), ("Bo", None, "901111"),
        ("Bo", None, "911111"), (None, None, None), ("Bo", None, None),
    ]  # fmt: skip
    assert draw_names(*people) == ["Sam @sam-1", "Sam (…5678)", "Ann", "Bo (…01111)", "Bo (…11111)", "(no name)", "Bo"]
    long = "a name that never seems to come to any end"
    assert draw_names((long, "_long", "1234"), (long, None, "5678")) == [
        "a name that neve… @_long", "a name that nev… (…5678)",
    ]  # fmt: skip


def test_a_username_is_drawn_whole_or_not_at_all() -> None:
    """A username that does not fit, or has characters without a glyph, is replaced by the end of the id."""
    assert draw_names(("Bo", "a" * 24, "1111"), ("Bo", "🌻bo", "2222"), ("Bo", "b" * 23, "3333")) == [
        "Bo (…1111)", "Bo (…2222)", "Bo @" + "b" * 23,
    ]  # fmt: skip


def test_a_name_in_a_script_without_a_font_is_the_username() -> None:
    """It is the username, or the script with the end of the id even if no other name is in that script."""
    assert draw_names(
        ("王小明", "wang-1", "1111"), ("김민준", None, "2222"), ("王五", "wang-1", "3333"), ("李四", "_li", "4444"),
        ("김민준", None, None),
    ) == ["@wang-1 (…1111)", "(Korean script) (…2222)", "@wang-1 (…3333)", "@_li", "(Korean script)"]  # fmt: skip


@shapes_letters
def test_names_from_right_to_left_keep_their_suffix_on_the_right() -> None:
    """An invisible letter on both sides makes the label read from left to right; a lone name needs none."""
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    people = [("محمد علي", "ali", "11111"), ("محمد علي", None, "22222"), ("שלום", None, "33333"), (persian, None, "4")]
    assert draw_names(*people) == [
        "\u200eمحمد علي\u200e @ali", "\u200eمحمد علي\u200e (…2222)", "שלום", persian,
    ]  # fmt: skip


def test_scripts_that_an_older_matplotlib_draws_wrongly_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before version 3.11 letters are not joined, and stand from left to right."""
    monkeypatch.delattr(ft2font, "__libraqm_version__", raising=False)
    people = [("محمد علي", None, None), ("שלום", None, None), ("Zoë", None, None)]
    assert draw_names(*people) == ["(Arabic script)", "(Hebrew script)", "Zoë"]


@settings(max_examples=8, derandomize=True)
@given(st.lists(st.tuples(st.text(), st.none() | st.text(), st.none() | st.text()), min_size=4, max_size=9))
def test_any_names_are_drawable(people: list[tuple[str, str | None, str | None]]) -> None:
    """Whatever a name, a username and an id hold, the label is one line, and is drawn without a warning."""
    names, usernames, ids = zip(*people, strict=True)
    table = {"counterparty_id": ids, "counterparty_name": names, "counterparty_username": usernames}
    ax = plots.spend_by_friend(pd.DataFrame({**table, "sent": 1.0, "received": 0.0}), ax=Figure().subplots())
    ax.figure.draw_without_rendering()
    labels = list_rows(ax)
    assert len(labels) == len(people)
    assert all(label.strip() and label.splitlines() == [label] for label in labels)


OWN = "DejaVu Sans"


def _plot(*names: str, **columns: object) -> Axes:
    table = {"counterparty_name": names, "sent": 1.0, "received": 0.0, **columns}
    return plots.spend_by_friend(pd.DataFrame(table))


def _families(ax: Axes) -> list[list[str]]:
    return [label.get_fontfamily() for label in ax.get_yticklabels()]


def test_a_name_is_drawn_with_an_installed_font(install_font) -> None:
    """A Chinese name is drawn with a font that has it, also one that is added later; others with the usual font."""
    assert _families(_plot("王小明", "Ada")) == [[OWN], [OWN]]
    install_font("Square Sans", "王小明")
    ax = _plot("王小明", "Ada", "Maya 王")
    assert list_rows(ax) == ["王小明", "Ada", "Maya 王"]
    assert _families(ax) == [[OWN, "Square Sans"], [OWN], [OWN, "Square Sans"]]


def test_no_warning_and_the_same_bytes(install_font) -> None:
    """A drawn name causes no warning (the tests turn warnings into errors), and an image is reproducible."""
    table = pd.DataFrame({"counterparty_name": ["王小明", "김"], "sent": [2.0, 1.0], "received": 0.0})
    without = plots.to_image(plots.spend_by_friend, table, "svg")
    install_font("Square Sans", "王小明")
    first, again = (plots.to_image(plots.spend_by_friend, table, "svg") for _ in range(2))
    assert first == again != without


def test_the_choice_of_fonts(install_font) -> None:
    """One font for the whole text, of the text's region, without serifs and with many characters; else few fonts."""
    for family, characters in {
        "A Part Sans": "王小",
        "Another Sans": "王小明",
        "Square Sans JP": "王かな",
        "Ethiopic Sans": "ለ",
        "Whole Sans": "王小明一二",
        "Whole Serif": "王小明一二三四か",
        "Blank": "ᚠ",
    }.items():
        install_font(family, characters)
    chosen = {
        "王小明": ["Whole Sans"],
        "王": ["Whole Sans"],
        "王ለ": ["Whole Sans", "Ethiopic Sans"],
        "かな": ["Square Sans JP"],
        "王か": ["Square Sans JP"],
        "明か": ["Whole Serif"],
        "ᚠ": [],
    }
    assert _families(_plot(*chosen)) == [[OWN, *families] for families in chosen.values()]


def test_a_name_of_which_a_part_has_no_font(install_font) -> None:
    """The part with a font is drawn, the rest is an ellipsis; a name without any is described."""
    install_font("Square Sans", "王小")
    assert list_rows(_plot("王小明", "明", "明", counterparty_id=["1111", "2222", "3333"])) == [
        "王小…", "(Chinese script) (…2222)", "(Chinese script) (…3333)",
    ]  # fmt: skip


def test_wide_characters_count_twice(install_font) -> None:
    """Twelve Chinese characters are as wide as twenty-four letters."""
    install_font("Square Sans", "王")
    assert list_rows(_plot("王" * 12, "王" * 13, "ab" + "王" * 12)) == [
        "王" * 12,
        "王" * 11 + "…",
        "ab" + "王" * 10 + "…",
    ]


def test_a_font_that_was_removed_or_is_broken_is_not_used(install_font) -> None:
    """The list of fonts that matplotlib keeps may be older than the files."""
    install_font("Gone Sans", "王").unlink()
    install_font("Broken Sans", "王").write_bytes(b"no font")
    assert list_rows(_plot("王")) == ["(Chinese script)"]


def test_faces_that_matplotlib_would_replace_are_not_used(install_font) -> None:
    """A family without a regular face would be drawn in another weight, with a message in the log."""
    install_font("Square Sans", "王")
    entry = fontManager.ttflist.pop()
    fields = {name: getattr(entry, name) for name in ("fname", "name", "variant", "stretch", "size")}
    for change in ({"style": "italic", "weight": 400}, {"style": "normal", "weight": 900}):
        fontManager.ttflist.append(type(entry)(**fields, **change))
        assert list_rows(_plot("王")) == ["(Chinese script)"]


def test_fonts_are_read_once(install_font, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first name with rarer characters looks for the installed fonts, later plots look for none."""
    install_font("Square Sans", "王小明")
    found: list[str] = []
    find = fontManager.findfont
    monkeypatch.setattr(fontManager, "findfont", lambda *font, **options: found.append(font) or find(*font, **options))
    _plot("王小明", "김")
    first = len(found)
    assert first > 2
    _plot("王小明", "明", "ᚠ", "김")
    assert len(found) == first
