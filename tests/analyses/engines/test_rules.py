"""Tests of every analysis: dtypes, and kinds of frames."""

import pandas as pd
import polars as pl
import pytest
from analyses.conftest import read_rows
from polars.testing import assert_frame_equal

from p2p_analytics.catalogue import ANALYSES
from support.analyses.calls import CALLS

ONE_OF_EACH = [
    {"direction": "out", "flow_cents": -1000, "counterparty_id": "1", "created": "2024-05-01T00:00:00Z"},
    {"direction": "in", "flow_cents": 1000, "status": "pending", "created": "2024-05-01T00:00:00Z"},
]


def test_every_analysis_is_called():
    """A new analysis belongs into the table of calls."""
    assert {label.partition(",")[0] for label in CALLS} == {*ANALYSES, "categorise"}


@pytest.mark.parametrize("label", CALLS)
def test_columns_and_dtypes_never_change(build, label):
    """A frame gives its own kind, empty or not, with the same columns and dtypes; pandas frames stay as they are."""
    tables = []
    for frame in (build([]), build(ONE_OF_EACH)):
        before, polars = frame.copy(deep=True), pl.from_pandas(frame)
        tables.append([CALLS[label](each) for each in (frame, polars, polars.lazy())])
        table, eager, lazy = tables[-1]
        assert (type(table), type(eager), type(lazy)) == (pd.DataFrame, pl.DataFrame, pl.LazyFrame)
        assert_frame_equal(lazy.collect(), eager)
        assert read_rows(table) == read_rows(eager)
        assert list(table.index) == list(range(len(table)))
        pd.testing.assert_frame_equal(frame, before)
    (empty, few, _), (table, eager, _) = tables
    assert empty.dtypes.equals(table.dtypes)
    assert few.schema == eager.schema


COLUMNS = (
    "payment_id", "status", "direction", "counterparty_id", "counterparty_name", "flow_cents", "amount_cents",
    "counterparty_username", "date_created", "date_completed", "note", "action", "kind", "currency",
)  # fmt: skip


@pytest.mark.parametrize(
    "label", ["spend_by_friend", "status_mix", "pending_ageing", "pending_requests", "split_bills"]
)
def test_polars_columns_of_nothing_but_nulls(build, label):
    """Untyped columns of nulls, one or all, give the same result as typed columns of nulls."""
    rows = [*ONE_OF_EACH, {"direction": "out", "flow_cents": -5, "status": "pending"}]
    typed = pl.from_pandas(build(rows)).select(COLUMNS)
    for bare in (*([column] for column in COLUMNS), COLUMNS):
        nulls = typed.with_columns(pl.lit(None, dtype=typed.schema[column]).alias(column) for column in bare)
        untyped = typed.with_columns(pl.lit(None).alias(column) for column in bare)
        assert untyped.schema[bare[0]] == pl.Null
        assert_frame_equal(CALLS[label](untyped), CALLS[label](nulls))
