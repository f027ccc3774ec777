"""How often each user of an application may ask (document: "Limits", which shows no rate limit)."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.sandbox.errors import RateLimitError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

MOST_KEYS: Final = 10_000
_MOST_REQUESTS, _MOST_SECONDS = 1_000_000, 86_400
_FORM: Final = re.compile(r"(\d{1,9})/(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


class Rate(NamedTuple):
    """So many requests in so many seconds."""

    requests: int
    seconds: float


class RateLimit:
    """Windows of time, each from somebody's first request on, with so many requests in it.

    Parameters
    ----------
    rate : tuple of int and float, optional
        Requests, and seconds of a window; without it nothing is limited.
    clock : callable
        Seconds of a clock that never goes back.

    Raises
    ------
    SettingError
        The rate is none.
    """

    def __init__(self, rate: tuple[int, float] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = None if rate is None else _checked(rate)
        self._clock = clock
        self._windows: dict[
            Hashable, _Window
        ] = {}  # all windows are as long, so the first to begin is the first to end

    def take(self, key: Hashable) -> None:
        """Count one request of somebody.

        Raises
        ------
        RateLimitError
            The window is full; its ``Retry-After`` is when the next one begins.
        """
        if self.rate is None:
            return
        now = self._clock()
        self._make_room(now)
        window = self._windows.setdefault(key, _Window(now + self.rate.seconds))
        if window.taken >= self.rate.requests:
            raise RateLimitError(max(1, math.ceil(window.ends - now)))
        window.taken += 1

    def _make_room(self, now: float) -> None:
        while self._windows:
            oldest = next(iter(self._windows))
            if self._windows[oldest].ends > now and len(self._windows) < MOST_KEYS:
                return
            del self._windows[oldest]


class _Window:
    __slots__ = ("ends", "taken")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self.taken = 0


def read_rate(text: str) -> Rate:
    """Return the rate of a text such as ``10/60``, ten requests in a minute.

    Raises
    ------
    SettingError
        The text is none.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise SettingError("A rate limit is REQUESTS/SECONDS, such as 10/60 for ten requests in a minute.")
    return _checked((int(match[1]), float(match[2])))


def _checked(given: tuple[int, float]) -> Rate:
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
