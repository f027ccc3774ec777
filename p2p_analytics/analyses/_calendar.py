"""Calendar months of a zone as exact instants, worked out in Python so that every engine agrees.

Engines differ in how they turn an instant into a local month, and some are silently wrong around
changes of the clock. So the months' first instants are computed here with ``zoneinfo``, and a
frame only compares integers with them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from p2p_analytics.times import from_microseconds, to_microseconds

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

# No month is as short as this, whatever the clock does: a stretch holds at most one month's start.
STRETCH_US: Final = timedelta(days=26) // timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1) // timedelta(microseconds=1)
_DAY: Final = 86_400 * _SECOND


@dataclass(frozen=True, slots=True)
class Stretches:
    """Equal stretches of time from ``first_us`` on, and where each one turns into the next month.

    In stretch ``n``, instants before ``turns[n]`` belong to the month ``months[before[n]]``, the
    others to the month after it.
    """

    first_us: int
    months: tuple[str, ...]
    before: tuple[int, ...]
    turns: tuple[int, ...]


def stretches(first_us: int, last_us: int, tz: ZoneInfo) -> Stretches:
    """Return the months of a zone from one instant to another, both inside, and within ``FIRST_US`` to ``END_US``."""
    numbers = range(_month(first_us, tz), _month(last_us, tz) + 1)
    starts = [_start(number, tz) for number in numbers]
    before, turns = [], []
    for begin in range(first_us, last_us + 1, STRETCH_US):
        at = max(bisect_right(starts, begin) - 1, 0)
        before.append(at)
        turns.append(starts[at + 1] if at + 1 < len(starts) else last_us + 1)
    months = tuple(f"{number // 12:04d}-{number % 12 + 1:02d}" for number in numbers)
    return Stretches(first_us, months, tuple(before), tuple(turns))


def _month(instant_us: int, tz: ZoneInfo) -> int:
    local = from_microseconds(instant_us).astimezone(tz)
    return local.year * 12 + local.month - 1


@cache
def _start(number: int, tz: ZoneInfo) -> int:
    """Return the first instant of a month.

    Where clocks go forward over midnight of the 1st, the local midnight does not exist; then it is searched for, to
    the second.
    """
    local = datetime(number // 12, number % 12 + 1, 1, tzinfo=tz)
    start = to_microseconds(local)
    if _month(start, tz) == number and _month(start - 1, tz) == number - 1:
        return start
    midnight = to_microseconds(local.replace(tzinfo=UTC))
    seconds = range(midnight - _DAY, midnight + _DAY, _SECOND)
    return seconds[bisect_left(seconds, number, key=lambda instant: _month(instant, tz))]
