"""Queries of one account: the payments that its user is a party to, and the ledger entries of its balance."""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from p2p_analytics.sandbox.storage.rows import Payment

_PAYMENTS: Final = "SELECT payments.* FROM party JOIN payments USING (payment_id) WHERE party.user_id = ?"
_REFUNDS: Final = (
    "SELECT refund.* FROM party JOIN payments AS refund ON refund.refund_of = party.payment_id "
    "WHERE party.user_id = ?1 AND refund.actor_id = ?1"
)
_ENTRIES: Final = "SELECT entry_id, payment_id, step, cents, date_us FROM entries WHERE account = ? ORDER BY entry_id"


class Entry(NamedTuple):
    """One ledger entry of a user's account."""

    entry_id: int
    payment_id: int | None
    step: str
    cents: int
    date_us: int


def list_account_payments(connection: sqlite3.Connection, user_id: int) -> list[Payment]:
    """Return the payments of a user in no particular order, and the refunds that the user received."""
    rows = [*connection.execute(_PAYMENTS, (user_id,)), *connection.execute(_REFUNDS, (user_id,))]
    return [Payment(*row) for row in rows]


def list_account_entries(connection: sqlite3.Connection, user_id: int) -> list[Entry]:
    """Return the ledger entries of a user's balance, oldest first."""
    return [Entry(*row) for row in connection.execute(_ENTRIES, (user_id,))]
