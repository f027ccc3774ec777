"""The sandbox's database: one SQLite file in WAL mode, money in whole cents, instants in microseconds.

Ids are INTEGER columns so that they order as numbers; on the wire they are text. A payment has one
``party`` row for each user it belongs to. The four trees of that table answer every combination
of filters in order, so the cost of a page depends on its size and on how many values the filters
name, never on the length of the history. Applications and tokens are in ``registry``.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import sqlite3
import stat
import threading
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.errors import describe_os_error
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage import ledger, schema
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

LARGEST: Final = 2**63 - 1
_APPLICATION_ID: Final = 0x70327061  # "p2pa", in bytes 68 to 71 of the file


class Spelling(IntEnum):
    """How a payment's datetimes are written: all three occur in the document."""

    STATED = 0  # 2024-05-31T18:30:00Z, as the rule says
    SAMPLED = 1  # 2024-05-31T18:30:00, as most samples show
    FRACTIONAL = 2  # 2024-05-31T18:30:00.250000, as after a create


_SCHEMA: Final = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE users (
    user_id INTEGER PRIMARY KEY, username TEXT NOT NULL UNIQUE, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    display_name TEXT NOT NULL, about TEXT NOT NULL, profile_picture_url TEXT NOT NULL, joined_us INTEGER NOT NULL,
    email TEXT NOT NULL UNIQUE, phone TEXT NOT NULL UNIQUE, balance_cents INTEGER NOT NULL CHECK (balance_cents >= 0)
);
CREATE TABLE friendships (user_id INTEGER, friend_id INTEGER, PRIMARY KEY (user_id, friend_id)) WITHOUT ROWID;
CREATE TABLE trusts (user_id INTEGER, trusted_id INTEGER, PRIMARY KEY (user_id, trusted_id)) WITHOUT ROWID;
CREATE TABLE banks (user_id INTEGER PRIMARY KEY REFERENCES users);
CREATE TABLE clock (now_us INTEGER NOT NULL);
CREATE TABLE payments (
    payment_id INTEGER PRIMARY KEY, status TEXT NOT NULL, action TEXT NOT NULL,
    amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0), note TEXT NOT NULL, audience TEXT NOT NULL,
    medium TEXT NOT NULL, spelling INTEGER NOT NULL, created_us INTEGER NOT NULL, completed_us INTEGER,
    actor_id INTEGER NOT NULL REFERENCES users, target_type TEXT NOT NULL, target_user_id INTEGER REFERENCES users,
    target_email TEXT, target_phone TEXT, fee_cents INTEGER, refund_of INTEGER REFERENCES payments, application TEXT
);
CREATE UNIQUE INDEX payments_refund ON payments (refund_of) WHERE refund_of IS NOT NULL;
CREATE INDEX payments_held ON payments (created_us) WHERE status = 'pending' AND action = 'pay';
CREATE TABLE party (
    user_id INTEGER, date_us INTEGER, payment_id INTEGER, action TEXT NOT NULL, status TEXT NOT NULL,
    actor_id INTEGER NOT NULL, PRIMARY KEY (user_id, date_us, payment_id)
) WITHOUT ROWID;
CREATE INDEX party_kind ON party (user_id, action, status, date_us, payment_id);
CREATE INDEX party_actor ON party (user_id, actor_id, date_us, payment_id);
CREATE INDEX party_actor_kind ON party (user_id, actor_id, action, status, date_us, payment_id);
"""
# A file of another schema is refused, instead of failing at the first query that meets the difference.
_SCHEMA_VERSION: Final = zlib.crc32(_SCHEMA.encode()) & 0x7FFFFFFF

_RANGE: Final = "date_us > ? AND date_us < ? ORDER BY date_us DESC, payment_id DESC LIMIT ?"
_KEYS: Final = "SELECT date_us, payment_id FROM party"
_BY_DATE: Final = f"{_KEYS} WHERE user_id = ? AND {_RANGE}"
_BY_KIND: Final = f"{_KEYS} INDEXED BY party_kind WHERE user_id = ? AND action = ? AND status = ? AND {_RANGE}"
_BY_ACTOR: Final = f"{_KEYS} INDEXED BY party_actor WHERE user_id = ? AND actor_id = ? AND {_RANGE}"
_BY_ACTOR_AND_KIND: Final = (
    f"{_KEYS} INDEXED BY party_actor_kind WHERE user_id = ? AND actor_id = ? AND action = ? AND status = ? AND {_RANGE}"
)


class Person(NamedTuple):
    """One row of ``users``."""

    user_id: int
    username: str
    first_name: str
    last_name: str
    display_name: str
    about: str
    profile_picture_url: str
    joined_us: int
    email: str
    phone: str
    balance_cents: int


class Payment(NamedTuple):
    """One row of ``payments``; the amount is a size without a sign, ``spelling`` says how its datetimes are written.

    A row with ``refund_of`` is the refund of that payment; it is part of it, and in no list of its own.
    ``application`` is the name, at that time, of the application through which the payment was made.
    """

    payment_id: int
    status: str
    action: str
    amount_cents: int
    note: str
    audience: str
    medium: str
    spelling: int
    created_us: int
    completed_us: int | None
    actor_id: int
    target_type: str
    target_user_id: int | None
    target_email: str | None = None
    target_phone: str | None = None
    fee_cents: int | None = None
    refund_of: int | None = None
    application: str | None = None

    def refund(self, payment_id: int, when_us: int) -> Payment:
        """Return the payment by which the money goes back to who sent it."""
        return self._replace(
            payment_id=payment_id,
            status=Status.SETTLED.value,
            note="",
            audience=Audience.PRIVATE.value,
            medium=Medium.API.value,
            created_us=when_us,
            completed_us=when_us,
            target_type=TargetType.USER.value,
            target_user_id=self.actor_id,
            target_email=None,
            target_phone=None,
            fee_cents=None,
            refund_of=self.payment_id,
        )


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """Which of a user's payments are wanted; an empty tuple is no filter, both instants are excluded."""

    actions: tuple[Action, ...] = ()
    statuses: tuple[Status, ...] = ()
    actors: tuple[int, ...] = ()
    after_us: int = -LARGEST
    before_us: int = LARGEST


