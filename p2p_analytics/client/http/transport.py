"""Transport: the one function through which every request to the service passes.

The adapter adds the token as a request is sent, below session and cache, so that no object above it holds the token.
Redirects are not followed; a response has a deadline and a maximum size. A GET is retried after a transient failure, a
write only if no connection could be made. No error quotes the text of urllib3 or requests, which may hold the URL.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken, Secret, hide_frames, redact_exception
from p2p_analytics.client.http.adapter import NotSentError, prepare_session
from p2p_analytics.client.http.cache import UNREADABLE_ENTRY, AccountCache
from p2p_analytics.client.http.deadline import is_cancelled, sleep_unless_cancelled
from p2p_analytics.client.http.error_mapping import (
    is_refused,
    map_error_response,
    map_transport_failure,
    map_unknown_outcome,
)
from p2p_analytics.records import check_envelope, is_envelope
from p2p_analytics.vocabulary import TOKEN_PARAMETER

log = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 5
MAX_RETRY_AFTER: Final = 60.0  # the caller gets the error of a longer Retry-After
SLOW_SECONDS: Final = 60.0
_FIRST_BACKOFF: Final = 0.5
_MAX_BACKOFF: Final = 5.0
_SUCCESSES: Final = range(200, 300)

T = TypeVar("T")


class CachePolicy(Enum):
    """Use of the account's cache for one request."""

    BYPASS = auto()
    SHORT = auto()  # minutes: the response may change at any time
    LONG = auto()  # a closed window, in which only pending payments change
    LONG_REFETCH = auto()  # the same, but replaces the cache entry


class ServiceResponse(msgspec.Struct, Generic[T], frozen=True):
    """Decoded body of a successful response, when the service sent it, and whether it came from the cache."""

    value: T
    fetched_at: datetime
    from_cache: bool = False


