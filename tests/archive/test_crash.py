"""After its writer is killed, an archive holds the old state or the new one, and the next writer continues."""

from __future__ import annotations

import shutil

import pytest

import p2p_analytics as p2p
from support.archives.payments_service import DATES, MAY, ids, lose
from support.archives.statements import list_stored, row, statements_of


def states(history: p2p.History) -> list[tuple[str, str]]:
    """Return the id and status of each payment."""
    return list(history.payments[["payment_id", "status"]].astype(str).itertuples(index=False, name=None))


def test_a_merge_that_is_killed_at_any_step(tmp_path, history_of, payment, leave_behind, monkeypatch) -> None:
    """Before each call that changes the folder: the old or the new, each payment once, and a merge completes it."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 4)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 3)
    days = [payment(day, status="pending", date_created=f"2024-05-{day:02}T12:00:00") for day in range(1, 10)]
    newer = [day | {"status": "settled"} for day in days[::3]] + [payment(99, date_created="2024-05-05T13:00:00")]
    other, before = p2p.open_archive(tmp_path / "other"), p2p.open_archive(tmp_path / "before")
    other.merge(history_of(*newer, friends=2))
    before.merge(history_of(*days))
    old, changes = states(before.history()), other.history()
    seen = []
    for archive in leave_behind(before.path, lambda changed: changed.merge(changes), other=str(other.path)):
        seen.append(states(archive.history()))
        archive.merge(changes)
        new = states(archive.history())
        assert seen[-1] in (old, new)
        assert len(new) == len(dict(new)) == 10
        named = {entry.name for entry in archive._folder.read_manifest().entries}
        archive.merge(history_of(payment(100)))
        now = {entry.name for entry in archive._folder.read_manifest().entries}
        left = {file.name for file in archive.path.iterdir()}
        assert left == named | now | {"manifest.json", "lock"}, "what the dead left behind is gone"
    assert seen[0] == old != seen[-1]


def test_a_first_sync_that_is_killed_at_any_step(service, leave_behind) -> None:
    """There is no archive, or a whole one; the next sync makes it whole."""
    found = []
    with service.client() as client:
        order = {"token": "token", "base_url": service.running.base_url}
        for archive in leave_behind(None, lambda changed: changed.sync(client), **order):
            found.append((archive.path / "manifest.json").exists())
            if not found[-1]:
                assert archive.sync(client).added <= 60
            assert ids(archive) == set(DATES)
    assert set(found) == {False, True}


def test_a_refresh_that_is_killed_at_any_step(service, archive, leave_behind) -> None:
    """The archive is in the damaged or the repaired state, and the next refresh repairs it."""
    lose(archive, MAY)
    seen = set()
    with service.client() as client:
        order = {"token": "token", "base_url": service.running.base_url, "refresh": True}
        for left in leave_behind(archive.path, lambda changed: changed.sync(client, refresh=True), **order):
            seen.add(frozenset(ids(left)))
            left.sync(client, refresh=True)
            assert left.verify(client).empty
    assert seen == {frozenset(DATES), frozenset(DATES) - MAY}


FIRST = statements_of(row(1, tip_cents=5), row(3, "Cy"))
SECOND_ROWS = [{"payment_id": 3, "name": "Cy"}, {"payment_id": 4, "file": "june.csv"}]
SECOND = statements_of(*(row(**fields) for fields in SECOND_ROWS))


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


@pytest.mark.parametrize("first", [True, False], ids=["first import", "into an archive"])
def test_an_import_that_is_killed_at_any_step(tmp_path, history_of, payment, leave_behind, first) -> None:
    """Before each call that changes the folder: the old or the new, both can be merged, imported into and undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.path.mkdir()
    if not first:
        before.merge(history_of(payment(1), account="ada"))
        before.import_(FIRST)
    after = p2p.open_archive(shutil.copytree(before.path, tmp_path / "after"))
    after.import_(SECOND)
    old, old_files, expected = read(before), list_stored(before), describe(after)
    new = ["4", "3"] if first else ["4", "3", "1"]
    seen = []
    for archive in leave_behind(before.path, lambda changed: changed.import_(SECOND), statements=SECOND_ROWS):
        found = read(archive)
        assert found in (old, new)
        seen.append(found)
        if found == old and seen.count(old) % 4 == 1:
            assert archive.is_new or list_stored(archive) == old_files
            archive.import_(SECOND)
            check_files(archive)
        if seen.count(found) == 1:
            assert describe(archive) == expected
            archive.merge(history_of(payment(9), account="ada"))
            assert sorted(read(archive)) == sorted([*new, "9"])
        elif seen.count(found) % 4 == 2 and found == new:
            archive.undo()
            assert list_stored(archive) == old_files
            check_files(archive)
    assert seen[0] == old
    assert seen[-1] == new


def test_an_undo_that_is_killed_at_any_step(tmp_path, leave_behind) -> None:
    """The import is there, or it is gone; either way the rest can be undone."""
    before = p2p.open_archive(tmp_path / "before")
    before.import_(FIRST)
    old = list_stored(before)
    before.import_(SECOND)
    new, expected = list_stored(before), describe(before)
    seen = []
    for archive in leave_behind(before.path, lambda changed: changed.undo(), undo=True):
        seen.append(list_stored(archive))
        assert seen[-1] in (old, new)
        if seen[-1] == new:
            archive.undo()
            assert list_stored(archive) == old
        if seen.count(seen[-1]) % 4 == 1:
            archive.import_(SECOND)
            assert describe(archive) == expected
            check_files(archive)
            archive.undo()
        archive.undo()
        assert read(archive) is None
    assert seen[0] == new
    assert seen[-1] == old
