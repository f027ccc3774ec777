"""A broken file is replaced only by a complete reload of its payments."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _manifest, tables
from p2p_analytics.errors import ArchiveError, PaginationError
from p2p_analytics.files import atomic_file
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from p2p_analytics.archive import Archive

PLACES = {"oldest": 0, "middle": 2, "newest": -1}


@pytest.fixture(autouse=True)
def small_files(monkeypatch) -> None:
    """Fill a file with a few payments."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 120)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 100)


def payment_files(archive: Archive) -> list[Path]:
    """Return the paths of an archive's files of payments, oldest first."""
    return [archive.path / entry.name for entry in archive._folder.read_manifest().service.payments]


def ids(archive: Archive) -> set[str]:
    """Return the ids of an archive's payments."""
    return set(archive.history().payments["payment_id"])


def content(archive: Archive) -> dict[str, bytes]:
    """Return the content of all files of a folder."""
    return {path.name: path.read_bytes() for path in archive.path.iterdir()}


def restore(archive: Archive, files: dict[str, bytes]) -> None:
    """Make a folder hold these files alone."""
    for path in archive.path.iterdir():
        path.unlink()
    for name, data in files.items():
        (archive.path / name).write_bytes(data)


# A town with enough payments of the viewer for several files.
town = sandbox_fixture(seed=7)


@pytest.mark.parametrize(
    ("kind", "place", "friends"),
    [
        ("empty-page", "oldest", "whole"),
        ("empty-page", "middle", "whole"),
        ("empty-page", "newest", "whole"),
        ("empty-page", "middle", "broken"),
        ("no-next", "middle", "whole"),
    ],
)
def test_incomplete_lists_replace_no_broken_file(town, tmp_path, kind, place, friends) -> None:
    """Pages that hide payments from any request on: the sync is exact, or refused and changes nothing."""
    archive = p2p.open_archive(tmp_path)
    with p2p.Client(town.token(town.viewer), base_url=town.base_url, cache_dir=False, concurrency=1) as client:
        archive.sync(client)
        expected = ids(archive)
        payment_files(archive)[PLACES[place]].write_bytes(b"broken")
        if friends == "broken":
            next(tmp_path.glob("friends-*.parquet")).write_bytes(b"broken")
        before = content(archive)
        refused = 0
        for number in (1, 2, 3, 5):
            town.faults = f"ok*{number} {kind}*9000"
            try:
                archive.sync(client)
            except PaginationError:
                refused += 1
                assert content(archive) == before
            else:
                assert ids(archive) == expected
            finally:
                town.faults = ""
            archive.sync(client)
            assert ids(archive) == expected
            restore(archive, before)
    assert refused or kind == "no-next"  # the client sees through the latter


class Service:
    """A service of one account that lists the payments the test gives it."""

    def __init__(self, start_service: Callable[..., Any], rows: dict[str, dict[str, Any]]) -> None:
        self.rows = rows
        self._running = start_service(self._answer)

    def client(self) -> p2p.Client:
        """Return a client that does not wait between retries."""
        client = p2p.Client("token", base_url=self._running.base_url, cache_dir=False)
        client._transport._sleep = lambda _seconds: None
        return client

    def _answer(self, path: str, sent: dict[str, str]) -> Any:
        if path == "/v1/me":
            return {"data": {"balance": None, "user": {"id": "7", "friends_count": 0}}}
        if path.startswith("/v1/payments/"):
            return 404, {}, {"error": {"message": "no such payment", "code": "283"}}
        if path != "/v1/payments":
            return {"data": [], "pagination": None}
        rows = sorted(self.rows.values(), key=lambda row: row["date_created"], reverse=True)
        rows = [row for row in rows if sent.get("after", "0") < row["date_created"] < sent.get("before", "9")]
        return {"data": [row for row in rows if sent.get("status", row["status"]) == row["status"]], "pagination": None}


