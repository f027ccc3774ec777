"""One request: the one function through which everything sent to the service passes.

The token joins the request on the wire, below session and cache, so that nothing above ever held
it. Redirects are not followed, an answer has a deadline and a largest size. A GET is asked again
after a fault that may pass, a write only where there was nobody to send it to. No error here
carries the text of the library below, which may quote the address.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import random
import threading
import time
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

import msgspec
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import hide_frames, redact_exception
from p2p_analytics.client.http._throttle import Gate
from p2p_analytics.client.http.adapter import NotSent, prepared
from p2p_analytics.client.http.cache import UNREADABLE_ENTRY, AccountCache
from p2p_analytics.client.http.deadline import sleep as sleep_unless_stopped
from p2p_analytics.client.http.deadline import stopped
from p2p_analytics.client.http.decoding import SUCCESSES, decoded_value, decoding_hook
from p2p_analytics.client.http.error_mapping import is_refusal, no_answer, outcome_unknown, refusal
from p2p_analytics.records import check_envelope, is_envelope
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from p2p_analytics.auth import AccessToken, Secret
    from p2p_analytics.client._renewal import Renewal

log = logging.getLogger(__name__)

T = TypeVar("T")

TRIES: Final = 5
LONGEST_WAIT: Final = 60.0  # a longer Retry-After is told to the caller instead of slept


class Keep(Enum):
    """Whether an answer may come from the account's cache, and is kept there, and for how long."""

    NOT = auto()
    BRIEFLY = auto()  # minutes: it may change at any time
    LASTING = auto()  # a closed window's, which changes only in ways that are looked for
    LASTING_ANEW = auto()  # the same, asked for even where it is kept


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A decoded body, when the service sent it (earlier, for a cached one), and whether it came from the cache."""

    value: T
    fetched_at: datetime
    kept: bool = False


class _Sessions:
    """Sessions of one kind, which take turns: `requests` does not promise that threads can share one."""

    def __init__(self, make: Callable[[], requests.Session]) -> None:
        self._make = make
        self._idle: list[requests.Session] = []

    @contextlib.contextmanager
    def one(self) -> Iterator[requests.Session]:
        """Take a session that nobody else uses, and give it back."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = self._make()
        try:
            yield session
        finally:
            self._idle.append(session)

    def close(self) -> None:
        """Close their connections."""
        while self._idle:
            requests.Session.close(self._idle.pop())  # a cached one's own would close the cache that they share


