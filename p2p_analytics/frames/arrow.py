"""Arrow types of the columns in files, and the pandas dtypes that they are read back as."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics.catalogue import ANALYSES, DTYPES
from p2p_analytics.errors import SchemaError, name_type
from p2p_analytics.frames import schema

if TYPE_CHECKING:
    import polars as pl

# In files of payments for engines that compute with numbers alone: both dates, and their difference.
MICROSECONDS: Final = {"created_us": schema.WHOLE, "completed_us": schema.WHOLE, "settle_us": schema.WHOLE}
_OF_PROBLEMS: Final = dict.fromkeys(("field", "value", "problem"), schema.TEXT)
_KNOWN: Final = {**_OF_PROBLEMS, **schema.FRIENDS, **schema.PEOPLE, **schema.PAYMENTS, **MICROSECONDS}
_ENDINGS: Final = {"_id": schema.TEXT, "_phone": schema.TEXT, "_cents": schema.WHOLE}
_FLOAT: Final = "float64"
_CHUNK_ROWS: Final = 16_384  # of constant columns
# Columns of the analyses, of problems and of `units`. These types apply to columns without values only, because another
# table may hold something else under the name. Of a name in several analyses, the first one decides.
_WITHOUT_VALUES: Final = {
    **{
        column.name: DTYPES.get(column.kind, schema.TEXT)
        for analysis in reversed(ANALYSES.values())
        for column in analysis.columns
    },
    **schema.PROBLEMS,
    **schema.STATEMENT,
    **{name.removesuffix("_cents"): _FLOAT for name in schema.PAYMENTS if name.endswith("_cents")},
}


def arrow_type(dtype: str) -> pa.DataType:
    """Return the type in files for a dtype of the schema."""
    return {
        schema.TEXT: pa.string(),
        schema.WHOLE: pa.int64(),
        _FLOAT: pa.float64(),
        schema.FLAG: pa.bool_(),
        schema.INSTANT: pa.timestamp("us", "UTC"),
        "date": pa.date32(),
    }[dtype]


def type_of_name(name: str) -> pa.DataType | None:
    """Return the type that a column of this name always has, None for a name without a fixed type."""
    dtype = _KNOWN.get(name) or next((dtype for end, dtype in _ENDINGS.items() if name.endswith(end)), None)
    return arrow_type(dtype) if dtype else None


def type_without_values(name: str) -> pa.DataType:
    """Return the type of a column of this name that holds only nulls or nothing; text where the name is unknown."""
    return type_of_name(name) or arrow_type(_WITHOUT_VALUES.get(name, schema.TEXT))


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return a pandas frame as an Arrow table in the types of `cast_to_file_types`, without its index.

    Raises
    ------
    SchemaError
        Column names are missing or repeated, the index has a name, or a column holds values that files cannot hold.
    """
    if not is_pandas_dataframe(frame):
        raise SchemaError(
            f"A file is made of a pandas frame, not of {name_type(frame)}: pass {schema.advise_pandas(frame)}."
        )
    names = list(frame.columns)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise SchemaError("To be written, a frame needs columns with different names of text; reset_index() may help.")
    if any(name is not None for name in getattr(getattr(frame, "index", None), "names", ())):
        raise SchemaError("A file holds columns alone, and this frame's index has a name: write frame.reset_index().")
    columns = {}
    for name, column in frame.items():
        try:
            str(name).encode()
            columns[name] = _to_dates(pa.array(column, from_pandas=True))
        except UnicodeEncodeError:
            raise SchemaError(
                f"The column {name!r} holds half of a surrogate pair, which UTF-8 cannot carry: replace it first."
            ) from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SchemaError(
                f"The column {name!r} holds mixed values, or some that files cannot hold: make it text or numbers."
            ) from None
    table = cast_to_file_types(pa.table(columns))
    for name, column in zip(table.column_names, table.columns, strict=True):
        # Python and the text form of dates have no other years.
        years = pc.min_max(pc.year(column)) if pa.types.is_temporal(column.type) else None
        if years and years["min"].is_valid and not MINYEAR <= years["min"].as_py() <= years["max"].as_py() <= MAXYEAR:
            raise SchemaError(
                f"The column {name!r} holds a date outside of the years {MINYEAR} to {MAXYEAR}: correct it or leave it "
                "empty."
            )
    return table


