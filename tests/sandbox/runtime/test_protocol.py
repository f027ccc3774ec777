"""Connections: unfinished requests are cut off, complete ones are not."""

import contextlib
import http.client
import select
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.faults.settings import Timing
from support.servers import sandbox_fixture

HEAD = b"POST /v1/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


own = sandbox_fixture(people=3, years=1, timing=Timing(request=0.2))


def _connect(server: SandboxServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port), timeout=10)


WHOLE = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /v1/me", HEAD[:-2], HEAD + b'{"note"', WHOLE + HEAD + b'{"note"'],
    ids=["none", "line", "head", "body", "behind another"],
)
def test_an_unfinished_request_ends(own, begun: bytes) -> None:
    """Nothing, half a head or half a body ends without a response, behind a whole request after the response to it."""
    with _connect(own) as connection:
        connection.sendall(begun)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1_000):
                received += part
    assert received.count(b"HTTP/1.1 ") == begun.startswith(WHOLE)


def test_drops_do_not_keep_a_connection(own) -> None:
    """Further bytes do not extend the limit: a slow head is cut off, and so are fifty connections at once."""
    connections = [_connect(own) for _ in range(50)]
    try:
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):  # noqa: PT012 - any of the bytes may be the last
            for byte in HEAD[:-2] * 10:
                connections[0].sendall(bytes([byte]))
                select.select([connections[0]], [], [], 0.02)  # until the server closes, or the next byte
        for connection in connections[1:]:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert requests.get(f"{own.base_url}/me", timeout=5).status_code == 401
    finally:
        for connection in connections:
            connection.close()


def test_whole_requests_keep_their_connection(own) -> None:
    """A connection with complete requests outlives the limit, between requests and during a slow response."""
    own.latency = 0.3
    connection = http.client.HTTPConnection(urlsplit(own.base_url).netloc, timeout=5)
    connection.connect()
    opened = connection.sock
    for _ in range(3):
        connection.request("GET", "/v1/me")
        assert connection.getresponse().read().startswith(b'{"error"')
        time.sleep(0.25)
    assert connection.sock is opened
    connection.close()
    own.latency = 0


def test_an_idle_connection_waits_for_no_reset(own) -> None:
    """An unfinished request does not block a reset, which needs exclusive access."""
    with _connect(own) as connection:
        connection.sendall(HEAD)
        done = threading.Thread(target=own.reset)
        done.start()
        done.join(10)
        assert not done.is_alive()
