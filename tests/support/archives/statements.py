"""Statements as `read_statements` returns them, from literal rows."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from p2p_analytics.frames.merge_sources import sort_frame
from p2p_analytics.frames.schema import PAYMENTS, PROBLEMS, STATEMENT
from p2p_analytics.records import Me, User
from p2p_analytics.statements import Statements
from support.frames import frame_from_rows

if TYPE_CHECKING:
    from pathlib import Path

BOOKKEEPING = {"lock", "batches.json"}  # which an import and its undo may leave different


def row(payment_id: int | str, name: str = "Bo", **fields: Any) -> dict[str, Any]:
    """Return a row of a statement: 5.00 from the account holder to a person, settled."""
    fields = {"amount_cents": 500, "direction": "out", "action": "pay", "status": "settled", **fields}
    is_actor = (fields["direction"] == "out") == (fields["action"] == "pay")
    sign = 1 if fields["direction"] == "in" else -1
    date = datetime.fromisoformat(fields.pop("date", "2024-05-01T12:00:00")).replace(tzinfo=UTC)
    sides = ("actor", "target_user") if is_actor else ("target_user", "actor")
    account = fields.get("account_id", "ada")
    return {
        "payment_id": str(payment_id), "note": f"note {payment_id}", "date_created": date,
        "date_completed": date if fields["status"] == "settled" else None,
        f"{sides[0]}_id": account, f"{sides[0]}_username": account, f"{sides[0]}_display_name": "Ada",
        f"{sides[1]}_display_name": name, "target_type": "user", "counterparty_name": name,
        "source": "statement", "account_id": account, "kind": "payment", "currency": "USD",
        "flow_cents": sign * abs(fields["amount_cents"]), "type": "Payment", "funding_source": "balance",
        "tip_cents": 0, "file": "may.csv", "line": 4, **fields,
    }  # fmt: skip


def statements_of(*rows: dict[str, Any], account: str = "ada", **fields: Any) -> Statements:
    """Return the statements of an account with these rows."""
    payments = sort_frame(frame_from_rows(rows, {**PAYMENTS, **STATEMENT}))
    names = list(dict.fromkeys([each["file"] for each in rows])) or ["empty.csv"]
    newest = payments["date_created"].max()
    files = pd.DataFrame({"file": names, "format": "own", "account": account}).astype("str")
    holders = {
        each: Me(user=User(id=each, username=each.removeprefix("@"), display_name="Ada"))
        for each in {account, *payments["account_id"]}
    }
    problems = fields.pop("problems", frame_from_rows([], PROBLEMS))
    return Statements(
        payments=payments,
        reconciliation=frame_from_rows([], {"account": "str", "reconciled": "boolean"}),
        problems=problems,
        files=files.assign(period_end=newest),
        _holders=holders,
        **fields,
    )


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file of an archive, except the lock and the journal."""
    files = [path for path in folder.iterdir() if path.name not in BOOKKEEPING]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
