"""Names and notes of payments in the form that figures display."""

from __future__ import annotations

import pytest

from p2p_analytics.plots._text import to_drawable, to_drawable_names


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
        ("王小明", "□□□"),
        ("_ada", "\u200a_ada"),
        ("$x$ and $y$", "$x$ and $y$"),
        ("exactly twenty-four long", "exactly twenty-four long"),
        ("this one is longer than twenty-four", "this one is longer than…"),
        ("", "(no name)"),
        (" \n\u200b", "(no name)"),
        (None, "(no name)"),
    ],
)
def test_clean(written: str | None, drawn: str) -> None:
    """A name is one short line of characters that the font has; emoji become words only in names of nothing else."""
    assert to_drawable(written) == drawn


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
