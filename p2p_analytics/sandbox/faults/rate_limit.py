"""Rate limit per user of an application (document: "Limits", which shows no rate limit)."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from p2p_analytics.sandbox.errors import RateLimitError, SettingError

MOST_KEYS: Final = 10_000
_MOST_REQUESTS, _MOST_SECONDS = 1_000_000, 86_400
_FORM: Final = re.compile(r"(\d{1,9})/(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


class Rate(NamedTuple):
    """Number of requests per number of seconds."""

    requests: int
    seconds: float


class RateLimit:
    """Fixed-window rate limit: a window starts with the first request of a key.

    Parameters
    ----------
    rate : tuple of int and float, optional
        Requests per window, and seconds of a window; unlimited without it.
    clock : callable
        Returns the seconds of a monotonic clock.

    Raises
    ------
    SettingError
        The rate is not valid.
    """

    def __init__(self, rate: tuple[int, float] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = None if rate is None else _check_rate(rate)
        self._clock = clock
        # The end and the count of each window. All have the same length, so they are in the order of their ends.
        self._windows: dict[Hashable, tuple[float, int]] = {}

    def count_request(self, key: Hashable) -> None:
        """Count one request of a key.

        Raises
        ------
        RateLimitError
            The window is full; ``Retry-After`` is the time until the next window.
        """
        if self.rate is None:
            return
        now = self._clock()
        while self._windows:  # drop the windows that have ended, and the oldest ones above the limit of keys
            oldest = next(iter(self._windows))
            if self._windows[oldest][0] > now and len(self._windows) < MOST_KEYS:
                break
            del self._windows[oldest]
        ends, count = self._windows.get(key, (now + self.rate.seconds, 0))
        if count >= self.rate.requests:
            raise RateLimitError(max(1, math.ceil(ends - now)))
        self._windows[key] = ends, count + 1


def read_rate(text: str) -> Rate:
    """Return the rate of a text such as ``10/60``, ten requests in a minute.

    Raises
    ------
    SettingError
        The text is not a rate.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise SettingError(
            f"A rate limit is REQUESTS/SECONDS, such as 10/60 for ten requests in a minute, not {text[:20]!r}."
        )
    return _check_rate((int(match[1]), float(match[2])))


def _check_rate(given: tuple[int, float]) -> Rate:
    try:
        requests, seconds = given
        fits = requests == int(requests) and 1 <= requests <= _MOST_REQUESTS and 0 < seconds <= _MOST_SECONDS
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise SettingError(
            f"A rate limit is from 1 to {_MOST_REQUESTS} requests in at most {_MOST_SECONDS} seconds, such as (10, 60)."
        )
    return Rate(int(requests), seconds)
