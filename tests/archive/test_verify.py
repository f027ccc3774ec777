"""`verify` finds the damage of an archive, and a refresh repairs it; payments that the service lost are listed."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.errors import ArchiveError, PaginationError, RecordError
from support.archives.payments_service import DATES, MAY, Service, ids, lose
from support.archives.statements import row, statements_of


def test_verify_of_an_intact_archive_is_empty(service, archive) -> None:
    """The result has no rows and the documented text columns; the folder is unchanged; one pass of the lists."""
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()}
    with service.client() as client:
        p2p.load_history(client)
        one_pass, service.lists = service.lists, 0
        found = archive.verify(client)
    assert service.lists <= one_pass
    assert found.dtypes.astype(str).to_dict() == dict.fromkeys(["month", "payment_id", "difference", "fields"], "str")
    assert found.empty
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()} == before


def test_verify_lists_missing_months_and_a_refresh_restores_them(service, archive) -> None:
    """The payments of a month are lost: a sync does not restore them, `verify` lists them, a refresh restores them."""
    lose(archive, MAY)
    with service.client() as client:
        assert archive.sync(client).added == 0
        found = archive.verify(client)
        assert set(found["payment_id"]) == MAY
        assert found[["month", "difference"]].drop_duplicates().to_numpy().tolist() == [["2024-05", "missing"]]
        assert archive.sync(client, refresh=True) == (5, 0, (), 60)
        assert ids(archive) == set(DATES)
        assert archive.verify(client).empty


def test_verify_lists_each_difference_with_its_columns(service, archive, history_of, payment) -> None:
    """Missing, extra and changed payments, newest first; a missing date gives no month, and names are not compared."""
    archive.merge(history_of(payment("undated", date_created=None)))
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    del service.payments["7"]
    service.payments["3"] |= {"status": "failed", "amount": 6, "date_completed": "2024-01-20T00:00:00"}
    service.payments["4"] |= {"actor": {"id": "7", "display_name": "Another name"}}
    with service.client() as client:
        found = archive.verify(client)
    rows = found.astype(object).where(found.notna(), None).to_numpy().tolist()
    assert rows == [
        ["2024-12", "new", "missing", None],
        ["2024-02", "7", "extra", None],
        ["2024-01", "3", "changed", "status, amount_cents, date_completed"],
        [None, "undated", "extra", None],
    ]


def test_what_cannot_be_verified(service, archive, tmp_path) -> None:
    """Another account and a missing archive: no list is requested; a broken file is named."""
    with service.client() as client:
        service.account = "9"
        for call in (archive.verify, lambda other: archive.sync(other, refresh=True), archive.sync):
            with pytest.raises(ArchiveError, match="another account"):
                call(client)
        service.account = "7"
        with pytest.raises(ArchiveError, match="no archive"):
            p2p.open_archive(tmp_path / "none").verify(client)
        assert service.lists == 0
        assert not (tmp_path / "none").exists()
        file = min(archive.path.glob("payments-*"))
        file.write_bytes(b"")
        with pytest.raises(ArchiveError, match=file.name):
            archive.verify(client)


def test_archives_without_payments(start_service, payment, tmp_path) -> None:
    """An empty archive of an empty account is valid; an empty list for an archive with payments is refused."""
    service = Service(start_service, payment)
    rows, service.payments = service.payments, {}
    empty = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        empty.sync(client)
        assert empty.verify(client).empty
        service.payments = rows
        assert Counter(empty.verify(client)["difference"]) == {"missing": 60}
        empty.sync(client, refresh=True)
        service.payments = {}
        with pytest.raises(PaginationError, match="lists no payment at all"):
            empty.verify(client)
        empty.sync(client, refresh=True)
    assert ids(empty) == set(DATES)
    assert len(empty.history().problems) == 60


def test_an_archive_of_statements_alone(service, tmp_path) -> None:
    """All payments of the service are missing from it."""
    archive = p2p.open_archive(tmp_path / "archive")
    archive.import_(statements_of(row(900)))
    service.username = "ada"
    with service.client() as client:
        assert Counter(archive.verify(client)["difference"]) == {"missing": 60}


def test_in_privacy_mode_verify_shows_no_id(service, archive, monkeypatch) -> None:
    """In privacy mode months and counts are real, and ids are pseudonyms."""
    lose(archive, MAY)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with service.client() as client:
        found = archive.verify(client)
    assert len(found) == 5
    assert not MAY & set(found["payment_id"])
    assert set(found["difference"]) == {"missing"}


def test_the_commands(service, archive, capsys, monkeypatch) -> None:
    """The command `verify` exits with 0 or 1 and suggests `sync --refresh`, which removes the differences."""
    monkeypatch.setenv("P2P_BASE_URL", service.running.base_url)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "token")
    folder = str(archive.path)
    lose(archive, MAY)
    service.payments["3"]["status"] = "failed"
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out == (
        "2024-01: 1 changed\n2024-05: 5 missing from the archive\n"
        f"6 payments differ in 2 months: run p2p-analytics sync --refresh {folder}.\n"
    )
    assert cli.main(["sync", "--refresh", folder]) == 0
    assert capsys.readouterr().out == f"60 payments reloaded: 5 new payments, 1 with another status, in {folder}\n"
    del service.payments["3"]
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out.endswith("the archive keeps what the service does not list any more.\n")


def test_a_record_without_an_id_is_an_error(service, archive, monkeypatch) -> None:
    """A record without an id may be a missing payment; in privacy mode the error quotes nothing of it."""
    service.payments["7"] |= {"id": None, "note": "4711"}
    with service.client() as client:
        with pytest.raises(RecordError, match="'id'"):
            archive.verify(client)
        monkeypatch.setenv("P2P_PRIVACY", "1")
        with pytest.raises(RecordError) as caught:
            archive.verify(client)
    assert "4711" not in str(caught.value)


def test_a_refresh_bypasses_the_cache(service, archive, tmp_path) -> None:
    """A refresh reads closed windows from the service, because the cache may be the cause of the damage."""
    lose(archive, MAY)
    hidden = {key: service.payments.pop(key) for key in MAY}
    with service.client(tmp_path / "cache") as client:
        assert len(p2p.load_history(client).payments) == 55
    service.payments |= hidden
    with service.client(tmp_path / "cache") as client:
        assert archive.sync(client, refresh=True).added == 5
    assert ids(archive) == set(DATES)


def test_a_refresh_replaces_rows_and_keeps_unlisted_ones(service, archive, caplog) -> None:
    """Rows are replaced even if the archive has a later date; unlisted ones stay and are one problem until listed."""
    history = archive.history()
    wrong = history.payments.assign(amount_cents=pd.array([1] * 60, dtype="Int64"))
    future = history.fetched_at + timedelta(days=400)
    archive.merge(p2p.History(**vars(history) | {"payments": wrong, "fetched_at": future}))
    gone = service.payments.pop("7")
    with service.client() as client:
        for _ in range(2):
            archive.sync(client, refresh=True)
            after = archive.history()
            assert ids(archive) == set(DATES)
            assert set(after.payments.set_index("payment_id")["amount_cents"].drop("7")) == {500}
            assert after.problems[["payment_id", "field"]].to_numpy().tolist() == [["7", "id"]]
            assert "does not list it" in after.masked(key=b"k" * 32).problems["problem"].iloc[0]
        assert "keeps 1 payment that the service does not list" in caplog.text
        service.payments["7"] = gone
        archive.sync(client, refresh=True)
        assert archive.history().problems.empty
        assert archive.verify(client).empty


def test_other_problems_of_unlisted_payments(service, archive) -> None:
    """One with an unknown status has both problems; a pending one is requested by its id, and has one."""
    service.payments["7"]["status"] = "novel"
    service.payments["8"]["status"] = "pending"
    with service.client() as client:
        archive.sync(client, refresh=True)
        assert archive.history().problems["value"].tolist() == ["novel"]
        del service.payments["7"], service.payments["8"]
        archive.sync(client, refresh=True)
    problems = archive.history().problems
    assert sorted(problems["payment_id"] + problems["field"]) == ["7id", "7status", "8status"]
    assert "cannot be found" in problems.set_index("payment_id").loc["8", "problem"]


def test_a_refresh_without_a_manifest_keeps_the_payments(service, archive) -> None:
    """Without its manifest, the archive keeps a payment of its files that the service does not list."""
    (archive.path / "manifest.json").write_bytes(b"{}")
    del service.payments["7"]
    with service.client() as client:
        archive.sync(client, refresh=True)
    assert ids(archive) == set(DATES)
    assert archive.history().problems["payment_id"].tolist() == ["7"]


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


def test_a_sync_repairs_any_flipped_bit(service, archive) -> None:
    """After a bit flip in any file, a sync restores the exact history and keeps the corrupt file under another name."""
    chance = random.Random(15)  # noqa: S311 - no secret
    expected = archive.history().payments
    for _ in range(5):
        listed = {"manifest.json", *(entry.name for entry in archive._folder.read_manifest().entries)}
        file = archive.path / chance.choice(sorted(listed))
        body = bytearray(file.read_bytes())
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        file.write_bytes(body)
        with service.client() as client:
            assert archive.sync(client).set_aside == (file.name,)
        assert archive.history().payments.equals(expected)
        (aside,) = archive.path.glob(f"{file.name}.corrupt-*")
        assert aside.read_bytes() == body
        aside.unlink()


def test_an_archive_behind_a_symbolic_link(service, archive, tmp_path) -> None:
    """The folder may be a symbolic link to a folder, and not a dangling one."""
    (tmp_path / "link").symlink_to(archive.path)
    linked = p2p.open_archive(tmp_path / "link")
    lose(archive, MAY)
    with service.client() as client:
        assert len(linked.verify(client)) == 5
        assert linked.sync(client, refresh=True).added == 5
    assert (tmp_path / "link").is_symlink()
    assert ids(archive) == set(DATES)
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing")
    with service.client() as client, pytest.raises(ArchiveError, match="cannot be used"):
        p2p.open_archive(tmp_path / "nowhere").sync(client)
    assert not (tmp_path / "nothing").exists()
