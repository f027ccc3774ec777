"""Importing statements into an archive: the plan, the rows that stay, the account, and problems."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _view
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from p2p_analytics.records import Me, User
from p2p_analytics.statements import Problem
from support.archives.ledger import File, write_statement
from support.archives.statements import list_stored, row, statements_of
from support.frames import list_values

SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
HEADER = [*PAYMENTS, *STATEMENT, "counterparty_matched"]
_WITHOUT_ACCOUNT = statements_of(row(3, account_id=None, owner=None), account=None)
_WRONG_DATE = Problem("not_a_date", "may.csv", 3, "3", "date", "x")


@pytest.fixture
def archive(tmp_path, history_of, payment) -> p2p.Archive:
    """Return an archive of the user ada with two payments of the service: 1 is settled, 2 is pending."""
    made = p2p.open_archive(tmp_path / "archive")
    history = history_of(payment(1), payment(2, status="pending", date_created="2024-05-02T12:00:00"))
    object.__setattr__(history, "me", Me(user=User(id="7", username="Ada", display_name="Ada"), balance_cents=990))
    made.merge(history)
    return made


def counts(plan: p2p.archive.ImportPlan) -> tuple[int, int, int, int]:
    """Return the counts of a plan: new, known, changed, refused."""
    return plan.new, plan.known, plan.changed, plan.refused


def column(history: p2p.History, name: str) -> dict[str, object]:
    """Return a column of the payments by payment id."""
    return dict(zip(history.payments["payment_id"], list_values(history.payments[name]), strict=True))


def with_balance(line: dict[str, object], balance_cents: int) -> p2p.statements.Statements:
    """Return the statements of one row of ada, with a closing balance."""
    closing = {**line, "payment_id": None, "kind": "notice", "line": 5, "closing_cents": balance_cents}
    return statements_of(line, closing | dict.fromkeys(("flow_cents", "action", "direction", "status")))


def edit(statements: p2p.statements.Statements, **columns: object) -> p2p.statements.Statements:
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
    assert counts(plan) == (2, 1, 1, 0)
    assert plan.details.to_dict("records") == [
        {"file": "may.csv", "line": 6, "payment_id": "2", "outcome": "changed", "fields": "status"}
    ]
    assert plan.kinds.to_dict("records") == [{"kind": "payment", "new": 2, "known": 1, "changed": 1, "refused": 0}]
    pd.testing.assert_frame_equal(archive.history().payments, before)
    assert counts(archive.import_(statements)) == (2, 1, 1, 0)
    history = archive.history()
    assert list(history.payments) == HEADER
    assert history.payments.dtypes.astype(str).to_dict() == {**PAYMENTS, **STATEMENT, "counterparty_matched": "str"}
    assert column(history, "status") == {"1": "settled", "2": "settled", "3": "settled", "4": "pending"}
    assert column(history, "source") == {"1": "api", "2": "api", "3": "statement", "4": "statement"}
    assert column(history, "fee_cents") == {"1": 25, "2": None, "3": None, "4": None}
    assert column(history, "tip_cents") == {"1": 100, "2": 0, "3": 0, "4": 0}
    assert column(history, "line") == {"1": 5, "2": 6, "3": 7, "4": 8}
    assert column(history, "account_id") == dict.fromkeys("1234", "7")
    assert column(history, "actor_id")["4"] == "7"
    assert column(history, "audience")["1"] == "private"
    assert column(history, "flow_cents") == {"1": -500, "2": -500, "3": 500, "4": -500}


def test_importing_again_adds_nothing(archive) -> None:
    """The second time everything is known, whatever the file is called; what was stored stays byte for byte."""
    archive.import_(statements_of(row(1), row(3), row(4, status="pending")))
    before, history = list_stored(archive), archive.history()
    again = statements_of(*(row(number, file="copy.csv", line=number) for number in (1, 3)))
    assert counts(archive.import_(again)) == (0, 2, 0, 0)
    after = list_stored(archive)
    assert {name: after[name] for name in before if name != "manifest.json"} == {
        name: digest for name, digest in before.items() if name != "manifest.json"
    }
    assert [name.partition("-")[0] for name in after.keys() - before.keys()] == ["rows"]
    pd.testing.assert_frame_equal(archive.history().payments, history.payments)
    pd.testing.assert_frame_equal(archive.history().problems, history.problems)
    assert list(archive.imports["number"]) == [1, 2]
    assert list(archive.imports["undoable"]) == [False, True]


def test_a_statement_that_knows_more_changes_nothing(tmp_path) -> None:
    """A value that was missing is added to a known payment; another value, or a first status, is a change."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(statements_of(row(1), row(2, fee_cents=1), row(3, status=None)))
    plan = archive.import_(statements_of(row(1, fee_cents=5), row(2, fee_cents=3, tax_cents=4), row(3)))
    assert counts(plan) == (0, 1, 2, 0)
    assert plan.details[["payment_id", "fields"]].to_numpy().tolist() == [
        ["2", "fee_cents"],
        ["3", "status"],
    ]
    assert column(archive.history(), "fee_cents") == {"1": 5, "2": 3, "3": None}
    assert column(archive.history(), "status") == dict.fromkeys("123", "settled")


