"""Desk: pay and charge are sent at most once, and the reported outcome is true."""

import itertools
import logging
import socket
from typing import Any

import pytest
import urllib3

from p2p_analytics import errors
from p2p_analytics.records import Receipt
from support.canary import CANARY
from support.connections import drip_body, serve_raw, transport_to
from support.exceptions import format_everything
from support.payment_book import (
    ENVELOPE,
    HTML,
    LUNCH,
    PAGE,
    SCOPE,
    STATE,
    PaymentBook,
    answer_without_effect,
    carry_out_late,
    carry_out_then_answer,
    carry_out_twice,
    list_writes,
    truncate,
)
from support.scripted import hang_up, reset

UNKNOWN, WAITS = errors.OutcomeUnknownError, [5, 15, 45]
CREATED = {
    "good response": (lambda book, fields: book.carry_out(fields), Receipt, []),
    "status failed": (lambda book, fields: book.carry_out(fields, status="failed"), Receipt, []),
    "reset, carried out": (carry_out_then_answer(reset), Receipt, [5]),
    "reset, not carried out": (answer_without_effect(reset), UNKNOWN, WAITS),
    "no response, carried out": (carry_out_then_answer(hang_up), Receipt, [5]),
    "truncated response": (truncate, Receipt, [5]),
    "slow drip, carried out": (carry_out_then_answer(drip_body), Receipt, [5]),
    "500 with envelope, not carried out": (answer_without_effect((500, {}, ENVELOPE)), UNKNOWN, WAITS),
    "503 with Retry-After": (answer_without_effect((503, {"Retry-After": "0"}, ENVELOPE)), UNKNOWN, WAITS),
    "HTML with 200, carried out": (carry_out_then_answer(HTML), Receipt, [5]),
    "an empty response": (carry_out_then_answer((204, {}, b"")), Receipt, [5]),
    "JSON of another form": (carry_out_then_answer({"data": {"payment": []}}), Receipt, [5]),
    "an older payment": (lambda book, _fields: {"data": {"balance": 1, "payment": book.items[0]}}, UNKNOWN, WAITS),
    "a gateway's 404 page": (carry_out_then_answer(PAGE), Receipt, [5]),
    "401": (answer_without_effect((401, {}, ENVELOPE)), errors.AuthenticationError, []),
    "403": (answer_without_effect((403, {}, SCOPE)), errors.ScopeError, []),
    "409": (answer_without_effect((409, {}, STATE)), errors.InvalidRequestError, []),
    "429": (answer_without_effect((429, {"Retry-After": "0"}, ENVELOPE)), errors.RateLimitedError, []),
    "carried out at +15": (carry_out_late(15), Receipt, [5, 15]),
    "carried out at +40": (carry_out_late(40), Receipt, WAITS),
    "carried out after the last search": (carry_out_late(66), UNKNOWN, WAITS),
    "two candidates": (carry_out_twice, UNKNOWN, [5]),
}


@pytest.mark.fault("write")
@pytest.mark.parametrize("case", CREATED)
def test_a_create_is_sent_once_and_its_outcome_is_true(open_desk, caplog, case: str) -> None:
    """The desk sends one request, and returns a receipt if it was carried out; no text holds the token.

    An equal payment from just before is not mistaken for the outcome.
    """
    action, (fault, kind, waited) = ("pay", "charge")[list(CREATED).index(case) % 2], CREATED[case]
    caplog.set_level(logging.DEBUG)
    desk, book, service, waits = open_desk(fault)
    sent = {"note": "lunch", "amount": "12.30" if action == "pay" else "-12.30"}
    book.carry_out(sent)
    if kind is Receipt:
        receipt = getattr(desk, action)(**LUNCH)
        assert (receipt.payment.id, receipt.payment.amount_cents) == ("2", 1230 if action == "pay" else -1230)
        assert (receipt.reconciled, receipt.balance_cents) == ((True, None) if waited else (False, 3770))
        text = repr(receipt) + repr(desk)
    else:
        with pytest.raises(errors.ServiceError) as caught:
            getattr(desk, action)(**LUNCH)
        assert type(caught.value) is kind
        if kind is errors.OutcomeUnknownError:
            found = [payment.id for payment in caught.value.candidates]
            assert found == (["3", "2"] if fault is carry_out_twice else [])
        text = format_everything(caught.value)
    assert list_writes(service) == ["POST /v1/payments"]
    assert service.asked[2][1] == {"access_token": CANARY, "user_id": "8"} | sent
    assert waits == waited
    searching = "searching for its outcome for up to 65 seconds: do not send it again."
    assert caplog.messages.count(f"The response to this {action} was lost; {searching}") == bool(waited)
    assert CANARY not in text
    assert "urllib3" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.fault("write")
