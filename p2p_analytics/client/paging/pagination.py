"""Pagination of the list of payments, with evidence that no page of it is missing.

A next link with ``before=<second>`` skips the payments that share the last one's second. So the link is
never followed, and neither its presence nor its absence is taken as proof: the next request asks for the last
second again. That page must hold the last payment of the page before it, and the list ends where such a page
brings nothing older.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.client.paging.crowded_seconds import Query, Reading, pages_by_filters, remaining_pages
from p2p_analytics.client.paging.windows import BEGINNING, END
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from p2p_analytics.client.paging.crowded_seconds import Fetch
    from p2p_analytics.records import Payment

MAX_PAYMENTS: Final = 10_000_000  # of one list; a longer one is taken for one that never ends
_MOST_BARREN_PAGES: Final = 1_000  # so many pages in a row without a new payment lead to no end
_TRIES: Final = 3  # to read a list of one status while payments leave it
_CONTRADICTORY: Final = (
    "The service's answers to one request contradict each other, so payments may be missing, and nothing is returned: "
    "try again later."
)
_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_LAST_SECOND: Final = datetime.max.replace(microsecond=0, tzinfo=UTC)


class Walk:
    """One walk down the list from a bound, a page at a time.

    Parameters
    ----------
    fetch : Fetch
        Asks for a page.
    query : Query
        The first request; the following ones differ in ``before`` alone.
    reading : Reading
        Shared by the walks of one load.
    alone : bool
        Whether nothing else shows what the first page must hold, so that it is asked for twice.
    again : bool
        Whether every page is asked for even where it is cached.

    Attributes
    ----------
    query : Query
        The next request.
    overlap : str or None
        Id of a payment that the next page must hold; None where the next page need not hold any.
    ended : bool
        Whether the list has nothing older.
    """

    def __init__(
        self, fetch: Fetch, query: Query, reading: Reading, *, alone: bool = True, again: bool = False
    ) -> None:
        self._fetch, self.query, self._reading = fetch, query, reading
        self.alone, self._again = alone, again
        self._previous: Query | None = None
        self.overlap: str | None = None
        self._ready: PaymentPage | None = None  # the next page, where it has arrived already
        self._last_ids: list[str] = []  # of the page before, where it had no next link
        self._first_ids: list[str] = []
        self._was_linked = False  # whether the page before had a next link
        self.ended = False

    def step(self) -> PaymentPage:
        """Return the next page; where one second fills a page, more requests make up a larger one.

        Raises
        ------
        PaginationError
            Pages contradict each other, also when asked for again.
        """
        page = self._checked(self.query)
        if self.overlap is None and (self.alone or self._previous is not None):
            page = self._confirmed(page)
        if not _dates(page.items) or self._is_same_last_page(page):
            self.ended = True
            return page
        whole = msgspec.structs.replace(self.query, limit=PAGE_SIZE_MAXIMUM)
        if page.length >= self.query.limit < PAGE_SIZE_MAXIMUM and not self._is_past_a_second(page):
            page = self._checked(whole)
        full, last = self._reading.is_full(page), self._is_last(page)
        if last and (full or self._was_linked):  # the page before promised more than this one brings
            page = self._checked(whole, again=True)
            full, last = self._reading.is_full(page), self._is_last(page)
        if not _dates(page.items):
            raise PaginationError(_CONTRADICTORY)
        oldest = _dates(page.items)[-1]
        if self._is_past_a_second(page):
            self._continue(page, _end_of_second(oldest), overlap=_overlap(page.items, self.query.limit))
            return page
        if full and not (last and self._is_link_trusted(page) and not self._has_older(oldest)):
            return self._crowded(page, oldest)
        self._reading.people.add(page.items.parties(0, len(page.items)))
        if last:
            self.ended = True
        else:  # nothing of this second is withheld, so the next request leaves it out
            self._leave_out(page, oldest)
        return page

    def _is_past_a_second(self, page: PaymentPage) -> bool:
        """Return whether asking for the page's last second again comes to other payments than this page."""
        return self.query.before is None or _end_of_second(_dates(page.items)[-1]) < self.query.before

    def _is_last(self, page: PaymentPage) -> bool:
        """Return whether a page says, as the second one to do so, that nothing is older."""
        return page.next is None and self.overlap is not None and not self._is_past_a_second(page)

    def _confirmed(self, page: PaymentPage) -> PaymentPage:
        """Return a page asked for again, because it need not hold any payment of the page before it.

        The first page of a list is only asked for again where it is empty: a new payment may come to others.

        Raises
        ------
        PaginationError
            Three answers to one request differ.
        """
        if self._previous is None and self.query.before is None and page.items:
            return page
        shown = set(page.items.ids)
        for _ in range(2):
            page = self._checked(self.query, again=True)
            if shown.issubset(page.items.ids) or self.query.status:
                return page
            shown.update(page.items.ids)
        raise PaginationError(_CONTRADICTORY)

    def _is_link_trusted(self, page: PaymentPage) -> bool:
        """Return whether a missing next link shows that a full page is the last one.

        It does where other pages have links, or where the page is all there is and shorter than was asked for.
        """
        only = self.alone and page.items.ids == self._first_ids and page.length < PAGE_SIZE_MAXIMUM
        return self._reading.has_links or only

    def _is_same_last_page(self, page: PaymentPage) -> bool:
        """Return whether a service that ignores ``before`` gave its only page once more."""
        dates, before = _dates(page.items), self.query.before
        ignored = before is not None and bool(dates) and dates[0] > before
        return ignored and page.next is None and page.items.ids == self._last_ids

    def _has_older(self, oldest: datetime) -> bool:
        """Return whether the list goes on after a second, though a page that the second fills has no next link."""
        second = oldest.replace(microsecond=0)
        query = msgspec.structs.replace(self.query, before=second)
        answers = (self._fetch(query, again=True) for _ in range(2))
        return any(date < second for older in answers for date in _dates(older.items))

    def _continue(self, page: PaymentPage, before: datetime, overlap: str | None) -> None:
        """Go on before an instant.

        The people of the page's last second count with the next page, which holds all of that second.
        """
        self._previous, self.overlap = self.query, overlap
        self._was_linked = page.next is not None
        self._last_ids = [] if self._was_linked else page.items.ids
        self._first_ids = self._first_ids or page.items.ids
        self.query = msgspec.structs.replace(self.query, before=before)
        if overlap is not None:
            stop = sum(date is None or date >= before for date in page.items.created)
            if stop < len(page.items):
                stop = next(n for n, date in enumerate(page.items.created) if date is not None and date < before)
            self._reading.people.add(page.items.parties(0, stop))

    def _leave_out(self, page: PaymentPage, instant: datetime) -> None:
        """Go on before an instant itself; where it was the bound already, the service counts a bound in."""
        if self.query.before is not None and instant >= self.query.before:
            if self.query.before == BEGINNING:
                self.ended = True
                return
            instant = self.query.before - _MICROSECOND
        self._continue(page, instant, overlap=None)

    def _crowded(self, page: PaymentPage, oldest: datetime) -> PaymentPage:
        """Return a page that one second fills: with the rest by its microseconds, else by filters."""
        finer, last = oldest + _MICROSECOND, _overlap(page.items, PAGE_SIZE_MAXIMUM)
        if self.query.before is not None and finer < self.query.before:
            query = msgspec.structs.replace(self.query, before=finer, limit=PAGE_SIZE_MAXIMUM)
            rest = self._fetch(query, again=self._again)
            if not _contradiction(rest, query, last):  # the bound counts to the microsecond
                self._continue(page, finer, overlap=last)
                self._ready = rest
                return page
        second = oldest.replace(microsecond=0)
        query = msgspec.structs.replace(self.query, limit=PAGE_SIZE_MAXIMUM)
        pages = [page, *pages_by_filters(self._fetch, query, page, second, self._reading)]
        self._leave_out(page, second)
        return _joined(pages)

    def _checked(self, query: Query, *, again: bool = False) -> PaymentPage:
        """Return the page of a query, asked for once more where it contradicts the pages before it."""
        page, self._ready = self._ready or self._fetch(query, again=again or self._again), None
        self._reading.has_links |= page.next is not None
        if not _contradiction(page, query, self.overlap):
            return page
        if self._is_same_last_page(page):
            page = self._fetch(query, again=True)
            if self._is_same_last_page(page):
                return page
        query = msgspec.structs.replace(query, limit=PAGE_SIZE_MAXIMUM)  # a new payment moves the others down
        page = self._fetch(query, again=True)
        contradiction = _contradiction(page, query, self.overlap)
        for _ in range(_TRIES if query.status else 1):
            if not contradiction or self._is_unreadable_in_part(page, query) or self._has_changed_status(page):
                return page
            page = self._fetch(query, again=True)
            contradiction = _contradiction(page, query, self.overlap)
        raise PaginationError(contradiction)

    @staticmethod
    def _is_unreadable_in_part(page: PaymentPage, query: Query) -> bool:
        """Return whether a page may lack a payment because a record has no readable id, which its problems say."""
        readable = not _contradiction(page, query, None) and bool(_dates(page.items))
        return readable and any(problem.unreadable and problem.record_id is None for problem in page.problems)

    def _has_changed_status(self, page: PaymentPage) -> bool:
        """Return whether the payment that a page lacks has left a list filtered by status since the page before.

        The page before, asked for again, then no longer holds it either, and what it holds now of the page's time
        is on both.
        """
        before, previous = self.query.before, self._previous
        if not self.query.status or previous is None or before is None or _contradiction(page, self.query, None):
            return False
        now = self._fetch(previous, again=True)
        if self.overlap in now.items.ids or _contradiction(now, previous, None):
            return False
        dated = zip(now.items.ids, now.items.created, strict=True)
        below = {payment_id for payment_id, date in dated if date is not None and date < before}
        return below.issubset(page.items.ids) and bool(below) == bool(page.items)


