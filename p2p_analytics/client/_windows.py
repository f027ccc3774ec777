"""How the list of payments is walked without losing one.

A next link with ``before=<second>`` skips the payments that share the last one's second. So only
its presence counts: the next request asks again for the last second, and what came already is
left out by its id.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from p2p_analytics.errors import PaginationError
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from p2p_analytics.records import Page, Payment

_SECOND = timedelta(seconds=1)
_LAST_SECOND = datetime.max.replace(microsecond=0, tzinfo=UTC)


def walk(
    fetch: Callable[[datetime | None, int], Page[Payment]], *, before: datetime | None, page_size: int
) -> Iterator[Page[Payment]]:
    """Yield the pages of one window of time, newest first, each payment once.

    Parameters
    ----------
    fetch : callable
        Takes a ``before`` instant (None: no bound) and a page size, and returns that page.
    before : datetime or None
        The end of the window.
    page_size : int
        Payments a page, at most 50 (document: "Limits").

    Raises
    ------
    PaginationError
        The list cannot be walked to its end without a loss.
    """
    seen: set[str] = set()
    cursor, size = before, page_size
    while True:
        page = fetch(cursor, size)
        _require_newest_first(page.items)
        yield msgspec.structs.replace(page, items=tuple(item for item in page.items if item.id not in seen))
        if page.next is None:
            return
        seen.update(item.id for item in page.items)
        further = _overlapping(page.items, cursor)
        if further != cursor:
            cursor, size = further, page_size
        elif size < PAGE_SIZE_MAXIMUM:
            size = PAGE_SIZE_MAXIMUM  # a whole page within one second: ask for the largest one
        else:
            raise PaginationError(
                f"More than {PAGE_SIZE_MAXIMUM} payments, so more than a page, share the second before "
                f"{cursor:%Y-%m-%d %H:%M:%S} UTC, or the service ignores that bound: narrow it by action or status."
            )


def _overlapping(items: Sequence[Payment], cursor: datetime | None) -> datetime:
    """Return the end of the last item's second, no later than the cursor it was found with."""
    dates = [item.date_created for item in items if item.date_created is not None]
    if not dates:
        raise PaginationError("A page of payments holds no readable date, so the next page cannot be asked for.")
    second = min(dates).replace(microsecond=0)
    end = second + _SECOND if second < _LAST_SECOND else datetime.max.replace(tzinfo=UTC)
    return end if cursor is None else min(end, cursor)


def _require_newest_first(items: Sequence[Payment]) -> None:
    dates = [item.date_created for item in items if item.date_created is not None]
    if any(later < earlier for later, earlier in pairwise(dates)):
        raise PaginationError(
            "The service's list of payments is not sorted newest first, so it cannot be paged without loss."
        )
