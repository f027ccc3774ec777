"""One method per endpoint that reads, and the two lists at three heights: pages, records, all."""

from __future__ import annotations

import contextlib
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Self, TypeVar
from urllib.parse import quote

import msgspec

from p2p_analytics import records, settings, vocabulary
from p2p_analytics.auth import AccessToken, find_token, hide_frames
from p2p_analytics.client._renewal import Renewal
from p2p_analytics.client.http.transport import Answer, Keep, Transport
from p2p_analytics.client.paging.cached_pages import PaymentSource
from p2p_analytics.client.paging.crowded_seconds import Query
from p2p_analytics.client.paging.next_link import next_parameters
from p2p_analytics.client.paging.pagination import MAX_PAYMENTS, age, walk
from p2p_analytics.client.paging.scheduler import history
from p2p_analytics.client.paging.windows import BEGINNING, END
from p2p_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    PaginationError,
    ScopeError,
    ServiceError,
    TokenError,
)
from p2p_analytics.records import Page, Problem
from p2p_analytics.times import as_instant, format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Action, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from datetime import date, datetime
    from os import PathLike

    from p2p_analytics.client.http.cache import ResponseStore
    from p2p_analytics.records import Me, Payment, PaymentPage, User

T = TypeVar("T")


class Client:
    """Reads one user's profile, friends and payments.

    Parameters
    ----------
    token : AccessToken or str, optional
        The user's token; else ``P2P_ACCESS_TOKEN``, else what ``p2p-analytics login`` has kept for this
        service, which is renewed before its end where it came with a refresh token.
    base_url : str, optional
        The service; else ``P2P_BASE_URL``. ``https``, except on loopback.
    cache_dir : path or False, optional
        Folder of the private response caches; else ``P2P_CACHE_DIR``, else the user's cache
        folder. False keeps no answers.
    timeout : tuple of float
        Seconds to connect, and seconds for a whole answer.
    concurrency : int
        Most connections at once, for :meth:`history_pages` and so for a load.
    max_payments : int
        Payments, or friends, after which a list is taken for one that never ends.

    Raises
    ------
    ConfigurationError
        A setting cannot be used.
    TokenError
        There is no token (a NotSignedIn), or it is malformed.

    Notes
    -----
    Making a client sends nothing. The first cached request asks ``/me`` whose token it is, because
    each account's answers are kept apart. Answers other than ``/me`` are kept for five minutes, those of windows
    in which nothing new can appear any more for thirty days.
    """

    @hide_frames
    def __init__(  # noqa: PLR0913 - one keyword for each setting
        self,
        token: AccessToken | str | None = None,
        *,
        base_url: str | None = None,
        cache_dir: str | PathLike[str] | Literal[False] | None = None,
        timeout: tuple[float, float] = (3.05, 30.0),
        concurrency: int = 4,
        max_payments: int = MAX_PAYMENTS,
    ) -> None:
        if not isinstance(concurrency, int) or concurrency < 1:
            raise ConfigurationError(f"concurrency must be a whole number from 1, not {concurrency!r}.")
        if not isinstance(max_payments, int) or max_payments < 1:
            raise ConfigurationError(f"max_payments must be a whole number from 1, not {max_payments!r}.")
        if not (isinstance(timeout, tuple) and len(timeout) == len(("connect", "whole")) and min(timeout) > 0):
            raise ConfigurationError(f"timeout must be two positive numbers of seconds, not {timeout!r}.")
        self.base_url = settings.base_url(base_url)
        self.concurrency, self.max_payments = concurrency, max_payments
        self._cache_dir = None if cache_dir is False else settings.cache_dir(cache_dir)
        found = find_token(token, base_url=self.base_url)
        self._transport = Transport(self.base_url, found.token, timeout=timeout, renewal=Renewal.of(found, timeout))
        self._account_known = False
        self._owner: User | None = None  # of the token, as last seen
        self._asking = threading.Lock()

    def me(self, *, lenient: bool = False) -> Me:
        """Return the token's owner and balance, always asked anew (document: "GET /me").

        A field that cannot be read raises a RecordError; leniently, it is empty and told in ``problems``.
        """
        me = self._transport.get(vocabulary.ME.path, {}, records.decode_me).value
        if not lenient:
            records.raise_unreadable(me.problems)
        self._owner = me.user
        if self._cache_dir is not None and not self._account_known:
            self._transport.use_cache(self._cache_dir, str(me.user.id))
        self._account_known = True
        return me

    def user(self, user_id: str) -> User:
        """Return another user's profile, always asked anew (document: "GET /users/:user_id").

        What it shows depends on the token's scopes, and two tokens of one account share a cache.
        """
        return self._transport.get(_at(vocabulary.USER, user_id), {}, records.decode_user).value

    def payment(self, payment_id: str, *, fresh: bool = False) -> Payment:
        """Return one payment with all its fields (document: "GET /payments/:payment").

        ``fresh`` asks the service even where an answer is cached.
        """
        path = _at(vocabulary.PAYMENT, payment_id)
        return self._asked(path, {}, records.decode_payment, keep=_briefly_unless(fresh=fresh)).value

    def payments(
        self,
        *,
        action: str | None = None,
        actor: str | Iterable[str] | None = None,
        status: str | Iterable[str] | None = None,
        after: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
    ) -> list[Payment]:
        """Return the user's payments and charges, newest first, all pages of them.

        Parameters
        ----------
        action : str, optional
            Only "pay" or only "charge".
        actor : str or iterable of str, optional
            Only those started by these user ids.
        status : str or iterable of str, optional
            Only those with these statuses.
        after, before : datetime, date or str, optional
            Only those made after, or before, this instant; both bounds are left out themselves.
            Without a zone they are UTC, and a date is its first moment.

        Returns
        -------
        list of Payment
            Each payment once; empty where there is none.

        Raises
        ------
        ConfigurationError
            A filter is not one the document allows; nothing was sent.
        RecordError
            A record cannot be read (document: "GET /payments").
        PaginationError
            A page is lost; nothing partial is returned.
        """
        found: list[Payment] = []
        for page in self.payment_pages(action=action, actor=actor, status=status, after=after, before=before):
            records.raise_unreadable(page.problems, instead="payment_pages() gives the rest and tells it in .problems")
            found.extend(page.items)
        dates = [payment.date_created for payment in found if payment.date_created is not None]
        if any(earlier < later for earlier, later in pairwise(dates)):  # what a crowded second held back comes last
            found.sort(key=age, reverse=True)
        return found

    def payment_pages(  # noqa: PLR0913 - one keyword for each documented parameter
        self,
        *,
        action: str | None = None,
        actor: str | Iterable[str] | None = None,
        status: str | Iterable[str] | None = None,
        after: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
        page_size: int = PAGE_SIZE_MAXIMUM,
        fresh: bool = False,
    ) -> Iterator[PaymentPage]:
        """Return an iterator over the pages of :meth:`payments`, each payment on one of them.

        What is strange in a record stands in the page's ``problems`` and is not raised.
        ``page_size`` is 1 to 50 (document: "Limits"). ``fresh`` asks the service even where a page is cached.
        """
        query = Query(
            limit=_page_size(page_size),
            action=_words("action", None if action is None else [action], Action),
            actor=_words("actor", actor),
            status=_words("status", status, Status),
        )
        first, last = _bounds(after, before)
        keep = _briefly_unless(fresh=fresh)

        def fetch(query: Query, *, again: bool = False) -> PaymentPage:
            return self._page(query, Keep.NOT if again else keep, after=first)[0]

        return walk(fetch, query, after=first, before=last, friends=self._friend_ids, most=self.max_payments)

    def history_pages(
        self,
        *,
        after: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
        refresh: bool = False,
        progress: Callable[[int, int], object] = lambda _payments, _expected: None,
    ) -> Generator[PaymentPage]:
        """Return an iterator over the pages of all payments, asked for by calendar windows, several at once.

        Newest first, each payment once. Windows in which nothing new can appear any more are kept in the account's
        cache, and a load that was interrupted goes on from there. What is pending in them is compared with
        ``status=pending`` of now. The answers of the open window are never kept.

        Parameters
        ----------
        after, before : datetime, date or str, optional
            As for :meth:`payments`.
        refresh : bool
            Ask for all of it anew.
        progress : callable, optional
            Called after each page with the number of payments so far, and about how many it will be.
        """
        first, last = _bounds(after, before)
        return self._history(first, last, PaymentSource(self._page, self._store, refresh=refresh), progress)

    def friends(self, user_id: str | None = None) -> list[User]:
        """Return a user's friends, the token owner's by default (document: "GET /users/:user_id/friends").

        Each friend once, in the service's order; empty where there is none.

        Raises
        ------
        PaginationError
            A page is lost; nothing partial is returned.
        """
        found: dict[str | None, User] = {}
        for page in self.friend_pages(user_id):
            records.raise_unreadable(page.problems, instead="friend_pages() gives the rest and tells it in .problems")
            found |= {friend.id: friend for friend in page.items}
        return list(found.values())

    def friend_pages(
        self, user_id: str | None = None, *, page_size: int = PAGE_SIZE_MAXIMUM, fresh: bool = False
    ) -> Iterator[Page[User]]:
        """Return an iterator over the pages of :meth:`friends`, following the next links.

        ``fresh`` asks the service even where a page is cached.
        """
        parameters = {"limit": str(_page_size(page_size))}
        return self._friend_pages(user_id, parameters, fresh=fresh)

    def close(self) -> None:
        """Close the connections and the cache."""
        self._transport.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the client."""
        self.close()

    def __repr__(self) -> str:
        """Show which service is asked; the token is not shown."""
        return f"<Client of {self.base_url}>"

    def _history(
        self, first: datetime, last: datetime, source: PaymentSource, progress: Callable[[int, int], object]
    ) -> Generator[PaymentPage]:
        """Go through the windows, and let what stops a load tell how much is kept for the next one."""
        try:
            yield from history(
                source,
                after=first,
                before=last,
                since=None
                if self._owner is None
                else self._owner.date_joined,  # a history is not likely to begin before
                concurrency=self.concurrency,
                told=progress,
                friends=self._friend_ids,
                most=self.max_payments,
            )
        except PaginationError:
            source.forget()
            raise
        except (ServiceError, TokenError) as error:
            if getattr(error, "retryable", False) or isinstance(error, AuthenticationError | TokenError):
                error.args = (f"{error}{source.outlook()}",)
            raise
        except KeyboardInterrupt as interrupt:
            if outlook := source.outlook():
                interrupt.add_note(outlook.strip())
            raise

    def _friend_ids(self) -> list[str]:
        """Return the ids of the token owner's friends; none where they cannot be read."""
        with contextlib.suppress(ServiceError):
            return [friend.id for page in self.friend_pages() for friend in page.items if friend.id]
        return []

    def _friend_pages(self, user_id: str | None, parameters: dict[str, str], *, fresh: bool) -> Iterator[Page[User]]:
        """Yield the pages of a list of friends, and a last one that says so where friends may be missing.

        The list ends where it holds as many as the owner's profile counts, or else where asking for those after
        the last one brings nothing new.
        """
        path = _at(vocabulary.FRIENDS, user_id or str(self.me(lenient=True).user.id))
        address, limit = f"{self.base_url}{path}", parameters["limit"]
        seen: dict[str, None] = {}
        followed: list[dict[str, str]] = []
        confirming = False
        while True:
            keep = _briefly_unless(fresh=fresh or confirming)
            answer = self._asked(path, parameters, records.decode_friends, keep=keep)
            page = answer.value
            yield msgspec.structs.replace(page, fetched_at=answer.fetched_at)
            new = [friend.id for friend in page.items if friend.id and friend.id not in seen]
            seen.update(dict.fromkeys(new))
            if len(seen) > self.max_payments:
                raise PaginationError(
                    f"More than {self.max_payments:,} friends arrived, so the list seems to have no end, and nothing "
                    "is returned. If there are so many, raise the bound: Client(max_payments=...)."
                )
            if (page.next is None or not new) and len(seen) == self._friends_count(path):
                return
            if page.next is not None and page.items:
                followed.append(parameters)
                parameters = next_parameters(page.next, address)
                if parameters in followed or (not new and confirming):
                    raise PaginationError("The service's next links lead to no end of the list; nothing is returned.")
                confirming = not new
            elif confirming and not new:
                break
            else:
                confirming = True
                parameters = {"after": next(reversed(seen)), "limit": limit} if seen else {"limit": limit}
        if len(seen) < (self._friends_count(path) or 0) and len(seen) < (self.me(lenient=True).user.friends_count or 0):
            numbers = f"{self._friends_count(path)} and {len(seen)}"
            text = "the profile counts more friends than their list holds"
            yield Page((), None, (Problem(None, "friends_count", numbers, text, incomplete=True),))

    def _friends_count(self, path: str) -> int | None:
        """Return how many friends the token owner has, where the path is that of their own list and it is known."""
        own = self._owner is not None and path == _at(vocabulary.FRIENDS, str(self._owner.id))
        return self._owner.friends_count if self._owner is not None and own else None

    def _page(self, query: Query, keep: Keep, *, after: datetime = BEGINNING) -> tuple[PaymentPage, bool]:
        """Ask for one page of payments, and tell whether it is one that was kept."""
        sent = {
            "action": query.action,
            "actor": query.actor,
            "status": query.status,
            "after": "" if after == BEGINNING else _spelled(after),
            "before": "" if query.before is None else _spelled(query.before),
            "limit": str(query.limit),
        }
        parameters = {name: word for name, word in sent.items() if word}
        answer = self._asked(vocabulary.PAYMENTS.path, parameters, self._decode_page, keep=keep)
        if answer.kept and any(problem.unreadable for problem in answer.value.problems):
            # A field that could not be read may be readable now, so the cached page must not be used for a month.
            refetch = Keep.LASTING_ANEW if keep is Keep.LASTING else Keep.NOT
            answer = self._asked(vocabulary.PAYMENTS.path, parameters, self._decode_page, keep=refetch)
        return msgspec.structs.replace(answer.value, fetched_at=answer.fetched_at), answer.kept

    def _decode_page(self, body: bytes) -> PaymentPage:
        page = records.decode_payments(body)
        if page.next is not None:  # only its presence counts, but a foreign one is no answer to trust
            next_parameters(page.next, f"{self.base_url}{vocabulary.PAYMENTS.path}")
        return page

    def _store(self) -> ResponseStore | None:
        """Return the account's cache, after asking once whose account it is; None where nothing is kept."""
        with self._asking:  # once, however many threads begin together
            if self._cache_dir is not None and not self._account_known:
                try:
                    self.me(lenient=True)
                except ScopeError:  # a token that may not ask /me reads without a cache
                    self._account_known = True
        return None if self._transport.cache is None else self._transport.cache.store

    def _asked(
        self, path: str, parameters: dict[str, str], decode: Callable[[bytes], T], *, keep: Keep = Keep.BRIEFLY
    ) -> Answer[T]:
        if keep is not Keep.NOT:
            self._store()
        return self._transport.get(path, parameters, decode, keep=keep)


