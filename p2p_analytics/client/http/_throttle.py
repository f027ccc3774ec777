"""One gate for all connections of a client: where the service asks to slow down, they pass one at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

SLOW_SECONDS: Final = 60.0


class Gate:
    """Open, until the service asks to slow down; then each request waits for the one before to be answered.

    So the wait that one was asked for holds up all, and none is refused more often than if it were alone.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._single_file = threading.Lock()
        self._slow_until = float("-inf")

    def slow_down(self) -> None:
        """Let requests pass one at a time for the next minute."""
        self._slow_until = self._monotonic() + SLOW_SECONDS

    def enter(self, turn: ExitStack) -> bool:
        """Wait for one's turn, where there are turns, and tell whether one has it until the stack is left."""
        if self._monotonic() >= self._slow_until:
            return False
        turn.enter_context(self._single_file)
        return True
