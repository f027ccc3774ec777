"""Crowded seconds: more payments in one second than a page holds.

A cursor that is a time cannot get past such a second, so its payments are asked for by filters: by action,
by status, and last by the people who may have acted. Which people there are is known only when all else of a
load has arrived, so that last filter waits until then.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from p2p_analytics.records import PaymentPage, Payments, Problem, party_id
from p2p_analytics.times import format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Action, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Protocol

    from p2p_analytics.records import Payment

    class Fetch(Protocol):
        """Callable that fetches a page."""

        def __call__(self, query: Query, *, again: bool = False) -> PaymentPage:
            """Return the page of a query; ``again`` bypasses the cache."""


_SHORTEST_FULL_PAGE: Final = 10  # a shorter one is not taken for a page that the service cut off
_GROUP: Final = 100  # people in one filter: about two kilobytes of address


class Query(msgspec.Struct, frozen=True):
    """One request for a page of payments; several words of a filter are separated by commas."""

    before: datetime | None = None
    limit: int = PAGE_SIZE_MAXIMUM
    action: str = ""
    actor: str = ""
    status: str = ""


class People:
    """User ids of the people on the payments of a load, and of the friends.

    Parameters
    ----------
    friends : callable
        Returns the ids of the user's friends; called only when they are needed.
    """

    def __init__(self, friends: Callable[[], Iterable[str]]) -> None:
        self._friends = friends
        self._sent: set[bytes | str] = set()

    def add(self, parties: Iterable[bytes | str]) -> None:
        """Add actors and targets, as sent or by their ids."""
        self._sent.update(parties)

    def ids(self) -> set[str]:
        """Return the ids of all of them."""
        seen = (sent if isinstance(sent, str) else party_id(sent) for sent in self._sent)
        return {found for found in (*seen, *self._friends()) if found}


class Crowd(NamedTuple):
    """A second of which only the first page is known, to be asked for by people."""

    fetch: Fetch
    query: Query
    page: PaymentPage
    second: datetime


class Reading:
    """What the walks of one load have seen together; threads share it.

    Attributes
    ----------
    longest : int
        Records on the longest page so far: the page size of the service, as far as it is known.
    has_links : bool
        Whether any page had a next link, so that its absence means something.
    crowds : list of Crowd
        Crowded seconds that are left to :func:`remaining_pages`.
    """

    def __init__(self, friends: Callable[[], Iterable[str]] = tuple) -> None:
        self.longest = 0
        self.has_links = False
        self._guard = threading.Lock()
        self.people = People(friends)
        self.crowds: list[Crowd] = []

    def is_full(self, page: PaymentPage) -> bool:
        """Return whether the service may have cut the page off because of its length."""
        with self._guard:
            self.longest = max(self.longest, page.length)
        return page.length >= max(self.longest, _SHORTEST_FULL_PAGE)

    def is_crowded(self, page: PaymentPage, second: datetime) -> bool:
        """Return whether a page may lack payments of the second: it is full and shows none that is older."""
        return self.is_full(page) and all(date is None or date >= second for date in page.items.created)


def pages_by_filters(
    fetch: Fetch, query: Query, page: PaymentPage, second: datetime, reading: Reading
) -> Iterator[PaymentPage]:
    """Yield the payments of a crowded second by action, then by status; by actor, where the query names them.

    What is left to be asked for by people is added to ``reading.crowds``. Where payments may be missing, a page
    without payments says so in its ``problems``.
    """
    narrower = _narrower(query)
    if not narrower:
        if query.actor:
            yield _incomplete(
                second, "of one kind and one person, which no filter tells apart; some of them are missing"
            )
        else:
            reading.crowds.append(Crowd(fetch, query, page, second))
        return
    found: set[str] = set()
    for part in narrower:
        answer = _answer(fetch, part, page, second)
        found.update(answer.items.ids)
        yield _since(second, answer)
        if reading.is_crowded(answer, second):
            yield from pages_by_filters(fetch, part, answer, second, reading)
    if not found.issuperset(page.items.ids):
        yield _incomplete(second, "and some of them are found by no filter; others may be missing")


def remaining_pages(reading: Reading) -> Iterator[PaymentPage]:
    """Yield what the crowded seconds of a load still lack, by the people seen anywhere in it and the friends.

    Nothing shows that these are all who acted in such a second. Where it holds people who are seen nowhere else,
    there may be more of them, and a page without payments says so in its ``problems``.
    """
    if not reading.crowds:
        return
    known = reading.people.ids()
    for crowd in reading.crowds:
        actors = {_actor(payment) for payment in crowd.page.items}
        groups = _groups(sorted({actor for actor in actors if actor} | known), _GROUP)
        found: set[str] = set()
        while groups:
            group = groups.pop()
            query = msgspec.structs.replace(crowd.query, actor=",".join(group))
            answer = _answer(crowd.fetch, query, crowd.page, crowd.second)
            found.update(answer.items.ids)
            yield _since(crowd.second, answer)
            if not reading.is_crowded(answer, crowd.second):
                continue
            if len(group) == 1:
                yield _incomplete(
                    crowd.second, "of one kind and one person, which no filter tells apart; some of them are missing"
                )
            else:
                groups += _groups(group, (len(group) + 1) // 2)
        if not known.issuperset(actors) or not found.issuperset(crowd.page.items.ids):
            yield _incomplete(crowd.second, "and some of the people in it are seen nowhere else; others may be missing")


def _narrower(query: Query) -> list[Query]:
    """Return the queries into which the first filter with more than one word divides a query."""
    for name, words in (("action", Action), ("status", Status), ("actor", ())):
        given = getattr(query, name)
        several = given.split(",") if given else list(words)
        if len(several) > 1:
            return [msgspec.structs.replace(query, **{name: str(word)}) for word in several]
    return []


def _answer(fetch: Fetch, query: Query, wider: PaymentPage, second: datetime) -> PaymentPage:
    """Return the page of a narrower query.

    It is asked for once more where it lacks what the wider one shows, or shows nothing of the second.
    """
    expected = {payment.id for payment in wider.items if _matches(payment, query)}
    answer = fetch(query)
    of_second = any(date is not None and date >= second for date in answer.items.created)
    if not of_second or not expected.issubset(answer.items.ids):
        answer = fetch(query, again=True)
    return answer


def _matches(payment: Payment, query: Query) -> bool:
    pairs = ((query.action, payment.action), (query.status, payment.status), (query.actor, _actor(payment)))
    return all(not words or word in words.split(",") for words, word in pairs)


def _actor(payment: Payment) -> str | None:
    return payment.actor.id if payment.actor is not None else None


def _groups(words: Sequence[str], size: int) -> list[Sequence[str]]:
    return [words[start : start + size] for start in range(0, len(words), size)]


def _since(second: datetime, page: PaymentPage) -> PaymentPage:
    items = page.items.only(date is None or date >= second for date in page.items.created)
    return msgspec.structs.replace(page, items=items)


def _incomplete(second: datetime, reason: str) -> PaymentPage:
    text = f"more payments than a page holds share one second, {reason}"
    problem = Problem(None, "date_created", format_instant(second), text, incomplete=True)
    return PaymentPage(Payments.of((), [problem]))
