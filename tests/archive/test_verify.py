"""`verify` finds the damage of an archive, and a refresh repairs it; payments that the service lost are listed."""

from collections import Counter
from datetime import timedelta

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.errors import ArchiveError, PaginationError, RecordError
from support.archives.payments_service import DATES, MAY, ids, lose
from support.archives.statements import digests, read_manifest, row, statements_of, write_manifest


def test_verify_of_an_intact_archive_is_empty(service, archive) -> None:
    """The result has no rows and the documented text columns; the folder is unchanged; one pass of the lists."""
    before = digests(archive.path)
    with service.client() as client:
        p2p.load_history(client)
        one_pass, service.lists = service.lists, 0
        found = archive.verify(client)
    assert service.lists <= one_pass
    assert found.dtypes.astype(str).to_dict() == dict.fromkeys(["month", "payment_id", "difference", "fields"], "str")
    assert found.empty
    assert digests(archive.path) == before


def test_verify_lists_missing_months_and_a_refresh_restores_them(service, archive, monkeypatch) -> None:
    """A sync does not restore lost payments, but a refresh does; in privacy mode `verify` lists their pseudonyms."""
    lose(archive, MAY)
    with service.client() as client:
        assert archive.sync(client).added == 0
        found = archive.verify(client)
        assert set(found["payment_id"]) == MAY
        assert found[["month", "difference"]].drop_duplicates().to_numpy().tolist() == [["2024-05", "missing"]]
        with monkeypatch.context() as private:
            private.setenv("P2P_PRIVACY", "1")
            masked = archive.verify(client)
        assert masked[["month", "difference"]].equals(found[["month", "difference"]])
        assert not MAY & set(masked["payment_id"])
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


def test_archives_without_payments(service, tmp_path) -> None:
    """An empty archive, or one of statements alone, is valid; an empty list is refused for one with payments."""
    stated, empty = (p2p.open_archive(tmp_path / name) for name in ("stated", "empty"))
    stated.import_(statements_of(row(900)))
    service.username = "ada"
    with service.client() as client:
        assert Counter(stated.verify(client)["difference"]) == {"missing": 60}
        rows, service.payments = service.payments, {}
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
    """Rows are replaced even if the archive has a later date; unlisted ones stay and are one problem until listed.

    One with an unknown status has both problems; a pending one is requested by its id, and has the problem of that.
    """
    service.payments["8"]["status"], service.payments["9"]["status"] = "pending", "novel"
    with service.client() as client:
        archive.sync(client, refresh=True)
        history = archive.history()
        wrong = history.payments.assign(amount_cents=pd.array([1] * 60, dtype="Int64"))
        future = history.fetched_at + timedelta(days=400)
        archive.merge(p2p.History(**vars(history) | {"payments": wrong, "fetched_at": future}))
        gone = {key: service.payments.pop(key) for key in "789"}
        for _ in range(2):
            archive.sync(client, refresh=True)
            after = archive.history()
            assert ids(archive) == set(DATES)
            assert set(after.payments.set_index("payment_id")["amount_cents"].drop(["7", "8", "9"])) == {500}
            problems = after.problems.set_index(["payment_id", "field"])["problem"].sort_index()
            assert list(problems.index) == [("7", "id"), ("8", "status"), ("9", "id"), ("9", "status")]
            assert "cannot be found" in problems["8", "status"]
            assert after.masked(key=b"k" * 32).problems["problem"].str.contains("does not list it").sum() == 2
        assert "keeps 3 payments that the service does not list" in caplog.text
        service.payments |= gone
        archive.sync(client, refresh=True)
        assert archive.history().problems["value"].tolist() == ["novel"]
        assert archive.verify(client).empty


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
    manifest = read_manifest(archive)
    manifest["service"]["synced_to"] = "2900-01-01T00:00:00Z"
    write_manifest(archive, manifest)
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    with service.client() as client:
        archive.sync(client, refresh=True)
        service.payments["newer"] = payment("newer", date_created="2025-01-31T00:00:00")
        assert archive.sync(client).added == 1
    assert read_manifest(archive)["service"]["synced_to"] == "2025-01-31T00:00:00Z"


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
