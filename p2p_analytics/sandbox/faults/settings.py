"""What can be set while a sandbox runs: how late it answers, how often one may ask, and which faults it has."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.faults.faults import Faults
from p2p_analytics.sandbox.faults.rate_limit import Rate, RateLimit

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_LATENCY: Final = 60  # a minute is more than any client waits


class Steering:
    """The settings that each request looks up; a new value holds from the next request on.

    Raises
    ------
    SettingError
        A value cannot be; the one before stays.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        faults: str = "",
        rate_limit: tuple[int, float] | None = None,
        seed: int = 0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._seed = seed
        self.latency = latency
        self.set_faults(faults)
        self.set_rate_limit(rate_limit)

    @property
    def latency(self) -> float:
        """Seconds that each answer waits."""
        return self._latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        if not 0 <= seconds <= _LONGEST_LATENCY:
            raise SettingError(f"latency is in seconds, from 0 to {_LONGEST_LATENCY}.")
        self._latency = seconds

    def set_faults(self, spec: str) -> None:
        """Have these faults, from their first on."""
        self.faults = Faults(spec, self._seed)

    def set_rate_limit(self, rate: tuple[int, float] | Rate | None) -> None:
        """Have this limit; nobody has asked anything yet."""
        self.limit = RateLimit(rate, self._monotonic)

    def begin_anew(self, seed: int) -> None:
        """Keep all settings, and forget what was used up of them."""
        self._seed = seed
        self.set_faults(self.faults.spec)
        self.set_rate_limit(self.limit.rate)


class Steerable:
    """Steering as attributes of whatever has it."""

    _steering: Steering

    @property
    def latency(self) -> float:
        """Seconds that each answer waits."""
        return self._steering.latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        self._steering.latency = seconds

    @property
    def faults(self) -> str:
        """The faults that requests meet; a new value begins with its first."""
        return self._steering.faults.spec

    @faults.setter
    def faults(self, spec: str) -> None:
        self._steering.set_faults(spec)

    @property
    def rate_limit(self) -> tuple[int, float] | None:
        """How many requests in how many seconds are served; with a new value everybody's count begins anew."""
        return self._steering.limit.rate

    @rate_limit.setter
    def rate_limit(self, rate: tuple[int, float] | None) -> None:
        self._steering.set_rate_limit(rate)
