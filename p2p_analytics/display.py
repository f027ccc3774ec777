"""Amounts, dates and people's own words as they are shown to people."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

PRIVATE: Final = "Privacy mode: names and amounts are invented"
STRICT: Final = "Strict privacy mode: names and amounts are invented, dates are months"
HIDDEN: Final = "somebody whose name privacy mode hides"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def money(units: float | None) -> str:
    """Return an amount in US dollars, with cents."""
    if units is None:
        return "not known"
    return f"{'−' if units < 0 else ''}${abs(units):,.2f}"  # noqa: RUF001 - a minus sign, as wide as a plus


def day(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return a zone's date in words; ``strftime`` would follow the machine's language."""
    if instant is None:
        return "no date"
    there = local(instant, zone)
    return f"{there.day} {_MONTHS[there.month - 1]} {there.year}"


def month(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return a zone's month in words, such as "May 2024"."""
    if instant is None:
        return day(instant, zone)
    return day(instant, zone).partition(" ")[2]


def local(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return an instant in a zone, or as it is within hours of the first or last moment that there is."""
    try:
        return instant.astimezone(zone)
    except (OverflowError, ValueError):
        return instant


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def text(value: object) -> str:
    """Return what somebody wrote as text that a UTF-8 file can hold, without control characters."""
    if value is None:
        return "not known"
    whole = str(value).encode("utf-8", "replace").decode("utf-8")
    return "".join(character for character in whole if unicodedata.category(character) != "Cc" or character in "\n\t")
