"""Desk: resolutions, arguments, the cache after a write, and the write lock."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client import Client
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.client.http import cache
from p2p_analytics.records import Payment
from support.canary import CANARY
from support.connections import client_to
from support.exceptions import format_everything
from support.payment_book import (
    ENVELOPE,
    HTML,
    LUNCH,
    SCOPE,
    STATE,
    PaymentBook,
    answer_without_effect,
    carry_out_then_answer,
    list_writes,
)
from support.scripted import hang_up, reset

# The status that the service sets, None for no effect; its answer; the outcome; the waits.
WAITS = [5, 15, 45]
RESOLVED = {
    "good response": ("as asked", None, None, []),
    "409": (None, (409, {}, STATE), errors.InvalidRequestError, []),
    "403": (None, (403, {}, SCOPE), errors.ScopeError, []),
    "reset, carried out": ("as asked", reset, None, [5]),
    "503, carried out": ("as asked", (503, {}, ENVELOPE), None, [5]),
    "HTML, carried out": ("as asked", HTML, None, [5]),
    "no response, not carried out": (None, hang_up, errors.OutcomeUnknownError, WAITS),
    "500, not carried out": (None, (500, {}, b""), errors.OutcomeUnknownError, WAITS),
    "expired meanwhile": ("expired", hang_up, errors.InvalidRequestError, [5]),
    "an unknown status": ("held", hang_up, errors.OutcomeUnknownError, WAITS),
}


@pytest.mark.fault("write")
@pytest.mark.parametrize("case", RESOLVED)
@pytest.mark.parametrize(("action", "status"), [("approve", "settled"), ("deny", "cancelled"), ("cancel", "cancelled")])
def test_a_resolution_is_sent_once_and_its_outcome_is_true(open_desk, action: str, status: str, case: str) -> None:
    """After a lost response, the status of the payment shows the outcome; a pending one is the candidate."""
    effect, answer, kind, waited = RESOLVED[case]

    def fault(book: PaymentBook, _fields: dict[str, str]) -> object:
        good = book.resolve(status if effect == "as asked" else effect) if effect else None
        return answer or good

    desk, book, service, waits = open_desk(fault)
    book.carry_out({"note": "rent", "amount": "-9"}, status="pending")
    if kind is None:
        payment = getattr(desk, action)("1")
        assert isinstance(payment, Payment)
        assert (payment.id, payment.status) == ("1", status)
    else:
        with pytest.raises(errors.ServiceError) as caught:
            getattr(desk, action)("1")
        assert type(caught.value) is kind
        assert [payment.id for payment in getattr(caught.value, "candidates", [])] == ["1"] * (waited == WAITS)
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


def test_a_token_without_a_scope_to_read_cannot_write(open_desk) -> None:
    """The desk could not find the outcome of a lost response, so it raises before sending."""
    desk, _book, service, _waits = open_desk(answer_without_effect(None))
    service.answer = lambda _path, _fields: (403, {}, SCOPE)
    with pytest.raises(errors.ScopeError):
        desk.pay(**LUNCH)
    assert list_writes(service) == []


@pytest.mark.parametrize(
    "fault", [lambda book, fields: book.carry_out(fields), carry_out_then_answer(hang_up)], ids=["good", "lost"]
)
def test_a_load_after_a_write_shows_it(open_desk, tmp_path, fault) -> None:
    """A write deletes cache entries of the account, including entries of earlier sessions."""
    desk, book, service, _waits = open_desk(fault, cache_dir=tmp_path)
    book.carry_out({"note": "before", "amount": "1"})
    with client_to(service.base_url, cache_dir=tmp_path) as earlier:
        assert [payment.id for payment in earlier.payments()] == ["1"]
        assert earlier.payment("1").note == "before"
    desk.pay(**LUNCH)
    assert [payment.id for payment in desk._client.payments()] == ["2", "1"]
    asked = len(service.asked)
    assert len(desk._client.payments()) == 2  # the cache is still in use
    assert len(service.asked) == asked
    desk._client.close()


def test_a_locked_cache_is_not_used_after_a_write(open_desk, tmp_path, monkeypatch) -> None:
    """Another process locks the file: loads are slower, but not stale."""
    monkeypatch.setattr(cache, "_LOCK_WAIT_SECONDS", 0.05)
    desk, book, _service, _waits = open_desk(lambda book, fields: book.carry_out(fields), cache_dir=tmp_path)
    book.carry_out({"note": "before", "amount": "1"})
    assert len(desk._client.payments()) == 1
    with closing(sqlite3.connect(next(tmp_path.glob("*.sqlite")), isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        desk.pay(**LUNCH)
        assert [payment.id for payment in desk._client.payments()] == ["2", "1"]
    desk._client.close()


def test_one_write_at_a_time(open_desk) -> None:
    """Two desks of a client pay the same; the first response is lost, and the second payment is not its outcome."""
    lost, done, seconds = [hang_up], threading.Event(), []

    def pay_again() -> object:
        receipt = PaymentDesk(desk._client).pay(**LUNCH)
        done.set()
        return receipt

    def start_second_or_give_it_time() -> None:
        if seconds:
            done.wait(0.3)
        else:
            seconds.append(pool.submit(pay_again))

    desk, _book, service, _waits = open_desk(
        lambda book, fields: lost.pop() if lost else book.carry_out(fields), on_wait=start_second_or_give_it_time
    )
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(errors.OutcomeUnknownError):
            desk.pay(**LUNCH)
        assert seconds[0].result(60).reconciled is False
    assert len(list_writes(service)) == 2


def test_a_desk_needs_an_explicit_import() -> None:
    """A client has no method that writes, and neither the package nor its client package exports a desk."""
    offered = {*dir(Client), *dir(p2p), *p2p.client.__all__}
    assert not {"pay", "charge", "approve", "deny", "cancel", "write", "desk", "PaymentDesk"} & offered