def _contradiction(page: PaymentPage, query: Query, overlap: str | None) -> str:
    """Return what shows that a page is not the one asked for, as a sentence; empty where nothing does.

    ``overlap`` is the id of a payment that the page must hold.
    """
    dates = _dates(page.items)
    if any(later < earlier for later, earlier in pairwise(dates)):
        return "The service's list of payments is not sorted newest first, so it cannot be paged without loss."
    if query.before is not None and dates and dates[0] > query.before:
        return "The service does not keep to the bound 'before', so its list cannot be walked."
    if not dates and page.next is not None and (page.items or page.problems):
        return "A page of payments holds no readable date, so the next page cannot be asked for."
    if overlap is not None and overlap not in page.items.ids:
        return (
            "A page of payments does not continue the one before it, so payments may be missing between them, and "
            "nothing is returned: try again later."
        )
    return ""


def walk(  # noqa: PLR0913 - what is asked for, and how
    fetch: Fetch,
    query: Query,
    *,
    after: datetime = BEGINNING,
    before: datetime = END,
    friends: Callable[[], Sequence[str]] = tuple,
    most: int = MAX_PAYMENTS,
) -> Iterator[PaymentPage]:
    """Yield the pages between two instants, both left out themselves, newest first, each payment once.

    What a crowded second held back comes last.

    Parameters
    ----------
    fetch : Fetch
        Asks for a page.
    query : Query
        Filters and page size.
    after, before : datetime
        ``BEGINNING`` and ``END`` leave nothing out.
    friends : callable
        Returns the ids of the user's friends, who may have acted in a crowded second.
    most : int
        Payments after which the list is taken for one that never ends.

    Raises
    ------
    PaginationError
        The list cannot be walked to its end without a loss.
    """
    reading, accepted = Reading(friends), Accepted(most)
    position = Walk(fetch, msgspec.structs.replace(query, before=None if before == END else before), reading)
    oldest: datetime | None = None
    while not position.ended and (oldest is None or oldest >= after):
        page = position.step()
        yield from accepted.pages(page, after, before)
        accepted.require_end(len(accepted))
        oldest = oldest_of(page)
    for page in remaining_pages(reading):
        yield from accepted.pages(page, after, before)


