"""Writes over real sockets: each sent at most once, each with a true outcome, whatever happens to the answer."""

from __future__ import annotations

import json
import logging
import socket
import struct
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import urllib3.util.connection

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client import Client
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.client.http.transport import Transport
from p2p_analytics.records import Payment, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = "CANARY-7d2a"
ME, FRIEND = {"id": "7", "display_name": "Me"}, {"id": "8", "display_name": "Friend"}
ENVELOPE = {"error": {"message": f"No. access_token={CANARY}", "code": "1"}}
LUNCH = {"user_id": "8", "amount": "12.30", "note": "lunch"}
SCOPE, STATE, LARGE = ({"error": {"message": "No.", "code": code}} for code in ("260", "409", "1357"))


class Book:
    """A service with a book of payments; ``fault`` decides what becomes of each write and of its answer."""

    def __init__(self, fault: Callable[[Book, dict[str, str]], Any]) -> None:
        self.fault = fault
        self.now = 0.0
        self.items: list[dict[str, Any]] = []
        self.visible_from: dict[str, float] = {}
        self.unreadable = False
        self.started: Callable[[], None] = lambda: None

    def __call__(self, path: str, fields: dict[str, str]) -> Any:
        """Answer one request."""
        if path.startswith(("POST ", "PUT ")):
            return self.fault(self, fields)
        if path == "/v1/me":
            return {"data": {"balance": 50, "user": ME}}
        if self.unreadable:
            return 500, {}, b""
        shown = [item for item in self.items if self.visible_from.get(item["id"], 0) <= self.now]
        self.started()
        if path == "/v1/payments":
            shown = [item for item in shown if item["date_created"] < fields.get("before", "9")]
            return {"data": shown[:50], "pagination": {"next": "?before=x" if len(shown) > 50 else None}}
        return {"data": next(item for item in shown if path.endswith(f"/{item['id']}"))}

    def carry_out(self, fields: dict[str, str], *, after: float = 0.0, **changed: object) -> dict[str, Any]:
        """Write a payment into the book, to be seen ``after`` so many seconds, and return the right answer."""
        number = len(self.items) + 1
        cents = fields["amount"]
        item = {
            "id": str(number), "status": "settled", "action": "charge" if cents.startswith("-") else "pay",
            "amount": float(cents), "note": fields["note"], "actor": ME, "audience": "private",
            "target": {"type": "user", "email": None, "phone": None, "user": FRIEND},
            "date_created": f"2024-05-01T12:00:{number:02}.500000", "date_completed": None,
        } | changed  # fmt: skip
        self.items.insert(0, item)
        self.visible_from[item["id"]] = self.now + after
        return {"data": {"balance": 37.7, "payment": item | {"fee": None, "refund": None, "medium": "api"}}}

    def resolve(self, status: str) -> dict[str, Any]:
        """Give the newest payment a status, and return the right answer."""
        self.items[0] = self.items[0] | {"status": status}
        return {"data": self.items[0]}


@pytest.fixture
def at_desk(scripted):
    """Return a function that opens a desk at a book; its waits move the book's clock and are written down."""

    def start(fault: Callable[[Book, dict[str, str]], Any], **options: Any):
        book = Book(fault)
        service = scripted(book)
        client = Client(CANARY, base_url=service.base_url, timeout=(1.0, 0.5), **({"cache_dir": False} | options))
        client._transport._sleep = lambda _seconds: None
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            book.now += seconds

        return PaymentDesk(client, sleep=sleep), book, service, waits

    return start


def writes(service) -> list[str]:
    """Return the writes that reached a service, in order."""
    return [path for path, _ in service.asked if path.startswith(("POST", "PUT"))]


def everything_said(error: BaseException) -> str:
    """Return every text that hangs on an error, the local variables of its traceback too."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(told.format()) + repr(error) + repr(vars(error)) + repr(error.__context__) + repr(error.__cause__)


def reset(connection: socket.socket) -> None:
    """Break a connection off with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(connection.detach())


def hang_up(connection: socket.socket) -> None:
    """End a connection without a word."""
    connection.shutdown(socket.SHUT_RDWR)


def drip(connection: socket.socket) -> None:
    """Answer a byte at a time, for longer than anybody waits."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(40):
        connection.sendall(b" ")
        time.sleep(0.05)


def cut(book: Book, fields: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Carry out, and break the answer off in the middle."""
    whole = json.dumps(book.carry_out(fields)).encode()
    return 200, {"Content-Length": str(len(whole))}, whole[:40]


