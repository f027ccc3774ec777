"""Reconciliation of files: differences, seams and remarks worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics.statements._reconcile import RECONCILIATION, reconcile
from support.statements.rows import make_file

JUNE = datetime(2021, 6, 12, tzinfo=UTC)
# Opening 100.00 - 18.00 + 138.00 - 37.00 + 50.00 = 233.00; 60.00 came from a bank, 8.78 is pending.
SUMMER = [-1800, 13800, -3700, {"moved_cents": 0, "flow_cents": -6000}, 5000, {"moved_cents": 0, "flow_cents": 878}]


def _reconcile(*files: pl.DataFrame, **options: Any) -> list[dict[str, Any]]:
    frame = reconcile(pl.concat(files), **options)
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
    (row,) = _reconcile(make_file("a", [100], opening=1000, closing=1100), broken_files={"a"})
    assert _pick(row, "difference_cents", "reconciled") == (0, False)
    assert row["note"] == "Rows have too many or too few cells."


def test_no_rows() -> None:
    """Nothing in, nothing out, with all columns and dtypes."""
    frame = reconcile(make_file("a", [1]).clear())
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(RECONCILIATION)
    assert frame.empty
