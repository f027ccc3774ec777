"""Columns of pandas frames as Arrow arrays of text, whole cents, instants or flags, checked value by value.

A dtype is not enough to judge a column by: pandas keeps text in six dtypes, whole numbers with a gap as floats, and
anything in ``object``. A column without values may have any dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.times import as_instant

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from p2p_analytics.analyses._engine._kinds import Selection

    Convert = Callable[[pa.ChunkedArray | pa.Array], pa.ChunkedArray | pa.Array | None]

_FEW: Final = 4  # rows are few up to one in this number: more rows take longer to filter in Arrow
_MOST_CHUNKS: Final = 100
_TEXTS: Final = {pa.string(), pa.large_string(), pa.string_view()}


def check(native: pd.DataFrame, what: str) -> None:
    """Do nothing: pandas has no session."""


def read_names(native: pd.DataFrame) -> list[str]:
    """Return the names of the columns that are text."""
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
    table = pa.table({name: read_column(native[name], name, what=what) for name in selection.names})
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


def read_column(series: pd.Series[Any], name: str, *, what: str) -> pa.ChunkedArray | pa.Array:
    """Return a column as an Arrow array of its kind; datetimes keep their unit, and are in UTC.

    Raises
    ------
    SchemaError
        The column holds something else, fractions of a cent, or cents beyond 64 bits.
    """
    kind = _kinds.find_kind(name)
    try:
        values = _read_objects(series) if kind == frames.INSTANT and series.dtype == object else pa.array(series)
    except OverflowError:
        raise SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.") from None
    except UnicodeError:
        raise _kinds.build_error(what, name, kind, "text that is not valid Unicode", "correct it") from None
    except (pa.ArrowException, TypeError, ValueError):
        raise _kinds.build_error(what, name, kind, _name_types(series)) from None
    if values.null_count == len(values):
        return pa.nulls(len(values), _find_type(kind))
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        converted = _CONVERT[kind](values)
    except pa.ArrowInvalid:
        raise _build_value_error(values.type, name, kind, what) from None
    if converted is None:
        found = values.type if series.dtype == object else series.dtype
        raise _kinds.build_error(what, name, kind, str(found))
    return converted


def _name_types(series: pd.Series[Any]) -> str:
    names = {type(value).__name__ for value in series.dropna()} if series.dtype == object else {str(series.dtype)}
    return " and ".join(sorted(names)[:3])


def _read_objects(series: pd.Series[Any]) -> pa.Array:
    """Read datetimes one by one, because Arrow drops the time of day from a mixture of dates and datetimes."""

    def read(value: object) -> object:
        if isinstance(value, str):
            raise TypeError
        return as_instant(value)  # type: ignore[arg-type]

    null = series.isna()
    return pa.array([None if gap else read(value) for value, gap in zip(series, null, strict=True)], _utc())


def _build_value_error(dtype: pa.DataType, name: str, kind: str, what: str) -> SchemaError:
    if pa.types.is_timestamp(dtype):
        return _kinds.build_error(what, name, kind, "dates outside the calendar", "correct them")
    if pa.types.is_integer(dtype):
        return SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.")
    found = "fractions, infinity or more than 64 bits"
    return _kinds.build_error(what, name, kind, found, "amounts are counted in cents, not in units")


def _find_type(kind: str) -> pa.DataType:
    return {frames.TEXT: pa.large_string(), frames.WHOLE: pa.int64(), frames.FLAG: pa.bool_()}.get(kind, _utc())


def _utc(unit: str = "us") -> pa.DataType:
    return pa.timestamp(unit, "UTC")


def _to_text(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    if pa.types.is_string_view(values.type):  # Arrow cannot compare it
        return values.cast(pa.large_string())
    return values if values.type in _TEXTS else None


def _to_cents(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    kinds = pa.types
    is_number = kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type)
    return values.cast(pa.int64()) if is_number else None


def _to_instants(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    if pa.types.is_timestamp(values.type):
        # Only the zone changes, which Arrow does without a zone database; narwhals converts the finer unit.
        return values.cast(_utc("ns" if values.type.unit == "ns" else "us"))
    return values.cast(_utc()) if pa.types.is_date(values.type) else None


def _to_flags(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    return values if pa.types.is_boolean(values.type) else None


_CONVERT: Final[dict[str, Convert]] = {
    frames.TEXT: _to_text, frames.WHOLE: _to_cents, frames.INSTANT: _to_instants, frames.FLAG: _to_flags,
}  # fmt: skip
