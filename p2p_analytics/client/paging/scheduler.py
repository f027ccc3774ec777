"""Loads of a list of payments: by calendar windows on several connections, or sequentially on one.

`fetch_history` yields the pages of a history in order. The caller's thread plans and schedules; worker threads only
fetch. Every window gets one request first; after that, the window with the most pages left comes first, so that all
windows end at about the same time. `paginate` runs one pager to the end, for a list with filters.

The pages come from the service, or from the account's cache for closed windows. No new payment appears in a closed
window, and only a pending payment can change: every other status is final (document: "States and transitions"). So a
cached page is valid as long as its pending payments are still pending. Other changes go unnoticed until a refetch: a
renamed user, or a ``refund``, which lists do not show.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Final

import msgspec

from p2p_analytics.client.http.cache import ResponseStorage
from p2p_analytics.client.http.deadline import Cancellation
from p2p_analytics.client.http.transport import CachePolicy
from p2p_analytics.client.paging._windows import CompletenessCheck, WindowTask, cover_window, find_open_window_start
from p2p_analytics.client.paging.pager import (
    Deduplicator,
    FetchPage,
    LoadState,
    Pager,
    Query,
    fetch_by_people,
    get_oldest_date,
)
from p2p_analytics.errors import TransportError
from p2p_analytics.records import Payment, PaymentPage, Payments
from p2p_analytics.times import BEGINNING, END, Window
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Status

_NEW_PER_PAGE: Final = PAGE_SIZE_MAXIMUM - 1  # a full page repeats one payment of the previous page
_QUEUED: Final = 1  # request beyond the connections, so that none waits for this thread
# Event loops that replace signal handlers, and Windows, do not deliver Ctrl-C during a wait without a timeout.
_INTERRUPT_POLL_SECONDS: Final = 0.2
_SHORT_HISTORY_PAGES: Final = 2  # after the newest one; a history with no more pages is read without a plan
_PROBES: Final = 3  # pages after the newest one that are read before planning
MAX_PAYMENTS: Final = 10_000_000  # of one list; a longer one is considered endless


def fetch_history(  # noqa: PLR0913 - the source, the bounds, and how to load
    source: CachedPages,
    *,
    after: datetime,
    before: datetime,
    likely_start: datetime | None,
    concurrency: int,
    on_progress: Callable[[int, int], object],
    list_friend_ids: Callable[[], Iterable[str]] = tuple,
    max_payments: int = MAX_PAYMENTS,
) -> Iterator[PaymentPage]:
    """Yield the pages of all payments between two instants, newest first, each payment once.

    The pages of a window are yielded when it and all newer windows are known to be complete. Payments of crowded
    seconds that only a filter by people finds come last.

    Parameters
    ----------
    after, before : datetime
        Exclusive bounds; ``BEGINNING`` and ``END`` exclude nothing.
    likely_start : datetime or None
        When the history probably begins.
    on_progress : callable
        Called after each page with the number of payments fetched and the estimated total.
    list_friend_ids : callable
        Returns the ids of the user's friends, who may have acted in a crowded second.

    Raises
    ------
    PaginationError
        Pages contradict each other, even after a refetch, or there are more than ``max_payments``.
    """
    state, deduplicator = LoadState(list_friend_ids), Deduplicator(max_payments)
    bounds = Window(after, before)
    tasks = _plan_windows(source, state, bounds, likely_start)
    check = CompletenessCheck(tasks, bounds, deduplicator)

    def report(fetched: int, expected: int) -> None:
        deduplicator.require_end(fetched)
        on_progress(fetched, expected)

    for page in _fetch_windows(source, check, likely_start, concurrency, report):
        yield from deduplicator.filter_page(page, after, before)
    for page in fetch_by_people(state):
        yield from deduplicator.filter_page(page, after, before)


def _plan_windows(
    source: CachedPages, state: LoadState, bounds: Window, likely_start: datetime | None
) -> list[WindowTask]:
    """Return the windows of a load, newest first; the newest page is already fetched."""
    newest = WindowTask(bounds, source.fetch_current, state, pages_left=1, may_split=False, standalone=True)
    page = newest.pager.fetch_next()
    newest.add_page(page, likely_start)
    if newest.complete and page.items:
        return [newest]
    complete = [window for window in source.read_complete_windows() if window.start < bounds.end]
    for probe in range(0 if complete else _PROBES):
        is_near_end = (
            page.next is None
            or page.length < PAGE_SIZE_MAXIMUM
            or (probe == 0 and newest.pages_left <= _SHORT_HISTORY_PAGES)
        )
        if newest.complete or not is_near_end:
            break
        page = newest.pager.fetch_next()
        newest.add_page(page, likely_start)
    if not complete and newest.complete:
        return [newest]
    edge = max((window.end for window in complete), default=bounds.start)
    oldest = get_oldest_date(newest.pages[-1])
    if oldest is not None and oldest > edge:
        edge = max(edge, find_open_window_start(newest.newest, oldest, datetime.now(UTC)))
    edge = min(edge, bounds.end)
    newest.move_start(edge, likely_start)
    return [
        newest,
        *(
            WindowTask(window, source.fetch_closed, state, pages_left=1, may_split=not is_complete)
            for window, is_complete in cover_window(Window(bounds.start, edge), complete)
        ),
    ]


def _fetch_windows(
    source: CachedPages,
    check: CompletenessCheck,
    likely_start: datetime | None,
    concurrency: int,
    on_progress: Callable[[int, int], object],
) -> Iterator[PaymentPage]:
    """Fetch the missing pages, and yield the pages of a window once it and all newer windows are known complete."""
    tasks = check.tasks
    fetched = {payment_id for task in tasks for page in task.pages for payment_id in page.items.ids}
    ready = [task for task in tasks if not task.complete]
    running: dict[Future[PaymentPage], WindowTask] = {}
    current = 0  # index of the first window that is not yet passed on
    cancellation = Cancellation()
    pool = ThreadPoolExecutor(concurrency, "p2p-load", initializer=cancellation.bind_thread)
    try:
        while True:
            on_progress(len(fetched), len(fetched) + round(_NEW_PER_PAGE * sum(task.pages_left for task in tasks)))
            while current < len(tasks) and tasks[current].complete and not check.is_waiting(tasks[current]):
                task = tasks[current]
                if check.has_contradiction(task):
                    task.restart()
                    ready.append(task)
                    break
                check.accept(task)
                while task.pages:
                    yield task.pages.popleft()
                current += 1
            while ready and len(running) < concurrency + _QUEUED:
                task = max(ready, key=lambda task: (not task.pages_fetched, task.pages_left))
                ready.remove(task)
                running[_submit(pool, task)] = task
            if not running:
                return
            while not (done := wait(running, _INTERRUPT_POLL_SECONDS, FIRST_COMPLETED).done):
                pass
            for future in done:
                task = running.pop(future)
                page = future.result()
                task.add_page(page, likely_start)
                fetched.update(page.items.ids)
                parts = task.split(likely_start, idle=concurrency - len(ready) - len(running) - 1)
                place = tasks.index(task) + 1
                tasks[place:place] = parts
                ready += parts if task.complete else [task]
                if task.fetch == source.fetch_closed:
                    source.record_window(task.window if task.complete else Window(task.cursor, task.window.end))
    finally:
        cancellation.cancel()
        pool.shutdown(cancel_futures=True)


def _submit(pool: ThreadPoolExecutor, task: WindowTask) -> Future[PaymentPage]:
    try:
        return pool.submit(task.pager.fetch_next)
    except RuntimeError:
        pass
    raise TransportError(
        "This process cannot start another thread for the load: end other work in it, or lower concurrency in "
        "Client(concurrency=...)."
    )


# ---- sequential load


def paginate(  # noqa: PLR0913 - the query, its bounds, and how to complete it
    fetch: FetchPage,
    query: Query,
    *,
    after: datetime = BEGINNING,
    before: datetime = END,
    list_friend_ids: Callable[[], Sequence[str]] = tuple,
    max_payments: int = MAX_PAYMENTS,
) -> Iterator[PaymentPage]:
    """Yield the pages of a query between two instants, one request after another.

    The order, the other parameters and the errors are those of :func:`fetch_history`.
    """
    state, deduplicator = LoadState(list_friend_ids), Deduplicator(max_payments)
    pager = Pager(fetch, msgspec.structs.replace(query, before=None if before == END else before), state)
    oldest: datetime | None = None
    while not pager.ended and (oldest is None or oldest >= after):
        page = pager.fetch_next()
        yield from deduplicator.filter_page(page, after, before)
        deduplicator.require_end(len(deduplicator))
        oldest = get_oldest_date(page)
    for page in fetch_by_people(state):
        yield from deduplicator.filter_page(page, after, before)


# ---- source of pages


class CachedPages:
    """Pages of one load.

    ``fetch`` returns the page of a query under a cache policy, and whether it came from the cache. ``open_cache``
    returns the account's cache if there is one; it is called before the first window, and ``refresh`` clears it then.
    """

    def __init__(
        self,
        fetch: Callable[[Query, CachePolicy], tuple[PaymentPage, bool]],
        open_cache: Callable[[], ResponseStorage | None],
        *,
        refresh: bool,
    ) -> None:
        self._fetch = fetch
        self._open_cache = open_cache
        self._refresh = refresh
        self._cache: ResponseStorage | None = None
        self._seen: set[str] = set()
        # Adjacent pages overlap: reuse the status that was already refetched for one of them.
        self._refetched: dict[str, Payment] = {}
        self._pending: set[str] | None = None
        self._pending_lock = threading.Lock()

    def fetch_current(self, query: Query, *, refetch: bool = False) -> PaymentPage:  # noqa: ARG002 - always refetches
        """Return a page from the service."""
        return self._fetch(query, CachePolicy.BYPASS)[0]

    def fetch_closed(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return a page of a closed window; a cached one, which is as good as new, has no ``fetched_at``.

        ``refetch`` asks the service and replaces the cache entry.
        """
        page, cached = self._fetch(query, CachePolicy.LONG_REFETCH if refetch else CachePolicy.LONG)
        changed = self._find_resolved(page.items) if cached else set()
        if not changed <= self._refetched.keys():
            page, cached = self._fetch(query, CachePolicy.LONG_REFETCH)
            self._refetched.update(
                {item.id: item for item in page.items if item.id in changed and item.status != Status.PENDING}
            )
        elif changed:
            items = (self._refetched.get(item.id, item) for item in page.items)
            page = msgspec.structs.replace(page, items=Payments.of(items, page.problems))
        self._seen.update(page.items.ids)
        return msgspec.structs.replace(page, fetched_at=None) if cached else page

    def read_complete_windows(self) -> Sequence[Window]:
        """Return the closed windows that earlier loads completed."""
        self._cache = self._open_cache()
        if self._cache is None:
            return ()
        if self._refresh:
            self._cache.clear()
        return self._cache.read_windows()

    def record_window(self, window: Window) -> None:
        """Record that a closed window, or the newer part of one, is complete: the next load sends the same requests."""
        if self._cache is not None:
            self._cache.add_window(window)

    def clear(self) -> None:
        """Clear the cache, because the service contradicted itself."""
        if self._cache is not None:
            self._cache.clear()

    def describe_progress(self) -> str:
        """Return a sentence about what the next load can reuse; empty if nothing was fetched."""
        if not self._seen:
            return ""
        if self._cache is None or self._cache.disabled:
            return " No cache keeps the payments fetched so far, so the next load starts from the beginning."
        return f" {len(self._seen):,} payments are kept, and the next load goes on from there."

    def _find_resolved(self, items: Payments) -> set[str]:
        """Return the ids of payments that were pending and no longer are.

        The ids of all pending payments are fetched once per load. Their pages are read without overlap: a payment
        hidden by a tie costs one needless refetch, nothing else.
        """
        if not (pending := _find_pending(items)):
            return set()
        with self._pending_lock:
            if self._pending is None:
                found: set[str] = set()
                query = Query(status=Status.PENDING)
                while True:
                    page = self.fetch_current(query)
                    found |= _find_pending(page.items)
                    oldest = get_oldest_date(page)
                    if page.next is None or oldest is None or (query.before is not None and oldest >= query.before):
                        break
                    query = msgspec.structs.replace(query, before=oldest)
                self._pending = found
        return pending - self._pending


def _find_pending(items: Payments) -> set[str]:
    return {row.id for row in items.rows if row.status == Status.PENDING}
