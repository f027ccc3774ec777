"""Cache faults of the fault matrix: with any damage to the file, the load is exact and waits once at most."""

import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from p2p_analytics.client import Client
from p2p_analytics.client.http import cache
from support.scripted import ScriptedService

pytestmark = pytest.mark.fault("cache")
ROWS = [
    {"id": str(number), "status": "settled", "date_created": f"{2020 + number // 48}-{number // 4 % 12 + 1:02}-"
     f"{number % 4 + 2:02}T00:00:00"}
    for number in reversed(range(240))
]  # fmt: skip
IDS = [row["id"] for row in ROWS]


def answer(path: str, parameters: dict[str, str]) -> object:
    """Serve one person with 240 payments in five years."""
    if path == "/v1/me":
        return {"data": {"balance": None, "user": {"id": "7"}}}
    rows = [row for row in ROWS if row["date_created"] < parameters.get("before", "9")]
    rows = [row for row in rows if parameters.get("status", row["status"]) == row["status"]]
    limit = int(parameters["limit"])
    return {"data": rows[:limit], "pagination": {"next": "?x" if len(rows) > limit else None}}


def load(service, folder: Path) -> list[str]:
    """Return the ids of a load."""
    with Client("CANARY", base_url=service.base_url, cache_dir=folder, concurrency=3) as client:
        return [payment.id for page in client.history_pages() for payment in page.items]


def change_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return a function that changes the bytes of a file."""
    return lambda file: file.write_bytes(change(file.read_bytes()))


# A function of the file, a statement, or the body of all entries.
DAMAGES: dict[str, Callable[[Path], object] | str | bytes] = {
    "random bytes": change_bytes(lambda data: os.urandom(len(data))),
    "an empty file": change_bytes(lambda _data: b""),
    "half a file": change_bytes(lambda data: data[: len(data) // 2]),
    "flipped bits": change_bytes(lambda data: data[:5000] + bytes(byte ^ 1 for byte in data[5000:])),
    "a journal of garbage": lambda file: file.with_name(f"{file.name}-wal").write_bytes(os.urandom(9999)),
    "a folder instead of the file": lambda file: (file.unlink(), file.mkdir()),
    "a link instead of the file": lambda file: (file.unlink(), file.symlink_to(file.parent / "elsewhere")),
    "a pipe instead of the file": lambda file: (file.unlink(), os.mkfifo(file)),
    "no file": Path.unlink,
    "no table of windows": "DROP TABLE windows",
    "another schema": "ALTER TABLE answers RENAME COLUMN body TO bodies",
    "times that are text": "UPDATE answers SET given = 'x', expires = 'y'",
    "windows that were never loaded": "INSERT OR REPLACE INTO windows VALUES (1700000000000000, 0)",
    "windows that are text": "UPDATE windows SET start_us = 'x'",
    "windows with start and end swapped": "UPDATE windows SET start_us = end_us + 5",
    "bodies that are not compressed": b"garbage",
    "pickled bodies": b"cos\nsystem\n(S'touch ran'\ntR.",  # the default serializer of requests-cache would run it
    "bodies that unpack to 64 MiB": zlib.compress(b'{"data": [' + b" " * 2**26 + b"]}"),
    "bodies that are other JSON": zlib.compress(b'{"data": [5]}'),
    "a foreign next link": zlib.compress(
        b'{"data": [], "pagination": {"next": "https://foreign.invalid/v1/payments"}}'
    ),
}


def apply(damage: Callable[[Path], object] | str | bytes, file: Path) -> None:
    """Damage a cache file."""
    if callable(damage):
        damage(file)
        return
    sql, values = (damage, []) if isinstance(damage, str) else ("UPDATE answers SET body = ?", [damage])
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute(sql, values)


@pytest.fixture(scope="module")
def cache_of_a_load(tmp_path_factory) -> Iterator[tuple[ScriptedService, Path]]:
    """Return a service and the closed cache file of a complete load, which stays as it is."""
    folder, service = tmp_path_factory.mktemp("cache"), ScriptedService(answer)
    assert load(service, folder) == IDS
    (file,) = folder.iterdir()
    yield service, file
    service.close()


@pytest.fixture
def service_and_file(cache_of_a_load, tmp_path) -> tuple[ScriptedService, Path]:
    """Return a service and a copy of the cache file of a load."""
    service, file = cache_of_a_load
    return service, Path(shutil.copy(file, tmp_path))


def check(service, folder: Path, caplog) -> None:
    """Load twice; every load is complete and disables the cache once at most, and no log holds the token."""
    for _ in range(2):
        caplog.clear()
        assert load(service, folder) == IDS
        assert caplog.text.count("going on without it") <= 1
        assert "CANARY" not in caplog.text
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_costs_requests_and_no_payment(service_and_file, caplog, monkeypatch, name: str) -> None:
    """At worst, the file is renamed or not used, and its pages are refetched; no link is followed, no code run."""
    service, file = service_and_file
    monkeypatch.chdir(file.parent)
    apply(DAMAGES[name], file)
    check(service, file.parent, caplog)
    assert {path.name for path in file.parent.iterdir()}.isdisjoint({"elsewhere", "ran"})


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_locked_file_is_not_used(service_and_file, caplog, monkeypatch, lock: str) -> None:
    """Another process holds the lock, against all or only against writers, during the whole load."""
    monkeypatch.setattr(cache, "_LOCK_WAIT_SECONDS", 0.001)
    service, file = service_and_file
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute(f"PRAGMA locking_mode = {'NORMAL' if lock == 'IMMEDIATE' else lock}")
        holder.execute(f"BEGIN {lock}")
        holder.execute("DELETE FROM answers")
        check(service, file.parent, caplog)


@pytest.mark.parametrize("pragma", ["max_page_count = 2", "query_only = ON"], ids=["full", "read-only"])
def test_an_unwritable_disk_disables_the_cache(start_service, tmp_path, caplog, monkeypatch, pragma: str) -> None:
    """With a full or a read-only disk, the load is complete and logs a warning; a lock is waited for for a second."""
    connect = sqlite3.connect

    def connect_limited(*arguments: object, timeout: float, **options: object) -> sqlite3.Connection:
        assert timeout == 1.0
        connection = connect(*arguments, timeout=timeout, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA {pragma}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_limited)
    check(start_service(answer), tmp_path / "x", caplog)
    assert "going on without it" in caplog.text


def test_loads_share_the_file(start_service, tmp_path) -> None:
    """Three simultaneous loads succeed, and the next one requests only the newest page."""
    service = start_service(answer)
    with ThreadPoolExecutor(3) as threads:  # SQLite locks each connection out, whatever process it belongs to
        assert list(threads.map(lambda _: load(service, tmp_path), range(3))) == [IDS] * 3
    service.asked.clear()
    assert load(service, tmp_path) == IDS
    assert sorted(path for path, _ in service.asked) == ["/v1/me", "/v1/payments"]
