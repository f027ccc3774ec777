"""Words that people wrote, made safe to draw: names and notes hold emoji, dollar signs and worse.

Two dollar signs would start a formula and lose the whole figure, a leading underscore hides a
legend entry, a glyph that the font lacks gives a warning and a box, and a right-to-left override
turns a row around.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import NO_NAME, name_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence

FONT: Final = "DejaVu Sans"  # comes with matplotlib, so a figure is the same on every machine
_LONGEST: Final = 24
_SHORTEST: Final = 8
_MOST_MARKS: Final = 2  # on one letter, which every language can be written with
_STAND_IN: Final = "□"
_BEFORE_UNDERSCORE: Final = "\u200a"  # a hair space

# How every piece of text is drawn: nothing in it is a formula.
TEXT: Final[dict[str, Any]] = {"parse_math": False, "fontfamily": FONT}


def clean(text: str | None, *, longest: int = _LONGEST) -> str:
    """Return a name or note as one short line of drawable characters.

    Emoji are left out, or stand as words in brackets where there is nothing else. Line breaks become
    spaces, control and direction characters nothing, other characters without a glyph a box; a letter
    keeps two of the marks on it, and what is too long ends in an ellipsis.
    """
    import emoji

    written = text or ""
    shown = _line(emoji.replace_emoji(written, " "))
    if not shown:
        words = _line(emoji.demojize(written, delimiters=(" ", " ")).replace("_", " "))
        shown = f"({words})" if words else NO_NAME
    if shown.startswith("_"):
        shown = _BEFORE_UNDERSCORE + shown
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "…"


def clean_names(names: Sequence[str | None], ids: Sequence[str | None]) -> list[str]:
    """Return people's names, cleaned, with the end of the id where two people would look alike."""
    shown = [clean(name) for name in names]
    keys = [identifier or name for name, identifier in zip(names, ids, strict=True)]
    ends = name_suffixes(shown, keys, clean=clean)
    return [
        f"{clean(name, longest=max(_LONGEST - len(end) - 1, _SHORTEST))} {end}" if end else whole
        for name, whole, end in zip(names, shown, ends, strict=True)
    ]


def _line(text: str) -> str:
    letters: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", " ".join(text.split())):
        category = unicodedata.category(character)
        marks = marks + 1 if category.startswith("M") else marks if category.startswith("C") else 0
        if marks <= _MOST_MARKS:
            letters.append(_drawable(character, category))
    return " ".join("".join(letters).split())


def _drawable(character: str, category: str) -> str:
    if category.startswith("C"):
        return ""
    if ord(character) in _glyphs():
        return character
    return "" if category.startswith("M") else _STAND_IN


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont(FONT)).get_charmap())
