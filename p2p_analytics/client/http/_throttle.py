"""Throttle for all connections of a client: after the service asks to slow down, requests run one at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

SLOW_SECONDS: Final = 60.0


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
