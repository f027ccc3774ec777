"""Sequential load of a list: runs one `_pager` to the end on one connection; `scheduler` uses several.

`_pager` fetches and checks one page per call. `scheduler` runs one pager per calendar window, in parallel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.client.paging._crowded_seconds import fetch_by_people
from p2p_analytics.client.paging._deduplication import Deduplicator
from p2p_analytics.client.paging._load_state import LoadState
from p2p_analytics.client.paging._pager import Pager
from p2p_analytics.client.paging.page_dates import get_oldest_date
from p2p_analytics.client.window import BEGINNING, END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from p2p_analytics.client.paging.query import FetchPage, Query
    from p2p_analytics.records import PaymentPage

MAX_PAYMENTS: Final = 10_000_000  # of one list; a longer one is considered endless


def paginate(  # noqa: PLR0913 - the query, its bounds, and how to complete it
    fetch: FetchPage,
    query: Query,
    *,
    after: datetime = BEGINNING,
    before: datetime = END,
    list_friend_ids: Callable[[], Sequence[str]] = tuple,
    max_payments: int = MAX_PAYMENTS,
) -> Iterator[PaymentPage]:
    """Yield the pages between two instants, newest first, each payment once.

    Payments of crowded seconds that only a filter by people finds come last.

    Parameters
    ----------
    fetch : FetchPage
        Fetches a page.
    query : Query
        Filters and page size.
    after, before : datetime
        Exclusive bounds; ``BEGINNING`` and ``END`` exclude nothing.
    list_friend_ids : callable
        Returns the ids of the user's friends, who may have acted in a crowded second.
    max_payments : int
        Payments after which the list is considered endless.

    Raises
    ------
    PaginationError
        The list cannot be read to its end without loss.
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