def cast_to_file_types(table: pa.Table) -> pa.Table:
    """Return an Arrow table with ``string``, ``int64``, ``double``, ``bool``, ``timestamp[us, UTC]`` or date columns.

    Raises
    ------
    SchemaError
        A column has another type, or the cast would lose data.
    """
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        target = _file_type(name, column.type)
        if target is None:
            raise SchemaError(
                f"The column {name!r} holds {column.type}: make it text, a number, true or false, a date or an aware "
                "datetime."
            )
        try:
            columns[name] = column.cast(target)
        except pa.ArrowInvalid:
            raise SchemaError(f"The column {name!r} does not fit {target} without a loss.") from None
    return pa.table(columns)


def pandas_array(column: pa.ChunkedArray, dtype: str) -> Any:  # noqa: ANN401 - an array of pandas
    """Return a column as a writable array of a dtype of the schema."""
    array = schema.parse_dtype(dtype).__from_arrow__(column)
    return array.copy() if dtype == schema.INSTANT else array  # instants may share Arrow's read-only memory


def is_among(texts: pd.Series[str], others: pd.Series[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which texts are among others; a null is if these have one. `Series.isin` takes 20 times as long."""
    values, known = (pa.array(each, pa.large_string(), from_pandas=True) for each in (texts, others))
    found: np.ndarray[Any, np.dtype[np.bool_]] = pc.is_in(values, value_set=known).to_numpy(zero_copy_only=False)
    return found


def repeat_text(text: str | None, length: int) -> pa.ChunkedArray:
    """Return a text, repeated; the chunks share their memory."""
    chunk = pa.repeat(pa.scalar(text, pa.large_string()), min(length, _CHUNK_ROWS))
    chunks = [chunk] * (length // _CHUNK_ROWS) + [chunk[: length % _CHUNK_ROWS]]
    return pa.chunked_array(chunks if length else [], pa.large_string())


def with_microseconds(table: pa.Table) -> pa.Table:
    """Return payments with three more columns: both dates as microseconds since 1970, and their difference."""
    created, completed = (table[name].cast(pa.int64()) for name in ("date_created", "date_completed"))
    for name, column in zip(MICROSECONDS, (created, completed, pc.subtract(completed, created)), strict=True):
        table = table.append_column(name, column)
    return table


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame of ``str``, ``Int64``, ``float64``, ``boolean`` and ``datetime64[us, UTC]``.

    Dates are ``datetime64[us]`` without a zone, as the analyses return them.
    """
    text = pd.StringDtype(na_value=float("nan"))
    dtypes = {
        pa.string(): text,
        pa.large_string(): text,
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    types = {field.name: field.type for field in table.schema}
    for name, found in types.items():
        if pa.types.is_dictionary(found):
            types[name] = found.value_type
        elif pa.types.is_date(found):  # pandas has no dates
            types[name] = pa.timestamp("us")
    plain = table.cast(pa.schema(list(types.items())))
    frame: pd.DataFrame = plain.to_pandas(types_mapper=dtypes.get, ignore_metadata=True)
    return frame


def frame_of_polars(frame: pl.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return a Polars frame with the columns of a schema as a pandas frame in its dtypes."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()
    columns = {
        name: pandas_array(pa.chunked_array([frame[name].to_arrow(compat_level=oldest)]), dtype)
        for name, dtype in dtypes.items()
    }
    return pd.DataFrame(columns, copy=False)


def to_polars(frame: pd.DataFrame) -> pl.DataFrame:
    """Return a pandas frame in the dtypes of a schema as a Polars frame."""
    import polars as pl

    columns = {str(name): pa.array(column, from_pandas=True) for name, column in frame.items()}
    return pl.DataFrame(pl.from_arrow(pa.table(columns)))


def _to_dates(column: pa.Array) -> pa.Array:
    """Return datetimes without a zone as dates if each is a midnight, as in a pandas frame; other columns unchanged."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    dates = column.cast(pa.date32())
    return dates if pc.all(pc.equal(dates.cast(column.type), column), min_count=0).as_py() else column


def _file_type(name: str, found: pa.DataType) -> pa.DataType | None:
    """Return the type in files for a type in memory, None where there is none."""
    if pa.types.is_dictionary(found):
        return _file_type(name, found.value_type)
    kinds = (
        (pa.types.is_null, type_without_values(name)),
        (pa.types.is_string, pa.string()),
        (pa.types.is_large_string, pa.string()),
        (pa.types.is_string_view, pa.string()),
        (pa.types.is_integer, pa.int64()),
        (pa.types.is_floating, pa.float64()),
        (pa.types.is_boolean, pa.bool_()),
        (pa.types.is_date, pa.date32()),
        (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, pa.timestamp("us", "UTC")),
    )
    return next((target for is_kind, target in kinds if is_kind(found)), None)
