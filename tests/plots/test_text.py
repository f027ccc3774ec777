"""Names and notes that people wrote, as a figure may show them."""

from __future__ import annotations

import pytest

from p2p_analytics.plots._text import clean


@pytest.mark.parametrize(
    ("written", "drawn"),
    [
        ("Ada Quill", "Ada Quill"),
        ("Zoë Łukasz", "Zoë Łukasz"),
        ("rent 🏠", "rent :house:"),
        ("🇺🇸", ":United_States:"),
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
    """A name is one short line of characters that the font has, emoji by their names."""
    assert clean(written) == drawn


def test_lengths() -> None:
    """The limit counts what is drawn, with the ellipsis."""
    assert clean("abcdefgh", longest=5) == "abcd…"
    assert len(clean("👨‍👩‍👧‍👦" * 9)) == 24
