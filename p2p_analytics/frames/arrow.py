"""The five column types that files hold, and the dtypes they come back as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_KNOWN: Final = {**schema.PROBLEMS, **schema.FRIENDS, **schema.PAYMENTS}
_ENDINGS: Final = {"_id": schema.TEXT, "_cents": schema.CENTS}


def type_of_name(name: str) -> pa.DataType | None:
    """Return the type that a column of this name always has, None where the name does not tell."""
    import pyarrow as pa

    dtype = _KNOWN.get(name) or next((dtype for end, dtype in _ENDINGS.items() if name.endswith(end)), None)
    types = {schema.TEXT: pa.string(), schema.CENTS: pa.int64(), schema.INSTANT: pa.timestamp("us", "UTC")}
    return types[dtype] if dtype else None


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return a pandas frame as an Arrow table in the types of `plain`, without its index.

    Raises
    ------
    SchemaError
        The names do not tell the columns apart, or a column holds something that files cannot.
    """
    import pyarrow as pa

    names = list(frame.columns)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise SchemaError("To be written, a frame needs columns with different names of text; reset_index() may help.")
    columns = {}
    for name in names:
        try:
            name.encode()
            columns[name] = pa.array(frame[name], from_pandas=True)
        except UnicodeEncodeError:
            raise SchemaError(
                f"The column {name!r} holds half of a surrogate pair, which UTF-8 cannot carry: replace it first."
            ) from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SchemaError(
                f"The column {name!r} holds mixed values, or some that files cannot hold: make it text or numbers."
            ) from None
    return plain(pa.table(columns))


def plain(table: pa.Table) -> pa.Table:
    """Return an Arrow table in ``string``, ``int64``, ``double``, ``bool`` and ``timestamp[us, UTC]`` alone.

    Raises
    ------
    SchemaError
        A column is of another kind, or loses something on the way.
    """
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        target = _plain_type(name, column.type)
        if target is None:
            raise SchemaError(
                f"The column {name!r} holds {column.type}: make it text, a number, true or false, or an aware datetime."
            )
        try:
            columns[name] = column.cast(target)
        except pa.ArrowInvalid:
            raise SchemaError(f"The column {name!r} does not fit {target} without a loss.") from None
    return pa.table(columns)


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame of ``str``, ``Int64``, ``float64``, ``boolean`` and ``datetime64[us, UTC]``."""
    import pandas as pd
    import pyarrow as pa

    dtypes = {
        pa.string(): pd.StringDtype(na_value=float("nan")),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=dtypes.get, ignore_metadata=True)
    return frame


def _plain_type(name: str, found: pa.DataType) -> pa.DataType | None:
    import pyarrow as pa

    if pa.types.is_dictionary(found):
        return _plain_type(name, found.value_type)
    kinds = (
        (pa.types.is_null, type_of_name(name) or pa.string()),  # nothing but nulls: the name tells, or it is text
        (pa.types.is_string, pa.string()),
        (pa.types.is_large_string, pa.string()),
        (pa.types.is_string_view, pa.string()),
        (pa.types.is_integer, pa.int64()),
        (pa.types.is_floating, pa.float64()),
        (pa.types.is_boolean, pa.bool_()),
        (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, pa.timestamp("us", "UTC")),
    )
    return next((target for is_kind, target in kinds if is_kind(found)), None)
