"""Checks that a page continues the one before it: sorted, within the bound, and with the overlap."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from p2p_analytics.client.paging.page_dates import floor_to_second, get_dates

if TYPE_CHECKING:
    from p2p_analytics.client.paging.query import Query
    from p2p_analytics.records import PaymentPage, Payments


def find_contradiction(page: PaymentPage, query: Query, overlap: str | None) -> str:
    """Return why a page cannot be the answer to a query, as a sentence; empty if it can.

    ``overlap`` is the id of a payment that the page must hold.
    """
    dates = get_dates(page.items)
    if any(later < earlier for later, earlier in pairwise(dates)):
        return "The service's list of payments is not sorted newest first, so it cannot be paged without loss."
    if query.before is not None and dates and dates[0] > query.before:
        return "The service returned payments after the bound 'before', so its list cannot be paged."
    if not dates and page.next is not None and (page.items or page.problems):
        return "A page of payments holds no readable date, so the next page cannot be requested."
    if overlap is not None and overlap not in page.items.ids:
        return (
            "A page of payments does not continue the one before it, so payments may be missing between them, and "
            "nothing is returned: try again later."
        )
    return ""


def find_overlap(items: Payments, limit: int) -> str:
    """Return the id of the oldest payment that the next page must hold.

    The next page has ``limit`` records and starts with the last second of these payments.
    """
    dated = [(payment_id, date) for payment_id, date in zip(items.ids, items.created, strict=True) if date is not None]
    second = floor_to_second(dated[-1][1])
    of_second = [payment_id for payment_id, date in dated if floor_to_second(date) == second]
    return of_second[:limit][-1]