def _briefly_unless(*, fresh: bool) -> Keep:
    return Keep.NOT if fresh else Keep.BRIEFLY


def _at(endpoint: vocabulary.Endpoint, identifier: str) -> str:
    if not isinstance(identifier, str) or not identifier.strip(".") or not identifier.isprintable():
        raise ConfigurationError(f"An id is text like '1322585332520059420', not {identifier!r}.")
    return endpoint.at(quote(identifier, safe=""))


def _words(name: str, value: str | Iterable[str] | None, allowed: type[Action | Status] | None = None) -> str:
    """Join the values of a filter; a word the document does not allow would be ignored or refused."""
    words = [] if value is None else [value] if isinstance(value, str) else list(value)
    if value is not None and not words:
        raise ConfigurationError(f"{name} is an empty list, which would ask for nothing: leave it out to ask for all.")
    for word in words:
        if not isinstance(word, str):
            raise ConfigurationError(f"{name} is text, or several texts, not {word!r}.")
        if allowed is not None and word not in set(allowed):
            raise ConfigurationError(f"{name} can be {', '.join(allowed)}, not {word!r}.")
        if not word.strip() or "," in word:
            raise ConfigurationError(f"{name} cannot be {word!r}.")
    return ",".join(str(word) for word in words)


def _bounds(after: datetime | date | str | None, before: datetime | date | str | None) -> tuple[datetime, datetime]:
    first = BEGINNING if after is None else _instant_argument("after", after)
    return first, END if before is None else _instant_argument("before", before)


def _instant_argument(name: str, value: datetime | date | str) -> datetime:
    with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError):
        return as_instant(value)
    raise ConfigurationError(f"{name}: {str(value)[:40]!r} is no date or datetime like 2024-05-31T18:30:00Z.")


def _spelled(instant: datetime) -> str:
    """Spell an instant as the sample next link does: without a zone (document: "GET /payments")."""
    return format_instant(instant).removesuffix("Z")


def _page_size(size: int) -> int:
    if not isinstance(size, int) or not 1 <= size <= PAGE_SIZE_MAXIMUM:
        raise ConfigurationError(f"page_size must be 1 to {PAGE_SIZE_MAXIMUM}, not {size}.")
    return size
