"""Pager: cursor over the list of payments; fetches one page per call and checks that no page is missing.

A next link with ``before=<second>`` skips payments that share the second of the last one. So the pager never follows
the link, and takes neither its presence nor its absence as proof. The next request includes the last second again:
its page must hold the last payment of the previous page (the overlap), and the list ends at a page that holds
nothing older.

A time cursor cannot get past a second with more payments than a page holds (a crowded second). Its payments are
requested by filters: by action, then by status, and finally by the people who may have acted. All people of a load are
known only at its end, so the last filter waits until then.

A list of friends has no times. It is paged by its next links, which are response data, not configuration: a link must
continue its own list on the same origin and path, or the list ends in an error (document: "Pagination object").
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple, Protocol
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

import msgspec

from p2p_analytics.errors import PaginationError
from p2p_analytics.records import Page, Payment, PaymentPage, Payments, Problem, User, user_id_of_party
from p2p_analytics.times import BEGINNING, END, MICROSECOND, format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, TOKEN_PARAMETER, Action, Status

_FILTERED_ATTEMPTS: Final = 3  # payments may leave a list filtered by status while it is read
_CONTRADICTORY: Final = (
    "The service's answers to one request contradict each other, so payments may be missing, and nothing is returned: "
    "try again later."
)
_SHORTEST_FULL_PAGE: Final = 10  # a shorter page is not considered truncated by the service
_PEOPLE_PER_REQUEST: Final = 100  # about two kilobytes of URL
_SAME_KIND_AND_PERSON: Final = "of one kind and one person, which no filter can separate; some of them are missing"
_SECOND: Final = timedelta(seconds=1)
_LAST_SECOND: Final = datetime.max.replace(microsecond=0, tzinfo=UTC)
_MAX_BARREN_PAGES: Final = 1_000  # consecutive pages without a new payment
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


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


class Pager:
    """One pass through the list from a bound towards older payments, a page at a time.

    ``query`` is the next request; the requests differ in ``before`` alone. A ``standalone`` pager is overlapped by no
    other one, so that a second request has to confirm its first page. With ``refetch``, every page bypasses the cache.
    """

    def __init__(
        self, fetch: FetchPage, query: Query, state: LoadState, *, standalone: bool = True, refetch: bool = False
    ) -> None:
        self._fetch, self.query, self._state = fetch, query, state
        self.standalone, self._refetch = standalone, refetch
        self._previous: Query | None = None
        self.overlap: str | None = None  # id of the payment that the next page must hold
        self._prefetched: PaymentPage | None = None  # the next page, if a check has fetched it already
        self._last_ids: list[str] = []  # of the previous page, if it had no next link
        self._first_ids: list[str] = []
        self.had_link = False  # whether the previous page had a next link
        self.ended = False  # whether the list holds nothing older

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
        if last and (full or self.had_link):  # the previous page promised more than this one holds
            page = self._fetch_checked(full_size, refetch=True)
            full, last = self._state.is_full(page), self._is_last(page)
        if not get_dates(page.items):
            raise PaginationError(_CONTRADICTORY)
        oldest = get_dates(page.items)[-1]
        if self._advances(page):
            self._move_cursor(page, get_end_of_second(oldest), overlap=find_overlap(page.items, self.query.limit))
            return page
        # A missing link is trusted if other pages have links, or if this page is the only one and not filled.
        is_only = self.standalone and page.items.ids == self._first_ids and page.length < PAGE_SIZE_MAXIMUM
        is_link_trusted = last and (self._state.has_links or is_only)
        if full and not (is_link_trusted and not self._has_older(oldest)):
            return self._complete_second(page, oldest)
        self._state.parties.update(page.items.parties(0, len(page.items)))
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
        self.had_link = page.next is not None
        self._last_ids = [] if self.had_link else page.items.ids
        self._first_ids = self._first_ids or page.items.ids
        self.query = msgspec.structs.replace(self.query, before=before)
        if overlap is not None:
            stop = sum(date is None or date >= before for date in page.items.created)
            if stop < len(page.items):
                stop = next(n for n, date in enumerate(page.items.created) if date is not None and date < before)
            self._state.parties.update(page.items.parties(0, stop))

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
        items = {item.id: item for page in pages for item in page.items}
        fetched_at = [page.fetched_at for page in pages if page.fetched_at is not None]
        problems = dict.fromkeys(problem for page in pages for problem in page.problems)
        return PaymentPage(
            Payments.of(sorted(items.values(), key=get_sort_key, reverse=True), problems),
            fetched_at=min(fetched_at, default=None),
        )

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
            # A record without a readable id may be the missing payment; the page's problems report it.
            has_dates = bool(get_dates(page.items)) and not find_contradiction(page, query, None)
            if not contradiction or (
                has_dates and any(problem.unreadable and problem.record_id is None for problem in page.problems)
            ):
                return page
            if self._has_changed_status(page):
                return page
            page = self._fetch(query, refetch=True)
            contradiction = find_contradiction(page, query, self.overlap)
        raise PaginationError(contradiction)

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


# ---- checks that a page continues the one before it


def find_contradiction(page: PaymentPage, query: Query, overlap: str | None) -> str:
    """Return why a page cannot answer a query and hold the payment ``overlap``, as a sentence; empty if it can."""
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
    """Return the id of the oldest payment that the next page must hold, which starts with the last second."""
    dated = [(payment_id, date) for payment_id, date in zip(items.ids, items.created, strict=True) if date is not None]
    second = floor_to_second(dated[-1][1])
    of_second = [payment_id for payment_id, date in dated if floor_to_second(date) == second]
    return of_second[:limit][-1]


# ---- state that the pagers of one load share


class CrowdedSecond(NamedTuple):
    """Second with more payments than a page holds; only its first page is known."""

    fetch: FetchPage
    query: Query
    page: PaymentPage
    second: datetime


class LoadState:
    """What the pagers of one load have seen; threads share it."""

    def __init__(self, list_friend_ids: Callable[[], Iterable[str]] = tuple) -> None:
        self.list_friend_ids = list_friend_ids
        self.has_links = False  # whether any page had a next link, so that a missing link means something
        self.parties: set[bytes | str] = set()  # actors and targets, as undecoded JSON or as user ids
        self.crowded: list[CrowdedSecond] = []  # to be completed by people at the end of the load
        self._longest = 0  # records on the longest page so far, the best estimate of the service's page size
        self._lock = threading.Lock()

    def is_full(self, page: PaymentPage) -> bool:
        """Return whether the service may have truncated the page."""
        with self._lock:
            self._longest = max(self._longest, page.length)
        return page.length >= max(self._longest, _SHORTEST_FULL_PAGE)

    def is_crowded(self, page: PaymentPage, second: datetime) -> bool:
        """Return whether the page may lack payments of the second: it is full and holds no older payment."""
        return self.is_full(page) and all(date is None or date >= second for date in page.items.created)


# ---- crowded seconds


def fetch_by_filters(
    fetch: FetchPage, query: Query, page: PaymentPage, second: datetime, state: LoadState
) -> Iterator[PaymentPage]:
    """Yield the payments of a crowded second by action, then by status; by actor, if the query names several.

    A second that these filters cannot complete is added to ``state.crowded``. Where payments may be missing, a page
    without payments reports it in its ``problems``.
    """
    narrower: list[Query] = []
    for name, values in (("action", Action), ("status", Status), ("actor", ())):
        given = getattr(query, name)
        split = given.split(",") if given else list(values)
        if len(split) > 1 and not narrower:  # one query per value of the first filter that can still be split
            narrower = [msgspec.structs.replace(query, **{name: str(value)}) for value in split]
    if not narrower:
        if query.actor:
            yield _report_incomplete(second, _SAME_KIND_AND_PERSON)
        else:
            state.crowded.append(CrowdedSecond(fetch, query, page, second))
        return
    found: set[str] = set()
    for part in narrower:
        result = _fetch_narrower(fetch, part, page, second)
        found.update(result.items.ids)
        yield _drop_older(result, second)
        if state.is_crowded(result, second):
            yield from fetch_by_filters(fetch, part, result, second, state)
    if not found.issuperset(page.items.ids):
        yield _report_incomplete(second, "and some of them are found by no filter; others may be missing")


def fetch_by_people(state: LoadState) -> Iterator[PaymentPage]:
    """Yield the payments that the crowded seconds of a load still lack, by people seen in the load and friends.

    Nothing proves that these are all people who acted in such a second. If the second holds people who are seen
    nowhere else, there may be more of them, and a page without payments reports it in its ``problems``.
    """
    if not state.crowded:
        return
    seen = (party if isinstance(party, str) else user_id_of_party(party) for party in state.parties)
    known = {user_id for user_id in (*seen, *state.list_friend_ids()) if user_id}
    for crowded in state.crowded:
        actors = {_get_actor_id(payment) for payment in crowded.page.items}
        groups = _split_groups(sorted({actor for actor in actors if actor} | known), _PEOPLE_PER_REQUEST)
        found: set[str] = set()
        while groups:
            group = groups.pop()
            query = msgspec.structs.replace(crowded.query, actor=",".join(group))
            result = _fetch_narrower(crowded.fetch, query, crowded.page, crowded.second)
            found.update(result.items.ids)
            yield _drop_older(result, crowded.second)
            if not state.is_crowded(result, crowded.second):
                continue
            if len(group) == 1:
                yield _report_incomplete(crowded.second, _SAME_KIND_AND_PERSON)
            else:
                groups += _split_groups(group, (len(group) + 1) // 2)
        if not known.issuperset(actors) or not found.issuperset(crowded.page.items.ids):
            yield _report_incomplete(
                crowded.second, "and some of the people in it are seen nowhere else; others may be missing"
            )


def _fetch_narrower(fetch: FetchPage, query: Query, wider: PaymentPage, second: datetime) -> PaymentPage:
    """Return the page of a narrower query.

    The page is refetched if it lacks payments that the wider page shows, or holds none of the second.
    """
    expected = {payment.id for payment in wider.items if _is_match(payment, query)}
    page = fetch(query)
    has_second = any(date is not None and date >= second for date in page.items.created)
    if not has_second or not expected.issubset(page.items.ids):
        page = fetch(query, refetch=True)
    return page


def _is_match(payment: Payment, query: Query) -> bool:
    pairs = ((query.action, payment.action), (query.status, payment.status), (query.actor, _get_actor_id(payment)))
    return all(not values or value in values.split(",") for values, value in pairs)


def _get_actor_id(payment: Payment) -> str | None:
    return payment.actor.id if payment.actor is not None else None


def _split_groups(user_ids: Sequence[str], size: int) -> list[Sequence[str]]:
    return [user_ids[start : start + size] for start in range(0, len(user_ids), size)]


def _drop_older(page: PaymentPage, second: datetime) -> PaymentPage:
    items = page.items.select(date is None or date >= second for date in page.items.created)
    return msgspec.structs.replace(page, items=items)


def _report_incomplete(second: datetime, reason: str) -> PaymentPage:
    text = f"more payments than a page holds share one second, {reason}"
    problem = Problem(None, "date_created", format_instant(second), text, incomplete=True)
    return PaymentPage(Payments.of((), [problem]))


# ---- dates of payments, and the order of the list (newest first)


def get_sort_key(payment: Payment) -> tuple[datetime, int, str]:
    """Return the sort key of a payment; the list is in descending order of it."""
    return payment.date_created or _LAST_SECOND, len(payment.id), payment.id


def get_dates(items: Payments) -> list[datetime]:
    """Return the dates of payments, without missing ones."""
    return [date for date in items.created if date is not None]


def get_oldest_date(page: PaymentPage) -> datetime | None:
    """Return the date of a page's oldest payment, None if no payment has a date."""
    return min(get_dates(page.items), default=None)


