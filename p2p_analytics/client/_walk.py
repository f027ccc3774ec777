"""How the list of payments is walked without losing one.

A next link with ``before=<second>`` skips the payments that share the last one's second. So only
its presence counts: the next request asks again for the last second, and what came already is
left out by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from p2p_analytics.client._windows import BEGINNING, END
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.times import format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from p2p_analytics.records import Payment

_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_LAST_SECOND: Final = datetime.max.replace(microsecond=0, tzinfo=UTC)


class Query(msgspec.Struct, frozen=True):
    """What one request for a page of payments asks for; several words of a filter are separated by commas."""

    before: datetime | None = None
    limit: int = PAGE_SIZE_MAXIMUM
    action: str = ""
    actor: str = ""
    status: str = ""


Fetch = Callable[[Query], PaymentPage]


class Step(NamedTuple):
    """A page, and the instant before which to ask on; None at the end of the list."""

    page: PaymentPage
    further: datetime | None


def walk(fetch: Fetch, query: Query, *, after: datetime = BEGINNING, before: datetime = END) -> Iterator[PaymentPage]:
    """Yield the pages between two instants, both left out themselves, newest first, each payment once.

    Raises
    ------
    PaginationError
        The list cannot be walked to its end without a loss.
    """
    seen: set[str] = set()
    query = msgspec.structs.replace(query, before=None if before == END else before)
    while True:
        page, further = step(fetch, query)
        yield unseen(page, seen, lambda date: after < date < before)
        if further is None:
            return
        query = msgspec.structs.replace(query, before=further)


def unseen(page: PaymentPage, seen: set[str], wanted: Callable[[datetime], bool]) -> PaymentPage:
    """Return a page without what was seen before or is of another date, and remember the rest as seen."""
    both = zip(page.items.ids, page.items.created, strict=True)
    items = page.items.only(which not in seen and (date is None or wanted(date)) for which, date in both)
    seen.update(items.ids)
    return msgspec.structs.replace(page, items=items)


def step(fetch: Fetch, query: Query) -> Step:
    """Ask for one page. It takes more requests, and the page holds more, where one second holds a whole page."""
    page = fetch(query)
    _require_newest_first(page.items)
    if query.before is not None and max(_dates(page.items), default=BEGINNING) > query.before:
        raise PaginationError("The service does not keep to the bound 'before', so its list cannot be walked.")
    if page.next is None:
        return Step(page, None)
    oldest = oldest_of(page)
    further = _end_of_second(oldest)
    if query.before is None or further < query.before:
        return Step(page, further)
    if query.limit < PAGE_SIZE_MAXIMUM:
        return step(fetch, msgspec.structs.replace(query, limit=PAGE_SIZE_MAXIMUM))
    return _within_a_second(fetch, query, page, oldest)


def oldest_of(page: PaymentPage) -> datetime:
    """Return the date of a page's oldest payment."""
    dates = _dates(page.items)
    if not dates:
        raise PaginationError("A page of payments holds no readable date, so the next page cannot be asked for.")
    return min(dates)


def _within_a_second(fetch: Fetch, query: Query, page: PaymentPage, oldest: datetime) -> Step:
    """Go on where a page did not get beyond one second: by its microseconds, else by the filters."""
    both = zip(page.items.ids, page.items.created, strict=True)
    last = [which for which, date in both if date is not None][-1]
    finer = oldest + _MICROSECOND
    if query.before is not None and finer < query.before:
        rest, further = step(fetch, msgspec.structs.replace(query, before=finer))
        if last in rest.items.ids:  # the service understood the bound to the microsecond
            return Step(_joined([page, rest]), further)
    second = oldest.replace(microsecond=0)
    pages = [page, *_by_filters(fetch, query, page, second)]
    # Where the second itself was the bound, the service counts a bound in.
    further = second if query.before is None or second < query.before else second - _MICROSECOND
    return Step(_joined([_since(second, part) for part in pages]), further)


def _by_filters(fetch: Fetch, query: Query, page: PaymentPage, second: datetime) -> Iterator[PaymentPage]:
    """Yield what one second holds, by action, then by status, then by actor.

    A filter's answers together must hold what the page without it held: a word that no filter knows would be lost.
    """
    narrower = _narrower(query, page)
    if not narrower:
        raise PaginationError(
            f"More than {PAGE_SIZE_MAXIMUM} payments of one kind and one actor, so more than a page, share the second "
            f"{format_instant(second)}: no filter tells them apart, and nothing is returned."
        )
    found: set[str] = set()
    for part in narrower:
        answer = fetch(part)
        _require_newest_first(answer.items)
        pages = [answer]
        if answer.next is not None and oldest_of(answer) >= second:
            pages += _by_filters(fetch, part, answer, second)
        found.update(*(each.items.ids for each in pages))
        yield from pages
    if not found.issuperset(page.items.ids):
        raise PaginationError(
            f"More than {PAGE_SIZE_MAXIMUM} payments, so more than a page, share the second {format_instant(second)}, "
            "and some of them are found by no filter: nothing is returned."
        )
    if not query.actor and narrower[0].actor:
        told = f"more payments than a page holds; those of {len(narrower)} actors were asked for, others cannot be"
        yield PaymentPage(Payments.of((), [Problem(None, "date_created", format_instant(second), told)]))


def _narrower(query: Query, page: PaymentPage) -> list[Query]:
    """Return the queries into which the first filter that can still be narrowed divides a query."""
    actors = sorted({item.actor.id for item in page.items if item.actor is not None and item.actor.id})
    for name, words in (("action", list(Action)), ("status", list(Status)), ("actor", actors)):
        given = getattr(query, name)
        if not given or "," in given:
            return [
                msgspec.structs.replace(query, **{name: str(word)}) for word in (given.split(",") if given else words)
            ]
    return []


def _since(second: datetime, page: PaymentPage) -> PaymentPage:
    items = page.items.only(date is None or date >= second for date in page.items.created)
    return msgspec.structs.replace(page, items=items)


def _joined(pages: Sequence[PaymentPage]) -> PaymentPage:
    """Return several pages as one, each payment once, newest first."""
    items = {item.id: item for page in pages for item in page.items}
    answered = [page.fetched_at for page in pages if page.fetched_at is not None]
    problems = dict.fromkeys(problem for page in pages for problem in page.problems)
    return PaymentPage(
        Payments.of(sorted(items.values(), key=_age, reverse=True), problems), fetched_at=min(answered, default=None)
    )


def _age(payment: Payment) -> tuple[datetime, int, str]:
    return payment.date_created or _LAST_SECOND, len(payment.id), payment.id


def _end_of_second(instant: datetime) -> datetime:
    second = instant.replace(microsecond=0)
    return second + _SECOND if second < _LAST_SECOND else END


def _dates(items: Payments) -> list[datetime]:
    return [date for date in items.created if date is not None]


def _require_newest_first(items: Payments) -> None:
    if any(later < earlier for later, earlier in pairwise(_dates(items))):
        raise PaginationError(
            "The service's list of payments is not sorted newest first, so it cannot be paged without loss."
        )
