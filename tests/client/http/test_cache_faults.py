"""The cache and disk cells of the fault matrix: whatever befell the file, the load is exact and nothing waits long."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
import time
import zlib
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
    """Serve one person with 240 payments over five years."""
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


def on_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a damage to the file's bytes; what was in its journal is gone."""

    def damage(file: Path) -> None:
        for member in (file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
            member.unlink(missing_ok=True)
        file.write_bytes(change(file.read_bytes()))

    return damage


def on_rows(statement: str, *values: object) -> Callable[[Path], None]:
    """Return a damage to the file's rows."""

    def damage(file: Path) -> None:
        database = sqlite3.connect(file, isolation_level=None)
        database.execute(statement, values)
        database.close()

    return damage


def in_place_of_the_file(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a damage that puts something else where the file was."""

    def damage(file: Path) -> None:
        for member in file.parent.iterdir():
            member.unlink()
        make(file)

    return damage


def remove(file: Path) -> None:
    """Remove the file and its journals."""
    for member in file.parent.iterdir():
        member.unlink()


BOMB = zlib.compress(b'{"data": [' + b" " * 2**26 + b"]}")
DAMAGES = {
    "random bytes": on_bytes(lambda data: os.urandom(len(data))),
    "an empty file": on_bytes(lambda _data: b""),
    "half a file": on_bytes(lambda data: data[: len(data) // 2]),
    "a byte less": on_bytes(lambda data: data[:-1]),
    "a header of zeros": on_bytes(lambda data: bytes(100) + data[100:]),
    "a page of 0xFF": on_bytes(lambda data: data[:4096] + b"\xff" * 4096 + data[8192:]),
    "flipped bits": on_bytes(lambda data: data[:5000] + bytes(byte ^ 1 for byte in data[5000:])),
    "another kind of file": on_bytes(lambda _data: b"PK\3\4" + bytes(9999)),
    "a journal of garbage": lambda file: file.with_name(f"{file.name}-wal").write_bytes(os.urandom(9999)),
    "no table of answers": on_rows("DROP TABLE answers"),
    "no table of windows": on_rows("DROP TABLE windows"),
    "another table of answers": on_rows("ALTER TABLE answers RENAME COLUMN body TO bodies"),
    "bodies that are no archive": on_rows("UPDATE answers SET body = ?", b"garbage"),
    "bodies that are text": on_rows("UPDATE answers SET body = 'text'"),
    "bodies that unpack to 64 MiB": on_rows("UPDATE answers SET body = ?", BOMB),
    "bodies that are other JSON": on_rows("UPDATE answers SET body = ?", zlib.compress(b'{"data": [5]}')),
    "a foreign next link": on_rows(
        "UPDATE answers SET body = ?",
        zlib.compress(b'{"data": [], "pagination": {"next": "https://foreign.invalid/v1/payments"}}'),
    ),
    "times that are text": on_rows("UPDATE answers SET given = 'x', expires = 'y'"),
    "times beyond all years": on_rows("UPDATE answers SET given = 1e300, expires = 1e300"),
    "windows that never came": on_rows("INSERT OR REPLACE INTO windows VALUES (1700000000000000, 0)"),
    "windows that are text": on_rows("UPDATE windows SET start_us = 'x'"),
    "windows back to front": on_rows("UPDATE windows SET start_us = end_us + 5"),
    "a folder in its place": in_place_of_the_file(lambda file: file.mkdir()),
    "a link in its place": in_place_of_the_file(lambda file: file.symlink_to(file.parent / "elsewhere")),
    "a pipe in its place": in_place_of_the_file(os.mkfifo),
    "no file": remove,
}


@pytest.fixture
def filled(scripted, tmp_path) -> Iterator[tuple[object, Path]]:
    """Return a service and the file that a whole load has left."""
    service = scripted(answer)
    assert load(service, tmp_path) == [row["id"] for row in ROWS]
    (file,) = tmp_path.glob("*.sqlite")
    yield service, file
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]


def check(service, file: Path, caplog) -> None:
    """Load twice, and find all payments once, soon, and no token anywhere."""
    started = time.monotonic()
    for _ in range(2):
        assert load(service, file.parent) == [row["id"] for row in ROWS]
    assert time.monotonic() - started < 8, "two waits for a lock, and what a busy machine adds"
    assert "CANARY" not in caplog.text


@pytest.mark.fault("cache")
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_costs_requests_and_no_payment(filled, caplog, name: str) -> None:
    """At worst it is set aside or gone round; what it held is asked for again."""
    service, file = filled
    DAMAGES[name](file)
    check(service, file, caplog)


@pytest.mark.fault("cache")
@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_locked_file_is_gone_round(filled, caplog, lock: str) -> None:
    """Another process holds it for the whole load."""
    service, file = filled
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute(lock)
    holder.execute("DELETE FROM answers")
    try:
        check(service, file, caplog)
    finally:
        holder.close()


@pytest.mark.fault("cache")
@pytest.mark.parametrize("pragma", ["max_page_count = 2", "query_only = ON"], ids=["full", "read-only"])
def test_a_disk_that_takes_nothing_is_gone_round(scripted, tmp_path, caplog, monkeypatch, pragma: str) -> None:
    """A full disk, and one that may only be read: the load is whole, and says that nothing is kept."""
    connect = sqlite3.connect

    def limited(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA {pragma}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)
    check(scripted(answer), tmp_path / "x", caplog)
    assert "going on without it" in caplog.text


def _load_in_a_process(base_url: str, folder: str, found: multiprocessing.Queue) -> None:
    with Client("CANARY", base_url=base_url, cache_dir=folder, concurrency=3) as client:
        found.put([payment.id for page in client.history_pages() for payment in page.items])


@pytest.mark.fault("cache")
def test_processes_share_the_file(scripted, tmp_path) -> None:
    """Three that load at once are all right, and the next load asks for the newest page alone."""
    service = scripted(answer)
    kind = multiprocessing.get_context("spawn")
    found = kind.Queue()
    processes = [
        kind.Process(target=_load_in_a_process, args=(service.base_url, str(tmp_path), found)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    assert [found.get(timeout=60) for _ in processes] == [[row["id"] for row in ROWS]] * 3
    for process in processes:
        process.join()
    service.asked.clear()
    assert load(service, tmp_path) == [row["id"] for row in ROWS]
    assert sorted(path for path, _ in service.asked) == ["/v1/me", "/v1/payments"]
