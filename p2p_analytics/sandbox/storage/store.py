"""Queries and inserts of the sandbox's database: people, friendships and payments.

Money is in whole cents, instants are in microseconds. Ids are INTEGER columns so that they order as numbers; on the
wire they are text. A payment has one ``party`` row for each of its users. Applications and tokens are in
``oauth_store``.
"""

from __future__ import annotations

import heapq
import itertools
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage import ledger, schema
from p2p_analytics.sandbox.storage.database import Database
from p2p_analytics.sandbox.storage.index_ranges import list_index_ranges
from p2p_analytics.sandbox.storage.rows import Payment, PaymentFilter, Person
from p2p_analytics.vocabulary import Action, Status


class Store(Database):
    """Tables of one town: settings, people, friendships, payments and the ledger."""

    # -- creating and filling ---------------------------------------------------------------------

    def settings(self) -> dict[str, str]:
        """Return the settings that the file was created with; empty for a new file.

        Raises
        ------
        SettingError
            The file is not a sandbox database, or was created by another version.
        """
        try:
            tables = {
                name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            if not tables:
                return {}
            version = self.connection.execute("PRAGMA user_version").fetchone()[0]
            if version != schema.VERSION:
                raise SettingError(f"{self.path} was created by another version of the sandbox; choose another file.")
            return dict(self.connection.execute("SELECT name, value FROM settings"))
        except sqlite3.DatabaseError:
            raise SettingError(f"{self.path} is not a sandbox database; choose another file.") from None

    def check(self) -> None:
        """Compare the tables with the statements of `create`.

        Raises
        ------
        SettingError
            A table was altered.
        """
        schema.verify_schema(self.connection, schema.STATEMENTS)

    def create(  # noqa: PLR0913 - each is a table
        self,
        settings: Mapping[str, str],
        people: Iterable[Person],
        friendships: Iterable[tuple[int, int]],
        payments: Iterable[Payment],
        *,
        trusts: Iterable[tuple[int, int]] = (),
        banks: Iterable[int] = (),
        now_us: int = 0,
        replace: bool = False,
    ) -> None:
        """Create and fill the tables in one transaction; do nothing where another process has done so already.

        `trusts` are pairs of (user, trusted user). With `replace`, the same transaction first drops all tables; the
        triggers of the ledger do not prevent that.
        """
        both_ways = [pair for one, other in friendships for pair in ((one, other), (other, one))]
        with self.writing() as connection:
            if replace:
                schema.drop_everything(connection)
            elif connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone():
                return
            for statement in schema.STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
            _insert(connection, "settings", list(settings.items()))
            _insert(connection, "users", list(people))
            _insert(connection, "friendships", both_ways)
            _insert(connection, "trusts", list(trusts))
            _insert(connection, "banks", [(user_id,) for user_id in banks])
            _insert(connection, "clock", [(now_us,)])
            ledger.open_books(connection)
            _insert_payments_and_escrow(connection, list(payments))
        self.connection.execute("ANALYZE")

    def add_payments(self, payments: Iterable[Payment]) -> None:
        """Insert payments in one transaction, without changing balances.

        Raises
        ------
        SettingError
            An id is taken, an amount is negative, or a user does not exist; nothing is inserted.
        """
        rows = list(payments)
        try:
            with self.writing() as connection:
                _insert_payments_and_escrow(connection, rows)
        except sqlite3.IntegrityError as error:
            raise SettingError(f"These payments cannot be stored: {error}.") from None

    def now_us(self) -> int:
        """Return the time of the town's clock."""
        return int(self.connection.execute("SELECT now_us FROM clock").fetchone()[0])

    def counts(self) -> dict[str, int]:
        """Return the numbers of users, payments, pending payments and ledger entries."""
        query = """
            SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM payments) AS payments,
            (SELECT count(*) FROM payments WHERE status = 'pending') AS pending,
            (SELECT count(*) FROM entries) AS ledger_entries
        """
        cursor = self.connection.execute(query)
        return {column[0]: count for column, count in zip(cursor.description, cursor.fetchone(), strict=True)}

    def next_payment_id(self) -> int:
        """Return an id above all ids in use."""
        return int(self.connection.execute("SELECT coalesce(max(payment_id), 0) + 1 FROM payments").fetchone()[0])

    # -- people ---------------------------------------------------------------------------------

    def people(self) -> list[Person]:
        """Return all users except the fixed test user: the town's viewer first, then the others by id."""
        query = """
            SELECT * FROM users
            WHERE CAST(user_id AS TEXT) IS NOT (SELECT value FROM settings WHERE name = 'test_user')
            ORDER BY username IS NOT (SELECT value FROM settings WHERE name = 'viewer'), user_id
        """
        return [Person(*row) for row in self.connection.execute(query)]

    def person(self, user_id: int) -> Person | None:
        """Return one user."""
        return self.people_by_id([user_id]).get(user_id)

    def person_named(self, username: str) -> Person | None:
        """Return the user with this username."""
        row = self.connection.execute("SELECT * FROM users WHERE username = ?", (username,)).fetchone()
        return Person(*row) if row else None

    def people_by_id(self, user_ids: Iterable[int]) -> dict[int, Person]:
        """Return several users in one query."""
        wanted = list(set(user_ids))
        query = f"SELECT * FROM users WHERE user_id IN ({_marks(len(wanted))})"  # noqa: S608 - only question marks
        return {row[0]: Person._make(row) for row in self.connection.execute(query, wanted)}

    def are_friends(self, one: int, other: int) -> bool:
        """Return whether two users are friends."""
        query = "SELECT 1 FROM friendships WHERE user_id = ? AND friend_id = ?"
        return self.connection.execute(query, (one, other)).fetchone() is not None

    def count_friends(self, user_id: int) -> int:
        """Return the number of a user's friends."""
        query = "SELECT count(*) FROM friendships WHERE user_id = ?"
        return int(self.connection.execute(query, (user_id,)).fetchone()[0])

    def friends(self, user_id: int, *, after: int, before: int, limit: int) -> list[Person]:
        """Return at most `limit` friends with ids between the two exclusive bounds, by id."""
        query = (
            "SELECT users.* FROM friendships JOIN users ON users.user_id = friend_id "
            "WHERE friendships.user_id = ? AND friend_id > ? AND friend_id < ? ORDER BY friend_id LIMIT ?"
        )
        return [Person(*row) for row in self.connection.execute(query, (user_id, after, before, limit))]

    # -- payments -------------------------------------------------------------------------------

    def payment(self, payment_id: int) -> Payment | None:
        """Return one payment."""
        row = self.connection.execute("SELECT * FROM payments WHERE payment_id = ?", (payment_id,)).fetchone()
        return Payment(*row) if row else None

    def refund(self, payment_id: int) -> Payment | None:
        """Return the refund of a payment."""
        row = self.connection.execute("SELECT * FROM payments WHERE refund_of = ?", (payment_id,)).fetchone()
        return Payment(*row) if row else None

    def payments(self, user_id: int, wanted: PaymentFilter, limit: int) -> list[Payment]:
        """Return at most `limit` payments that match a filter, newest first: date_created, then id."""
        connection = self.connection
        cursors = [
            connection.execute(query, (*values, wanted.after_us, wanted.before_us, limit))
            for query, values in list_index_ranges(user_id, wanted)
        ]
        # Cursors are ordered and lazy, so the merge reads `limit` keys and one more from each cursor.
        keys = [key for _, key in itertools.islice(heapq.merge(*cursors, reverse=True), limit)]
        for cursor in cursors:
            cursor.close()
        query = f"SELECT * FROM payments WHERE payment_id IN ({_marks(len(keys))})"  # noqa: S608 - only question marks
        rows = {row[0]: Payment._make(row) for row in connection.execute(query, keys)}
        return [rows[key] for key in keys]


def _insert_payments_and_escrow(connection: sqlite3.Connection, rows: list[Payment]) -> None:
    insert_payments(connection, rows)
    pending = [row for row in rows if (row.action, row.status) == (Action.PAY, Status.PENDING) and row.amount_cents]
    ledger.hold_in_escrow(connection, [(row.payment_id, row.amount_cents) for row in pending])


def insert_payments(connection: sqlite3.Connection, rows: Sequence[Payment]) -> None:
    """Insert payments and their party rows; the caller posts the ledger entries."""
    _insert(connection, "payments", rows)
    party = [
        (user_id, row.created_us, row.payment_id, row.action, row.status, row.actor_id)
        for row in rows
        if row.refund_of is None
        for user_id in {row.actor_id, row.target_user_id} - {None}
    ]
    _insert(connection, "party", sorted(party))


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        query = f"INSERT INTO {table} VALUES ({_marks(len(rows[0]))})"  # noqa: S608 - tables of this module only
        connection.executemany(query, rows)


def _marks(count: int) -> str:
    return ", ".join("?" * count)
