"""Planning of the calendar windows in which a history is requested; sends nothing.

A window ends at the start of a calendar unit if possible, so that later loads send the same requests and find the
pages in the cache. All times are aware UTC.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.client.window import BEGINNING, GRACE, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NEAR_ENOUGH: Final = 0.75  # parts of at least this share of a unit are rounded to whole units


class _Unit(NamedTuple):
    """Calendar unit: its approximate length, its serial number at a moment, and its start by serial number."""

    days: float
    number: Callable[[datetime], int]
    start: Callable[[int], datetime]


def _start_of_month(number: int) -> datetime:
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _start_of_day(number: int) -> datetime:
    return BEGINNING + timedelta(days=number - 1)


_UNITS: Final = (
    _Unit(365.25, lambda moment: moment.year, lambda number: _start_of_month(12 * number)),
    _Unit(91.3, lambda moment: 4 * moment.year + (moment.month - 1) // 3, lambda number: _start_of_month(3 * number)),
    _Unit(30.4, lambda moment: 12 * moment.year + moment.month - 1, _start_of_month),
    _Unit(7, lambda moment: (moment.toordinal() - 1) // 7, lambda number: _start_of_day(7 * number + 1)),  # Mondays
    _Unit(1, lambda moment: moment.toordinal(), _start_of_day),
)
YEAR: Final = _UNITS[0]


def floor_to_unit(moment: datetime, unit: _Unit = YEAR) -> datetime:
    """Return the start of the calendar unit that a moment lies in."""
    return unit.start(unit.number(moment))


def find_open_window_start(newest: datetime, oldest: datetime, now: datetime) -> datetime:
    """Return the start of the open window: the service can add no payment before it.

    Parameters
    ----------
    newest, oldest : datetime
        The first and the last payment of the newest page. By the service's own clock, the next payment will not be
        older than the newest one.
    now : datetime
        Clock of this machine, in case a payment is dated in the future.

    Returns
    -------
    datetime
        The start of the longest calendar unit that the page covers, so that the open window needs no further
        request; the start of the day if the page covers none.
    """
    settled = max(min(newest, now), BEGINNING + GRACE) - GRACE
    starts = [floor_to_unit(settled, unit) for unit in _UNITS]
    return next((start for start in starts if start > oldest), starts[-1])


def split_window(window: Window, parts: float) -> list[Window]:
    """Split a window at calendar starts into about ``parts`` windows of similar length, newest first.

    They are adjacent and do not overlap. A window shorter than a day is not split.
    """
    length = (window.end - window.start) / timedelta(days=1) / parts
    unit = next((unit for unit in _UNITS if length >= _NEAR_ENOUGH * unit.days), _UNITS[-1])
    step = max(1, round(length / unit.days))
    first = math.floor(unit.number(window.start) / step) + 1
    last = math.ceil(unit.number(window.end) / step)
    inner = [unit.start(number * step) for number in range(first, last + 1)]
    edges = [window.start, *(edge for edge in inner if window.start < edge < window.end), window.end]
    return [Window(*pair) for pair in zip(reversed(edges[:-1]), reversed(edges[1:]), strict=True)]


def cover_window(window: Window, complete: Iterable[Window]) -> list[tuple[Window, bool]]:
    """Return windows that cover a window, newest first and without overlap, each with whether it is complete.

    Complete windows are kept unchanged, even if they extend beyond the window. Of two that overlap, the one with the
    older end, or else the shorter one, is dropped.
    """
    plan: list[tuple[Window, bool]] = []
    edge = window.end
    longest_first = sorted(complete)
    for known in sorted(longest_first, key=lambda known: known.end, reverse=True):
        if known.start >= edge or known.end <= window.start or (plan and known.end > edge):
            continue
        if known.end < edge:
            plan.append((Window(known.end, edge), False))
        plan.append((known, True))
        edge = known.start
    if window.start < edge:
        plan.append((Window(window.start, edge), False))
    return plan
