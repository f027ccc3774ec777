"""The door every analysis goes in and out by: any supported frame in, a table of the same kind out.

Between the two, an analysis is one chain of narwhals expressions on a lazy frame. It keeps to the
spellings that give one answer on every engine: inside ``.agg`` only ``nw.len()`` and plain
``sum``, ``min``, ``max``, ``count``, ``mean`` of a column (a condition there is silently ignored
on pandas); keys without nulls before ``group_by``; counts and sums back to 64 bits after it; time
as integer microseconds that are compared with numbers worked out in Python; sorting last, down to
a unique key.
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
    """What a result column holds, for every engine and by its pandas dtype."""

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
    frames.WORD: nw.String(),
    frames.CENTS: nw.Int64(),
    frames.INSTANT: nw.Datetime("us", "UTC"),
}

# Null keys are grouped under a word that no data holds: this code point is never a character.
_NO_KEY: Final = "\ufdd0"


def opened(native: IntoFrame, needed: Sequence[str], *, what: str) -> nw.LazyFrame[Any]:
    """Return the needed columns of a frame: categoricals as text, untyped nulls with the dtype of their column.

    Raises
    ------
    SchemaError
        It is no pandas or Polars frame, lacks a needed column, or has two columns of one name.
    """
    try:
        frame = nw.from_native(native).lazy()
    except TypeError:
        raise SchemaError(f"{what} needs a pandas or Polars frame, not {type(native).__name__}.") from None
    except DuplicateError:
        raise SchemaError(f"{what} needs a frame whose columns have different names; rename or drop one.") from None
    if not (frame.implementation.is_pandas() or frame.implementation.is_polars()):
        raise SchemaError(f"{what} needs a pandas or Polars frame, not one of {frame.implementation.value}.")
    schema = frame.collect_schema()
    frames.require(schema.names(), needed, what=what)
    plain = {name: nw.String() for name in needed if isinstance(schema[name], (nw.Categorical, nw.Enum))}
    # A column of nothing but nulls may have no dtype of its own, and then fits no comparison.
    bare = {name: _DTYPES[frames.PAYMENTS.get(name, frames.TEXT)] for name in needed if schema[name] == nw.Unknown}
    return frame.select(*needed).with_columns(nw.col(name).cast(to) for name, to in {**plain, **bare}.items())


def finished(frame: nw.LazyFrame[Any], like: IntoFrameT, schema: Mapping[str, Kind]) -> IntoFrameT:
    """Return the result as the caller's kind of frame, with exactly the schema's columns and dtypes."""
    table = frame.select(*schema)
    if table.implementation.is_pandas():
        # Some results come back from narwhals as objects or nullable floats.
        native: Any = table.collect().to_native().reset_index(drop=True)
        return native.astype({name: kind.pandas for name, kind in schema.items()})  # type: ignore[no-any-return]
    cast = table.select(nw.col(name).cast(kind.dtype) for name, kind in schema.items())
    result: Any = cast if _is_lazy(like) else cast.collect()
    return result.to_native()  # type: ignore[no-any-return]


def text_column(native: IntoFrame, name: str) -> bool:
    """Return whether a frame has such a column, and it may hold text."""
    dtype = nw.from_native(native).lazy().collect_schema().get(name)
    return not (dtype is None or dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, nw.Boolean))


def rows_like(
    frame: nw.LazyFrame[Any], rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
) -> nw.LazyFrame[Any]:
    """Return a few literal rows as a frame that can be joined with ``frame``."""
    dtypes = {name: kind.dtype for name, kind in schema.items()}
    return nw.from_dict(dict(rows), schema=dtypes, backend=frame.implementation).lazy()


def keyed(*names: str) -> nw.Expr:
    """Return key columns with their nulls replaced, ready for ``group_by``."""
    return nw.col(*names).fill_null(_NO_KEY)


def unkeyed(*names: str) -> list[nw.Expr]:
    """Return the key columns with their nulls back."""
    return [nw.when(nw.col(name) != _NO_KEY).then(nw.col(name)).alias(name) for name in names]


def cents(name: str) -> nw.Expr:
    """Return a column of cents as plain 64-bit integers, an amount that is not known as 0."""
    return nw.col(name).fill_null(0).cast(nw.Int64())


def integers(names: Iterable[str]) -> nw.Expr:
    """Return counts and sums as 64-bit integers; engines widen them or, after a join, turn them to floats."""
    return nw.col(*names).fill_null(0).cast(nw.Int64())


def units(name: str) -> nw.Expr:
    """Return a column of cents as currency units, which is the last step of every amount."""
    # Polars multiplies by the inverse of a scalar divisor, which is off in the last digit; a column divides exactly.
    return nw.col(name) / (nw.col(name) * 0 + 100)


def share(part: str, whole: nw.Expr) -> nw.Expr:
    """Return a column as a part of a whole, 0 where the whole is 0."""
    column = nw.col(part) * 0 + whole  # for the reason given in units
    return nw.when(column != 0).then(nw.col(part) / column).otherwise(0.0)


def _is_lazy(native: IntoFrame) -> bool:
    return isinstance(nw.from_native(native), nw.LazyFrame)
