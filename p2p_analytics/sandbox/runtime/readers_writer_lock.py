"""Readers-writer lock: requests share it, a reset takes it exclusively."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, Future
from typing import Final

from p2p_analytics.sandbox.errors import SettingError

_BUSY: Final = "The sandbox is stopping or busy, so nothing was changed; try again."


class ReadersWriterLock:
    """Lock between readers, which are coroutines of one event loop, and writers, which are other threads.

    Parameters
    ----------
    longest_wait : float
        Seconds that a writer waits for the readers.
    """

    def __init__(self, longest_wait: float) -> None:
        self._longest_wait = longest_wait
        self._readers = 0
        self._writers = 0  # the writer that holds the lock, and writers that gave up but are not cancelled yet
        self._no_readers = asyncio.Event()
        self._no_writers = asyncio.Event()
        self._no_readers.set()
        self._no_writers.set()
        self._one_writer = threading.Lock()

    @contextlib.asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock as one of many readers; a reader must not wait for the network, or a writer waits too."""
        while not self._no_writers.is_set():
            await self._no_writers.wait()
        self._readers += 1
        self._no_readers.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._no_readers.set()

    @contextlib.contextmanager
    def exclusive(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Hold the lock alone, from a thread other than the one that runs `loop`; new readers wait.

        Raises
        ------
        SettingError
            The loop is closed or blocked, or a reader does not finish.
        """
        with self._one_writer:
            if loop.is_closed():
                raise SettingError(_BUSY)
            acquired: Future[None] = Future()
            holding = asyncio.run_coroutine_threadsafe(self._hold(acquired), loop)
            try:
                acquired.result(self._longest_wait)
            except (TimeoutError, CancelledError):
                holding.cancel()
                raise SettingError(_BUSY) from None
            try:
                yield
            finally:
                holding.cancel()

    async def _hold(self, acquired: Future[None]) -> None:
        """Keep readers out until this task is cancelled; set `acquired` when the last reader has left."""
        self._writers += 1
        self._no_writers.clear()
        try:
            await self._no_readers.wait()
            acquired.set_result(None)
            await asyncio.Event().wait()
        finally:
            acquired.cancel()
            self._writers -= 1
            if not self._writers:
                self._no_writers.set()
