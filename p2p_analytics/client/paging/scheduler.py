"""A whole history by windows, several requests at once, its pages in order.

One thread, the caller's, plans and hands out; the others only fetch. Each window is looked
into first, and then the one with most left goes on first, so that all end together.

Windows are evidence for each other. A window is complete where its walk comes to a payment older than its
start, and that payment must arrive in the window that it belongs to. Only the oldest payments have no older one
behind them; there the list must end twice, and no older window may hold a payment.
"""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from p2p_analytics.client.http.deadline import Stop
from p2p_analytics.client.paging.crowded_seconds import Query, Reading, remaining_pages
from p2p_analytics.client.paging.pagination import MAX_PAYMENTS, Accepted, Walk, is_between, oldest_of
from p2p_analytics.client.paging.windows import BEGINNING, END, Window, arranged, cut, floor, opening
from p2p_analytics.errors import PaginationError, TransportError
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from p2p_analytics.client.paging.crowded_seconds import Fetch
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
_PROBES: Final = 3  # pages after the newest one that are tried before there is a plan
_GUESS: Final = timedelta(days=4 * 365)  # how far a history goes back, where nothing tells


class Source(Protocol):
    """Where pages come from, and where it is written down which windows they were asked for by."""

    def fresh(self, query: Query, *, again: bool = False) -> PaymentPage:
        """Ask the service."""

    def lasting(self, query: Query, *, again: bool = False) -> PaymentPage:
        """Return a page of a closed window, which may have been kept unless it is asked for ``again``."""

    def whole(self) -> Sequence[Window]:
        """Return the closed windows that were read whole before."""

    def keep(self, window: Window) -> None:
        """Write down that a closed window, or the newer part of one, was read whole."""


