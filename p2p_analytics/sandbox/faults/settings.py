"""Settings that can change while a sandbox runs: latency, rate limit and faults."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.faults.rate_limit import Rate, RateLimit
from p2p_analytics.sandbox.faults.specification import Faults

_LONGEST_LATENCY: Final = 60  # longer than the timeout of any client


class Timing(NamedTuple):
    """Seconds that a running sandbox does not change; tests make them short or long.

    Attributes
    ----------
    request : float
        From a connection, or the first byte of a request, to the last byte of the request.
    drip : float
        Between two bytes of the fault `drip`.
    reset : float
        The longest that a reset waits for requests to end.
    """

    request: float = 10.0
    drip: float = 0.05
    reset: float = 30.0


class RequestSettings:
    """Settings that each request reads; a new value applies from the next request on.

    Raises
    ------
    SettingError
        A value is invalid; the previous one is kept.
    """

    def __init__(  # noqa: PLR0913 - each is one setting
        self,
        *,
        latency: float = 0.0,
        faults: str = "",
        rate_limit: tuple[int, float] | None = None,
        seed: int = 0,
        monotonic: Callable[[], float] = time.monotonic,
        timing: Timing = Timing(),  # noqa: B008 - immutable
    ) -> None:
        self.monotonic = monotonic
        self.timing = timing
        self._seed = seed
        self.latency = latency
        self.set_faults(faults)
        self.set_rate_limit(rate_limit)

    @property
    def latency(self) -> float:
        """Seconds of delay before each response."""
        return self._latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        if not 0 <= seconds <= _LONGEST_LATENCY:
            raise SettingError(f"latency is in seconds, from 0 to {_LONGEST_LATENCY}, not {seconds}.")
        self._latency = seconds

    def set_faults(self, spec: str) -> None:
        """Replace the faults; a script starts at its first step."""
        self.faults = Faults(spec, self._seed)

    def set_rate_limit(self, rate: tuple[int, float] | Rate | None) -> None:
        """Replace the rate limit, with all counts at zero."""
        self.limit = RateLimit(rate, self.monotonic)

    def restart(self, seed: int) -> None:
        """Restart the script and the random faults, and set all counts to zero; the settings stay."""
        self._seed = seed
        self.set_faults(self.faults.spec)
        self.set_rate_limit(self.limit.rate)


class AdjustableSettings:
    """Base class that shows the request settings as attributes."""

    _request_settings: RequestSettings

    @property
    def latency(self) -> float:
        """Seconds of delay before each response."""
        return self._request_settings.latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        self._request_settings.latency = seconds

    @property
    def faults(self) -> str:
        """Specification of the faults; a new script starts at its first step."""
        return self._request_settings.faults.spec

    @faults.setter
    def faults(self, spec: str) -> None:
        self._request_settings.set_faults(spec)

    @property
    def rate_limit(self) -> tuple[int, float] | None:
        """Requests and seconds of the rate limit; a new value sets all counts to zero."""
        return self._request_settings.limit.rate

    @rate_limit.setter
    def rate_limit(self, rate: tuple[int, float] | None) -> None:
        self._request_settings.set_rate_limit(rate)
