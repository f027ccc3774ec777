"""Text of the service's JSON history to a table of cells, one row for each transaction and one for the balances."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, Final, TypeAlias

import pyarrow as pa

from p2p_analytics.errors import StatementError
from p2p_analytics.statements.formats.format import NoHeaderError

_Json: TypeAlias = "dict[str, Any]"

PREFIX: Final = "transactions."
FIELDS: Final = (
    "id", "type", "datetime_created", "note", "amount", "way", "status", "action", "reference", "target_type",
    "actor_id", "actor_name", "actor_username",
    "target_id", "target_name", "target_username", "source_name", "source_type", "destination",
    "merchant", "fee_cents", "holder_name", "holder_username", "is_row", "start_balance", "end_balance",
)  # fmt: skip
_LONGEST: Final = 2**26  # bytes
_MOST_ROWS: Final = 100_000
_MOST_VALUES: Final = 5_000_000  # as separators of the text, which bound the Python objects before they are made
_SEPARATORS: Final = (b",", b"{", b"[")
IS_OBJECT, IS_OTHER = "yes", "no"  # the words of the field is_row
_IN, _OUT = "in", "out"
_BALANCE: Final = "balance"


def build_cells(utf8: bytes, name: str) -> dict[str, pa.Array]:
    """Return the cells of each field: a row for each transaction, and a last one for the balances.

    Raises
    ------
    NoHeaderError
        The text is not JSON, or has no list of transactions.
    StatementError
        The text is longer than a history is, or has more transactions.
    """
    if len(utf8) > _LONGEST or sum(utf8.count(separator) for separator in _SEPARATORS) > _MOST_VALUES:
        raise StatementError(f"{name} is longer than a JSON history: download it again for a shorter period.")
    try:
        # Numbers stay text, so that amounts are exact and no number is too long to be read.
        found = json.loads(utf8.decode(), parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        raise NoHeaderError(f"{name} is no statement: it begins as JSON and cannot be read as such.") from None
    data = found.get("data", found) if isinstance(found, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("transactions"), list):
        raise NoHeaderError(f"{name} is no statement: a JSON history has a list data.transactions, and this has none.")
    transactions = data["transactions"]
    if len(transactions) > _MOST_ROWS:
        raise StatementError(
            f"{name} has {len(transactions):,} transactions, which no history has: download it for a shorter period."
        )
    columns: dict[str, list[str | None]] = {field: [] for field in FIELDS}
    balances = {"start_balance": data.get("start_balance"), "end_balance": data.get("end_balance")}
    for row in chain(map(_flatten, transactions), [balances]):
        for field, cells in columns.items():
            cells.append(_to_text(row.get(field)))
    return {field: pa.array(cells, pa.string()) for field, cells in columns.items()}


def _flatten(row: object) -> _Json:
    """Return the fields of a transaction."""
    if not isinstance(row, dict):
        return {"is_row": IS_OTHER}
    kind = row["type"] if isinstance(row.get("type"), str) else ""
    part = _get(row, kind)
    source = _get(row, "funding_source")
    fields = {name: row.get(name) for name in ("id", "type", "datetime_created", "note", "amount")}
    fields |= {"is_row": IS_OBJECT, "source_name": source.get("name"), "source_type": source.get("type")}
    payment = _get(part, "payment") if kind == "refund" else part
    if kind in {"payment", "refund"}:
        return fields | _flatten_payment(payment) | ({"reference": payment.get("id")} if kind == "refund" else {})
    return fields | _flatten_other(kind, part)


def _flatten_payment(payment: _Json) -> _Json:
    actor, target = _get(payment, "actor"), _get(payment, "target")
    user = _get(target, "user")
    names = user.get("display_name"), target.get("email"), target.get("phone")
    address = next(filter(None, names), _get(target, "merchant").get("display_name"))
    return {
        "status": payment.get("status"),
        "action": payment.get("action"),
        "actor_id": _get_id(actor),
        "actor_name": actor.get("display_name"),
        "actor_username": actor.get("username"),
        "target_type": target.get("type"),
        "target_id": _get_id(user),
        "target_name": address,
        "target_username": user.get("username"),
    }


def _flatten_other(kind: str, part: _Json) -> _Json:
    source, destination = _get(part, "source"), _get(part, "destination")
    holder = _get(_get(part, "authorization"), "user")
    merchant = _get(part, "merchant") or _get(_get(part, "authorization"), "merchant")
    way = {"capture": _OUT, "disbursement": _IN, "direct_deposit": _IN}.get(kind)
    if kind == "transfer":
        way = _IN if part.get("type") == "add_funds" else _OUT
    if kind == "internal_balance_transfer":
        way = _OUT if source.get("type") == _BALANCE else _IN if destination.get("type") == _BALANCE else None
    return {
        "status": part.get("status") if kind == "transfer" else None,
        "way": way,
        "destination": destination.get("name"),
        "target_type": destination.get("type"),
        "merchant": merchant.get("display_name"),
        "fee_cents": part.get("amount_fee_cents"),
        "holder_name": holder.get("display_name"),
        "holder_username": holder.get("username"),
    }


def _get(parent: _Json, name: str) -> _Json:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def _get_id(user: _Json) -> str | None:
    """Return the id of a user, which is text or a number; anything else is none."""
    found = user.get("id")
    return found if isinstance(found, str) and found else None  # numbers are read as text


def _to_text(value: object) -> str | None:
    """Return a value as text; halves of a character that UTF-8 cannot hold become a question mark."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
