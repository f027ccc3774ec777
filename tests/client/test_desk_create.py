"""Desk: pay and charge are sent at most once, and the reported outcome is true."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from p2p_analytics import errors
from p2p_analytics.records import Receipt
from support.canary import CANARY
from support.connections import drip_body
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
CREATED = [
    ("good response", lambda book, fields: book.carry_out(fields), Receipt, []),
    ("status failed", lambda book, fields: book.carry_out(fields, status="failed"), Receipt, []),
    ("reset, carried out", carry_out_then_answer(reset), Receipt, [5]),
    ("reset, not carried out", answer_without_effect(reset), UNKNOWN, WAITS),
    ("no response, carried out", carry_out_then_answer(hang_up), Receipt, [5]),
    ("no response, not carried out", answer_without_effect(hang_up), UNKNOWN, WAITS),
    ("truncated response", truncate, Receipt, [5]),
    ("slow drip, carried out", carry_out_then_answer(drip_body), Receipt, [5]),
    ("500 with envelope, carried out", carry_out_then_answer((500, {}, ENVELOPE)), Receipt, [5]),
    ("500 with envelope, not carried out", answer_without_effect((500, {}, ENVELOPE)), UNKNOWN, WAITS),
    ("503 with Retry-After", answer_without_effect((503, {"Retry-After": "0"}, ENVELOPE)), UNKNOWN, WAITS),
    ("503 without envelope", answer_without_effect((503, {}, b"busy")), UNKNOWN, WAITS),
    ("HTML with 200, carried out", carry_out_then_answer(HTML), Receipt, [5]),
    ("an empty response", carry_out_then_answer((204, {}, b"")), Receipt, [5]),
    ("JSON of another form", carry_out_then_answer({"data": {"payment": []}}), Receipt, [5]),
    ("an older payment", lambda book, _fields: {"data": {"balance": 1, "payment": book.items[0]}}, UNKNOWN, WAITS),
    ("a gateway's 404 page", carry_out_then_answer(PAGE), Receipt, [5]),
    ("401", answer_without_effect((401, {}, ENVELOPE)), errors.AuthenticationError, []),
    ("403", answer_without_effect((403, {}, SCOPE)), errors.ScopeError, []),
    ("409", answer_without_effect((409, {}, STATE)), errors.InvalidRequestError, []),
    ("429", answer_without_effect((429, {"Retry-After": "0"}, ENVELOPE)), errors.RateLimitedError, []),
    ("carried out at +15", carry_out_late(15), Receipt, [5, 15]),
    ("carried out at +40", carry_out_late(40), Receipt, WAITS),
    ("carried out after the last search", carry_out_late(66), UNKNOWN, WAITS),
    ("two candidates", carry_out_twice, UNKNOWN, [5]),
]


@pytest.mark.fault("write")
@pytest.mark.parametrize(
    ("action", "fault", "kind", "waited"),
    [(("pay", "charge")[place % 2], *row[1:]) for place, row in enumerate(CREATED)],
    ids=[row[0] for row in CREATED],
)
def test_a_create_is_sent_once_and_its_outcome_is_true(  # noqa: PLR0913, PLR0917 - a table of cases
    open_desk, caplog: pytest.LogCaptureFixture, action: str, fault, kind: type, waited: list[float]
) -> None:
    """The desk sends one request, and returns a receipt if it was carried out; no text holds the token.

    An equal payment from just before is not mistaken for the outcome.
    """
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
    warning = (
        f"The response to this {action} was lost; searching for its outcome for up to 65 seconds: do not send it again."
    )
    assert caplog.messages.count(warning) == bool(waited)
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

    desk, book, service, waits = open_desk(fault)
    with pytest.raises(errors.OutcomeUnknownError, match="could not be read") as caught:
        desk.pay(**LUNCH)
    assert (list_writes(service), waits, caught.value.candidates) == (["POST /v1/payments"], [5, 15, 45], [])
    wait = desk._sleep

    def sleep(seconds: float) -> None:
        wait(seconds)
        book.unreadable = len(waits) < 5

    desk._sleep = sleep
    book.unreadable = False
    assert desk.pay(**LUNCH).reconciled
    assert waits[3:] == [5, 15]


def test_an_old_payment_beyond_the_newest_page_is_not_a_candidate(open_desk) -> None:
    """The oldest of 59 payments equals the lost one, and moves onto the first page when newer ones are deleted."""
    desk, book, _service, waits = open_desk(answer_without_effect(hang_up))
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


def test_the_outcome_is_found_behind_a_page_of_newer_payments(open_desk) -> None:
    """More than fifty new payments: the search continues until it reaches a known one."""

    def fault(book: PaymentBook, fields: dict[str, str]) -> Any:
        book.carry_out(fields)
        for _ in range(55):
            book.carry_out({"note": "other", "amount": "1.00"})
        return hang_up

    desk, book, service, _waits = open_desk(fault)
    book.carry_out({"note": "lunch", "amount": "12.30"})
    answer = service.answer

    def answer_page(path: str, fields: dict[str, str]) -> Any:
        if path == "/v1/payments" and "before" in fields:
            older = [item for item in book.items if item["date_created"] < fields["before"]]
            return {"data": older[:50], "pagination": {"next": None}}
        return answer(path, fields)

    service.answer = answer_page
    assert desk.pay(**LUNCH).payment.id == "2"
