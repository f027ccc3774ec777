"""One private response cache for each account.

requests-cache leaves the token out of its keys, so by default one user's ``/me`` answers another.
Here each account has a file of its own and stands in every key besides; the file is the user's
alone (0600), holds JSON (the default, pickle, runs code from a tampered file) and no token, for
the token is added below the session. A cache that fails is a cache that misses: it never fails
the request, and never waits longer than a second for another process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec
from requests_cache import CachedSession, create_key
from requests_cache.backends.base import BaseCache, BaseStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from requests import PreparedRequest, Response

log = logging.getLogger(__name__)

CACHE_SECONDS: Final = 300
_LOCK_WAIT_SECONDS: Final = 1.0
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, value TEXT NOT NULL, kept REAL NOT NULL) WITHOUT ROWID
"""


def cached_session(folder: Path, base_url: str, account_id: str) -> CachedSession:
    """Return a session that keeps one account's answers for ``CACHE_SECONDS``.

    Parameters
    ----------
    folder : Path
        The private folder of the caches; the account's file is made in it.
    base_url, account_id : str
        Name the account. The id comes from an uncached GET /me with the current token.
    """
    _tidy(folder)
    account = _digest(base_url, account_id)

    def key(request: PreparedRequest, **kwargs: Any) -> str:  # noqa: ANN401 - requests-cache's own
        return _digest(account, create_key(request, **kwargs))

    backend = BaseCache()
    backend.responses = ResponseStore(folder / f"{account[:32]}.sqlite")
    return CachedSession(
        backend=backend,
        expire_after=CACHE_SECONDS,
        allowable_codes=(200,),
        allowable_methods=("GET",),
        filter_fn=is_envelope,
        key_fn=key,
        stale_if_error=False,
    )


def _tidy(folder: Path) -> None:
    """Remove caches that hold expired answers alone: private data should not lie about for nothing."""
    expired = time.time() - CACHE_SECONDS
    for file in folder.glob("*.sqlite"):
        family = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")]
        with contextlib.suppress(OSError):  # another process was quicker
            if all(member.stat().st_mtime < expired for member in family if member.exists()):
                for member in family:
                    member.unlink(missing_ok=True)


def is_envelope(response: Response) -> bool:
    """Tell whether an answer is a JSON object whose ``data`` is an object or a list; else it is not worth keeping."""
    try:
        data = msgspec.json.decode(response.content, type=dict[str, msgspec.Raw]).get("data")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return data is not None and bytes(data)[:1] in {b"{", b"["}


class ResponseStore(BaseStorage):  # type: ignore[type-arg]
    """The cached answers of one account in one SQLite file; each failure is a miss.

    requests-cache's own SQLite storage waits for ever for a locked file or a full disk.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(serializer="json", decode_content=False)
        self.path = path
        self._guard = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._off = False

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a cached response
        rows = self._run("SELECT value FROM responses WHERE key = ?", key)
        response = self._read(key, rows[0][0]) if rows else None
        if response is None:
            raise KeyError(key)
        return response

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401 - a cached response
        self._run("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", key, self.serialize(value), time.time())

    def __delitem__(self, key: str) -> None:
        self._run("DELETE FROM responses WHERE key = ?", key)

    def __iter__(self) -> Iterator[str]:
        return iter([key for (key,) in self._run("SELECT key FROM responses")])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def clear(self) -> None:
        """Forget every answer."""
        self._run("DELETE FROM responses")

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(self, key: str, value: str) -> Any:  # noqa: ANN401 - a cached response
        try:
            response = self.deserialize(key, value)
            if isinstance(response.content, bytes) and is_envelope(response):
                return response
        except Exception:  # a tampered entry may fail in any way; it is a miss
            log.debug("A cache entry failed to decode.", exc_info=True)
        log.warning("An entry of the response cache %s cannot be read and is asked for anew.", self.path.name)
        return None

    def _run(self, statement: str, *values: str | float) -> list[tuple[Any, ...]]:
        with self._guard:
            if self._off:
                return []
            try:
                return self._open().execute(statement, values).fetchall()
            except (sqlite3.OperationalError, OSError) as error:  # locked, full, read-only, not ours
                # Not tried again: each page would wait for the same lock anew.
                self._off = True
                log.warning("The response cache %s cannot be used (%s); going on without it.", self.path.name, error)
            except sqlite3.DatabaseError as error:
                log.warning("The response cache %s is damaged (%s) and is set aside.", self.path.name, error)
                self._set_aside()
            return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Made before SQLite opens it, so that it and its journals are never readable by others.
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            try:
                os.fchmod(descriptor, 0o600)  # one that was there before; fails where it is another user's
            finally:
                os.close(descriptor)
            connection = sqlite3.connect(
                self.path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = OFF")  # a lost entry is only asked for again
                connection.execute(_TABLE)
                connection.execute("DELETE FROM responses WHERE kept < ?", (time.time() - CACHE_SECONDS,))
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _set_aside(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".corrupt"))


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=32).hexdigest()
