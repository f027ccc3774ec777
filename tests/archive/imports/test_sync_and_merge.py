"""Statements in archives that are synced, refreshed, verified and merged, and in histories that are combined."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from p2p_analytics.records import Me, User
from support.archives.statements import list_stored, row, statements_of

if TYPE_CHECKING:
    from pathlib import Path

MINE = (row(1, tip_cents=5), row("t", "Bank", kind="transfer", action=None, date="2024-05-02T12:00:00"))


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """Return an archive that the statements of ada have made."""
    archive = p2p.open_archive(tmp_path_factory.mktemp("own") / "archive")
    archive.import_(statements_of(*MINE))
    return archive.path


@pytest.fixture
def archive(own: Path, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(own, tmp_path / "archive"))


@pytest.mark.parametrize("refresh", [False, True])
def test_the_first_sync_adopts_the_user(archive, service, refresh) -> None:
    """The user with the username of the statements: all rows take the id, and the statements' values stay."""
    service.username = "Ada"
    with service.client() as client:
        assert archive.sync(client, refresh=refresh).added == 60
        assert archive.verify(client).empty
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
    assert archive.import_(statements_of(*MINE)).known == 2
    service.username = "someone-else"
    with service.client() as client:
        archive.sync(client)  # the id counts from now on
    assert archive.history().me.user.username == "someone-else"
    assert set(archive.history().payments["account_id"]) == {"7"}


@pytest.mark.parametrize("username", ["bob", None])
def test_another_user_is_refused(archive, service, username) -> None:
    """The error names the account of the statements, and nothing changes."""
    service.username = username
    before = (archive.path / "manifest.json").read_bytes()
    with service.client() as client:
        for call in (archive.sync, archive.verify):
            with pytest.raises(ArchiveError, match=r"holds statements of ada, not of (bob|7): name another folder"):
                call(client)
    assert (archive.path / "manifest.json").read_bytes() == before


def test_a_merge_adopts_the_user_too(archive, history_of, payment) -> None:
    """The date of the data is then that of the history."""
    history = history_of(payment(1), payment(2))
    archive.merge(replace(history, me=Me(user=User(id="7", username="ada"))))
    merged = archive.history()
    assert (merged.me.user.id, merged.fetched_at) == ("7", history.fetched_at)
    assert sorted(merged.payments["payment_id"]) == ["1", "2", "t"]


def test_a_history_with_statements_is_merged_as_such(archive, tmp_path, history_of, payment) -> None:
    """Both parts of each payment arrive, and people who were matched are not taken for what the file says."""
    ada = Me(user=User(id="7", username="ada"))
    archive.merge(replace(history_of(payment(1)), me=ada))
    archive.import_(statements_of(row(3)))
    source = archive.history()
    assert source.payments.set_index("payment_id")["counterparty_matched"].get("3") == "payments"
    other = p2p.open_archive(tmp_path / "other")
    assert other.merge(source).added == 3
    pd.testing.assert_frame_equal(other.history().payments, source.payments)
    assert other.merge(source)[:2] == (0, 0)
    other.merge(
        replace(history_of(payment(9, target={"type": "user", "user": {"id": "9", "display_name": "Bo"}})), me=ada)
    )
    assert pd.isna(other.history().payments.set_index("payment_id")["counterparty_id"]["3"])


def test_a_row_that_the_service_contradicts_later_is_refused(tmp_path, history_of, payment) -> None:
    """As if the service had listed the payment before: the same payments and problems, and row 3 stays."""
    statements = statements_of(row(1, amount_cents=9900, fee_cents=100), row(3))
    listed = replace(history_of(payment(1), friends=0), me=Me(user=User(id="7", username="ada")))
    before, after = (p2p.open_archive(tmp_path / name) for name in ("before", "after"))
    before.merge(listed)
    assert before.import_(statements).refused == 1
    after.import_(statements)
    after.merge(listed)
    assert after.merge(listed)[:2] == (0, 0)
    found = after.history()
    payments = found.payments.set_index("payment_id")
    assert sorted(payments.index) == ["1", "3"]
    assert payments.loc["1", "amount_cents"] == 500
    assert payments.loc["1", ["fee_cents", "file"]].isna().all()
    assert found.problems[["payment_id", "field", "value"]].to_numpy().tolist() == [["1", "amount_cents", "9900"]]
    pd.testing.assert_frame_equal(found.problems, before.history().problems)
    pd.testing.assert_frame_equal(found.payments, before.history().payments)