def done(answer: Any) -> Callable[[Book, dict[str, str]], Any]:
    """Return a fault that carries the order out and then gives this answer."""

    def fault(book: Book, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        return answer

    return fault


def not_done(answer: Any) -> Callable[[Book, dict[str, str]], Any]:
    """Return a fault that gives this answer and carries nothing out."""
    return lambda _book, _fields: answer


def late(seconds: float) -> Callable[[Book, dict[str, str]], Any]:
    """Return a fault that answers 503 and carries the order out so many seconds later."""

    def fault(book: Book, fields: dict[str, str]) -> Any:
        book.carry_out(fields, after=seconds)
        return 503, {}, ENVELOPE

    return fault


def doubled(book: Book, fields: dict[str, str]) -> Any:
    """Lose the answer while another device makes a payment that looks the same."""
    book.carry_out(fields)
    book.carry_out(fields)
    return hang_up


HTML = (200, {}, b"<html>please log in</html>")
PAGE = (404, {}, b"<html>not found</html>")
CREATED = [
    ("good answer", lambda book, fields: book.carry_out(fields), Receipt, []),
    ("failed is an outcome", lambda book, fields: book.carry_out(fields, status="failed"), Receipt, []),
    ("reset, carried out", done(reset), Receipt, [5]),
    ("reset, not carried out", not_done(reset), errors.OutcomeUnknownError, [5, 15, 45]),
    ("no answer, carried out", done(hang_up), Receipt, [5]),
    ("no answer, not carried out", not_done(hang_up), errors.OutcomeUnknownError, [5, 15, 45]),
    ("cut answer", cut, Receipt, [5]),
    ("slow drip, carried out", done(drip), Receipt, [5]),
    ("500 with envelope, carried out", done((500, {}, ENVELOPE)), Receipt, [5]),
    ("500 with envelope, not carried out", not_done((500, {}, ENVELOPE)), errors.OutcomeUnknownError, [5, 15, 45]),
    ("500 without envelope, carried out", done((500, {}, b"")), Receipt, [5]),
    ("503 with Retry-After", not_done((503, {"Retry-After": "0"}, ENVELOPE)), errors.OutcomeUnknownError, [5, 15, 45]),
    ("503 without envelope", not_done((503, {}, b"busy")), errors.OutcomeUnknownError, [5, 15, 45]),
    ("HTML with 200, carried out", done(HTML), Receipt, [5]),
    ("HTML with 200, not carried out", not_done(HTML), errors.OutcomeUnknownError, [5, 15, 45]),
    ("an empty answer", done((204, {}, b"")), Receipt, [5]),
    ("JSON of another kind", done({"data": {"payment": []}}), Receipt, [5]),
    ("gzip that is none", done((200, {"Content-Encoding": "gzip"}, b"not gzip")), Receipt, [5]),
    ("a gateway's 404 page, carried out", done(PAGE), Receipt, [5]),
    ("a gateway's 404 page, not carried out", not_done(PAGE), errors.OutcomeUnknownError, [5, 15, 45]),
    ("401", not_done((401, {}, ENVELOPE)), errors.AuthenticationError, []),
    ("403", not_done((403, {}, SCOPE)), errors.ScopeError, []),
    ("409", not_done((409, {}, STATE)), errors.InvalidRequestError, []),
    ("400", not_done((400, {}, LARGE)), errors.InvalidRequestError, []),
    ("429", not_done((429, {"Retry-After": "0"}, ENVELOPE)), errors.RateLimitedError, []),
    ("carried out at +4", late(4), Receipt, [5]),
    ("carried out at +15", late(15), Receipt, [5, 15]),
    ("carried out at +40", late(40), Receipt, [5, 15, 45]),
    ("carried out after the last reading", late(66), errors.OutcomeUnknownError, [5, 15, 45]),
    ("two that may be it", doubled, errors.OutcomeUnknownError, [5]),
]


@pytest.mark.fault("write")
@pytest.mark.parametrize(("fault", "kind", "waited"), [row[1:] for row in CREATED], ids=[row[0] for row in CREATED])
@pytest.mark.parametrize("action", ["pay", "charge"])
def test_a_create_is_sent_once_and_its_outcome_is_true(  # noqa: PLR0913, PLR0917 - a table of cases
    at_desk, caplog: pytest.LogCaptureFixture, action: str, fault, kind: type, waited: list[float]
) -> None:
    """One request whatever comes back: a receipt where it was carried out, else what is known; no token in any text.

    A twin made just before is never taken for the outcome.
    """
    caplog.set_level(logging.DEBUG)
    desk, book, service, waits = at_desk(fault)
    sent = {"note": "lunch", "amount": "12.30" if action == "pay" else "-12.30"}
    book.carry_out(sent)
    if kind is Receipt:
        receipt = getattr(desk, action)(**LUNCH)
        assert (receipt.payment.id, receipt.payment.amount_cents) == ("2", 1230 if action == "pay" else -1230)
        assert (receipt.reconciled, receipt.balance_cents) == ((True, None) if waited else (False, 3770))
        told = repr(receipt) + repr(desk)
    else:
        with pytest.raises(errors.ServiceError) as caught:
            getattr(desk, action)(**LUNCH)
        assert type(caught.value) is kind
        if kind is errors.OutcomeUnknownError:
            found = [payment.id for payment in caught.value.candidates]
            assert found == (["3", "2"] if fault is doubled else [])
        told = everything_said(caught.value)
    assert writes(service) == ["POST /v1/payments"]
    assert service.asked[2][1] == {"access_token": CANARY, "user_id": "8"} | sent
    assert waits == waited
    aloud = (
        f"The response to this {action} was lost; searching for its outcome for up to 65 seconds: do not send it again."
    )
    assert caplog.messages.count(aloud) == bool(waited)
    assert CANARY not in told
    assert "urllib3" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.fault("write")
def test_a_reset_before_the_form_was_read_is_an_unknown_outcome(at_desk) -> None:
    """What left this machine may have arrived, so it is looked for and not sent again."""
    desk, _book, service, waits = at_desk(not_done(None))

    def unread(connection: socket.socket) -> None:
        time.sleep(0.05)  # until all of the form is on its way
        reset(connection)

    service.unread = unread
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(**LUNCH)
    assert (writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], [5, 15, 45], [])
    assert CANARY not in everything_said(caught.value)