class Accepted:
    """The payments that a load has passed on, each once.

    Parameters
    ----------
    most : int
        Payments after which the list is taken for one that never ends.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._contents: dict[str, int] = {}
        self._count = self._barren = 0

    def __contains__(self, payment_id: str) -> bool:
        """Return whether a payment was accepted."""
        return payment_id in self._contents

    def __len__(self) -> int:
        """Return the number of accepted payments."""
        return len(self._contents)

    def require_end(self, count: int) -> None:
        """Raise a PaginationError where a list seems to have no end; to be called once for each page.

        Parameters
        ----------
        count : int
            Different payments that have arrived so far.
        """
        self._count, self._barren = count, self._barren + 1 if count == self._count else 0
        if self._barren > _MOST_BARREN_PAGES:
            raise PaginationError(
                f"{_MOST_BARREN_PAGES:,} pages in a row brought no new payment, so the list seems to have no end, and "
                "nothing is returned."
            )
        if count > self._most:
            raise PaginationError(
                f"More than {self._most:,} payments arrived, so the list seems to have no end, and nothing is "
                "returned. If there are so many, raise the bound: Client(max_payments=...)."
            )

    def pages(self, page: PaymentPage, after: datetime, before: datetime) -> Iterator[PaymentPage]:
        """Yield the new payments of a page between two instants, and a page of problems where contents differ."""
        items, contents = page.items, self._contents
        keep, problems = [], []
        for row, date, cents in zip(items.rows, items.created, items.cents, strict=True):
            content = (row.action, cents, row.note, date)
            known = contents.get(row.id)
            new = known is None and (date is None or is_between(date, after, before))
            keep.append(new)
            if new:
                contents[row.id] = hash((content, row.status))
            elif known is not None and not _is_same(known, content, row.status):
                problems.append(Problem(row.id, "payment_id", "", "came twice with different contents; one is kept"))
        yield msgspec.structs.replace(page, items=items.only(keep))
        if problems:
            yield PaymentPage(Payments.of((), problems))


def _is_same(known: int, content: tuple[object, ...], status: str | None) -> bool:
    """Return whether a payment arrived with the same contents before; only one that was pending may have changed."""
    statuses = (*Status, None) if status == Status.PENDING else (status, Status.PENDING)
    return any(known == hash((content, each)) for each in statuses)


def is_between(date: datetime, after: datetime, before: datetime) -> bool:
    """Return whether a date lies between two bounds; ``BEGINNING`` and ``END`` leave nothing out."""
    return (after < date or after == BEGINNING) and (date < before or before == END)


def oldest_of(page: PaymentPage) -> datetime | None:
    """Return the date of a page's oldest payment, None where none has a date."""
    return min(_dates(page.items), default=None)