class _SessionPool:
    """Sessions of one kind, each used by one thread at a time: `requests` sessions are not thread-safe."""

    def __init__(self, make_session: Callable[[], requests.Session]) -> None:
        self._make_session = make_session
        self._idle: list[requests.Session] = []

    @contextlib.contextmanager
    def borrow(self) -> Iterator[requests.Session]:
        """Take an idle or a new session, and return it to the pool afterwards."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = self._make_session()
        try:
            yield session
        finally:
            self._idle.append(session)

    def close(self) -> None:
        """Close the connections."""
        while self._idle:
            requests.Session.close(self._idle.pop())  # CachedSession.close would close the shared cache


class Transport:
    """Sends requests for one token to one service.

    ``timeout`` has the seconds to connect and for a whole response, ``deadline`` the seconds for a request with all its
    retries. ``get_token`` returns the current token, which it may renew; it is called before each request with None,
    and with a token that the service refuses. Tests replace clock and random numbers.
    """

    def __init__(  # noqa: PLR0913 - clock and random numbers are injected
        self,
        base_url: str,
        token: AccessToken,
        *,
        timeout: tuple[float, float],
        deadline: float = 120.0,
        max_attempts: int = MAX_ATTEMPTS,
        get_token: Callable[[AccessToken | None], AccessToken] | None = None,
        sleep: Callable[[float], None] = sleep_unless_cancelled,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.base_url = base_url
        self._token = token
        self._renew_token = get_token or (lambda _refused: token)
        self._timeout = timeout
        self._deadline, self._max_attempts = deadline, max_attempts
        self._sleep, self._monotonic, self._jitter = sleep, monotonic, jitter
        self._throttle = Throttle(monotonic)
        self._sessions = _SessionPool(lambda: self._prepare(requests.Session()))
        self._cached_sessions: dict[CachePolicy, _SessionPool] = {}
        self.cache: AccountCache | None = None  # of the token's account, once it is known
        self.write_lock = threading.Lock()  # held by a write until its outcome is known

    def open_cache(self, folder: Path, account_id: str) -> None:
        """Use the private cache of the account that the token belongs to."""
        self.cache = cache = AccountCache(folder, self.base_url, account_id)

        def make_refetching_session() -> requests.Session:
            session = self._prepare(cache.make_session(long_lived=True))
            session.headers["Cache-Control"] = "no-cache"
            return session

        self._cached_sessions = {
            CachePolicy.SHORT: _SessionPool(lambda: self._prepare(cache.make_session(long_lived=False))),
            CachePolicy.LONG: _SessionPool(lambda: self._prepare(cache.make_session(long_lived=True))),
            CachePolicy.LONG_REFETCH: _SessionPool(make_refetching_session),
        }

    def get(
        self,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytes], T] = check_envelope,  # type: ignore[assignment]  # without it, T is bytes
        *,
        policy: CachePolicy = CachePolicy.BYPASS,
    ) -> ServiceResponse[T]:
        """Return the decoded response to a GET request, from the service or the cache.

        ``decode`` is called once for each body. Raises the failure of the last attempt, or a TokenError if the token
        has expired and nothing was sent.
        """
        with self._cached_sessions.get(policy, self._sessions).borrow() as session:
            return self._send(session, "GET", path, parameters, decode)

    def write(
        self,
        method: Literal["POST", "PUT"],
        path: str,
        fields: Mapping[str, str],
        decode: Callable[[bytes], T] = check_envelope,  # type: ignore[assignment]  # without it, T is bytes
    ) -> ServiceResponse[T]:
        """Send form fields once, and return the decoded response, which is never cached.

        The short-lived entries of the account's cache are deleted, whatever the outcome.

        Raises
        ------
        TokenError, TransportError
            The token has expired, or the service cannot be reached; nothing was sent.
        ApiError
            The service refused with its error envelope; nothing was carried out.
        OutcomeUnknownError
            Any other failure: the write may have been carried out.
        """
        # A new connection for each write: the service may close a reused one just as the form is being sent.
        with prepare_session(requests.Session(), self.base_url, self._get_secrets) as session:
            try:
                return self._send(session, method, path, fields, decode)
            finally:
                if self.cache is not None and not self.cache.storage.delete_short_lived():
                    # Another process locks the file: no cache is better than stale entries.
                    self.cache.storage.close()
                    self.cache, self._cached_sessions = None, {}

    def close(self) -> None:
        """Close the connections and the cache file."""
        for pool in (self._sessions, *self._cached_sessions.values()):
            pool.close()
        if self.cache is not None:
            self.cache.storage.close()

    def _send(
        self,
        session: requests.Session,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytes], T],
    ) -> ServiceResponse[T]:
        with contextlib.ExitStack() as turn:
            has_turn = self._throttle.wait_turn(turn)
            give_up_at = self._monotonic() + self._deadline
            for attempt in range(self._max_attempts):
                used = self._token = self._renew_token(None)
                used.require_unexpired(datetime.now(UTC))
                seconds_left = give_up_at - self._monotonic()
                outcome = self._attempt(session, method, path, parameters, seconds_left=seconds_left, decode=decode)
                if isinstance(outcome, ServiceResponse):
                    return outcome
                pause = _compute_pause(attempt, outcome, self._jitter)
                if attempt == self._max_attempts - 1 or pause is None:
                    raise outcome
                if method == "GET" and isinstance(outcome, errors.AuthenticationError):
                    self._token = self._renew_token(used)
                    if self._token is not used:  # another thread or process has renewed it
                        continue
                # A write is only sent again after a TransportError, which means that nothing was sent.
                may_retry = outcome.retryable and (method == "GET" or isinstance(outcome, errors.TransportError))
                if not may_retry or is_cancelled() or pause > give_up_at - self._monotonic():
                    raise outcome
                if outcome.retry_after is not None and not has_turn:
                    self._throttle.slow_down()
                    started = self._monotonic()
                    has_turn = self._throttle.wait_turn(turn)
                    waited = self._monotonic() - started
                    give_up_at, pause = give_up_at + waited, max(0.0, pause - waited)
                self._sleep(pause)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _prepare(self, session: requests.Session) -> requests.Session:
        return prepare_session(session, self.base_url, self._get_secrets)

    def _get_secrets(self) -> dict[str, Secret]:
        return {TOKEN_PARAMETER: self._token}

    @hide_frames
    def _attempt(  # noqa: PLR0913 - one request and its decoder
        self,
        session: requests.Session,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        *,
        seconds_left: float,
        decode: Callable[[bytes], T],
    ) -> ServiceResponse[T] | errors.ServiceError:
        connect, total = self._timeout
        limits = (min(connect, max(seconds_left, 0.01)), min(total, max(seconds_left, 0.01)))
        is_read, fields = method == "GET", dict(parameters)
        sent, refused = True, False
        outcome: ServiceResponse[T] | errors.ServiceError
        request = functools.partial(
            session.request,
            method,
            f"{self.base_url}{path}",
            params=fields if is_read else None,
            data=None if is_read else fields,
            timeout=limits,
            allow_redirects=False,
            hooks={"response": functools.partial(_decode_body, decode)},
        )
        try:
            response = request()
            if getattr(response, "from_cache", False) and isinstance(_get_decoded(response), errors.ServiceError):
                if self.cache is not None:
                    log.warning(UNREADABLE_ENTRY, self.cache.storage.path.name)
                response = request(headers={"Cache-Control": "no-cache"})
            outcome, refused = self._classify(response), not is_read and is_refused(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            outcome = map_transport_failure(error, self.base_url)  # returned, because raising here would chain `error`
            sent = not isinstance(error, NotSentError)
        except BaseException as error:
            redact_exception(error, [self._token])
            raise
        if is_read or refused or not sent or isinstance(outcome, ServiceResponse):
            return outcome
        return map_unknown_outcome(outcome)

    def _classify(self, response: requests.Response) -> ServiceResponse[T] | errors.ServiceError:
        if response.status_code not in _SUCCESSES:
            return map_error_response(response, self._token)
        value = _get_decoded(response)
        if isinstance(value, errors.ServiceError):
            if is_envelope(response.content):
                raise value  # the next response would hold the same unreadable record
            message = "The service answered with something that is not the documented JSON: check the base URL."
            failure = errors.ProtocolError(message, status_code=response.status_code)
            failure.retryable = True  # a proxy's page or a truncated body; the next response may be complete
            return failure
        fetched_at = getattr(response, "created_at", None) or datetime.now(UTC)
        return ServiceResponse(value, fetched_at, from_cache=getattr(response, "from_cache", False))


def _decode_body(decode: Callable[[bytes], object], response: requests.Response, **_: Any) -> None:  # noqa: ANN401
    """Decode the body of a success once, as a response hook: before requests-cache decides whether to store it."""
    if response.status_code in _SUCCESSES and not hasattr(response, "decoded"):  # requests-cache calls hooks twice
        try:
            decoded = decode(response.content)
        except errors.ServiceError as error:
            decoded = error.with_traceback(None)
        response.decoded = decoded  # type: ignore[attr-defined]


def _get_decoded(response: requests.Response) -> Any:  # noqa: ANN401 - whatever the decoder returns
    """Return the decoded body, or the ServiceError that its decoder raised."""
    return response.decoded  # type: ignore[attr-defined]


def _compute_pause(attempt: int, failure: errors.ServiceError, jitter: Callable[[], float]) -> float | None:
    """Return the seconds before the next attempt: Retry-After, else exponential backoff; None if it is too long."""
    if failure.retry_after is not None:
        return None if failure.retry_after > MAX_RETRY_AFTER else failure.retry_after + jitter()
    return float(min(_FIRST_BACKOFF * 2**attempt, _MAX_BACKOFF)) * (0.5 + jitter() / 2)


class Throttle:
    """Unlimited concurrency, until the service asks to slow down; then one request at a time.

    One Retry-After therefore pauses every connection, and the service refuses no more requests than it would
    refuse a single connection.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._slow_until = float("-inf")

    def slow_down(self) -> None:
        """Run requests one at a time for the next minute."""
        self._slow_until = self._monotonic() + SLOW_SECONDS

    def wait_turn(self, turn: ExitStack) -> bool:
        """Wait while another request runs, if requests run one at a time; return whether they do.

        The turn lasts until the stack is closed.
        """
        if self._monotonic() >= self._slow_until:
            return False
        turn.enter_context(self._lock)
        return True
