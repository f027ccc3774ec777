"""Cadences: how often a payment recurs, and when the next one is expected."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

ACTIVE: Final = "active"
LATE: Final = "late"
ENDED: Final = "ended"
_LATE_FROM: Final = (5, 4)  # periods after the last date, as a fraction
_ENDED_FROM: Final = (5, 2)
_LONGEST_MONTH: Final = 31
_MONTHS_OF_YEAR: Final = 12
_FIRST_YEAR, _LAST_YEAR = 1969, 2203  # local days of the supported calendar, and dates expected after them


class Cadence(NamedTuple):
    """A cadence.

    Attributes
    ----------
    name : str
    days, months : int
        The period: of one, the other is 0.
    usual : float
        How many days a date is usually off.
    most : int
        How many days a date may be off.
    pause : int
        How many periods may be between two payments.
    """

    name: str
    days: int
    months: int
    usual: float
    most: int
    pause: int

    @property
    def length(self) -> float:
        """The mean number of days of a period."""
        return self.days or self.months * 365.25 / 12


CADENCES: Final = (
    Cadence("weekly", 7, 0, 0.9, 3, 8),
    Cadence("fortnightly", 14, 0, 1.4, 5, 5),
    Cadence("monthly", 0, 1, 2.4, 10, 3),
    Cadence("quarterly", 0, 3, 4, 25, 2),
    Cadence("yearly", 0, 12, 6, 40, 2),
)


def add_periods(day: int, number: int, cadence: Cadence, day_of_month: int | None = None) -> int:
    """Return the day some periods after a day, both counted from 1970-01-01.

    Months are calendar months: the day of the month stays, or is the last one of a shorter month.
    """
    if cadence.days:
        return day + number * cadence.days
    starts = _start_months()
    at = bisect_right(starts, day) - 1
    wanted = day - starts[at] if day_of_month is None else day_of_month - 1
    at += number * cadence.months
    return min(starts[at] + wanted, starts[at + 1] - 1)


def add_to_each(days: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any], cadence: Cadence) -> np.ndarray[Any, Any]:
    """Return the days numbers of periods after days, as `add_periods` does for one."""
    if cadence.days:
        weeks_later: np.ndarray[Any, Any] = days + numbers * cadence.days
        return weeks_later
    starts, month_of = _start_months_array()
    at = month_of.take(days - starts[0], mode="clip")
    later = at + numbers * cadence.months
    added: np.ndarray[Any, Any] = np.minimum(starts.take(later) + days - starts.take(at), starts.take(later + 1) - 1)
    return added


def find_next(days: Sequence[int], cadence: Cadence) -> int:
    """Return the day on which a series is expected next, one period after its last one.

    A series on the last days of months stays there. A last date that a short month made earlier does not count as a
    new day of the month: a series on the 30th goes on from February 28th to March 30th.
    """
    last = days[-1]
    if not cadence.months:
        return add_periods(last, 1, cadence)
    places = [find_place(day) for day in days]
    day, length = places[-1]
    if day < length:
        return add_periods(last, 1, cadence)
    each_day = [each for each, _ in places]
    if cadence.months % _MONTHS_OF_YEAR == 0:
        return add_periods(last, 1, cadence, max(each_day))
    is_at_end = all(each == of for each, of in places)
    return add_periods(last, 1, cadence, _LONGEST_MONTH if is_at_end else max(day, statistics.median_high(each_day)))


def find_state(last: int, expected: int, today: int) -> str:
    """Return the state of a series on a day: the period is that from the last date to the next expected one."""
    period, waited = expected - last, today - last
    if waited * _ENDED_FROM[1] >= period * _ENDED_FROM[0]:
        return ENDED
    return LATE if waited * _LATE_FROM[1] >= period * _LATE_FROM[0] else ACTIVE


def find_days_of_month(days: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the days of the month of days since 1970-01-01."""
    starts, month_of = _start_months_array()
    found: np.ndarray[Any, Any] = days - starts.take(month_of.take(days - starts[0], mode="clip")) + 1
    return found


def find_place(day: int) -> tuple[int, int]:
    """Return the day of the month of a day since 1970-01-01, and the length of that month."""
    starts = _start_months()
    at = bisect_right(starts, day) - 1
    return day - starts[at] + 1, starts[at + 1] - starts[at]


@cache
def _start_months() -> list[int]:
    """Return the first days of all months of the calendar."""
    starts = [-365]
    for year in range(_FIRST_YEAR, _LAST_YEAR):
        for month in range(1, 13):
            starts.append(starts[-1] + monthrange(year, month)[1])
    return starts


@cache
def _start_months_array() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the first days of all months, and the number of the month of each day from the first one."""
    starts = np.array(_start_months(), dtype=np.int32)
    return starts, np.arange(len(starts) - 1, dtype=np.int32).repeat(np.diff(starts))
