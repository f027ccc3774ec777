"""The sandbox's books: an append-only double-entry ledger in whole cents.

Every movement of money is a posting: entries of one payment, or of none, that sum to zero. A user's
account is their id. ``users.balance_cents`` is the sum of a user's entries, kept beside them so that
one conditional update decides whether the money is there.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping


class Account(IntEnum):
    """The accounts that are nobody's; ids of users are positive."""

    BANK = -1  # everything outside the service: people's banks, and the time before the books were opened
    ESCROW = -2  # what was sent to somebody who has no account yet
    FEES = -3  # what payers paid on top


SCHEMA: Final = (
    """CREATE TABLE entries (
        entry_id INTEGER PRIMARY KEY, payment_id INTEGER REFERENCES payments DEFERRABLE INITIALLY DEFERRED,
        step TEXT NOT NULL, account INTEGER NOT NULL CHECK (account >= -3 AND account <> 0),
        cents INTEGER NOT NULL CHECK (cents <> 0)
    )""",
    # A payment is stored after its entries, and SQLite then looks for them: without an index, in all entries ever made.
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
    """Enter what everybody holds when the books are opened; it came from outside."""
    held = connection.execute("SELECT user_id, balance_cents FROM users WHERE balance_cents > 0").fetchall()
    for user_id, cents in held:
        _enter(connection, None, "opening", {user_id: cents, Account.BANK: -cents})


def hold(connection: sqlite3.Connection, payments: Iterable[tuple[int, int]]) -> None:
    """Enter what a made-up history keeps in escrow, as (payment id, cents); the senders' balances are without it."""
    for payment_id, cents in payments:
        _enter(connection, payment_id, "opening", {Account.ESCROW: cents, Account.BANK: -cents})


def post(connection: sqlite3.Connection, payment_id: int | None, step: str, changes: Mapping[int, int]) -> bool:
    """Move money between accounts; False, with nothing changed, where a user does not have it.

    Parameters
    ----------
    payment_id : int or None
        The payment that moves it.
    step : str
        What happened, for people who read the books.
    changes : mapping of account to cents
        They sum to zero, and at most one user loses.
    """
    changed = {account: cents for account, cents in changes.items() if cents}
    if sum(changed.values()) != 0 or sum(account > 0 > cents for account, cents in changed.items()) > 1:
        raise ValueError("A posting sums to zero and takes from one user at most.")
    # The user who loses comes first: where the condition fails, nothing has been written yet.
    for account, cents in sorted(changed.items(), key=lambda one: one[1]):
        if account > 0:
            query = "UPDATE users SET balance_cents = balance_cents + ? WHERE user_id = ? AND balance_cents + ? >= 0"
            if connection.execute(query, (cents, account, cents)).rowcount != 1:
                return False
    _enter(connection, payment_id, step, changed)
    return True


def audit(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the books, one sentence each; an empty list when all is well."""
    return [
        sentence.format(*row) for query, sentence in _CHECKS for row in connection.execute(query, _ACCOUNTS).fetchall()
    ]


def _enter(
    connection: sqlite3.Connection,
    payment_id: int | None,
    step: str,
    changes: Mapping[int, int] | Mapping[Account, int],
) -> None:
    query = "INSERT INTO entries (payment_id, step, account, cents) VALUES (?, ?, ?, ?)"
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
        "Account {} is nobody's and holds {} cents.",
    ),
    (
        # A refund's entries belong to the refund: it empties what the payment that it returns had put in.
        """SELECT root, status, amount_cents, held FROM (
            SELECT coalesce(refund_of, payment_id) AS root, sum(cents) AS held
            FROM entries JOIN payments USING (payment_id) WHERE account = :escrow GROUP BY root
        ) JOIN payments ON payment_id = root WHERE held <> iif(status = 'pending', amount_cents, 0)""",
        "Payment {} is {} over {} cents, but {} cents of it are in escrow.",
    ),
    (
        """SELECT payment_id FROM payments WHERE status = 'pending' AND action = 'pay' AND amount_cents > 0
        AND payment_id NOT IN (SELECT payment_id FROM entries WHERE account = :escrow)""",
        "Payment {} is pending, but nothing of it is in escrow.",
    ),
    (
        """SELECT payments.payment_id, party.status, payments.status FROM party JOIN payments USING (payment_id)
        WHERE party.status <> payments.status""",
        "Payment {} is listed as {}, but it is {}.",
    ),
)
