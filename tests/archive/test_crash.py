"""After its writer is killed, an archive holds the old state or the new one, and the next writer continues."""

from __future__ import annotations

import random
import shutil
import signal
from collections import Counter
from datetime import timedelta

import pytest

import p2p_analytics as p2p
from support.archives.steps import Copies

DONE, KILLED = 0, -signal.SIGKILL


@pytest.fixture
def small_files(monkeypatch) -> None:
    """Limit a file to a few payments."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 4)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 3)


def states(history: p2p.History) -> list[tuple[str, str]]:
    """Return the id and status of each payment."""
    return list(history.payments[["payment_id", "status"]].astype(str).itertuples(index=False, name=None))


@pytest.mark.usefixtures("small_files")
def test_a_merge_that_is_killed_at_any_step(tmp_path, history_of, payment, change_archive, kills) -> None:
    """Before each call that changes the folder: the old or the new, each payment once, and a merge completes it."""
    days = [payment(day, status="pending", date_created=f"2024-05-{day:02}T12:00:00") for day in range(1, 10)]
    newer = [day | {"status": "settled"} for day in days[::3]] + [payment(99, date_created="2024-05-05T13:00:00")]
    other, before = p2p.open_archive(tmp_path / "other"), p2p.open_archive(tmp_path / "before")
    other.merge(history_of(*newer, friends=2))
    before.merge(history_of(*days))
    old, changes = states(before.history()), other.history()

    def check(archive: p2p.Archive) -> list[tuple[str, str]]:
        found = states(archive.history())
        archive.merge(changes)
        new = states(archive.history())
        assert found in (old, new)
        assert len(new) == len({name for name, _ in new}) == 10
        named = {entry.name for entry in archive._folder.read_manifest().entries}
        archive.merge(history_of(payment(100)))
        left = {file.name for file in archive.path.iterdir()}
        now = {entry.name for entry in archive._folder.read_manifest().entries}
        assert left == named | now | {"manifest.json", "lock"}, "what the dead left behind is gone"
        return found

    changed = p2p.open_archive(shutil.copytree(before.path, tmp_path / "changed"))
    copies = Copies(changed.path, tmp_path)
    with copies.watch_changes():
        changed.merge(changes)
    found = [check(p2p.open_archive(copy)) for copy in copies.different]
    assert copies.steps > 20
    assert len(found) > 10
    assert found[0] == old != found[-1]
    ended: Counter[int] = Counter()
    for step in kills:
        archive = p2p.open_archive(shutil.copytree(before.path, tmp_path / f"killed-{step}"))
        ended[change_archive(archive=str(archive.path), other=str(other.path), step=step)] += 1
        check(archive)
        if ended[DONE]:
            break
    assert ended == {KILLED: len(range(0, copies.steps - 1, kills.step)), DONE: 1}


def test_a_first_sync_that_is_killed_at_any_step(tmp_path, change_archive, kills) -> None:
    """There is no archive, or a whole one; the next sync makes it whole."""
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as server:
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            expected = states(p2p.load_history(client))

            def check(archive: p2p.Archive) -> bool:
                whole = (archive.path / "manifest.json").exists()
                if not whole:
                    assert archive.sync(client).added <= len(expected)
                assert states(archive.history()) == expected
                return whole

            synced = p2p.open_archive(tmp_path / "synced")
            copies = Copies(synced.path, tmp_path)
            with copies.watch_changes():
                synced.sync(client)
            found = [check(p2p.open_archive(copy)) for copy in copies.different]
            assert copies.steps > 12
            assert len(found) > 5
            assert found == sorted(found)
            assert set(found) == {False, True}
            ended: Counter[int] = Counter()
            for step in kills:
                archive = p2p.open_archive(tmp_path / f"killed-{step}")
                order = {"archive": str(archive.path), "token": token, "base_url": server.base_url}
                ended[change_archive(**order, step=step)] += 1
                check(archive)
                if ended[DONE]:
                    break
    assert ended == {KILLED: len(range(0, copies.steps - 1, kills.step)), DONE: 1}


@pytest.mark.soak
@pytest.mark.usefixtures("small_files")
def test_two_hundred_kills_at_any_moment(tmp_path, history_of, payment, change_archive) -> None:
    """Syncs and merges by turns, killed at random: nothing that was there is lost, nothing is there twice."""
    chance = random.Random(7)  # noqa: S311 - no secret
    archive = p2p.open_archive(tmp_path / "archive")
    kills = 0
    with p2p.sandbox.SandboxServer(seed=7) as server:
        me, friend = server.people[:2]
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            archive.sync(client)
            merged = set()
            for number in range(1_000):
                made = server.now + timedelta(minutes=number)
                server.add_payments(me.user_id, [{"target": friend.user_id, "date_created": made}])
                before = dict(states(archive.history()))
                order = {"archive": str(archive.path), "seconds": chance.uniform(0, 0.4)}
                if number % 2:
                    other = p2p.open_archive(tmp_path / f"{number}")
                    other.merge(history_of(payment(number), account=me.user_id))
                    merged.add(str(number))
                    order |= {"other": str(other.path)}
                else:
                    order |= {"token": token, "base_url": server.base_url}
                kills += change_archive(**order) == KILLED
                found = states(archive.history())
                assert len(found) == len(dict(found))
                assert before.keys() <= dict(found).keys()
                if number % 2:
                    archive.merge(other.history())
                if kills == 200:
                    break
            assert kills == 200
            archive.sync(client)
            expected = {name for name, _ in states(p2p.load_history(client))} | merged
    found = [name for name, _ in states(archive.history())]
    assert sorted(found) == sorted(expected)
