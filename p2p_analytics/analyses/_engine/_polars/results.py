"""Results as Polars frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import polars as pl

from p2p_analytics.analyses._engine import _kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from p2p_analytics.analyses._engine._kinds import Kind

ON_POLARS: Final = True
_DTYPES: Final = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}


def load_table(native: object, table: pa.Table) -> nw.LazyFrame[Any]:
    """Return rows in Arrow as a Polars frame."""
    _ = native
    return nw.from_native(pl.DataFrame(table)).lazy()


def to_result(frame: nw.LazyFrame[Any], native: object, schema: Mapping[str, Kind]) -> pl.DataFrame | pl.LazyFrame:
    """Return a result; the result of a lazy frame is not computed yet."""
    typed = set_types(frame, schema)
    return typed if isinstance(native, pl.LazyFrame) else typed.collect()


def set_types(frame: nw.LazyFrame[Any], schema: Mapping[str, Kind]) -> pl.LazyFrame:
    """Return a result in the dtypes of a schema, with instants and dates in place of numbers."""
    native: pl.LazyFrame = frame.to_native()
    return native.select(_set_type(name, kind).alias(name) for name, kind in schema.items())


def _set_type(name: str, kind: Kind) -> pl.Expr:
    column = pl.col(kind.column or name)
    if kind.has_type(_kinds.INSTANT):
        return column.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
    if kind.has_type(_kinds.DATE):
        return column.cast(pl.Int32).cast(pl.Date)
    if kind.per > 1:
        # Polars multiplies by the inverse of a scalar divisor, which is inexact; division by a column is exact.
        column = column / (column * 0 + kind.per) if kind.has_type(_kinds.NUMBER) else column // kind.per
    return column.cast(_DTYPES[kind.arrow])
