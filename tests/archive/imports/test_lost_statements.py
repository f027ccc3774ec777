"""A lost manifest or a broken file costs no statement that can still be read, and nothing of the service."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PROBLEMS
from support.archives.statements import digests, read_manifest, row, statements_of
from support.frames import frame_from_rows

JULY = statements_of(row(909, file="july.csv"))
NOTES = {"901": "note 901", "902": "note 902", "903": "edited", "905": "twice", "906": "twice"}


def notes(archive) -> dict[str, str]:
    """Return the note of each payment."""
    return archive.history().payments.set_index("payment_id")["note"].to_dict()


def break_file(path) -> None:
    """Overwrite a file, and remove the cached tables, so that the next reader reads all files."""
    path.write_bytes(b"broken")
    for view in path.parent.glob("view_*"):
        view.unlink()


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


def write_nothing(path: Path) -> None:
    """Write a manifest without entries."""
    path.write_bytes(b"{}")


@pytest.fixture
def full_archive(example_folder, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(example_folder, tmp_path / "statements"))


@pytest.mark.parametrize(
    "damage",
    [pytest.param(Path.unlink, id="lost", marks=pytest.mark.full), pytest.param(write_nothing, id="broken")],
)
def test_an_import_recovers_edited_and_merged_payments(full_archive, damage) -> None:
    """Without the manifest, their files state what they are; of two merges, the later one counts."""
    damage(full_archive.path / "manifest.json")
    planned = full_archive.import_(JULY, dry_run=True)
    assert full_archive.import_(JULY)[:4] == planned[:4] == (1, 0, 0, 0)
    assert full_archive.imports["files"].tolist() == ["may.csv", "june.csv", "july.csv"]
    assert notes(full_archive) == NOTES | {"909": "note 909"}
    full_archive.undo()
    full_archive.undo()  # what an import has edited goes with it, and what a merge has added stays
    assert notes(full_archive) == {key: note for key, note in NOTES.items() if key != "903"}


def test_a_sync_recovers_them_too(service, full_archive) -> None:
    """With the payments of the service; an import alone does not replace what only a sync can load again."""
    service.username = "ada"
    with service.client() as client:
        full_archive.sync(client)
        expected = notes(full_archive)
        assert len(expected) == 65
        (full_archive.path / "manifest.json").unlink()
        before = digests(full_archive.path)
        for dry_run in (True, False):
            with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(it is missing\): sync the archive"):
                full_archive.import_(statements_of(row(900)), dry_run=dry_run)
        assert digests(full_archive.path) == before
        assert full_archive.sync(client).loaded == 60
    assert notes(full_archive) == expected


@pytest.mark.parametrize("kind", ["rows", "edits"])
def test_a_broken_file_beside_a_lost_manifest_is_set_aside(full_archive, kind) -> None:
    """It is not removed; a dry run leaves it."""
    file = min(full_archive.path.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
    file.write_bytes(b"broken")
    (full_archive.path / "manifest.json").unlink()
    before = digests(full_archive.path)
    full_archive.import_(JULY, dry_run=True)
    assert digests(full_archive.path) == before
    full_archive.import_(JULY)
    (aside,) = full_archive.path.glob(f"{file.name}.corrupt-*")
    assert aside.read_bytes() == b"broken"
    assert notes(full_archive).keys() == (NOTES.keys() - ({"901", "902"} if kind == "rows" else {})) | {"909"}


def test_broken_files_are_named_and_set_aside(full_archive) -> None:
    """Rows and edits of an import, and edits of merges: named with the option, which keeps all other payments."""
    manifest = read_manifest(full_archive)
    for entry in (manifest["batches"][0]["rows"], manifest["batches"][1]["edits"], manifest["edits"]):
        file = full_archive.path / entry["name"]
        break_file(file)
        for call in (full_archive.history, lambda: full_archive.import_(JULY), lambda: full_archive.people):
            with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*import all your .* again.*--repair"):
                call()
        full_archive.import_(statements_of(row(901)), repair=True)
        assert [path.name.partition(".corrupt-")[0] for path in full_archive.path.glob(f"{file.name}*")] == [file.name]
        assert not file.exists()
    assert notes(full_archive) == {"901": "note 901", "903": "note 903"}


def test_broken_problems_of_merged_histories(full_archive) -> None:
    """Before the first sync, the next import sets them aside."""
    file = full_archive.path / read_manifest(full_archive)["problems"]["name"]
    assert full_archive.history().problems["problem"].tolist() == ["once", "twice"]
    break_file(file)
    with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*import all your statement files again, which"):
        full_archive.history()
    full_archive.import_(JULY)
    assert full_archive.history().problems.empty
    assert notes(full_archive) == NOTES | {"909": "note 909"}
