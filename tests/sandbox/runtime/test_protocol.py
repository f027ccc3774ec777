"""Connections: unfinished requests are cut off, complete ones are not, and broken bodies log nothing."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.runtime.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = b"POST /v1/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def own() -> Iterator[SandboxServer]:
    """Run a sandbox that waits a fifth of a second for a whole request."""
    with pytest.MonkeyPatch.context() as patch, SandboxServer(people=3, years=1) as running:
        patch.setattr(Protocol, "patience", 0.2)
        yield running


def connect(server: SandboxServer) -> socket.socket:
    """Open a connection."""
    return socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port), timeout=10)


@pytest.mark.parametrize(
    "begun", [b"", b"GET /v1/me", HEAD[:-2], HEAD + b'{"note"'], ids=["none", "line", "head", "body"]
)
def test_an_unfinished_request_ends(own: SandboxServer, begun: bytes) -> None:
    """A connection with no request, half a head or half a body is closed without a response."""
    with connect(own) as connection:
        connection.sendall(begun)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""


def test_an_unfinished_request_behind_another_ends(own: SandboxServer) -> None:
    """Half a request behind a complete one does not extend the limit: one response, then the end."""
    with connect(own) as connection:
        connection.sendall(b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD + b'{"note"')
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1_000):
                received += part
        assert received.count(b"HTTP/1.1 ") == 1


def test_drops_do_not_keep_a_connection(own: SandboxServer) -> None:
    """Further bytes do not extend the limit: a slow head is cut off, and so are fifty connections at once."""
    connections = [connect(own) for _ in range(50)]
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


def test_whole_requests_keep_their_connection(own: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection with complete requests outlives the limit, between requests and during a slow response."""
    monkeypatch.setattr(own, "latency", 0.3)
    connection = http.client.HTTPConnection(urlsplit(own.base_url).netloc, timeout=5)
    connection.connect()
    opened = connection.sock
    for _ in range(3):
        connection.request("GET", "/v1/me")
        assert connection.getresponse().read().startswith(b'{"error"')
        time.sleep(0.25)
    assert connection.sock is opened
    connection.close()


def test_an_idle_connection_waits_for_no_reset(own: SandboxServer) -> None:
    """An unfinished request does not block a reset, which needs exclusive access."""
    with connect(own) as connection:
        connection.sendall(HEAD)
        done = threading.Thread(target=own.reset)
        done.start()
        done.join(10)
        assert not done.is_alive()


@pytest.mark.parametrize("path", ["/payments", "/oauth/access_token", "/oauth/sign-in", "/account/sign-in"])
def test_broken_bodies_are_silent(default_server: SandboxServer, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """Every invalid multipart body or form is refused with 400, and nothing is logged."""
    token = default_server.token(default_server.viewer, "make_payments")
    for kind, body in (
        ("multipart/form-data; boundary=x", b"--y\r\n\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition form-data\r\n\r\nv"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nv\r\n--x--junk\xff',
        ),
        ("multipart/form-data", b"x"),
        ("application/x-www-form-urlencoded", b"username=\xff&ticket=\xfe"),
        ("application/x-www-form-urlencoded", b"username=%FF&ticket=%ED%A0%80"),
        ("application/x-www-form-urlencoded", b"a=1&" * 200),
    ):
        url = f"{default_server.base_url}{path}?access_token={token}"
        answer = requests.post(url, data=body, headers={"Content-Type": kind, "Accept": "text/html"}, timeout=5)
        assert answer.status_code == 400, (kind, body, answer.text)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("python_multipart")] == []
