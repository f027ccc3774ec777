"""One window of a load: its pager, its pages, and an estimate of the pages that are left."""

from __future__ import annotations

import math
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from p2p_analytics.client.paging._pager import Pager
from p2p_analytics.client.paging._windows import floor_to_unit, split_window
from p2p_analytics.client.paging.page_dates import get_oldest_date
from p2p_analytics.client.paging.query import Query
from p2p_analytics.client.window import BEGINNING, END, Window
from p2p_analytics.errors import PaginationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from p2p_analytics.client.paging._load_state import LoadState
    from p2p_analytics.client.paging.query import FetchPage
    from p2p_analytics.records import PaymentPage

_PAGES_PER_WINDOW: Final = 24  # a window with more pages is split
_PAGES_PER_WINDOW_IF_IDLE: Final = 6  # the same, while a connection is idle
_MIN_PAGES_TO_SPLIT: Final = 2  # a window with fewer pages stays whole even then
_MAX_PARTS: Final = 8
_MAX_PAGES: Final = 64  # a window that is estimated to have more pages is always split
_SECOND: Final = timedelta(seconds=1)
_DEFAULT_LENGTH: Final = timedelta(days=4 * 365)  # of a history, if nothing shows when it begins


class WindowTask:
    """One window, its pager, and its pages so far.

    Attributes
    ----------
    window : Window
        The window; splitting it moves its start.
    pages : deque of PaymentPage
        Pages that are fetched and not yet passed on.
    pages_fetched : int
        How many were fetched in all.
    pages_left : float
        Estimate of the pages still to be fetched.
    complete : bool
        Whether the window was read to its start.
    """

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
        self.window, self.fetch, self.may_split = window, fetch, may_split
        self._state = state
        self.pages_left = pages_left
        # A busy week must not make a window seem larger than its estimate and split it needlessly.
        self._split_threshold = min(max(2 * pages_left, _PAGES_PER_WINDOW), _MAX_PAGES)
        self.newest = window.end
        self._is_restarted = False
        self._start(standalone=standalone)

    def _start(self, *, standalone: bool = False, refetch: bool = False) -> None:
        query = Query(before=None if self.window.end == END else self.window.end)
        self.pager = Pager(self.fetch, query, self._state, standalone=standalone, refetch=refetch)
        self.pages: deque[PaymentPage] = deque()
        self.pages_fetched = 0
        self.complete = False

    def restart(self) -> None:
        """Refetch the whole window, without the cache.

        Raises
        ------
        PaginationError
            The window was restarted before.
        """
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
    def fetched_window(self) -> Window:
        """The part of the window that was fetched."""
        return self.window if self.complete else Window(self.cursor, self.window.end)

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
