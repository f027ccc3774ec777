"""Importing statements into an archive and undoing it: the plan, the rows that stay, the account, and problems."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from p2p_analytics.records import Me, User
from p2p_analytics.statements import Problem
from support.archives.statements import digests, list_stored, row, statements_of
from support.archives.steps import fill_disk
from support.frames import list_values

SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
_WITHOUT_ACCOUNT = statements_of(row(3, account_id=None, owner=None), account=None)
_WRONG_DATE = Problem("not_a_date", "may.csv", 3, "3", "date", "x")


@pytest.fixture(scope="module")
def ada(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive of the user ada with two payments of the service: 1 is settled, 2 is pending."""
    made = p2p.open_archive(tmp_path_factory.mktemp("ada") / "archive")
    history = history_of(payment(1), payment(2, status="pending", date_created="2024-05-02T12:00:00"))
    made.merge(replace(history, me=Me(user=User(id="7", username="Ada", display_name="Ada"), balance_cents=990)))
    return made.path


@pytest.fixture
def archive(ada, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(ada, tmp_path / "archive"))


def column(history, name: str) -> dict[str, object]:
    """Return a column of the payments by payment id."""
    return dict(zip(history.payments["payment_id"], list_values(history.payments[name]), strict=True))


def edit(statements, **columns) -> p2p.Statements:
    """Return statements with other values in their payments."""
    return replace(statements, payments=statements.payments.assign(**columns))


def test_each_row_is_new_known_changed_or_refused(archive) -> None:
    """1 is known, 2 settles, 3 is new, and 4 contradicts nothing although its fee is new; the plan changes nothing."""
    statements = statements_of(
        row(1, fee_cents=25, tip_cents=100, line=5),
        row(2, date="2024-05-02T12:00:00", line=6),
        row(3, "Cy", direction="in", line=7),
        row(4, status="pending", line=8),
    )
    before = archive.history().payments
    plan = archive.import_(statements, dry_run=True)
    assert plan[:4] == (2, 1, 1, 0)
    assert plan.details.to_dict("records") == [
        {"file": "may.csv", "line": 6, "payment_id": "2", "outcome": "changed", "fields": "status"}
    ]
    assert plan.details.dtypes.astype(str).tolist() == ["str", "Int64", "str", "str", "str"]
    assert plan.kinds.to_dict("records") == [{"kind": "payment", "new": 2, "known": 1, "changed": 1, "refused": 0}]
    assert plan.payments["payment_id"].tolist() == ["4", "3"]
    pd.testing.assert_frame_equal(archive.history().payments, before)
    assert archive.import_(statements)[:4] == (2, 1, 1, 0)
    history = archive.history()
    assert history.payments.dtypes.astype(str).to_dict() == {**PAYMENTS, **STATEMENT, "counterparty_matched": "str"}
    expected = {
        "status": ["settled", "settled", "settled", "pending"],
        "source": ["api", "api", "statement", "statement"],
        "audience": ["private", "private", None, None],
        "fee_cents": [25, None, None, None],
        "tip_cents": [100, 0, 0, 0],
        "line": [5, 6, 7, 8],
        "actor_id": ["7", "7", None, "7"],
        "flow_cents": [-500, -500, 500, -500],
    }
    by_id = history.payments.sort_values("payment_id")
    assert {name: list_values(by_id[name]) for name in expected} == expected
    assert (set(by_id["account_id"]), history.me.balance_cents) == ({"7"}, 990)


