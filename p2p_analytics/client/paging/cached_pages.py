"""Where the pages of a load come from: the service, or the account's cache for what can no longer change.

In a closed window nothing new appears, and of what is there only a pending payment can change: every
other status is final (document: "States and transitions"). So a kept page is good as long as what is
pending on it is pending still. Nothing else is looked for: a name that was changed, or a ``refund``,
which no list shows, is seen when the page is asked for anew.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from p2p_analytics.client.http.transport import Keep
from p2p_analytics.client.paging.crowded_seconds import Query
from p2p_analytics.client.paging.pagination import oldest_of
from p2p_analytics.records import Payments
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from p2p_analytics.client.http.cache import ResponseStore
    from p2p_analytics.client.paging.windows import Window
    from p2p_analytics.records import Payment, PaymentPage


class PaymentSource:
    """Pages for one load.

    Parameters
    ----------
    ask : callable
        Takes a query and whether its answer may be kept; returns the page and whether it was.
    open_store : callable
        Returns the account's cache, None where there is none; called once something can be kept.
    refresh : bool
        Whether to forget what was kept.
    """

    def __init__(
        self,
        ask: Callable[[Query, Keep], tuple[PaymentPage, bool]],
        open_store: Callable[[], ResponseStore | None],
        *,
        refresh: bool,
    ) -> None:
        self._ask = ask
        self._open_store = open_store
        self._refresh = refresh
        self._store: ResponseStore | None = None
        self._came: set[str] = set()
        # An edge of two pages stands on both: what one, asked anew, told need not be asked of the other.
        self._told: dict[str, Payment] = {}
        self._pending: frozenset[str] | None = None
        self._asking = threading.Lock()

    def fresh(self, query: Query, *, again: bool = False) -> PaymentPage:  # noqa: ARG002 - it never uses the cache
        """Ask the service."""
        return self._ask(query, Keep.NOT)[0]

    def lasting(self, query: Query, *, again: bool = False) -> PaymentPage:
        """Return a page of a closed window; a kept one, which is as good as new, has no ``fetched_at``.

        ``again`` asks the service and replaces what was kept.
        """
        page, kept = self._ask(query, Keep.LASTING_ANEW if again else Keep.LASTING)
        changed = self._settled(page.items) if kept else frozenset()
        if not changed <= self._told.keys():
            page, kept = self._ask(query, Keep.LASTING_ANEW)
            self._told.update(
                {item.id: item for item in page.items if item.id in changed and item.status != Status.PENDING}
            )
        elif changed:
            items = (self._told.get(item.id, item) for item in page.items)
            page = msgspec.structs.replace(page, items=Payments.of(items, page.problems))
        self._came.update(page.items.ids)
        return msgspec.structs.replace(page, fetched_at=None) if kept else page

    def whole(self) -> Sequence[Window]:
        """Return the closed windows that came whole in earlier loads."""
        self._store = self._open_store()
        if self._store is None:
            return ()
        if self._refresh:
            self._store.clear()
        return self._store.windows()

    def keep(self, window: Window) -> None:
        """Write down that a closed window, or the newer part of one, was read to its end.

        This lets the next load send the same requests. It proves nothing: kept pages pass the same checks as new ones.
        """
        if self._store is not None:
            self._store.add_window(window)

    def forget(self) -> None:
        """Delete everything that is kept, because the service contradicted itself."""
        if self._store is not None:
            self._store.clear()

    def outlook(self) -> str:
        """Return what becomes of a load that stops here, as a sentence; none where nothing has come."""
        if not self._came:
            return ""
        if self._store is None or self._store.off:
            return " No cache keeps what has come, so the next load begins anew."
        return f" {len(self._came):,} payments are kept, and the next load goes on from there."

    def _settled(self, items: Payments) -> frozenset[str]:
        """Return the ids of those that were pending and are no more."""
        pending = _pending(items)
        return pending - self._still_pending() if pending else pending

    def _still_pending(self) -> frozenset[str]:
        """Return the ids of what is pending now, asked for once in a load.

        One page after the other without overlap: what a tie hides here costs a request, not the truth.
        """
        with self._asking:
            if self._pending is None:
                found: set[str] = set()
                query: Query | None = Query(status=Status.PENDING)
                while query is not None:
                    page = self.fresh(query)
                    found |= _pending(page.items)
                    query = _next(query, page)
                self._pending = frozenset(found)
            return self._pending


def _pending(items: Payments) -> frozenset[str]:
    return frozenset(which for which, row in zip(items.ids, items.rows, strict=True) if row.status == Status.PENDING)


def _next(query: Query, page: PaymentPage) -> Query | None:
    if page.next is None:
        return None
    oldest = oldest_of(page)
    if oldest is None or (query.before is not None and oldest >= query.before):
        return None
    return msgspec.structs.replace(query, before=oldest)
