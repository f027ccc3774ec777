"""Statements in archives that are synced, refreshed, verified and merged, and in histories that are combined."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.records import Me, User
from support.archives.statements import list_stored, row, statements_of

if TYPE_CHECKING:
    from pathlib import Path

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
def archive(own: Path, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(own, tmp_path / "archive"))


@pytest.fixture
def other(tmp_path) -> p2p.Archive:
    """Return an archive that is not there yet."""
    return p2p.open_archive(tmp_path / "other")


@pytest.mark.parametrize("refresh", [False, True])
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
def test_another_user_is_refused(archive, other, service, username) -> None:
    """The error names the account of the statements, imported or merged, and nothing changes."""
    service.username = username
    other.merge(archive.history())
    before = list_stored(archive), list_stored(other)
    with service.client() as client:
        for call in (archive.sync, archive.verify, other.sync):
            with pytest.raises(ArchiveError, match=r"holds statements of ada, not of (bob|7): name another folder"):
                call(client)
    assert (list_stored(archive), list_stored(other)) == before


def test_a_history_with_statements_is_merged_as_such(archive, other, history_of, payment) -> None:
    """Both parts of each payment arrive, and people who were matched are not taken for what the file says."""
    archive.merge(replace(history_of(payment(1, note="listed")), me=ADA))
    archive.import_(statements_of(row(3)))
    source = archive.history()
    assert archive.merge(source)[:2] == (0, 0), "a value that the service lists is not an edit of the statement"
    assert (source.me.user.id, source.fetched_at) == ("7", history_of().fetched_at)
    assert source.payments.set_index("payment_id")["counterparty_matched"].get("3") == "payments"
    assert other.merge(source).added == 3
    pd.testing.assert_frame_equal(other.history().payments, source.payments)
    assert other.merge(source)[:2] == (0, 0)
    another_bo = payment(9, target={"type": "user", "user": {"id": "9", "display_name": "Bo"}})
    other.merge(replace(history_of(another_bo), me=ADA))
    assert pd.isna(other.history().payments.set_index("payment_id")["counterparty_id"]["3"])


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_row_that_the_service_contradicts_later_is_refused(other, tmp_path, history_of, payment, is_damaged) -> None:
    """As if the service had listed the payment before; also if the file was damaged meanwhile. Row 3 stays."""
    wrong, june = statements_of(row(1, amount_cents=9900, fee_cents=100)), statements_of(row(3, file="june.csv"))
    listed = replace(history_of(payment(1), friends=0), me=ADA)
    before = p2p.open_archive(tmp_path / "before")
    before.merge(listed)
    assert before.import_(wrong).refused == 1
    before.import_(june)
    other.import_(wrong)
    other.merge(listed)
    assert other.merge(listed)[:2] == (0, 0)
    if is_damaged:
        next(other.path.glob("rows-*")).write_bytes(b"broken")
    other.import_(june, repair=True)
    if is_damaged:
        assert other.import_(wrong).refused == 1
    found = other.history()
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


def test_names_that_the_user_decided_are_not_merged(tmp_path, other) -> None:
    """They are in people.csv of the one archive; the other gets the names in the files."""
    one = p2p.open_archive(tmp_path / "one")
    statements = statements_of(row(1, "Bo"), row(2, "Bo", direction="in"), row(3, "Bo", action="charge"))
    one.import_(statements)
    (one.path / "people.csv").write_text("alias,person,evidence\nBo,Robert,\n")
    assert set(one.history().payments["counterparty_name"]) == {"Robert"}
    other.merge(one.history())
    assert set(other.history().payments["counterparty_name"]) == {"Bo"}
    assert other.import_(statements).known == 3


@pytest.mark.parametrize("way", ["import", "merge"])
def test_a_history_of_statements_of_another_account_is_refused(other, way) -> None:
    """Whichever way the rows of the archive came; the archive stays as it was."""
    own = statements_of(row(1))
    other.import_(own) if way == "import" else other.merge(own.history())
    before = list_stored(other)
    history = statements_of(row(2, account_id="bob", owner="Bob"), account="bob").history()
    with pytest.raises(ArchiveError, match="holds statements of ada, not of bob: name another folder"):
        other.merge(history)
    assert list_stored(other) == before


def test_a_town(tmp_path) -> None:
    """Statements and service of one person agree, whether the import comes before or after the sync."""
    with p2p.sandbox.SandboxServer(seed=3, people=5, years=1) as server:
        for number, (start, end) in enumerate(server.statement_periods()):
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


def test_a_merged_history_of_statements_that_contradicts_the_service(other, history_of, payment) -> None:
    """The row is refused and listed as by an import, once however often it is merged; the other row is added."""
    other.merge(history_of(payment(5, amount="10.00"), account="ada"))
    history = statements_of(row(5, amount_cents=9_900), row(6)).history()
    assert [other.merge(history)[:2] for _ in range(2)] == [(1, 0), (0, 0)]
    found = other.history()
    assert sorted(found.payments["payment_id"]) == ["5", "6"]
    assert found.problems[_WHAT].to_numpy().tolist() == [["5", "amount_cents", "9900"]]