def no_connection_for(monkeypatch: pytest.MonkeyPatch, book: Book, times: int, error: Exception) -> list[str]:
    """Let the first so many connections after the snapshot fail before anything is sent."""
    connect = urllib3.util.connection.create_connection
    failed: list[str] = []
    armed: list[str] = []
    book.started = lambda: armed.append("snapshot")

    def flaky(*arguments: Any, **options: Any) -> socket.socket:
        if armed and len(failed) < times:
            failed.append("no connection")
            raise error
        return connect(*arguments, **options)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", flaky)
    return failed


@pytest.mark.fault("write")
@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("connect timed out")])
def test_without_a_connection_a_write_is_tried_again(at_desk, monkeypatch: pytest.MonkeyPatch, error) -> None:
    """Refused or timed out before anything was sent: the third connection carries it, and it arrives once."""
    desk, book, service, waits = at_desk(lambda book, fields: book.carry_out(fields))
    failed = no_connection_for(monkeypatch, book, 2, error)
    assert desk.pay(**LUNCH).payment.id == "1"
    assert (len(failed), writes(service), waits) == (2, ["POST /v1/payments"], [])


@pytest.mark.fault("write")
@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("connect timed out")])
def test_where_no_connection_can_be_made_nothing_was_sent(at_desk, monkeypatch: pytest.MonkeyPatch, error) -> None:
    """Five tries, then a TransportError, which of a write says that nothing was sent; nothing is looked for."""
    desk, book, service, waits = at_desk(lambda book, fields: book.carry_out(fields))
    failed = no_connection_for(monkeypatch, book, 9, error)
    with pytest.raises(errors.TransportError) as caught:
        desk.pay(**LUNCH)
    assert (len(failed), writes(service), waits) == (5, [], [])
    assert CANARY not in everything_said(caught.value)


