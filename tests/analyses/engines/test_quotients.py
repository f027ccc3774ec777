"""Whole quotients, rounded down on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest

from p2p_analytics.analyses import _engine

if TYPE_CHECKING:
    from collections.abc import Callable

BUILDERS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda rows: rows.lazy(),
    "duckdb": lambda rows: duckdb.connect().from_arrow(rows.to_arrow()),
}
SEVENTHS = {-15: -3, -14: -2, -8: -2, -7: -1, -1: -1, 0: 0, 1: 0, 6: 0, 7: 1, 13: 1, 14: 2, None: None}
DAYS = {2**62: 53_375_995, -(2**62): -53_375_996, 86_399_999_999: 0, 86_400_000_000: 1, -1: -1, None: None}


@pytest.mark.parametrize("builder", list(BUILDERS))
@pytest.mark.parametrize(("divisor", "quotients"), [(7, SEVENTHS), (86_400_000_000, DAYS)], ids=["small", "large"])
def test_quotients(builder: str, divisor: int, quotients: dict[int | None, int | None]) -> None:
    """They are rounded down below 0, too, and exact beyond 2**53; other columns stay as they are."""
    rows = pl.DataFrame({"number": [*quotients], "a b": "x"}, schema={"number": pl.Int64, "a b": pl.String})
    frame = nw.from_native(BUILDERS[builder](rows)).lazy()
    table = _engine.add_quotient(frame, 'the "whole"', nw.col("number") + 0, divisor).collect()
    assert table.columns == ["number", "a b", 'the "whole"']
    assert [tuple(row) for row in table.iter_rows()] == [
        (number, "x", quotient) for number, quotient in quotients.items()
    ]
