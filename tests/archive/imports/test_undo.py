"""Undoing imports: the archive is as before, and its view is derived again."""

from __future__ import annotations

import errno
import itertools
import os

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from support.archives.statements import list_stored, row, statements_of

MAY = statements_of(row(1), row(3, tip_cents=5))
JUNE = statements_of(row(3, tip_cents=5, file="june.csv"), row(4, file="june.csv", status="pending"))
JULY = statements_of(row(4, file="july.csv"))


@pytest.fixture
def archive(service, tmp_path) -> p2p.Archive:
    """Return an archive that was synced twice."""
    service.username = "ada"
    archive = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        archive.sync(client)
        archive.sync(client)
    return archive


def test_an_import_into_an_archive_of_the_service(archive) -> None:
    """The manifest and the files that it names are as before."""
    before, history = list_stored(archive), archive.history()
    archive.import_(MAY)
    assert list_stored(archive) != before
    undone = archive.undo()
    assert undone[["number", "files", "new", "known"]].to_dict("records") == [
        {"number": 1, "files": "may.csv", "new": 0, "known": 2}
    ]
    assert list_stored(archive) == before
    assert archive.history().payments.equals(history.payments)


def test_a_first_import(tmp_path) -> None:
    """Nothing but the lock is left, and the folder can be used again."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    archive.history()
    archive.undo()
    assert [path.name for path in archive.path.iterdir()] == ["lock"]
    assert archive.is_new
    with pytest.raises(ArchiveError, match="no archive in"):
        archive.history()
    p2p.open_archive(archive.path).import_(JUNE)
    assert len(archive.history().payments) == 2


def test_imports_one_after_the_other(tmp_path) -> None:
    """Four imports, one of which adds nothing, are undone in turn; none of their rows is left on the disk."""
    archive = p2p.open_archive(tmp_path / "new")
    states = []
    for statements in (MAY, MAY, JUNE, JULY):
        states.append(list_stored(archive))
        archive.import_(statements)
    assert archive.imports["number"].tolist() == [1, 2, 3, 4]
    assert archive.imports["undoable"].tolist() == [False, False, False, True]
    for expected in reversed(states):
        archive.undo()
        assert list_stored(archive) == expected
        assert {path.name for path in archive.path.glob("rows-*")} == {
            name for name in expected if name.startswith("rows-")
        }
    with pytest.raises(ArchiveError, match="no import to undo"):
        archive.undo()


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch) -> None:
    """Whichever file cannot be written, the folder is as before, and the next import can be undone to that."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    before = {path.name for path in archive.path.iterdir()}, list_stored(archive)
    for step in range(3):
        calls = itertools.count()

        def full(_descriptor: int, calls=calls, step=step) -> None:
            if next(calls) >= step:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", full)
            with pytest.raises(ConfigurationError, match="no space left on device"):
                archive.import_(JUNE)
        assert ({path.name for path in archive.path.iterdir()}, list_stored(archive)) == before
    assert archive.import_(JUNE).new == 1
    archive.undo()
    assert list_stored(archive) == before[1]


def test_the_users_file_of_people_stays(tmp_path) -> None:
    """Neither an import nor its undo touches it, also where the archive is gone."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    path = archive.write_people()
    written = path.read_bytes()
    archive.import_(JUNE)
    archive.undo()
    archive.undo()
    assert path.read_bytes() == written


@pytest.mark.parametrize("change", ["sync", "merge", "refresh"])
def test_what_a_sync_or_merge_has_added_stays(archive, service, history_of, payment, change) -> None:
    """The undo of an import before it takes the rows of the files back, and nothing else."""
    expected = archive.history().payments
    archive.import_(MAY)
    with service.client() as client:
        if change == "merge":
            archive.merge(history_of(payment(70)))
        else:
            archive.sync(client, refresh=change == "refresh")
    payments = archive.history().payments.set_index("payment_id")
    assert payments["tip_cents"].get("3") == 5
    archive.undo()
    found = archive.history().payments
    assert set(found["payment_id"]) == {*expected["payment_id"], *(["70"] if change == "merge" else [])}
    assert list(found) == list(expected)


def test_edits_of_an_import_are_undone_with_it(tmp_path) -> None:
    """A note that the user has changed before the import is that of the file of another import again."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    edited = statements_of(row(1, file="copy.csv"))
    edited.payments.loc[0, "note"] = "edited"
    archive.import_(edited)
    assert archive.history().payments.set_index("payment_id")["note"].get("1") == "edited"
    archive.undo()
    assert archive.history().payments.set_index("payment_id")["note"].get("1") == "note 1"


def test_a_lost_or_broken_manifest(tmp_path) -> None:
    """The next import finds the files of the earlier ones, which state what they are."""
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"{}")):
        archive = p2p.open_archive(tmp_path / str(damage.__code__.co_firstlineno) / str(id(damage)))
        archive.import_(MAY)
        archive.import_(JUNE)
        damage(archive.path / "manifest.json")
        p2p.open_archive(archive.path).import_(JULY)
        assert archive.imports["files"].tolist() == ["may.csv", "june.csv", "july.csv"]
        assert set(archive.history().payments["payment_id"]) == {"1", "3", "4"}


def test_a_broken_file_of_an_import(tmp_path) -> None:
    """The error names it and the option; with repair, it is set aside, and the other imports stay."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    (file,) = archive.path.glob("rows-*")
    archive.import_(JUNE)
    file.write_bytes(b"broken")
    for call in (archive.history, lambda: archive.import_(JULY), lambda: archive.people):
        with pytest.raises(
            ArchiveError, match=rf"{file.name} is broken .*import all your statement files again.*--repair"
        ):
            call()
    archive.import_(JULY, repair=True)
    assert archive.imports["files"].tolist() == ["june.csv", "july.csv"]
    assert set(archive.history().payments["payment_id"]) == {"3", "4"}
    assert len(list(archive.path.glob("rows-*.corrupt-*"))) == 1
    archive.import_(MAY)
    assert set(archive.history().payments["payment_id"]) == {"1", "3", "4"}


def test_cached_tables_may_be_deleted(tmp_path) -> None:
    """Also at any time, and damaged; they are derived again from the rows."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    expected = archive.history()
    for path in archive.path.glob("view_*"):
        path.unlink()
    assert archive.history().payments.equals(expected.payments)
    for path in archive.path.glob("view_*"):
        path.write_bytes(path.read_bytes()[:-9])
    assert archive.history().payments.equals(expected.payments)
    assert archive.import_(MAY)[:4] == (0, 2, 0, 0)


def test_a_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch) -> None:
    """Without the cache, each call derives the view again."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("p2p_analytics.archive._folder.atomic_file", refuse)
    assert len(archive.history().payments) == len(archive.scan("polars").collect()) == 2
    assert list(archive.path.glob("view_payments-*")) == []
