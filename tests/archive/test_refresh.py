"""A refresh repairs a damaged archive; payments that the service lost are kept and listed."""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _service
from p2p_analytics.errors import ArchiveError, ConfigurationError, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from p2p_analytics.archive import Archive

from support.archives.payments_service import DATES, MAY, ids, lose


def test_a_refresh_bypasses_the_cache(service, archive, tmp_path) -> None:
    """A refresh reads closed windows from the service, because the cache may be the cause of the damage."""
    lose(archive, MAY)
    hidden = {key: service.payments.pop(key) for key in MAY}
    with service.client(tmp_path / "cache") as client:
        assert len(p2p.load_history(client).payments) == 55
    service.payments |= hidden
    with service.client(tmp_path / "cache") as client:
        assert set(archive.verify(client)["payment_id"]) == MAY
    service.payments = {key: row for key, row in service.payments.items() if key not in MAY}
    with service.client(tmp_path / "cache") as client:
        p2p.load_history(client, refresh=True)
    service.payments |= hidden
    with service.client(tmp_path / "cache") as client:
        assert archive.sync(client, refresh=True).added == 5
    assert ids(archive) == set(DATES)


def test_a_refresh_replaces_rows_and_keeps_unlisted_ones(service, archive, caplog) -> None:
    """Rows are replaced even if the archive has a later date; unlisted ones stay and are one problem until listed."""
    history = archive.history()
    future = history.fetched_at + timedelta(days=400)
    wrong = history.payments.assign(amount_cents=pd.array([1] * 60, dtype="Int64"))
    archive.merge(p2p.History(**vars(history) | {"payments": wrong, "fetched_at": future}))
    gone = service.payments.pop("7")
    with service.client() as client:
        for _ in range(2):
            archive.sync(client, refresh=True)
            after = archive.history()
            assert ids(archive) == set(DATES)
            amounts = after.payments.set_index("payment_id")["amount_cents"]
            assert set(amounts.drop("7")) == {500}
            assert after.problems[["payment_id", "field"]].to_numpy().tolist() == [["7", "id"]]
            assert "does not list it" in after.problems["problem"].iloc[0]
        assert "keeps 1 payment that the service does not list" in caplog.text
        service.payments["7"] = gone
        archive.sync(client, refresh=True)
        assert archive.history().problems.empty
        assert archive.verify(client).empty


def test_an_unlisted_payment_keeps_its_other_problems(service, archive) -> None:
    """A payment with an unknown status that is no longer listed has both problems."""
    service.payments["7"]["status"] = "novel"
    with service.client() as client:
        archive.sync(client, refresh=True)
        assert archive.history().problems["value"].tolist() == ["novel"]
        del service.payments["7"]
        for _ in range(2):
            archive.sync(client, refresh=True)
            assert archive.history().problems["value"].tolist() == ["novel", "7"]


def test_an_unlisted_pending_payment_has_one_problem(service, archive) -> None:
    """A pending payment is requested by its id; if it is not found, one problem is listed, not two."""
    service.payments["7"]["status"] = "pending"
    with service.client() as client:
        archive.sync(client, refresh=True)
        del service.payments["7"]
        archive.sync(client, refresh=True)
    problems = archive.history().problems
    assert problems["payment_id"].tolist() == ["7"]
    assert "cannot be found" in problems["problem"].iloc[0]


def test_a_failed_refresh_changes_nothing(service, archive) -> None:
    """Whichever page fails, the manifest is unchanged, and the next refresh succeeds."""
    lose(archive, MAY)
    before = (archive.path / "manifest.json").read_bytes()
    with service.client() as client:
        for pages in range(3):
            service.lists, service.fails_after = 0, pages
            with pytest.raises(ServerError):
                archive.sync(client, refresh=True)
            assert (archive.path / "manifest.json").read_bytes() == before
        service.fails_after = None
        assert archive.sync(client, refresh=True).added == 5


def test_a_refresh_without_a_manifest_keeps_the_payments(service, archive) -> None:
    """Without its manifest, the archive keeps a payment of its files that the service does not list."""
    (archive.path / "manifest.json").write_bytes(b"{}")
    del service.payments["7"]
    with service.client() as client:
        archive.sync(client, refresh=True)
    assert ids(archive) == set(DATES)
    assert archive.history().problems["payment_id"].tolist() == ["7"]


