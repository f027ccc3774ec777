"""Usual values: rows that have nothing else need no further check, and Parquet files say so in their statistics."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _columns
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narwhals.dtypes import DType

CENTS: Final = 2**26  # the largest amount, with either sign
FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
END: Final = datetime(2050, 1, 1, tzinfo=UTC)


def list_amounts(names: Iterable[str]) -> list[str]:
    """Return the columns of cents."""
    return [name for name in names if _columns.find_kind(name) == frames.WHOLE]


def list_dates(names: Iterable[str]) -> list[str]:
    """Return the columns of instants."""
    return [name for name in names if _columns.find_kind(name) == frames.INSTANT]


def count_unusual(frame: nw.LazyFrame[Any], *, with_currency: bool) -> tuple[int, int]:
    """Return the number of rows, and of those with an unusual amount, date, or currency if that matters.

    These are two queries: within one, Polars would read the columns once for both, and could not leave out parts of
    Parquet files by their statistics.
    """
    schema = frame.collect_schema()
    amounts = [nw.col(name) for name in list_amounts(schema)]
    conditions = [(amount > CENTS) | (amount < -CENTS) for amount in amounts]
    for name in list_dates(schema):
        if (bounds := _find_bounds(schema[name])) is None:
            return 0, 1
        conditions.append((nw.col(name) < bounds[0]) | (nw.col(name) >= bounds[1]))
    if with_currency and {"currency", "source"} & {*schema}:
        conditions.append(_is_unusual_currency([*schema]))
    found = frame.filter(reduce(operator.or_, conditions)) if conditions else frame.head(0)
    rows, others = (int(part.select(rows=nw.len()).collect()["rows"][0]) for part in (frame, found))
    return rows, others


def _find_bounds(dtype: DType) -> tuple[date, date] | None:
    """Return the bounds of usual dates in the type of a column; None if engines cannot compare it."""
    if isinstance(dtype, nw.Date):
        return date(FIRST.year, 1, 1), date(END.year, 1, 1)
    if not isinstance(dtype, nw.Datetime) or dtype.time_zone not in {None, "UTC"}:
        return None
    return (FIRST, END) if dtype.time_zone else (FIRST.replace(tzinfo=None), END.replace(tzinfo=None))


def _is_unusual_currency(names: list[str]) -> nw.Expr:
    if not {"currency", "source"} <= {*names}:
        return code_expression(names) != US_DOLLARS
    code = nw.col("currency").cast(nw.String())
    return (code != US_DOLLARS) | code.is_null()  # statistics of two columns would be of no use
