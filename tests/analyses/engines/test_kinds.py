"""The last step of a result: exact quotients of computed columns on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pytest

from p2p_analytics.analyses import _engine
from support.analyses.kinds import KINDS, list_expected, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

LIKE: dict[str, Callable[[], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "duckdb": lambda: duckdb.connect().sql("SELECT 1"),
}


@pytest.mark.parametrize(("engine", "is_here"), [*((engine, True) for engine in LIKE), ("duckdb", False)])
def test_quotients_of_kinds(engine: str, *, is_here: bool) -> None:
    """Each is the float next to the quotient; whole days are rounded down; null stays null."""
    table = make_table()
    computed = pl.DataFrame(table) if is_here else duckdb.connect().from_arrow(table)
    rows = list_rows(_engine.to_result(nw.from_native(computed).lazy(), LIKE[engine](), KINDS))
    assert [*rows[0]] == [*KINDS]
    assert rows == list_expected()


def list_rows(result: Any) -> list[dict[str, Any]]:
    """Return the rows of a result, with None for each null."""
    if isinstance(result, pd.DataFrame):
        return result.astype(object).where(result.notna(), None).to_dict("records")
    if isinstance(result, duckdb.DuckDBPyRelation):
        return result.to_arrow_table().to_pylist()
    return result.lazy().collect().to_dicts()