def _joined(pages: Sequence[PaymentPage]) -> PaymentPage:
    """Return several pages as one, each payment once, newest first."""
    items = {item.id: item for page in pages for item in page.items}
    answered = [page.fetched_at for page in pages if page.fetched_at is not None]
    problems = dict.fromkeys(problem for page in pages for problem in page.problems)
    return PaymentPage(
        Payments.of(sorted(items.values(), key=age, reverse=True), problems), fetched_at=min(answered, default=None)
    )


def age(payment: Payment) -> tuple[datetime, int, str]:
    """Return the sort key of a list: newest first, in reverse."""
    return payment.date_created or _LAST_SECOND, len(payment.id), payment.id


def _end_of_second(instant: datetime) -> datetime:
    second = instant.replace(microsecond=0)
    return second + _SECOND if second < _LAST_SECOND else END


def _dates(items: Payments) -> list[datetime]:
    return [date for date in items.created if date is not None]


def _overlap(items: Payments, limit: int) -> str:
    """Return the id of the oldest payment that a page of so many records before the end of the last second holds."""
    dated = [(payment_id, date) for payment_id, date in zip(items.ids, items.created, strict=True) if date is not None]
    second = dated[-1][1].replace(microsecond=0)
    of_second = [payment_id for payment_id, date in dated if date.replace(microsecond=0) == second]
    return of_second[:limit][-1]
