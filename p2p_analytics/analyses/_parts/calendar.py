"""Local time as whole numbers: an offset from UTC that is worked out in Python, so that every engine agrees.

Engines differ in how they turn an instant into a local day, and some are silently wrong around changes of the clock.
So the offsets of a zone, and the periods of its days, are computed here, and a frame only adds and compares numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrame

from p2p_analytics.analyses import _engine
from p2p_analytics.times import DAY_US, END_US, FIRST_US, MICROSECOND, from_microseconds, to_microseconds

Every = Literal["day", "week", "month", "quarter", "year"]

HOUR_US: Final = DAY_US // 24
_SECOND_US: Final = 1_000_000
_MONDAY: Final = 3  # 1970-01-01 was a Thursday
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
# Days from the first of a period into the next one.
_LONGEST: Final = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


def within_calendar(instant: nw.Expr) -> nw.Expr:
    """Return instants with null for those outside the supported calendar."""
    return nw.when(instant >= FIRST_US, instant < END_US).then(instant)


def settled_us() -> nw.Expr:
    """Return the instants at which settled payments moved money, null for those outside the supported calendar."""
    return within_calendar(nw.coalesce(nw.col("date_completed"), nw.col("date_created")))


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
    with_offset = _add_steps(frame, instant, "offset", offsets, payments)
    return with_offset.with_columns(local_us=nw.col(instant) + nw.col("offset"))


def add_first_day(  # noqa: PLR0913 - as `add_local_time`, with the period
    frame: nw.LazyFrame[Any],
    instant: str,
    every: Every,
    *,
    zone: ZoneInfo,
    ends: tuple[int, int],
    payments: IntoFrame,
) -> nw.LazyFrame[Any]:
    """Return a frame with ``first_day``: the first day, counted from 1970-01-01, of the period in a zone.

    The other parameters are as in `add_local_time`.
    """
    steps = [] if every == "day" else _list_steps(every, zone, ends)
    if steps and _find_gap(steps) > DAY_US:
        return _add_steps(frame, instant, "first_day", steps, payments)
    # Days are many, and a clock may go back into the period before.
    local = add_local_time(frame, instant, zone, ends, payments)
    if every == "day":
        return add_local_day(local, "first_day")
    first, last = ends[0] // DAY_US - 1, ends[1] // DAY_US + 1  # no clock is a day ahead or behind
    return _add_steps(add_local_day(local, "day"), "day", "first_day", _list_starts(every, first, last), payments)


def _add_steps(
    frame: nw.LazyFrame[Any], at: str, name: str, steps: list[tuple[int, int]], payments: IntoFrame
) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: of pairs of a start and a value, that from the last start up to ``at``.

    The column ``at`` is null or not before the first start.
    """
    (first, value), *remaining = steps
    length = _find_gap(steps)
    rows = []  # stretches of this length, with the start of the step in each and the values before and after that
    for number, start in enumerate(range(first, steps[-1][0] + 1, length)):
        is_changed = bool(remaining) and remaining[0][0] < start + length
        turn, after = remaining.pop(0) if is_changed else (start, value)
        rows.append((number, turn, value, after))
        value = after
    names = [f"{name}_{part}" for part in ("stretch", "turn", "before", "after")]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    stretches = _engine.build_rows(payments, columns, dict.fromkeys(names, _engine.COUNT))
    last_stretch = (steps[-1][0] - first) // length
    stretch = nw.col(names[0]).cast(nw.Int64())
    return (
        _engine.add_quotient(frame, names[0], nw.col(at) - first, length)
        .with_columns(nw.when(stretch > last_stretch).then(last_stretch).otherwise(stretch).alias(names[0]))
        .join(stretches, on=names[0], how="left")
        .with_columns(
            nw.when(nw.col(at) >= nw.col(names[1])).then(nw.col(names[3])).otherwise(nw.col(names[2])).alias(name)
        )
    )


def _find_gap(steps: list[tuple[int, int]]) -> int:
    """Return the shortest time between two steps after the first one."""
    return min((later - earlier for (earlier, _), (later, _) in pairwise(steps[1:])), default=2**62)


def add_local_day(frame: nw.LazyFrame[Any], name: str) -> nw.LazyFrame[Any]:
    """Return a frame with the day of ``local_us``, counted from 1970-01-01, as one more column."""
    return _engine.add_quotient(frame, name, nw.col("local_us"), DAY_US)


def weekday(day: nw.Expr) -> nw.Expr:
    """Return the day of the week, Monday is 0."""
    return (day + _MONDAY) % 7


def list_periods(days: Collection[int | None], every: Every) -> list[int | None]:
    """Return the first day of each period from the first to the last of some days; null last, if it is among them."""
    dated = [day for day in days if day is not None]
    starts = [start for _, start in _list_starts(every, min(dated), max(dated))] if dated else []
    return [*starts, *([None] if None in days else [])]


def to_date(day: int) -> date:
    """Return a day that is counted from 1970-01-01 as a date."""
    return date.fromordinal(day + _EPOCH_DAY)


def name_month(day: int | None) -> str | None:
    """Return the month of a day like ``2024-05``."""
    return None if day is None else f"{to_date(day):%Y-%m}"


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


@cache
def _list_steps(every: Every, zone: ZoneInfo, ends: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the instants at which the period of a zone changes, each with the first day of the period."""
    offsets = find_offsets(*ends, zone)
    ends_of = [*(start - 1 for start, _ in offsets[1:]), ends[1]]
    found: list[tuple[int, int]] = []
    for (start, offset), end in zip(offsets, ends_of, strict=True):
        for day, first_day in _list_starts(every, (start + offset) // DAY_US, (end + offset) // DAY_US):
            if not found or found[-1][1] != first_day:
                found.append((max(day * DAY_US - offset, start), first_day))
    return found


def _list_starts(every: Every, first: int, last: int) -> list[tuple[int, int]]:
    """Return a day and the first days of the periods after it up to another, each with the first day of its period."""
    found = [(first, _first_day(first, every))]
    while (day := _first_day(found[-1][1] + _LONGEST[every], every)) <= last:
        found.append((day, day))
    return found


@cache
def _find_changes(year: int, zone: ZoneInfo) -> tuple[tuple[int, int], ...]:
    """Return the changes of a zone's offset in a year of UTC; no zone has two of them within three days."""
    first = to_microseconds(datetime(year, 1, 1, tzinfo=UTC))
    ends = [first + number * DAY_US for number in range(-1, 370, 3)]
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
    return offset // MICROSECOND