def test_of_two_statements_the_later_state_stays(archive) -> None:
    """A pending row does not replace a settled one; a null does not replace a value; other values do, and are named."""
    archive.import_(statements_of(row(3, status="pending"), row(5, tax_cents=9, note="rent")))
    later = row(6, date="2024-06-01T12:00:00", file="june.csv")
    plan = archive.import_(statements_of(row(3), row(5, note="food", file="june.csv", line=2), later))
    assert counts(plan) == (1, 0, 2, 0)
    assert plan.details["fields"].tolist() == ["note", "status"]
    plan = archive.import_(statements_of(row(3, status="pending"), row(5, note="food")))
    assert counts(plan) == (0, 2, 0, 0)
    history = archive.history()
    assert column(history, "status")["3"] == "settled"
    assert column(history, "tax_cents")["5"] == 9
    assert column(history, "note")["5"] == "food"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_of_several_statements_the_latest_file_counts(archive, order: tuple[int, ...]) -> None:
    """Imports in any order give the value of the file that ends last, and what only another file knows."""
    months = [
        [row(5, note="rent", fee_cents=25, file="may.csv"), row(6, date="2024-05-31T12:00:00", file="may.csv")],
        [row(5, note="Rent", file="june.csv"), row(7, date="2024-06-30T12:00:00", file="june.csv")],
        [
            row(5, status="cancelled", note="no rent", file="july.csv"),
            row(8, date="2024-07-31T12:00:00", file="july.csv"),
        ],
    ]
    for number in order:
        archive.import_(statements_of(*months[number]))
    history = archive.history()
    assert {key for key in column(history, "status") if key in "5678"} == {"5", "6", "7", "8"}
    assert column(history, "status")["5"] == "cancelled"
    assert column(history, "note")["5"] == "no rent"
    assert column(history, "fee_cents")["5"] == 25


@pytest.mark.parametrize(
    ("field", "value", "fields"),
    [
        ("amount_cents", 501, "amount_cents"),
        ("currency", "EUR", "currency"),
        ("direction", "in", "direction"),
    ],
)
def test_a_row_that_contradicts_the_service_is_refused(archive, field, value, fields) -> None:
    """The service's row stays as it was, and the row of the statement is in the problems with its value."""
    before = archive.history()
    plan = archive.import_(statements_of(row(1, **{field: value}, line=12), row(3)))
    assert counts(plan) == (1, 0, 0, 1)
    assert plan.details.to_dict("records") == [
        {"file": "may.csv", "line": 12, "payment_id": "1", "outcome": "refused", "fields": fields}
    ]
    history = archive.history()
    first = history.payments[history.payments["payment_id"] == "1"].reset_index(drop=True)
    expected = before.payments[before.payments["payment_id"] == "1"].reset_index(drop=True)
    pd.testing.assert_frame_equal(first[[*PAYMENTS]], expected)
    assert first[[*STATEMENT]].isna().all(axis=None)
    (problem,) = history.problems.to_dict("records")
    assert (problem["payment_id"], problem["field"], problem["value"]) == ("1", field, str(value))
    assert "refused" in problem["problem"]
    assert counts(archive.import_(statements_of(row(1, **{field: value}, line=12)))) == (0, 0, 0, 1)
    assert len(archive.history().problems) == 1, "the same problem is listed once"


