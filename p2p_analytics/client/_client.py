"""One method per endpoint that reads; payments and friends as pages or as one list."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import date, datetime
from functools import partial
from itertools import pairwise
from os import PathLike
from typing import Literal, Self, TypeVar
from urllib.parse import quote

import msgspec

from p2p_analytics import records, settings, vocabulary
from p2p_analytics.auth import AccessToken, find_token, hide_frames
from p2p_analytics.client._renewal import TokenRenewal
from p2p_analytics.client.http.cache import ResponseStorage
from p2p_analytics.client.http.transport import MAX_ATTEMPTS, CachePolicy, ServiceResponse, Transport
from p2p_analytics.client.paging.pager import Query, get_sort_key, paginate_friends, parse_next_link
from p2p_analytics.client.paging.scheduler import MAX_PAYMENTS, CachedPages, fetch_history, paginate
from p2p_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    PaginationError,
    ScopeError,
    ServiceError,
    TokenError,
)
from p2p_analytics.records import Me, Page, Payment, PaymentPage, User
from p2p_analytics.times import BEGINNING, END, as_instant, format_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM, Action, Endpoint, Status

T = TypeVar("T")


class Client:
    """Reads one user's profile, friends and payments.

    Parameters
    ----------
    token : AccessToken or str, optional
        The user's token; default ``P2P_ACCESS_TOKEN``, then the sign-in that ``p2p-analytics login`` stored for this
        service. A stored sign-in with a refresh token is renewed before it expires.
    base_url : str, optional
        The service; default ``P2P_BASE_URL``. ``https``, except on loopback.
    cache_dir : path or False, optional
        Folder of the private response caches; default ``P2P_CACHE_DIR``, then the user's cache folder. False
        disables caching.
    timeout : tuple of float
        Seconds to connect, and seconds for a whole response.
    max_attempts : int
        Attempts of a request that fails for a moment; 1 for no retry.
    concurrency : int
        Maximum number of connections of :meth:`history_pages`, and so of a load.
    max_payments : int
        Payments, or friends, after which a list is considered endless.

    Raises
    ------
    ConfigurationError
        A setting is invalid.
    TokenError
        The token is missing (a NotSignedIn) or malformed.

    Notes
    -----
    Creating a client sends nothing. The first cached request is preceded by ``/me``, because each account has its own
    cache. Responses are cached for five minutes, and for thirty days if they belong to a window in which no new payment
    can appear; ``/me`` and other users' profiles are never cached.
    """

    @hide_frames
    def __init__(  # noqa: PLR0913 - one keyword for each setting
        self,
        token: AccessToken | str | None = None,
        *,
        base_url: str | None = None,
        cache_dir: str | PathLike[str] | Literal[False] | None = None,
        timeout: tuple[float, float] = (3.05, 30.0),
        max_attempts: int = MAX_ATTEMPTS,
        concurrency: int = 4,
        max_payments: int = MAX_PAYMENTS,
    ) -> None:
        for name, number in (
            ("max_attempts", max_attempts),
            ("concurrency", concurrency),
            ("max_payments", max_payments),
        ):
            if not isinstance(number, int) or number < 1:
                raise ConfigurationError(f"{name} must be a whole number from 1, not {number!r}.")
        if not (isinstance(timeout, tuple) and len(timeout) == len(("connect", "total")) and min(timeout) > 0):
            raise ConfigurationError(f"timeout must be two positive numbers of seconds, not {timeout!r}.")
        self.base_url = settings.base_url(base_url)
        self.concurrency, self.max_payments = concurrency, max_payments
        self._cache_dir = None if cache_dir is False else settings.cache_dir(cache_dir)
        found = find_token(token, base_url=self.base_url)
        renewal = TokenRenewal.from_found(found, timeout)
        self._transport = Transport(
            self.base_url,
            found.token,
            timeout=timeout,
            max_attempts=max_attempts,
            get_token=renewal.get_token if renewal is not None else None,
        )
        self._account_known = False
        self._owner: User | None = None  # of the token, when /me was last requested
        self._account_lock = threading.Lock()

    def me(self, *, lenient: bool = False) -> Me:
        """Return the token's owner and balance, never cached (document: "GET /me").

        An unreadable field raises a RecordError; with ``lenient`` it is empty and listed in ``problems``.
        """
        me = self._transport.get(vocabulary.ME.path, {}, records.decode_me).value
        if not lenient:
            records.raise_unreadable(me.problems)
        self._owner = me.user
        if self._cache_dir is not None and not self._account_known:
            self._transport.open_cache(self._cache_dir, str(me.user.id))
        self._account_known = True
        return me

    def user(self, user_id: str) -> User:
        """Return another user's profile, never cached (document: "GET /users/:user_id").

        Its fields depend on the token's scopes, and two tokens of one account would share the cache.
        """
        return self._transport.get(_build_path(vocabulary.USER, user_id), {}, records.decode_user).value

    def payment(self, payment_id: str, *, fresh: bool = False) -> Payment:
        """Return one payment with all its fields (document: "GET /payments/:payment").

        ``fresh`` bypasses the cache.
        """
        path = _build_path(vocabulary.PAYMENT, payment_id)
        return self._get(path, {}, records.decode_payment, policy=_choose_policy(fresh=fresh)).value

    def payments(
        self,
        *,
        action: str | None = None,
        actor: str | Iterable[str] | None = None,
        status: str | Iterable[str] | None = None,
        after: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
    ) -> list[Payment]:
        """Return the user's payments and charges from all pages, newest first.

        Parameters
        ----------
        action : str, optional
            Only "pay" or only "charge".
        actor : str or iterable of str, optional
            Only payments started by these user ids.
        status : str or iterable of str, optional
            Only payments with these statuses.
        after, before : datetime, date or str, optional
            Only payments made after, or before, this instant; both bounds are exclusive.
            Naive datetimes are UTC, and a date is its first moment.

        Returns
        -------
        list of Payment
            Each payment once; empty if there is none.

        Raises
        ------
        ConfigurationError
            The document does not allow a filter; nothing was sent.
        RecordError
            A record cannot be read (document: "GET /payments").
        PaginationError
            A page is lost; nothing partial is returned.
        """
        found: list[Payment] = []
        for page in self.payment_pages(action=action, actor=actor, status=status, after=after, before=before):
            records.raise_unreadable(page.problems, instead="payment_pages() gives the rest, with .problems")
            found.extend(page.items)
        dates = [payment.date_created for payment in found if payment.date_created is not None]
        if any(earlier < later for earlier, later in pairwise(dates)):  # parts of crowded seconds come last
            found.sort(key=get_sort_key, reverse=True)
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
        """Return an iterator over the pages of :meth:`payments`, each payment on one page.

        Unexpected values in a record do not raise; they are listed in the page's ``problems``.
        ``page_size`` is 1 to 50 (document: "Limits"). ``fresh`` bypasses the cache.
        """
        query = Query(
            limit=_check_page_size(page_size),
            action=_join_filter_values("action", None if action is None else [action], Action),
            actor=_join_filter_values("actor", actor),
            status=_join_filter_values("status", status, Status),
        )
        start, end = _parse_bound("after", after, BEGINNING), _parse_bound("before", before, END)
        policy = _choose_policy(fresh=fresh)
        tables = records.InternTables()

        def fetch(query: Query, *, refetch: bool = False) -> PaymentPage:
            return self._fetch_payments(query, CachePolicy.BYPASS if refetch else policy, tables, after=start)[0]

        return paginate(
            fetch,
            query,
            after=start,
            before=end,
            list_friend_ids=self._list_friend_ids,
            max_payments=self.max_payments,
        )

    def history_pages(
        self,
        *,
        after: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
        refresh: bool = False,
        progress: Callable[[int, int], object] = lambda _payments, _expected: None,
    ) -> Generator[PaymentPage]:
        """Return an iterator over the pages of all payments, requested by calendar windows on several connections.

        Newest first, each payment once. Windows in which no new payment can appear are stored in the account's
        cache, so that an interrupted load can be resumed; their pending payments are compared with the current
        ``status=pending`` list. Responses of the open window are never cached.

        Parameters
        ----------
        after, before : datetime, date or str, optional
            As for :meth:`payments`.
        refresh : bool
            Clear the cache first.
        progress : callable, optional
            Called after each page with the number of payments so far and the estimated total.
        """
        start, end = _parse_bound("after", after, BEGINNING), _parse_bound("before", before, END)
        fetch = partial(self._fetch_payments, tables=records.InternTables())
        pages = CachedPages(fetch, self._open_cache, refresh=refresh)
        return self._load_history(start, end, pages, progress)

    def friends(self, user_id: str | None = None) -> list[User]:
        """Return a user's friends, the token owner's by default (document: "GET /users/:user_id/friends").

        Each friend once, in the service's order; empty if there is none.

        Raises
        ------
        PaginationError
            A page is lost; nothing partial is returned.
        """
        found: dict[str | None, User] = {}
        for page in self.friend_pages(user_id):
            records.raise_unreadable(page.problems, instead="friend_pages() gives the rest, with .problems")
            found |= {friend.id: friend for friend in page.items}
        return list(found.values())

    def friend_pages(
        self, user_id: str | None = None, *, page_size: int = PAGE_SIZE_MAXIMUM, fresh: bool = False
    ) -> Iterator[Page[User]]:
        """Return an iterator over the pages of :meth:`friends`, following the next links.

        ``fresh`` bypasses the cache.
        """
        return self._load_friends(user_id, _check_page_size(page_size), fresh=fresh)

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
        """Return a text with the address of the service and without the token."""
        return f"<Client of {self.base_url}>"

    def _load_history(
        self, after: datetime, before: datetime, pages: CachedPages, on_progress: Callable[[int, int], object]
    ) -> Generator[PaymentPage]:
        """Yield the pages of a history; add to an error how much of the load the next one can reuse."""
        likely_start = self._owner.date_joined if self._owner is not None else None
        try:
            yield from fetch_history(
                pages,
                after=after,
                before=before,
                likely_start=likely_start,
                concurrency=self.concurrency,
                on_progress=on_progress,
                list_friend_ids=self._list_friend_ids,
                max_payments=self.max_payments,
            )
        except PaginationError:
            pages.clear()
            raise
        except (ServiceError, TokenError) as error:
            if getattr(error, "retryable", False) or isinstance(error, AuthenticationError | TokenError):
                error.args = (f"{error}{pages.describe_progress()}",)
            raise
        except KeyboardInterrupt as interrupt:
            if progress := pages.describe_progress():
                interrupt.add_note(progress.strip())
            raise

    def _fetch_payments(
        self, query: Query, policy: CachePolicy, tables: records.InternTables, *, after: datetime = BEGINNING
    ) -> tuple[PaymentPage, bool]:
        """Return a page of payments, and whether it came from the cache; pages of one load share interning tables."""

        def decode(body: bytes) -> PaymentPage:
            page = records.decode_payments(body, tables)
            if page.next is not None:  # the link is not followed, but a foreign one makes the response untrustworthy
                parse_next_link(page.next, f"{self.base_url}{vocabulary.PAYMENTS.path}")
            return page

        fields = {
            "action": query.action,
            "actor": query.actor,
            "status": query.status,
            "after": "" if after == BEGINNING else _format_bound(after),
            "before": "" if query.before is None else _format_bound(query.before),
            "limit": str(query.limit),
        }
        parameters = {name: value for name, value in fields.items() if value}
        response = self._get(vocabulary.PAYMENTS.path, parameters, decode, policy=policy)
        if response.from_cache and any(problem.unreadable for problem in response.value.problems):
            # A field that could not be read may be readable now, so the cached page must not be used for a month.
            refetch = CachePolicy.LONG_REFETCH if policy is CachePolicy.LONG else CachePolicy.BYPASS
            response = self._get(vocabulary.PAYMENTS.path, parameters, decode, policy=refetch)
        return msgspec.structs.replace(response.value, fetched_at=response.fetched_at), response.from_cache

    def _load_friends(self, user_id: str | None, page_size: int, *, fresh: bool) -> Iterator[Page[User]]:
        path = _build_path(vocabulary.FRIENDS, user_id or str(self.me(lenient=True).user.id))

        def fetch(parameters: dict[str, str], *, refetch: bool = False) -> Page[User]:
            policy = _choose_policy(fresh=fresh or refetch)
            response = self._get(path, parameters, records.decode_friends, policy=policy)
            return msgspec.structs.replace(response.value, fetched_at=response.fetched_at)

        def count(*, refetch: bool = False) -> int | None:
            owner = self.me(lenient=True).user if refetch else self._owner
            is_own = owner is not None and path == _build_path(vocabulary.FRIENDS, str(owner.id))
            return owner.friends_count if owner is not None and is_own else None

        yield from paginate_friends(
            fetch, f"{self.base_url}{path}", page_size, count=count, max_friends=self.max_payments
        )

    def _list_friend_ids(self) -> list[str]:
        """Return the ids of the token owner's friends, an empty list if they cannot be read."""
        with contextlib.suppress(ServiceError):
            return [friend.id for page in self.friend_pages() for friend in page.items if friend.id]
        return []

    def _open_cache(self) -> ResponseStorage | None:
        """Return the account's cache, None if there is none; the first call may request ``/me``."""
        with self._account_lock:  # one request, however many threads start together
            if self._cache_dir is not None and not self._account_known:
                try:
                    self.me(lenient=True)
                except ScopeError:  # a token without access to /me is used without a cache
                    self._account_known = True
        return None if self._transport.cache is None else self._transport.cache.storage

    def _get(
        self, path: str, parameters: dict[str, str], decode: Callable[[bytes], T], *, policy: CachePolicy
    ) -> ServiceResponse[T]:
        if policy is not CachePolicy.BYPASS:
            self._open_cache()
        return self._transport.get(path, parameters, decode, policy=policy)


