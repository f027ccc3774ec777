"""Dates and times in the cells of statement files, as UTC instants."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import polars as pl

from p2p_analytics.display import MONTH_NAMES

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Order: TypeAlias = Literal["mdy", "dmy"]
ORDERS: Final[tuple[Order, ...]] = ("mdy", "dmy")

_SPACES: Final = "[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff\t\r\n]"
_MINUS: Final = "[\u2010-\u2015\u2212\ufe63\uff0d]"
_WITH_POINTS: Final = r"^\s*[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"

_DATE: Final = (
    r"(?:((?:19|20|21)[0-9]{2})([-/.])([0-9]{1,2})[-/.]([0-9]{1,2})"
    r"|([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]((?:19|20|21)[0-9]{2}))"
)
_TIME: Final = (
    r"(?:(?:[Tt]| *,? +)([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,9}))?)?(?: *([AaPp])\.?[Mm]\.?)?"
)
_ZONE: Final = r"(?: *\(?([Zz]|[+-][0-9]{2}:?[0-9]{2}|[A-Za-z][A-Za-z0-9_+:/-]{1,40})\)?)?)?"
_MOMENT: Final = rf"^\s*{_DATE}{_TIME}{_ZONE}\s*$"
_COMMON: Final = r"^(?:19|20|21)[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9]$"

_MONTHS: Final = {name.lower(): f"-{number}-" for number, name in enumerate(MONTH_NAMES, 1)}
_MONTH: Final = r"([A-Za-z]{3})[a-z]{0,6}\.?"
_WORDED: Final = rf"^\s*(?:{_MONTH} ([0-9]{{1,2}}),? ([0-9]{{4}})|([0-9]{{1,2}})\.? {_MONTH},? ([0-9]{{4}}))"

# An abbreviation means this offset also where the time zone database has a zone of that name with summer time.
# Abbreviations of several zones that statement files do not use, such as IST, are not listed.
_OFFSET_HOURS: Final = {
    "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8,
    "HST": -10, "AST": -4, "ADT": -3, "BRT": -3, "SGT": 8, "HKT": 8, "JST": 9, "AWST": 8, "AEST": 10, "AEDT": 11,
    "NZST": 12, "NZDT": 13,
}  # fmt: skip
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", re.ASCII)
_SECONDS_PER_MINUTE: Final = 60
_LARGEST_OFFSET_HOURS: Final = 15


def parse_instants(
    cells: pl.Series, *, tz: ZoneInfo, order: Order | pl.Series = "mdy", zones: pl.Series | None = None
) -> pl.Series:
    """Return datetimes as UTC instants.

    A datetime is a date, alone or with a time, or with a time and a zone: ``2024-05-31T18:30:00Z``,
    ``2024-05-31 18:30 CDT``, ``05/31/2024, 6:30:15 PM``, ``31 May 2024``, or ``31.05.2024`` with the order "dmy".
    A date alone means its first moment. The zone is an offset, a name of the time zone database or one of the
    abbreviations that statement files use; each abbreviation is a fixed offset.

    A local time that occurs twice, because the clock was put back, means the first one. One that the clock skipped
    when it was put forward is read with the offset before the change, as `datetime` does with ``fold=0``.

    Parameters
    ----------
    cells : polars.Series
        Text. Date and time of two columns are joined with a space.
    tz : ZoneInfo
        Zone of datetimes without one.
    order : {"mdy", "dmy"} or polars.Series
        Whether the month or the day is first in a date that ends in the year; or of each cell, whether it is the day.
    zones : polars.Series, optional
        The zone of each cell, from a separate column; a zone in the cell wins.

    Returns
    -------
    polars.Series
        Datetime("us", "UTC"); null for a cell without text or with other text, for dates that do not exist, for
        years outside 1900 to 2199 and for unknown zones.
    """
    cells = cells.cast(pl.String)
    if cells.null_count() == len(cells):
        return pl.Series(cells.name, [None] * len(cells), pl.Datetime("us", "UTC"))
    if zones is None and cells.str.contains(_COMMON).all():
        common = cells.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
        return _convert(common.to_frame("local"), tz.key or "UTC").alias(cells.name)
    groups = _number_months(use_plain_characters(cells)).str.extract_groups(_MOMENT).struct.unnest()
    (year, _, month, day, one, two, late_year, hour, minute, second, fraction, half, zone) = (
        pl.col(name) for name in groups.columns
    )
    is_day_first = pl.lit(value=order == "dmy") if isinstance(order, str) else pl.lit(order)
    first, last = (pl.when(is_day_first).then(late).otherwise(early) for early, late in ((one, two), (two, one)))
    noon, number, half = 12, hour.fill_null("0").cast(pl.Int64), half.str.to_lowercase()
    in_day = number % noon + pl.when(half == "p").then(noon).otherwise(0)
    # An hour such as 13 PM is null.
    of_half = pl.when(number.is_between(1, noon)).then(in_day)
    hours = pl.when(half.is_null()).then(number).otherwise(of_half).cast(pl.String).str.zfill(2)
    date = [pl.coalesce(year, late_year), pl.coalesce(month, first), pl.coalesce(day, last)]
    micros = fraction.fill_null("").str.slice(0, 6).str.pad_end(6, "0")
    moment = pl.format("{}-{}-{} {}:{}:{}.{}", *date, hours, minute.fill_null("00"), second.fill_null("00"), micros)
    if zones is not None:
        zone = pl.coalesce(zone, pl.lit(zones.cast(pl.String).str.strip_chars().replace("", None)))
    local = moment.str.to_datetime("%Y-%m-%d %H:%M:%S%.6f", time_unit="us", strict=False)  # null without date or hour
    return _read_zones(groups.select(local=local, zone=zone), tz).alias(cells.name)


def list_orders(cells: pl.Series) -> list[Order]:
    """Return the orders of day and month in which all dates that end in the year exist; with points, the day first."""
    cells, months = cells.cast(pl.String), 12
    numbers = cells.str.extract_groups(_MOMENT).struct.unnest().select(pl.nth(4, 5).cast(pl.Int64).max()).row(0)
    possible = [order for order, number in zip(ORDERS, numbers, strict=True) if (number or 1) <= months]
    return ["dmy"] if len(possible) > 1 and cells.str.contains(_WITH_POINTS).any() else possible


def _number_months(cells: pl.Series) -> pl.Series:
    """Return dates with an English month, such as "24 Mar 2020" or "Apr 2, 2019", as "2020-3-24"."""
    if not cells.str.contains(_WORDED).any():
        return cells
    groups = cells.str.extract_groups(_WORDED).struct.unnest()
    month, day, year, other_day, other_month, other_year = (pl.col(name) for name in groups.columns)
    number = pl.coalesce(month, other_month).str.to_lowercase().replace_strict(_MONTHS, default=None)
    rest = pl.lit(cells.str.replace(_WORDED, ""))
    date = pl.concat_str(pl.coalesce(year, other_year), number, pl.coalesce(day, other_day), rest)
    return groups.select(pl.coalesce(date, pl.lit(cells))).to_series()


def use_plain_characters(cells: pl.Series) -> pl.Series:
    """Return text with plain spaces and minus signs."""
    if not cells.str.contains(r"[^ -~]").any():
        return cells
    return cells.str.replace_all(_SPACES, " ").str.replace_all(_MINUS, "-")


def _read_zones(read: pl.DataFrame, tz: ZoneInfo) -> pl.Series:
    """Return the instants of local times with the zones named beside them."""
    zones = {name: _find_zone(name) for name in read["zone"].drop_nulls().unique().sort()}
    offsets: dict[str, Any] = {name: zone for name, zone in zones.items() if isinstance(zone, int)}
    default = _convert(read.select("local"), tz.key or "UTC")
    seconds = pl.col("zone").replace_strict(offsets or {"": 0}, default=None, return_dtype=pl.Int64)
    with_offset = pl.col("local").dt.replace_time_zone("UTC") - pl.duration(seconds=seconds)
    instants = [pl.when(pl.col("zone").is_null()).then(pl.lit(default)), with_offset]
    named = [
        pl.when(pl.col("zone") == name).then(pl.lit(_convert(read, zone)))
        for name, zone in zones.items()
        if isinstance(zone, str)
    ]
    return read.select(pl.coalesce(*instants, *named)).to_series()


def _find_zone(name: str) -> int | str | None:
    """Return the offset in seconds, or the name in the time zone database, of a zone; None if it is unknown."""
    hours = _OFFSET_HOURS.get(name.upper())
    if hours is not None:
        return hours * _SECONDS_PER_MINUTE**2
    if offset := _OFFSET.fullmatch(name.upper()):
        hour, minute = int(offset[2]), int(offset[3] or 0)
        seconds = (hour * _SECONDS_PER_MINUTE + minute) * _SECONDS_PER_MINUTE
        is_offset = hour <= _LARGEST_OFFSET_HOURS and minute < _SECONDS_PER_MINUTE
        return (-seconds if offset[1] == "-" else seconds) if is_offset else None
    return name if "/" in name and has_zone(name) else None


@lru_cache
def has_zone(name: str) -> bool:
    """Return whether Polars knows a zone of the time zone database."""
    try:
        pl.Series([None], dtype=pl.Datetime("us")).dt.replace_time_zone(name)
    except pl.exceptions.PolarsError:
        return False
    return True


def _convert(read: pl.DataFrame, zone: str) -> pl.Series:
    """Return the instants of the column ``local`` in a zone."""
    local = pl.col("local")
    if zone == "UTC":
        return read.select(local.dt.replace_time_zone("UTC")).to_series()
    # The clock skips an hour, or a day where a country changed to the other side of the date line.
    skips = (pl.duration(), pl.duration(hours=1), pl.duration(days=1))
    read_as = [
        (local - skip).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null") + skip for skip in skips
    ]
    return read.select(pl.coalesce(read_as).dt.convert_time_zone("UTC")).to_series()
