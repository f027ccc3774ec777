"""Pager: cursor over the list of payments; fetches one page per call and checks that no page is missing.

A next link with ``before=<second>`` skips payments that share the second of the last one. So the pager never follows
the link, and takes neither its presence nor its absence as proof. The next request includes the last second again:
its page must hold the last payment of the previous page (the overlap), and the list ends at a page that holds
nothing older.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.client.paging._continuity import find_contradiction, find_overlap
from p2p_analytics.client.paging._crowded_seconds import fetch_by_filters
from p2p_analytics.client.paging.page_dates import (
    MICROSECOND,
    floor_to_second,
    get_dates,
    get_end_of_second,
    get_sort_key,
)
from p2p_analytics.client.window import BEGINNING
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import PaymentPage, Payments
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from p2p_analytics.client.paging._load_state import LoadState
    from p2p_analytics.client.paging.query import FetchPage, Query

_FILTERED_ATTEMPTS: Final = 3  # payments may leave a list filtered by status while it is read
_CONTRADICTORY: Final = (
    "The service's answers to one request contradict each other, so payments may be missing, and nothing is returned: "
    "try again later."
)


class Pager:
    """One pass through the list from a bound towards older payments, a page at a time.

    Parameters
    ----------
    fetch : FetchPage
        Fetches a page.
    query : Query
        The first request; the following ones differ in ``before`` alone.
    state : LoadState
        Shared by the pagers of one load.
    standalone : bool
        Whether no other pager overlaps the first page, so that a second request has to confirm it.
    refetch : bool
        Whether every page bypasses the cache.

    Attributes
    ----------
    query : Query
        The next request.
    overlap : str or None
        Id of the payment that the next page must hold; None if there is none.
    ended : bool
        Whether the list holds nothing older.
    """

    def __init__(
        self, fetch: FetchPage, query: Query, state: LoadState, *, standalone: bool = True, refetch: bool = False
    ) -> None:
        self._fetch, self.query, self._state = fetch, query, state
        self.standalone, self._refetch = standalone, refetch
        self._previous: Query | None = None
        self.overlap: str | None = None
        self._prefetched: PaymentPage | None = None  # the next page, if a check has fetched it already
        self._last_ids: list[str] = []  # of the previous page, if it had no next link
        self._first_ids: list[str] = []
        self._had_link = False  # whether the previous page had a next link
        self.ended = False

    def fetch_next(self) -> PaymentPage:
        """Return the next page; if one second fills a page, several requests make up a larger page.

        Raises
        ------
        PaginationError
            Pages contradict each other, even after a refetch.
        """
        page = self._fetch_checked(self.query)
        if self.overlap is None and (self.standalone or self._previous is not None):
            page = self._confirm(page)
        if not get_dates(page.items) or self._is_same_last_page(page):
            self.ended = True
            return page
        full_size = msgspec.structs.replace(self.query, limit=PAGE_SIZE_MAXIMUM)
        if page.length >= self.query.limit < PAGE_SIZE_MAXIMUM and not self._advances(page):
            page = self._fetch_checked(full_size)
        full, last = self._state.is_full(page), self._is_last(page)
        if last and (full or self._had_link):  # the previous page promised more than this one holds
            page = self._fetch_checked(full_size, refetch=True)
            full, last = self._state.is_full(page), self._is_last(page)
        if not get_dates(page.items):
            raise PaginationError(_CONTRADICTORY)
        oldest = get_dates(page.items)[-1]
        if self._advances(page):
            self._move_cursor(page, get_end_of_second(oldest), overlap=find_overlap(page.items, self.query.limit))
            return page
        if full and not (last and self._is_link_trusted(page) and not self._has_older(oldest)):
            return self._complete_second(page, oldest)
        self._state.people.add(page.items.parties(0, len(page.items)))
        if last:
            self.ended = True
        else:  # the page holds all of this second, so the next request excludes it
            self._exclude(page, oldest)
        return page

    def _advances(self, page: PaymentPage) -> bool:
        """Return whether a request that includes the page's last second would return a different page."""
        return self.query.before is None or get_end_of_second(get_dates(page.items)[-1]) < self.query.before

    def _is_last(self, page: PaymentPage) -> bool:
        """Return whether a page is the second one in a row that reports the end of the list."""
        return page.next is None and self.overlap is not None and not self._advances(page)

    def _confirm(self, page: PaymentPage) -> PaymentPage:
        """Return the page of a second request, for a page that overlaps no previous one.

        The first page of a list is only confirmed if it is empty: otherwise a new payment may have changed it.

        Raises
        ------
        PaginationError
            Three answers to one request differ.
        """
        if self._previous is None and self.query.before is None and page.items:
            return page
        seen = set(page.items.ids)
        for _ in range(2):
            page = self._fetch_checked(self.query, refetch=True)
            if seen.issubset(page.items.ids) or self.query.status:
                return page
            seen.update(page.items.ids)
        raise PaginationError(_CONTRADICTORY)

    def _is_link_trusted(self, page: PaymentPage) -> bool:
        """Return whether a missing next link proves that a full page is the last one.

        It does if other pages have links, or if the page is the only one and shorter than requested.
        """
        only = self.standalone and page.items.ids == self._first_ids and page.length < PAGE_SIZE_MAXIMUM
        return self._state.has_links or only

    def _is_same_last_page(self, page: PaymentPage) -> bool:
        """Return whether a service that ignores ``before`` has returned its only page again."""
        dates, before = get_dates(page.items), self.query.before
        ignored = before is not None and bool(dates) and dates[0] > before
        return ignored and page.next is None and page.items.ids == self._last_ids

    def _has_older(self, oldest: datetime) -> bool:
        """Return whether the list holds payments before a second that fills a page without a next link."""
        second = floor_to_second(oldest)
        query = msgspec.structs.replace(self.query, before=second)
        pages = (self._fetch(query, refetch=True) for _ in range(2))
        return any(date < second for page in pages for date in get_dates(page.items))

    def _move_cursor(self, page: PaymentPage, before: datetime, overlap: str | None) -> None:
        """Continue before an instant.

        The people of the page's last second are counted with the next page, which holds all of that second.
        """
        self._previous, self.overlap = self.query, overlap
        self._had_link = page.next is not None
        self._last_ids = [] if self._had_link else page.items.ids
        self._first_ids = self._first_ids or page.items.ids
        self.query = msgspec.structs.replace(self.query, before=before)
        if overlap is not None:
            stop = sum(date is None or date >= before for date in page.items.created)
            if stop < len(page.items):
                stop = next(n for n, date in enumerate(page.items.created) if date is not None and date < before)
            self._state.people.add(page.items.parties(0, stop))

    def _exclude(self, page: PaymentPage, instant: datetime) -> None:
        """Continue strictly before an instant, even if the service treats ``before`` as inclusive."""
        if self.query.before is not None and instant >= self.query.before:
            if self.query.before == BEGINNING:
                self.ended = True
                return
            instant = self.query.before - MICROSECOND
        self._move_cursor(page, instant, overlap=None)

    def _complete_second(self, page: PaymentPage, oldest: datetime) -> PaymentPage:
        """Return a page that one second fills, completed by microseconds or else by filters."""
        finer, overlap = oldest + MICROSECOND, find_overlap(page.items, PAGE_SIZE_MAXIMUM)
        if self.query.before is not None and finer < self.query.before:
            query = msgspec.structs.replace(self.query, before=finer, limit=PAGE_SIZE_MAXIMUM)
            rest = self._fetch(query, refetch=self._refetch)
            if not find_contradiction(rest, query, overlap):  # the service compares microseconds
                self._move_cursor(page, finer, overlap=overlap)
                self._prefetched = rest
                return page
        second = floor_to_second(oldest)
        query = msgspec.structs.replace(self.query, limit=PAGE_SIZE_MAXIMUM)
        pages = [page, *fetch_by_filters(self._fetch, query, page, second, self._state)]
        self._exclude(page, second)
        return _merge_pages(pages)

    def _fetch_checked(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return the page of a query, refetched if it contradicts the previous pages."""
        page = self._prefetched or self._fetch(query, refetch=refetch or self._refetch)
        self._prefetched = None
        self._state.has_links |= page.next is not None
        if not find_contradiction(page, query, self.overlap):
            return page
        if self._is_same_last_page(page):
            page = self._fetch(query, refetch=True)
            if self._is_same_last_page(page):
                return page
        query = msgspec.structs.replace(query, limit=PAGE_SIZE_MAXIMUM)  # a new payment shifts the others down
        page = self._fetch(query, refetch=True)
        contradiction = find_contradiction(page, query, self.overlap)
        for _ in range(_FILTERED_ATTEMPTS if query.status else 1):
            if not contradiction or self._is_partly_unreadable(page, query) or self._has_changed_status(page):
                return page
            page = self._fetch(query, refetch=True)
            contradiction = find_contradiction(page, query, self.overlap)
        raise PaginationError(contradiction)

    @staticmethod
    def _is_partly_unreadable(page: PaymentPage, query: Query) -> bool:
        """Return whether a page may lack a payment because a record has no readable id, as its problems report."""
        readable = not find_contradiction(page, query, None) and bool(get_dates(page.items))
        return readable and any(problem.unreadable and problem.record_id is None for problem in page.problems)

    def _has_changed_status(self, page: PaymentPage) -> bool:
        """Return whether the missing payment has left a list filtered by status since the previous page.

        In that case the previous page, when refetched, no longer holds the payment either, and both pages agree on
        the time that they share.
        """
        before, previous = self.query.before, self._previous
        if not self.query.status or previous is None or before is None or find_contradiction(page, self.query, None):
            return False
        current = self._fetch(previous, refetch=True)
        if self.overlap in current.items.ids or find_contradiction(current, previous, None):
            return False
        dated = zip(current.items.ids, current.items.created, strict=True)
        shared = {payment_id for payment_id, date in dated if date is not None and date < before}
        return shared.issubset(page.items.ids) and bool(shared) == bool(page.items)


def _merge_pages(pages: Sequence[PaymentPage]) -> PaymentPage:
    """Return several pages as one, each payment once, newest first."""
    items = {item.id: item for page in pages for item in page.items}
    fetched_at = [page.fetched_at for page in pages if page.fetched_at is not None]
    problems = dict.fromkeys(problem for page in pages for problem in page.problems)
    return PaymentPage(
        Payments.of(sorted(items.values(), key=get_sort_key, reverse=True), problems),
        fetched_at=min(fetched_at, default=None),
    )
