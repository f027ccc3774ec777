"""One private response cache for each account.

requests-cache leaves the token out of its keys, so by default one user's ``/me`` answers another.
Here each account has a file of its own and stands in every key besides; the file is the user's
alone (0600), holds packed JSON (the default, pickle, runs code from a tampered file) and no token,
for the token is added below the session. A cache that fails is a cache that misses: it never fails
the request, and never waits longer than a second for another process.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import sqlite3
import struct
import threading
import time
import zlib
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from requests_cache import CachedSession
from requests_cache.backends.base import BaseCache, BaseStorage
from requests_cache.models.request import CachedRequest
from requests_cache.models.response import CachedResponse

from p2p_analytics.client.http.decoding import is_decoded
from p2p_analytics.client.paging.windows import Window
from p2p_analytics.files import is_regular, open_regular
from p2p_analytics.times import from_microseconds, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from requests import PreparedRequest

log = logging.getLogger(__name__)

CACHE_SECONDS: Final = 300
LASTING_SECONDS: Final = 30 * 86_400
_LOCK_WAIT_SECONDS: Final = 1.0
_LARGEST_BODY: Final = 8 * 2**20  # no more is unpacked, whatever an entry claims to be
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, given REAL NOT NULL, expires REAL NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS windows (
    end_us INTEGER PRIMARY KEY, start_us INTEGER NOT NULL
)""",
)
# Marks the files that this package made: SQLite keeps the number in the header, where `_is_ours` reads it.
_APPLICATION_ID: Final = 0x70327063  # "p2pc"
_FILE_NAME: Final = re.compile(r"[0-9a-f]{32}\.sqlite")
_HEADER: Final = struct.Struct(">16s52xI")  # magic text and application id (SQLite: "Database File Format")
_MAGIC: Final = b"SQLite format 3\0"
UNREADABLE_ENTRY: Final = "An entry of the response cache %s cannot be read and is asked for anew."
_LASTING: Final = "lasting"
_BRIEF: Final = "brief"


class AccountCache:
    """The answers that one account was given.

    Parameters
    ----------
    folder : Path
        The private folder of the caches; the account's file is made in it.
    base_url, account_id : str
        Name the account. The id comes from an uncached GET /me with the current token.
    """

    def __init__(self, folder: Path, base_url: str, account_id: str) -> None:
        _tidy(folder)
        self._account = _digest(base_url, account_id)
        self.store = ResponseStore(folder / f"{self._account[:32]}.sqlite")

    def session(self, *, lasting: bool) -> CachedSession:
        """Return a session that keeps answers for ``LASTING_SECONDS``, else for ``CACHE_SECONDS``.

        One kind is never given the answers of the other.
        """
        kind = _LASTING if lasting else _BRIEF

        def key(request: PreparedRequest, **_: Any) -> str:  # noqa: ANN401 - requests-cache's own
            return f"{kind} {_digest(self._account, str(request.method), str(request.url))}"

        backend = BaseCache()
        backend.responses = self.store
        return CachedSession(
            backend=backend,
            expire_after=LASTING_SECONDS if lasting else CACHE_SECONDS,
            allowable_codes=(200,),
            allowable_methods=("GET",),
            filter_fn=is_decoded,
            key_fn=key,
            stale_if_error=False,
        )