def test_a_contradiction_that_a_damaged_file_hid_from_a_merge(tmp_path, history_of, payment) -> None:
    """The import that repairs the archive, and the file again, are refused as the merge does with sound files."""
    listed = replace(history_of(payment(1), friends=0), me=Me(user=User(id="7", username="ada")))
    wrong = statements_of(row(1, amount_cents=9900, fee_cents=100))
    found = []
    for name in ("sound", "damaged"):
        archive = p2p.open_archive(tmp_path / name)
        archive.import_(wrong)
        archive.merge(listed)
        if name == "damaged":
            next(archive.path.glob("rows-*")).write_bytes(b"broken")
        archive.import_(statements_of(row(3, file="june.csv")), repair=True)
        assert archive.import_(wrong).refused == 1
        found.append(archive.history())
    sound, damaged = found
    assert sorted(damaged.payments["payment_id"]) == ["1", "3"]
    assert damaged.payments.set_index("payment_id").loc["1", ["fee_cents", "file"]].isna().all()
    pd.testing.assert_frame_equal(damaged.payments, sound.payments)
    told = [["1", "amount_cents", "9900"]]
    assert sound.problems[["payment_id", "field", "value"]].to_numpy().tolist() == told
    pd.testing.assert_frame_equal(damaged.problems, sound.problems)


def test_a_merge_needs_sound_files(tmp_path, history_of, payment) -> None:
    """It does not know whether the archive is the user's, or has the rows; the error names the option of an import."""
    archive = p2p.open_archive(tmp_path / "archive")
    archive.import_(statements_of(row(1)))
    next(archive.path.glob("rows-*")).write_bytes(b"broken")
    for history in (
        statements_of(row(2)).history(),
        replace(history_of(payment(1)), me=Me(user=User(id="7", username="ada"))),
    ):
        with pytest.raises(ArchiveError, match=r"import all your statement files again .*--repair"):
            archive.merge(history)


def test_names_that_the_user_decided_are_not_merged(tmp_path) -> None:
    """They are in people.csv of the one archive; the other gets the names in the files."""
    one, other = (p2p.open_archive(tmp_path / name) for name in ("one", "other"))
    statements = statements_of(row(1, "Bo"), row(2, "Bo", direction="in"), row(3, "Bo", action="charge"))
    one.import_(statements)
    (one.path / "people.csv").write_text("alias,person,evidence\nBo,Robert,\n")
    assert set(one.history().payments["counterparty_name"]) == {"Robert"}
    other.merge(one.history())
    assert set(other.history().payments["counterparty_name"]) == {"Bo"}
    assert other.import_(statements).known == 3


def test_a_history_of_statements_alone_makes_the_same_archive(tmp_path, archive, service) -> None:
    """A merge of it belongs to the account of the statements, and the first sync adopts the user."""
    other = p2p.open_archive(tmp_path / "other")
    other.merge(archive.history())
    pd.testing.assert_frame_equal(other.history().payments, archive.history().payments)
    service.username = "bob"
    with service.client() as client, pytest.raises(ArchiveError, match="holds statements of ada, not of bob"):
        other.sync(client)
    service.username = "ada"
    with service.client() as client:
        other.sync(client)
    assert len(other.history().payments) == 61


@pytest.mark.parametrize("way", ["import", "merge"])
def test_a_history_of_statements_of_another_account_is_refused(tmp_path, way) -> None:
    """Whichever way the rows of the archive came; the archive stays as it was."""
    archive = p2p.open_archive(tmp_path / "archive")
    own = statements_of(row(1))
    archive.import_(own) if way == "import" else archive.merge(own.history())
    before = list_stored(archive)
    other = statements_of(row(2, account_id="bob", owner="Bob"), account="bob").history()
    with pytest.raises(ArchiveError, match="holds statements of ada, not of bob: name another folder"):
        archive.merge(other)
    assert list_stored(archive) == before


def test_a_lost_manifest(archive, service) -> None:
    """The next sync recovers the rows of statements with the payments."""
    service.username = "ada"
    with service.client() as client:
        archive.sync(client)
        expected = archive.history().payments
        (archive.path / "manifest.json").write_bytes(b"broken")
        archive.sync(client)
    pd.testing.assert_frame_equal(archive.history().payments, expected)


