"""Cache faults of the fault matrix: with any damage to the file, the load is exact and waits once at most."""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from p2p_analytics.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS = [
    {"id": str(number), "status": "settled", "date_created": f"{2020 + number // 48}-{number // 4 % 12 + 1:02}-"
     f"{number % 4 + 2:02}T00:00:00"}
    for number in reversed(range(240))
]  # fmt: skip


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


def change_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a function that damages the bytes of a file and deletes its journals."""

    def damage(file: Path) -> None:
        for member in (file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
            member.unlink(missing_ok=True)
        file.write_bytes(change(file.read_bytes()))

    return damage


def change_rows(statement: str, *values: object) -> Callable[[Path], None]:
    """Return a function that damages the rows of a file."""

    def damage(file: Path) -> None:
        database = sqlite3.connect(file, isolation_level=None)
        database.execute(statement, values)
        database.close()

    return damage


def replace_file(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a function that replaces the file."""

    def damage(file: Path) -> None:
        for member in file.parent.iterdir():
            member.unlink()
        make(file)

    return damage


BOMB = zlib.compress(b'{"data": [' + b" " * 2**26 + b"]}")
DAMAGES = {
    "random bytes": change_bytes(lambda data: os.urandom(len(data))),
    "an empty file": change_bytes(lambda _data: b""),
    "half a file": change_bytes(lambda data: data[: len(data) // 2]),
    "a header of zeros": change_bytes(lambda data: bytes(100) + data[100:]),
    "flipped bits": change_bytes(lambda data: data[:5000] + bytes(byte ^ 1 for byte in data[5000:])),
    "a journal of garbage": lambda file: file.with_name(f"{file.name}-wal").write_bytes(os.urandom(9999)),
    "no table of responses": change_rows("DROP TABLE answers"),
    "no table of windows": change_rows("DROP TABLE windows"),
    "another schema": change_rows("ALTER TABLE answers RENAME COLUMN body TO bodies"),
    "bodies that are not compressed": change_rows("UPDATE answers SET body = ?", b"garbage"),
    "bodies that unpack to 64 MiB": change_rows("UPDATE answers SET body = ?", BOMB),
    "bodies that are other JSON": change_rows("UPDATE answers SET body = ?", zlib.compress(b'{"data": [5]}')),
    "a foreign next link": change_rows(
        "UPDATE answers SET body = ?",
        zlib.compress(b'{"data": [], "pagination": {"next": "https://foreign.invalid/v1/payments"}}'),
    ),
    "times that are text": change_rows("UPDATE answers SET given = 'x', expires = 'y'"),
    "windows that were never loaded": change_rows("INSERT OR REPLACE INTO windows VALUES (1700000000000000, 0)"),
    "windows that are text": change_rows("UPDATE windows SET start_us = 'x'"),
    "windows with start and end swapped": change_rows("UPDATE windows SET start_us = end_us + 5"),
    "a folder instead of the file": replace_file(lambda file: file.mkdir()),
    "a link instead of the file": replace_file(lambda file: file.symlink_to(file.parent / "elsewhere")),
    "a pipe instead of the file": replace_file(os.mkfifo),
    "no file": replace_file(lambda _file: None),
}


@pytest.fixture
def cache_of_a_load(start_service, tmp_path) -> Iterator[tuple[object, Path]]:
    """Return a service and the cache file of a complete load."""
    service = start_service(answer)
    assert load(service, tmp_path) == [row["id"] for row in ROWS]
    (file,) = tmp_path.glob("*.sqlite")
    yield service, file
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]


def check(service, file: Path, caplog) -> None:
    """Load twice; every load is complete and disables the cache once at most, and no log holds the token."""
    for _ in range(2):
        caplog.clear()
        assert load(service, file.parent) == [row["id"] for row in ROWS]
        assert caplog.text.count("going on without it") <= 1
        assert "CANARY" not in caplog.text


@pytest.mark.fault("cache")
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_costs_requests_and_no_payment(cache_of_a_load, caplog, name: str) -> None:
    """At worst, the file is renamed or not used, and its pages are refetched."""
    service, file = cache_of_a_load
    DAMAGES[name](file)
    check(service, file, caplog)
    assert not (file.parent / "elsewhere").exists()  # a link is not followed


@pytest.mark.fault("cache")
def test_a_locked_file_is_not_used(cache_of_a_load, caplog) -> None:
    """Another process holds the lock during the whole load."""
    service, file = cache_of_a_load
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("DELETE FROM answers")
    try:
        check(service, file, caplog)
    finally:
        holder.close()


@pytest.mark.fault("cache")
@pytest.mark.parametrize("pragma", ["max_page_count = 2", "query_only = ON"], ids=["full", "read-only"])
def test_an_unwritable_disk_disables_the_cache(start_service, tmp_path, caplog, monkeypatch, pragma: str) -> None:
    """With a full or a read-only disk, the load is complete and logs a warning."""
    connect = sqlite3.connect

    def connect_limited(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA {pragma}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_limited)
    check(start_service(answer), tmp_path / "x", caplog)
    assert "going on without it" in caplog.text


@pytest.mark.fault("cache")
def test_loads_share_the_file(start_service, tmp_path) -> None:
    """Three simultaneous loads succeed, and the next one requests only the newest page."""
    service = start_service(answer)
    with ThreadPoolExecutor(3) as threads:  # SQLite locks each connection out, whatever process it belongs to
        found = list(threads.map(lambda _: load(service, tmp_path), range(3)))
    assert found == [[row["id"] for row in ROWS]] * 3
    service.asked.clear()
    assert load(service, tmp_path) == [row["id"] for row in ROWS]
    assert sorted(path for path, _ in service.asked) == ["/v1/me", "/v1/payments"]