def test_the_problem_of_an_unlisted_payment_is_shown_in_privacy_mode() -> None:
    """Privacy mode hides sentences with a digit or a quotation mark, so this sentence has none."""
    assert not any(character.isdigit() or character in "'\"" for character in _service._UNLISTED)


def test_a_refresh_corrects_a_wrong_sync_time(service, archive, payment) -> None:
    """A refresh starts from the service's newest payment, not from the time in the manifest."""
    manifest = archive._folder.read_manifest()
    service_then = msgspec.structs.replace(manifest.service, synced_to=datetime(2900, 1, 1, tzinfo=UTC))
    archive._folder.commit(msgspec.structs.replace(manifest, service=service_then), manifest)
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    with service.client() as client:
        archive.sync(client, refresh=True)
        service.payments["newer"] = payment("newer", date_created="2025-01-31T00:00:00")
        assert archive.sync(client).added == 1
    written = json.loads((archive.path / "manifest.json").read_bytes())
    assert written["service"]["synced_to"] == "2025-01-31T00:00:00Z"


def test_a_refresh_that_is_killed_at_any_step(service, archive, change_archive, kills) -> None:
    """After a kill the archive is in the damaged or the repaired state, and the next refresh repairs it."""
    lose(archive, MAY)
    seen = set()
    for step in kills:
        copied = archive.path.with_name(f"copy {step}")
        shutil.copytree(archive.path, copied)
        order = {"archive": str(copied), "token": "token", "base_url": service.running.base_url, "refresh": True}
        ended = change_archive(**order, step=step)
        found = ids(p2p.open_archive(copied))
        assert found in (set(DATES), set(DATES) - MAY)
        seen.add(len(found))
        with service.client() as client:
            p2p.open_archive(copied).sync(client, refresh=True)
            assert p2p.open_archive(copied).verify(client).empty
        if ended != -signal.SIGKILL:
            break
    assert ended == 0
    assert seen == {55, 60}


def test_syncs_refreshes_and_verify_at_the_same_time(service, archive, payment) -> None:
    """Writers wait for each other and `verify` reads one state; none fails, and the archive is correct in the end."""
    errors: list[BaseException] = []

    def repeat(call: Callable[[p2p.Client], object]) -> None:
        try:
            with service.client() as client:
                for _ in range(4):
                    call(client)
        except BaseException as error:  # noqa: BLE001 - the test looks at them
            errors.append(error)

    calls = (archive.sync, archive.verify, lambda client: archive.sync(client, refresh=True), archive.verify)
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    for thread in threads:
        thread.join()
    assert errors == []
    with service.client() as client:
        archive.sync(client)
        assert archive.verify(client).empty


def test_a_full_disk_during_a_refresh(service, archive) -> None:
    """A failed write during a refresh raises one sentence, keeps the previous state and leaves no extra file."""
    lose(archive, MAY)
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limit[1]))
    try:
        with service.client() as client, pytest.raises(ConfigurationError, match=r"Cannot write .*: file too large"):
            archive.sync(client, refresh=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert {path.name: path.read_bytes() for path in archive.path.iterdir()} == before
    with service.client() as client:
        assert archive.sync(client, refresh=True).added == 5


def test_a_sync_repairs_any_flipped_bit(service, archive) -> None:
    """After a bit flip in any file, a sync restores the exact history and keeps the corrupt file under another name."""
    chance = random.Random(15)  # noqa: S311 - no secret
    expected = archive.history().payments
    for _ in range(12):
        file = chance.choice(sorted(path for path in archive.path.iterdir() if path.suffix in {".json", ".parquet"}))
        content = bytearray(file.read_bytes())
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        counted = file.name in {"manifest.json", *(entry.name for entry in entries_of(archive))}
        with service.client() as client:
            changes = archive.sync(client)
        assert changes.set_aside == ((file.name,) if counted else ())
        assert archive.history().payments.equals(expected)
        if counted:
            (aside,) = archive.path.glob(f"{file.name}.corrupt-*")
            assert aside.read_bytes() == content
            aside.unlink()


def entries_of(archive: Archive) -> tuple[Any, ...]:
    """Return the entries of an archive's manifest; none if the manifest is corrupt."""
    try:
        return archive._folder.read_manifest().entries
    except ArchiveError:
        return ()