def is_between(date: datetime, after: datetime, before: datetime) -> bool:
    """Return whether a date lies between two exclusive bounds; ``BEGINNING`` and ``END`` exclude nothing."""
    return (after < date or after == BEGINNING) and (date < before or before == END)


def floor_to_second(instant: datetime) -> datetime:
    """Return the start of the second that an instant lies in."""
    return instant.replace(microsecond=0)


def get_end_of_second(instant: datetime) -> datetime:
    """Return the start of the next second, ``END`` for the last second of the calendar."""
    second = floor_to_second(instant)
    return second + _SECOND if second < _LAST_SECOND else END


# ---- payments that a load has passed on


class Deduplicator:
    """Payments that a load has passed on, each once."""

    def __init__(self, max_payments: int) -> None:
        self._max_payments = max_payments
        self._contents: dict[str, int] = {}
        self._count = self._barren = 0

    def __contains__(self, payment_id: str) -> bool:
        """Return whether a payment was passed on."""
        return payment_id in self._contents

    def __len__(self) -> int:
        """Return the number of payments passed on."""
        return len(self._contents)

    def require_end(self, count: int) -> None:
        """Raise a PaginationError if the list has no end, by the payments fetched so far. Call this once per page."""
        self._count, self._barren = count, self._barren + 1 if count == self._count else 0
        if self._barren > _MAX_BARREN_PAGES:
            raise PaginationError(
                f"{_MAX_BARREN_PAGES:,} consecutive pages held no new payment, so the list seems to have no end and "
                "nothing is returned: try again later."
            )
        if count > self._max_payments:
            raise PaginationError(
                f"The service listed more than {self._max_payments:,} payments, so the list seems to have no end and "
                "nothing is returned. If the account has more, raise the limit: Client(max_payments=...)."
            )

    def filter_page(self, page: PaymentPage, after: datetime, before: datetime) -> Iterator[PaymentPage]:
        """Yield the new payments of a page between two bounds, then a page of problems if contents differ."""
        items, contents = page.items, self._contents
        keep, problems = [], []
        for row, date, cents in zip(items.rows, items.created, items.cents, strict=True):
            content = (row.action, cents, row.note, date)
            known = contents.get(row.id)
            new = known is None and (date is None or is_between(date, after, before))
            keep.append(new)
            if new:
                contents[row.id] = hash((content, row.status))
            elif known is not None:  # only a pending payment may have changed its status
                statuses = (*Status, None) if row.status == Status.PENDING else (row.status, Status.PENDING)
                if all(known != hash((content, each)) for each in statuses):
                    text = "listed twice with different contents; one is kept"
                    problems.append(Problem(row.id, "payment_id", "", text))
        yield msgspec.structs.replace(page, items=items.select(keep))
        if problems:
            yield PaymentPage(Payments.of((), problems))


