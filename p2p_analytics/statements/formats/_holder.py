"""The holder of a statement: handle and period of the lines before the header, and the name in the rows."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.statements.ledger.sides import find_owners

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo


_HANDLE: Final = re.compile(r"\(@([^()\s]{1,100})\)")
_DAY: Final = r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?"
_PERIOD: Final = re.compile(rf"{_DAY} (?:to|-) {_DAY}", re.ASCII)
_USERNAME: Final = "username"


def read_handles(preambles: Mapping[str, Sequence[Sequence[str]]], cells: pl.DataFrame) -> dict[str, str | None]:
    """Return the account of each file: the handle before the header, else the first one in the column of usernames."""
    handles = {file: _find_handle(lines) for file, lines in preambles.items()}
    named = cells.select("file", _USERNAME).filter(pl.col(_USERNAME).is_not_null())
    names = named.filter(pl.col(_USERNAME).str.strip_chars().str.contains(r"^\S+$"))
    for file, name in names.group_by("file", maintain_order=True).agg(pl.col(_USERNAME).first()).iter_rows():
        handles[file] = handles.get(file) or name.strip().removeprefix("@")
    return handles


def read_periods(
    preambles: Mapping[str, Sequence[Sequence[str]]], tz: ZoneInfo
) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Return the first and last moment of the period in the title, such as "June 1st to September 1st 2021".

    Its days are those of the zone of the file's datetimes.
    """
    found: dict[str, tuple[datetime | None, datetime | None]] = {}
    for file, lines in preambles.items():
        period = next(filter(None, (_find_period(" ".join(line), tz) for line in lines)), None)
        if period is not None:
            found[file] = period
    return found


def find_holders(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with ``owner`` and the ``direction`` of their sign, as far as their own file shows them."""
    flow = pl.col("flow_cents")
    unknown = dict.fromkeys(("counterparty_name", "counterparty_username", "counterparty_id"), pl.lit(None, pl.String))
    rows = rows.with_columns(
        pl.when(flow > 0).then(pl.lit("in")).when(flow < 0).then(pl.lit("out")).alias("direction"), **unknown
    )
    owners = find_owners(rows, "file")
    return rows.join(owners, left_on="file", right_on="key", how="left", maintain_order="left")


def _find_handle(lines: Sequence[Sequence[str]]) -> str | None:
    for line in lines:
        found = _HANDLE.search(" ".join(line))
        if found:
            return found[1]
        if len(line) > 1 and line[0].strip().casefold() == _USERNAME and line[1].strip():
            return line[1].strip().removeprefix("@")
    return None


def _find_period(title: str, tz: ZoneInfo) -> tuple[datetime, datetime] | None:
    found = _PERIOD.search(title)
    if found is None or found[6] is None:
        return None
    first_month, first_day, first_year, last_month, last_day, last_year = found.groups()
    end = _find_day(int(last_year), last_month, last_day)
    start = _find_day(int(first_year or last_year), first_month, first_day)
    if end and start and start > end and first_year is None:
        start = _find_day(int(last_year) - 1, first_month, first_day)
    if end is None or start is None or start > end:
        return None
    first, last = datetime.combine(start, time.min, tz), datetime.combine(end, time.max, tz)
    return first.astimezone(UTC), last.astimezone(UTC)


def _find_day(year: int, month: str, day: str) -> date | None:
    try:
        return date(year, [name.casefold() for name in MONTH_NAMES].index(month[:3].casefold()) + 1, int(day))
    except ValueError:
        return None
