"""Response cache, one SQLite file per account.

requests-cache ignores the token in its keys, so by default one user's ``/me`` would be served to another. Here each
account has its own file, and its digest is part of every key. The file is private (0600) and holds compressed JSON;
the default, pickle, would run code from a tampered file. It holds no token, because the adapter adds the token below
the session. A cache failure is a cache miss: it never fails a request, and never waits longer than a second for
another process.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from requests import PreparedRequest, Response
from requests_cache import CachedSession
from requests_cache.backends.base import BaseCache, BaseStorage
from requests_cache.models.request import CachedRequest
from requests_cache.models.response import CachedResponse

from p2p_analytics.client.http.adapter import LARGEST_BODY
from p2p_analytics.errors import ServiceError
from p2p_analytics.files import is_regular, open_regular
from p2p_analytics.times import Window, from_microseconds, to_microseconds

log = logging.getLogger(__name__)

SHORT_SECONDS: Final = 300
LONG_SECONDS: Final = 30 * 86_400
UNREADABLE_ENTRY: Final = "An entry of the response cache %s cannot be read, so it is refetched."
_LOCK_WAIT_SECONDS: Final = 1.0
_TABLES: Final = (
    "answers (key TEXT PRIMARY KEY, given REAL NOT NULL, expires REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
    "windows (end_us INTEGER PRIMARY KEY, start_us INTEGER NOT NULL)",
)
# Identifies the files of this package: SQLite stores the number in the file header.
_APPLICATION_ID: Final = 0x70327063  # "p2pc"
_FILE_NAME: Final = re.compile(r"[0-9a-f]{32}\.sqlite")
_MAGIC: Final = b"SQLite format 3\0"  # the application id is at byte 68 (SQLite: "Database File Format")
_LONG_PREFIX: Final = "lasting"  # of the keys in existing files
_SHORT_PREFIX: Final = "brief"


class AccountCache:
    """Cached responses of one account, in its file of a private folder.

    The account is identified by the service and the user id, which comes from an uncached GET /me with the current
    token.
    """

    def __init__(self, folder: Path, base_url: str, account_id: str) -> None:
        _delete_expired_files(folder)
        self._account = _digest(base_url, account_id)
        self.storage = ResponseStorage(folder / f"{self._account[:32]}.sqlite")

    def make_session(self, *, long_lived: bool) -> CachedSession:
        """Return a session that caches responses for ``LONG_SECONDS``, else for ``SHORT_SECONDS``.

        The two kinds of sessions do not share cache entries.
        """
        prefix = _LONG_PREFIX if long_lived else _SHORT_PREFIX

        def make_key(request: PreparedRequest, **_: Any) -> str:  # noqa: ANN401 - requests-cache's own
            return f"{prefix} {_digest(self._account, str(request.method), str(request.url))}"

        def is_decoded(response: Response) -> bool:
            decoded = getattr(response, "decoded", None)  # a stored response has none before its hook runs
            return getattr(response, "from_cache", False) or not isinstance(decoded, ServiceError)

        backend = BaseCache()
        backend.responses = self.storage
        return CachedSession(
            backend=backend,
            expire_after=LONG_SECONDS if long_lived else SHORT_SECONDS,
            allowable_codes=(200,),
            allowable_methods=("GET",),
            filter_fn=is_decoded,
            key_fn=make_key,
            stale_if_error=False,
        )


def _delete_expired_files(folder: Path) -> None:
    """Delete caches of this package in which every entry has expired, so that private data does not stay on disk.

    The folder may hold other files of the user, so a file must have both our form of name and our application id.
    """
    expired = time.time() - LONG_SECONDS
    for path in folder.glob("*.sqlite"):
        if not _FILE_NAME.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):  # another process deleted it first, or it is not a regular file
            with open_regular(path, follow_links=False) as file:
                header = file.read(72)
            if not header.startswith(_MAGIC) or header[68:] != _APPLICATION_ID.to_bytes(4, "big"):
                continue
            journals = [path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm")]
            family = [path, *filter(is_regular, journals)]
            if all(member.stat().st_mtime < expired for member in family):
                for member in family:
                    member.unlink(missing_ok=True)


class ResponseStorage(BaseStorage):  # type: ignore[type-arg]
    """Storage of one account's responses in an SQLite file, for several threads; each failure is a cache miss.

    requests-cache's own SQLite storage waits indefinitely for a locked file or a full disk.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self.disabled = False  # by a failure; otherwise each page would wait for the same lock again

    def __getitem__(self, key: str) -> CachedResponse:
        """Return the unexpired response of a key, or raise KeyError."""
        for created, expires, body in self._execute("SELECT given, expires, body FROM answers WHERE key = ?", key):
            try:
                return CachedResponse(
                    status_code=200,
                    content=zlib.decompressobj().decompress(body, LARGEST_BODY),
                    created_at=datetime.fromtimestamp(created, UTC),
                    expires=datetime.fromtimestamp(expires, UTC),
                    request=CachedRequest(method="GET", url=""),
                    url="",
                )
            except (zlib.error, TypeError, ValueError, OverflowError, OSError):  # a tampered entry is a miss
                log.warning(UNREADABLE_ENTRY, self.path.name)
        raise KeyError(key)

    def __setitem__(self, key: str, value: CachedResponse) -> None:
        """Store a response under a key."""
        created, expires = (moment.timestamp() if moment else 0.0 for moment in (value.created_at, value.expires))
        body = zlib.compress(value.content)
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", key, created, expires, body)

    def __delitem__(self, key: str) -> None:
        """Delete the response of a key."""
        self._execute("DELETE FROM answers WHERE key = ?", key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter([key for (key,) in self._execute("SELECT key FROM answers")])

    def __len__(self) -> int:
        """Return the number of responses."""
        return len(list(iter(self)))

    def clear(self) -> None:
        """Delete every entry."""
        self._execute("DELETE FROM answers")
        self._execute("DELETE FROM windows")

    def delete_short_lived(self) -> bool:
        """Delete the entries that a write may have changed; return whether that succeeded.

        Entries of closed windows stay: a write creates a payment in the open window or changes a pending one, and
        every load checks which payments are still pending.
        """
        self._execute("DELETE FROM answers WHERE key >= ? AND key < ?", _SHORT_PREFIX, f"{_SHORT_PREFIX}~")
        return not self.disabled

    def read_windows(self) -> list[Window]:
        """Return the closed windows that were recorded as complete."""
        rows = self._execute("SELECT start_us, end_us FROM windows")
        try:
            return [Window(from_microseconds(start), from_microseconds(end)) for start, end in rows if start < end]
        except (TypeError, OverflowError):  # a tampered file
            return []

    def add_window(self, window: Window) -> None:
        """Record a closed window as complete; of windows with the same end, only the longest is stored."""
        self._execute(
            "INSERT INTO windows (start_us, end_us) VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET start_us = min(start_us, excluded.start_us)",
            *map(to_microseconds, window),
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _execute(self, statement: str, *values: str | float | bytes) -> list[tuple[Any, ...]]:
        with self._lock:
            if self.disabled:
                return []
            try:
                return self._open().execute(statement, values).fetchall()
            except (sqlite3.OperationalError, OSError) as error:  # locked, full, read-only, or of another program
                self.disabled = True
                log.warning("The response cache %s cannot be used (%s); going on without it.", self.path.name, error)
            except sqlite3.DatabaseError as error:
                log.warning("The response cache %s is damaged (%s) and is set aside.", self.path.name, error)
                self.close()
                with contextlib.suppress(OSError):
                    self.path.replace(self.path.with_name(f"{self.path.stem}-{secrets.token_hex(4)}.corrupt"))
            return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Create the file before SQLite opens it, so that others can never read it or its journals.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with open_regular(self.path, follow_links=False):
                pass
            connection = sqlite3.connect(
                self.path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _claim_database(connection)
                self.path.chmod(0o600)  # of an existing file; fails if another user owns it
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = OFF")  # a lost entry is refetched
                for table in _TABLES:
                    connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
                connection.execute("DELETE FROM answers WHERE expires < ?", (time.time(),))
            except (sqlite3.Error, OSError):
                connection.close()
                raise
            self._connection = connection
        return self._connection


def _claim_database(connection: sqlite3.Connection) -> None:
    """Set our application id in a new database; raise a PermissionError for the database of another program."""
    ours = (_APPLICATION_ID,)
    if connection.execute("PRAGMA application_id").fetchone() == ours:
        return
    connection.execute("BEGIN IMMEDIATE")  # another process may be doing the same
    found = connection.execute("PRAGMA application_id").fetchone()
    if found != ours and (found != (0,) or connection.execute("SELECT 1 FROM sqlite_master").fetchone()):
        raise PermissionError(errno.EPERM, "it is another program's database: move it away")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute("COMMIT")


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=32).hexdigest()
