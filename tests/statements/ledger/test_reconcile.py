"""Balances worked out by hand: what files add up to, what explains a difference, and the balance after each row."""

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics.statements.ledger.reconcile import RECONCILIATION, Reconciled, find_explanations, reconcile
from support.frames import list_rows
from support.statements.rows import describe_files, make_file

JUNE = datetime(2021, 6, 12, tzinfo=UTC)
# Opening 100.00 - 18.00 + 138.00 - 37.00 + 50.00 = 233.00; 60.00 came from a bank, 8.78 is pending.
SUMMER = [-1800, 13800, -3700, {"moved_cents": 0, "flow_cents": -6000}, 5000, {"moved_cents": 0, "flow_cents": 878}]


def _reconcile(*files: pl.DataFrame, **options: Any) -> Reconciled:
    rows = pl.concat(files)
    return reconcile(rows, describe_files(rows, **options))


def _state(moved: list[int | None], balances: list[int | None]) -> list[dict[str, Any]]:
    pairs = zip(moved, balances, strict=True)
    return [{"moved_cents": cents, "balance_cents": balance} for cents, balance in pairs]


def _date(moved: tuple[int, ...], days: tuple[int, ...], *balances: int | None) -> list[dict[str, Any]]:
    rows = _state([*moved], [*balances] or [None] * len(moved))
    return [row | {"date": datetime(2024, 1, day, tzinfo=UTC)} for row, day in zip(rows, days, strict=True)]


