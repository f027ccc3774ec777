"""The schema of the database: its tables, a check against alteration, and their removal."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable
from typing import Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage import ledger

_TABLES: Final = """
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

STATEMENTS: Final = (*_TABLES.split(";"), *ledger.SCHEMA)
# A file with another schema is refused when it is opened, not at the first query that fails on it.
VERSION: Final = zlib.crc32("".join(STATEMENTS).encode()) & 0x7FFFFFFF


def verify_schema(connection: sqlite3.Connection, statements: Iterable[str]) -> None:
    """Check that a database has the tables, indexes and triggers that these statements create.

    Raises
    ------
    SettingError
        One of them is missing or different.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as model:
        for statement in statements:
            model.execute(statement)
        query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        if not set(model.execute(query)) <= set(connection.execute(query)):
            raise SettingError("The tables of this database were altered; choose another file.")


def drop_everything(connection: sqlite3.Connection) -> None:
    """Drop all tables, referencing tables before the tables they reference."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid DESC"
    for (table,) in connection.execute(query).fetchall():
        connection.execute(f"DROP TABLE {table}")