def test_importing_again_adds_nothing(archive) -> None:
    """The second time everything is known, whatever the file is called; what was stored stays byte for byte."""
    archive.import_(statements_of(row(1), row(3), row(4, status="pending"), problems=[_WRONG_DATE]))
    before, history = list_stored(archive), archive.history()
    again = statements_of(*(row(number, file="copy.csv", line=number) for number in (1, 3)))
    assert archive.import_(again)[:4] == (0, 2, 0, 0)
    after = list_stored(archive)
    assert [name.partition("-")[0] for name in after.keys() - before.keys()] == ["rows"]
    assert {name for name in before if after[name] != before[name]} == {"manifest.json"}
    pd.testing.assert_frame_equal(archive.history().payments, history.payments)
    pd.testing.assert_frame_equal(archive.history().problems, history.problems)
    (problem,) = history.problems.to_dict("records")
    assert {name: value for name, value in problem.items() if not pd.isna(value)} == {
        "code": "not_a_date", "payment_id": "3", "field": "date", "value": "x", "problem": "is not a date",
        "file": "may.csv", "line": 3,
    }  # fmt: skip


def test_a_statement_that_knows_more_changes_nothing(new) -> None:
    """A value that was missing is added to a known payment; another value, or a first status, is a change."""
    new.import_(statements_of(row(1), row(2, fee_cents=1), row(3, status=None)))
    plan = new.import_(statements_of(row(1, fee_cents=5), row(2, fee_cents=3, tax_cents=4), row(3)))
    assert plan[:4] == (0, 1, 2, 0)
    assert plan.details[["payment_id", "fields"]].to_numpy().tolist() == [["2", "fee_cents"], ["3", "status"]]
    assert column(new.history(), "fee_cents") == {"1": 5, "2": 3, "3": None}
    assert column(new.history(), "status") == dict.fromkeys("123", "settled")


@pytest.mark.parametrize(("field", "value"), [("amount_cents", 501), ("currency", "EUR"), ("direction", "in")])
def test_a_row_that_contradicts_the_service_is_refused(archive, field, value) -> None:
    """The service's row stays as it was, and the row of the statement is in the problems with its value."""
    before = archive.history().payments.query("payment_id == '1'").reset_index(drop=True)
    given = statements_of(row(1, **{field: value}, line=12), row(3))
    for expected in ((1, 0, 0, 1), (0, 1, 0, 1)):
        plan = archive.import_(given)
        assert plan[:4] == expected
        assert plan.details.to_dict("records") == [
            {"file": "may.csv", "line": 12, "payment_id": "1", "outcome": "refused", "fields": field}
        ]
    history = archive.history()
    first = history.payments.query("payment_id == '1'").reset_index(drop=True)
    pd.testing.assert_frame_equal(first[[*PAYMENTS]], before)
    assert first[[*STATEMENT]].isna().all(axis=None)
    (problem,) = history.problems.to_dict("records")
    assert (problem["payment_id"], problem["field"], problem["value"]) == ("1", field, str(value))
    assert "refused" in problem["problem"]


def test_the_plan_counts_by_kind(archive) -> None:
    """Payments come first, then the most frequent kind; a row without a kind is a payment."""
    kinds = {1: "payment", 3: "fee", 4: "transfer", 5: "transfer", 6: None}
    plan = archive.import_(statements_of(*(row(number, kind=kind) for number, kind in kinds.items())), dry_run=True)
    assert list(plan.kinds.itertuples(index=False, name=None)) == [
        ("payment", 1, 1, 0, 0), ("transfer", 2, 0, 0, 0), ("fee", 1, 0, 0, 0),
    ]  # fmt: skip
    nothing = archive.import_(statements_of(), dry_run=True).kinds
    assert nothing.dtypes.astype(str).to_dict() == {
        "kind": "str", "new": "int64", "known": "int64", "changed": "int64", "refused": "int64",
    }  # fmt: skip
    assert nothing.empty


