"""Deadlines for whole responses, and cancellation of the requests of several threads.

A socket timeout restarts with every byte, so a service that sends one byte at a time never times out. Instead, a timer
shuts the connection of a request at its deadline.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import requests
import urllib3


class _Deadline:
    """Deadline of one request; expiry shuts its connection."""

    def __init__(self) -> None:
        self.connection: urllib3.connection.HTTPConnection | None = None
        self.expired = False

    def expire(self) -> None:
        self.expired = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


_current = threading.local()


class Cancellation:
    """Cancels the running and future requests and waits of the threads that are bound to it."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.deadlines: set[_Deadline] = set()

    def bind_thread(self) -> None:
        """Make the calling thread cancellable."""
        _current.cancellation = self

    def cancel(self) -> None:
        """Cancel the bound threads."""
        self.event.set()
        for deadline in self.deadlines.copy():
            deadline.expire()


def is_cancelled() -> bool:
    """Return whether the calling thread is cancelled."""
    cancellation: Cancellation | None = getattr(_current, "cancellation", None)
    return cancellation is not None and cancellation.event.is_set()


def sleep_unless_cancelled(seconds: float) -> None:
    """Sleep until the time is over or the calling thread is cancelled."""
    cancellation: Cancellation | None = getattr(_current, "cancellation", None)
    (time.sleep if cancellation is None else cancellation.event.wait)(seconds)


@contextlib.contextmanager
def enforce_deadline(seconds: float) -> Iterator[None]:
    """Raise a requests.exceptions.ReadTimeout if the block, with headers, framing and body, takes longer."""
    _current.deadline = deadline = _Deadline()
    cancellation: Cancellation = getattr(_current, "cancellation", None) or Cancellation()
    timer = threading.Timer(seconds, deadline.expire)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # the process has too many threads; nothing was sent
        _current.deadline = None
        raise OSError(errno.EAGAIN, "no thread can be started") from None
    cancellation.deadlines.add(deadline)
    try:
        if cancellation.event.is_set():
            deadline.expire()
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        if not deadline.expired:
            raise
    finally:
        cancellation.deadlines.discard(deadline)
        timer.cancel()
        _current.deadline = None
    if deadline.expired:
        raise requests.exceptions.ReadTimeout


class _DeadlineMixin:
    """Connection that registers with the deadline of its thread, on connecting and on every request."""

    debuglevel = 0  # http.client.HTTPConnection.debuglevel would print each request, with the token

    def connect(self) -> None:
        """Connect; close the connection if the deadline expired before there was a socket to shut."""
        self._register()
        super().connect()  # type: ignore[misc]
        self._register()

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's own
        self._register()
        super().request(*args, **kwargs)  # type: ignore[misc]

    def _register(self) -> None:
        deadline = _current.deadline
        deadline.connection = self
        if deadline.expired:
            self.close()  # type: ignore[attr-defined]
            raise TimeoutError


class _HTTPConnection(_DeadlineMixin, urllib3.connection.HTTPConnection):
    """Plain connection, for loopback."""


class _HTTPSConnection(_DeadlineMixin, urllib3.connection.HTTPSConnection):
    """Connection with TLS."""


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


DEADLINE_POOLS: Final = {"http": _HTTPPool, "https": _HTTPSPool}
