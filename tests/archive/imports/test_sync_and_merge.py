"""Statements beside payments of the service: in archives that are synced, verified and merged, and in scans of them."""

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.records import Me, User
from support.archives.statements import list_stored, row, statements_of

ADA = Me(user=User(id="7", username="ada"))
MINE = statements_of(row(1, tip_cents=5), row("t", "Bank", kind="transfer", action=None, date="2024-05-02T12:00:00"))
_WHAT = ["payment_id", "field", "value"]


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """Return an archive that the statements of ada have made."""
    archive = p2p.open_archive(tmp_path_factory.mktemp("own") / "archive")
    archive.import_(MINE)
    return archive.path


@pytest.fixture
def archive(own, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(own, tmp_path / "archive"))


@pytest.mark.parametrize("refresh", [False, pytest.param(True, marks=pytest.mark.full)])
def test_the_first_sync_adopts_the_user(archive, service, refresh) -> None:
    """The user with the username of the statements: all rows take the id, and the statements' values stay."""
    service.username = "Ada"
    with service.client() as client:
        assert archive.sync(client, refresh=refresh).added == 60
        assert archive.sync(client, refresh=True).added == 0
        history = archive.history()
        assert archive.verify(client).empty
    assert history.me.user.id == "7"
    payments = history.payments.set_index("payment_id")
    assert len(payments) == 61
    assert set(payments["account_id"]) == {"7"}
    assert (payments.loc["1", "source"], payments.loc["1", "tip_cents"]) == ("api", 5)
    assert (payments.loc["t", "source"], payments.loc["t", "kind"]) == ("statement", "transfer")
    assert "ada" not in set(history.people["user_id"])
    assert archive.import_(MINE).known == 2
    service.username = "someone-else"
    with service.client() as client:
        archive.sync(client)  # the id counts from now on
    assert archive.history().me.user.username == "someone-else"
    assert set(archive.history().payments["account_id"]) == {"7"}


@pytest.mark.parametrize("username", ["bob", None])
def test_another_user_is_refused(archive, new, service, username) -> None:
    """The error names the account of the statements, imported or merged, and nothing changes."""
    service.username = username
    new.merge(archive.history())
    before = list_stored(archive), list_stored(new)
    with service.client() as client:
        for call in (archive.sync, archive.verify, new.sync):
            with pytest.raises(ArchiveError, match=r"holds statements of ada, not of (bob|7): name another folder"):
                call(client)
    assert (list_stored(archive), list_stored(new)) == before


def test_a_history_with_statements_is_merged_as_such(archive, new, history_of, payment) -> None:
    """Both parts of each payment arrive, and people who were matched are not taken for what the file says."""
    archive.merge(replace(history_of(payment(1, note="listed")), me=ADA))
    archive.import_(statements_of(row(3)))
    source = archive.history()
    assert archive.merge(source)[:2] == (0, 0), "a value that the service lists is not an edit of the statement"
    assert (source.me.user.id, source.fetched_at) == ("7", history_of().fetched_at)
    assert source.payments.set_index("payment_id")["counterparty_matched"].get("3") == "payments"
    assert new.merge(source).added == 3
    pd.testing.assert_frame_equal(new.history().payments, source.payments)
    assert new.merge(source)[:2] == (0, 0)
    another_bo = payment(9, target={"type": "user", "user": {"id": "9", "display_name": "Bo"}})
    new.merge(replace(history_of(another_bo), me=ADA))
    assert pd.isna(new.history().payments.set_index("payment_id")["counterparty_id"]["3"])


@pytest.mark.parametrize("is_damaged", [pytest.param(False, marks=pytest.mark.full), True])
def test_a_row_that_the_service_contradicts_later_is_refused(new, tmp_path, history_of, payment, is_damaged) -> None:
    """As if the service had listed the payment before; also if the file was damaged meanwhile. Row 3 stays."""
    wrong, june = statements_of(row(1, amount_cents=9900, fee_cents=100)), statements_of(row(3, file="june.csv"))
    listed = replace(history_of(payment(1), friends=0), me=ADA)
    before = p2p.open_archive(tmp_path / "before")
    before.merge(listed)
    assert before.import_(wrong).refused == 1
    before.import_(june)
    new.import_(wrong)
    new.merge(listed)
    assert new.merge(listed)[:2] == (0, 0)
    if is_damaged:
        next(new.path.glob("rows-*")).write_bytes(b"broken")
    new.import_(june, repair=True)
    if is_damaged:
        assert new.import_(wrong).refused == 1
    found = new.history()
    payments = found.payments.set_index("payment_id")
    assert payments["amount_cents"].sort_index().to_dict() == {"1": 500, "3": 500}
    assert payments.loc["1", ["fee_cents", "file"]].isna().all()
    assert found.problems[_WHAT].to_numpy().tolist() == [["1", "amount_cents", "9900"]]
    pd.testing.assert_frame_equal(found.problems, before.history().problems)
    pd.testing.assert_frame_equal(found.payments, before.history().payments)


def test_a_merge_needs_sound_files(archive, history_of, payment) -> None:
    """It does not know whether the archive is the user's, or has the rows; the error names the option of an import."""
    next(archive.path.glob("rows-*")).write_bytes(b"broken")
    for history in (statements_of(row(2)).history(), replace(history_of(payment(1)), me=ADA)):
        with pytest.raises(ArchiveError, match=r"import all your statement files again .*--repair"):
            archive.merge(history)