def test_a_file_that_adds_up() -> None:
    """Rows with another funding source and pending rows do not move the balance; the period is that of the rows."""
    table = _reconcile(make_file("june.csv", SUMMER, opening=10000, closing=23300, start=JUNE)).table
    (row,) = list_rows(table)
    assert dict(zip(table, row, strict=True)) == {
        "file": "june.csv", "account": "nora-quill", "currency": "USD", "opening_cents": 10000, "moved_cents": 13300,
        "closing_cents": 23300, "difference_cents": 0, "reconciled": True, "suggestion": None,
        "period_start": pd.Timestamp("2021-06-12", tz="UTC"), "period_end": pd.Timestamp("2021-06-17", tz="UTC"),
        "follows": None, "gap_cents": None, "note": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("moved", "balances", "sums", "result"),
    [
        ([100], (1000, 1500), (1000, 100, 1500, 400), (False, None, None)),
        ([100], (None, 1500), (None, 100, 1500, None), (None, None, None)),
        ([100], (1000, None), (1000, 100, None, None), (None, None, None)),
        ([], (700, 700), (700, 0, 700, 0), (True, None, None)),
        ([], (None, None), (None, 0, None, None), (None, None, None)),
        # without the third row, or counting the bank-funded one, this file would add up
        ([-6000, {"moved_cents": 0, "flow_cents": -1200}, 1200], (0, -6000), (0, -4800, -6000, -1200),
         (False, "counting a-2; without a-3", None)),
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
    table = _reconcile(make_file("a", moved, opening=balances[0], closing=balances[1])).table
    assert list_rows(table, "opening_cents", "moved_cents", "closing_cents", "difference_cents") == [sums]
    assert list_rows(table, "reconciled", "suggestion", "note") == [result]


def test_a_broken_file_is_never_reconciled() -> None:
    """Rows with too many or too few cells can hide anything, although the rest adds up."""
    table = _reconcile(make_file("a", [100], opening=1000, closing=1100), broken={"a"}).table
    expected = (0, False, "Rows have too many or too few cells.")
    assert list_rows(table, "difference_cents", "reconciled", "note") == [expected]


def test_the_order_of_the_rows_does_not_matter() -> None:
    """Rows of several files, mixed and in any order, give the same balances as file by file."""
    files = [make_file("a", SUMMER, opening=10000, closing=23300, start=JUNE), make_file("b", [5, -7], opening=23300)]
    files.append(make_file("a2", SUMMER, opening=0, closing=1, start=JUNE, account="theo"))
    rows = pl.concat(files)
    infos = describe_files(rows)
    expected = reconcile(rows, infos)
    running = rows.with_columns(expected.running).sort("file", "line")["balance_cents"].to_list()
    for seed in range(5):
        mixed = rows.sample(fraction=1.0, shuffle=True, seed=seed)
        found = reconcile(mixed, infos)
        pd.testing.assert_frame_equal(found.table, expected.table)
        assert mixed.with_columns(found.running).sort("file", "line")["balance_cents"].to_list() == running


def test_no_rows() -> None:
    """Nothing in, nothing out, with all columns and dtypes."""
    found = reconcile(make_file("a", [1]).clear(), [])
    assert {name: str(dtype) for name, dtype in found.table.dtypes.items()} == dict(RECONCILIATION)
    assert found.table.empty
    assert found.running.to_list() == []


def _pay(cents: int, **columns: Any) -> dict[str, Any]:
    names = {"from_name": "Ada Reyes", "to_name": "Ravi Shah", "action": "pay" if cents < 0 else "charge"}
    return {"moved_cents": cents, **names, **columns}


@pytest.mark.parametrize(
    ("moved", "closing", "currency", "words"),
    [
        ([_pay(-1000)], 2410, "USD", "; a row of +$34.10 may be missing: download the file again"),
        ([_pay(-2522), _pay(900)], 900, "USD",
         ("; a row of +$25.22 may be missing: download the file again; "
         "or 2021-06-12 Ravi Shah \N{MINUS SIGN}$25.22 is there once too often")),
        ([_pay(600), {"moved_cents": 0, "flow_cents": -1200, "counterparty_name": "Deli\nMarket"}], -600, "GBP",
         ("; a row of \N{MINUS SIGN}£12.00 may be missing: download the file again; "
         "or 2021-06-13 Deli Market \N{MINUS SIGN}£12.00 moved the balance, too; "
         "or 2021-06-12 Ravi Shah +£6.00 has the wrong sign")),
        ([{"moved_cents": 50001, "date": None}, {"moved_cents": 30070, "type": "Fee"}, _pay(1100000), _pay(-7000)],
         1093000, "USD",
         ("; a row of \N{MINUS SIGN}$800.71 may be missing: download the file again; "
         "or line 2 +$500.01 is there once too often and 2021-06-13 Fee +$300.70 is there once too often")),
        ([None, 300], 450, "USD",
         ("; a row of +$1.50 may be missing: download the file again; "
         "or 2021-06-12 line 2 has an amount that was not read; 1 amount was not read")),
        ([None, 300], 300, "USD", "; 1 amount was not read"),
    ],
)  # fmt: skip
def test_a_difference_in_words(moved, closing, currency, words) -> None:
    """First a row may be missing; then the rows that explain the difference, by date, person and amount."""
    (problem,) = _reconcile(make_file("a", moved, opening=0, closing=closing, start=JUNE, currency=currency)).problems
    assert problem.code == "does_not_add_up"
    assert problem.sentence == "the balances and the rows of the file do not add up" + words


def test_currencies_and_accounts_stay_apart() -> None:
    """Each currency of a file has a row of its own; notices without a currency of their own belong to the only one."""
    euros = [{"moved_cents": 5, "balance_cents": 15, "currency": "EUR"}, {"moved_cents": 7, "currency": "USD"}]
    table = _reconcile(make_file("a", euros), make_file("b", [9], opening=1, closing=10, account=None)).table
    assert list_rows(table, "file", "account", "currency", "opening_cents", "moved_cents") == [
        ("a", "nora-quill", "EUR", 10, 5), ("a", "nora-quill", "USD", None, 7), ("b", None, "USD", 1, 9),
    ]  # fmt: skip


def _find(
    moved: list[int | None], difference: int, flow: list[int | None] | None = None
) -> list[list[tuple[int, str]]]:
    found = find_explanations(moved, flow or moved, difference)
    return [[(change.row, change.action) for change in changes] for changes in found]


# - 18.01 and + 138.00 moved the balance, - 60.00 did not, then + 900.23 and - 900.00.
_FIVE = [-1801, 13800, 0, 90023, -90000], [-1801, 13800, -6000, 90023, -90000]


@pytest.mark.parametrize(
    ("moved", "flow", "difference", "sets"),
    [
        (*_FIVE, 1801, [[(0, "without")]]), (*_FIVE, 3602, [[(0, "reversing")]]),
        (*_FIVE, -13800, [[(1, "without")]]), (*_FIVE, -6000, [[(2, "counting")]]),
        (*_FIVE, -11999, [[(0, "without"), (1, "without")]]), (*_FIVE, -23, [[(3, "without"), (4, "without")]]),
        (*_FIVE, 1, []),
        # Of single rows, a reversed sign comes last, then the order is that of the rows.
        ([-500, -1000, 0, -1000], [-500, -1000, 1000, -1000], 1000,
         [[(1, "without")], [(2, "counting")], [(3, "without")], [(0, "reversing")]]),
        # One unread amount explains any difference; of two, neither does alone.
        ([None, -500], None, 700, [[(0, "reading")]]),
        ([None, -500], None, 500, [[(0, "reading")], [(1, "without")]]),
        ([None, None, -500], None, 700, []),
        # Each of seven equal rows explains the difference alone; that three explain it together says nothing.
        ([100] * 7, None, -100, [[(row, "without")] for row in range(7)]),
        ([100] * 7, None, -300, []),
    ],
)  # fmt: skip
def test_smallest_sets(moved, flow, difference, sets) -> None:
    """The fewest rows that explain a difference, the likeliest first, worked out by hand."""
    assert _find(moved, difference, flow) == sets


@pytest.mark.parametrize(("size", "rows"), [(2, 20), (3, 11)])
def test_larger_sets_need_a_wide_range(size: int, rows: int) -> None:
    """Sums of all C(20, 2) = 190 or C(11, 3) = 165 sets are far apart in thousands of dollars, and not in tens."""
    # They must spread over 190.00 or 165.00 at least, and ten times that for a difference that ends in a zero.
    for units, is_found in ((1, False), (1000, True)):
        moved: list[int | None] = [(3 + 2**row % 29 * 7 + 13 * row) * units + row**2 for row in range(rows)]
        difference = -sum(moved[row] or 0 for row in range(2, 2 + size)) or 1
        assert any(len(changes) == size for changes in _find(moved, difference)) == is_found


def test_many_rows_are_not_searched_for_larger_sets() -> None:
    """Of 101 rows, no pairs are tried, whatever the range of their sums is; single rows are always found."""
    moved: list[int | None] = [10**9 * row + row**3 for row in range(1, 102)]
    pair = -(moved[7] or 0) - (moved[90] or 0)
    assert _find(moved[:100], pair) == [[(7, "without"), (90, "without")]]
    assert _find(moved, pair) == []
    assert _find(moved, -(moved[7] or 0)) == [[(7, "without")]]


_UNREAD = [1, None, 4, 5]


@pytest.mark.parametrize(
    ("moved", "opening", "closing", "balances"),
    [
        # 100.00 - 18.00 + 138.00 - 37.00, a row that moved nothing, + 50.00; either balance is enough.
        ([-1800, 13800, -3700, 0, 5000], 10000, 23300, [8200, 22000, 18300, 18300, 23300]),
        ([-1800, 13800, -3700, 0, 5000], 10000, None, [8200, 22000, 18300, 18300, 23300]),
        ([-1800, 13800, -3700, 0, 5000], None, 23300, [8200, 22000, 18300, 18300, 23300]),
        # Without a balance none is invented, nor where opening and closing balance contradict the rows.
        ([1, 2], None, None, [None, None]),
        ([1, 2], 0, 4, [None, None]),
        # Rows without a stated balance are counted from the one before; those before the first, backwards.
        (_state([5, 7, 0, 1, 2], [None, 112, None, 150, None]), None, None, [105, 112, 112, 150, 152]),
        # The opening balance holds up to the row that was not read, the closing balance from it on.
        (_UNREAD, 10, None, [11, None, None, None]),
        (_UNREAD, 10, 99, [11, 90, 94, 99]),
        (_state(_UNREAD, [None, None, 50, None]), 10, None, [11, 46, 50, 55]),
        # In a file with the newest row first, the balances are counted from its end; rows in no order, by their dates.
        (_date((100, -30, 7), (9, 5, 2)), 1000, None, [1077, 977, 1007]),
        (_date((1, 20, 300), (2, 9, 5)), 0, None, [1, 321, 301]),
        # Of one instant: 5, 5 + 2, 7 + 1 is the order of the lines; 4, 4 + 3, 7 + 1 is read upwards.
        (_date((3, 2, 1), (1, 1, 1), 5, None, 8), None, None, [5, 7, 8]),
        (_date((1, 3, 2), (1, 1, 1), 8, None, 4), None, None, [8, 7, 4]),
    ],
)  # fmt: skip
def test_the_balance_after_each_row(moved, opening, closing, balances) -> None:
    """From the opening or closing balance and the balances that rows state; unknown where nothing says it."""
    rows = make_file("a", moved, opening=opening, closing=closing)
    assert _reconcile(rows).running.filter(rows["kind"] != "notice").to_list() == balances
