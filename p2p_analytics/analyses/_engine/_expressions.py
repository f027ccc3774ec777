"""Expressions that several analyses share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals.stable.v2 as nw

if TYPE_CHECKING:
    from collections.abc import Iterable


def integers(names: Iterable[str]) -> nw.Expr:
    """Return counts and sums as 64-bit integers; engines widen them, or convert them to floats in a join."""
    return nw.col(*names).fill_null(0).cast(nw.Int64())


def units(name: str) -> nw.Expr:
    """Return a column of cents in currency units; always the last step of an amount."""
    # Polars multiplies by the inverse of a scalar divisor, which is inexact; division by a column is exact.
    return nw.col(name) / (nw.col(name) * 0 + 100)


def share(part: str, whole: nw.Expr) -> nw.Expr:
    """Return a column as a fraction of a whole, 0 where the whole is 0."""
    column = nw.col(part) * 0 + whole  # a column, for exact division as in `units`
    return nw.when(column != 0).then(nw.col(part) / column).otherwise(0.0)