class Store:
    """One database file: a connection for each living thread that reads, one for all that write, behind a lock.

    Raises
    ------
    SettingError
        The file cannot be opened, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: dict[threading.Thread | None, sqlite3.Connection] = {}  # None: the one that writes
        self._closed = False
        self._listing = threading.Lock()
        self._writing = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        _claim(path)

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's own connection; inside `writing` the one that writes, so that it reads what it wrote."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect("NORMAL", threading.current_thread())
        return connection

    def _connect(self, synchronous: str, user: threading.Thread | None) -> sqlite3.Connection:
        with self._listing:
            if self._closed:
                raise SettingError("The sandbox's database is closed: the sandbox has stopped.")
            for ended in [thread for thread in self._all if thread is not None and not thread.is_alive()]:
                self._all.pop(ended).close()
            # One thread at a time uses a connection, but not always the same one: writes, and closing.
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
            self._all[user] = connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def close(self) -> None:
        """Close every thread's connection; nothing can be asked afterwards."""
        with self._listing:
            self._closed = True
            while self._all:
                self._all.popitem()[1].close()
        self._local = threading.local()
        self._writer = None

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for several queries."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the write lock from its start; an exception rolls it back.

        When the block has ended without one, what it wrote is on the disk (``synchronous = FULL``). A block inside
        another of its thread is a part of that one, which an exception rolls back alone.
        """
        own: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if own is not None and own is self._writer:
            with _carried_out(own, "SAVEPOINT part", "RELEASE part", "ROLLBACK TO part", "RELEASE part"):
                yield own
            return
        with self._writing:
            writer = self._writer = self._writer or self._connect("FULL", None)
            self._local.connection = writer
            try:
                with _carried_out(writer, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"):
                    yield writer
            finally:
                self._local.connection = own

    # -- making and filling ---------------------------------------------------------------------

    def settings(self) -> dict[str, str]:
        """Return what the file was made with; empty for a new file.

        Raises
        ------
        SettingError
            The file is no sandbox database, or one of another version.
        """
        try:
            tables = {
                name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            if not tables:
                return {}
            version = self.connection.execute("PRAGMA user_version").fetchone()[0]
            if version != _SCHEMA_VERSION:
                raise SettingError(f"{self.path} was made by another version of the sandbox; choose another file.")
            return dict(self.connection.execute("SELECT name, value FROM settings"))
        except sqlite3.DatabaseError:
            raise SettingError(f"{self.path} is no sandbox database; choose another file.") from None

    def check(self) -> None:
        """Make sure that the tables are as `create` makes them.

        Raises
        ------
        SettingError
            They were altered.
        """
        schema.require(self.connection, (*_SCHEMA.split(";"), *ledger.SCHEMA))

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
        anew: bool = False,
    ) -> None:
        """Make the tables and fill them, all or nothing; nothing where another process was faster.

        `trusts` are pairs of who trusts and who is trusted. With `anew`, everything that the file holds goes first, in
        the same transaction: dropping a table is the one thing that the triggers of the books let pass.
        """
        both_ways = [pair for one, other in friendships for pair in ((one, other), (other, one))]
        with self.writing() as connection:
            if anew:
                schema.drop_everything(connection)
            elif connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone():
                return
            for statement in (*_SCHEMA.split(";"), *ledger.SCHEMA):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            _insert(connection, "settings", list(settings.items()))
            _insert(connection, "users", list(people))
            _insert(connection, "friendships", both_ways)
            _insert(connection, "trusts", list(trusts))
            _insert(connection, "banks", [(user_id,) for user_id in banks])
            _insert(connection, "clock", [(now_us,)])
            ledger.open_books(connection)
            _insert_payments(connection, list(payments))
        self.connection.execute("ANALYZE")

    def add_payments(self, payments: Iterable[Payment]) -> None:
        """Insert payments in one transaction; balances stay as they are.

        Raises
        ------
        SettingError
            An id is taken, an amount is negative, or a person is nobody; nothing is inserted.
        """
        rows = list(payments)
        try:
            with self.writing() as connection:
                _insert_payments(connection, rows)
        except sqlite3.IntegrityError as error:
            raise SettingError(f"These payments cannot be stored: {error}.") from None

    def now_us(self) -> int:
        """Return where the town's clock stands."""
        return int(self.connection.execute("SELECT now_us FROM clock").fetchone()[0])

    def counts(self) -> dict[str, int]:
        """Return how much there is of what a person would ask for."""
        query = """
            SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM payments) AS payments,
            (SELECT count(*) FROM payments WHERE status = 'pending') AS pending,
            (SELECT count(*) FROM entries) AS ledger_entries
        """
        cursor = self.connection.execute(query)
        return {column[0]: count for column, count in zip(cursor.description, cursor.fetchone(), strict=True)}

    def next_payment_id(self) -> int:
        """Return an id after which none is in use."""
        return int(self.connection.execute("SELECT coalesce(max(payment_id), 0) + 1 FROM payments").fetchone()[0])

    # -- people ---------------------------------------------------------------------------------

    def people(self) -> list[Person]:
        """Return everybody but the fixed test user: the town's viewer, then the others in the order of their ids."""
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
        """Say whether two users are friends."""
        query = "SELECT 1 FROM friendships WHERE user_id = ? AND friend_id = ?"
        return self.connection.execute(query, (one, other)).fetchone() is not None

    def count_friends(self, user_id: int) -> int:
        """Return how many friends a user has."""
        query = "SELECT count(*) FROM friendships WHERE user_id = ?"
        return int(self.connection.execute(query, (user_id,)).fetchone()[0])

    def friends(self, user_id: int, *, after: int, before: int, limit: int) -> list[Person]:
        """Return a user's friends with ids between the two bounds, in the order of their ids."""
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
        """Return the newest wanted payments of a user, at most `limit`, newest first: date_created, then id."""
        connection = self.connection
        streams = [
            connection.execute(query, (*values, wanted.after_us, wanted.before_us, limit))
            for query, values in _streams(user_id, wanted)
        ]
        # Each cursor yields in order and only as far as it is read: the merge reads `limit` keys and one more of each.
        keys = [key for _, key in itertools.islice(heapq.merge(*streams, reverse=True), limit)]
        for stream in streams:
            stream.close()
        query = f"SELECT * FROM payments WHERE payment_id IN ({_marks(len(keys))})"  # noqa: S608 - only question marks
        rows = {row[0]: Payment._make(row) for row in connection.execute(query, keys)}
        return [rows[key] for key in keys]


