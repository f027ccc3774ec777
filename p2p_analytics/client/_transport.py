"""One request: the one function through which everything sent to the service passes.

The token joins the request on the wire, below session and cache, so that nothing above ever held
it. Redirects are not followed, an answer has a deadline and a largest size. A GET is asked again
after a fault that may pass, a write only where there was nobody to send it to. No error here
carries the text of the library below, which may quote the address.
"""

from __future__ import annotations

import random
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.client._adapter import NotSent, prepared
from p2p_analytics.client._cache import cached_session, is_envelope
from p2p_analytics.client._failures import is_refusal, no_answer, outcome_unknown, refusal
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from requests_cache import CachedSession

    from p2p_analytics.auth import AccessToken, Secret
    from p2p_analytics.client._renewal import Renewal

TRIES: Final = 5
LONGEST_WAIT: Final = 60.0  # a longer Retry-After is told to the caller instead of slept


class Answer(msgspec.Struct, frozen=True):
    """The body of a good answer, and when the service gave it (earlier, for a cached one)."""

    body: bytes
    fetched_at: datetime


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
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.base_url = base_url
        self._token = token
        self._renewal = renewal
        self._timeout = timeout
        self._deadline = deadline
        self._sleep, self._monotonic, self._jitter = sleep, monotonic, jitter
        self._plain = prepared(requests.Session(), self.base_url, self._secrets)
        self._cached: CachedSession | None = None
        self.turn = threading.Lock()  # held by a write until its outcome is known

    def use_cache(self, folder: Path, account_id: str) -> None:
        """Keep answers in the private cache of the account that the token belongs to."""
        cached = cached_session(folder, self.base_url, account_id)
        prepared(cached, self.base_url, self._secrets)
        self._cached = cached

    def get(self, path: str, parameters: Mapping[str, str], *, cached: bool) -> Answer:
        """Return the service's answer to a GET request.

        Raises
        ------
        TokenError
            The token's time is over; nothing was sent.
        TransportError, ApiError, ProtocolError
            What went wrong in the end, after the retries that made sense.
        """
        session = self._cached if cached and self._cached is not None else self._plain
        return self._send(session, "GET", path, parameters)

    def write(self, method: Literal["POST", "PUT"], path: str, fields: Mapping[str, str]) -> Answer:
        """Send form fields once, and return the service's answer; it is never cached.

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
                return self._send(session, method, path, fields)
            finally:
                self._forget_answers()

    def close(self) -> None:
        """Close the connections and the cache file."""
        for session in (self._plain, self._cached):
            if session is not None:
                session.close()

    def _send(self, session: requests.Session, method: str, path: str, parameters: Mapping[str, str]) -> Answer:
        give_up_at = self._monotonic() + self._deadline
        for attempt in range(TRIES):
            if self._renewal is not None:
                self._token = self._renewal.token()
            used = self._token
            used.require_unexpired(datetime.now(UTC))
            seconds_left = give_up_at - self._monotonic()
            outcome = self._try(session, method, path, parameters, seconds_left)
            if isinstance(outcome, Answer):
                return outcome
            if method == "GET" and isinstance(outcome, errors.AuthenticationError) and self._is_replaced(used):
                continue
            # Of a write's outcomes only the TransportError says that nothing was sent.
            passing = outcome.retryable and (method == "GET" or isinstance(outcome, errors.TransportError))
            wait = self._wait(attempt, outcome)
            seconds_left = give_up_at - self._monotonic()
            if not passing or wait is None or attempt == TRIES - 1 or wait > seconds_left:
                raise outcome
            self._sleep(wait)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _forget_answers(self) -> None:
        if self._cached is not None:
            forgetful: requests.Session = self._cached
            self._cached.cache.responses.clear()
            if len(self._cached.cache.responses):  # held by another process: no cache is better than a stale one
                self._cached = None
                forgetful.close()

    def _secrets(self) -> dict[str, Secret]:
        return {TOKEN_PARAMETER: self._token}

    def _is_replaced(self, used: AccessToken) -> bool:
        """Tell whether the token that was refused has been renewed meanwhile, by another thread or process."""
        if self._renewal is None:
            return False
        self._token = self._renewal.token(refused=used)
        return self._token is not used

    def _try(
        self, session: requests.Session, method: str, path: str, parameters: Mapping[str, str], seconds_left: float
    ) -> Answer | errors.ServiceError:
        connect, whole = self._timeout
        limits = (min(connect, max(seconds_left, 0.01)), min(whole, max(seconds_left, 0.01)))
        reads, fields = method == "GET", dict(parameters)
        sent, refused, interrupted = True, False, False
        try:
            response = session.request(
                method,
                f"{self.base_url}{path}",
                params=fields if reads else None,
                data=None if reads else fields,
                timeout=limits,
                allow_redirects=False,
            )
            outcome, refused = self._judged(response), not reads and is_refusal(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            outcome = no_answer(error, self.base_url)  # handed back: raised later, it has no context
            sent = not isinstance(error, NotSent)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:  # raised anew: the frames of the one above hold the address on the wire
            raise KeyboardInterrupt
        if reads or refused or not sent or isinstance(outcome, Answer):
            return outcome
        return outcome_unknown(outcome)

    def _judged(self, response: requests.Response) -> Answer | errors.ServiceError:
        if response.status_code not in range(200, 300):
            return refusal(response, self._token)
        if not is_envelope(response):
            shown = "The service answered with something that is not the documented JSON: check the base URL."
            failure = errors.ProtocolError(shown, status_code=response.status_code)
            failure.retryable = True  # a proxy's page or a cut answer may be whole the next time
            return failure
        return Answer(response.content, getattr(response, "created_at", None) or datetime.now(UTC))

    def _wait(self, attempt: int, failure: errors.ServiceError) -> float | None:
        """Seconds before the next try: what the service asks, else growing ones; None where too long."""
        if failure.retry_after is not None:
            return None if failure.retry_after > LONGEST_WAIT else failure.retry_after + self._jitter()
        return float(min(0.5 * 2**attempt, 5.0)) * (0.5 + self._jitter() / 2)
