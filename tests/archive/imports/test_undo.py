"""Undoing imports: every file except the lock and the journal is as before, byte for byte."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os

import msgspec
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from support.archives.statements import digests, row, statements_of

MAY = statements_of(row(1), row(3, tip_cents=5))
JUNE = statements_of(row(3, tip_cents=5), row(4, file="june.csv", status="pending"))
JULY = statements_of(row(4, file="july.csv"))


@pytest.fixture
def archive(service, tmp_path) -> p2p.Archive:
    """Return an archive with the files of two syncs, the former of which are kept for readers."""
    service.username = "ada"
    archive = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        archive.sync(client)
        archive.sync(client)
    return archive


def test_an_import_into_an_archive_of_the_service(archive) -> None:
    """The manifest, the files that it names, and those of the state before it are back."""
    before = digests(archive.path)
    history = archive.history()
    archive.import_(MAY)
    assert digests(archive.path) != before
    undone = archive.undo()
    assert undone[["number", "files", "new", "known"]].to_dict("records") == [
        {"number": 1, "files": "may.csv", "new": 0, "known": 2}
    ]
    assert digests(archive.path) == before
    assert not (archive.path / "batches.json").exists()
    assert archive.history().payments.equals(history.payments)


def test_a_first_import(tmp_path) -> None:
    """Nothing but the lock is left, and the folder can be used again."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    archive.undo()
    assert [path.name for path in archive.path.iterdir()] == ["lock"]
    with pytest.raises(ArchiveError, match="no archive in"):
        archive.history()
    p2p.open_archive(archive.path).import_(JUNE)
    assert len(archive.history().payments) == 2


def test_imports_one_after_the_other(tmp_path) -> None:
    """Three imports, one of which adds nothing, are undone in turn; a fourth takes the place of the third."""
    archive = p2p.open_archive(tmp_path / "new")
    states = [{}]
    for statements in (MAY, MAY, JUNE, JULY):
        archive.import_(statements)
        states.append(digests(archive.path))
    assert states[1] == states[2]
    archive.undo()
    assert digests(archive.path) == states[3]
    archive.import_(JULY)
    assert digests(archive.path) == states[4]
    assert archive.imports["number"].tolist() == [1, 2, 3, 4]
    for expected in reversed(states[:4]):
        archive.undo()
        assert digests(archive.path) == expected
    with pytest.raises(ArchiveError, match="no import to undo"):
        archive.undo()


