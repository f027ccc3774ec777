"""A lost manifest or a broken file costs no statement that can still be read, and nothing of the service."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PROBLEMS
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from p2p_analytics.archive import Archive


def fill(archive: Archive, start: int = 0) -> None:
    """Import payments, of which one is edited, and merge the edited payments of another archive."""
    archive.import_(statements_of(row(start + 1), row(start + 2)))
    edited = statements_of(row(start + 3, file="june.csv"))
    archive.import_(replace(edited, payments=edited.payments.assign(note="edited")))
    other = p2p.open_archive(archive.path.with_name("other"))
    other.import_(statements_of(row(start + 5), row(start + 6)))
    for note in ("once", "twice"):
        history = other.history()
        problem = {
            **dict.fromkeys(PROBLEMS),
            "payment_id": str(start + 5),
            "file": "may.csv",
            "line": 4,
            "problem": note,
        }
        archive.merge(
            replace(
                history,
                payments=history.payments.assign(note=note),
                problems=pd.DataFrame([problem]).astype(dict(PROBLEMS)),
            )
        )


NOTES = {"1": "note 1", "2": "note 2", "3": "edited", "5": "twice", "6": "twice"}


def notes(archive: Archive) -> dict[str, str]:
    """Return the note of each payment."""
    return archive.history().payments.set_index("payment_id")["note"].to_dict()


def content(archive: Archive) -> dict[str, bytes]:
    """Return the files of an archive but the cached ones."""
    return {path.name: path.read_bytes() for path in archive.path.iterdir() if not path.name.startswith("view_")}


def lose_manifest(archive: Archive) -> None:
    """Remove the manifest."""
    (archive.path / "manifest.json").unlink()


def break_manifest(archive: Archive) -> None:
    """Overwrite the manifest."""
    (archive.path / "manifest.json").write_bytes(b"{}")


@pytest.fixture
def full_archive(tmp_path: Path) -> Archive:
    """Return an archive of statements, of which some are edited and some are merged."""
    archive = p2p.open_archive(tmp_path / "statements")
    fill(archive)
    assert notes(archive) == NOTES
    return archive


@pytest.mark.parametrize("damage", [lose_manifest, break_manifest])
def test_an_import_recovers_edited_and_merged_payments(full_archive, damage: Callable[[Archive], None]) -> None:
    """Without the manifest, their files state what they are; of two merges, the later one counts."""
    damage(full_archive)
    planned = full_archive.import_(statements_of(row(9, file="july.csv")), dry_run=True)
    assert full_archive.import_(statements_of(row(9, file="july.csv")))[:4] == planned[:4] == (1, 0, 0, 0)
    assert notes(full_archive) == NOTES | {"9": "note 9"}
    full_archive.undo()
    assert notes(full_archive) == NOTES
    full_archive.undo()  # what an import has edited goes with it, and what a merge has added stays
    assert notes(full_archive) == {key: note for key, note in NOTES.items() if key != "3"}


def test_a_merge_recovers_them_too(full_archive, history_of, payment) -> None:
    """The payments of the service come with it."""
    lose_manifest(full_archive)
    full_archive.merge(replace(history_of(payment(8)), me=Me(user=User(id="7", username="ada", display_name="Ada"))))
    assert notes(full_archive) == NOTES | {"8": "note 8"}


@pytest.fixture
def both(service, tmp_path) -> Archive:
    """Return an archive of the service's payments and of statements of other payments."""
    archive = p2p.open_archive(tmp_path / "both")
    fill(archive, 900)
    service.username = "ada"
    with service.client() as client:
        archive.sync(client)
    assert len(notes(archive)) == 65
    return archive


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
    before = content(archive)
    for dry_run in (True, False):
        with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(it is missing\): sync the archive"):
            archive.import_(statements_of(row(900)), dry_run=dry_run)
    assert content(archive) == before
    del service.payments["7"]
    with service.client() as client:
        archive.sync(client, refresh=True)
    assert len(archive.history().payments) == 60


@pytest.mark.parametrize("kind", ["rows", "edits"])
def test_a_broken_file_beside_a_lost_manifest_is_set_aside(full_archive, kind) -> None:
    """It is not removed; a dry run leaves it."""
    file = min(full_archive.path.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
    file.write_bytes(b"broken")
    lose_manifest(full_archive)
    before = content(full_archive)
    full_archive.import_(statements_of(row(9, file="july.csv")), dry_run=True)
    assert content(full_archive) == before
    full_archive.import_(statements_of(row(9, file="july.csv")))
    (aside,) = full_archive.path.glob(f"{file.name}.corrupt-*")
    assert aside.read_bytes() == b"broken"
    assert notes(full_archive).keys() == (NOTES.keys() - ({"1", "2"} if kind == "rows" else {})) | {"9"}


def test_a_broken_file_of_edits(full_archive) -> None:
    """Those of an import and those of merges: named with the option, which keeps all other payments."""
    manifest = full_archive._folder.read_manifest()
    for path in full_archive.path.glob("view_*"):
        path.unlink()
    for entry in (manifest.batches[1].edits, manifest.edits):
        (full_archive.path / entry.name).write_bytes(b"broken")
        for call in (full_archive.history, lambda: full_archive.import_(statements_of(row(9, file="july.csv")))):
            with pytest.raises(ArchiveError, match=rf"{entry.name} is broken .*--repair"):
                call()
        full_archive.import_(statements_of(row(1), row(2)), repair=True)
        assert (full_archive.path / entry.name).exists() is False
        assert len(list(full_archive.path.glob(f"{entry.name}.corrupt-*"))) == 1
    assert notes(full_archive) == {"1": "note 1", "2": "note 2", "3": "note 3"}


def test_broken_problems_of_merged_histories(full_archive) -> None:
    """Before the first sync, the next import sets them aside."""
    file = full_archive.path / full_archive._folder.read_manifest().problems.name
    assert full_archive.history().problems["problem"].tolist() == ["once", "twice"]
    for path in [file, *full_archive.path.glob("view_*")]:
        path.write_bytes(b"broken")
    with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*import all your statement files again, which"):
        full_archive.history()
    full_archive.import_(statements_of(row(9, file="july.csv")))
    assert full_archive.history().problems.empty
    assert notes(full_archive) == NOTES | {"9": "note 9"}


def test_broken_problems_of_merged_histories_beside_the_service(service, both) -> None:
    """After a sync, the next sync sets them aside."""
    archive = both
    file = archive.path / archive._folder.read_manifest().problems.name
    expected = notes(archive)
    for path in [file, *archive.path.glob("view_*")]:
        path.write_bytes(b"broken")
    with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*: sync the archive"):
        archive.history()
    with service.client() as client:
        assert archive.sync(client).set_aside == (file.name,)
    assert notes(archive) == expected