def _choose_policy(*, fresh: bool) -> CachePolicy:
    return CachePolicy.BYPASS if fresh else CachePolicy.SHORT


def _format_bound(instant: datetime) -> str:
    """Return an instant in the form of the sample next link: without a zone (document: "GET /payments")."""
    return format_instant(instant).removesuffix("Z")


# ---- checks of arguments, before a request is sent


def _build_path(endpoint: Endpoint, record_id: str) -> str:
    """Return the path of an endpoint for the id of a user or payment."""
    if not isinstance(record_id, str) or not record_id.strip(".") or not record_id.isprintable():
        raise ConfigurationError(f"An id is text like '1322585332520059420', not {record_id!r}.")
    return endpoint.at(quote(record_id, safe=""))


def _join_filter_values(
    name: str, value: str | Iterable[str] | None, allowed: type[Action | Status] | None = None
) -> str:
    """Return the values of a filter, separated by commas; the service would ignore or refuse an unknown value."""
    values = [] if value is None else [value] if isinstance(value, str) else list(value)
    if value is not None and not values:
        raise ConfigurationError(f"{name} is an empty list, which matches nothing: leave it out to list everything.")
    for each in values:
        if not isinstance(each, str):
            raise ConfigurationError(f"{name} must be text, or several texts, not {each!r}.")
        if allowed is not None and each not in set(allowed):
            raise ConfigurationError(f"{name} can be {', '.join(allowed)}, not {each!r}.")
        if not each.strip() or "," in each:
            raise ConfigurationError(f"{name} cannot be {each!r}: give one value, without commas, per text.")
    return ",".join(str(each) for each in values)


def _parse_bound(name: str, value: datetime | date | str | None, default: datetime) -> datetime:
    if value is None:
        return default
    with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError):
        return as_instant(value)
    raise ConfigurationError(f"{name}: {str(value)[:40]!r} is no date or datetime like 2024-05-31T18:30:00Z.")


def _check_page_size(size: int) -> int:
    """Return the size of a page, or raise a ConfigurationError (document: "Limits")."""
    if not isinstance(size, int) or not 1 <= size <= PAGE_SIZE_MAXIMUM:
        raise ConfigurationError(f"page_size must be 1 to {PAGE_SIZE_MAXIMUM}, not {size}.")
    return size
