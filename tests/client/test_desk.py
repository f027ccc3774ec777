"""Desk: resolutions, arguments, the cache after a write, and the write lock."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client import Client
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.records import Payment
from support.canary import CANARY
from support.exceptions import format_everything
from support.payment_book import (
    ENVELOPE,
    HTML,
    LUNCH,
    SCOPE,
    STATE,
    answer_without_effect,
    carry_out_then_answer,
    list_writes,
)
from support.scripted import hang_up, reset
from support.waiting import wait_until


class ObservedLock:
    """Lock that counts the requests for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = 0

    def __enter__(self) -> None:
        """Count the request, and acquire the lock."""
        self.requests += 1
        self._lock.acquire()

    def __exit__(self, *_exception: object) -> None:
        """Release the lock."""
        self._lock.release()


RESOLVED = [
    ("good response", lambda book, status: book.resolve(status), None, []),
    ("409", lambda _book, _status: (409, {}, STATE), errors.InvalidRequestError, []),
    ("403", lambda _book, _status: (403, {}, SCOPE), errors.ScopeError, []),
    ("reset, carried out", lambda book, status: (book.resolve(status), reset)[1], None, [5]),
    ("503, carried out", lambda book, status: (book.resolve(status), (503, {}, ENVELOPE))[1], None, [5]),
    ("HTML, carried out", lambda book, status: (book.resolve(status), HTML)[1], None, [5]),
    ("no response, not carried out", lambda _book, _status: hang_up, errors.OutcomeUnknownError, [5, 15, 45]),
    ("500, not carried out", lambda _book, _status: (500, {}, b""), errors.OutcomeUnknownError, [5, 15, 45]),
    ("expired meanwhile", lambda book, _status: (book.resolve("expired"), hang_up)[1], errors.InvalidRequestError, [5]),
    ("an unknown status", lambda book, _s: (book.resolve("held"), hang_up)[1], errors.OutcomeUnknownError, [5, 15, 45]),
]


@pytest.mark.fault("write")
@pytest.mark.parametrize(("fault", "kind", "waited"), [row[1:] for row in RESOLVED], ids=[row[0] for row in RESOLVED])
@pytest.mark.parametrize(("action", "status"), [("approve", "settled"), ("deny", "cancelled"), ("cancel", "cancelled")])
def test_a_resolution_is_sent_once_and_its_outcome_is_true(  # noqa: PLR0913, PLR0917 - a table of cases
    open_desk, action: str, status: str, fault, kind: type | None, waited: list[float]
) -> None:
    """After a lost response, the status of the payment shows the outcome; a pending one is the candidate."""
    desk, book, service, waits = open_desk(lambda book, _fields: fault(book, status))
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
        assert CANARY not in format_everything(caught.value)
    puts = [(path, fields) for path, fields in service.asked if path.startswith("PUT")]
    assert puts == [("PUT /v1/payments/1", {"access_token": CANARY, "action": action})]
    assert waits == waited


@pytest.mark.parametrize(
    ("action", "status"),
    [("approve", "settled"), ("approve", "failed"), ("deny", "expired"), ("cancel", "cancelled")],
)
def test_a_closed_payment_is_not_resolved(open_desk, action: str, status: str) -> None:
    """Only a pending payment has a transition (document: "States and transitions"), so the desk sends nothing."""
    desk, book, service, _waits = open_desk(answer_without_effect(None))
    book.carry_out({"note": "rent", "amount": "-9"}, status=status)
    with pytest.raises(errors.ConfigurationError, match=f"Payment 1 is {status} and no longer pending"):
        getattr(desk, action)("1")
    assert list_writes(service) == []


@pytest.mark.parametrize("bad", [{"amount": 0.5}, {"note": " "}, {"email": "a@b.example"}, {"audience": "all"}])
def test_bad_arguments_are_refused_before_any_request(open_desk, bad: dict) -> None:
    """The desk does not even read payments."""
    desk, _book, service, _waits = open_desk(answer_without_effect(None))
    with pytest.raises(errors.ConfigurationError):
        desk.pay(**(LUNCH | bad))
    assert service.asked == []


def test_a_token_without_a_scope_to_read_cannot_write(open_desk) -> None:
    """The desk could not find the outcome of a lost response, so it raises before sending."""
    desk, _book, service, _waits = open_desk(answer_without_effect(None))
    service.answer = lambda _path, _fields: (403, {}, SCOPE)
    with pytest.raises(errors.ScopeError):
        desk.pay(**LUNCH)
    assert list_writes(service) == []


@pytest.mark.parametrize("lost", [False, True])
def test_a_load_after_a_write_shows_it(open_desk, tmp_path, lost: bool) -> None:  # noqa: FBT001 - a case
    """A write deletes cache entries of the account, including entries of earlier sessions."""
    fault = carry_out_then_answer(hang_up) if lost else lambda book, fields: book.carry_out(fields)
    desk, book, service, _waits = open_desk(fault, cache_dir=tmp_path)
    book.carry_out({"note": "before", "amount": "1"})
    with Client(CANARY, base_url=service.base_url, cache_dir=tmp_path) as earlier:
        assert [payment.id for payment in earlier.payments()] == ["1"]
        assert earlier.payment("1").note == "before"
    desk.pay(**LUNCH)
    assert [payment.id for payment in desk._client.payments()] == ["2", "1"]
    asked = len(service.asked)
    assert len(desk._client.payments()) == 2  # the cache is still in use
    assert len(service.asked) == asked
    desk._client.close()


def test_a_locked_cache_is_not_used_after_a_write(open_desk, tmp_path) -> None:
    """Another process locks the file: loads are slower, but not stale."""
    import sqlite3

    desk, book, _service, _waits = open_desk(lambda book, fields: book.carry_out(fields), cache_dir=tmp_path)
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


def test_one_write_at_a_time(open_desk) -> None:
    """Two desks of a client pay the same; the first response is lost, and the second payment is not its outcome."""
    lost = [hang_up]
    desk, _book, service, _waits = open_desk(lambda book, fields: lost.pop() if lost else book.carry_out(fields))
    searching, wait = threading.Event(), desk._sleep
    lock = desk._transport.write_lock = ObservedLock()

    def sleep(seconds: float) -> None:
        searching.set()
        wait_until(lambda: lock.requests == 2)
        wait(seconds)

    desk._sleep = sleep
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(desk.pay, **LUNCH)
        assert searching.wait(20)
        second = pool.submit(PaymentDesk(desk._client).pay, **LUNCH)
        with pytest.raises(errors.OutcomeUnknownError):
            first.result(60)
        assert second.result(60).reconciled is False
    assert len(list_writes(service)) == 2


def test_a_desk_needs_an_explicit_import() -> None:
    """A client has no method that writes, and neither the package nor its client package exports a desk."""
    offered = {*dir(Client), *dir(p2p), *p2p.client.__all__}
    assert not {"pay", "charge", "approve", "deny", "cancel", "write", "desk", "PaymentDesk"} & offered
