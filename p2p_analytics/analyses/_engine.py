"""Conversion of input frames to narwhals, and of results back to the caller's kind of frame.

Between the two, an analysis is one chain of narwhals expressions on a lazy frame. It uses only
expressions that give the same result on every engine: inside ``.agg`` only ``nw.len()`` and plain
``sum``, ``min``, ``max``, ``count``, ``mean`` of a column (pandas silently ignores a condition
there); keys without nulls before ``group_by``; counts and sums cast to 64 bits after it; time as
integer microseconds, compared with numbers that are computed in Python; sorting last, by a unique
key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT


class Kind(NamedTuple):
    """The type of a result column: its narwhals dtype and its pandas dtype."""

    dtype: DType
    pandas: str


TEXT: Final = Kind(nw.String(), "str")
COUNT: Final = Kind(nw.Int64(), "int64")
WHOLE_DAYS: Final = Kind(nw.Int64(), "Int64")
NUMBER: Final = Kind(nw.Float64(), "float64")
FLAG: Final = Kind(nw.Boolean(), "boolean")
INSTANT: Final = Kind(nw.Datetime("us", "UTC"), "datetime64[us, UTC]")

_DTYPES: Final[Mapping[str, DType]] = {
    frames.TEXT: nw.String(),
    frames.WHOLE: nw.Int64(),
    frames.INSTANT: nw.Datetime("us", "UTC"),
}

_TIMES: Final = {"created_us": "date_created", "completed_us": "date_completed"}

# Null keys are grouped under a text that no data holds: this code point is never a character.
_NO_KEY: Final = "\ufdd0"


def open_frame(native: IntoFrame, needed: Sequence[str], *, what: str) -> nw.LazyFrame[Any]:
    """Return the needed columns of a frame, with categoricals as text and untyped nulls cast to the schema's dtype.

    Raises
    ------
    SchemaError
        The input is not a pandas or Polars frame, lacks a needed column, or has two columns with one name.
    """
    try:
        frame = nw.from_native(native).lazy()
    except TypeError:
        raise SchemaError(f"{what} needs a pandas or Polars frame, not {type(native).__name__}.") from None
    except DuplicateError:
        raise SchemaError(f"{what} needs a frame with distinct column names; rename or drop one.") from None
    if not (frame.implementation.is_pandas() or frame.implementation.is_polars()):
        raise SchemaError(f"{what} needs a pandas or Polars frame, not one of {frame.implementation.value}.")
    schema = frame.collect_schema()
    wanted = list(needed)
    needed = [_TIMES.get(name, name) for name in wanted]
    frames.require(schema.names(), needed, what=what)
    texts = {name: nw.String() for name in needed if isinstance(schema[name], (nw.Categorical, nw.Enum))}
    # A column with only nulls may lack a dtype, and then cannot be compared with anything.
    untyped = {name: _DTYPES[frames.PAYMENTS.get(name, frames.TEXT)] for name in needed if schema[name] == nw.Unknown}
    typed = frame.select(*dict.fromkeys(needed)).with_columns(
        nw.col(name).cast(to) for name, to in {**texts, **untyped}.items()
    )
    return typed.with_columns(
        nw.col(date).dt.timestamp("us").alias(name) for name, date in _TIMES.items() if name in wanted
    )


def to_result(frame: nw.LazyFrame[Any], like: IntoFrameT, schema: Mapping[str, Kind]) -> IntoFrameT:
    """Return a result as the caller's kind of frame, with exactly the schema's columns and dtypes."""
    table = frame.select(*schema)
    if table.implementation.is_pandas():
        # Some results come back from narwhals as objects or nullable floats.
        native: Any = table.collect().to_native().reset_index(drop=True)
        return native.astype({name: kind.pandas for name, kind in schema.items()})  # type: ignore[no-any-return]
    cast = table.select(nw.col(name).cast(kind.dtype) for name, kind in schema.items())
    result: Any = cast if _is_lazy(like) else cast.collect()
    return result.to_native()  # type: ignore[no-any-return]


def is_text_column(native: IntoFrame, name: str) -> bool:
    """Return whether a frame has this column and the column may hold text."""
    dtype = nw.from_native(native).lazy().collect_schema().get(name)
    return not (dtype is None or dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, nw.Boolean))


def build_rows(
    frame: nw.LazyFrame[Any], rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
) -> nw.LazyFrame[Any]:
    """Return literal rows as a frame of the same engine as ``frame``, for a join."""
    dtypes = {name: kind.dtype for name, kind in schema.items()}
    return nw.from_dict(dict(rows), schema=dtypes, backend=frame.implementation).lazy()


def replace_null_keys(*names: str) -> nw.Expr:
    """Return key columns for ``group_by``, with nulls replaced by a placeholder."""
    return nw.col(*names).fill_null(_NO_KEY)


def restore_null_keys(*names: str) -> list[nw.Expr]:
    """Return key columns with the placeholder replaced by nulls."""
    return [nw.when(nw.col(name) != _NO_KEY).then(nw.col(name)).alias(name) for name in names]


def cents(name: str) -> nw.Expr:
    """Return a column of cents as 64-bit integers without nulls; an unknown amount is 0."""
    return nw.col(name).fill_null(0).cast(nw.Int64())


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


def _is_lazy(native: IntoFrame) -> bool:
    return isinstance(nw.from_native(native), nw.LazyFrame)