class _Task:
    """One window, the walk through it, and the pages that have arrived."""

    def __init__(  # noqa: PLR0913 - a window, how it is asked for, and how it is planned
        self, window: Window, fetch: Fetch, reading: Reading, *, left: float, cuttable: bool = True, alone: bool = False
    ) -> None:
        self.window, self.fetch, self.cuttable = window, fetch, cuttable
        self._reading = reading
        self.left = left  # about so many pages are still to come
        # A busy week must not let a window seem larger than the one before it promised, and cut it needlessly.
        self.enough = min(max(2 * left, _PAGES_OF_A_WINDOW), _MOST_PAGES)
        self.top = window.end
        self._start(alone=alone)
        self.repeated = False

    def _start(self, *, alone: bool = False, again: bool = False) -> None:
        query = Query(before=None if self.window.end == END else self.window.end)
        self.walk = Walk(self.fetch, query, self._reading, alone=alone, again=again)
        self.pages: deque[PaymentPage] = deque()
        self.taken = 0
        self.whole = False

    def repeat(self) -> None:
        """Ask the service for all of the window once more; raise a PaginationError if it was repeated before."""
        if self.repeated:
            raise PaginationError(
                "The service's pages of payments contradict each other, so payments may be missing, and nothing is "
                "returned: try again later."
            )
        self.repeated, self.cuttable = True, False
        self._start(alone=True, again=True)

    @property
    def cursor(self) -> datetime:
        """Before when the walk goes on."""
        return END if self.walk.query.before is None else self.walk.query.before

    @property
    def came(self) -> Window:
        """What of the window has come."""
        return self.window if self.whole else Window(self.cursor, self.window.end)

    @property
    def ended_early(self) -> bool:
        """Whether the list ended before an older payment showed that the window is whole."""
        outside = (date for page in self.pages for _, date in self.outside(page))
        return self.walk.ended and all(date >= self.window.end for date in outside)

    def inside(self) -> set[str]:
        """Return the ids of the window's own payments."""
        return {
            payment_id
            for page in self.pages
            for payment_id, date in zip(page.items.ids, page.items.created, strict=True)
            if date is None or self.holds(date)
        }

    def outside(self, page: PaymentPage) -> Iterator[tuple[str, datetime]]:
        """Yield ids and dates of a page's payments that belong to other windows."""
        for payment_id, date in zip(page.items.ids, page.items.created, strict=True):
            if date is not None and not self.holds(date):
                yield payment_id, date

    def holds(self, date: datetime) -> bool:
        """Return whether a date lies in the window."""
        return self.window.start <= date and (date < self.window.end or self.window.end == END)

    def take(self, page: PaymentPage, since: datetime | None) -> None:
        """Add the page of a step, which is the window's last where the list ends or it goes beyond the start."""
        self.taken += 1
        self.pages.append(page)
        oldest = oldest_of(page)
        if self.walk.ended or (oldest is not None and oldest < self.window.start):
            self.whole, self.left = True, 0
            return
        if self.top == END and oldest is not None:
            self.top = max(date for date in page.items.created if date is not None)
        self.left = self._expected_pages(since)

    def end_at(self, start: datetime, since: datetime | None) -> None:
        """Leave what is older than a start to other windows."""
        self.window = Window(start, self.window.end)
        oldest = oldest_of(self.pages[-1])
        self.whole = self.walk.ended or (oldest is not None and oldest < start)
        self.left = 0 if self.whole else self._expected_pages(since)

    def _expected_pages(self, since: datetime | None) -> float:
        for_a_page = max(self.top - self.cursor, _SECOND) / self.taken
        return (self.cursor - self.reaching_to(since)) / for_a_page

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
        children = [
            _Task(part, self.fetch, self._reading, left=pages * ((part.end - part.start) / length)) for part in parts
        ]
        if self.walk.overlap is None:  # then nothing of the newest part has been seen
            children[0].walk.alone = True
        if self.window.start < start:
            children.append(_Task(Window(self.window.start, start), self.fetch, self._reading, left=1))
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
    friends: Callable[[], Iterable[str]] = tuple,
    most: int = MAX_PAYMENTS,
) -> Iterator[PaymentPage]:
    """Yield the pages of all payments between two instants, newest first, each payment once.

    The pages of a window are yielded when it is shown that none of its payments is missing; what a crowded second
    held back comes last.

    Parameters
    ----------
    source : Source
        Where pages come from.
    after, before : datetime
        Both left out themselves; ``BEGINNING`` and ``END`` leave nothing out.
    since : datetime or None
        When the history is likely to begin.
    concurrency : int
        Most requests at once.
    told : callable
        Told after each page how many payments have come, and about how many it will be.
    friends : callable
        Returns the ids of the user's friends, who may have acted in a crowded second.
    most : int
        Payments after which the list is taken for one that never ends.

    Raises
    ------
    PaginationError
        Answers contradict each other, also when asked for again.
    """
    reading, accepted = Reading(friends), Accepted(most)
    tasks = _planned(source, reading, Window(after, before), since)
    evidence = _Evidence(tasks, Window(after, before), accepted)

    def progress(arrived: int, expected: int) -> None:
        accepted.require_end(arrived)
        told(arrived, expected)

    for page in _fetched(source, evidence, since, concurrency, progress):
        yield from accepted.pages(page, after, before)
    for page in remaining_pages(reading):
        yield from accepted.pages(page, after, before)


def _planned(source: Source, reading: Reading, asked: Window, since: datetime | None) -> list[_Task]:
    """Return the windows to ask by, newest first; the newest page has come already."""
    newest = _Task(asked, source.fresh, reading, left=1, cuttable=False, alone=True)
    page = newest.walk.step()
    newest.take(page, since)
    if newest.whole and page.items:
        return [newest]
    known = [window for window in source.whole() if window.start < asked.end]
    for probe in range(0 if known else _PROBES):
        is_near_the_end = page.next is None or page.length < PAGE_SIZE_MAXIMUM or (probe == 0 and newest.left <= _SHORT)
        if newest.whole or not is_near_the_end:
            break
        page = newest.walk.step()
        newest.take(page, since)
    if not known and newest.whole:
        return [newest]
    edge = max((window.end for window in known), default=asked.start)
    oldest = oldest_of(newest.pages[-1])
    if oldest is not None and oldest > edge:
        edge = max(edge, opening(newest.top, oldest, datetime.now(UTC)))
    edge = min(edge, asked.end)
    newest.end_at(edge, since)
    closed = arranged(Window(asked.start, edge), known)
    return [
        newest,
        *(_Task(window, source.lasting, reading, left=1, cuttable=not whole) for window, whole in closed),
    ]


