"""The JSON history: rows with one sub-object each, amounts without a sign, and usernames."""

from __future__ import annotations

import json
from typing import Any, Final

from p2p_analytics.sandbox.statements.lines import (
    BALANCE,
    BANK,
    DEBIT_CARD,
    FAILED,
    TRANSFERS,
    Line,
    LineType,
    Statement,
    format_instant,
)
from p2p_analytics.sandbox.storage.rows import Payment, Person

_Json = dict[str, Any]

_PARTS: Final = (
    "payment", "refund", "transfer", "disbursement", "capture", "direct_deposit", "internal_balance_transfer",
)  # fmt: skip
# Types without a sub-object; their amount has a sign, because nothing else says which way the money went.
_OTHERS: Final = {
    LineType.CARD_PAYMENT: "credit_repayment",
    LineType.CARD_REWARD: "credit_reward",
    LineType.FEE: "fee",
    LineType.NEW: "neighborhood_bonus",
}
_SOURCE_TYPES: Final = {BALANCE: "balance", BANK: "bank", DEBIT_CARD: "card"}


def write_json(statement: Statement) -> str:
    """Return the text of a JSON history."""
    rows = []
    for line in statement.lines:
        kind, part = (_OTHERS[line.type], None) if line.type in _OTHERS else _build_part(line, statement)
        row = {
            "type": kind,
            "id": str(line.line_id),
            "datetime_created": format_instant(line.when_us),
            "note": line.note,
            "amount": _units(abs(line.cents) if part is not None else line.cents),
            "funding_source": _source(line.funding_source),
            **dict.fromkeys(_PARTS),
        }
        rows.append(row if part is None else row | {kind: part})
    body = {
        "data": {
            "start_balance": _units(statement.opening_cents),
            "end_balance": _units(statement.closing_cents),
            "statement_period_fees": _units(statement.period_fee_cents),
            "year_to_date_fees": _units(statement.year_fee_cents),
            "transactions": rows,
        }
    }
    return json.dumps(body, ensure_ascii=False)


def _build_part(line: Line, statement: Statement) -> tuple[str, _Json]:
    """Return the type of a row, and its sub-object."""
    if line.payment is not None:
        payment = _build_payment(line, line.payment, statement)
        return ("refund", {"payment": payment}) if line.type is LineType.REFUND else ("payment", payment)
    if line.type in TRANSFERS:
        is_in = line.cents > 0
        kind = "instant" if line.type is LineType.INSTANT_TRANSFER else "standard"
        return "transfer", {
            "type": "add_funds" if is_in else kind,
            "status": "failed" if line.status == FAILED else "issued",
            "amount": _units(abs(line.cents)),
            "amount_cents": abs(line.cents) - line.fee_cents,
            "amount_fee_cents": line.fee_cents,
            "amount_requested_cents": abs(line.cents),
            "date_requested": format_instant(line.when_us),
            "source": _source(BANK) if is_in else None,
            "destination": None if is_in else _source(line.destination),
        }
    if line.type is LineType.REFUND:  # what a merchant returns is money from a merchant
        return "disbursement", {"merchant": {"display_name": line.from_name}}
    if line.type is LineType.DIRECT_DEPOSIT:
        return "direct_deposit", {"amount": _units(line.cents), "destination": _source(line.destination)}
    if line.type is LineType.HOLD:
        held = {"name": "Held for a payment", "type": "held"}
        return "internal_balance_transfer", {"source": _source(line.funding_source), "destination": held}
    return "capture", {
        "id": str(line.line_id),
        "amount_cents": abs(line.cents),
        "datetime_created": format_instant(line.when_us),
        "authorization": {
            "status": "captured",
            "merchant": {"display_name": line.to_name},
            "descriptor": line.to_name,
            "user": _build_user(statement.user),
        },
    }


def _build_payment(line: Line, payment: Payment, statement: Statement) -> _Json:
    target = payment.target_user_id
    address = None if target is not None or line.to_name.startswith("unregistered ") else line.to_name
    return {
        "id": str(payment.payment_id),
        "status": payment.status,
        "action": payment.action,
        "amount": _units(payment.amount_cents),
        "note": payment.note,
        "audience": payment.audience,
        "date_created": format_instant(payment.created_us),
        "date_completed": None if payment.completed_us is None else format_instant(payment.completed_us),
        "actor": _build_user(statement.people[payment.actor_id]),
        "target": {
            "type": payment.target_type,
            "email": address if address and "@" in address else None,
            "phone": address if address and "@" not in address else None,
            "user": None if target is None else _build_user(statement.people[target]),
        },
    }


def _build_user(person: Person) -> _Json:
    return {
        "id": str(person.user_id),
        "username": person.username,
        "display_name": person.display_name,
        "first_name": person.first_name,
        "last_name": person.last_name,
    }


def _source(name: str) -> _Json | None:
    return {"name": name, "type": _SOURCE_TYPES[name]} if name else None


def _units(cents: int) -> float:
    return cents / 100  # the shortest decimal of this float is exact below 10**13 cents