@pytest.mark.parametrize(("account", "in_file"), [("Ada", "Ada"), ("@ada", "@ada"), ("7", None)])
def test_statements_of_the_accounts_username_or_id(archive, account, in_file) -> None:
    """A handle is compared without "@" and case; the user can name the id; rows show the account's user id."""
    archive.import_(statements_of(row(3, account_id=in_file), account=account))
    payments = archive.history().payments.set_index("payment_id")
    assert payments.loc["3", ["account_id", "actor_id", "actor_username"]].tolist() == ["7", "7", "Ada"]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (statements_of(row(3, account_id="bob"), account="bob"), "of the account bob, and .*archive of Ada: name"),
        (statements_of(row(3), row(4, account_id="bob")), r"2 accounts \(ada, bob\), and an archive holds one"),
        (_WITHOUT_ACCOUNT, r"name no account: .*account=\"ada\""),
        (replace(statements_of(row(3)), private=True), "privacy mode hold invented names"),
        (edit(statements_of(row(3)), payment_id=None), "without an id"),
        (edit(statements_of(row(3), row(4)), payment_id="3"), "payment_id 3 is repeated"),
    ],
    ids=["another account", "two accounts", "no account", "private", "no id", "an id twice"],
)
def test_statements_that_the_archive_cannot_take(archive, statements, message) -> None:
    """The error names the account; the archive stays as it was."""
    before = digests(archive.path)
    for dry_run in (True, False):
        with pytest.raises(ArchiveError, match=message):
            archive.import_(statements, dry_run=dry_run)
    assert digests(archive.path) == before
    for other, words in ((archive.history(), r"as read_statements\(paths\).*not a History"), ("may.csv", "not a str")):
        with pytest.raises(ConfigurationError, match=f"needs statements, .*{words}"):
            archive.import_(other)


def test_a_first_import_creates_the_archive(new, tmp_path) -> None:
    """It belongs to the handle, has the statement's names and date, and no friends; an import of nothing may be it.

    A dry run, a refused import and an undo make no folder.
    """
    new.import_(statements_of(row(1)), dry_run=True)
    for call, message in ((lambda: new.import_(_WITHOUT_ACCOUNT), "name no account"), (new.undo, "no import to undo")):
        with pytest.raises(ArchiveError, match=message):
            call()
    assert not new.path.exists()
    new.import_(statements_of(row(1, account_id="@Ada"), account="@Ada"))
    history = new.history()
    assert (history.me.user.id, history.me.user.username) == ("Ada", "Ada")
    assert history.fetched_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert column(history, "actor_id") == column(history, "account_id") == {"1": "Ada"}
    assert history.friends.empty
    assert list(history.payments) == [*PAYMENTS, *STATEMENT, "counterparty_matched"]
    new.import_(statements_of(row(2, date="2024-06-01T12:00:00"), row(1)))
    assert new.history().fetched_at == datetime(2024, 6, 1, 12, tzinfo=UTC)
    nothing = p2p.open_archive(tmp_path / "nothing")
    assert nothing.import_(statements_of())[:4] == (0, 0, 0, 0)
    assert nothing.history().payments.empty


def test_a_merge_of_statements_is_like_an_import(new, tmp_path) -> None:
    """The history of statements has all columns, and its merge fills an archive like the import of the files."""
    statements = statements_of(row(1, tip_cents=3), row(2, kind="transfer", action=None, destination="Bank"))
    history = statements.history()
    assert list(history.payments) == [*PAYMENTS, *STATEMENT]
    merged = p2p.open_archive(tmp_path / "merged")
    merged.merge(history)
    new.import_(statements)
    pd.testing.assert_frame_equal(merged.history().payments, new.history().payments)
    assert column(merged.history(), "destination") == {"1": None, "2": "Bank"}


def test_a_later_file_repairs_an_amount(new, tmp_path) -> None:
    """The row is changed, and its problem is gone until the import is undone, in any order and in one reading."""
    good, broken = SAMPLES / "gen_a_2018.csv", tmp_path / "broken.csv"
    broken.write_text(good.read_text("utf-8").replace("- $120.00", "- $12..00"), "utf-8")
    first, second = (p2p.read_statements(path, account="nora-quill") for path in (broken, good))
    rows = len(first.payments)
    assert new.import_(first).problems["problem"].tolist() == ["is not an amount"]
    plan = new.import_(second)
    assert (*plan[:4], len(plan.problems)) == (0, rows - 1, 1, 0, 0)
    assert plan.details["fields"].tolist() == ["amount_cents, flow_cents"]
    assert new.history().problems.empty
    new.undo()
    assert new.history().problems["problem"].tolist() == ["is not an amount"]
    assert p2p.read_statements([good, broken], account="nora-quill").problems.empty


