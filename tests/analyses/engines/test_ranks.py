"""Values at ranks against the sorted values, of groups of every size up to forty."""

import math

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from analyses.conftest import read_rows

from p2p_analytics.analyses import _engine, request_outcomes, time_to_settle
from p2p_analytics.analyses._engine import _ranks

PERCENTS = (1, 10, 50, 90, 99, 100)
ENGINES = {
    "polars": (pl.DataFrame.lazy, _engine.find_ranked),
    "duckdb": (lambda rows: duckdb.connect().from_arrow(rows.to_arrow()), _engine.find_ranked),
    "counts": (pl.DataFrame.to_pandas, _ranks.count_ranked),  # as Spark finds them
}


@pytest.mark.parametrize("engine", ENGINES)
def test_ranks_from_both_ends(engine):
    """The value at ceil(percent * n / 100) of n: from the smallest, or from the largest; nulls are no values."""
    build, find = ENGINES[engine]
    values = {size: [(7 * at) % 41 - 20 for at in range(size)] for size in range(41)}
    rows = [{"size": f"{size}", "value": value} for size in values for value in (*values[size], None)]
    frame = nw.from_native(build(pl.DataFrame(rows, schema={"size": pl.String, "value": pl.Int64}))).lazy()
    ranks = {
        f"{side}{percent}": _engine.Rank(percent, side == "last") for percent in PERCENTS for side in ("first", "last")
    }
    table = find(frame, _engine.Ranked(["size"], "value", ranks)).collect()
    found = {int(row.pop("size")): row for row in table.iter_rows(named=True)}
    assert sorted(found) == list(values)
    for size, row in found.items():
        assert row.pop("values") == size
        if not size:
            assert all(value is None or math.isnan(value) for value in row.values())
            continue
        in_order = sorted(values[size])
        for percent in PERCENTS:
            place = math.ceil(size * percent / 100) - 1
            assert (row[f"first{percent}"], row[f"last{percent}"]) == (in_order[place], in_order[::-1][place])


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy])
def test_the_longest_times(convert):
    """2**63 - 1 microseconds are 106,751,991.167 days, although as a float the number does not fit into 64 bits."""
    instants = np.array([-(2**62) + 1, 2**62], dtype="datetime64[us]")
    texts = {"status": "settled", "action": "charge", "direction": "in", "counterparty_id": "2"}
    dates = {"date_created": instants[[0, 0]], "date_completed": instants[[1, 1]]}
    frame = convert(pl.DataFrame(texts | {"counterparty_name": "Ada", "amount_cents": [500, 700]} | dates))
    for analysis in (time_to_settle, request_outcomes):
        (row,) = read_rows(analysis(frame))
        assert row["days_p50"] == pytest.approx(106_751_991.167, abs=0.001)