class _Evidence:
    """What shows, window by window from the newest on, that no payment is missing.

    Parameters
    ----------
    tasks : list of _Task
        All windows, newest first.
    asked : Window
        The bounds of the load.
    accepted : Accepted
        The payments of the windows that have been passed on.
    """

    def __init__(self, tasks: list[_Task], asked: Window, accepted: Accepted) -> None:
        self.tasks = tasks
        self._asked, self._accepted = asked, accepted
        self._expected: dict[str, datetime] = {}  # seen by newer windows, and to be found in an older one

    def is_contradicted(self, task: _Task) -> bool:
        """Return whether a window lacks a payment that a newer one showed, or ended before payments of older ones."""
        inside = task.inside()
        lacking = [each for each, date in self._expected.items() if task.holds(date) and each not in inside]
        return bool(lacking) or (task.ended_early and any(older.inside() for older in self._older(task)))

    def is_waiting(self, task: _Task) -> bool:
        """Return whether older windows must be whole first, to show that the list ends in this one."""
        return task.ended_early and not all(older.whole for older in self._older(task))

    def accept(self, task: _Task) -> None:
        """Count what a window shows of others as to be found there.

        Raises
        ------
        PaginationError
            It shows a payment of a newer window, which did not hold it.
        """
        self._expected = {each: date for each, date in self._expected.items() if not task.holds(date)}
        for page in task.pages:
            for payment_id, date in task.outside(page):
                if not is_between(date, *self._asked) or payment_id in self._accepted:
                    continue
                if date >= task.window.end:
                    raise PaginationError(
                        "The service shows a payment among older ones, but not at its own time, so payments may be "
                        "missing, and nothing is returned: try again later."
                    )
                self._expected[payment_id] = date

    def _older(self, task: _Task) -> Sequence[_Task]:
        return self.tasks[self.tasks.index(task) + 1 :]


def _fetched(
    source: Source,
    evidence: _Evidence,
    since: datetime | None,
    concurrency: int,
    told: Callable[[int, int], object],
) -> Iterator[PaymentPage]:
    """Fetch what the windows lack, and yield the pages of each as soon as it and all newer ones are shown complete."""
    tasks = evidence.tasks
    came = {which for task in tasks for page in task.pages for which in page.items.ids}
    ready = [task for task in tasks if not task.whole]
    running: dict[Future[PaymentPage], _Task] = {}
    at = 0
    stop = Stop()
    pool = ThreadPoolExecutor(concurrency, "p2p-load", initializer=stop.hold)
    try:
        while True:
            told(len(came), len(came) + round(_FRESH_ITEMS * sum(task.left for task in tasks)))
            while at < len(tasks) and tasks[at].whole and not evidence.is_waiting(tasks[at]):
                task = tasks[at]
                if evidence.is_contradicted(task):
                    task.repeat()
                    ready.append(task)
                    break
                evidence.accept(task)
                while task.pages:
                    yield task.pages.popleft()
                at += 1
            while ready and len(running) < concurrency + _WAITING:
                task = max(ready, key=lambda task: (not task.taken, task.left))
                ready.remove(task)
                running[_submitted(pool, task)] = task
            if not running:
                return
            while not (done := wait(running, _LISTENING_SECONDS, FIRST_COMPLETED).done):
                pass
            for future in done:
                task = running.pop(future)
                page = future.result()
                task.take(page, since)
                came.update(page.items.ids)
                parts = task.cut(since, idle=concurrency - len(ready) - len(running) - 1)
                place = tasks.index(task) + 1
                tasks[place:place] = parts
                ready += parts if task.whole else [task]
                if task.fetch == source.lasting:
                    source.keep(task.came)
    finally:
        stop()
        pool.shutdown(cancel_futures=True)


def _submitted(pool: ThreadPoolExecutor, task: _Task) -> Future[PaymentPage]:
    try:
        return pool.submit(task.walk.step)
    except RuntimeError:
        pass
    raise TransportError(
        "This process cannot start another thread for the load: end what else it runs, or lower concurrency in "
        "Client(concurrency=...)."
    )
