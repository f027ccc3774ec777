"""The order of transactions, and the slices in which the rows of many files are worked on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import polars as pl

import p2p_analytics as p2p
from p2p_analytics.statements import rows as rows_module
from p2p_analytics.statements.ledger.derive import derive
from p2p_analytics.statements.ledger.transactions import sort_newest_first
from p2p_analytics.statements.rows import Collected, complete_rows
from support.statements.rows import describe_files

_HERE = Path(__file__).parent.parent
_DAY = datetime(2024, 5, 31, tzinfo=UTC)
_NEXT_DAY = datetime(2024, 6, 1, tzinfo=UTC)
# Newest first; of one instant the longer id, then the later one, then the first account; without a date last.
_ORDERED = [
    ("9", _NEXT_DAY, "nora"),
    ("100", _DAY, "nora"),
    ("20", _DAY, "nora"),
    ("20", _DAY, "theo"),
    ("19", _DAY, "nora"),
    ("8", datetime(2024, 5, 30, 23, 59, 59, 999999, UTC), "nora"),
    ("77", None, "nora"),
    ("76", None, "nora"),
]


def test_transactions_are_ordered_by_date_then_id_then_account():
    """Whatever the order of the rows is; notices are left out."""
    schema = {"kind": pl.String, "payment_id": pl.String, "date": pl.Datetime("us", "UTC"), "account": pl.String}
    given = [*(("payment", *row) for row in _ORDERED), ("notice", None, None, "nora"), ("notice", "5", _DAY, "theo")]
    frame = pl.DataFrame(given, schema=schema, orient="row").with_columns(file=pl.lit("a.csv"))
    for seed in range(5):
        rows = complete_rows(frame.sample(fraction=1, shuffle=True, seed=seed))
        assert rows.select("payment_id", "date", "account")[sort_newest_first(rows)].rows() == _ORDERED
        view = derive(Collected(rows, tuple(describe_files(rows)), ()))
        found = view.payments[["payment_id", "date_created", "account_id"]].astype(object)
        assert [tuple(row) for row in found.where(found.notna(), None).to_numpy().tolist()] == _ORDERED
        assert view.problems == []


def test_no_transactions():
    """A file with notices only has no order."""
    rows = pl.DataFrame({"kind": ["notice"], "payment_id": [None], "date": [None], "account": ["nora"]})
    rows = complete_rows(rows.with_columns(file=pl.lit("a.csv")))
    for given in (rows, rows.clear()):
        assert sort_newest_first(given).to_list() == []
        assert derive(Collected(given, tuple(describe_files(given)), ())).payments.empty


def test_slices_change_no_result(monkeypatch):
    """Balances, files and payments of all samples are the same when each file is worked on alone."""
    paths = [str(_HERE / "samples" / "*.csv"), str(_HERE / "other_services" / "samples" / "paypal_*_??.csv")]
    together = p2p.read_statements(paths)
    monkeypatch.setattr(rows_module, "_SLICE_ROWS", 1)
    apart = p2p.read_statements(paths)
    for name in ("payments", "reconciliation", "files", "problems"):
        pd.testing.assert_frame_equal(getattr(apart, name), getattr(together, name))