def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch) -> None:
    """Whichever file cannot be written, the folder is as before, and the next import can be undone to that."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    before = digests(archive.path)
    for step in range(3):
        calls = itertools.count()

        def full(_descriptor: int, calls=calls, step=step) -> None:
            if next(calls) >= step:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", full)
            with pytest.raises(ConfigurationError, match="no space left on device"):
                archive.import_(JUNE)
        assert digests(archive.path) == before
    assert archive.import_(JUNE).new == 1
    archive.undo()
    assert digests(archive.path) == before


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
def test_a_sync_or_merge_ends_the_undo(archive, service, history_of, payment, change) -> None:
    """It keeps the statements; a later import can be undone, but not the one before."""
    archive.import_(MAY)
    with service.client() as client:
        if change == "merge":
            archive.merge(history_of(payment(70)))
        else:
            archive.sync(client, refresh=change == "refresh")
    before = digests(archive.path)
    with pytest.raises(ArchiveError, match=r"because a sync, a merge or a repair came after it: import .* new archive"):
        archive.undo()
    assert digests(archive.path) == before
    payments = archive.history().payments.set_index("payment_id")
    assert payments["tip_cents"].get("3") == 5
    archive.import_(JUNE)
    assert archive.imports["undoable"].tolist() == [False, True]
    archive.undo()
    assert digests(archive.path) == before
    with pytest.raises(ArchiveError, match="a repair came after"):
        archive.undo()


def test_a_file_that_undo_needs_is_broken(archive) -> None:
    """The error names it, and the archive stays as it is."""
    file = next(archive.path.glob("friends-*"))
    archive.import_(MAY)
    file.write_bytes(b"broken")
    before = digests(archive.path)
    with pytest.raises(ArchiveError, match=f"{file.name} is broken"):
        archive.undo()
    assert digests(archive.path) == before


def test_a_broken_journal(archive) -> None:
    """The error says what removing it costs; then imports go on."""
    archive.import_(MAY)
    (archive.path / "batches.json").write_bytes(b"[{}]")
    for call in (archive.undo, lambda: archive.import_(JUNE), lambda: archive.import_(JUNE, dry_run=True)):
        with pytest.raises(ArchiveError, match="remove it; the imports before can then not be undone"):
            call()
    (archive.path / "batches.json").unlink()
    archive.import_(JUNE)
    archive.undo()
    assert archive.history().payments["tip_cents"].notna().sum() == 2


def test_a_journal_with_another_digest(archive) -> None:
    """One changed number is found."""
    archive.import_(MAY)
    path = archive.path / "batches.json"
    path.write_bytes(path.read_bytes().replace(b'"known":2', b'"known":3'))
    with pytest.raises(ArchiveError, match=r"batches.json is broken \(its content is not as it was written\)"):
        archive.undo()


@pytest.mark.parametrize("name", ["../mine.txt", "people.csv", "manifest.json", "lock"])
def test_a_journal_with_other_peoples_files(tmp_path, name) -> None:
    """An undo, or an import after an undo that was killed, would remove them: they stay, whatever the journal says."""
    archive = p2p.open_archive(tmp_path / "archive")
    archive.import_(MAY)
    archive.import_(JUNE)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    (archive.path / "people.csv").write_text("alias,person\n")
    path = archive.path / "batches.json"
    document = msgspec.json.decode(path.read_bytes().rpartition(b',"digest"')[0] + b"}")
    document["batches"][-1]["written"].append(name)
    for under_way in (None, "undo"):
        document["batches"][-1]["under_way"] = under_way
        body = msgspec.json.encode(document)[:-1]
        path.write_bytes(body + b',"digest":"' + hashlib.sha256(body).hexdigest().encode() + b'"}')
        before = digests(archive.path)
        for call in (archive.undo, lambda: archive.import_(JULY)):
            with pytest.raises(ArchiveError, match=r"batches.json is broken \(it is no journal of imports\)"):
                call()
        assert digests(archive.path) == before
        assert mine.read_text() == "mine"


def test_a_lost_manifest(tmp_path) -> None:
    """An import keeps the statements that are left, as for a broken manifest."""
    archive = p2p.open_archive(tmp_path / "archive")
    archive.import_(MAY)
    (archive.path / "manifest.json").unlink()
    assert archive.import_(JUNE, dry_run=True)[:4] == archive.import_(JUNE)[:4] == (1, 1, 0, 0)
    assert sorted(archive.history().payments["payment_id"]) == ["1", "3", "4"]


@pytest.mark.parametrize("file", ["manifest.json", "friends-*", "problems-*", "people-*", "payments-*"])
def test_a_broken_file_of_an_archive_of_statements_alone(tmp_path, file) -> None:
    """Such an archive cannot be synced: the error asks for an import, which keeps the statements and can be undone."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    expected = digests(archive.path)
    (path,) = archive.path.glob(file)
    path.write_bytes(b"broken")
    damaged = digests(archive.path)
    advice = f"{path.name} is broken .*: import all your statement files again, which sets it aside"
    with pytest.raises(ArchiveError, match=advice):
        archive.history()
    other = statements_of(row(1, account_id="bob"), account="bob")
    with pytest.raises(ArchiveError, match=r"another account|is the archive of"):
        archive.import_(other)
    assert archive.import_(JUNE, dry_run=True)[:4] == (1, 1, 0, 0)
    assert digests(archive.path) == damaged
    assert archive.import_(JUNE)[:4] == (1, 1, 0, 0)
    assert sorted(archive.history().payments["payment_id"]) == ["1", "3", "4"]
    (aside,) = archive.path.glob(f"{path.name}.corrupt-*")
    aside.unlink()
    archive.undo()
    assert digests(archive.path) == expected, "as it was before the damage, so the first import can be undone, too"


def test_a_broken_manifest_beside_payments_of_the_service(archive) -> None:
    """A sync is advised, and an import changes nothing."""
    archive.import_(MAY)
    (archive.path / "manifest.json").write_bytes(b"broken")
    before = digests(archive.path)
    for call in (archive.history, lambda: archive.import_(MAY)):
        with pytest.raises(ArchiveError, match=r"manifest.json is broken .*: sync the archive"):
            call()
    assert digests(archive.path) == before


@pytest.mark.parametrize("kind", ["statements", "statement_versions", "statement_problems", "statement_balances"])
def test_a_broken_file_of_statements(archive, service, kind) -> None:
    """A sync leaves it and works; readers and imports refuse, and say that an import with repair replaces it."""
    archive.import_(MAY)
    file = next(archive.path.glob(f"{kind}-*"))
    file.write_bytes(b"broken")
    with service.client() as client:
        assert archive.sync(client).set_aside == ()
    advice = f"{file.name} is broken .*: import all your statement files again with repair=True"
    before = digests(archive.path)
    calls = [lambda: archive.import_(MAY), lambda: archive.import_(MAY, dry_run=True)]
    for call in calls if kind in {"statement_versions", "statement_balances"} else [*calls, archive.history]:
        with pytest.raises(ArchiveError, match=advice):
            call()
    archive.import_(MAY, repair=True, dry_run=True)
    assert digests(archive.path) == before
    archive.import_(MAY, repair=True)
    assert archive.history().payments["tip_cents"].notna().sum() == 2
    assert len(list(archive.path.glob(f"{file.name}.corrupt-*"))) == 1


def test_an_import_over_a_broken_file_of_statements(tmp_path, caplog) -> None:
    """A warning says how many rows are lost, the earlier import is not listed, and nothing promises an undo."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(MAY)
    (file,) = archive.path.glob("statements-*")
    file.write_bytes(b"broken")
    archive.import_(JUNE, repair=True)
    assert "set aside, with 2 rows: import all your statement files again" in caplog.text
    assert archive.imports[["number", "undoable"]].to_numpy().tolist() == [[2, False]]
    before = digests(archive.path)
    with pytest.raises(ArchiveError, match=f"{file.name} is broken, and the last import cannot be undone without it"):
        archive.undo()
    assert digests(archive.path) == before
