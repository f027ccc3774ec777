"""State that all pagers of one load share: page size, people, and seconds that are still incomplete."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.records import user_id_of_party

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from p2p_analytics.client.paging.query import FetchPage, Query
    from p2p_analytics.records import PaymentPage

_SHORTEST_FULL_PAGE: Final = 10  # a shorter page is not considered truncated by the service


class KnownPeople:
    """User ids of the people on the payments of a load, and of the friends.

    Parameters
    ----------
    list_friend_ids : callable
        Returns the ids of the user's friends; called only when they are needed.
    """

    def __init__(self, list_friend_ids: Callable[[], Iterable[str]]) -> None:
        self._list_friend_ids = list_friend_ids
        self._parties: set[bytes | str] = set()

    def add(self, parties: Iterable[bytes | str]) -> None:
        """Add actors and targets, as undecoded JSON or as user ids."""
        self._parties.update(parties)

    def ids(self) -> set[str]:
        """Return the user ids of all people added, and of the friends."""
        seen = (party if isinstance(party, str) else user_id_of_party(party) for party in self._parties)
        return {user_id for user_id in (*seen, *self._list_friend_ids()) if user_id}


class CrowdedSecond(NamedTuple):
    """Second with more payments than a page holds, of which only the first page is known."""

    fetch: FetchPage
    query: Query
    page: PaymentPage
    second: datetime


class LoadState:
    """What the pagers of one load have seen; threads share it.

    Attributes
    ----------
    longest : int
        Records on the longest page so far, the best estimate of the service's page size.
    has_links : bool
        Whether any page had a next link, so that a missing link means something.
    people : KnownPeople
        People seen so far.
    crowded : list of CrowdedSecond
        Seconds that :func:`fetch_by_people` has to complete at the end of the load.
    """

    def __init__(self, list_friend_ids: Callable[[], Iterable[str]] = tuple) -> None:
        self.longest = 0
        self.has_links = False
        self.people = KnownPeople(list_friend_ids)
        self.crowded: list[CrowdedSecond] = []
        self._lock = threading.Lock()

    def is_full(self, page: PaymentPage) -> bool:
        """Return whether the service may have truncated the page."""
        with self._lock:
            self.longest = max(self.longest, page.length)
        return page.length >= max(self.longest, _SHORTEST_FULL_PAGE)

    def is_crowded(self, page: PaymentPage, second: datetime) -> bool:
        """Return whether the page may lack payments of the second: it is full and holds no older payment."""
        return self.is_full(page) and all(date is None or date >= second for date in page.items.created)
