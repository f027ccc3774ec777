"""Payments decoded record by record, with a `Problem` for each field that is wrong."""

from __future__ import annotations

from typing import Final

from p2p_analytics.records._models import Payment, RawRecords, Refund
from p2p_analytics.records._values import ProblemCollector, parse_amount, parse_date, to_target, to_user
from p2p_analytics.records._wire_types import (
    NULL,
    REPLACEMENT_ESCAPE,
    WireList,
    WirePayment,
    decode_envelope,
    next_link,
    repair_json,
)
from p2p_analytics.vocabulary import Action, Status

_STATUSES: Final = frozenset(Status)
_ACTIONS: Final = frozenset(Action)
_EXPECTED: Final = ("status", "action", "amount", "date_created", "actor", "target")


def decode_list(body: bytes) -> tuple[list[bytes], str | None, ProblemCollector]:
    """Return the items of a list as bytes, the next link, and an empty collection of problems."""
    page = decode_envelope(repair_json(body), WireList)
    return [bytes(item) for item in page.data], next_link(page), ProblemCollector()


def to_payment(raw: bytes, problems: ProblemCollector) -> Payment | None:
    """Return a payment, or None where it has no id."""
    problems.record_id = None
    wire = problems.decode(WirePayment, raw)
    if not wire.id:
        problems.add("id", raw, "the item holds no id", unreadable=True)
        return None
    problems.record_id = wire.id
    for name in _EXPECTED:
        if getattr(wire, name) in (None, NULL):
            problems.add(name, "null", "documented as always set")
    if wire.status is not None and wire.status not in _STATUSES:
        problems.add("status", wire.status, "a word the document does not know")
    if wire.action is not None and wire.action not in _ACTIONS:
        problems.add("action", wire.action, "a word the document does not know; direction and flow stay empty")
    if REPLACEMENT_ESCAPE in raw:
        problems.add("text", raw, "may hold half a character pair, shown as U+FFFD")
    fee, refund = wire.fee, wire.refund
    return Payment(
        id=wire.id,
        status=wire.status,
        action=wire.action,
        amount_cents=parse_amount(wire.amount, problems, "amount"),
        note=wire.note,
        audience=wire.audience,
        medium=wire.medium,
        date_created=parse_date(wire.date_created, problems, "date_created"),
        date_completed=parse_date(wire.date_completed, problems, "date_completed"),
        actor=to_user(wire.actor, problems, "actor") if wire.actor else None,
        target=to_target(wire.target, problems) if wire.target else None,
        fee_cents=parse_amount(fee.amount, problems, "fee") if fee else None,
        refund=Refund(id=refund.id, amount_cents=parse_amount(refund.amount, problems, "refund")) if refund else None,
        raw_records=RawRecords(records=[raw]),
    )
