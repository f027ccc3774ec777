"""Requests go through side by side; who changes the ground under them waits until none is inside, and lets none in."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Final

from p2p_analytics.sandbox.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_LONGEST_WAIT: Final = 30.0
_BUSY: Final = "The sandbox is stopping or busy, so nothing was changed; try again."


class Turnstile:
    """Between requests, which are coroutines of one event loop, and threads that need to be alone."""

    def __init__(self) -> None:
        self._inside = 0
        self._held = 0
        self._empty = asyncio.Event()
        self._open = asyncio.Event()
        self._empty.set()
        self._open.set()
        self._one_at_a_time = threading.Lock()

    @contextlib.asynccontextmanager
    async def inside(self) -> AsyncIterator[None]:
        """Be one of those who go through; who is in here waits for nobody's network, or the door would never open."""
        while not self._open.is_set():
            await self._open.wait()
        self._inside += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._empty.set()

    @contextlib.contextmanager
    def alone(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Be alone, in another thread than that of the requests' loop; who comes meanwhile waits.

        Raises
        ------
        SettingError
            The loop stands still, or a request does not end.
        """
        with self._one_at_a_time:
            if loop.is_closed():
                raise SettingError(_BUSY)
            empty: Future[None] = Future()
            holding = asyncio.run_coroutine_threadsafe(self._hold(empty), loop)
            try:
                empty.result(_LONGEST_WAIT)
            except (TimeoutError, CancelledError):
                holding.cancel()
                raise SettingError(_BUSY) from None
            try:
                yield
            finally:
                holding.cancel()

    async def _hold(self, empty: Future[None]) -> None:
        """Let nobody in until this is cancelled, and tell when nobody is inside."""
        self._held += 1  # who gave up while the loop stood still holds it too, for a moment
        self._open.clear()
        try:
            await self._empty.wait()
            empty.set_result(None)
            await asyncio.Event().wait()
        finally:
            empty.cancel()
            self._held -= 1
            if not self._held:
                self._open.set()
