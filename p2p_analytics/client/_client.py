"""One method per endpoint that reads, and the two lists at three heights: pages, records, all."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import quote

import msgspec

from p2p_analytics import records, settings, vocabulary
from p2p_analytics.auth import AccessToken, find_token
from p2p_analytics.client._history import history
from p2p_analytics.client._links import next_parameters
from p2p_analytics.client._renewal import Renewal
from p2p_analytics.client._source import PaymentSource
from p2p_analytics.client._transport import Answer, Keep, Transport
from p2p_analytics.client._walk import Query, walk
from p2p_analytics.client._windows import BEGINNING, END
from p2p_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    PaginationError,
    ProtocolError,
    ScopeError,
    ServiceError,
    TokenError,
)
from p2p_analytics.times import as_instant, format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Action, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from datetime import date, datetime
    from os import PathLike

    from p2p_analytics.client._cache import ResponseStore
    from p2p_analytics.records import Me, Page, Payment, PaymentPage, User

_BARREN_PAGES = 2  # so many pages on end without anything new are no way to the end of a list


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

    def __init__(
        self,
        token: AccessToken | str | None = None,
        *,
        base_url: str | None = None,
        cache_dir: str | PathLike[str] | Literal[False] | None = None,
        timeout: tuple[float, float] = (3.05, 30.0),
        concurrency: int = 4,
    ) -> None:
        if not isinstance(concurrency, int) or concurrency < 1:
            raise ConfigurationError(f"concurrency must be a whole number from 1, not {concurrency!r}.")
        if not (isinstance(timeout, tuple) and len(timeout) == len(("connect", "whole")) and min(timeout) > 0):
            raise ConfigurationError(f"timeout must be two positive numbers of seconds, not {timeout!r}.")
        self.base_url = settings.base_url(base_url)
        self.concurrency = concurrency
        self._cache_dir = None if cache_dir is False else settings.cache_dir(cache_dir)
        found = find_token(token, base_url=self.base_url)
        self._transport = Transport(self.base_url, found.token, timeout=timeout, renewal=Renewal.of(found, timeout))
        self._account_known = False
        self._joined: datetime | None = None  # a history is not likely to begin before
        self._asking = threading.Lock()

    def me(self, *, lenient: bool = False) -> Me:
        """Return the token's owner and balance, always asked anew (document: "GET /me").

        A field that cannot be read raises a RecordError; leniently, it is empty and told in ``problems``.
        """
        answer = self._transport.get(vocabulary.ME.path, {})
        me = records.decode_me(answer.body)
        if not lenient:
            records.raise_unreadable(me.problems)
        self._joined = me.user.date_joined
        if self._cache_dir is not None and not self._account_known:
            self._transport.use_cache(self._cache_dir, str(me.user.id))
        self._account_known = True
        return me

    def user(self, user_id: str) -> User:
        """Return another user's profile, always asked anew (document: "GET /users/:user_id").

        What it shows depends on the token's scopes, and two tokens of one account share a cache.
        """
        return records.decode_user(self._transport.get(_at(vocabulary.USER, user_id), {}).body)

    def payment(self, payment_id: str, *, fresh: bool = False) -> Payment:
        """Return one payment with all its fields (document: "GET /payments/:payment").

        ``fresh`` asks the service even where an answer is cached.
        """
        path = _at(vocabulary.PAYMENT, payment_id)
        return records.decode_payment(self._asked(path, {}, keep=_briefly_unless(fresh=fresh)).body)

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
        return walk(lambda query: self._page(query, keep, after=first)[0], query, after=first, before=last)

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
                source, after=first, before=last, since=self._joined, concurrency=self.concurrency, told=progress
            )
        except (ServiceError, TokenError) as error:
            if getattr(error, "retryable", False) or isinstance(error, AuthenticationError | TokenError):
                error.args = (f"{error}{source.outlook()}",)
            raise
        except KeyboardInterrupt as interrupt:
            if outlook := source.outlook():
                interrupt.add_note(outlook.strip())
            raise

    def _friend_pages(self, user_id: str | None, parameters: dict[str, str], *, fresh: bool) -> Iterator[Page[User]]:
        path = _at(vocabulary.FRIENDS, user_id or str(self.me(lenient=True).user.id))
        seen: set[str | None] = set()
        asked: list[dict[str, str]] = []
        barren = 0
        while parameters not in asked and barren < _BARREN_PAGES:
            asked.append(parameters)
            answer = self._asked(path, parameters, keep=_briefly_unless(fresh=fresh))
            page = records.decode_friends(answer.body)
            yield msgspec.structs.replace(page, fetched_at=answer.fetched_at)
            if page.next is None:
                return
            parameters = next_parameters(page.next, f"{self.base_url}{path}")
            barren = 0 if {friend.id for friend in page.items} - seen else barren + 1
            seen.update(friend.id for friend in page.items)
        raise PaginationError("The service's next links lead to no end of the list; nothing is returned.")

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
        answer = self._asked(vocabulary.PAYMENTS.path, parameters, keep=keep)
        if answer.kept:
            with contextlib.suppress(ProtocolError):
                page = self._read(answer)
                if not any(problem.unreadable for problem in page.problems):
                    return page, True
            # What could not be read when it came must not be kept for a month.
            anew = Keep.LASTING_ANEW if keep is Keep.LASTING else Keep.NOT
            answer = self._asked(vocabulary.PAYMENTS.path, parameters, keep=anew)
        return self._read(answer), False

    def _read(self, answer: Answer) -> PaymentPage:
        page = records.decode_payments(answer.body)
        if page.next is not None:  # only its presence counts, but a foreign one is no answer to trust
            next_parameters(page.next, f"{self.base_url}{vocabulary.PAYMENTS.path}")
        return msgspec.structs.replace(page, fetched_at=answer.fetched_at)

    def _store(self) -> ResponseStore | None:
        """Return the account's cache, after asking once whose account it is; None where nothing is kept."""
        with self._asking:  # once, however many threads begin together
            if self._cache_dir is not None and not self._account_known:
                try:
                    self.me(lenient=True)
                except ScopeError:  # a token that may not ask /me reads without a cache
                    self._account_known = True
        return None if self._transport.cache is None else self._transport.cache.store

    def _asked(self, path: str, parameters: dict[str, str], *, keep: Keep = Keep.BRIEFLY) -> Answer:
        if keep is not Keep.NOT:
            self._store()
        return self._transport.get(path, parameters, keep=keep)


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
