"""The form of single cells and rows of a file: amounts, dates, quotes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEEDS_QUOTES: Final = ',"\r\n'
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def format_money(cents: int) -> str:
    """Return an amount without a sign, such as ``$1,234.56``."""
    units, rest = divmod(abs(cents), 100)
    return f"${units:,}.{rest:02d}"


def format_signed(cents: int) -> str:
    """Return an amount with its sign, such as ``- $1,234.56``."""
    return f"{'-' if cents < 0 else '+'} {format_money(cents)}"


def to_datetime(when_us: int) -> datetime:
    """Return microseconds since 1970 as a datetime in UTC of whole seconds."""
    return _EPOCH + timedelta(seconds=when_us // 1_000_000)


def format_instant(when_us: int) -> str:
    """Return an instant as ``2024-01-15T14:30:22``, in UTC and without a zone."""
    return f"{to_datetime(when_us):%Y-%m-%dT%H:%M:%S}"


def format_period(start: date, end: date) -> str:
    """Return a period as ``June 1st to September 1st 2021``; the first year is named where it is another one."""
    year = f" {start.year}" if start.year != end.year else ""
    return f"{_format_day(start)}{year} to {_format_day(end)} {end.year}"


def _format_day(day: date) -> str:
    return f"{day:%B} {day.day}{_ENDINGS.get(day.day, 'th')}"


def join_rows(rows: Iterable[Iterable[str]], *, line_end: str = "\n", quote_all: bool = False) -> str:
    """Return rows as CSV text; cells are quoted where they have to be, or all of them."""
    return "".join(",".join(_quote(cell, always=quote_all) for cell in row) + line_end for row in rows)


def _quote(cell: str, *, always: bool) -> str:
    if not always and not any(character in cell for character in _NEEDS_QUOTES):
        return cell
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'
