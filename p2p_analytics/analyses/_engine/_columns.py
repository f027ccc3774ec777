"""Columns of pandas frames as Arrow arrays of text, whole cents, instants or flags, checked value by value.

What a type says is not enough: pandas keeps text in six dtypes, whole numbers with a gap as floats, and anything in
``object``. A column without values has any type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.times import as_instant

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import pyarrow as pa

    Convert = Callable[[pa.ChunkedArray | pa.Array], pa.ChunkedArray | pa.Array | None]

CSV_ADVICE: Final = "pandas.read_csv guesses types, p2p.read_csv keeps them"
_WORDS: Final = {
    frames.TEXT: "text", frames.WHOLE: "whole cents", frames.INSTANT: "datetimes", frames.FLAG: "true or false",
}  # fmt: skip
TOO_LARGE: Final = (
    "amounts of 2**53 cents or more, one or all together, too many to be exact: correct or drop the largest"
)


def find_kind(name: str) -> str:
    """Return the dtype of a column in the frames that a load gives; a column of the user's own is text."""
    return frames.PAYMENTS.get(name) or frames.PEOPLE.get(name, frames.TEXT)


def build_error(what: str, name: str, kind: str, found: str, advice: str = CSV_ADVICE) -> SchemaError:
    """Return the error for a column that holds something else than its kind."""
    return SchemaError(f"{what} needs {_WORDS[kind]} in the column {name}, not {found}; {advice}.")


def is_instant(name: str, dtype: object, *, is_date: bool, what: str) -> bool:
    """Return whether a column holds instants; one that should, and has another dtype, is refused."""
    if is_date or find_kind(name) != frames.INSTANT:
        return is_date and find_kind(name) == frames.INSTANT
    raise build_error(what, name, frames.INSTANT, str(dtype), "cast it")


def is_text(series: pd.Series[Any]) -> bool:
    """Return whether a column may hold text, by its dtype; objects may."""
    import pyarrow as pa

    try:
        dtype = pa.array(series.iloc[:0]).type
    except (pa.ArrowException, TypeError, ValueError):
        return False
    dtype = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return pa.types.is_null(dtype) or dtype in {pa.string(), pa.large_string(), pa.string_view()}


def read_column(series: pd.Series[Any], name: str, kind: str, *, what: str) -> pa.ChunkedArray | pa.Array:
    """Return a column as an Arrow array of its kind; datetimes keep their unit, and are in UTC.

    Raises
    ------
    SchemaError
        The column holds something else, fractions of a cent, or cents beyond 64 bits.
    """
    import pyarrow as pa

    try:
        values = _read_objects(series) if kind == frames.INSTANT and series.dtype == object else pa.array(series)
    except OverflowError:
        raise SchemaError(f"{what}: the column {name} holds {TOO_LARGE}.") from None
    except UnicodeError:
        raise build_error(what, name, kind, "text that is not valid Unicode", "correct it") from None
    except (pa.ArrowException, TypeError, ValueError):
        raise build_error(what, name, kind, _name_types(series)) from None
    if values.null_count == len(values):
        return pa.nulls(len(values), _find_type(kind))
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        converted = _CONVERT[kind](values)
    except pa.ArrowInvalid:
        raise _build_value_error(values.type, name, kind, what) from None
    if converted is None:
        raise build_error(what, name, kind, str(values.type) if series.dtype == object else str(series.dtype))
    return converted


def _name_types(series: pd.Series[Any]) -> str:
    names = {type(value).__name__ for value in series.dropna()} if series.dtype == object else {str(series.dtype)}
    return " and ".join(sorted(names)[:3])


def _read_objects(series: pd.Series[Any]) -> pa.Array:
    """Read datetimes one by one, because Arrow drops the time of day from a mixture of dates and datetimes."""
    import pyarrow as pa

    def read(value: object) -> object:
        if isinstance(value, str):
            raise TypeError
        return as_instant(value)  # type: ignore[arg-type]

    null = series.isna()
    return pa.array([None if gap else read(value) for value, gap in zip(series, null, strict=True)], _utc())


def _build_value_error(dtype: pa.DataType, name: str, kind: str, what: str) -> SchemaError:
    import pyarrow as pa

    if pa.types.is_timestamp(dtype):
        return build_error(what, name, kind, "dates outside the calendar", "correct them")
    if pa.types.is_integer(dtype):
        return SchemaError(f"{what}: the column {name} holds {TOO_LARGE}.")
    found = "fractions, infinity or more than 64 bits"
    return build_error(what, name, kind, found, "amounts are counted in cents, not in units")


def _find_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    return {frames.TEXT: pa.large_string(), frames.WHOLE: pa.int64(), frames.FLAG: pa.bool_()}.get(kind, _utc())


def _utc(unit: str = "us") -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp(unit, "UTC")


def _to_text(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    import pyarrow as pa

    if pa.types.is_string_view(values.type):  # which Arrow cannot compare
        return values.cast(pa.large_string())
    return values if pa.types.is_large_string(values.type) or pa.types.is_string(values.type) else None


def _to_cents(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    import pyarrow as pa

    kinds = pa.types
    is_number = kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type)
    return values.cast(pa.int64()) if is_number else None


def _to_instants(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    import pyarrow as pa

    if pa.types.is_timestamp(values.type):
        # Only the zone changes, which Arrow does without a zone database; narwhals converts the finer unit.
        return values.cast(_utc("ns" if values.type.unit == "ns" else "us"))
    return values.cast(_utc()) if pa.types.is_date(values.type) else None


def _to_flags(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array | None:
    import pyarrow as pa

    return values if pa.types.is_boolean(values.type) else None


_CONVERT: Final[dict[str, Convert]] = {
    frames.TEXT: _to_text, frames.WHOLE: _to_cents, frames.INSTANT: _to_instants, frames.FLAG: _to_flags,
}  # fmt: skip
