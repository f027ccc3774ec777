"""Foreign text in figures: names and notes with emoji, dollar signs and control characters.

matplotlib reads text between two dollar signs as a formula, which can fail for the whole figure. It hides legend
entries with a leading underscore, and warns about each glyph that the font lacks. A right-to-left override
reverses the rest of the line.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import NO_NAME, name_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence

FONT: Final = "DejaVu Sans"  # part of matplotlib, so a figure is the same on every machine
_LONGEST: Final = 24
_SHORTEST: Final = 8
_MOST_MARKS: Final = 2  # combining marks per letter; no language needs more
_MISSING_GLYPH: Final = "□"
_BEFORE_UNDERSCORE: Final = "\u200a"  # a hair space

# Keyword arguments for every piece of text: none is parsed as a formula.
TEXT: Final[dict[str, Any]] = {"parse_math": False, "fontfamily": FONT}


def to_drawable(text: str | None, *, longest: int = _LONGEST) -> str:
    """Return a name or note as one short line of characters that the font has.

    Emoji are removed, or replaced by their names in brackets if there is no other text. Line breaks become spaces;
    control and direction characters are removed; other characters without a glyph become a box. A letter
    keeps two of its combining marks, and a text that is too long ends in an ellipsis.
    """
    import emoji

    given = text or ""
    line = _to_line(emoji.replace_emoji(given, " "))
    if not line:
        words = _to_line(emoji.demojize(given, delimiters=(" ", " ")).replace("_", " "))
        line = f"({words})" if words else NO_NAME
    if line.startswith("_"):
        line = _BEFORE_UNDERSCORE + line
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def to_drawable_names(
    names: Sequence[str | None], usernames: Sequence[str | None], ids: Sequence[str | None]
) -> list[str]:
    """Return drawable names, with the username or the end of the id where two people have the same name."""
    drawable = [to_drawable(name) for name in names]
    keys = [identifier or name for name, identifier in zip(names, ids, strict=True)]
    suffixes = name_suffixes(drawable, usernames, keys, clean=to_drawable)
    return [
        f"{to_drawable(name, longest=max(_LONGEST - len(suffix) - 1, _SHORTEST))} {suffix}" if suffix else line
        for name, line, suffix in zip(names, drawable, suffixes, strict=True)
    ]


def _to_line(text: str) -> str:
    letters: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", " ".join(text.split())):
        category = unicodedata.category(character)
        marks = marks + 1 if category.startswith("M") else marks if category.startswith("C") else 0
        if marks <= _MOST_MARKS:
            letters.append(_to_glyph(character, category))
    return " ".join("".join(letters).split())


def _to_glyph(character: str, category: str) -> str:
    if category.startswith("C"):
        return ""
    if ord(character) in _glyphs():
        return character
    return "" if category.startswith("M") else _MISSING_GLYPH


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont(FONT)).get_charmap())
