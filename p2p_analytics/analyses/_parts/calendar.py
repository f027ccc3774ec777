"""Local time as whole numbers: an offset from UTC that is worked out in Python, so that every engine agrees.

Engines differ in how they turn an instant into a local day, and some are silently wrong around changes of the clock.
So the offsets of a zone, and the periods of its days, are computed here, and a frame only adds and compares numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.times import END_US, FIRST_US, from_microseconds, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from zoneinfo import ZoneInfo

    from narwhals.stable.v2.typing import IntoFrame

Every = Literal["day", "week", "month", "quarter", "year"]

DAY_US: Final = timedelta(days=1) // timedelta(microseconds=1)
HOUR_US: Final = DAY_US // 24
_SECOND_US: Final = 1_000_000
_MONDAY: Final = 3  # 1970-01-01 was a Thursday
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_STRETCHES: Final = {
    "stretch": _engine.COUNT,
    "turn_us": _engine.COUNT,
    "before": _engine.COUNT,
    "after": _engine.COUNT,
}
_FIRST_DAYS: Final = dict.fromkeys(("local_day", "first_day"), _engine.COUNT)
_DAYS: Final = dict.fromkeys(("local_day", "period"), _engine.COUNT)


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods without gaps; days are counted from 1970-01-01.

    Attributes
    ----------
    days : range
        Every day from the first to the last that was asked for.
    of_day : tuple of int
        The number of the period of each of these days, from 0.
    first_days : tuple of int
        The first day of each period; that of the first period may be before ``days``.
    """

    days: range
    of_day: tuple[int, ...]
    first_days: tuple[int, ...]


def within_calendar(instant: nw.Expr) -> nw.Expr:
    """Return instants with null for those outside the supported calendar."""
    return nw.when(instant >= FIRST_US, instant < END_US).then(instant)


