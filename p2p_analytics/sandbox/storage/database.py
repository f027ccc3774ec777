"""Connections and transactions of one SQLite file in WAL mode."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from p2p_analytics.errors import describe_os_error
from p2p_analytics.sandbox.errors import SettingError

_APPLICATION_ID: Final = 0x70327061  # "p2pa", in bytes 68 to 71 of the file


class Database:
    """One database file: a connection for each living thread that reads, one for all writes, behind a lock.

    Raises
    ------
    SettingError
        The file cannot be opened, or is not a sandbox database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: dict[threading.Thread | None, sqlite3.Connection] = {}  # None: the one for writes
        self._closed = False
        self._connections_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        try:
            # SQLite gives the WAL and other side files the mode of the database, so they are private too.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
            with os.fdopen(descriptor, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # SQLite waits for no other process while it changes to WAL
                header = file.read(100) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b"no file"
                if not header:
                    with contextlib.closing(sqlite3.connect(path)) as connection:
                        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                        connection.execute("PRAGMA journal_mode = WAL")
        except OSError as error:
            raise SettingError(f"{path} cannot be opened for writing: {describe_os_error(error)}.") from None
        if header and (header[:16] != b"SQLite format 3\0" or int.from_bytes(header[68:72], "big") != _APPLICATION_ID):
            raise SettingError(f"{path} is not a sandbox database; choose another file.")

    @property
    def connection(self) -> sqlite3.Connection:
        """Connection of the calling thread; inside `writing` the writer's, so a block reads its own writes."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect("NORMAL", threading.current_thread())
        return connection

    def _connect(self, synchronous: str, owner: threading.Thread | None) -> sqlite3.Connection:
        with self._connections_lock:
            if self._closed:
                raise SettingError("The sandbox's database is closed: the sandbox has stopped.")
            for ended in [thread for thread in self._connections if thread is not None and not thread.is_alive()]:
                self._connections.pop(ended).close()
            # check_same_thread is off because threads take turns on the writer, and `close` runs in any thread.
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
            self._connections[owner] = connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def close(self) -> None:
        """Close every connection; later queries raise SettingError."""
        with self._connections_lock:
            self._closed = True
            while self._connections:
                self._connections.popitem()[1].close()
        self._local = threading.local()
        self._writer = None

    def write(self, query: str, values: Iterable[object]) -> int:
        """Run one statement as a transaction, and return the number of rows that it changed."""
        with self.writing() as connection:
            return connection.execute(query, tuple(values)).rowcount

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run a block of several queries on one snapshot."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction that holds the write lock from its start; an exception rolls it back.

        A block that ends without an exception is durable (``synchronous = FULL``). A nested block of the same thread
        is a savepoint of the outer transaction.
        """
        own: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if own is not None and own is self._writer:
            with _transaction(own, "SAVEPOINT part", "RELEASE part", "ROLLBACK TO part", "RELEASE part"):
                yield own
            return
        with self._write_lock:
            writer = self._writer = self._writer or self._connect("FULL", None)
            self._local.connection = writer
            try:
                with _transaction(writer, "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"):
                    yield writer
            finally:
                self._local.connection = own


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str, end: str, *undo: str) -> Iterator[None]:
    """Run a block between two statements; undo it when it raises."""
    connection.execute(begin)
    try:
        yield
        connection.execute(end)
    except BaseException:
        if connection.in_transaction:  # some errors of SQLite end the transaction themselves
            for statement in undo:
                connection.execute(statement)
        raise
