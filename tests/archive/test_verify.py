"""`verify` finds the damage of an archive, and a refresh repairs it."""

from __future__ import annotations

from collections import Counter

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.errors import ArchiveError, PaginationError, RecordError
from support.archives.payments_service import DATES, MAY, Service, ids, lose

COLUMNS = ["month", "payment_id", "difference", "fields"]


def test_verify_of_an_intact_archive_is_empty(service, archive) -> None:
    """The result has no rows and the documented text columns; the folder is unchanged."""
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()}
    with service.client() as client:
        found = archive.verify(client)
    assert found.empty
    assert list(found.columns) == COLUMNS
    assert {str(dtype) for dtype in found.dtypes} == {"str"}
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()} == before


def test_verify_lists_missing_months_and_a_refresh_restores_them(service, archive) -> None:
    """The payments of a month are lost: a sync does not restore them, `verify` lists them, a refresh restores them."""
    lose(archive, MAY)
    with service.client() as client:
        for _ in range(3):
            assert archive.sync(client).added == 0
        found = archive.verify(client)
        assert set(found["month"]) == {"2024-05"}
        assert set(found["payment_id"]) == MAY
        assert set(found["difference"]) == {"missing"}
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


def test_verify_and_refresh_refuse_another_account(service, archive) -> None:
    """The account is checked before any list is requested."""
    service.account = "9"
    service.lists = 0
    with service.client() as client:
        for call in (archive.verify, lambda other: archive.sync(other, refresh=True)):
            with pytest.raises(ArchiveError, match="another account"):
                call(client)
    assert service.lists == 0


def test_verify_without_an_archive(service, tmp_path) -> None:
    """Without an archive, `verify` raises one sentence, sends no request and creates no folder."""
    with service.client() as client, pytest.raises(ArchiveError, match="no archive"):
        p2p.open_archive(tmp_path / "none").verify(client)
    assert service.lists == 0
    assert not (tmp_path / "none").exists()


def test_verify_names_a_broken_file(service, archive) -> None:
    """A corrupt file raises an error with the file's name, as reading the archive does."""
    file = min(archive.path.glob("payments-*"))
    file.write_bytes(b"")
    with service.client() as client, pytest.raises(ArchiveError, match=file.name):
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


def test_in_privacy_mode_verify_shows_no_id(service, archive, monkeypatch) -> None:
    """In privacy mode months and counts are real, and ids are pseudonyms."""
    lose(archive, MAY)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with service.client() as client:
        found = archive.verify(client)
    assert len(found) == 5
    assert not MAY & set(found["payment_id"])
    assert set(found["difference"]) == {"missing"}


def test_verify_costs_one_pass(tmp_path) -> None:
    """`verify` requests /me, and no more lists than a load without a cache."""
    with (
        p2p.sandbox.SandboxServer(seed=7) as server,
        p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False, concurrency=1) as client,
    ):
        archive = p2p.open_archive(tmp_path)
        archive.sync(client)
        server.requests.clear()
        history = p2p.load_history(client)
        one_pass = sum(path.startswith("/v1/payments") for _, path in server.requests)
        server.requests.clear()
        assert archive.verify(client).empty
        assert sum(path.startswith("/v1/payments") for _, path in server.requests) <= one_pass
        assert len(server.requests) <= one_pass + 1
    assert len(history.payments) > 500


def test_the_commands(service, archive, capsys, monkeypatch) -> None:
    """The command `verify` exits with 0 or 1 and suggests `sync --refresh`, which removes the differences."""
    monkeypatch.setenv("P2P_BASE_URL", service.running.base_url)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "token")
    folder = str(archive.path)
    assert cli.main(["verify", folder]) == 0
    assert capsys.readouterr().out == f"{folder} and the service agree.\n"
    lose(archive, MAY)
    service.payments["3"]["status"] = "failed"
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out == (
        "2024-01: 1 changed\n2024-05: 5 missing from the archive\n"
        f"6 payments differ in 2 months: run p2p-analytics sync --refresh {folder}.\n"
    )
    assert cli.main(["sync", "--refresh", folder]) == 0
    assert capsys.readouterr().out == f"60 payments reloaded: 5 new payments, 1 with another status, in {folder}\n"
    assert cli.main(["verify", folder]) == 0
    capsys.readouterr()
    del service.payments["3"]
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out.endswith("the archive keeps what the service does not list any more.\n")
    assert cli.main(["verify", folder + "-none"]) == 1
    assert "no archive" in capsys.readouterr().err


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
