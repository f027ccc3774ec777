"""Request for one page of payments, and the callable that sends it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from p2p_analytics.records import PaymentPage


class Query(msgspec.Struct, frozen=True):
    """Parameters of one request; commas separate several values of a filter."""

    before: datetime | None = None
    limit: int = PAGE_SIZE_MAXIMUM
    action: str = ""
    actor: str = ""
    status: str = ""


class FetchPage(Protocol):
    """Callable that fetches a page."""

    def __call__(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return the page of a query; ``refetch`` bypasses the cache."""
