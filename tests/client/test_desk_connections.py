"""Desk: connections that fail before, during and after a form is sent."""

from __future__ import annotations

import itertools
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3.util.connection

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client.http import adapter
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY
from support.exceptions import format_everything
from support.payment_book import LUNCH, PaymentBook, answer_without_effect, list_writes
from support.scripted import reset


@pytest.mark.fault("write")
def test_a_reset_before_the_form_was_read_is_an_unknown_outcome(open_desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sent form may have arrived, so the desk searches for the payment and does not send it again."""
    desk, _book, service, waits = open_desk(answer_without_effect(None))

    sent = threading.Event()
    read = adapter._Form.read

    def read_and_note_end(form: adapter._Form, size: int | None = -1) -> bytes:
        block = read(form, size)
        if not block:
            sent.set()
        return block

    monkeypatch.setattr(adapter._Form, "read", read_and_note_end)

    def unread(connection: socket.socket) -> None:
        assert sent.wait(20)
        reset(connection)

    service.unread = unread
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(**LUNCH)
    assert (list_writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], [5, 15, 45], [])
    assert CANARY not in format_everything(caught.value)


def fail_connections(monkeypatch: pytest.MonkeyPatch, book: PaymentBook, times: int, error: Exception) -> list[str]:
    """Make the first connections after the snapshot fail before anything is sent; return the list of failures."""
    connect = urllib3.util.connection.create_connection
    failed: list[str] = []
    snapshots: list[str] = []
    book.on_read = lambda: snapshots.append("snapshot")

    def connect_or_fail(*arguments: Any, **options: Any) -> socket.socket:
        if snapshots and len(failed) < times:
            failed.append("no connection")
            raise error
        return connect(*arguments, **options)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", connect_or_fail)
    return failed


@pytest.mark.fault("write")
@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("connect timed out")])
def test_without_a_connection_a_write_is_retried(open_desk, monkeypatch: pytest.MonkeyPatch, error) -> None:
    """After two failed connections, the third one sends the form once; five mean that nothing was sent."""
    desk, book, service, waits = open_desk(lambda book, fields: book.carry_out(fields))
    failed = fail_connections(monkeypatch, book, 2, error)
    assert desk.pay(**LUNCH).payment.id == "1"
    assert (len(failed), list_writes(service), waits) == (2, ["POST /v1/payments"], [])
    failed = fail_connections(monkeypatch, book, 9, error)
    with pytest.raises(errors.TransportError) as caught:
        desk.pay(**LUNCH)
    assert (len(failed), list_writes(service), waits) == (5, ["POST /v1/payments"], [])
    assert CANARY not in format_everything(caught.value)


@pytest.mark.fault("write")
def test_an_error_before_the_form_is_read_is_final(open_desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without headers nothing can have been carried out; it is not a connection error, so the desk does not retry."""
    desk, book, service, waits = open_desk(lambda book, fields: book.carry_out(fields))
    attempts: list[int] = []

    def endheaders(*_arguments: object, **_options: object) -> None:
        attempts.append(1)
        raise ConnectionResetError("reset")

    reads = itertools.count(1)  # the snapshot, and its confirmation
    connection = urllib3.connection.HTTPConnection
    book.on_read = lambda: next(reads) == 2 and monkeypatch.setattr(connection, "endheaders", endheaders)
    with pytest.raises(errors.TransportError):
        desk.pay(**LUNCH)
    assert (len(attempts), list_writes(service), waits) == (1, [], [])


def test_a_failed_handshake_is_final() -> None:
    """Without a TLS connection nothing was sent: one attempt, and no unknown outcome."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(5)

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        talking = pool.submit(talk)
        base_url = f"https://127.0.0.1:{server.getsockname()[1]}/v1"
        transport = Transport(base_url, AccessToken(CANARY), timeout=(1, 1), sleep=lambda _seconds: None)
        with pytest.raises(errors.TransportError) as caught:
            transport.write("POST", "/payments", {"note": "lunch"})
        talking.result(5)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    transport.close()
    assert CANARY not in format_everything(caught.value)


def test_the_token_is_a_field_of_the_form_and_not_in_the_url(open_desk) -> None:
    """The body is form-encoded (document: "Endpoints")."""
    desk, _book, service, _waits = open_desk(lambda book, fields: book.carry_out(fields))
    desk.pay(user_id="8", amount="0.10", note="a&b=c + 🍜\naccess_token=x", audience="friends")
    assert service.asked[-1] == (
        "POST /v1/payments",
        {"user_id": "8", "note": "a&b=c + 🍜\naccess_token=x", "amount": "0.10", "audience": "friends",
         "access_token": CANARY},
    )  # fmt: skip
    assert service.headers[-1]["Content-Type"] == "application/x-www-form-urlencoded"
    assert not {"Authorization", "Cookie", "Transfer-Encoding"} & service.headers[-1].keys()


@pytest.mark.fault("write")
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(open_desk, start_service, status: int) -> None:
    """Following a 307 would send the form and its token to another host."""
    foreign = start_service(lambda _path, _fields: {})
    address = {"Location": f"{foreign.base_url}/payments"}
    desk, _book, service, _waits = open_desk(answer_without_effect((status, address, b"")))
    with pytest.raises(errors.OutcomeUnknownError):
        desk.pay(**LUNCH)
    assert (list_writes(service), foreign.asked) == (["POST /v1/payments"], [])