class Transport:
    """Sends requests for one token to one service.

    Parameters
    ----------
    base_url : str
        As :func:`p2p_analytics.settings.base_url` gives it.
    token : AccessToken
        Added on the wire only.
    timeout : tuple of float
        Seconds to connect, and seconds for the whole answer.
    deadline : float
        Seconds for a request with all its retries.
    renewal : Renewal, optional
        Gives the next token when the time of this one comes to its end.
    sleep, monotonic, jitter : callable
        Time and chance, replaced in tests.
    """

    def __init__(  # noqa: PLR0913 - time and chance are injected
        self,
        base_url: str,
        token: AccessToken,
        *,
        timeout: tuple[float, float],
        deadline: float = 120.0,
        renewal: Renewal | None = None,
        sleep: Callable[[float], None] = sleep_unless_stopped,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.base_url = base_url
        self._token = token
        self._renewal = renewal
        self._timeout = timeout
        self._deadline = deadline
        self._sleep, self._monotonic, self._jitter = sleep, monotonic, jitter
        self._gate = Gate(monotonic)
        self._plain = _Sessions(lambda: self._prepared(requests.Session()))
        self._kept: dict[Keep, _Sessions] = {}
        self.cache: AccountCache | None = None
        self.turn = threading.Lock()  # held by a write until its outcome is known

    def use_cache(self, folder: Path, account_id: str) -> None:
        """Keep answers in the private cache of the account that the token belongs to."""
        self.cache = cache = AccountCache(folder, self.base_url, account_id)

        def renewing() -> requests.Session:
            session = self._prepared(cache.session(lasting=True))
            session.headers["Cache-Control"] = "no-cache"
            return session

        self._kept = {
            Keep.BRIEFLY: _Sessions(lambda: self._prepared(cache.session(lasting=False))),
            Keep.LASTING: _Sessions(lambda: self._prepared(cache.session(lasting=True))),
            Keep.LASTING_ANEW: _Sessions(renewing),
        }

    def get(
        self,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytes], T] = check_envelope,  # type: ignore[assignment]  # without it, T is bytes
        *,
        keep: Keep = Keep.NOT,
    ) -> Answer[T]:
        """Return the decoded answer to a GET request, or one that was kept; ``decode`` is called once for each body.

        Raises
        ------
        TokenError
            The token's time is over; nothing was sent.
        TransportError, ApiError, ProtocolError
            What went wrong in the end, after the retries that made sense.
        """
        with self._kept.get(keep, self._plain).one() as session:
            return self._send(session, "GET", path, parameters, decode)

    def write(
        self,
        method: Literal["POST", "PUT"],
        path: str,
        fields: Mapping[str, str],
        decode: Callable[[bytes], T] = check_envelope,  # type: ignore[assignment]  # without it, T is bytes
    ) -> Answer[T]:
        """Send form fields once, and return the decoded answer; it is never cached.

        The account's cached answers are forgotten, whatever came back.

        Raises
        ------
        TokenError
            The token's time is over; nothing was sent.
        TransportError
            The service cannot be reached; nothing was sent.
        ApiError
            The service refused with its envelope; nothing was carried out.
        OutcomeUnknownError
            Anything else: it may have been carried out.
        """
        # A connection of its own: one kept from earlier requests may be closed just as the form is on its way.
        with prepared(requests.Session(), self.base_url, self._secrets) as session:
            try:
                return self._send(session, method, path, fields, decode)
            finally:
                self._forget_answers()

    def close(self) -> None:
        """Close the connections and the cache file."""
        for sessions in (self._plain, *self._kept.values()):
            sessions.close()
        if self.cache is not None:
            self.cache.store.close()

    def _send(
        self,
        session: requests.Session,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        decode: Callable[[bytes], T],
    ) -> Answer[T]:
        with contextlib.ExitStack() as turn:
            alone = self._gate.enter(turn)
            give_up_at = self._monotonic() + self._deadline
            for attempt in range(TRIES):
                if self._renewal is not None:
                    self._token = self._renewal.token()
                used = self._token
                used.require_unexpired(datetime.now(UTC))
                seconds_left = give_up_at - self._monotonic()
                outcome = self._try(session, method, path, parameters, seconds_left=seconds_left, decode=decode)
                if isinstance(outcome, Answer):
                    return outcome
                if method == "GET" and isinstance(outcome, errors.AuthenticationError) and self._is_replaced(used):
                    continue
                # Of a write's outcomes only the TransportError says that nothing was sent.
                passing = outcome.retryable and (method == "GET" or isinstance(outcome, errors.TransportError))
                pause = self._wait(attempt, outcome)
                seconds_left = give_up_at - self._monotonic()
                if not passing or pause is None or attempt == TRIES - 1 or pause > seconds_left or stopped():
                    raise outcome
                if outcome.retry_after is not None and not alone:
                    self._gate.slow_down()
                    since = self._monotonic()
                    alone = self._gate.enter(turn)
                    behind_others = self._monotonic() - since
                    give_up_at, pause = give_up_at + behind_others, max(0.0, pause - behind_others)
                self._sleep(pause)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _forget_answers(self) -> None:
        if self.cache is not None and not self.cache.store.forget_brief():
            # Held by another process: no cache is better than a stale one.
            self.cache.store.close()
            self.cache, self._kept = None, {}

    def _prepared(self, session: requests.Session) -> requests.Session:
        return prepared(session, self.base_url, self._secrets)

    def _secrets(self) -> dict[str, Secret]:
        return {TOKEN_PARAMETER: self._token}

    def _is_replaced(self, used: AccessToken) -> bool:
        """Tell whether the token that was refused has been renewed meanwhile, by another thread or process."""
        if self._renewal is None:
            return False
        self._token = self._renewal.token(refused=used)
        return self._token is not used

    @hide_frames
    def _try(  # noqa: PLR0913 - one request and how to read its answer
        self,
        session: requests.Session,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        *,
        seconds_left: float,
        decode: Callable[[bytes], T],
    ) -> Answer[T] | errors.ServiceError:
        connect, whole = self._timeout
        limits = (min(connect, max(seconds_left, 0.01)), min(whole, max(seconds_left, 0.01)))
        reads, fields = method == "GET", dict(parameters)
        sent, refused = True, False
        outcome: Answer[T] | errors.ServiceError
        request = functools.partial(
            session.request,
            method,
            f"{self.base_url}{path}",
            params=fields if reads else None,
            data=None if reads else fields,
            timeout=limits,
            allow_redirects=False,
            hooks={"response": decoding_hook(decode)},
        )
        try:
            response = request()
            if getattr(response, "from_cache", False) and isinstance(decoded_value(response), errors.ServiceError):
                if self.cache is not None:
                    log.warning(UNREADABLE_ENTRY, self.cache.store.path.name)
                response = request(headers={"Cache-Control": "no-cache"})
            outcome, refused = self._judged(response), not reads and is_refusal(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            outcome = no_answer(error, self.base_url)  # handed back: raised later, it has no context
            sent = not isinstance(error, NotSent)
        except BaseException as error:
            redact_exception(error, [self._token])
            raise
        if reads or refused or not sent or isinstance(outcome, Answer):
            return outcome
        return outcome_unknown(outcome)

    def _judged(self, response: requests.Response) -> Answer[T] | errors.ServiceError:
        if response.status_code not in SUCCESSES:
            return refusal(response, self._token)
        value = decoded_value(response)
        if isinstance(value, errors.ServiceError):
            if is_envelope(response.content):
                raise value  # a record that cannot be read cannot be read the next time either
            shown = "The service answered with something that is not the documented JSON: check the base URL."
            failure = errors.ProtocolError(shown, status_code=response.status_code)
            failure.retryable = True  # a proxy's page or a cut answer may be whole the next time
            return failure
        given = getattr(response, "created_at", None) or datetime.now(UTC)
        return Answer(value, given, kept=getattr(response, "from_cache", False))

    def _wait(self, attempt: int, failure: errors.ServiceError) -> float | None:
        """Seconds before the next try: what the service asks, else growing ones; None where too long."""
        if failure.retry_after is not None:
            return None if failure.retry_after > LONGEST_WAIT else failure.retry_after + self._jitter()
        return float(min(0.5 * 2**attempt, 5.0)) * (0.5 + self._jitter() / 2)
