"""Deadlines: slow responses end in one error, and all attempts of a request share the time."""

import itertools
import socket
from collections.abc import Callable

import pytest

from p2p_analytics import errors
from support.canary import CANARY
from support.connections import serve_raw, stay_silent, transport_to, use_manual_timers
from support.exceptions import format_everything
from support.waiting import wait_until


@pytest.mark.parametrize(
    ("head", "rest"),
    [(b"Content-Length: 1000\r\n\r\n", b" "), (b"X-Slow: ", b"y"), (b"Transfer-Encoding: chunked\r\n\r\n5;x=", b"y")],
    ids=["body", "headers", "chunk"],
)
def test_the_deadline_ends_a_response_although_bytes_keep_coming(monkeypatch, head: bytes, rest: bytes) -> None:
    """Each attempt gets the timeout of the client; a service that sends byte after byte ends in one typed error."""
    timers = use_manual_timers(monkeypatch)

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
        for number in range(60):
            connection.sendall(rest)
            if number == 5:
                timers[-1].fire()

    with serve_raw(drip) as base_url:
        transport, waits = transport_to(base_url, timeout=(10.0, 10.0), deadline=20.0)
        with pytest.raises(errors.TransportError, match="did not answer in time") as caught:
            transport.get("/me", {})
    assert (len(timers), timers[0].interval) == (len(waits) + 1, 10.0)
    assert all(timer.interval <= 10.0 for timer in timers)
    assert CANARY not in format_everything(caught.value)


def test_each_attempt_has_the_time_that_is_left(start_service, monkeypatch) -> None:
    """With five seconds for an attempt and eight for all; a wait beyond the deadline does not begin."""
    timers, clock = use_manual_timers(monkeypatch), itertools.count(step=1.0)
    service = start_service(lambda *_: (500, {}, b""))
    transport, waits = transport_to(service.base_url, timeout=(5.0, 5.0), deadline=8.0, monotonic=lambda: next(clock))
    with pytest.raises(errors.ServerError):
        transport.get("/me", {})
    assert [timer.interval for timer in timers] == [5.0, 5.0, 3.0, 1.0]
    assert (len(service.asked), waits) == (4, [0.375, 0.75, 1.5])


def test_a_deadline_before_the_connection_counts_too(monkeypatch) -> None:
    """If a slow name resolution uses up the time, the connection is closed before anything is sent."""
    timers = use_manual_timers(monkeypatch)
    resolve: Callable[..., object] = socket.getaddrinfo

    def resolve_slowly(*arguments: object, **options: object) -> object:
        timers[-1].fire()
        return resolve(*arguments, **options)

    received: list[bytes] = []
    with serve_raw(stay_silent, received) as base_url:
        monkeypatch.setattr(socket, "getaddrinfo", resolve_slowly)
        transport, _ = transport_to(base_url, timeout=(10.0, 10.0), deadline=20.0)
        with pytest.raises(errors.TransportError, match="did not answer in time"):
            transport.get("/me", {})
        wait_until(lambda: len(received) == len(timers))
    assert set(received) == {b""}
