"""A whole history by windows, several requests at once, its pages in order.

One thread, the caller's, plans and hands out; the others only fetch. Each window is looked
into first, and then the one with most left goes on first, so that all end together.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from p2p_analytics.client._walk import Query, Step, oldest_of, step, unseen
from p2p_analytics.client._watchdog import Stop
from p2p_analytics.client._windows import BEGINNING, END, Window, arranged, cut, floor, opening
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from p2p_analytics.client._walk import Fetch
    from p2p_analytics.records import PaymentPage

_PAGES_OF_A_WINDOW: Final = 24  # what promises more is cut
_PAGES_IF_IDLE: Final = 6  # the same, while a connection has nothing to do
_FEW_PAGES: Final = 2  # so few stay together even then
_MOST_PARTS: Final = 8
_MOST_PAGES: Final = 64  # no window that promises more stays whole
_FRESH_ITEMS: Final = PAGE_SIZE_MAXIMUM - 1  # of a full page, after one that is asked for again
_WAITING: Final = 1  # request that is handed out beforehand, so that no connection waits for the next one
# Where event loops have had their way with signals, and on Windows, a wait without an end does not hear Ctrl-C.
_LISTENING_SECONDS: Final = 0.2
_SECOND: Final = timedelta(seconds=1)
_SHORT: Final = 2  # pages after the newest one: a history that may end with the next page is not worth a plan
_GUESS: Final = timedelta(days=4 * 365)  # how far a history goes back, where nothing tells


class Source(Protocol):
    """Where pages come from, and where it is written down which windows are whole."""

    def fresh(self, query: Query) -> PaymentPage:
        """Ask the service."""

    def lasting(self, query: Query) -> PaymentPage:
        """Return a page of a closed window, which may have been kept."""

    def whole(self) -> Sequence[Window]:
        """Return the closed windows that came whole before."""

    def keep(self, window: Window) -> None:
        """Write down that a closed window, or the newer part of one, came whole."""


class _Task:
    """One window on its way: what came of it, and before when to ask on."""

    def __init__(self, window: Window, fetch: Fetch, *, left: float, cuttable: bool = True) -> None:
        self.window, self.fetch, self.cuttable = window, fetch, cuttable
        self.left = left  # about so many pages are still to come
        # A busy week must not let a window seem larger than the one before it promised, and cut it needlessly.
        self.enough = min(max(2 * left, _PAGES_OF_A_WINDOW), _MOST_PAGES)
        self.cursor = self.top = window.end
        self.pages: deque[PaymentPage] = deque()
        self.taken = 0
        self.whole = False

    @property
    def query(self) -> Query:
        return Query(before=None if self.cursor == END else self.cursor)

    @property
    def came(self) -> Window:
        """What of the window has come."""
        return self.window if self.whole else Window(self.cursor, self.window.end)

    def take(self, found: Step, since: datetime | None) -> bool:
        """Add a page, and tell whether the window is whole: the page is the last, or goes beyond its start."""
        page, further = found
        self.taken += 1
        self.pages.append(page)
        if further is None or oldest_of(page) < self.window.start:
            self.whole, self.left = True, 0
            return True
        self.cursor = further
        if self.top == END:
            self.top = _newest_of(page)
        for_a_page = max(self.top - further, _SECOND) / self.taken
        self.left = (further - self.reaching_to(since)) / for_a_page
        return False

    def reaching_to(self, since: datetime | None) -> datetime:
        """Return how far back the window goes, by what is known or else by a guess."""
        if self.window.start > BEGINNING:
            return self.window.start
        if since is not None and since < self.cursor:
            return since
        return max(self.cursor, BEGINNING + _GUESS) - _GUESS

    def cut(self, since: datetime | None, idle: int) -> list[_Task]:
        """Keep what came, and return the rest as windows of their own, newest first: none where it is not worth it."""
        enough, size = self.enough, _PAGES_OF_A_WINDOW
        if idle > 0:  # where the history begins is a guess, which is not worth many requests
            enough, size = _PAGES_IF_IDLE if self.window.start == BEGINNING else _FEW_PAGES, _PAGES_IF_IDLE
        if not self.cuttable or self.left <= enough:
            return []
        start, pages = self.reaching_to(since), self.left
        if self.window.start == BEGINNING:
            start = floor(start)
        # One for each connection that has nothing to do, but not so small that most of their pages are half empty.
        number = max(math.ceil(pages / size), min(idle + 1, math.ceil(pages / _FEW_PAGES)))
        parts = cut(Window(start, self.cursor), min(_MOST_PARTS, number))
        if len(parts) == 1:
            return []
        length = self.cursor - start
        children = [_Task(part, self.fetch, left=pages * ((part.end - part.start) / length)) for part in parts]
        if self.window.start < start:
            children.append(_Task(Window(self.window.start, start), self.fetch, left=1))
        self.window, self.whole, self.left = Window(self.cursor, self.window.end), True, 0
        return children


def history(  # noqa: PLR0913 - what is asked for, how, and who is told
    source: Source,
    *,
    after: datetime,
    before: datetime,
    since: datetime | None,
    concurrency: int,
    told: Callable[[int, int], object],
) -> Iterator[PaymentPage]:
    """Yield the pages of all payments between two instants, newest first, each payment once.

    Parameters
    ----------
    source : Source
        Where pages come from.
    after, before : datetime
        Both left out themselves.
    since : datetime or None
        When the history is likely to begin.
    concurrency : int
        Most requests at once.
    told : callable
        Told after each page how many payments have come, and about how many it will be.
    """
    newest = step(source.fresh, Query(before=None if before == END else before))
    tasks = _planned(source, newest, Window(after, before), since)
    seen: set[str] = set()
    for page, window in _fetched(source, tasks, since, concurrency, told):
        inside = functools.partial(_between, window=window, after=after, before=before)
        yield unseen(page, seen, inside)


def _between(date: datetime, *, window: Window, after: datetime, before: datetime) -> bool:
    return window.start <= date < window.end and after < date < before


def _planned(source: Source, newest: Step, asked: Window, since: datetime | None) -> list[_Task]:
    """Return the windows to ask by, newest first; the newest page has come already."""
    page, further = newest
    short = _open(source, asked, newest, since)
    if further is None or short.whole:
        return [short]
    known = [window for window in source.whole() if window.start < asked.end]
    if not known and short.left <= _SHORT and short.take(step(source.fresh, short.query), since):
        return [short]
    edge = max((window.end for window in known), default=asked.start)
    if oldest_of(page) > edge:
        edge = max(edge, opening(_newest_of(page), oldest_of(page), datetime.now(UTC)))
    edge = min(edge, asked.end)
    closed = arranged(Window(asked.start, edge), known)
    return [
        _open(source, Window(edge, asked.end), newest, since),
        *(_Task(window, source.lasting, left=1, cuttable=not whole) for window, whole in closed),
    ]


def _open(source: Source, window: Window, newest: Step, since: datetime | None) -> _Task:
    task = _Task(window, source.fresh, left=1, cuttable=False)
    task.take(newest, since)
    return task


def _fetched(
    source: Source,
    tasks: list[_Task],
    since: datetime | None,
    concurrency: int,
    told: Callable[[int, int], object],
) -> Iterator[tuple[PaymentPage, Window]]:
    """Fetch what the tasks lack, and yield each page with its window as soon as all newer ones are there."""
    came = {which for task in tasks for page in task.pages for which in page.items.ids}
    ready = [task for task in tasks if not task.whole]
    running: dict[Future[Step], _Task] = {}
    at = 0
    stop = Stop()
    pool = ThreadPoolExecutor(concurrency, "p2p-load", initializer=stop.hold)
    try:
        while True:
            told(len(came), len(came) + round(_FRESH_ITEMS * sum(task.left for task in tasks)))
            while at < len(tasks):
                task = tasks[at]
                while task.pages:
                    yield task.pages.popleft(), task.window
                if not task.whole:
                    break
                at += 1
            while ready and len(running) < concurrency + _WAITING:
                task = max(ready, key=lambda task: (not task.taken, task.left))
                ready.remove(task)
                running[pool.submit(step, task.fetch, task.query)] = task
            if not running:
                return
            while not (done := wait(running, _LISTENING_SECONDS, FIRST_COMPLETED).done):
                pass
            for future in done:
                task = running.pop(future)
                task.take(future.result(), since)
                came.update(task.pages[-1].items.ids)
                parts = task.cut(since, idle=concurrency - len(ready) - len(running) - 1)
                place = tasks.index(task) + 1
                tasks[place:place] = parts
                ready += parts if task.whole else [task]
                if task.fetch == source.lasting:
                    source.keep(task.came)
    finally:
        stop()
        pool.shutdown(cancel_futures=True)


def _newest_of(page: PaymentPage) -> datetime:
    return max(date for date in page.items.created if date is not None)
