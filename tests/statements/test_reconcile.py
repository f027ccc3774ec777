"""Reconciliation of files: differences, seams and remarks worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics.statements.ledger.reconcile import RECONCILIATION, reconcile
from support.statements.rows import describe_files, make_file

JUNE = datetime(2021, 6, 12, tzinfo=UTC)
# Opening 100.00 - 18.00 + 138.00 - 37.00 + 50.00 = 233.00; 60.00 came from a bank, 8.78 is pending.
SUMMER = [-1800, 13800, -3700, {"moved_cents": 0, "flow_cents": -6000}, 5000, {"moved_cents": 0, "flow_cents": 878}]


def _reconcile(*files: pl.DataFrame, **options: Any) -> list[dict[str, Any]]:
    rows = pl.concat(files)
    frame = reconcile(rows, describe_files(rows, **options)).table
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _pick(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_a_file_that_adds_up() -> None:
    """Rows with another funding source and pending rows do not move the balance; the period is that of the rows."""
    (row,) = _reconcile(make_file("june.csv", SUMMER, opening=10000, closing=23300, start=JUNE))
    assert row == {
        "file": "june.csv",
        "account": "nora-quill",
        "currency": "USD",
        "opening_cents": 10000,
        "moved_cents": 13300,
        "closing_cents": 23300,
        "difference_cents": 0,
        "reconciled": True,
        "suggestion": None,
        "period_start": pd.Timestamp("2021-06-12", tz="UTC"),
        "period_end": pd.Timestamp("2021-06-17", tz="UTC"),
        "follows": None,
        "gap_cents": None,
        "note": None,
    }


def test_the_difference_is_what_the_rows_lack() -> None:
    """The closing balance is 5.00 more than 10.00 + 1.00: the difference is 4.00, and no row explains it."""
    (row,) = _reconcile(make_file("a", [100], opening=1000, closing=1500))
    assert _pick(row, "difference_cents", "reconciled", "suggestion") == (400, False, None)


@pytest.mark.parametrize(("opening", "closing"), [(None, 1500), (1000, None), (None, None)])
def test_a_balance_that_is_not_known(opening: int | None, closing: int | None) -> None:
    """Without one of the balances there is no difference, and nothing is claimed."""
    (row,) = _reconcile(make_file("a", [100], opening=opening, closing=closing))
    assert _pick(row, "opening_cents", "moved_cents", "closing_cents") == (opening, 100, closing)
    assert _pick(row, "difference_cents", "reconciled") == (None, None)


def test_a_broken_file_is_never_reconciled() -> None:
    """Rows with too many or too few cells can hide anything, although the rest adds up."""
    (row,) = _reconcile(make_file("a", [100], opening=1000, closing=1100), broken={"a"})
    assert _pick(row, "difference_cents", "reconciled") == (0, False)
    assert row["note"] == "Rows have too many or too few cells."


def test_the_order_of_the_rows_does_not_matter() -> None:
    """Rows of several files, mixed and in any order, give the same balances as file by file."""
    files = [make_file("a", SUMMER, opening=10000, closing=23300, start=JUNE), make_file("b", [5, -7], opening=23300)]
    files.append(make_file("a2", SUMMER, opening=0, closing=1, start=JUNE, account="theo"))
    rows = pl.concat(files)
    infos = describe_files(rows)
    for seed in range(5):
        mixed = rows.sample(fraction=1.0, shuffle=True, seed=seed)
        found, again = ((each, reconcile(each, infos)) for each in (rows, mixed))
        pd.testing.assert_frame_equal(again[1].table, found[1].table)
        running = [
            each.with_columns(checked.running).sort("file", "line")["balance_cents"] for each, checked in (found, again)
        ]
        assert running[0].to_list() == running[1].to_list()


def test_no_rows() -> None:
    """Nothing in, nothing out, with all columns and dtypes."""
    frame = reconcile(make_file("a", [1]).clear(), []).table
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(RECONCILIATION)
    assert frame.empty


def test_the_rows_that_explain_a_difference() -> None:
    """Without the second row, or counting the bank-funded one, this file would add up."""
    (row,) = _reconcile(
        make_file("a", [-6000, {"moved_cents": 0, "flow_cents": -1200}, 1200], opening=0, closing=-6000)
    )
    assert _pick(row, "difference_cents", "reconciled") == (-1200, False)
    assert row["suggestion"] == "counting a-2; without a-3"


def test_two_rows_explain_a_difference_together() -> None:
    """500.01 and 300.70 are both too many; a row without an id is named by its line."""
    moved = [50001, {"moved_cents": 30070, "payment_id": None}, 1100000, -7000]
    (row,) = _reconcile(make_file("a", moved, opening=0, closing=1093000))
    assert row["suggestion"] == "without a-1 and without line 3"


def _explain(*moved: Any, closing: int, **common: Any) -> str:
    rows = make_file("a", moved, opening=0, closing=closing, start=JUNE, **common)
    (problem,) = reconcile(rows, describe_files(rows)).problems
    assert (problem.code, problem.cents) == ("does_not_add_up", closing - sum(each["moved_cents"] for each in moved))
    return problem.sentence


def _pay(cents: int, **columns: Any) -> dict[str, Any]:
    names = {"from_name": "Ada Reyes", "to_name": "Ravi Shah", "action": "pay" if cents < 0 else "charge"}
    return {"moved_cents": cents, **names, **columns}


def test_a_difference_in_words() -> None:
    """First a row may be missing; then the rows that explain the difference, by date, person and amount."""
    start = "the balances and the rows of the file do not add up; a row of "
    assert _explain(_pay(-1000), closing=2410) == f"{start}+$34.10 may be missing: download the file again"
    assert _explain(_pay(-2522), _pay(900), closing=900) == (
        f"{start}+$25.22 may be missing: download the file again; "
        "or 2021-06-12 Ravi Shah \N{MINUS SIGN}$25.22 is there once too often"
    )
    card = {"moved_cents": 0, "flow_cents": -1200, "counterparty_name": "Deli\nMarket"}
    assert _explain(_pay(600, currency="GBP"), card, closing=-600, currency="GBP") == (
        f"{start}\N{MINUS SIGN}£12.00 may be missing: download the file again; "
        "or 2021-06-13 Deli Market \N{MINUS SIGN}£12.00 moved the balance, too; "
        "or 2021-06-12 Ravi Shah +£6.00 has the wrong sign"
    )
    lone = {"moved_cents": 50001, "date": None}, {"moved_cents": 30070, "type": "Fee"}, _pay(1100000), _pay(-7000)
    assert _explain(*lone, closing=1093000) == (
        f"{start}\N{MINUS SIGN}$800.71 may be missing: download the file again; "
        "or line 2 +$500.01 is there once too often and 2021-06-13 Fee +$300.70 is there once too often"
    )


def test_a_difference_and_an_amount_that_was_not_read() -> None:
    """The problem names the row."""
    rows = make_file("a", [None, 300], opening=0, closing=450)
    (problem,) = reconcile(rows, describe_files(rows)).problems
    assert problem.sentence == (
        "the balances and the rows of the file do not add up; a row of +$1.50 may be missing: download the file again; "
        "or 2024-01-01 line 2 has an amount that was not read; 1 amount was not read"
    )
    rows = make_file("a", [None, 300], opening=0, closing=300)
    (problem,) = reconcile(rows, describe_files(rows)).problems
    assert problem.sentence == "the balances and the rows of the file do not add up; 1 amount was not read"


def test_hostile_ids_in_a_suggestion() -> None:
    """An id is one line of bounded length in the suggestion."""
    file = make_file("a", [{"moved_cents": 5, "payment_id": "x\n\u202e" + "y" * 500}], opening=0, closing=0)
    (row,) = _reconcile(file)
    assert row["suggestion"] == "without x " + "y" * 78


def test_an_amount_that_was_not_read() -> None:
    """The file is not reconciled, even if the rest adds up, and the row is named."""
    exact, lacking = (make_file("a", [None, 300], opening=0, closing=closing) for closing in (300, 450))
    (row,) = _reconcile(exact)
    assert _pick(row, "moved_cents", "difference_cents", "reconciled", "suggestion") == (300, 0, False, None)
    (row,) = _reconcile(lacking)
    assert _pick(row, "difference_cents", "reconciled", "suggestion") == (150, False, "reading a-1")
    assert row["note"] == "1 amount was not read."


def test_a_status_that_is_not_known() -> None:
    """Whether the row moved money is not known, although its amount was read."""
    (row,) = _reconcile(make_file("a", [{"moved_cents": None, "flow_cents": 150}, 300], opening=0, closing=450))
    assert _pick(row, "moved_cents", "difference_cents", "reconciled") == (300, 150, False)
    assert row["note"] == "1 row has a status that does not say whether money moved."


def test_amounts_beyond_64_bits() -> None:
    """Sums that 64 bits cannot hold are not known; nothing wraps around."""
    (row,) = _reconcile(make_file("a", [2**62, 2**62, 2**62, 2**62], opening=0, closing=0))
    assert _pick(row, "moved_cents", "difference_cents", "reconciled") == (None, None, None)
    assert row["note"] == "The amounts are too large to add up."
    (row,) = _reconcile(make_file("a", [2**60, -(2**60), 5], opening=0, closing=5))
    assert _pick(row, "moved_cents", "reconciled") == (5, True)


def _state(moved: list[int], balances: list[int | None], **options: Any) -> pl.DataFrame:
    pairs = zip(moved, balances, strict=True)
    return make_file("a", [{"moved_cents": cents, "balance_cents": balance} for cents, balance in pairs], **options)


def test_balances_that_are_stated_in_each_row() -> None:
    """The opening balance is the first stated one before its row, 10.00 - 2.00; the closing balance the last one."""
    (row,) = _reconcile(_state([200, -50, 0, 100], [1000, 950, None, 1050]))
    assert _pick(row, "opening_cents", "moved_cents", "closing_cents") == (800, 250, 1050)
    assert _pick(row, "difference_cents", "reconciled") == (0, True)


def test_only_rows_at_a_stated_break_are_suggested() -> None:
    """The balance rises by 1.00 at the third row, which says 3.00: 2.00 less than stated, as the first row is too."""
    (row,) = _reconcile(_state([200, 50, 300, -200], [1200, 1250, 1350, 1150]))
    assert _pick(row, "opening_cents", "moved_cents", "closing_cents") == (1000, 350, 1150)
    assert _pick(row, "difference_cents", "suggestion") == (-200, None)
    (row,) = _reconcile(_state([200, 50, 200, -200], [1200, 1250, 1250, 1050]))
    assert _pick(row, "difference_cents", "suggestion") == (-200, "without a-3")


def test_one_stated_balance_checks_nothing() -> None:
    """The balances of a file with one row are known, but there is nothing to compare them with."""
    (row,) = _reconcile(_state([200], [1200]))
    assert _pick(row, "opening_cents", "closing_cents", "difference_cents", "reconciled") == (1000, 1200, 0, None)
    assert row["note"] == "Only one balance is stated, which leaves nothing to check."


def test_currencies_and_accounts_stay_apart() -> None:
    """Each currency of a file has a row of its own; notices without a currency of their own belong to the only one."""
    euros = [{"moved_cents": 5, "balance_cents": 15, "currency": "EUR"}, {"moved_cents": 7, "currency": "USD"}]
    rows = _reconcile(make_file("a", euros), make_file("b", [9], opening=1, closing=10, account=None))
    assert [_pick(row, "file", "account", "currency", "opening_cents", "moved_cents") for row in rows] == [
        ("a", "nora-quill", "EUR", 10, 5),
        ("a", "nora-quill", "USD", None, 7),
        ("b", None, "USD", 1, 9),
    ]


def test_a_file_without_transactions() -> None:
    """Opening and closing balance must be equal then; without balances nothing is known, but the file is listed."""
    still, empty = _reconcile(make_file("a", [], opening=700, closing=700), make_file("b", []))
    assert _pick(still, "moved_cents", "difference_cents", "reconciled", "period_start") == (0, 0, True, None)
    assert _pick(empty, "file", "moved_cents", "difference_cents", "reconciled") == ("b", 0, None, None)
