"""Columns of Polars frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import polars as pl

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from p2p_analytics.analyses._engine._kinds import Selection

    Frame = pl.DataFrame | pl.LazyFrame

_FARTHEST_MS: Final = 2**62 // 1000
_OUTSIDE: Final = 2**63 - 1  # an instant that the check of dates refuses


def check(native: Frame, what: str) -> None:
    """Do nothing: Polars has no session."""


def read_names(native: Frame) -> list[str]:
    """Return the names of the columns, by a query of the schema."""
    return native.lazy().collect_schema().names()


def is_text_column(native: Frame, name: str) -> bool:
    """Return whether a column is text, a categorical, or has only nulls."""
    dtype = native.lazy().collect_schema()[name]
    return dtype in {pl.String, pl.Null} or isinstance(dtype, (pl.Categorical, pl.Enum))


def read(native: Frame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
    """Return columns without a change."""
    _ = what
    return nw.from_native(native.lazy().select(selection.names))


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