def test_the_plan_counts_by_kind(archive) -> None:
    """Payments come first, then the most frequent kind; a row without a kind is a payment."""
    kinds = {1: "payment", 3: "fee", 4: "transfer", 5: "transfer", 6: None}
    plan = archive.import_(statements_of(*(row(number, kind=kind) for number, kind in kinds.items())), dry_run=True)
    assert list(plan.kinds.itertuples(index=False, name=None)) == [
        ("payment", 1, 1, 0, 0), ("transfer", 2, 0, 0, 0), ("fee", 1, 0, 0, 0),
    ]  # fmt: skip
    nothing = archive.import_(statements_of(), dry_run=True).kinds
    assert list(nothing) == ["kind", "new", "known", "changed", "refused"]
    assert nothing.empty


def test_a_charge_has_the_sign_of_either_side(archive, history_of, payment) -> None:
    """The amount of a charge is negative in both, and its size is compared."""
    charge = payment(9, action="charge", amount=-5)
    object.__setattr__(history := history_of(charge), "me", archive.history().me)
    archive.merge(history)
    plan = archive.import_(statements_of(row(9, action="charge", direction="in", amount_cents=-500)))
    assert counts(plan) == (0, 1, 0, 0)


def test_problems_of_the_statements_are_kept(archive) -> None:
    """They are in the history's problems, after those of the service, once."""
    for _ in range(2):
        archive.import_(statements_of(row(3), problems=[_WRONG_DATE]))
    (problem,) = archive.history().problems.to_dict("records")
    expected = {"code": "not_a_date", "payment_id": "3", "field": "date", "value": "x", "problem": "is not a date"}
    assert {name: value for name, value in problem.items() if not pd.isna(value)} == {
        **expected, "file": "may.csv", "line": 3,
    }  # fmt: skip


def test_what_the_user_edits_is_imported(tmp_path) -> None:
    """Also of a payment that two files contradict each other about, and the kind of a refund that no row decides."""
    for name, damaged in (("a.csv", None), ("b.csv", "906")):
        text = write_statement(File(date(2024, 4, 1), date(2024, 6, 30), damaged=damaged))
        (tmp_path / name).write_text(text, "utf-8")
    statements = p2p.read_statements(tmp_path)
    payments = statements.payments
    assert payments.set_index("payment_id").loc["909", "kind"] == "unknown"
    payments.loc[payments["payment_id"] == "909", "kind"] = "merchant"
    payments.loc[payments["payment_id"].isin(["906", "908"]), "note"] = "edited"
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(statements)
    found = archive.history()
    assert column(found, "kind")["909"] == "merchant"
    assert {key for key, note in column(found, "note").items() if note == "edited"} == {"906", "908"}
    assert column(found, "flow_cents")["906"] == -5000
    assert column(found, "note")["901"] == "tea"