@pytest.fixture
def service(start_service, payment, monkeypatch) -> Service:
    """Serve forty payments, ten in each of four files."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 12)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 10)
    dates = {str(number): f"2024-{number // 10 + 1:02}-{number % 10 + 1:02}T12:00:00" for number in range(40)}
    return Service(start_service, {key: payment(key, date_created=date) for key, date in dates.items()})


CASES = [
    ("oldest", "4", "settled"), ("middle", "24", "settled"), ("newest", "34", "settled"), ("newest", "34", "pending"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_payment_less_is_refused_until_a_refresh(service, tmp_path, payment, caplog, case) -> None:
    """Payments that are new, or of other files, make up for none; a refresh is the way out and counts the loss."""
    place, gone, status = case
    service.rows[gone]["status"] = status
    archive = p2p.open_archive(tmp_path)
    with service.client() as client:
        archive.sync(client)
        file = payment_files(archive)[PLACES[place]]
        file.write_bytes(b"broken")
        before = content(archive)
        lost = service.rows.pop(gone)
        service.rows |= {f"new {day}": payment(f"new {day}", date_created=f"2024-06-0{day}T12:00:00") for day in (1, 2)}
        for _ in range(2):
            with pytest.raises(PaginationError, match=r"lists 9 of the 10 payments .*: try again .* refresh=True"):
                archive.sync(client, on_bad_record="report")
            assert content(archive) == before
        service.rows[gone] = lost
        assert archive.sync(client).set_aside == (file.name,)
        assert ids(archive) == set(service.rows)
        file = payment_files(archive)[PLACES[place]]
        held = archive._folder.read_manifest().service.payments[PLACES[place]].rows
        file.write_bytes(b"broken")
        del service.rows[gone]
        assert archive.sync(client, refresh=True, on_bad_record="report").set_aside == (file.name,)
        assert f"lists {held - 1} of the {held} payments" in caplog.text
        assert ids(archive) == set(service.rows)
        assert archive.sync(client, on_bad_record="report").set_aside == ()


def test_merged_payments_that_the_service_does_not_list_are_not_dropped(service, tmp_path, history_of, payment) -> None:
    """A file that holds them too is reloaded by a refresh alone."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client:
        archive.sync(client)
        archive.merge(history_of(payment("merged", date_created="2024-03-05T12:00:00")))
        payment_files(archive)[PLACES["middle"]].write_bytes(b"broken")
        with pytest.raises(PaginationError, match=r"from 2024-03-01 before 2024-04-01 .* refresh=True"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert ids(archive) == set(service.rows)


def of_another_version(archive: Archive, kind: str, change: Callable[[pa.Table], pa.Table]) -> str:
    """Replace the newest file of a kind by another table, in a file with a valid digest, and return its name."""
    folder, manifest = archive._folder, archive._folder.read_manifest()
    entry = [entry for entry in manifest.entries if entry.kind == kind][-1]
    sink = pa.BufferOutputStream()
    pq.write_table(change(folder.read(entry)), sink)
    body = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(body).hexdigest()
    replaced = msgspec.structs.replace(
        entry, name=_manifest.build_file_name(kind, entry.start, digest), size=len(body), sha256=digest
    )
    (archive.path / replaced.name).write_bytes(body)
    service = manifest.service
    files = {"payments": (*service.payments[:-1], replaced)} if kind == "payments" else {kind: replaced}
    folder.commit(msgspec.structs.replace(manifest, service=msgspec.structs.replace(service, **files)), None)
    return replaced.name


CHANGES: dict[str, Callable[[pa.Table, str], pa.Table]] = {
    "missing": lambda table, name: table.drop_columns(name),
    "other type": lambda table, name: table.set_column(
        table.column_names.index(name), name, pa.array([1.5] * table.num_rows, pa.float64())
    ),
    "no nulls": lambda table, name: pa.table(
        [pa.array([""] * table.num_rows), *table.drop_columns(name).columns],
        pa.schema([pa.field(name, pa.string(), nullable=False), *table.drop_columns(name).schema]),
    ),
    "one more": lambda table, name: table.append_column(f"{name}_more", table[name]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["payments", "friends", "problems"])
def test_a_file_with_other_columns_is_named_and_loaded_again(service, tmp_path, kind, change) -> None:
    """In a file with a valid digest: every reader names the file, and a sync or refresh replaces it."""
    archive = p2p.open_archive(tmp_path)
    columns = list(tables.SCHEMAS[kind])
    with service.client() as client:
        archive.sync(client)
        expected = archive.history()
        whole = content(archive)
        for column in (columns[0], columns[-1]):
            name = of_another_version(archive, kind, lambda table, column=column: CHANGES[change](table, column))
            readers = [archive.history, lambda: archive.merge(expected)]
            if kind == "payments":
                readers += [lambda: archive.scan("polars").collect(), lambda: archive.verify(client)]
            for read in readers:
                with pytest.raises(ArchiveError, match=rf"{name} is broken \(.* version wrote it, with .*\): sync"):
                    read()
            assert archive.sync(client, refresh=column == columns[0]).set_aside == (name,)
            pd.testing.assert_frame_equal(archive.history().payments, expected.payments)
            restore(archive, whole)


@pytest.mark.parametrize(
    ("kind", "loads"),
    [
        ("payments", "its payments again"),
        ("friends", "the friends and all payments again"),
        ("people", "all payments again, and the people with them, but not their earlier names"),
        ("problems", "all payments again, and their problems with them"),
        ("manifest", "all payments again"),
    ],
)
def test_the_error_says_what_a_sync_loads(service, tmp_path, kind, loads) -> None:
    """A sync then does so: a table that is not split by date takes a load of everything."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client:
        archive.sync(client)
        expected = archive.history()
        broken = next(tmp_path.glob(f"{kind}*"))
        broken.write_bytes(b"broken")
        with pytest.raises(ArchiveError, match=rf"which sets it aside and loads {loads}\.$"):
            archive.history()
        changes = archive.sync(client)
        assert changes.set_aside == (broken.name,)
        assert (changes.loaded == 40) == (kind != "payments")  # of payments, those of the file and the newest
        for table in ("payments", "friends", "people", "problems"):
            pd.testing.assert_frame_equal(getattr(archive.history(), table), getattr(expected, table))


def test_files_that_others_are_writing_into_the_folder_stay(service, tmp_path) -> None:
    """A sync during an export into the archive's folder removes nothing of the export."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client, atomic_file(tmp_path / "export.csv") as file:
        file.write(b"whole")
        archive.sync(client)
    assert (tmp_path / "export.csv").read_bytes() == b"whole"
