"""Exact quotients on every engine: within a query, and as the last step of a result."""

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pytest
from analyses.conftest import read_rows

from p2p_analytics.analyses import _engine
from support.analyses.kinds import KINDS, list_expected, make_table

LIKE = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "duckdb": lambda: duckdb.connect().sql("SELECT 1"),
}
SEVENTHS = {-15: -3, -14: -2, -8: -2, -7: -1, -1: -1, 0: 0, 1: 0, 6: 0, 7: 1, 13: 1, 14: 2, None: None}
DAYS = {2**62: 53_375_995, -(2**62): -53_375_996, 86_399_999_999: 0, 86_400_000_000: 1, -1: -1, None: None}


@pytest.mark.parametrize(("engine", "is_here"), [*((engine, True) for engine in LIKE), ("duckdb", False)])
def test_quotients_of_kinds(engine, *, is_here):
    """Each is the float next to the quotient; whole days are rounded down; null stays null."""
    table = make_table()
    computed = pl.DataFrame(table) if is_here else duckdb.connect().from_arrow(table)
    rows = read_rows(_engine.to_result(nw.from_native(computed).lazy(), LIKE[engine](), KINDS))
    assert [*rows[0]] == [*KINDS]
    assert rows == list_expected()


@pytest.mark.parametrize("build", [pl.DataFrame.lazy, lambda rows: duckdb.connect().from_arrow(rows.to_arrow())])
@pytest.mark.parametrize(("divisor", "quotients"), [(7, SEVENTHS), (86_400_000_000, DAYS)], ids=["small", "large"])
def test_quotients_of_a_query(build, divisor, quotients):
    """They are rounded down below 0, too, and exact beyond 2**53; other columns stay as they are."""
    rows = pl.DataFrame({"number": [*quotients], "a b": "x"}, schema={"number": pl.Int64, "a b": pl.String})
    table = _engine.add_quotient(nw.from_native(build(rows)).lazy(), 'the "whole"', nw.col("number") + 0, divisor)
    found = table.collect()
    assert found.columns == ["number", "a b", 'the "whole"']
    assert [*found.iter_rows()] == [(number, "x", quotient) for number, quotient in quotients.items()]
