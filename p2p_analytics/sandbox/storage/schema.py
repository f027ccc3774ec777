"""The tables of a database as a whole: are they what they should be, and away with all of them."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from p2p_analytics.sandbox.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable


def require(connection: sqlite3.Connection, statements: Iterable[str]) -> None:
    """Make sure that a database has what these statements make.

    Raises
    ------
    SettingError
        Something is missing or different.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as model:
        for statement in statements:
            model.execute(statement)
        query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        if not set(model.execute(query)) <= set(connection.execute(query)):
            raise SettingError("The tables of this database were altered; choose another file.")


def drop_everything(connection: sqlite3.Connection) -> None:
    """Drop all tables, those that refer to others before these."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid DESC"
    for (table,) in connection.execute(query).fetchall():
        connection.execute(f"DROP TABLE {table}")