def _tidy(folder: Path) -> None:
    """Remove our caches that hold expired answers alone: private data should not lie about for nothing.

    The folder may hold files of the user's, so only a file that has both our kind of name and our mark is removed. A
    cache of an earlier version, which has no mark, stays until its account opens it.
    """
    expired = time.time() - LASTING_SECONDS
    for file in folder.glob("*.sqlite"):
        with contextlib.suppress(OSError):  # another process was quicker
            if _FILE_NAME.fullmatch(file.name) and _is_ours(file):
                journals = [file.with_name(f"{file.name}-{kind}") for kind in ("wal", "shm")]
                family = [file, *filter(is_regular, journals)]
                if all(member.stat().st_mtime < expired for member in family):
                    for member in family:
                        member.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Return whether a file is an SQLite database with our application id; SQLite itself does not open it.

    Raises
    ------
    OSError
        It cannot be read, or is no regular file.
    """
    with open_regular(path, follow_links=False) as file:
        header = file.read(_HEADER.size)
    return len(header) == _HEADER.size and _HEADER.unpack(header) == (_MAGIC, _APPLICATION_ID)


class ResponseStore(BaseStorage):  # type: ignore[type-arg]
    """The cached answers of one account in one SQLite file, for several threads; each failure is a miss.

    requests-cache's own SQLite storage waits for ever for a locked file or a full disk.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._guard = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self.off = False  # not tried again: each page would wait for the same lock anew

    def __getitem__(self, key: str) -> CachedResponse:
        """Return the unexpired response of a key, or raise KeyError."""
        rows = self._run("SELECT given, expires, body FROM answers WHERE key = ?", key)
        response = self._read(*rows[0]) if rows else None
        if response is None:
            raise KeyError(key)
        return response

    def __setitem__(self, key: str, value: CachedResponse) -> None:
        """Store a response under a key."""
        given, expires = (moment.timestamp() if moment else 0.0 for moment in (value.created_at, value.expires))
        body = zlib.compress(value.content)
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", key, given, expires, body)

    def __delitem__(self, key: str) -> None:
        """Delete the response of a key."""
        self._run("DELETE FROM answers WHERE key = ?", key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter([key for (key,) in self._run("SELECT key FROM answers")])

    def __len__(self) -> int:
        """Return the number of responses."""
        return len(list(iter(self)))

    def clear(self) -> None:
        """Forget every answer."""
        self._run("DELETE FROM answers")
        self._run("DELETE FROM windows")

    def forget_brief(self) -> bool:
        """Forget what a write may have changed, and tell whether that could be done.

        Closed windows stay: a write makes a payment in the open one, or changes one that is pending, and what was
        pending is compared at each load.
        """
        self._run("DELETE FROM answers WHERE key >= ? AND key < ?", _BRIEF, f"{_BRIEF}~")
        return not self.off

    def windows(self) -> list[Window]:
        """Return the closed windows whose answers came whole."""
        rows = self._run("SELECT start_us, end_us FROM windows")
        try:
            return [Window(from_microseconds(start), from_microseconds(end)) for start, end in rows if start < end]
        except (TypeError, OverflowError):  # a tampered file
            return []

    def add_window(self, window: Window) -> None:
        """Write down that the answers of a closed window came whole; of those with one end the longest counts."""
        self._run(
            "INSERT INTO windows (start_us, end_us) VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET start_us = min(start_us, excluded.start_us)",
            *map(to_microseconds, window),
        )

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(self, given: float, expires: float, body: bytes) -> CachedResponse | None:
        try:
            return CachedResponse(
                status_code=200,
                content=zlib.decompressobj().decompress(body, _LARGEST_BODY),
                created_at=datetime.fromtimestamp(given, UTC),
                expires=datetime.fromtimestamp(expires, UTC),
                request=CachedRequest(method="GET", url=""),
                url="",
            )
        except (zlib.error, TypeError, ValueError, OverflowError, OSError):  # a tampered entry is a miss
            log.debug("A cache entry failed to decode.", exc_info=True)
        log.warning(UNREADABLE_ENTRY, self.path.name)
        return None

    def _run(self, statement: str, *values: str | float | bytes) -> list[tuple[Any, ...]]:
        with self._guard:
            if self.off:
                return []
            try:
                return self._open().execute(statement, values).fetchall()
            except (sqlite3.OperationalError, OSError) as error:  # locked, full, read-only, not ours
                self.off = True
                log.warning("The response cache %s cannot be used (%s); going on without it.", self.path.name, error)
            except sqlite3.DatabaseError as error:
                log.warning("The response cache %s is damaged (%s) and is set aside.", self.path.name, error)
                self._set_aside()
            return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Made before SQLite opens it, so that it and its journals are never readable by others.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with open_regular(self.path, follow_links=False):
                pass
            connection = sqlite3.connect(
                self.path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _claim(connection)
                self.path.chmod(0o600)  # one that was there before; fails where it is another user's
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = OFF")  # a lost entry is only asked for again
                for table in _TABLES:
                    connection.execute(table)
                connection.execute("DELETE FROM answers WHERE expires < ?", (time.time(),))
            except (sqlite3.Error, OSError):
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _set_aside(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_name(f"{self.path.stem}-{secrets.token_hex(4)}.corrupt"))


def _claim(connection: sqlite3.Connection) -> None:
    """Mark a new database as ours; empty and mark a cache of an earlier version, which proved nothing complete.

    Raises
    ------
    PermissionError
        It is another program's database, which is left as it is.
    """
    if _mark_of(connection) == _APPLICATION_ID:
        return
    connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same
    mark = _mark_of(connection)
    if mark == _APPLICATION_ID:
        connection.execute("COMMIT")
        return
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
    if mark or not found <= {table.replace(" IF NOT EXISTS", "") for table in _TABLES}:
        raise PermissionError(errno.EPERM, "it is another program's database: move it away")
    for name in ("answers", "windows"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute("COMMIT")


def _mark_of(connection: sqlite3.Connection) -> int:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    return int(mark)


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=32).hexdigest()
