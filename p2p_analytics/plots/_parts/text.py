"""Foreign text in figures: names and notes with emoji, dollar signs and control characters.

matplotlib reads text between two dollar signs as a formula, which can fail for the whole figure. It hides legend
entries with a leading underscore, and draws a box, with a warning, for a character that no font has. A right-to-left
override reverses the rest of the line.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Final

import emoji

from p2p_analytics.display import NO_NAME, name_suffixes
from p2p_analytics.plots._parts._fonts import (
    FONT,
    find_families,
    find_script,
    find_undrawable,
    is_in_own_font,
    is_right_to_left,
    needs_shaping,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST: Final = 24
_SHORTEST: Final = 8
_MOST_MARKS: Final = 2  # combining marks per letter; no language needs more
_BEFORE_UNDERSCORE: Final = "\u200a"  # a hair space
_LEFT_TO_RIGHT: Final = "\u200e"  # an invisible letter
_JOINERS: Final = "\u200c\u200d"  # decide the shape of the letters next to them
_ELLIPSIS: Final = "…"
_KANA: Final = frozenset({"HIRAGANA", "KATAKANA"})
_SCRIPTS: Final = {
    **dict.fromkeys(_KANA, "Japanese"),
    **dict.fromkeys(("CJK", "KANGXI", "IDEOGRAPHIC"), "Chinese"),
    "HANGUL": "Korean",
    "": "unknown",
}

# Keyword arguments for every piece of text: none is parsed as a formula. Foreign text may need more fonts.
TEXT: Final[dict[str, Any]] = {"parse_math": False, "fontfamily": FONT}


def style_text(text: str) -> dict[str, Any]:
    """Return `TEXT` with the fonts for a drawable text."""
    return {**TEXT, "fontfamily": find_families(text)}


def to_drawable(text: str | None, *, longest: int = _LONGEST) -> str:
    """Return a name or note as one short line of characters that the installed fonts have.

    Emoji are removed, or replaced by their names in brackets without other text. Line breaks become spaces;
    control and direction characters are removed. Letters that no font has are replaced by an ellipsis, and a text
    without other letters by the name of the script in brackets. A letter keeps two of its combining marks. A text
    that is too long ends in an ellipsis; Chinese, Japanese and Korean characters count twice, because they are wide.
    """
    return _shorten(_to_line(text)[0], longest)


def to_drawable_file(name: str | None) -> str:
    """Return the name of a file as `to_drawable` does, but keep its end, in which files of one kind differ."""
    line = _to_line(name)[0]
    if _shorten(line, _LONGEST) == line:
        return line
    end = _shorten(line[::-1], _LONGEST - _SHORTEST)[::-1].removeprefix(_ELLIPSIS)
    return _shorten(line, _SHORTEST) + end


def to_drawable_names(
    names: Sequence[str | None], usernames: Sequence[str | None], ids: Sequence[str | None]
) -> list[str]:
    """Return drawable names, with the username or the end of the id where two people have the same name.

    A name in a script that no installed font has is replaced by the username, else by the name of the script and the
    end of the id.
    """
    lines: list[str] = []
    keys: list[str | None] = []
    scripts: dict[str, None] = {}  # a set in order
    for name, username, identifier in zip(names, usernames, ids, strict=True):
        line, is_drawable = _to_line(name)
        handle = f"@{username or ''}"
        if not is_drawable and username and to_drawable(handle) == handle:
            line = handle
        elif not is_drawable:
            scripts[line] = None
        lines.append(line)
        keys.append(identifier or (None if line in scripts else name))

    def fit(line: str, room: int) -> str:
        return line if line in scripts else _shorten(line, max(room, _SHORTEST))

    labels = [fit(line, _LONGEST) for line in lines]
    # One more person without a key makes the name of a script ambiguous even if it occurs once.
    nobody: list[None] = [None] * len(scripts)
    suffixes = name_suffixes([*labels, *scripts], [*usernames, *nobody], [*keys, *nobody], clean=to_drawable)
    return [
        join_words(fit(line, _LONGEST - len(suffix) - 1), suffix) if suffix else label
        for line, label, suffix in zip(lines, labels, suffixes[: len(lines)], strict=True)
    ]


def join_words(*drawable: str) -> str:
    """Return drawable texts with a space between them."""
    return " ".join(map(keep_left_to_right, drawable))


def keep_left_to_right(drawable: str) -> str:
    """Return a text so that what follows it stands on its right, also if the text is written from right to left."""
    return f"{_LEFT_TO_RIGHT}{drawable}{_LEFT_TO_RIGHT}" if is_right_to_left(drawable) else drawable


def _to_line(text: str | None) -> tuple[str, bool]:
    """Return the text on one line, and whether it can be drawn; if not, the line describes it."""
    given = text or ""
    line = _clean(emoji.replace_emoji(given, " "))
    if not line:
        words = _clean(emoji.demojize(given, delimiters=(" ", " ")).replace("_", " "))
        return (f"({words})" if words else NO_NAME), True
    drawable = _replace_undrawable(line)
    if not drawable:
        return _describe(line), False
    return _BEFORE_UNDERSCORE + drawable if drawable.startswith("_") else drawable, True


def _clean(text: str) -> str:
    """Return the text on one line, without invisible characters and with at most two marks per letter."""
    kept: list[str] = []
    marks = 0
    line = unicodedata.normalize("NFC", " ".join(text.split()))
    for at, character in enumerate(line):
        category = unicodedata.category(character)
        marks = marks + 1 if category.startswith("M") else marks if category.startswith("C") else 0
        is_joiner = character in _JOINERS and all(map(needs_shaping, line[max(at - 1, 0) : at + 2 : 2]))
        if is_joiner or (marks <= _MOST_MARKS and not category.startswith("C")):
            kept.append(character)
    return " ".join("".join(kept).split())


def _replace_undrawable(line: str) -> str:
    """Return the line with an ellipsis for letters that cannot be drawn; empty if no letter of it can."""
    # The plain letters that characters of a decorative alphabet are equivalent to, if only they have glyphs.
    forms = [(character, unicodedata.normalize("NFKC", character)) for character in line]
    line = "".join(plain if is_in_own_font(plain) and not is_in_own_font(own) else own for own, plain in forms)
    undrawable = find_undrawable(line)
    is_letter = [character.isalpha() for character in line]
    if any(is_letter) and not any(map(str.isalpha, set(line) - undrawable)):
        return ""
    pieces: list[str] = []
    for character, letter in zip(line, is_letter, strict=True):
        if character not in undrawable:
            pieces.append(character)
        elif letter and not (pieces and pieces[-1] == _ELLIPSIS):
            pieces.append(_ELLIPSIS)
    return " ".join("".join(pieces).split())


def _describe(line: str) -> str:
    """Return the script of a line in brackets."""
    scripts = [find_script(character) for character in line if character.isalpha()]
    if not scripts:
        return "(symbols)"
    script = next((script for script in scripts if script in _KANA), scripts[0])
    return f"({_SCRIPTS.get(script, script.capitalize())} script)"


def _shorten(line: str, longest: int) -> str:
    """Return the line, or as much of it as is not wider than ``longest`` characters, with an ellipsis."""
    widths = [2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line]
    if sum(widths) <= longest:
        return line
    width = kept = 0
    while width + widths[kept] < longest:
        width += widths[kept]
        kept += 1
    return line[:kept].rstrip() + _ELLIPSIS