@contextlib.contextmanager
def _carried_out(connection: sqlite3.Connection, begin: str, end: str, *undo: str) -> Iterator[None]:
    """Do all of a block or nothing of it."""
    connection.execute(begin)
    try:
        yield
        connection.execute(end)
    except BaseException:
        if connection.in_transaction:  # some errors have ended it already
            for statement in undo:
                connection.execute(statement)
        raise


def _claim(path: Path) -> None:
    """Make the file, or make sure that it is a sandbox's before anything could change it."""
    try:
        # SQLite gives its side files the mode of the database: nobody else on the machine reads them.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        with os.fdopen(descriptor, "rb") as file:
            header = file.read(100) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b"no file"
    except OSError as error:
        raise SettingError(f"{path} cannot be opened for writing: {describe_os_error(error)}.") from None
    if not header:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    elif header[:16] != b"SQLite format 3\0" or int.from_bytes(header[68:72], "big") != _APPLICATION_ID:
        raise SettingError(f"{path} is no sandbox database; choose another file.")


def count_streams(wanted: PaymentFilter) -> int:
    """Return how many index ranges a page of these payments is merged from; its cost grows with that."""
    return sum(1 for _ in _streams(0, wanted))


def _streams(user_id: int, wanted: PaymentFilter) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield one ordered index range for each combination of the filters' values; absent closed words are all words."""
    everything = set(wanted.actions or Action) == set(Action) and set(wanted.statuses or Status) == set(Status)
    kinds = [
        (action.value, status.value) for action in wanted.actions or Action for status in wanted.statuses or Status
    ]
    if wanted.actors and everything:
        yield from ((_BY_ACTOR, (user_id, actor)) for actor in wanted.actors)
    elif wanted.actors:
        yield from ((_BY_ACTOR_AND_KIND, (user_id, actor, *kind)) for actor in wanted.actors for kind in kinds)
    elif everything:
        yield _BY_DATE, (user_id,)
    else:
        yield from ((_BY_KIND, (user_id, *kind)) for kind in kinds)


def _insert_payments(connection: sqlite3.Connection, rows: list[Payment]) -> None:
    insert_payments(connection, rows)
    held = [row for row in rows if (row.action, row.status) == (Action.PAY, Status.PENDING) and row.amount_cents]
    ledger.hold(connection, [(row.payment_id, row.amount_cents) for row in held])


def insert_payments(connection: sqlite3.Connection, rows: Sequence[Payment]) -> None:
    """Insert payments and list them with their parties; the books are the caller's business."""
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
