"""After its writer is killed, an archive holds the old state or the new one, and the next writer continues."""

import shutil

import pytest

import p2p_analytics as p2p
from support.archives.payments_service import DATES, MAY, ids, lose
from support.archives.statements import list_stored, row, statements_of
from support.archives.steps import copy_before_each_step

FIRST = statements_of(row(1, tip_cents=5), row(3, "Cy"))
SECOND = statements_of(row(3, "Cy"), row(4, file="june.csv"))


def leave_behind(tmp_path, before, change) -> list[p2p.Archive]:
    """Return what a kill leaves of an archive at each step of a change, and at its end."""
    watched = shutil.copytree(before, tmp_path / "watched") if before else tmp_path / "watched"
    left = copy_before_each_step(watched, tmp_path, lambda: change(p2p.open_archive(watched)))
    assert len(left) > 3
    return [p2p.open_archive(folder) for folder in left]


def read(archive) -> list[list[str]]:
    """Return the ids of the payments with their status, sorted."""
    return [] if archive.is_new else sorted(archive.history().payments[["payment_id", "status"]].to_numpy().tolist())


def describe(archive) -> list[object]:
    """Return payments, problems and imports as text; the time of an import is in its file, which has another digest."""
    history = archive.history()
    frames = history.payments, history.problems, archive.imports.drop(columns="imported_at")
    return [frame.astype(str).to_numpy().tolist() for frame in frames]


def check_files(archive) -> None:
    """Check that a writer has left no file of a killed one: all are in the manifest, or cached tables."""
    names = {path.name for path in archive.path.iterdir() if not path.name.startswith("view_")}
    assert names - {"lock"} == set(list_stored(archive))


def test_a_merge_that_is_killed_at_any_step(tmp_path, history_of, payment, set_limit) -> None:
    """Before each call that changes the folder: the old or the new, each payment once, and a merge completes it."""
    set_limit("archive_rows", 3)
    days = [payment(day, status="pending", date_created=f"2024-05-{day:02}T12:00:00") for day in range(1, 7)]
    newer = [day | {"status": "settled"} for day in days[::3]] + [payment(99, date_created="2024-05-05T13:00:00")]
    changes, before = history_of(*newer, friends=2), p2p.open_archive(tmp_path / "before")
    before.merge(history_of(*days))
    old, seen = read(before), []
    for archive in leave_behind(tmp_path, before.path, lambda changed: changed.merge(changes)):
        seen.append(read(archive))
        archive.merge(changes)
        new = read(archive)
        assert seen[-1] in (old, new)
        assert len(new) == len(dict(new)) == 7
        named = set(list_stored(archive))
        archive.merge(history_of(payment(100)))
        left = {file.name for file in archive.path.iterdir()}
        assert left == named | set(list_stored(archive)) | {"lock"}, "what the dead left behind is gone"
    assert seen[0] == old != seen[-1]


def test_a_first_sync_that_is_killed_at_any_step(service, tmp_path) -> None:
    """There is no archive, or a whole one; the next sync makes it whole."""
    found = []
    with service.client() as client:
        for archive in leave_behind(tmp_path, None, lambda changed: changed.sync(client)):
            found.append((archive.path / "manifest.json").exists())
            if not found[-1]:
                assert archive.sync(client).added == 60
            assert ids(archive) == set(DATES)
    assert set(found) == {False, True}


def test_a_refresh_that_is_killed_at_any_step(service, archive, tmp_path) -> None:
    """The archive is in the damaged or the repaired state, and the next refresh repairs it."""
    lose(archive, MAY)
    seen = set()
    with service.client() as client:
        for left in leave_behind(tmp_path, archive.path, lambda changed: changed.sync(client, refresh=True)):
            seen.add(frozenset(ids(left)))
            left.sync(client, refresh=True)
            assert left.verify(client).empty
    assert seen == {frozenset(DATES), frozenset(DATES) - MAY}


@pytest.mark.parametrize("first", [True, False], ids=["first import", "into an archive"])
def test_an_import_that_is_killed_at_any_step(tmp_path, history_of, payment, first) -> None:
    """Before each call that changes the folder: the old or the new, both can be merged, imported into and undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.path.mkdir()
    if not first:
        before.merge(history_of(payment(1), account="ada"))
        before.import_(FIRST)
    after = p2p.open_archive(shutil.copytree(before.path, tmp_path / "after"))
    after.import_(SECOND)
    old_files, old, new, expected = list_stored(before), read(before), read(after), describe(after)
    seen = []
    for archive in leave_behind(tmp_path, before.path, lambda changed: changed.import_(SECOND)):
        found = read(archive)
        assert found in (old, new)
        seen.append(found)
        if found == old and seen.count(found) % 4 == 1:
            assert archive.is_new or list_stored(archive) == old_files
            archive.import_(SECOND)
            check_files(archive)
        if seen.count(found) == 1:
            assert describe(archive) == expected
            archive.merge(history_of(payment(9), account="ada"))
            assert read(archive) == sorted([*new, ["9", "settled"]])
        elif found == new and seen.count(found) % 4 == 2:
            archive.undo()
            assert list_stored(archive) == old_files
            check_files(archive)
    assert (seen[0], seen[-1]) == (old, new)


def test_an_undo_that_is_killed_at_any_step(tmp_path) -> None:
    """The import is there, or it is gone; either way the rest can be undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.import_(FIRST)
    old = list_stored(before)
    before.import_(SECOND)
    new, expected = list_stored(before), describe(before)
    seen = []
    for archive in leave_behind(tmp_path, before.path, lambda changed: changed.undo()):
        seen.append(list_stored(archive))
        assert seen[-1] in (old, new)
        if seen[-1] == new:
            archive.undo()
            assert list_stored(archive) == old
        if seen.count(seen[-1]) == 1:
            archive.import_(SECOND)
            assert describe(archive) == expected
            check_files(archive)
            archive.undo()
        archive.undo()
        assert archive.is_new
    assert (seen[0], seen[-1]) == (new, old)