def add_local_time(
    frame: nw.LazyFrame[Any], instant: str, zone: ZoneInfo, ends: tuple[int, int], payments: IntoFrame
) -> nw.LazyFrame[Any]:
    """Return a frame with ``local_us``: microseconds since 1970-01-01 00:00 on the clocks of a zone.

    Parameters
    ----------
    frame : LazyFrame
        With the column ``instant``, null or within ``ends``.
    instant : str
    zone : ZoneInfo
    ends : tuple of int
        An instant at or before the first of the frame, and one at or after the last, within the supported calendar.
    payments : frame
        The caller's frame; its engine computes.
    """
    offsets = find_offsets(*ends, zone)
    if len(offsets) == 1:
        return frame.with_columns(local_us=nw.col(instant) + offsets[0][1])
    first = ends[0]
    length = min((later - earlier for (earlier, _), (later, _) in pairwise(offsets[1:])), default=ends[1] - first + 1)
    rows = list(zip(*_cut(offsets, range(first, ends[1] + 1, length)), strict=True))
    stretches = _engine.build_rows(payments, dict(zip(_STRETCHES, rows, strict=True)), _STRETCHES)
    col = nw.col
    return (
        frame.with_columns(stretch=((col(instant) - first) // length).cast(nw.Int64()))
        .join(stretches, on="stretch", how="left")
        .with_columns(
            local_us=nw.when(col(instant) >= col("turn_us"))
            .then(col(instant) + col("after"))
            .otherwise(col(instant) + col("before"))
        )
    )


def local_day() -> nw.Expr:
    """Return the day of ``local_us``, counted from 1970-01-01."""
    return nw.col("local_us") // DAY_US


def weekday(day: nw.Expr) -> nw.Expr:
    """Return the day of the week, Monday is 0."""
    return (day + _MONDAY) % 7


def build_days(periods: Periods, payments: IntoFrame) -> nw.LazyFrame[Any]:
    """Return ``local_day`` and the number of its ``period``, for a join."""
    rows = {"local_day": list(periods.days), "period": list(periods.of_day)}
    return _engine.build_rows(payments, rows, _DAYS)


def add_first_day(
    frame: nw.LazyFrame[Any], every: Every, ends: tuple[int, int], payments: IntoFrame
) -> nw.LazyFrame[Any]:
    """Return a frame with ``first_day``: the first day of the period of ``local_us``, counted from 1970-01-01.

    ``ends`` are instants at or before the first, and at or after the last of the frame.
    """
    day = local_day()
    if every == "day":
        return frame.with_columns(first_day=day)
    if every == "week":
        return frame.with_columns(first_day=day - weekday(day))
    days = range(ends[0] // DAY_US - 1, ends[1] // DAY_US + 2)  # no clock is a day ahead or behind
    rows = {"local_day": list(days), "first_day": [_first_day(each, every) for each in days]}
    return frame.with_columns(local_day=day).join(
        _engine.build_rows(payments, rows, _FIRST_DAYS), on="local_day", how="left"
    )


def count_periods(days: Collection[int], every: Every) -> Periods:
    """Return the periods from the first to the last of some days, none if there are none."""
    every_day = range(min(days), max(days) + 1) if days else range(0)
    starts = [_first_day(day, every) for day in every_day]
    first_days = tuple(dict.fromkeys(starts))
    numbers = {start: number for number, start in enumerate(first_days)}
    return Periods(every_day, tuple(numbers[start] for start in starts), first_days)


def to_date(day: int) -> date:
    """Return a day that is counted from 1970-01-01 as a date."""
    return date.fromordinal(day + _EPOCH_DAY)


def find_offsets(first_us: int, last_us: int, zone: ZoneInfo) -> list[tuple[int, int]]:
    """Return the offsets of a zone from UTC between two instants, each with the instant from which it holds."""
    years = range(from_microseconds(first_us).year, from_microseconds(last_us).year + 1)
    changes = [change for year in years for change in _find_changes(year, zone)]
    return [
        (first_us, _offset(first_us, zone)),
        *((instant, offset) for instant, offset in changes if first_us < instant <= last_us),
    ]


def _first_day(day: int, every: Every) -> int:
    if every == "day":
        return day
    if every == "week":
        return day - (day + _MONDAY) % 7
    start = to_date(day)
    month = (start.month - 1) // _MONTHS[every] * _MONTHS[every] + 1
    return start.replace(month=month, day=1).toordinal() - _EPOCH_DAY


def _cut(offsets: list[tuple[int, int]], starts: range) -> Iterator[tuple[int, int, int, int]]:
    """Yield for each stretch of time its number, the instant at which the offset changes in it, and both offsets."""
    remaining = offsets[1:]
    offset = offsets[0][1]
    for number, start in enumerate(starts):
        turn, after = start, offset
        if remaining and remaining[0][0] < start + starts.step:
            turn, after = remaining.pop(0)
        yield number, turn, offset, after
        offset = after


@cache
def _find_changes(year: int, zone: ZoneInfo) -> tuple[tuple[int, int], ...]:
    """Return the changes of a zone's offset in a year of UTC; no zone has two of them within a day."""
    first = to_microseconds(datetime(year, 1, 1, tzinfo=UTC))
    ends = [first + number * DAY_US for number in range(-1, 367)]
    found = []
    for begin, end in pairwise(ends):
        if _offset(begin, zone) == (offset := _offset(end, zone)):
            continue
        seconds = range(begin, end + 1, _SECOND_US)
        change = seconds[bisect_left(seconds, True, key=lambda instant: _offset(instant, zone) == offset)]  # noqa: FBT003 - called at once
        if from_microseconds(change).year == year:
            found.append((change, offset))
    return tuple(found)


@cache
def _offset(instant_us: int, zone: ZoneInfo) -> int:
    offset = from_microseconds(instant_us).astimezone(zone).utcoffset() or timedelta()
    return offset // timedelta(microseconds=1)