def test_names_that_the_user_decided_are_not_merged(tmp_path, new) -> None:
    """They are in people.csv of the one archive; the other gets the names in the files."""
    one = p2p.open_archive(tmp_path / "one")
    statements = statements_of(row(1, "Bo"), row(2, "Bo", direction="in"), row(3, "Bo", action="charge"))
    one.import_(statements)
    (one.path / "people.csv").write_text("alias,person,evidence\nBo,Robert,\n")
    assert set(one.history().payments["counterparty_name"]) == {"Robert"}
    new.merge(one.history())
    assert set(new.history().payments["counterparty_name"]) == {"Bo"}
    assert new.import_(statements).known == 3


@pytest.mark.parametrize("way", ["import", "merge"])
def test_a_history_of_statements_of_another_account_is_refused(new, way) -> None:
    """Whichever way the rows of the archive came; the archive stays as it was."""
    own = statements_of(row(1))
    new.import_(own) if way == "import" else new.merge(own.history())
    before = list_stored(new)
    history = statements_of(row(2, account_id="bob", owner="Bob"), account="bob").history()
    with pytest.raises(ArchiveError, match="holds statements of ada, not of bob: name another folder"):
        new.merge(history)
    assert list_stored(new) == before


def test_a_merged_history_of_statements_that_contradicts_the_service(new, history_of, payment) -> None:
    """The row is refused and listed as by an import, once however often it is merged; the other row is added."""
    new.merge(history_of(payment(5, amount="10.00"), account="ada"))
    history = statements_of(row(5, amount_cents=9_900), row(6)).history()
    assert [new.merge(history)[:2] for _ in range(2)] == [(1, 0), (0, 0)]
    found = new.history()
    assert sorted(found.payments["payment_id"]) == ["5", "6"]
    assert found.problems[_WHAT].to_numpy().tolist() == [["5", "amount_cents", "9900"]]


TIMES = {"created_us": "date_created", "completed_us": "date_completed"}


@pytest.fixture(scope="module")
def both_kinds(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive of payments that the service, statements or both know, with and without dates and people."""
    listed = [payment(1), payment(2, action="charge", status="pending"), payment(3, note=None, date_created=None)]
    stated = [
        row(1, tip_cents=5), row(2, action="charge", direction="in"), row(4), row(5, "Cy", direction="in"),
        row(6, None, kind="transfer", action=None), row(7, status="pending", currency="EUR"),
    ]  # fmt: skip
    archive = p2p.open_archive(tmp_path_factory.mktemp("mixed") / "archive")
    archive.merge(replace(history_of(*listed), me=Me(user=User(id="7", username="ada", display_name="Ada"))))
    archive.import_(statements_of(*stated))
    return archive.path


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_scans_show_statements_too(both_kinds, engine) -> None:
    """They have the rows and columns of the history, in any order, and both dates in microseconds."""
    archive = p2p.open_archive(both_kinds)
    expected = archive.history().payments
    assert expected["counterparty_matched"].notna().sum() == 2
    for name, date in TIMES.items():
        expected[name] = expected[date].astype("int64").where(expected[date].notna()).astype("Int64")
    expected["settle_us"] = expected["completed_us"] - expected["created_us"]
    scan = archive.scan(engine)
    if engine == "polars":  # a query reads no more than it needs
        assert "PROJECT 1/" in scan.select("flow_cents").explain()
    table = scan.collect() if engine == "polars" else pl.from_arrow(scan.to_arrow_table())
    assert table.columns == list(expected)
    by_id = expected.sort_values("payment_id")
    rows = by_id.astype(object).where(by_id.notna(), None).itertuples(index=False, name=None)
    assert table.sort("payment_id").rows() == list(rows)


def test_user_ids_in_files_match_names_of_others(new) -> None:
    """A file with user ids, such as JSON, says who a name in another file is, unless two people have the name."""
    shown = {"counterparty_id": "31", "counterparty_username": "bo", "target_user_id": "31"}
    rows = [
        row(1, "Bo", **shown),
        row(2, "Bo"),
        row(6, "Bo", counterparty_username=""),
        row(3, "Di"),
        row(4, "Di", **shown | {"counterparty_id": "32"}),
    ]
    new.import_(statements_of(*rows, row(5, "Di", **shown | {"counterparty_id": "33"})))
    history = new.history()
    payments = history.payments.set_index("payment_id")
    assert payments["counterparty_id"].get("2") == payments["target_user_id"].get("2") == "31"
    assert payments["counterparty_matched"].dropna().to_dict() == {"2": "payments", "6": "payments"}
    assert pd.isna(payments["counterparty_id"]["3"])
    people = history.people.set_index("user_id")
    assert people.loc["31", ["display_name", "username"]].tolist() == ["Bo", "bo"]
    assert sorted(people.index) == ["31", "32", "33", "ada"]
    assert new.people.set_index("alias")["evidence"].get("Bo") == "1 payment is in files with user ids"


def test_a_forked_process_is_refused(both_kinds, monkeypatch) -> None:
    """Polars, which merges both kinds of rows and reads files for pandas, would hang in it."""
    archive = p2p.open_archive(both_kinds)
    monkeypatch.setattr("p2p_analytics.forks.is_marked", lambda: True)
    for call in (archive.history, lambda: archive.people, lambda: archive.scan("pandas")):
        with pytest.raises(ConfigurationError, match="forked"):
            call()


def test_calls_that_would_show_names(new, monkeypatch) -> None:
    """In privacy mode they are refused, with the call to use instead; imports show invented names of files."""
    new.import_(statements_of(row(1)))
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for call in (lambda: new.people, new.write_people, lambda: new.scan("polars")):
        with pytest.raises(ConfigurationError, match=r"use history\(\) instead"):
            call()
    assert not (new.path / "people.csv").exists()
    assert new.imports["files"].tolist() == list(new.preview_undo().files) != ["may.csv"]