MAY = statements_of(row(1), row(3, tip_cents=5))
JUNE = statements_of(row(3, tip_cents=5, file="june.csv"), row(4, file="june.csv", status="pending"))
JULY = statements_of(row(4, file="july.csv"))


def test_imports_one_after_the_other(new) -> None:
    """Four imports, also one that adds nothing, are undone in turn; none of their rows is left on the disk.

    After the first one, only the lock and the user's file are left, and the folder can be used again.
    """
    states = []
    for statements in (MAY, MAY, JUNE, JULY):
        states.append(list_stored(new))
        new.import_(statements)
    people = new.write_people().read_bytes()
    assert new.imports.drop(columns="imported_at").to_numpy().tolist() == [
        [1, "may.csv", 2, 0, 0, 0, False],
        [2, "may.csv", 0, 2, 0, 0, False],
        [3, "june.csv", 1, 1, 0, 0, False],
        [4, "july.csv", 0, 0, 1, 0, True],
    ]
    plan = new.preview_undo()
    assert (plan.number, plan.files, plan.new, plan.changed, plan.restored) == (4, ("july.csv",), 0, 1, 0)
    assert plan.payments.empty
    for expected in reversed(states):
        new.undo()
        assert list_stored(new) == expected
        assert {path.name for path in new.path.glob("rows-*")} == {name for name in expected if "rows-" in name}
    assert {path.name for path in new.path.iterdir()} == {"lock", "people.csv"}
    assert ((new.path / "people.csv").read_bytes(), new.is_new) == (people, True)
    for call, message in ((new.undo, "no import to undo"), (new.history, "no archive in")):
        with pytest.raises(ArchiveError, match=message):
            call()
    p2p.open_archive(new.path).import_(JUNE)
    assert len(new.history().payments) == 2


def test_a_full_disk_leaves_no_file(new) -> None:
    """Whichever file cannot be written, the folder is as before, and the next import can be undone to that."""
    new.import_(MAY)
    before = {path.name for path in new.path.iterdir()}, list_stored(new)
    for step in range(3):
        with fill_disk(step), pytest.raises(ConfigurationError, match="no space left on device"):
            new.import_(JUNE)
        assert ({path.name for path in new.path.iterdir()}, list_stored(new)) == before
    assert new.import_(JUNE).new == 1
    new.undo()
    assert list_stored(new) == before[1]


@pytest.mark.parametrize(
    "change",
    [pytest.param(None, marks=pytest.mark.full), "sync", "merge", pytest.param("refresh", marks=pytest.mark.full)],
)
def test_what_a_sync_or_merge_has_added_stays(  # noqa: PLR0913, PLR0917 - fixtures and a case
    synced_folder, tmp_path, service, history_of, payment, change
) -> None:
    """The undo of an import before it takes the rows of the files back, and nothing else."""
    archive = p2p.open_archive(shutil.copytree(synced_folder, tmp_path / "synced"))
    before, expected = list_stored(archive), archive.history().payments
    may = statements_of(row(1, account_id="7"), row(3, tip_cents=5, account_id="7"))
    archive.import_(may)
    with service.client() as client:
        if change == "merge":
            archive.merge(history_of(payment(70)))
        elif change:
            archive.sync(client, refresh=change == "refresh")
    assert archive.history().payments.set_index("payment_id")["tip_cents"].get("3") == 5
    undone = archive.undo()
    assert undone[["number", "files", "new", "known"]].to_numpy().tolist() == [[1, "may.csv", 0, 2]]
    found = archive.history().payments
    assert set(found["payment_id"]) == {*expected["payment_id"], *(["70"] if change == "merge" else [])}
    assert list(found) == list(expected)
    if change is None:
        assert list_stored(archive) == before
        assert found.equals(expected)