def test_an_outcome_that_cannot_be_read_is_unknown(open_desk) -> None:
    """The desk searches three times, and the error says that the payments could not be read; else it finds them."""

    def fault(book: PaymentBook, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        book.unreadable = True
        return hang_up

    def read_again() -> None:
        book.unreadable = len(waits) < 5

    desk, book, service, waits = open_desk(fault, on_wait=read_again)
    with pytest.raises(errors.OutcomeUnknownError, match="could not be read") as caught:
        desk.pay(**LUNCH)
    assert (list_writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], WAITS, [])
    book.unreadable = False
    assert desk.pay(**LUNCH).reconciled
    assert waits[3:] == [5, 15]


def test_an_old_payment_beyond_the_newest_page_is_not_a_candidate(open_desk) -> None:
    """The oldest of 59 payments equals the lost one, and moves onto the first page when newer ones are deleted."""
    desk, book, _service, waits = open_desk(
        answer_without_effect(hang_up), on_wait=lambda: book.items.__delitem__(slice(20))
    )
    book.carry_out({"note": "lunch", "amount": "12.30"})
    for _ in range(58):
        book.carry_out({"note": "other", "amount": "1.00"})
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(**LUNCH)
    assert (caught.value.candidates, waits) == ([], WAITS)


def test_the_outcome_is_found_behind_a_page_of_newer_payments(open_desk) -> None:
    """More than fifty new payments: the search continues until it reaches a known one."""

    def fault(book: PaymentBook, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        for _ in range(55):
            book.carry_out({"note": "other", "amount": "1.00"})
        return hang_up

    desk, book, _service, _waits = open_desk(fault)
    book.carry_out({"note": "lunch", "amount": "12.30"})
    assert desk.pay(**LUNCH).payment.id == "2"


# ---- connections that fail before, during and after a form is sent


@pytest.mark.fault("write")
def test_a_reset_before_the_form_was_read_is_an_unknown_outcome(open_desk) -> None:
    """A sent form may have arrived, so the desk searches for the payment and does not send it again."""
    desk, _book, service, waits = open_desk(answer_without_effect(None))
    service.unread = reset
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(**LUNCH)
    assert (list_writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], WAITS, [])
    assert CANARY not in format_everything(caught.value)


@pytest.mark.fault("write")
@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("connect timed out")])
def test_without_a_connection_a_write_is_retried(open_desk, monkeypatch, error: Exception) -> None:
    """After two failed connections, the third one sends the form once; five mean that nothing was sent."""
    desk, book, service, waits = open_desk(lambda book, fields: book.carry_out(fields))
    connect, failed, left = urllib3.util.connection.create_connection, [], {"failures": 0}

    def connect_or_fail(*arguments: Any, **options: Any) -> socket.socket:
        if left["failures"] == 0:
            return connect(*arguments, **options)
        left["failures"] -= 1
        failed.append("no connection")
        raise error

    monkeypatch.setattr(urllib3.util.connection, "create_connection", connect_or_fail)
    book.on_read = lambda: left.update(failures=2)  # after the snapshot
    assert desk.pay(**LUNCH).payment.id == "1"
    assert (len(failed), list_writes(service), waits) == (2, ["POST /v1/payments"], [])
    book.on_read = lambda: left.update(failures=9)
    with pytest.raises(errors.TransportError) as caught:
        desk.pay(**LUNCH)
    assert (len(failed), list_writes(service), waits) == (2 + 5, ["POST /v1/payments"], [])
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
    received: list[bytes] = []
    with serve_raw(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), received) as base_url:
        transport, waits = transport_to(base_url.replace("http:", "https:"))
        with pytest.raises(errors.TransportError) as caught:
            transport.write("POST", "/payments", {"note": "lunch"})
    transport.close()
    assert (len(received), waits) == (1, [])
    assert CANARY not in format_everything(caught.value)


def test_the_token_is_a_field_of_the_form_and_not_in_the_url(open_desk) -> None:
    """The body is form-encoded (document: "Endpoints")."""
    desk, _book, service, _waits = open_desk(lambda book, fields: book.carry_out(fields))
    sent = {"user_id": "8", "note": "a&b=c + 🍜\naccess_token=x", "amount": "0.10", "audience": "friends"}
    desk.pay(**sent)
    assert service.asked[-1] == ("POST /v1/payments", sent | {"access_token": CANARY})
    assert service.headers[-1]["Content-Type"] == "application/x-www-form-urlencoded"
    assert not {"Authorization", "Cookie", "Transfer-Encoding"} & service.headers[-1].keys()


@pytest.mark.fault("write")
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(open_desk, start_service, status: int) -> None:
    """Following a 307 would send the form and its token to another host."""
    foreign = start_service(lambda *_: {})
    address = {"Location": f"{foreign.base_url}/payments"}
    desk, _book, service, _waits = open_desk(answer_without_effect((status, address, b"")))
    with pytest.raises(errors.OutcomeUnknownError):
        desk.pay(**LUNCH)
    assert (list_writes(service), foreign.asked) == (["POST /v1/payments"], [])
