"""After an import or an undo is killed, an archive holds the old state or the new one, and the next one continues."""

from __future__ import annotations

import random
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from support.archives.statements import list_stored, row, statements_of
from support.archives.steps import Copies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DONE, KILLED = 0, -signal.SIGKILL
MAY = [{"payment_id": 1, "tip_cents": 5}, {"payment_id": 3, "name": "Cy"}]
JUNE = [{"payment_id": 3, "name": "Cy"}, {"payment_id": 4, "file": "june.csv"}]


def read(archive: p2p.Archive) -> list[str] | None:
    """Return the ids of the payments; None without an archive."""
    return None if archive.is_new else archive.history().payments["payment_id"].tolist()


def describe(archive: p2p.Archive) -> list[object]:
    """Return payments, problems and imports as text; the time of an import is in its file, which has another digest."""
    history = archive.history()
    frames = history.payments, history.problems, archive.imports.drop(columns="imported_at")
    return [frame.astype(str).to_numpy().tolist() for frame in frames]


def check_files(archive: p2p.Archive) -> None:
    """Check that a writer has left no file of a killed one: all are in the manifest, or cached tables."""
    names = {path.name for path in archive.path.iterdir() if not path.name.startswith("view_")}
    assert names - {"lock"} == set(list_stored(archive))


def check_a_merge(folder: Path, history, known: list[str] | None, imports: int) -> None:
    """Check that a merge after the kill settles it: the rows are those of the imports that the archive lists."""
    archive = p2p.open_archive(shutil.copytree(folder, folder.with_name(f"{folder.name}-merged")))
    archive.merge(history)
    assert sorted(read(archive)) == sorted([*(known or []), "9"])
    assert len(archive.imports) == imports


@pytest.fixture
def leave_behind(tmp_path, change_archive, kills) -> Callable[..., list[p2p.Archive]]:
    """Return a function that changes copies of an archive, and returns what a kill leaves at each step and at the end.

    These are the folder before each step, and the folders of processes that are really killed at some of them.
    """

    def leave(
        before: p2p.Archive, change: Callable[[p2p.Archive], object], *, least: int, **order: Any
    ) -> list[p2p.Archive]:
        archive = p2p.open_archive(shutil.copytree(before.path, tmp_path / "watched"))
        copies = Copies(archive.path, tmp_path)
        with copies.watch_changes():
            change(archive)
        left, last = copies.different, copies.steps - 1
        assert last >= least
        assert len(left) > 3
        for step in [step for step in kills if step < last] + [last]:
            left.append(shutil.copytree(before.path, tmp_path / f"killed-{step}"))
            assert change_archive(**order, archive=str(left[-1]), step=step) == (DONE if step == last else KILLED)
        return [p2p.open_archive(folder) for folder in left]

    return leave


@pytest.mark.parametrize("first", [True, False], ids=["first import", "into an archive"])
def test_an_import_that_is_killed_at_any_step(tmp_path, history_of, payment, leave_behind, first) -> None:
    """Before each call that changes the folder: the old or the new, both can be imported into and undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.path.mkdir()
    if not first:
        before.merge(history_of(payment(1), account="ada"))
        before.import_(statements_of(*(row(**fields) for fields in MAY)))
    after = p2p.open_archive(shutil.copytree(before.path, tmp_path / "after"))
    after.import_(statements_of(*(row(**fields) for fields in JUNE)))
    old, old_files, expected = read(before), list_stored(before), describe(after)
    new = ["4", "3"] if first else ["4", "3", "1"]
    assert read(after) == new
    june = statements_of(*(row(**fields) for fields in JUNE))
    seen = []
    for archive in leave_behind(
        before, lambda changed: changed.import_(june), least=20 if first else 10, statements=JUNE
    ):
        found = read(archive)
        assert found in (old, new)
        if found not in seen:
            check_a_merge(archive.path, history_of(payment(9), account="ada"), found, (not first) + (found == new))
        seen.append(found)
        if found == old:
            assert archive.is_new or list_stored(archive) == old_files
            archive.import_(statements_of(*(row(**fields) for fields in JUNE)))
            check_files(archive)
        assert describe(archive) == expected
        archive.undo()
        assert list_stored(archive) == old_files
        check_files(archive)
    assert old in seen
    assert new in seen


def test_an_undo_that_is_killed_at_any_step(tmp_path, history_of, payment, leave_behind) -> None:
    """The import is there, or it is gone; either way the rest can be undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.import_(statements_of(*(row(**fields) for fields in MAY)))
    old = list_stored(before)
    before.import_(statements_of(*(row(**fields) for fields in JUNE)))
    new, expected = list_stored(before), describe(before)
    seen = []
    for archive in leave_behind(before, lambda changed: changed.undo(), least=5, undo=True):
        found = list_stored(archive)
        assert found in (old, new)
        if found not in seen:
            check_a_merge(archive.path, history_of(payment(9), account="ada"), read(archive), 1 + (found == new))
        seen.append(found)
        if found == new:
            archive.undo()
            assert list_stored(archive) == old
        archive.import_(statements_of(*(row(**fields) for fields in JUNE)))
        assert describe(archive) == expected
        check_files(archive)
        archive.undo()
        archive.undo()
        assert read(archive) is None
        check_files(archive)
    assert old in seen
    assert new in seen


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
