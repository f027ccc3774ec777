"""After an import or an undo is killed, an archive holds the old state or the new one, and the next one continues."""

from __future__ import annotations

import random
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from support.archives.statements import digests, row, statements_of

if TYPE_CHECKING:
    from pathlib import Path

DONE, KILLED = 0, -signal.SIGKILL
MAY = [{"payment_id": 1, "tip_cents": 5}, {"payment_id": 3, "name": "Cy"}]
JUNE = [{"payment_id": 3, "name": "Cy"}, {"payment_id": 4, "file": "june.csv"}]


def read(archive: p2p.Archive) -> list[str] | None:
    """Return the ids of the payments; None without an archive."""
    if not (archive.path / "manifest.json").exists():
        return None
    return archive.history().payments["payment_id"].tolist()


def digest_listed(folder: Path) -> dict[str, str]:
    """Return the digest of the manifest and of each file that it names."""
    manifest = p2p.open_archive(folder)._folder.read_manifest()
    names = {"manifest.json", *(entry.name for entry in manifest.entries)} if manifest else set()
    return {name: digest for name, digest in digests(folder).items() if name in names}


def list_files(folder: Path) -> frozenset[tuple[str, int]]:
    """Return name and size of each file except temporary ones."""
    return frozenset((path.name, path.stat().st_size) for path in folder.iterdir() if path.suffix != ".part")


def check_a_merge(folder: Path, history, known: list[str] | None, imports: int) -> None:
    """Check that a merge after the kill settles it: the rows are those of the imports that the archive lists."""
    archive = p2p.open_archive(shutil.copytree(folder, folder.with_name(f"{folder.name}-merged")))
    archive.merge(history)
    assert sorted(read(archive)) == sorted([*(known or []), "9"])
    assert len(archive.imports) == imports


@pytest.mark.parametrize("first", [True, False], ids=["first import", "into an archive"])
def test_an_import_that_is_killed_at_any_step(tmp_path, history_of, payment, change_archive, first) -> None:
    """Before each call that changes the folder: the old or the new, both can be imported into and undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.path.mkdir()
    if not first:
        before.merge(history_of(payment(1), account="ada"))
        before.import_(statements_of(*(row(**fields) for fields in MAY)))
    after = p2p.open_archive(shutil.copytree(before.path, tmp_path / "after"))
    after.import_(statements_of(*(row(**fields) for fields in JUNE)))
    old, old_files, new_files = read(before), digest_listed(before.path), digest_listed(after.path)
    new = ["4", "3"] if first else ["4", "3", "1"]
    assert read(after) == new
    step, ended, merged = 0, KILLED, set()
    while ended == KILLED:
        archive = p2p.open_archive(shutil.copytree(before.path, tmp_path / f"{step}"))
        ended = change_archive(archive=str(archive.path), statements=JUNE, step=step)
        found = read(archive)
        assert found in (old, new)
        if list_files(archive.path) not in merged:
            merged.add(list_files(archive.path))
            check_a_merge(archive.path, history_of(payment(9), account="ada"), found, (not first) + (found == new))
        if found == old:
            assert digest_listed(archive.path) == old_files
            archive.import_(statements_of(*(row(**fields) for fields in JUNE)))
        assert digest_listed(archive.path) == new_files
        archive.undo()
        assert digest_listed(archive.path) == old_files
        step += 1
    assert ended == DONE
    assert step > (20 if first else 10)


def test_an_undo_that_is_killed_at_any_step(tmp_path, history_of, payment, change_archive) -> None:
    """The import is there, or it is gone; either way the rest can be undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.import_(statements_of(*(row(**fields) for fields in MAY)))
    old = digest_listed(before.path)
    before.import_(statements_of(*(row(**fields) for fields in JUNE)))
    new = digest_listed(before.path)
    step, ended, merged = 0, KILLED, set()
    while ended == KILLED:
        archive = p2p.open_archive(shutil.copytree(before.path, tmp_path / f"{step}"))
        ended = change_archive(archive=str(archive.path), undo=True, step=step)
        found = digest_listed(archive.path)
        assert found in (old, new)
        if list_files(archive.path) not in merged:
            merged.add(list_files(archive.path))
            check_a_merge(archive.path, history_of(payment(9), account="ada"), read(archive), 1 + (found == new))
        if found == new:
            archive.undo()
            assert digest_listed(archive.path) == old
        archive.import_(statements_of(*(row(**fields) for fields in JUNE)))
        assert digest_listed(archive.path) == new
        archive.undo()
        archive.undo()
        assert read(archive) is None
        step += 1
    assert ended == DONE
    assert step > 5


@pytest.mark.soak
def test_fifty_kills_at_any_moment(tmp_path, change_archive) -> None:
    """Imports and undos by turns, killed at random: nothing is half there, and nothing is lost."""
    chance = random.Random(7)  # noqa: S311 - no secret
    archive = p2p.open_archive(tmp_path / "archive")
    states = [read(archive)]
    kills = 0
    for number in range(1_000):
        order = {"archive": str(archive.path), "seconds": chance.uniform(0, 0.3)}
        if number % 5 == 4 and len(states) > 1:
            kills += change_archive(**order, undo=True) == KILLED
            assert read(archive) in states[-2:]
            if read(archive) == states[-1]:
                archive.undo()
            states.pop()
        else:
            fields = [{"payment_id": number, "file": f"{number}.csv"}]
            new = sorted([str(number), *(states[-1] or [])], key=int, reverse=True)
            kills += change_archive(**order, statements=fields) == KILLED
            assert read(archive) in (states[-1], new)
            if read(archive) == states[-1]:
                archive.import_(statements_of(*(row(**each) for each in fields)))
            states.append(new)
        assert read(archive) == states[-1]
        if kills == 50:
            break
    assert kills == 50
    while len(states) > 1:
        archive.undo()
        states.pop()
        assert read(archive) == states[-1]
