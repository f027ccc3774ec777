"""Balances of files in an archive: gaps and differences, whatever the order and the number of the imports."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, GAP
from p2p_analytics.records import Me, User

_NAMES = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
# Opening balances: 100.00, 92.00, 91.50, 81.50.
ROWS = {
    "q1": [("2024-01-10", "-8.00", "92.00")],
    "q2": [("2024-04-02", "20.00", "112.00"), ("2024-06-20", "-20.50", "91.50")],
    "q3": [("2024-07-05", "-10.00", "81.50"), ("2024-09-30", "-1.00", "80.50")],
    "q4": [("2024-12-31", "5.00", "85.50")],
}
_MISSING = "a file or rows may be missing after"
_BALANCE = "the balance changed by \N{MINUS SIGN}\N{EURO SIGN}0.50"


def write_file(path, rows: list[tuple[str, str, str]]) -> Path:
    """Write a file of Revolut, with a balance after each row, and return its path."""
    lines = [_NAMES]
    for at, (day, amount, balance) in enumerate(rows):
        time = f"{day} 10:00:{at:02}"
        lines.append(f"TRANSFER,Current,{time},{time},To Theo,{amount},0.00,EUR,COMPLETED,{balance}")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    """Return the paths of the files of four quarters."""
    return {name: write_file(tmp_path / f"{name}.csv", rows) for name, rows in ROWS.items()}


def _read(*paths) -> p2p.Statements:
    return p2p.read_statements(paths, account="nora")


def _import(folder, *groups: list[Path]) -> p2p.Archive:
    archive = p2p.open_archive(folder)
    for group in groups:
        archive.import_(_read(*group))
    return archive


def _list(problems) -> list[tuple[str, ...]]:
    """Return the problems of balances: file, sentence and code."""
    rows = problems[problems["field"] == "balance"]
    return sorted(rows[["file", "problem", "code"]].itertuples(index=False, name=None))


def test_a_missing_file_is_known_whatever_the_imports(files, tmp_path) -> None:
    """Q2 moved -0.50, so Q3 begins that much lower than Q1 ends, and five months have no rows; Q2 removes the gap."""
    first, second, third = parts = [files[name] for name in ("q1", "q3", "q4")]
    gap = ("q3.csv", f"{_MISSING} 'q1.csv': 5 months without rows, {_BALANCE}", GAP)
    together = _read(*parts)
    (problem,) = together.problems.to_dict("records")
    assert (problem["other_file"], problem["currency"], problem["cents"]) == ("q1.csv", "EUR", -50)
    assert [f"{problem[name]:%Y-%m-%d}" for name in ("first_day", "last_day")] == ["2024-01-10", "2024-07-05"]
    assert _list(together.problems) == _list(together.history().problems) == [gap]
    for number, order in enumerate([[parts], [[second, third], [first]]]):
        archive = _import(tmp_path / str(number), *order)
        assert _list(archive.history().problems) == [gap]
        pd.testing.assert_frame_equal(archive.reconciliation(), together.reconciliation)
        assert archive.history().me.balance_cents == 8550
    sentence = "Files or rows may be missing before 1 statement file: q3.csv."
    assert sentence in archive.history()._repr_html_()
    assert _list(archive.import_(_read(first), dry_run=True).problems) == [gap], "also where it is known"
    plan = archive.import_(_read(files["q2"]))
    assert _list(plan.problems) == _list(archive.history().problems) == []
    assert archive.reconciliation()["gap_cents"].dropna().tolist() == [0, 0, 0]
    assert sentence not in archive.history()._repr_html_()
    archive.undo()
    assert _list(archive.history().problems) == [gap]
    pd.testing.assert_frame_equal(archive.reconciliation(), together.reconciliation)


def test_files_that_do_not_add_up_stay_until_one_does(files, tmp_path) -> None:
    """Two bad files of one period are both listed, in any order; the good one ends both, as in one reading."""
    deleted = write_file(tmp_path / "deleted.csv", [ROWS["q3"][0], ("2024-09-30", "-1.00", "79.50")])
    edited = write_file(tmp_path / "edited.csv", [ROWS["q3"][0], ("2024-09-30", "-4.00", "80.50")])
    wrong = [("deleted.csv", DOES_NOT_ADD_UP), ("edited.csv", DOES_NOT_ADD_UP)]
    archive = _import(tmp_path / "a", [edited], [deleted])
    assert [(file, code) for file, _, code in _list(archive.history().problems)] == wrong
    archive.import_(_read(files["q3"]))
    assert _list(archive.history().problems) == _list(_read(deleted, edited, files["q3"]).problems) == []
    archive.undo()
    write_file(edited, ROWS["q3"])
    write_file(deleted, [("2024-08-05", "1.00", "1.00")])
    archive.import_(_read(deleted))
    assert _list(archive.history().problems)[0][0] == "deleted.csv", "a file of another month with this name"
    archive.import_(_read(edited))
    assert _list(archive.history().problems) == [], "this file was read again, and has the whole period of the other"


@pytest.mark.parametrize("order", [("q1", "q3", "merge"), pytest.param(("merge", "q3", "q1"), marks=pytest.mark.full)])
def test_rows_from_elsewhere_fill_a_gap(files, tmp_path, order) -> None:
    """The rows of Q2 come with a merge, which brings no balances: nothing is missing, and Q4 without Q3 still is."""
    archive = p2p.open_archive(tmp_path / "a")
    for name in order:
        if name == "merge":
            archive.merge(_read(files["q2"]).history())
        else:
            archive.import_(_read(files[name]))
    assert _list(archive.history().problems) == []
    assert archive.reconciliation()["gap_cents"].dropna().tolist() == [-50]
    later = write_file(tmp_path / "later.csv", [("2025-02-28", "1.00", "91.50")])
    plan = archive.import_(_read(later))
    found = "4 months without rows, the balance changed by \N{EURO SIGN}10.00"
    gap = ("later.csv", f"{_MISSING} 'q3.csv': {found}", GAP)
    assert _list(plan.problems) == _list(archive.history().problems) == [gap]


def test_problems_of_balances_that_a_merge_brings(files, tmp_path) -> None:
    """They are as the merged history has them, whatever files follow, and once, also if their file is imported."""
    wrong = write_file(tmp_path / "wrong.csv", [ROWS["q3"][0], ("2024-09-30", "-4.00", "80.50")])
    archive = p2p.open_archive(tmp_path / "a")
    archive.merge(_read(files["q1"], wrong).history())
    before = _list(archive.history().problems)
    assert [code for *_, code in before] == [GAP, DOES_NOT_ADD_UP]
    for name in ("q3", "q2"):
        archive.import_(_read(files[name]))
        assert _list(archive.history().problems) == before
    other = _import(tmp_path / "b", [wrong])
    other.merge(_read(wrong).history())
    assert [code for *_, code in _list(other.history().problems)] == [DOES_NOT_ADD_UP]


def test_the_balance_and_date_of_the_last_file_count(files, tmp_path) -> None:
    """Whatever is imported or merged after it; of a merge, until a later file is imported."""
    archive = _import(tmp_path / "a", [files["q1"]], [files["q3"]])
    for name, cents, day in [("q2", 8050, "2024-09-30"), ("q4", 8550, "2024-12-31"), ("q3", 8550, "2024-12-31")]:
        archive.merge(_read(files[name]).history())
        history = archive.history()
        assert (history.me.balance_cents, f"{history.fetched_at:%Y-%m-%d}") == (cents, day)
    assert len(history.payments) == 6
    archive.import_(_read(write_file(tmp_path / "q5.csv", [("2025-01-31", "5.00", "90.50")])))
    assert archive.history().me.balance_cents == 9050


def test_merged_files_with_the_name_of_an_imported_one(tmp_path) -> None:
    """Every download is called statement.csv: Q2, which only a merge brings, keeps its balance, problem and rows."""
    rows = {**ROWS, "q0": [("2023-12-20", "-1.00", "100.00")]}
    rows["bad"] = [ROWS["q2"][0], ("2024-06-20", "-20.50", "93.50")]
    paths = {name: write_file(tmp_path / name / "statement.csv", lines) for name, lines in rows.items()}
    archive = _import(tmp_path / "a", [paths["q1"]])
    archive.merge(_read(paths["q2"]).history())
    archive.import_(_read(paths["q0"]))
    history = archive.history()
    assert (history.me.balance_cents, f"{history.fetched_at:%Y-%m-%d}") == (9150, "2024-06-20")
    archive.import_(_read(paths["q3"]))
    assert _list(archive.history().problems) == [], "the rows of Q2 explain the change of -0.50"
    archive = p2p.open_archive(tmp_path / "b")
    archive.merge(_read(paths["bad"]).history())
    for quarter in ("q1", "bad"):  # 112.00 less 20.50 is 91.50, and not 93.50
        archive.import_(_read(paths[quarter]))
        assert [code for *_, code in _list(archive.history().problems)] == [DOES_NOT_ADD_UP]


def test_only_rows_that_explain_the_change_close_a_gap(tmp_path, history_of, payment) -> None:
    """January ends with 92.00 and March begins with 91.50: of the service's rows, settled ones of these days count.

    The file of March is in the form for businesses, of the same holder: both are about one balance.
    """
    names = "Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
    names += ",Beginning Balance,Ending Balance"
    row = "Payment,Complete,x,Nora Quill,Bo Lund,- $8.00,$0.00,Venmo balance,,"
    january = [f"Username,ID,Datetime,{names}", "@nora" + "," * 12 + "$100.00,", f",1,2019-01-05T10:00:00,{row},"]
    march = [f"Transaction ID,Date,Time (UTC),{names}", "," * 12 + "$91.50,", f"2,03/05/2019,10:00:00,{row},"]
    for month, lines, closing in [("01", january, "$92.00"), ("03", march, "$83.50")]:
        (tmp_path / f"{month}.csv").write_text("\n".join([*lines, "," * 13 + closing, ""]), "utf-8")
    archive = _import(tmp_path / "a", [tmp_path / "01.csv", tmp_path / "03.csv"])
    assert archive.history().me.balance_cents == 8350
    gap = f"{_MISSING} '01.csv': 1 month without rows, the balance changed by \N{MINUS SIGN}$0.50"
    others = "1 row of a sync or merge in these days moved it by \N{MINUS SIGN}$20.50"
    partly = f"{gap}, {others}: other kinds of rows are in files only"
    day, later = "2019-02-03T10:00:00", "2019-03-20T10:00:00"
    steps = [
        ([payment(11, amount=0.5, status="pending", date_created=day),
          payment(12, amount=0.5, status="cancelled", date_created=day),
          payment(13, amount=0.5, date_created=day, date_completed=later)], [gap]),
        ([payment(14, amount=20.5, date_created=day, date_completed=day)], [partly]),
        ([payment(15, amount=20, action="charge", date_created="2019-01-02T10:00:00", date_completed=day)], []),
    ]  # fmt: skip
    for made, expected in steps:
        history = history_of(*made, friends=0)
        archive.merge(replace(history, me=Me(user=User(id="7", username="nora"))))
        assert [value for _, value, _ in _list(archive.history().problems)] == expected
    assert archive.reconciliation()["gap_cents"].dropna().tolist() == [-50]
