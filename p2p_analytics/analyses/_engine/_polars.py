"""Polars frames: eager frames get eager results, lazy frames lazy results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
from narwhals.dtypes import DType

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._kinds import Kind, Selection, Usual
from p2p_analytics.analyses._engine._ranks import LARGEST, Ranked, find_share
from p2p_analytics.times import DAY_US

_FARTHEST_MS: Final = 2**62 // 1000
_OUTSIDE: Final = 2**63 - 1  # an instant that the check of dates refuses
_DTYPES: Final = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}


def check(native: pl.DataFrame | pl.LazyFrame, what: str) -> None:
    """Do nothing: Polars has no session."""


def list_names(native: pl.DataFrame | pl.LazyFrame) -> list[str]:
    """Return the names of the columns, by a query of the schema."""
    return native.lazy().collect_schema().names()


def is_text_column(native: pl.DataFrame | pl.LazyFrame, name: str) -> bool:
    """Return whether a column is text, a categorical, or has only nulls."""
    dtype = native.lazy().collect_schema()[name]
    return dtype in {pl.String, pl.Null} or isinstance(dtype, (pl.Categorical, pl.Enum))


def read(native: pl.DataFrame | pl.LazyFrame, selection: Selection, what: str) -> nw.LazyFrame[Any]:  # noqa: ARG001 - as in each engine
    """Return columns without a change."""
    return nw.from_native(native.lazy().select(selection.names))


def list_dtypes(frame: nw.LazyFrame[Any]) -> Mapping[str, DType]:
    """Return the dtype of each column."""
    return frame.collect_schema()


def convert_instants(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
    """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC."""
    native: pl.LazyFrame = frame.to_native()
    changes = []
    for name, dtype in native.collect_schema().items():
        is_date = isinstance(dtype, (pl.Datetime, pl.Date))
        if dtype == pl.Null or not _kinds.is_instant(name, dtype, is_date=is_date, what=what):
            continue
        number = pl.col(name).cast(pl.Int64)
        unit = getattr(dtype, "time_unit", "day")
        if unit == "day":
            number = number * DAY_US
        elif unit == "ms":
            is_outside = (number < -_FARTHEST_MS) | (number > _FARTHEST_MS)
            number = pl.when(is_outside).then(_OUTSIDE).otherwise(number * 1000)
        elif unit == "ns":
            number = number // 1000
        changes.append(number.alias(name))
    return nw.from_native(native.with_columns(changes))


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: whole numbers divided by a number above 0, rounded down."""
    return frame.with_columns((dividend // divisor).alias(name))


def find_unusual(frame: nw.LazyFrame[Any], usual: Mapping[str, Usual], what: str) -> tuple[int, set[str]]:  # noqa: ARG001 - as in each engine
    """Return the number of rows, and the columns with an unusual value."""
    native: pl.LazyFrame = frame.to_native()
    counts = [native.select(pl.len())]
    for name, (first, last, with_null) in usual.items():
        outside = (pl.col(name) < first) | (pl.col(name) > last)
        counts.append(native.filter(outside if with_null else outside | pl.col(name).is_null()).select(pl.len()))
    # With a common scan, Polars would read all columns, and could not skip row groups by their statistics.
    flags = pl.QueryOptFlags(comm_subplan_elim=False)
    rows, *found = pl.concat(counts).collect(optimizations=flags).to_series()
    return rows, {name for name, number in zip(usual, found, strict=True) if number}


def find_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group: a value is selected in less time than a sort of all values takes."""
    keys, value, ranks, sums, last = wanted
    found = {
        name: pl.max(value).cast(float) if rank == LARGEST else pl.quantile(value, find_share(rank), "equiprobable")
        for name, rank in ranks.items()
    }
    # Keys as codes, not as texts: at a million rows they take 90 MB in place of 140.
    encoded = frame.to_native().with_columns(pl.col(*keys).cast(pl.Categorical))
    table = encoded.group_by(*keys).agg(
        *(pl.col(name).sum() for name in sums),
        *(pl.col(name).max() for name in last),
        values=pl.col(value).count().cast(pl.Int64),
        **found,
    )
    ranked: nw.LazyFrame[Any] = nw.from_native(table.with_columns(pl.col(*keys).cast(pl.String)))
    return ranked


def cut(frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:
    """Return a frame in parts; rows with the same first text of columns are in one part."""
    native: pl.LazyFrame = frame.to_native()
    number = pl.coalesce(*by).fill_null("").hash(seed=0) % parts
    return [nw.from_native(native.filter(number == part)) for part in range(parts)]


def load_table(native: object, table: pa.Table) -> nw.LazyFrame[Any]:  # noqa: ARG001 - as in each engine
    """Return rows in Arrow as a Polars frame."""
    return nw.from_native(pl.DataFrame(table)).lazy()


def to_result(frame: nw.LazyFrame[Any], native: object, schema: Mapping[str, Kind]) -> pl.DataFrame | pl.LazyFrame:
    """Return a result; the result of a lazy frame is not computed yet."""
    typed = set_types(frame, schema)
    return typed if isinstance(native, pl.LazyFrame) else typed.collect()


def set_types(frame: nw.LazyFrame[Any], schema: Mapping[str, Kind]) -> pl.LazyFrame:
    """Return a result in the dtypes of a schema, with instants and dates in place of numbers."""
    columns = []
    for name, kind in schema.items():
        column = pl.col(kind.column or name)
        if kind.has_type(_kinds.INSTANT):
            column = column.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
        elif kind.has_type(_kinds.DATE):
            column = column.cast(pl.Int32).cast(pl.Date)
        else:
            if kind.per > 1:
                # Polars multiplies by the inverse of a scalar divisor, which is inexact; by a column it divides.
                is_whole = not kind.has_type(_kinds.NUMBER)
                column = column // kind.per if is_whole else column / (column * 0 + kind.per)
            column = column.cast(_DTYPES[kind.arrow])
        columns.append(column.alias(name))
    native: pl.LazyFrame = frame.to_native()
    return native.select(columns)
