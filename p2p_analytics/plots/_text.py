"""Words that people wrote, made safe to draw: names and notes hold emoji, dollar signs and worse.

Two dollar signs would start a formula and lose the whole figure, a leading underscore hides a
legend entry, a glyph that the font lacks gives a warning and a box, and a right-to-left override
turns a row around.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, Final

FONT: Final = "DejaVu Sans"  # comes with matplotlib, so a figure is the same on every machine
NO_NAME: Final = "(no name)"
_LONGEST: Final = 24
_STAND_IN: Final = "□"
_BEFORE_UNDERSCORE: Final = "\u200a"  # a hair space

# How every piece of text is drawn: nothing in it is a formula.
TEXT: Final[dict[str, Any]] = {"parse_math": False, "fontfamily": FONT}


def clean(text: str | None, *, longest: int = _LONGEST) -> str:
    """Return a name or note as one short line of drawable characters.

    Emoji become their names, line breaks spaces, control and direction characters nothing, other
    characters without a glyph a box; what is too long ends in an ellipsis.
    """
    import emoji

    line = " ".join(emoji.demojize(text or "").split())
    shown = "".join(filter(None, map(_drawable, line))).strip()
    if not shown:
        return NO_NAME
    if shown.startswith("_"):
        shown = _BEFORE_UNDERSCORE + shown
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "…"


def _drawable(character: str) -> str:
    category = unicodedata.category(character)
    if category.startswith("C"):
        return ""
    if ord(character) in _glyphs():
        return character
    return "" if category.startswith("M") else _STAND_IN


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont(FONT)).get_charmap())