def test_combine_prefers_rows_of_the_service(archive, history_of, payment) -> None:
    """Whenever they were fetched and in any order; what the statement knows more is there."""
    ada = Me(user=User(id="7", username="ada"))
    archive.merge(replace(history_of(payment(2)), me=ada))
    stated, listed = archive.history(), replace(history_of(payment(1)), me=ada)
    for histories in ([stated, listed], [listed, stated]):
        united = p2p.combine(histories).payments.set_index("payment_id")
        assert sorted(united.index) == ["1", "2", "t"]
        assert (united.loc["1", "source"], united.loc["1", "tip_cents"], united.loc["1", "counterparty_id"]) == (
            "api",
            5,
            "8",
        )
        assert {*PAYMENTS, *STATEMENT} <= {*united.columns, "payment_id"}


def test_a_town(tmp_path) -> None:
    """Statements and service of one person agree, whether the import comes before or after the sync."""
    with p2p.sandbox.SandboxServer(seed=3, people=5, years=1) as server:
        periods = enumerate(server.statement_periods())
        for number, (start, end) in periods:
            text = server.statement(server.viewer, start, end)
            (tmp_path / f"{number}.csv").write_text(text, "utf-8", newline="")
        statements = p2p.read_statements(tmp_path / "*.csv")
        one, other = (p2p.open_archive(tmp_path / name) for name in ("one", "other"))
        one.import_(statements)
        alone = one.history()
        with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
            listed = p2p.load_history(client)
            one.sync(client)
            other.sync(client)
            plan = other.import_(statements)
            assert other.verify(client).empty
    assert (plan.known, plan.changed, plan.refused) == (len(listed.payments), 0, 0)
    assert plan.new == (statements.payments["kind"] != "payment").sum() > 0
    pd.testing.assert_frame_equal(one.history().payments, other.history().payments)
    expected = p2p.monthly_flow(listed.payments)
    for history in (alone, one.history()):
        pd.testing.assert_frame_equal(p2p.monthly_flow(history.payments), expected)
    shared = one.history().payments.set_index("payment_id").loc[listed.payments["payment_id"], [*PAYMENTS][1:]]
    pd.testing.assert_frame_equal(shared.drop(columns="fee_cents").reset_index(drop=True),
                                  listed.payments[[*PAYMENTS][1:]].drop(columns="fee_cents"))  # fmt: skip


def test_a_merged_history_of_statements_that_contradicts_the_service(tmp_path, history_of, payment) -> None:
    """The row is refused and listed as by an import, once however often it is merged; the other row is added."""
    lines = row(5, amount_cents=9_900), row(6)
    archives = [p2p.open_archive(tmp_path / name) for name in ("imported", "merged")]
    for archive in archives:
        archive.merge(history_of(payment(5, amount="10.00"), account="ada"))
    assert archives[0].import_(statements_of(*lines)).refused == 1
    changes = [archives[1].merge(statements_of(*lines).history()) for _ in range(2)]
    assert [(each.added, each.changed) for each in changes] == [(1, 0), (0, 0)]
    for archive in archives:
        history = archive.history()
        assert sorted(history.payments["payment_id"]) == ["5", "6"]
        (problem,) = history.problems.to_dict("records")
        assert (problem["payment_id"], problem["field"], problem["value"]) == ("5", "amount_cents", "9900")


def test_a_file_of_which_a_merge_brought_a_part(tmp_path) -> None:
    """Rows of one file that look like rounded copies of each other are no copies, whichever way they came."""
    lines = [
        f"CARD_PAYMENT,Current,{at},{at},Deli,-{amount},0,USD,COMPLETED,"
        for day in (1, 2, 3)
        for at, amount in ((f"2024-05-0{day} 10:00:07", "5.25"), (f"2024-05-0{day} 10:00:00", "5.00"))
    ]
    header = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
    (tmp_path / "file.csv").write_text("\n".join([header, *lines]), "utf-8")
    statements = p2p.read_statements(tmp_path / "file.csv", account="nora")
    history = statements.history()
    archive = p2p.open_archive(tmp_path / "archive")
    archive.merge(replace(history, payments=history.payments.iloc[::2]))
    assert archive.import_(statements)[:2] == (3, 3)
    assert archive.history().problems.empty
