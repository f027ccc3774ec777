"""Calendar windows of a load, their pages, and the check that no window lacks a payment.

A window ends at the start of a calendar unit if possible, so that later loads send the same requests and find the
pages in the cache. All times are aware UTC.

A window is complete if its pager reaches a payment older than its start, and the window of that payment must hold it
too. The oldest payments have no older one; there, the list must end twice, and no older window may hold a payment.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from p2p_analytics.client.paging.pager import (
    Deduplicator,
    FetchPage,
    LoadState,
    Pager,
    Query,
    get_oldest_date,
    is_between,
)
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import PaymentPage
from p2p_analytics.times import BEGINNING, END, GRACE, Window

_NEAR_ENOUGH: Final = 0.75  # parts of at least this share of a unit are rounded to whole units
_PAGES_PER_WINDOW: Final = 24  # a window with more pages is split
_PAGES_PER_WINDOW_IF_IDLE: Final = 6  # the same, while a connection is idle
_MIN_PAGES_TO_SPLIT: Final = 2  # a window with fewer pages stays whole even then
_MAX_PARTS: Final = 8
_MAX_PAGES: Final = 64  # a window that is estimated to have more pages is always split
_SECOND: Final = timedelta(seconds=1)
_DEFAULT_LENGTH: Final = timedelta(days=4 * 365)  # of a history, if nothing shows when it begins


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

    It is the start of the longest calendar unit that the newest page covers, so that the open window needs no further
    request; else the start of the day. By the service's own clock, the next payment will not be older than the newest
    one; if that is dated in the future, the clock of this machine counts.
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


# ---- one window of a load


class WindowTask:
    """One window, its pager, and its pages so far."""

    def __init__(  # noqa: PLR0913 - the window, how to fetch it, and how to plan it
        self,
        window: Window,
        fetch: FetchPage,
        state: LoadState,
        *,
        pages_left: float,
        may_split: bool = True,
        standalone: bool = False,
    ) -> None:
        self.window, self.fetch, self.may_split = window, fetch, may_split  # a split moves the window's start
        self._state = state
        self.pages_left = pages_left  # an estimate
        # A busy week must not make a window seem larger than its estimate and split it needlessly.
        self._split_threshold = min(max(2 * pages_left, _PAGES_PER_WINDOW), _MAX_PAGES)
        self.newest = window.end
        self._is_restarted = False
        self._start(standalone=standalone)

    def _start(self, *, standalone: bool = False, refetch: bool = False) -> None:
        query = Query(before=None if self.window.end == END else self.window.end)
        self.pager = Pager(self.fetch, query, self._state, standalone=standalone, refetch=refetch)
        self.pages: deque[PaymentPage] = deque()  # fetched and not yet passed on
        self.pages_fetched = 0
        self.complete = False  # whether the window was read to its start

    def restart(self) -> None:
        """Refetch the whole window, without the cache; raise a PaginationError the second time."""
        if self._is_restarted:
            raise PaginationError(
                "The service's pages of payments contradict each other, so payments may be missing, and nothing is "
                "returned: try again later."
            )
        self._is_restarted, self.may_split = True, False
        self._start(standalone=True, refetch=True)

    @property
    def cursor(self) -> datetime:
        """Upper bound of the next request."""
        return END if self.pager.query.before is None else self.pager.query.before

    @property
    def ended_early(self) -> bool:
        """Whether the list ended before an older payment proved the window complete."""
        outside = (date for page in self.pages for _, date in self.iterate_outside(page))
        return self.pager.ended and all(date >= self.window.end for date in outside)

    def list_ids(self) -> set[str]:
        """Return the ids of the window's own payments."""
        return {
            payment_id
            for page in self.pages
            for payment_id, date in zip(page.items.ids, page.items.created, strict=True)
            if date is None or self.contains(date)
        }

    def iterate_outside(self, page: PaymentPage) -> Iterator[tuple[str, datetime]]:
        """Yield ids and dates of a page's payments that belong to other windows."""
        for payment_id, date in zip(page.items.ids, page.items.created, strict=True):
            if date is not None and not self.contains(date):
                yield payment_id, date

    def contains(self, date: datetime) -> bool:
        """Return whether a date lies in the window."""
        return self.window.start <= date and (date < self.window.end or self.window.end == END)

    def add_page(self, page: PaymentPage, likely_start: datetime | None) -> None:
        """Add the page that the pager fetched; the window is complete if the page ends it or the list."""
        self.pages_fetched += 1
        self.pages.append(page)
        oldest = get_oldest_date(page)
        if self.pager.ended or (oldest is not None and oldest < self.window.start):
            self.complete, self.pages_left = True, 0
            return
        if self.newest == END and oldest is not None:
            self.newest = max(date for date in page.items.created if date is not None)
        self.pages_left = self._estimate_pages(likely_start)

    def move_start(self, start: datetime, likely_start: datetime | None) -> None:
        """Leave payments before a start to other windows."""
        self.window = Window(start, self.window.end)
        oldest = get_oldest_date(self.pages[-1])
        self.complete = self.pager.ended or (oldest is not None and oldest < start)
        self.pages_left = 0 if self.complete else self._estimate_pages(likely_start)

    def _estimate_pages(self, likely_start: datetime | None) -> float:
        if self._state.has_links and not self.pager.had_link:
            return 1  # the list probably ends here, however dense its last page is
        time_per_page = max(self.newest - self.cursor, _SECOND) / self.pages_fetched
        return (self.cursor - self._estimate_start(likely_start)) / time_per_page

    def _estimate_start(self, likely_start: datetime | None) -> datetime:
        """Return the start of the window, or an estimate of the oldest payment if the window has no start."""
        if self.window.start > BEGINNING:
            return self.window.start
        if likely_start is not None and likely_start < self.cursor:
            return likely_start
        return max(self.cursor, BEGINNING + _DEFAULT_LENGTH) - _DEFAULT_LENGTH

    def split(self, likely_start: datetime | None, idle: int) -> list[WindowTask]:
        """Reduce the window to its fetched part, and return tasks for the rest, newest first.

        The list is empty if splitting is not worthwhile. ``idle`` is the number of idle connections.
        """
        threshold, size = self._split_threshold, _PAGES_PER_WINDOW
        if idle > 0:  # an estimated start is not worth many requests
            has_start = self.window.start != BEGINNING
            threshold = _MIN_PAGES_TO_SPLIT if has_start else _PAGES_PER_WINDOW_IF_IDLE
            size = _PAGES_PER_WINDOW_IF_IDLE
        if not self.may_split or self.pages_left <= threshold:
            return []
        start, pages = self._estimate_start(likely_start), self.pages_left
        if self.window.start == BEGINNING:
            start = floor_to_unit(start)
        # One part per idle connection, unless most pages of the parts would be half empty.
        number = max(math.ceil(pages / size), min(idle + 1, math.ceil(pages / _MIN_PAGES_TO_SPLIT)))
        parts = split_window(Window(start, self.cursor), min(_MAX_PARTS, number))
        if len(parts) == 1:
            return []
        length = self.cursor - start
        children = [
            WindowTask(part, self.fetch, self._state, pages_left=pages * ((part.end - part.start) / length))
            for part in parts
        ]
        if self.pager.overlap is None:  # no fetched page overlaps the newest part
            children[0].pager.standalone = True
        if self.window.start < start:
            children.append(WindowTask(Window(self.window.start, start), self.fetch, self._state, pages_left=1))
        self.window, self.complete, self.pages_left = Window(self.cursor, self.window.end), True, 0
        return children


