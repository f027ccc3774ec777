"""Fonts of figures: one that is part of matplotlib, and installed ones for the characters that it lacks.

matplotlib draws with a list of families, and takes each character from the first that has it. A character that none
has becomes a box, with a warning. So a text is drawn with the families that `find_families` returns, and characters
that `find_undrawable` returns have to be replaced.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from matplotlib import ft2font
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.ft2font import FT2Font

if TYPE_CHECKING:
    from collections.abc import Sequence

FONT: Final = "DejaVu Sans"  # part of matplotlib, so a figure without rarer characters is the same on every machine
# Fonts with a box or nothing as every glyph, or with pictures or formula signs under the codes of letters.
_UNREADABLE: Final = re.compile(r"last ?resort|blank|notdef|dings|^cm[a-z]+\d+$", re.IGNORECASE)
_NOT_SANS: Final = re.compile(r"serif|mono|ming|mincho|song|myeongjo|batang|symbol|unifont", re.IGNORECASE)
# Chinese, Japanese and Korean write some characters differently, and need fonts with these endings.
_REGIONS: Final = {"HIRAGANA": "JP", "KATAKANA": "JP", "HANGUL": "KR", "CJK": "SC"}
_SHAPED: Final = frozenset(
    {
        "BALINESE", "BENGALI", "CHAKMA", "CHAM", "DEVANAGARI", "GUJARATI", "GURMUKHI", "JAVANESE", "KANNADA", "KHMER",
        "LAO", "MALAYALAM", "MEETEI", "MONGOLIAN", "MYANMAR", "ORIYA", "SINHALA", "SUNDANESE", "TAMIL", "TELUGU",
        "THAI", "TIBETAN",
    }
)  # fmt: skip
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL", "AN"})
_REGULAR: Final = (400, "normal", "regular")


def find_families(text: str) -> list[str]:
    """Return the families to draw a text with: `FONT`, and installed ones for the characters that it lacks."""
    return [FONT, *_choose_families(_find_lacking(text))]


def is_in_own_font(text: str) -> bool:
    """Return whether `FONT` has all visible characters of a text."""
    return not _find_lacking(text)


def find_undrawable(text: str) -> frozenset[str]:
    """Return the characters of a text that no family has, or that this version of matplotlib draws wrongly."""
    lacking = _find_lacking(text)
    covered = {
        character
        for family in _choose_families(lacking)
        for character in lacking
        if _has_glyph(_find_charmap(family), character)
    }
    can_shape = hasattr(ft2font, "__libraqm_version__")  # joined letters and right to left, since matplotlib 3.11
    unshaped = frozenset[str]() if can_shape else frozenset(filter(needs_shaping, text))
    return lacking - covered | unshaped


def find_script(character: str) -> str:
    """Return the first word of a character's Unicode name, which for letters is the script: ``"HANGUL"``, ``"CJK"``."""
    return unicodedata.name(character, "").partition(" ")[0].partition("-")[0]


def is_right_to_left(text: str) -> bool:
    """Return whether a text has characters that are written from right to left."""
    return any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


def needs_shaping(character: str) -> bool:
    """Return whether a character is of a script with joined letters, placed marks or another direction."""
    return is_right_to_left(character) or find_script(character) in _SHAPED


def _find_lacking(text: str) -> frozenset[str]:
    """Return the visible characters of a text that `FONT` lacks."""
    own = _find_charmap(FONT)
    return frozenset(
        character
        for character in text
        if unicodedata.category(character) != "Cf" and not character.isspace() and not _has_glyph(own, character)
    )


def _choose_families(lacking: frozenset[str]) -> tuple[str, ...]:
    # Fonts can be added while the process runs.
    return _search_families(lacking, len(fontManager.ttflist)) if lacking else ()


@lru_cache(maxsize=4096)
def _search_families(lacking: frozenset[str], installed: int) -> tuple[str, ...]:
    """Return one family that has all characters, or the fewest that have as many as possible; the same every time."""
    regions = {_REGIONS.get(find_script(character), "") for character in lacking}
    region = max(regions - {"", "SC"}, default="SC" if "SC" in regions else "")
    ranked = sorted(
        _list_families(installed),
        key=lambda family: (
            not family.endswith(f" {region}"),
            bool(_NOT_SANS.search(family)),
            -len(_find_charmap(family)),  # a small font for another language may have some of the characters
            family,
        ),
    )
    chosen: list[str] = []
    rest = lacking
    while rest:
        covered = {family: {each for each in rest if _has_glyph(_find_charmap(family), each)} for family in ranked}
        best = max(ranked, key=lambda family: len(covered[family]), default="")  # the first of several
        if not covered.get(best):
            break
        chosen.append(best)
        rest -= covered[best]
    return tuple(chosen)


@lru_cache(maxsize=1)
def _list_families(_installed: int) -> frozenset[str]:
    """Return the readable families that matplotlib finds without a substitute for the regular face."""
    names = {each.name for each in fontManager.ttflist if each.style == "normal" and each.weight in _REGULAR}
    return frozenset(name for name in names if name.strip() and not _UNREADABLE.search(name))


@cache
def _find_charmap(family: str) -> Sequence[int]:
    """Return the code points of the face that matplotlib draws a family with, ascending; empty if it cannot."""
    properties = FontProperties(family=[family], weight=_REGULAR[0])
    try:
        path: Any = fontManager.findfont(properties, fallback_to_default=False)
        index = getattr(path, "face_index", 0)  # since matplotlib 3.11
        face: Any = FT2Font(path, face_index=index) if index else FT2Font(path)
        return array("I", sorted(face.get_charmap())) if face.scalable else ()
    except (OSError, RuntimeError, ValueError):  # a file that was removed or is broken
        return ()


def _has_glyph(charmap: Sequence[int], character: str) -> bool:
    at = bisect_left(charmap, ord(character))
    return at < len(charmap) and charmap[at] == ord(character)
