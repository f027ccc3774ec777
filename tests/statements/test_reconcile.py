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
    frame = reconcile(rows, describe_files(rows, **options)).table.astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def _state(moved: list[int], balances: list[int | None]) -> list[dict[str, Any]]:
    pairs = zip(moved, balances, strict=True)
    return [{"moved_cents": cents, "balance_cents": balance} for cents, balance in pairs]


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


@pytest.mark.parametrize(
    ("moved", "balances", "sums", "result"),
    [
        ([100], (1000, 1500), (1000, 100, 1500, 400), (False, None, None)),
        ([100], (None, 1500), (None, 100, 1500, None), (None, None, None)),
        ([100], (1000, None), (1000, 100, None, None), (None, None, None)),
        ([100], (None, None), (None, 100, None, None), (None, None, None)),
        ([], (700, 700), (700, 0, 700, 0), (True, None, None)),
        ([], (None, None), (None, 0, None, None), (None, None, None)),
        # without the third row, or counting the bank-funded one, this file would add up
        ([-6000, {"moved_cents": 0, "flow_cents": -1200}, 1200], (0, -6000), (0, -4800, -6000, -1200), (False, "counting a-2; without a-3", None)),
        # 500.01 and 300.70 are both too many; a row without an id is named by its line
        ([50001, {"moved_cents": 30070, "payment_id": None}, 1100000, -7000], (0, 1093000),
         (0, 1173071, 1093000, -80071), (False, "without a-1 and without line 3", None)),
        # an id is one line of bounded length
        ([{"moved_cents": 5, "payment_id": "x\n\u202e" + "y" * 500}], (0, 0), (0, 5, 0, -5),
         (False, "without x " + "y" * 78, None)),
        ([None, 300], (0, 300), (0, 300, 300, 0), (False, None, "1 amount was not read.")),
        ([None, 300], (0, 450), (0, 300, 450, 150), (False, "reading a-1", "1 amount was not read.")),
        ([{"moved_cents": None, "flow_cents": 150}, 300], (0, 450), (0, 300, 450, 150), (False, "reading a-1",
         "1 row has a status that does not say whether money moved.")),
        # Sums that 64 bits cannot hold are not known.
        ([2**62] * 4, (0, 0), (0, None, 0, None), (None, None, "The amounts are too large to add up.")),
        ([2**60, -(2**60), 5], (0, 5), (0, 5, 5, 0), (True, None, None)),
        # The opening balance is the first stated one before its row, the closing balance the last one.
        (_state([200, -50, 0, 100], [1000, 950, None, 1050]), (None, None), (800, 250, 1050, 0), (True, None, None)),
        # Only rows at a stated break are suggested.
        (_state([200, 50, 300, -200], [1200, 1250, 1350, 1150]), (None, None), (1000, 350, 1150, -200),
         (False, None, None)),
        (_state([200, 50, 200, -200], [1200, 1250, 1250, 1050]), (None, None), (1000, 250, 1050, -200),
         (False, "without a-3", None)),
        (_state([200], [1200]), (None, None), (1000, 200, 1200, 0),
         (None, None, "Only one balance is stated, which leaves nothing to check.")),
    ],
)  # fmt: skip
def test_what_a_file_adds_up_to(moved, balances, sums, result) -> None:
    """Opening, movement, closing and difference, and what would explain it; nothing is claimed without balances."""
    (row,) = _reconcile(make_file("a", moved, opening=balances[0], closing=balances[1]))
    names = ("opening_cents", "moved_cents", "closing_cents", "difference_cents")
    assert tuple(row[name] for name in names) == sums
    assert (row["reconciled"], row["suggestion"], row["note"]) == result


def test_a_broken_file_is_never_reconciled() -> None:
    """Rows with too many or too few cells can hide anything, although the rest adds up."""
    (row,) = _reconcile(make_file("a", [100], opening=1000, closing=1100), broken={"a"})
    assert (row["difference_cents"], row["reconciled"]) == (0, False)
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


def _pay(cents: int, **columns: Any) -> dict[str, Any]:
    names = {"from_name": "Ada Reyes", "to_name": "Ravi Shah", "action": "pay" if cents < 0 else "charge"}
    return {"moved_cents": cents, **names, **columns}


@pytest.mark.parametrize(
    ("moved", "closing", "currency", "words"),
    [
        ([_pay(-1000)], 2410, "USD", "; a row of +$34.10 may be missing: download the file again"),
        (
            [_pay(-2522), _pay(900)],
            900,
            "USD",
            (
                "; a row of +$25.22 may be missing: download the file again; "
                "or 2021-06-12 Ravi Shah \N{MINUS SIGN}$25.22 is there once too often"
            ),
        ),
        (
            [_pay(600), {"moved_cents": 0, "flow_cents": -1200, "counterparty_name": "Deli\nMarket"}],
            -600,
            "GBP",
            (
                "; a row of \N{MINUS SIGN}£12.00 may be missing: download the file again; "
                "or 2021-06-13 Deli Market \N{MINUS SIGN}£12.00 moved the balance, too; "
                "or 2021-06-12 Ravi Shah +£6.00 has the wrong sign"
            ),
        ),
        (
            [{"moved_cents": 50001, "date": None}, {"moved_cents": 30070, "type": "Fee"}, _pay(1100000), _pay(-7000)],
            1093000,
            "USD",
            (
                "; a row of \N{MINUS SIGN}$800.71 may be missing: download the file again; "
                "or line 2 +$500.01 is there once too often and 2021-06-13 Fee +$300.70 is there once too often"
            ),
        ),
        (
            [None, 300],
            450,
            "USD",
            (
                "; a row of +$1.50 may be missing: download the file again; "
                "or 2021-06-12 line 2 has an amount that was not read; 1 amount was not read"
            ),
        ),
        ([None, 300], 300, "USD", "; 1 amount was not read"),
    ],
)
def test_a_difference_in_words(moved, closing, currency, words) -> None:
    """First a row may be missing; then the rows that explain the difference, by date, person and amount."""
    rows = make_file("a", moved, opening=0, closing=closing, start=JUNE, currency=currency)
    (problem,) = reconcile(rows, describe_files(rows)).problems
    assert problem.code == "does_not_add_up"
    assert problem.sentence == "the balances and the rows of the file do not add up" + words


def test_currencies_and_accounts_stay_apart() -> None:
    """Each currency of a file has a row of its own; notices without a currency of their own belong to the only one."""
    euros = [{"moved_cents": 5, "balance_cents": 15, "currency": "EUR"}, {"moved_cents": 7, "currency": "USD"}]
    rows = _reconcile(make_file("a", euros), make_file("b", [9], opening=1, closing=10, account=None))
    names = ("file", "account", "currency", "opening_cents", "moved_cents")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("a", "nora-quill", "EUR", 10, 5),
        ("a", "nora-quill", "USD", None, 7),
        ("b", None, "USD", 1, 9),
    ]
