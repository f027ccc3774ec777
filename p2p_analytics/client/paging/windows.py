"""Which calendar windows a history is asked by. Nothing here asks: it plans.

A window ends at a calendar start where that is possible, so it is asked for in the same words ever
after, and what came is kept. All times are aware UTC; a window holds its start and not its end.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
END: Final = datetime.max.replace(tzinfo=UTC)
GRACE: Final = timedelta(hours=1)  # a payment may show this much later than it is dated
_NEARLY: Final = 0.75  # of a unit is near enough to be cut into such units


class Window(NamedTuple):
    """A stretch of time from its start up to, and without, its end."""

    start: datetime
    end: datetime


class _Unit(NamedTuple):
    """A calendar unit: how long it is about, its running number at a moment, and its start by that number."""

    days: float
    number: Callable[[datetime], int]
    start: Callable[[int], datetime]


def _month(number: int) -> datetime:
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _day(number: int) -> datetime:
    return BEGINNING + timedelta(days=number - 1)


_UNITS: Final = (
    _Unit(365.25, lambda moment: moment.year, lambda number: _month(12 * number)),
    _Unit(91.3, lambda moment: 4 * moment.year + (moment.month - 1) // 3, lambda number: _month(3 * number)),
    _Unit(30.4, lambda moment: 12 * moment.year + moment.month - 1, _month),
    _Unit(7, lambda moment: (moment.toordinal() - 1) // 7, lambda number: _day(7 * number + 1)),  # from Monday on
    _Unit(1, lambda moment: moment.toordinal(), _day),
)
YEAR: Final = _UNITS[0]


def floor(moment: datetime, unit: _Unit = YEAR) -> datetime:
    """Return the start of the calendar unit that a moment lies in."""
    return unit.start(unit.number(moment))


def opening(newest: datetime, oldest: datetime, now: datetime) -> datetime:
    """Return where the open window begins: before it nothing new can appear any more.

    Parameters
    ----------
    newest, oldest : datetime
        The first and the last payment of the newest page. The next payment will be no older than the
        newest is now, by the service's own clock.
    now : datetime
        This machine's clock, for where a payment is dated in the future.

    Returns
    -------
    datetime
        The coarsest calendar start that the page reaches, so that no more is to be asked for the open
        window; where it reaches none, the start of the day.
    """
    settled = max(min(newest, now), BEGINNING + GRACE) - GRACE
    starts = [floor(settled, unit) for unit in _UNITS]
    return next((start for start in starts if start > oldest), starts[-1])


def cut(window: Window, parts: float) -> list[Window]:
    """Cut a window at calendar starts into about so many windows of like length, newest first.

    They join without gap or overlap. A window that is shorter than a day stays whole.
    """
    length = (window.end - window.start) / timedelta(days=1) / parts
    unit = next((unit for unit in _UNITS if length >= _NEARLY * unit.days), _UNITS[-1])
    step = max(1, round(length / unit.days))
    first = math.floor(unit.number(window.start) / step) + 1
    last = math.ceil(unit.number(window.end) / step)
    inner = [unit.start(number * step) for number in range(first, last + 1)]
    edges = [window.start, *(edge for edge in inner if window.start < edge < window.end), window.end]
    return [Window(*pair) for pair in zip(reversed(edges[:-1]), reversed(edges[1:]), strict=True)]


def arranged(whole: Window, known: Iterable[Window]) -> list[tuple[Window, bool]]:
    """Return windows that cover a whole one, newest first and without overlap, and whether each is known already.

    A known window comes as it is, also where it reaches beyond the whole one; of two that overlap, the one with the
    older end, or else the shorter one, is left out.
    """
    plan: list[tuple[Window, bool]] = []
    edge = whole.end
    longest_first = sorted(known)
    for window in sorted(longest_first, key=lambda window: window.end, reverse=True):
        if window.start >= edge or window.end <= whole.start or (plan and window.end > edge):
            continue
        if window.end < edge:
            plan.append((Window(window.end, edge), False))
        plan.append((window, True))
        edge = window.start
    if whole.start < edge:
        plan.append((Window(whole.start, edge), False))
    return plan