# ---- completeness


class CompletenessCheck:
    """Comparison of each window of a load with its neighbours, from the newest to the oldest."""

    def __init__(self, tasks: list[WindowTask], bounds: Window, deduplicator: Deduplicator) -> None:
        self.tasks = tasks
        self._bounds, self._deduplicator = bounds, deduplicator
        self._expected: dict[str, datetime] = {}  # seen by newer windows, must be in an older one

    def has_contradiction(self, task: WindowTask) -> bool:
        """Return whether a window lacks a payment that a newer one holds, or ended before payments of older ones."""
        present = task.list_ids()
        missing = [each for each, date in self._expected.items() if task.contains(date) and each not in present]
        return bool(missing) or (task.ended_early and any(older.list_ids() for older in self._list_older(task)))

    def is_waiting(self, task: WindowTask) -> bool:
        """Return whether older windows must be complete first, to prove that the list ends in this one."""
        return task.ended_early and not all(older.complete for older in self._list_older(task))

    def accept(self, task: WindowTask) -> None:
        """Expect the window's payments outside of it in older windows; raise an error if one belongs to a newer one."""
        self._expected = {each: date for each, date in self._expected.items() if not task.contains(date)}
        for page in task.pages:
            for payment_id, date in task.iterate_outside(page):
                if not is_between(date, *self._bounds) or payment_id in self._deduplicator:
                    continue
                if date >= task.window.end:
                    raise PaginationError(
                        "The service lists a payment among older ones, but not at its own date, so payments may be "
                        "missing, and nothing is returned: try again later."
                    )
                self._expected[payment_id] = date

    def _list_older(self, task: WindowTask) -> Sequence[WindowTask]:
        return self.tasks[self.tasks.index(task) + 1 :]