def test_a_broken_file_of_edits(tmp_path) -> None:
    """The error names it and the option; with repair, the values of the files are there again."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(edit(statements_of(row(1)), note="edited"))
    assert column(archive.history(), "note") == {"1": "edited"}
    (file,) = archive.path.glob("edits-*")
    file.write_bytes(b"broken")
    for path in archive.path.glob("view_*"):
        path.unlink()
    with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*--repair"):
        archive.history()
    archive.import_(statements_of(row(2, file="june.csv")), repair=True)
    assert column(archive.history(), "note") == {"1": "note 1", "2": "note 2"}
    assert len(list(archive.path.glob("edits-*.corrupt-*"))) == 1


def test_a_contradiction_between_imports_is_listed(tmp_path) -> None:
    """The first import has no problem; the second one has another amount, which counts, and a third is in neither."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(statements_of(row(1)))
    archive.import_(statements_of(row(1, amount_cents=750, file="may_2.csv", line=7)))
    (problem,) = archive.history().problems.to_dict("records")
    assert (problem["file"], problem["line"], problem["value"]) == ("may.csv", 4, "-500")
    assert "line 7 of 'may_2.csv'" in problem["problem"]
    archive.import_(statements_of(row(1, amount_cents=901, file="may_3.csv", line=9)))
    problems = archive.history().problems
    assert problems[["file", "value"]].to_numpy().tolist() == [["may_2.csv", "-750"], ["may.csv", "-500"]]
    assert problems["problem"].str.contains("line 9 of 'may_3.csv'").all()
    archive.undo()
    assert archive.history().problems.to_dict("records") == [problem]


def test_an_import_derives_once(archive, monkeypatch) -> None:
    """The outline of the last import states what was before; after an undo, that is derived.

    For changed rows it is the view that the last import has kept.
    """
    derived = []
    derive = _view.derive
    monkeypatch.setattr(
        _view, "derive", lambda given, *others: derived.append(len(given.rows)) or derive(given, *others)
    )
    archive.import_(statements_of(row(31), row(32)))
    archive.import_(statements_of(row(33, file="june.csv")))
    assert derived == [2, 3]
    archive.undo()
    archive.import_(statements_of(row(34, file="june.csv")))
    assert derived[2:] == [3, 2]
    archive.import_(statements_of(row(34, file="july.csv", note="other", date="2024-07-01T12:00:00")))
    assert derived[4:] == [4]


@pytest.mark.parametrize(("account", "in_file"), [("ada", "ada"), ("Ada", "Ada"), ("@ada", "@ada"), ("7", None)])
def test_statements_of_the_accounts_username_or_id(archive, account, in_file) -> None:
    """A handle is compared without "@" and case; the user can name the id; rows show the account's user id."""
    archive.import_(statements_of(row(3, account_id=in_file), account=account))
    history = archive.history()
    assert column(history, "account_id")["3"] == column(history, "actor_id")["3"] == "7"
    assert column(history, "actor_username")["3"] == "Ada"


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
@pytest.mark.parametrize("dry_run", [True, False])
def test_statements_that_the_archive_cannot_take(archive, statements, message, dry_run) -> None:
    """The error names the account; the archive stays as it was."""
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    with pytest.raises(ArchiveError, match=message):
        archive.import_(statements, dry_run=dry_run)
    assert {path.name: path.read_bytes() for path in archive.path.iterdir()} == before


