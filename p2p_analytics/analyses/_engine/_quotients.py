"""Quotients of whole numbers, rounded down to whole numbers."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine._duckdb import quote


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with a column of whole numbers divided by a number above 0, rounded down; null stays null."""
    if not frame.implementation.is_duckdb():
        return frame.with_columns((dividend // divisor).alias(name))
    # What narwhals writes for it, with a case for each kind of number, takes as long as a sort of the rows.
    column = quote(name)
    remainder = f"(({column} % {divisor} + {divisor}) % {divisor})"  # at least 0, also for a number below 0
    relation = frame.with_columns(dividend.alias(name)).to_native()
    divided: nw.LazyFrame[Any] = nw.from_native(
        relation.project(f"* REPLACE (({column} - {remainder}) // {divisor} AS {column})")
    )
    return divided
