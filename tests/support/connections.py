"""Raw connections on loopback, clients that do not sleep, and a timer that a test fires."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from p2p_analytics.auth import AccessToken
from p2p_analytics.client import Client
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY

_STUCK_SECONDS = 30.0


@contextmanager
def serve_raw(talk: Callable[[socket.socket], object], received: list[bytes] | None = None) -> Iterator[str]:
    """Call a function with each connection after its first request; yield the base URL."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                request = connection.recv(4096)
                if received is not None:
                    received.append(request)
                talk(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def stay_silent(connection: socket.socket) -> bool:
    """Send nothing until the client closes the connection; return whether it does."""
    connection.settimeout(30.0)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:  # a reset closes it too
        pass
    return True


def drip_body(connection: socket.socket) -> None:
    """Send a response one byte at a time until the client closes the connection."""
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not select.select([connection], [], [], 0.05)[0]:
            connection.sendall(b" ")


def use_manual_timers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Make requests use timers that only a test fires for their deadlines; return the list of started timers."""
    timers: list[Any] = []

    class ManualTimer:
        daemon = False

        def __init__(self, interval: float, function: Callable[[], None]) -> None:
            self.interval, self.fire = interval, function

        def start(self) -> None:
            timers.append(self)

        def cancel(self) -> None:
            pass

    monkeypatch.setattr("p2p_analytics.client.http.deadline.threading.Timer", ManualTimer)
    return timers


def transport_to(base_url: str, **options: object) -> tuple[Transport, list[float]]:
    """Return a transport that records its waits instead of sleeping, and the list of waits."""
    waits: list[float] = []
    settings = {"timeout": (1.0, 1.0), "sleep": waits.append, "jitter": lambda: 0.5} | options
    return Transport(base_url, AccessToken(CANARY), **settings), waits  # type: ignore[arg-type]


def client_to(base_url: str, sleep: Callable[[float], object] = lambda _seconds: None, **options: Any) -> Client:
    """Return a client, by default without a cache, that calls a function instead of sleeping between retries."""
    client = Client(CANARY, base_url=base_url, **({"cache_dir": False} | options))
    client._transport._sleep = sleep
    return client
