"""Values at ranks against the sorted values, of every size of group up to forty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from p2p_analytics.analyses import _engine, request_outcomes, time_to_settle
from p2p_analytics.analyses._engine import _ranks

if TYPE_CHECKING:
    from collections.abc import Callable

FIND = {"polars": _engine.find_ranked, "duckdb": _engine.find_ranked, "counts": _ranks.count_ranked}
SIZES = range(1, 41)
PERCENTS = (1, 10, 50, 90, 99, 100)
BUILDERS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda rows: rows.lazy(),
    "duckdb": lambda rows: duckdb.connect().from_arrow(rows.to_arrow()),
    "counts": lambda rows: rows.to_pandas(),  # as Spark finds them
}


@pytest.mark.parametrize("builder", list(BUILDERS))
def test_ranks_from_both_ends(builder: str) -> None:
    """The value at ceil(percent * n / 100) of n: from the smallest, or from the largest; nulls are no values."""
    values = {size: [(7 * at) % 41 - 20 for at in range(size)] for size in SIZES}
    rows = [{"size": f"{size}", "value": value} for size in SIZES for value in (*values[size], None)]
    frame = nw.from_native(BUILDERS[builder](pl.DataFrame(rows, schema={"size": pl.String, "value": pl.Int64}))).lazy()
    ranks = {
        f"{side}{percent}": _engine.Rank(percent, side == "last") for percent in PERCENTS for side in ("first", "last")
    }
    table = FIND[builder](frame, _engine.Ranked(["size"], "value", ranks)).collect()
    found = {int(row["size"]): row for row in table.iter_rows(named=True)}
    assert sorted(found) == list(SIZES)
    for size, row in found.items():
        in_order = sorted(values[size])
        for percent in PERCENTS:
            place = math.ceil(size * percent / 100) - 1
            assert row[f"first{percent}"] == in_order[place]
            assert row[f"last{percent}"] == in_order[::-1][place]
        assert row["values"] == size


@pytest.mark.parametrize("builder", list(BUILDERS))
def test_a_group_without_values(builder: str) -> None:
    """It has null at each rank."""
    rows = pl.DataFrame({"size": ["0"], "value": [None]}, schema={"size": pl.String, "value": pl.Int64})
    wanted = _engine.Ranked(["size"], "value", {"first": _engine.Rank(50), "last": _engine.Rank(50, from_largest=True)})
    (row,) = FIND[builder](nw.from_native(BUILDERS[builder](rows)).lazy(), wanted).collect().iter_rows(named=True)
    assert row["values"] == 0
    assert [None if row[name] != row[name] else row[name] for name in ("first", "last")] == [None, None]


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_the_longest_times(convert: Callable[[Any], Any]) -> None:
    """2**63 - 1 microseconds are 106,751,991.167 days, although as a float the number does not fit into 64 bits."""
    instants = np.array([-(2**62) + 1, 2**62], dtype="datetime64[us]")
    texts = {
        "status": "settled",
        "action": "charge",
        "direction": "in",
        "counterparty_id": "2",
        "counterparty_name": "Ada",
    }
    frame = pl.DataFrame(
        texts | {"amount_cents": [500, 700], "date_created": instants[[0, 0]], "date_completed": instants[[1, 1]]}
    )
    payments = frame.to_pandas() if convert is pd.DataFrame else convert(frame)
    for analysis in (time_to_settle, request_outcomes):
        table = analysis(payments)
        (days,) = table.lazy().collect()["days_p50"] if convert is not pd.DataFrame else table["days_p50"]
        assert days == pytest.approx(106_751_991.167, abs=0.001)
