"""Source of the pages of a load: the service, or the account's cache for closed windows.

No new payment appears in a closed window, and only a pending payment can change: every other status is final
(document: "States and transitions"). So a cached page is valid as long as its pending payments are still pending.
Other changes go unnoticed until a refetch: a renamed user, or a ``refund``, which lists do not show.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from p2p_analytics.client.http.transport import CachePolicy
from p2p_analytics.client.paging.page_dates import get_oldest_date
from p2p_analytics.client.paging.query import Query
from p2p_analytics.records import Payments
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from p2p_analytics.client.http.cache import ResponseStorage
    from p2p_analytics.client.window import Window
    from p2p_analytics.records import Payment, PaymentPage


class CachedPages:
    """Pages of one load.

    Parameters
    ----------
    fetch : callable
        Takes a query and a cache policy; returns the page and whether it came from the cache.
    open_cache : callable
        Returns the account's cache, None if there is none; called before the first window.
    refresh : bool
        Whether to clear the cache first.
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
        self._pending: frozenset[str] | None = None
        self._pending_lock = threading.Lock()

    def fetch_current(self, query: Query, *, refetch: bool = False) -> PaymentPage:  # noqa: ARG002 - always refetches
        """Return a page from the service."""
        return self._fetch(query, CachePolicy.BYPASS)[0]

    def fetch_closed(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return a page of a closed window; a cached one, which is as good as new, has no ``fetched_at``.

        ``refetch`` asks the service and replaces the cache entry.
        """
        page, cached = self._fetch(query, CachePolicy.LONG_REFETCH if refetch else CachePolicy.LONG)
        changed = self._find_resolved(page.items) if cached else frozenset()
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
        """Record that a closed window, or the newer part of one, is complete.

        The next load will send the same requests. This proves nothing: cached pages pass the same checks as new ones.
        """
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

    def _find_resolved(self, items: Payments) -> frozenset[str]:
        """Return the ids of payments that were pending and no longer are."""
        pending = _find_pending(items)
        return pending - self._fetch_pending() if pending else pending

    def _fetch_pending(self) -> frozenset[str]:
        """Return the ids of all pending payments, fetched once per load.

        The pages are read without overlap: a payment hidden by a tie costs one needless refetch, nothing else.
        """
        with self._pending_lock:
            if self._pending is None:
                found: set[str] = set()
                query: Query | None = Query(status=Status.PENDING)
                while query is not None:
                    page = self.fetch_current(query)
                    found |= _find_pending(page.items)
                    query = _advance(query, page)
                self._pending = frozenset(found)
            return self._pending


def _find_pending(items: Payments) -> frozenset[str]:
    rows = zip(items.ids, items.rows, strict=True)
    return frozenset(payment_id for payment_id, row in rows if row.status == Status.PENDING)


def _advance(query: Query, page: PaymentPage) -> Query | None:
    """Return the query for the next page, None after the last one."""
    if page.next is None:
        return None
    oldest = get_oldest_date(page)
    if oldest is None or (query.before is not None and oldest >= query.before):
        return None
    return msgspec.structs.replace(query, before=oldest)
