"""Time limits that hold: a service that drips bytes resets every timeout of a socket, for ever.

While a request is under way a timer stands ready to shut its connection. And a way to end what several
threads are doing, at once.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import requests
import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Watch:
    """Shuts the connection of one request when its time is over: a drip of bytes never times out by itself."""

    def __init__(self) -> None:
        self.connection: urllib3.connection.HTTPConnection | None = None
        self.barked = False

    def bark(self) -> None:
        self.barked = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


_underway = threading.local()


class Stop:
    """Called, it ends the requests and the waits of the threads that hold it, and what they would begin later."""

    def __init__(self) -> None:
        self._called = threading.Event()
        self._watches: set[_Watch] = set()

    def hold(self) -> None:
        """Let this thread be stopped."""
        _underway.stop = self

    def __call__(self) -> None:
        """Stop the threads."""
        self._called.set()
        for watch in self._watches.copy():
            watch.bark()

    @contextlib.contextmanager
    def over(self, watch: _Watch) -> Iterator[None]:
        """Let a request be ended."""
        self._watches.add(watch)
        try:
            if self._called.is_set():
                watch.bark()
            yield
        finally:
            self._watches.discard(watch)

    def sleep(self, seconds: float) -> None:
        """Wait, or less where all is to end."""
        self._called.wait(seconds)

    @property
    def called(self) -> bool:
        """Whether all is to end."""
        return self._called.is_set()


def stopped() -> bool:
    """Tell whether this thread is to end what it does."""
    stop: Stop | None = getattr(_underway, "stop", None)
    return stop is not None and stop.called


def sleep(seconds: float) -> None:
    """Wait, unless this thread is to end what it does."""
    stop: Stop | None = getattr(_underway, "stop", None)
    (time.sleep if stop is None else stop.sleep)(seconds)


@contextlib.contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """Bound everything within the block: headers, framing and body."""
    _underway.watch = watch = _Watch()
    stop: Stop | None = getattr(_underway, "stop", None)
    timer = threading.Timer(seconds, watch.bark)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # the process has too many threads; nothing was sent
        _underway.watch = None
        raise OSError(errno.EAGAIN, "no thread can be started") from None
    try:
        with contextlib.nullcontext() if stop is None else stop.over(watch):
            yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        if not watch.barked:
            raise
    finally:
        timer.cancel()
        _underway.watch = None
    if watch.barked:
        raise requests.exceptions.ReadTimeout


class _Watched:
    """A connection that tells the watchdog of its thread when it is made and when it is used."""

    debuglevel = 0  # http.client.HTTPConnection.debuglevel would print each request, with the token

    def connect(self) -> None:
        """Connect, unless the time was over before there was anything to shut."""
        watch = _underway.watch
        watch.connection = self
        super().connect()  # type: ignore[misc]
        if watch.barked:
            self.close()  # type: ignore[attr-defined]
            raise TimeoutError

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's own
        watch = _underway.watch
        watch.connection = self
        if watch.barked:
            self.close()  # type: ignore[attr-defined]
            raise TimeoutError
        super().request(*args, **kwargs)  # type: ignore[misc]


class _WatchedHTTP(_Watched, urllib3.connection.HTTPConnection):
    """Plain, for loopback."""


class _WatchedHTTPS(_Watched, urllib3.connection.HTTPSConnection):
    """Inside TLS."""


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS


WATCHED_POOLS: Final = {"http": _HTTPPool, "https": _HTTPSPool}
