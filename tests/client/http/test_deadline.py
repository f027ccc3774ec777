"""Deadlines: slow, broken and oversized responses end in one error."""

from __future__ import annotations

import itertools
import socket
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import errors
from support.canary import CANARY
from support.connections import serve_raw, stay_silent, transport_to, use_manual_timers
from support.exceptions import format_everything
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def drip(head: bytes, rest: bytes) -> Callable[..., None]:
    """Return a conversation that sends bytes one at a time, past the deadline."""

    def talk(connection: socket.socket, expire: Callable[[], None]) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
        for number in range(60):
            connection.sendall(rest[number % len(rest) :][:1])
            if number == 5:
                expire()

    return talk


DRIP = drip(b"Content-Length: 1000\r\n\r\n", b" ")


def send_rst(connection: socket.socket, _expire: Callable[[], None]) -> None:
    """Make the end of the conversation a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def send_nothing(_connection: socket.socket, _expire: Callable[[], None]) -> None:
    """End the conversation without a response."""


def flood(connection: socket.socket, _expire: Callable[[], None]) -> None:
    """Send a body that is larger than any documented page."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")
    for _ in range(200):
        connection.sendall(b" " * 65536)


@pytest.mark.parametrize(
    ("talk", "kind", "expires"),
    [
        (DRIP, errors.TransportError, True),
        (drip(b"X-Slow: ", b"y"), errors.TransportError, True),
        (drip(b"Transfer-Encoding: chunked\r\n\r\n5;x=", b"y"), errors.TransportError, True),
        (send_rst, errors.TransportError, False),
        (send_nothing, errors.TransportError, False),
        (flood, errors.ProtocolError, False),
    ],
)
def test_a_broken_conversation_ends_in_one_typed_error(
    monkeypatch: pytest.MonkeyPatch, talk: Callable[..., None], kind: type[Exception], *, expires: bool
) -> None:
    """The deadline ends a slow response although bytes keep coming; a reset, no response and a flood end at once."""
    timers = use_manual_timers(monkeypatch)
    with serve_raw(lambda connection: talk(connection, timers[-1].fire)) as base_url:
        transport, waits = transport_to(base_url, timeout=(10.0, 10.0), deadline=20.0)
        with pytest.raises(kind) as caught:
            transport.get("/me", {})
    assert len(timers) == len(waits) + 1
    assert timers[0].interval == 10.0
    assert all(timer.interval <= 10.0 for timer in timers)
    assert ("did not answer in time" in str(caught.value)) == expires
    assert CANARY not in format_everything(caught.value)


def test_each_attempt_has_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last attempts of a request get less than the timeout, so that the deadline bounds them all."""
    timers = use_manual_timers(monkeypatch)
    clock = itertools.count(step=1.0)
    with serve_raw(lambda connection: DRIP(connection, timers[-1].fire)) as base_url:
        transport, _waits = transport_to(base_url, timeout=(5.0, 5.0), deadline=8.0, monotonic=lambda: next(clock))
        with pytest.raises(errors.TransportError):
            transport.get("/me", {})
    intervals = [timer.interval for timer in timers]
    assert intervals[0] == 5.0
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[-1] < 5.0


def test_a_deadline_before_the_connection_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a slow name resolution uses up the time, the connection is closed before anything is sent."""
    timers = use_manual_timers(monkeypatch)
    resolve = socket.getaddrinfo

    def resolve_slowly(*arguments: object, **options: object) -> object:
        timers[-1].fire()
        return resolve(*arguments, **options)  # type: ignore[arg-type]

    received: list[bytes] = []
    with serve_raw(stay_silent, received) as base_url:
        monkeypatch.setattr(socket, "getaddrinfo", resolve_slowly)
        transport, _waits = transport_to(base_url, timeout=(10.0, 10.0), deadline=20.0)
        with pytest.raises(errors.TransportError, match="did not answer in time"):
            transport.get("/me", {})
        wait_until(lambda: len(received) == len(timers))
    assert set(received) == {b""}
