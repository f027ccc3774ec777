"""Amounts, dates, counts and foreign text in the form that is displayed to people."""

from __future__ import annotations

import itertools
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

PRIVATE: Final = "Privacy mode: names and amounts are invented"
STRICT: Final = "Strict privacy mode: names and amounts are invented, dates are months"
HIDDEN_NAME: Final = "(name hidden by privacy mode)"
NO_NAME: Final = "(no name)"
MONTH_NAMES: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOST_MONTHS: Final = 240  # a longer series of months is mostly empty: one wrong date extends it to that date
_SHORTEST_SUFFIX: Final = 4
_DIRECTION_CONTROLS: Final = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def format_money(units: float | None, *, decimals: int = 2) -> str:
    """Return an amount in US dollars, by default with cents."""
    if units is None:
        return "not known"
    return f"{'−' if units < 0 else ''}${abs(units):,.{decimals}f}"  # noqa: RUF001 - a minus sign, as wide as a plus


def format_day(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return the date of an instant in a zone, such as "31 May 2024"; the machine's language has no influence."""
    if instant is None:
        return "no date"
    there = to_zone(instant, zone)
    return f"{there.day} {MONTH_NAMES[there.month - 1]} {there.year}"


def format_month(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return the month of an instant in a zone, such as "May 2024"."""
    if instant is None:
        return format_day(instant, zone)
    return format_day(instant, zone).partition(" ")[2]


def to_zone(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return an instant in a zone, unchanged if the zone's date is outside the range of datetime."""
    try:
        return instant.astimezone(zone)
    except (OverflowError, ValueError):
        return instant


def format_count(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural}"


def clean_text(value: object) -> str:
    """Return foreign text that a UTF-8 file can hold, without control characters other than newline and tab."""
    if value is None:
        return "not known"
    encodable = str(value).encode("utf-8", "replace").decode("utf-8")
    return "".join(
        character for character in encodable if unicodedata.category(character) != "Cc" or character in "\n\t"
    )


def clean_line(text: str | None) -> str:
    """Return foreign text on one line, without control, surrogate and direction characters; empty for None."""
    kept = [
        character
        for character in text or ""
        if unicodedata.category(character) not in {"Cc", "Cs"}
        and unicodedata.bidirectional(character) not in _DIRECTION_CONTROLS
    ]
    return " ".join("".join(kept).split())


def keep_printable(text: str, longest: int | None = None) -> str:
    """Return the printable characters of foreign text for a message or a terminal, at most ``longest`` of them."""
    return "".join(character for character in text if character.isprintable())[:longest]


def name_suffixes(
    names: Sequence[str], keys: Sequence[str | None], *, clean: Callable[[str], str] = clean_line
) -> list[str]:
    """Return for each displayed name the suffix that distinguishes it from the same name with another key.

    The suffix is the end of the key in brackets: four characters, or as many as make it unique. It is empty for a
    name with a single key, and for a name that is its own key.

    Parameters
    ----------
    names : sequence of str
        Names as they are displayed.
    keys : sequence of str or None
        What identifies the person behind each name, such as the user id.
    clean : callable
        Makes the end of a key displayable.
    """
    keys_of: dict[str, set[str]] = {}
    for name, key in zip(names, keys, strict=True):
        keys_of.setdefault(name, set()).add(key or "")
    suffixes = []
    for name, key in zip(names, keys, strict=True):
        same = keys_of[name]
        width = next(n for n in itertools.count(_SHORTEST_SUFFIX) if len({other[-n:] for other in same}) == len(same))
        suffixes.append(f"(…{clean(key[-width:])})" if key and key != name and len(same) > 1 else "")
    return suffixes