@pytest.mark.fault("write")
def test_an_error_before_the_form_is_read_is_final_and_not_in_doubt(at_desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the headers cannot even be sent, nothing can have been carried out; it is no connect error, so no retry."""
    desk, _book, service, waits = at_desk(lambda book, fields: book.carry_out(fields))
    desk._take_snapshot = lambda snapshot=desk._take_snapshot: (snapshot(), broken())[0]
    tries: list[int] = []

    def broken() -> None:
        def endheaders(*_arguments: object, **_options: object) -> None:
            tries.append(1)
            raise ConnectionResetError("reset")

        monkeypatch.setattr(urllib3.connection.HTTPConnection, "endheaders", endheaders)

    with pytest.raises(errors.TransportError):
        desk.pay(**LUNCH)
    assert (len(tries), writes(service), waits) == (1, [], [])


def test_a_failed_handshake_is_final_and_not_in_doubt() -> None:
    """Where no encrypted connection comes about, nothing was sent: one try, and no unknown outcome."""
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
    assert CANARY not in everything_said(caught.value)


@pytest.mark.fault("write")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(at_desk, status: int) -> None:
    """A 307 would send the form and its token to another host: not one connection is made there."""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        foreign.settimeout(0)
        there = f"http://127.0.0.1:{foreign.getsockname()[1]}/v1/payments"
        desk, _book, service, _waits = at_desk(not_done((status, {"Location": there}, b"")))
        with pytest.raises(errors.OutcomeUnknownError):
            desk.pay(**LUNCH)
        with pytest.raises(BlockingIOError):
            foreign.accept()
    assert writes(service) == ["POST /v1/payments"]


@pytest.mark.fault("write")
def test_where_reading_fails_too_nobody_knows(at_desk) -> None:
    """Each of the three readings is tried, and the error says that there was nothing to be read."""

    def fault(book: Book, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        book.unreadable = True
        return hang_up

    desk, _book, service, waits = at_desk(fault)
    with pytest.raises(errors.OutcomeUnknownError, match="could not be read") as caught:
        desk.pay(**LUNCH)
    assert (writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], [5, 15, 45], [])


@pytest.mark.fault("write")
def test_a_reading_that_fails_once_does_not_end_the_search(at_desk) -> None:
    """The second reading finds what the first could not."""

    def fault(book: Book, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        book.unreadable = True
        return hang_up

    desk, book, _service, waits = at_desk(fault)
    wait = desk._sleep

    def sleep(seconds: float) -> None:
        wait(seconds)
        book.unreadable = len(waits) < 2

    desk._sleep = sleep
    assert desk.pay(**LUNCH).reconciled
    assert waits == [5, 15]


@pytest.mark.fault("write")
def test_an_answer_about_another_payment_is_none(at_desk) -> None:
    """An old answer, given again by something in between, is not taken for this payment's."""
    desk, book, service, _waits = at_desk(lambda book, _fields: {"data": {"balance": 1, "payment": book.items[0]}})
    book.carry_out({"note": "lunch", "amount": "12.30"})
    with pytest.raises(errors.OutcomeUnknownError):
        desk.pay(**LUNCH)
    assert writes(service) == ["POST /v1/payments"]


def test_an_old_payment_beyond_the_newest_page_is_not_taken_for_the_outcome(at_desk) -> None:
    """The oldest of 59 is a twin: it comes into view because others left, and it is older than all that was known."""
    desk, book, _service, waits = at_desk(not_done(hang_up))
    book.carry_out({"note": "lunch", "amount": "12.30"})
    for _ in range(58):
        book.carry_out({"note": "other", "amount": "1.00"})
    wait = desk._sleep

    def sleep(seconds: float) -> None:
        wait(seconds)
        del book.items[:20]

    desk._sleep = sleep
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(**LUNCH)
    assert caught.value.candidates == []
    assert waits == [5, 15, 45]


def test_the_outcome_is_found_behind_a_page_of_newer_payments(at_desk) -> None:
    """More than fifty others were made meanwhile: reading goes on until it meets what was there before."""

    def fault(book: Book, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        for _ in range(55):
            book.carry_out({"note": "other", "amount": "1.00"})
        return hang_up

    desk, book, service, _waits = at_desk(fault)
    book.carry_out({"note": "lunch", "amount": "12.30"})
    answer = service.answer

    def paged(path: str, fields: dict[str, str]) -> Any:
        if path == "/v1/payments" and "before" in fields:
            older = [item for item in book.items if item["date_created"] < fields["before"]]
            return {"data": older[:50], "pagination": {"next": None}}
        return answer(path, fields)

    service.answer = paged
    assert desk.pay(**LUNCH).payment.id == "2"


RESOLVED = [
    ("good answer", lambda book, status: book.resolve(status), None, []),
    ("409", lambda _book, _status: (409, {}, STATE), errors.InvalidRequestError, []),
    ("403", lambda _book, _status: (403, {}, SCOPE), errors.ScopeError, []),
    ("reset, carried out", lambda book, status: (book.resolve(status), reset)[1], None, [5]),
    ("503, carried out", lambda book, status: (book.resolve(status), (503, {}, ENVELOPE))[1], None, [5]),
    ("HTML, carried out", lambda book, status: (book.resolve(status), HTML)[1], None, [5]),
    ("no answer, not carried out", lambda _book, _status: hang_up, errors.OutcomeUnknownError, [5, 15, 45]),
    ("500, not carried out", lambda _book, _status: (500, {}, b""), errors.OutcomeUnknownError, [5, 15, 45]),
    ("expired meanwhile", lambda book, _status: (book.resolve("expired"), hang_up)[1], errors.InvalidRequestError, [5]),
    ("an unknown word", lambda book, _s: (book.resolve("held"), hang_up)[1], errors.OutcomeUnknownError, [5, 15, 45]),
]


@pytest.mark.fault("write")
@pytest.mark.parametrize(("fault", "kind", "waited"), [row[1:] for row in RESOLVED], ids=[row[0] for row in RESOLVED])
@pytest.mark.parametrize(("action", "status"), [("approve", "settled"), ("deny", "cancelled"), ("cancel", "cancelled")])
def test_a_resolution_is_sent_once_and_its_outcome_is_true(  # noqa: PLR0913, PLR0917 - a table of cases
    at_desk, action: str, status: str, fault, kind: type | None, waited: list[float]
) -> None:
    """After a lost answer the payment's own status tells; one that stays pending is given as the candidate."""
    desk, book, service, waits = at_desk(lambda book, _fields: fault(book, status))
    book.carry_out({"note": "rent", "amount": "-9"}, status="pending")
    if kind is None:
        payment = getattr(desk, action)("1")
        assert isinstance(payment, Payment)
        assert (payment.id, payment.status) == ("1", status)
    else:
        with pytest.raises(errors.ServiceError) as caught:
            getattr(desk, action)("1")
        assert type(caught.value) is kind
        assert [payment.id for payment in getattr(caught.value, "candidates", [])] == ["1"] * (len(waited) == 3)
        assert CANARY not in everything_said(caught.value)
    puts = [(path, fields) for path, fields in service.asked if path.startswith("PUT")]
    assert puts == [("PUT /v1/payments/1", {"access_token": CANARY, "action": action})]
    assert waits == waited


@pytest.mark.fault("write")
def test_an_approval_that_was_cancelled_is_told(at_desk) -> None:
    """The answer is lost, and the other side's cancel has won: that is known, so it is no unknown outcome."""
    desk, book, _service, _waits = at_desk(lambda book, _fields: (book.resolve("cancelled"), hang_up)[1])
    book.carry_out({"note": "rent", "amount": "-9"}, status="pending")
    with pytest.raises(
        errors.InvalidRequestError, match="Payment 1 is cancelled: it was closed before you could approve"
    ):
        desk.approve("1")


@pytest.mark.parametrize("status", ["settled", "failed", "expired", "cancelled"])
@pytest.mark.parametrize("action", ["approve", "deny", "cancel"])
def test_what_is_closed_is_not_written_to(at_desk, action: str, status: str) -> None:
    """Only a pending payment has a transition (document: "States and transitions"), so nothing is sent."""
    desk, book, service, _waits = at_desk(not_done(None))
    book.carry_out({"note": "rent", "amount": "-9"}, status=status)
    with pytest.raises(errors.ConfigurationError, match=f"Payment 1 is {status} and no longer pending"):
        getattr(desk, action)("1")
    assert writes(service) == []


@pytest.mark.parametrize("bad", [{"amount": 0.5}, {"note": " "}, {"email": "a@b.example"}, {"audience": "all"}])
@pytest.mark.parametrize("action", ["pay", "charge"])
def test_bad_arguments_are_refused_before_anything_is_asked(at_desk, action: str, bad: dict) -> None:
    """Not even a reading goes out."""
    desk, _book, service, _waits = at_desk(not_done(None))
    with pytest.raises(errors.ConfigurationError):
        getattr(desk, action)(**(LUNCH | bad))
    assert service.asked == []


def test_the_token_is_a_field_of_the_form_and_not_in_the_address(at_desk) -> None:
    """Form-encoded, on a connection that carries nothing else (document: "Endpoints")."""
    desk, _book, service, _waits = at_desk(lambda book, fields: book.carry_out(fields))
    desk.pay(user_id="8", amount="0.10", note="a&b=c + 🍜\naccess_token=x", audience="friends")
    assert service.asked[-1] == (
        "POST /v1/payments",
        {"user_id": "8", "note": "a&b=c + 🍜\naccess_token=x", "amount": "0.10", "audience": "friends",
         "access_token": CANARY},
    )  # fmt: skip
    assert service.headers[-1]["Content-Type"] == "application/x-www-form-urlencoded"
    assert not {"Authorization", "Cookie", "Transfer-Encoding"} & service.headers[-1].keys()


def test_a_token_without_a_scope_to_read_cannot_write(at_desk) -> None:
    """A lost answer could never be reconciled, so the missing scope is told before anything is sent."""
    desk, _book, service, _waits = at_desk(not_done(None))
    service.answer = lambda _path, _fields: (403, {}, SCOPE)
    with pytest.raises(errors.ScopeError):
        desk.pay(**LUNCH)
    assert writes(service) == []


@pytest.mark.parametrize("lost", [False, True])
def test_a_load_after_a_write_shows_it(at_desk, tmp_path, lost: bool) -> None:  # noqa: FBT001 - a case
    """Cached answers of the account are forgotten, also those that an earlier session left in the folder."""
    fault = done(hang_up) if lost else lambda book, fields: book.carry_out(fields)
    desk, book, service, _waits = at_desk(fault, cache_dir=tmp_path)
    book.carry_out({"note": "before", "amount": "1"})
    with Client(CANARY, base_url=service.base_url, cache_dir=tmp_path) as earlier:
        assert [payment.id for payment in earlier.payments()] == ["1"]
        assert earlier.payment("1").note == "before"
    desk.pay(**LUNCH)
    assert [payment.id for payment in desk._client.payments()] == ["2", "1"]
    asked = len(service.asked)
    assert len(desk._client.payments()) == 2  # the cache was emptied, not given up
    assert len(service.asked) == asked
    desk._client.close()


def test_where_the_cache_cannot_be_emptied_it_is_not_used_any_more(at_desk, tmp_path) -> None:
    """Another process holds the file: slower, but never stale."""
    import sqlite3

    desk, book, _service, _waits = at_desk(lambda book, fields: book.carry_out(fields), cache_dir=tmp_path)
    book.carry_out({"note": "before", "amount": "1"})
    assert len(desk._client.payments()) == 1
    holder = sqlite3.connect(next(tmp_path.glob("*.sqlite")), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        desk.pay(**LUNCH)
        assert [payment.id for payment in desk._client.payments()] == ["2", "1"]
    finally:
        holder.close()
    desk._client.close()


def test_one_write_at_a_time(at_desk) -> None:
    """Two threads pay the same; the first is lost, and must not take the second one's payment for its own."""
    lost = [hang_up]
    desk, _book, service, _waits = at_desk(lambda book, fields: lost.pop() if lost else book.carry_out(fields))
    looking, wait = threading.Event(), desk._sleep

    def sleep(seconds: float) -> None:
        looking.set()
        time.sleep(0.1)  # long enough for the second to be through, if it were let
        wait(seconds)

    desk._sleep = sleep
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(desk.pay, **LUNCH)
        assert looking.wait(5)
        second = pool.submit(desk.pay, **LUNCH)
        with pytest.raises(errors.OutcomeUnknownError):
            first.result(10)
        assert second.result(10).reconciled is False
    assert len(writes(service)) == 2


def test_a_desk_must_be_asked_for_by_name() -> None:
    """A client has no method that writes, and neither the package nor its client module offers a desk."""
    import p2p_analytics as p2p
    from p2p_analytics import client

    offered = {*dir(Client), *dir(p2p), *client.__all__}
    assert not {"pay", "charge", "approve", "deny", "cancel", "write", "desk", "PaymentDesk"} & offered


def test_all_desks_of_a_client_take_turns(at_desk) -> None:
    """Two desks share the client's turn, so that one's lost write is never taken for the other's."""
    first, book, service, _waits = at_desk(lambda book, fields: book.carry_out(fields))
    second = PaymentDesk(first._client)
    paid: list[object] = []
    with first._transport.write_lock:
        writer = threading.Thread(
            target=lambda: paid.append(second.pay(user_id="8", amount="1", note="tea")), daemon=True
        )
        writer.start()
        writer.join(0.3)
        assert (paid, writes(service)) == ([], [])
    writer.join(10)
    assert (len(paid), len(book.items)) == (1, 1)
