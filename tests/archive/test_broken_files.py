"""A broken file is replaced only by a complete reload of its payments."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _manifest, tables
from p2p_analytics.errors import ArchiveError, PaginationError
from p2p_analytics.files import atomic_file
from support.archives.payments_service import ids

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from p2p_analytics.archive import Archive

PLACES = {"oldest": 0, "middle": 2, "newest": -1}


def payment_files(archive: Archive) -> list[Path]:
    """Return the paths of an archive's files of payments, oldest first."""
    return [archive.path / entry.name for entry in archive._folder.read_manifest().service.payments]


def content(archive: Archive) -> dict[str, bytes]:
    """Return the content of all files of a folder."""
    return {path.name: path.read_bytes() for path in archive.path.iterdir()}


def restore(archive: Archive, files: dict[str, bytes]) -> None:
    """Make a folder hold these files alone."""
    for path in archive.path.iterdir():
        path.unlink()
    for name, data in files.items():
        (archive.path / name).write_bytes(data)


@pytest.mark.parametrize(("place", "gone", "status"), [("middle", "24", "settled"), ("newest", "54", "pending")])
def test_one_payment_less_is_refused_until_a_refresh(service, payment, caplog, archive, place, gone, status):  # noqa: PLR0913, PLR0917 - fixtures and a case
    """Payments that are new, or of other files, make up for none; a refresh is the way out and counts the loss."""
    service.payments[gone]["status"] = status
    with service.client() as client:
        archive.sync(client, refresh=True)
        file = payment_files(archive)[PLACES[place]]
        file.write_bytes(b"broken")
        before = content(archive)
        lost = service.payments.pop(gone)
        made = {f"new {day}": f"2025-06-0{day}T12:00:00" for day in (1, 2)}
        service.payments |= {key: payment(key, date_created=date) for key, date in made.items()}
        with pytest.raises(PaginationError, match=r"lists 9 of the 10 payments .*: try again .* refresh=True"):
            archive.sync(client, on_bad_record="report")
        assert content(archive) == before
        service.payments[gone] = lost
        assert archive.sync(client).set_aside == (file.name,)
        assert ids(archive) == set(service.payments)
        file = payment_files(archive)[PLACES[place]]
        held = archive._folder.read_manifest().service.payments[PLACES[place]].rows
        file.write_bytes(b"broken")
        del service.payments[gone]
        assert archive.sync(client, refresh=True, on_bad_record="report").set_aside == (file.name,)
        assert f"lists {held - 1} of the {held} payments" in caplog.text
        assert ids(archive) == set(service.payments)
        assert archive.sync(client, on_bad_record="report").set_aside == ()


def test_merged_payments_that_the_service_does_not_list_are_not_dropped(service, archive, history_of, payment) -> None:
    """A file that holds them too is reloaded by a refresh alone."""
    with service.client() as client:
        archive.merge(history_of(payment("merged", date_created="2024-05-05T12:00:00")))
        payment_files(archive)[PLACES["middle"]].write_bytes(b"broken")
        with pytest.raises(PaginationError, match=r"from 2024-05-01 before 2024-07-01 .* refresh=True"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert ids(archive) == set(service.payments)


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
@pytest.mark.parametrize("kind", ["payments", "problems"])
def test_a_file_with_other_columns_is_named_and_loaded_again(service, archive, kind, change) -> None:
    """In a file with a valid digest: every reader names the file, and a sync or refresh replaces it."""
    column = list(tables.SCHEMAS[kind])[0 if change == "missing" else -1]
    with service.client() as client:
        expected = archive.history()
        name = of_another_version(archive, kind, lambda table: CHANGES[change](table, column))
        readers = [archive.history, lambda: archive.merge(expected)]
        if kind == "payments":
            readers += [lambda: archive.scan("polars").collect(), lambda: archive.verify(client)]
        for read in readers:
            with pytest.raises(ArchiveError, match=rf"{name} is broken \(.* version wrote it, with .*\): sync"):
                read()
        assert archive.sync(client, refresh=change == "missing").set_aside == (name,)
        pd.testing.assert_frame_equal(archive.history().payments, expected.payments)


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
def test_the_error_says_what_a_sync_loads(service, archive, kind, loads) -> None:
    """A sync then does so: a table that is not split by date takes a load of everything."""
    expected = archive.history()
    broken = next(archive.path.glob(f"{kind}*"))
    broken.write_bytes(b"broken")
    with pytest.raises(ArchiveError, match=rf"which sets it aside and loads {loads}\.$"):
        archive.history()
    with service.client() as client:
        changes = archive.sync(client)
    assert changes.set_aside == (broken.name,)
    assert (changes.loaded == 60) == (kind != "payments")  # of payments, those of the file and the newest
    (aside,) = archive.path.glob(f"{broken.name}.corrupt-*")
    assert aside.read_bytes() == b"broken"
    for table in ("payments", "friends", "people", "problems"):
        pd.testing.assert_frame_equal(getattr(archive.history(), table), getattr(expected, table))


def test_files_that_others_are_writing_into_the_folder_stay(service, tmp_path) -> None:
    """A first sync during an export into the archive's folder removes nothing of the export."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client, atomic_file(tmp_path / "export.csv") as file:
        file.write(b"whole")
        archive.sync(client)
    assert (tmp_path / "export.csv").read_bytes() == b"whole"