# ---- lists of friends


def paginate_friends(
    fetch: Callable[..., Page[User]],
    list_url: str,
    page_size: int,
    *,
    count: Callable[..., int | None],
    max_friends: int,
) -> Iterator[Page[User]]:
    """Yield the pages of a list of friends; a last page without friends reports that some may be missing.

    The list ends when it holds as many friends as the profile counts, or else when a request for those after the
    last one returns no new friend. It raises a PaginationError if it does not end, or if a next link does not continue
    ``list_url``. ``count`` returns the number by the profile, None if unknown; ``refetch=True`` requests the profile.
    """
    limit = str(page_size)
    parameters = {"limit": limit}
    seen: dict[str, None] = {}
    followed: list[dict[str, str]] = []
    confirming = False
    while True:
        page = fetch(parameters, refetch=confirming)
        yield page
        new = [friend.id for friend in page.items if friend.id and friend.id not in seen]
        seen.update(dict.fromkeys(new))
        if len(seen) > max_friends:
            raise PaginationError(
                f"The service listed more than {max_friends:,} friends, so the list seems to have no end and nothing "
                "is returned. If the account has more, raise the limit: Client(max_payments=...)."
            )
        if (page.next is None or not new) and len(seen) == count():
            return
        if page.next is not None and page.items:
            followed.append(parameters)
            parameters = parse_next_link(page.next, list_url)
            if parameters in followed or (not new and confirming):
                raise PaginationError(
                    "The service's next links lead to no end of the list; nothing is returned: try again later."
                )
            confirming = not new
        elif confirming and not new:
            break
        else:
            confirming = True
            parameters = {"after": next(reversed(seen)), "limit": limit} if seen else {"limit": limit}
    if len(seen) < (count() or 0) and len(seen) < (count(refetch=True) or 0):
        numbers = f"{count()} and {len(seen)}"
        text = "the profile counts more friends than their list holds"
        yield Page((), None, (Problem(None, "friends_count", numbers, text, incomplete=True),))


# ---- next links


def parse_next_link(link: str, list_url: str) -> dict[str, str]:
    """Return the parameters of a next link, as the service sent it, without a token.

    Raises
    ------
    PaginationError
        The link is not a valid address, or leads to another host, scheme, port or path than the list.
    """
    if not link.isprintable() or "\\" in link or " " in link:
        raise _build_error("holds characters that no address has")
    try:
        link_url, base = urlsplit(urljoin(list_url, link)), urlsplit(list_url)
        same_origin = _get_origin(link_url) == _get_origin(base)
    except ValueError:
        raise _build_error("cannot be read") from None
    if "@" in link_url.netloc or not same_origin:
        raise _build_error("leads to another host")
    if link_url.path != base.path:
        raise _build_error("leads to another list")
    return {name: value for name, value in parse_qsl(link_url.query) if name.lower() != TOKEN_PARAMETER}


def _get_origin(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or _DEFAULT_PORTS.get(address.scheme)


def _build_error(reason: str) -> PaginationError:
    return PaginationError(f"The service's next link {reason}, so it is not followed and the list is incomplete.")
