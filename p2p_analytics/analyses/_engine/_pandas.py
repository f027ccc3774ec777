"""pandas frames: their columns are checked value by value and handed over through Arrow, and Polars computes.

A dtype is not enough to judge a column by: pandas keeps text in six dtypes, whole numbers with a gap as floats, and
anything in ``object``. A column without values may have any dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionDtype

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._kinds import Kind, Selection
from p2p_analytics.analyses._engine._polars import (
    add_quotient,
    convert_instants,
    cut,
    find_ranked,
    find_unusual,
    list_dtypes,
    load_table,
    set_types,
)
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.times import as_instant

__all__ = [
    "add_quotient",
    "check",
    "convert_instants",
    "cut",
    "find_ranked",
    "find_unusual",
    "is_text_column",
    "list_dtypes",
    "list_names",
    "load_table",
    "read",
    "to_result",
]

_FEW: Final = 4  # rows are few up to one in this number: more rows take longer to filter in Arrow
_MOST_CHUNKS: Final = 100
_TEXTS: Final = {pa.string(), pa.large_string(), pa.string_view()}
_TYPES: Final = {
    frames.TEXT: pa.large_string(),
    frames.WHOLE: pa.int64(),
    frames.INSTANT: pa.timestamp("us", "UTC"),
    frames.FLAG: pa.bool_(),
}


def check(native: pd.DataFrame, what: str) -> None:
    """Do nothing: pandas has no session."""


def list_names(native: pd.DataFrame) -> list[str]:
    """Return the names of the columns, without names that are not text."""
    return [name for name in native.columns if isinstance(name, str)]


def is_text_column(native: pd.DataFrame, name: str) -> bool:
    """Return whether a column may hold text, by its dtype; objects may."""
    column = native.loc[:, name]
    if column.ndim > 1:
        return True  # two columns of one name are refused when they are read
    try:
        dtype = pa.array(column.iloc[:0]).type
    except (pa.ArrowException, TypeError, ValueError):
        return False
    dtype = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return pa.types.is_null(dtype) or dtype in _TEXTS


def read(native: pd.DataFrame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
    """Return checked columns as a Polars frame.

    Text that Polars need not see is left out in Arrow: to convert it takes longer than a small analysis.
    """
    table = pa.table({name: _read_column(native[name], name, what) for name in selection.names})
    if selection.status:
        has_status = pc.equal(table["status"], selection.status.value)
        if (pc.sum(has_status).as_py() or 0) < len(table) / _FEW:
            table = table.filter(has_status)
    spare = {*table.column_names} - {*selection.wanted}
    if "kind" in spare and _has_only(table["kind"], frames.KIND_PAYMENT):
        table = table.drop_columns("kind")
    # Without a currency, the source decides which it is: both are left out, or none.
    is_spare = "currency" in spare and "source" not in selection.wanted and not table["currency"].null_count
    if is_spare and _has_only(table["currency"], US_DOLLARS):
        table = table.drop_columns([*({"currency", "source"} & spare)])
    # A few chunks of a column stay: to make one of them takes longer than it saves.
    chunks = max((column.num_chunks for column in table.columns), default=0)
    return nw.from_native(cast("pl.DataFrame", pl.from_arrow(table, rechunk=chunks > _MOST_CHUNKS))).lazy()


def _has_only(texts: pa.ChunkedArray, word: str) -> bool:
    """Return whether a column has no other text; nulls are allowed."""
    return pc.all(pc.equal(texts, word)).as_py() is not False


def _read_column(series: pd.Series[Any], name: str, what: str) -> pa.Array | pa.ChunkedArray:
    """Return a column as an Arrow array of its kind; datetimes keep their unit, and are in UTC."""
    kind = _kinds.find_kind(name)
    try:
        values = _read_objects(series) if kind == frames.INSTANT and series.dtype == object else pa.array(series)
    except OverflowError:
        raise SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.") from None
    except UnicodeError:
        raise _kinds.build_error(what, name, kind, "text that is not valid Unicode", "correct it") from None
    except (pa.ArrowException, TypeError, ValueError):
        is_object = series.dtype == object
        found = {type(value).__name__ for value in series.dropna()} if is_object else {str(series.dtype)}
        raise _kinds.build_error(what, name, kind, " and ".join(sorted(found)[:3])) from None
    if values.null_count == len(values):
        return pa.nulls(len(values), _TYPES[kind])
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        converted = _convert(values, kind)
    except pa.ArrowInvalid:
        if pa.types.is_timestamp(values.type):
            raise _kinds.build_error(what, name, kind, "dates outside the calendar", "correct them") from None
        if pa.types.is_integer(values.type):
            raise SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.") from None
        fractions, advice = "fractions, infinity or more than 64 bits", "amounts are counted in cents, not in units"
        raise _kinds.build_error(what, name, kind, fractions, advice) from None
    if converted is None:
        raise _kinds.build_error(what, name, kind, str(values.type if series.dtype == object else series.dtype))
    return converted


def _read_objects(series: pd.Series[Any]) -> pa.Array:
    """Read datetimes one by one, because Arrow drops the time of day from a mixture of dates and datetimes."""
    values: list[Any] = [None if gap else value for value, gap in zip(series, series.isna(), strict=True)]
    if any(isinstance(value, str) for value in values):
        raise TypeError
    return pa.array([value if value is None else as_instant(value) for value in values], _TYPES[frames.INSTANT])


def _convert(values: pa.Array | pa.ChunkedArray, kind: str) -> pa.Array | pa.ChunkedArray | None:
    """Return values in the type of a kind; None for another type, which is not converted."""
    types, dtype = pa.types, values.type
    if kind == frames.TEXT and dtype in _TEXTS:
        return values.cast(pa.large_string()) if types.is_string_view(dtype) else values  # Arrow compares no views
    if kind == frames.FLAG and types.is_boolean(dtype):
        return values
    if kind == frames.WHOLE and (types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype)):
        return values.cast(pa.int64())
    if kind == frames.INSTANT and (types.is_timestamp(dtype) or types.is_date(dtype)):
        # Of a timestamp, only the zone changes, which Arrow does without a zone database.
        is_fine = types.is_timestamp(dtype) and dtype.unit == "ns"
        return values.cast(pa.timestamp("ns" if is_fine else "us", "UTC"))
    return None


def to_result(frame: nw.LazyFrame[Any], native: object, schema: Mapping[str, Kind]) -> pd.DataFrame:  # noqa: ARG001 - as in each engine
    """Return a result column by column: ``to_pandas`` returns other dtypes, and takes longer."""
    table = set_types(frame, schema).collect()
    columns = {}
    for name, kind in schema.items():
        dtype: Any = pd.api.types.pandas_dtype(kind.pandas)
        column = table.get_column(name)
        is_extension = isinstance(dtype, ExtensionDtype)
        columns[name] = dtype.__from_arrow__(column.to_arrow()) if is_extension else column.to_numpy().astype(dtype)
    return pd.DataFrame(columns)
