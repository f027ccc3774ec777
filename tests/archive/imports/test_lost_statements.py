"""A lost manifest or a broken file costs no statement that can still be read, and nothing of the service."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PROBLEMS
from support.archives.statements import digests, row, statements_of
from support.frames import frame_from_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from p2p_analytics.archive import Archive

JULY = statements_of(row(909, file="july.csv"))
NOTES = {"901": "note 901", "902": "note 902", "903": "edited", "905": "twice", "906": "twice"}


def notes(archive: Archive) -> dict[str, str]:
    """Return the note of each payment."""
    return archive.history().payments.set_index("payment_id")["note"].to_dict()


def forget_views(archive: Archive) -> None:
    """Remove the cached tables, so that the next reader reads all files."""
    for path in archive.path.glob("view_*"):
        path.unlink()


def lose_manifest(archive: Archive) -> None:
    """Remove the manifest."""
    (archive.path / "manifest.json").unlink()


def break_manifest(archive: Archive) -> None:
    """Overwrite the manifest."""
    (archive.path / "manifest.json").write_bytes(b"{}")


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory) -> Path:
    """Return an archive of two imports, one with an edited payment, and of two merges of edited payments."""
    folder = tmp_path_factory.mktemp("filled")
    archive, other = (p2p.open_archive(folder / name) for name in ("archive", "other"))
    archive.import_(statements_of(row(901), row(902)))
    edited = statements_of(row(903, file="june.csv"))
    archive.import_(replace(edited, payments=edited.payments.assign(note="edited")))
    other.import_(statements_of(row(905), row(906)))
    history = other.history()
    for note in ("once", "twice"):
        problem = {"payment_id": "905", "file": "may.csv", "line": 4, "problem": note}
        payments = history.payments.assign(note=note)
        archive.merge(replace(history, payments=payments, problems=frame_from_rows([problem], PROBLEMS)))
    assert notes(archive) == NOTES
    return archive.path


@pytest.fixture
def full_archive(example_folder: Path, tmp_path: Path) -> Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(example_folder, tmp_path / "statements"))


@pytest.fixture
def both(service, full_archive) -> Archive:
    """Return an archive of the service's payments and of these statements."""
    service.username = "ada"
    with service.client() as client:
        full_archive.sync(client)
    assert len(notes(full_archive)) == 65
    return full_archive


@pytest.mark.parametrize("damage", [lose_manifest, break_manifest])
def test_an_import_recovers_edited_and_merged_payments(full_archive, damage: Callable[[Archive], None]) -> None:
    """Without the manifest, their files state what they are; of two merges, the later one counts."""
    damage(full_archive)
    planned = full_archive.import_(JULY, dry_run=True)
    assert full_archive.import_(JULY)[:4] == planned[:4] == (1, 0, 0, 0)
    assert full_archive.imports["files"].tolist() == ["may.csv", "june.csv", "july.csv"]
    assert notes(full_archive) == NOTES | {"909": "note 909"}
    full_archive.undo()
    full_archive.undo()  # what an import has edited goes with it, and what a merge has added stays
    assert notes(full_archive) == {key: note for key, note in NOTES.items() if key != "903"}


@pytest.mark.parametrize("damage", [lose_manifest, break_manifest])
def test_a_sync_recovers_them_too(service, both, damage) -> None:
    """With the payments of the service."""
    expected = notes(both)
    assert {"edited", "twice"} < {*expected.values()}
    damage(both)
    with service.client() as client:
        both.sync(client)
    assert notes(both) == expected


def test_an_import_does_not_replace_what_only_a_sync_can_repair(service, archive) -> None:
    """Payments of the service in a folder without a manifest stay; the next sync lists them again."""
    lose_manifest(archive)
    before = digests(archive.path)
    for dry_run in (True, False):
        with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(it is missing\): sync the archive"):
            archive.import_(statements_of(row(900)), dry_run=dry_run)
    assert digests(archive.path) == before
    with service.client() as client:
        assert archive.sync(client).loaded == 60


@pytest.mark.parametrize("kind", ["rows", "edits"])
def test_a_broken_file_beside_a_lost_manifest_is_set_aside(full_archive, kind) -> None:
    """It is not removed; a dry run leaves it."""
    file = min(full_archive.path.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
    file.write_bytes(b"broken")
    lose_manifest(full_archive)
    before = digests(full_archive.path)
    full_archive.import_(JULY, dry_run=True)
    assert digests(full_archive.path) == before
    full_archive.import_(JULY)
    (aside,) = full_archive.path.glob(f"{file.name}.corrupt-*")
    assert aside.read_bytes() == b"broken"
    assert notes(full_archive).keys() == (NOTES.keys() - ({"901", "902"} if kind == "rows" else {})) | {"909"}


def test_broken_files_are_named_and_set_aside(full_archive) -> None:
    """Rows and edits of an import, and edits of merges: named with the option, which keeps all other payments."""
    manifest = full_archive._folder.read_manifest()
    for entry in (manifest.batches[0].rows, manifest.batches[1].edits, manifest.edits):
        forget_views(full_archive)
        (full_archive.path / entry.name).write_bytes(b"broken")
        for call in (full_archive.history, lambda: full_archive.import_(JULY), lambda: full_archive.people):
            with pytest.raises(ArchiveError, match=rf"{entry.name} is broken .*import all your .* again.*--repair"):
                call()
        full_archive.import_(statements_of(row(901)), repair=True)
        assert (full_archive.path / entry.name).exists() is False
        assert len(list(full_archive.path.glob(f"{entry.name}.corrupt-*"))) == 1
    assert notes(full_archive) == {"901": "note 901", "903": "note 903"}


def test_broken_problems_of_merged_histories(full_archive) -> None:
    """Before the first sync, the next import sets them aside."""
    file = full_archive.path / full_archive._folder.read_manifest().problems.name
    assert full_archive.history().problems["problem"].tolist() == ["once", "twice"]
    file.write_bytes(b"broken")
    forget_views(full_archive)
    with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*import all your statement files again, which"):
        full_archive.history()
    full_archive.import_(JULY)
    assert full_archive.history().problems.empty
    assert notes(full_archive) == NOTES | {"909": "note 909"}