def test_a_first_import_creates_the_archive(tmp_path) -> None:
    """It belongs to the handle, has the statement's names and date, and no friends; an import of nothing may be it."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(statements_of(row(1, account_id="@Ada"), account="@Ada"))
    history = archive.history()
    assert (history.me.user.id, history.me.user.username) == ("Ada", "Ada")
    assert history.fetched_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert column(history, "actor_id") == column(history, "account_id") == {"1": "Ada"}
    assert history.friends.empty
    assert list(history.payments) == HEADER
    archive.import_(statements_of(row(2, date="2024-06-01T12:00:00"), row(1)))
    assert archive.history().fetched_at == datetime(2024, 6, 1, 12, tzinfo=UTC)
    nothing = p2p.open_archive(tmp_path / "nothing")
    assert counts(nothing.import_(statements_of())) == (0, 0, 0, 0)
    assert nothing.history().payments.empty


def test_a_refused_first_import_makes_no_folder(tmp_path) -> None:
    """Neither does a dry run, nor undo."""
    archive = p2p.open_archive(tmp_path / "new")
    archive.import_(statements_of(row(1)), dry_run=True)
    with pytest.raises(ArchiveError, match="name no account"):
        archive.import_(_WITHOUT_ACCOUNT)
    with pytest.raises(ArchiveError, match="no import to undo"):
        archive.undo()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_statements_is_refused(archive) -> None:
    """The error names the function to call."""
    with pytest.raises(ConfigurationError, match=r"needs statements, as read_statements\(paths\).*not a History"):
        archive.import_(archive.history())
    with pytest.raises(ConfigurationError, match="not a str"):
        archive.import_("may.csv")


def test_an_api_archive_keeps_its_form(tmp_path, history_of, payment) -> None:
    """Without statements the manifest lists no import, no edits and no account of its own."""
    p2p.open_archive(tmp_path).merge(history_of(payment(1)))
    manifest = (tmp_path / "manifest.json").read_text()
    assert '"batches":[],"edits":null,"problems":null,"account":null,"format":6' in manifest
    assert list(p2p.open_archive(tmp_path).history().payments) == list(PAYMENTS)


def test_histories_of_statements_have_all_columns(tmp_path) -> None:
    """In the same order as in the archive, which a merge of the history fills like an import of the files."""
    statements = statements_of(row(1, tip_cents=3), row(2, kind="transfer", action=None, destination="Bank"))
    history = statements.history()
    assert list(history.payments) == [*PAYMENTS, *STATEMENT]
    merged, imported = (p2p.open_archive(tmp_path / name) for name in ("merged", "imported"))
    merged.merge(history)
    imported.import_(statements)
    pd.testing.assert_frame_equal(merged.history().payments, imported.history().payments)
    assert column(merged.history(), "destination") == {"1": None, "2": "Bank"}


@pytest.mark.parametrize("order", [("june", "july"), ("july", "june")])
def test_the_balance_is_that_of_the_latest_statement(tmp_path, order) -> None:
    """July closes with 150.00, whichever file is imported last, as if both were read together; a sync's stays."""
    files = {
        "june": (row(1, file="june.csv", date="2021-06-30T12:00:00"), 10_000),
        "july": (row(2, file="july.csv", date="2021-07-30T12:00:00"), 15_000),
    }
    made = p2p.open_archive(tmp_path / "archive")
    for name in order:
        made.import_(with_balance(*files[name]))
    history = made.history()
    assert (history.me.balance_cents, history.fetched_at.date().isoformat()) == (15_000, "2021-07-30")
    made.undo()
    assert made.history().me.balance_cents == files[order[0]][1]
    made.import_(with_balance(row(3, file="euro.csv", date="2021-08-30T12:00:00", currency="EUR"), 700))
    assert made.history().me.balance_cents is None, "a balance has no currency of its own"


def test_the_balance_of_the_service_stays(archive) -> None:
    """The statement is newer than the sync, and the balance is the one that the service sent."""
    archive.import_(with_balance(row(3, date="2030-01-01T12:00:00"), 1))
    assert archive.history().me.balance_cents == 990


def test_a_later_file_repairs_an_amount(tmp_path) -> None:
    """The row is changed, and its problem is gone until the import is undone, in any order and in one reading."""
    good, broken = SAMPLES / "gen_a_2018.csv", tmp_path / "broken.csv"
    broken.write_text(good.read_text("utf-8").replace("- $120.00", "- $12..00"), "utf-8")
    problem = "is not an amount"
    archive, other = p2p.open_archive(tmp_path / "a"), p2p.open_archive(tmp_path / "b")
    first = p2p.read_statements(broken, account="nora-quill")
    rows = len(first.payments)
    assert archive.import_(first).problems["problem"].tolist() == [problem]
    plan = archive.import_(p2p.read_statements(good, account="nora-quill"))
    assert (*counts(plan), len(plan.problems)) == (0, rows - 1, 1, 0, 0)
    assert plan.details["fields"].tolist() == ["amount_cents, flow_cents"]
    assert archive.history().problems.empty
    archive.undo()
    assert archive.history().problems["problem"].tolist() == [problem]
    other.import_(p2p.read_statements(good, account="nora-quill"))
    plan = other.import_(first)
    assert (*counts(plan), len(plan.problems)) == (0, rows, 0, 0, 0)
    assert p2p.read_statements([good, broken], account="nora-quill").problems.empty
