"""Append-only double-entry ledger in whole cents.

Every movement of money is a posting: ledger entries, of one payment or of none, that sum to zero. The account of a user
is the user id; the date comes from the town's clock. ``users.balance_cents`` caches the sum of the user's entries, so
that one conditional update both checks and changes the balance.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final


class Account(IntEnum):
    """Accounts that belong to no user; user ids are positive."""

    BANK = -1  # everything outside the service: the users' banks, and the time before the ledger was opened
    ESCROW = -2  # money sent to an address that has no account yet
    FEES = -3  # fees on top of amounts


SCHEMA: Final = (
    """CREATE TABLE entries (
        entry_id INTEGER PRIMARY KEY, payment_id INTEGER REFERENCES payments DEFERRABLE INITIALLY DEFERRED,
        step TEXT NOT NULL, account INTEGER NOT NULL CHECK (account >= -3 AND account <> 0),
        cents INTEGER NOT NULL CHECK (cents <> 0), date_us INTEGER NOT NULL
    )""",
    # Inserting a payment after its entries makes SQLite check the deferred foreign key, which scans without an index.
    "CREATE INDEX entries_payment ON entries (payment_id)",
    """CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT raise(ABORT, 'entries are never changed'); END""",
    """CREATE TRIGGER entries_are_not_removed BEFORE DELETE ON entries
    BEGIN SELECT raise(ABORT, 'entries are never removed'); END""",
    # INSERT OR REPLACE removes rows without firing a trigger on DELETE.
    """CREATE TRIGGER entries_are_not_replaced BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE entry_id = NEW.entry_id)
    BEGIN SELECT raise(ABORT, 'entries are never replaced'); END""",
)


def open_books(connection: sqlite3.Connection) -> None:
    """Enter the opening balance of every user against `Account.BANK`."""
    held = connection.execute("SELECT user_id, balance_cents FROM users WHERE balance_cents > 0").fetchall()
    for user_id, cents in held:
        _enter(connection, None, "opening", {user_id: cents, Account.BANK: -cents})


def hold_in_escrow(connection: sqlite3.Connection, payments: Iterable[tuple[int, int]]) -> None:
    """Enter the escrow of generated payments, as (payment id, cents); the balances of their senders exclude it."""
    for payment_id, cents in payments:
        _enter(connection, payment_id, "opening", {Account.ESCROW: cents, Account.BANK: -cents})


def post(connection: sqlite3.Connection, payment_id: int | None, step: str, changes: Mapping[int, int]) -> bool:
    """Move money between accounts; return False, with nothing changed, where a user's balance does not cover it.

    Parameters
    ----------
    payment_id : int or None
        The payment that moves the money.
    step : str
        Reason of the posting, for readers of the ledger.
    changes : mapping of account to cents
        They sum to zero, and at most one of them takes from a user.
    """
    changed = {account: cents for account, cents in changes.items() if cents}
    if sum(changed.values()) != 0 or sum(account > 0 > cents for account, cents in changed.items()) > 1:
        raise ValueError("A posting sums to zero and takes from one user at most.")
    # The paying user comes first: where the condition fails, nothing has been written yet.
    for account, cents in sorted(changed.items(), key=lambda one: one[1]):
        if account > 0:
            query = "UPDATE users SET balance_cents = balance_cents + ? WHERE user_id = ? AND balance_cents + ? >= 0"
            if connection.execute(query, (cents, account, cents)).rowcount != 1:
                return False
    _enter(connection, payment_id, step, changed)
    return True


def audit(connection: sqlite3.Connection) -> list[str]:
    """Return one sentence for each inconsistency of the ledger; an empty list when there is none."""
    return [
        sentence.format(*row) for query, sentence in _CHECKS for row in connection.execute(query, _ACCOUNTS).fetchall()
    ]


def _enter(
    connection: sqlite3.Connection,
    payment_id: int | None,
    step: str,
    changes: Mapping[int, int] | Mapping[Account, int],
) -> None:
    query = (
        "INSERT INTO entries (payment_id, step, account, cents, date_us) "
        "VALUES (?, ?, ?, ?, (SELECT now_us FROM clock))"
    )
    connection.executemany(query, [(payment_id, step, int(account), cents) for account, cents in changes.items()])


_ACCOUNTS: Final = {"escrow": int(Account.ESCROW)}
_CHECKS: Final = (
    (
        """SELECT payment_id, sum(cents) FROM entries GROUP BY payment_id HAVING sum(cents) <> 0""",
        "The entries of payment {} sum to {} cents, not to zero.",
    ),
    (
        """SELECT user_id, balance_cents, coalesce(total, 0) FROM users
        LEFT JOIN (SELECT account, sum(cents) AS total FROM entries GROUP BY account) ON account = user_id
        WHERE balance_cents <> coalesce(total, 0)""",
        "User {} holds {} cents, but their entries sum to {}.",
    ),
    ("""SELECT user_id, balance_cents FROM users WHERE balance_cents < 0""", "User {} is below zero: {} cents."),
    (
        """SELECT account, sum(cents) FROM entries
        WHERE account > 0 AND account NOT IN (SELECT user_id FROM users) GROUP BY account""",
        "Account {} belongs to no user and holds {} cents.",
    ),
    (
        # Entries of a refund carry the refund's id, but empty the escrow of the refunded payment.
        """SELECT root, status, amount_cents, held FROM (
            SELECT coalesce(refund_of, payment_id) AS root, sum(cents) AS held
            FROM entries JOIN payments USING (payment_id) WHERE account = :escrow GROUP BY root
        ) JOIN payments ON payment_id = root WHERE held <> iif(status = 'pending', amount_cents, 0)""",
        "Payment {} is {} over {} cents, but {} cents of it are in escrow.",
    ),
    (
        """SELECT payment_id FROM payments WHERE status = 'pending' AND action = 'pay' AND amount_cents > 0
        AND payment_id NOT IN (SELECT payment_id FROM entries WHERE account = :escrow)""",
        "Payment {} is pending, but it has nothing in escrow.",
    ),
    (
        """SELECT payments.payment_id, party.status, payments.status FROM party JOIN payments USING (payment_id)
        WHERE party.status <> payments.status""",
        "Payment {} is listed as {}, but it is {}.",
    ),
)
