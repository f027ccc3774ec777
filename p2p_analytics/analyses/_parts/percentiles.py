"""Percentiles and medians of groups, exact on every engine: from the number of rows of each distinct value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHOLE: Final = 100


def find_percentiles(
    frame: nw.LazyFrame[Any], keys: Sequence[str], value: str, percents: Mapping[str, int]
) -> nw.LazyFrame[Any]:
    """Return one row per group with the percentiles of an integer column that has no nulls.

    A percentile is the value at rank ceil(percent / 100 * n) of the n sorted values.

    Parameters
    ----------
    frame : LazyFrame
    keys : sequence of str
        The columns that make a group; null is a value of its own.
    value : str
    percents : mapping of str to int
        The percent of each column of the result.
    """
    ranked = _rank(frame, keys, value)
    reached = {
        name: nw.when(nw.col("_seen") * _WHOLE >= nw.col("_rows") * percent).then(nw.col(value))
        for name, percent in percents.items()
    }
    return ranked.with_columns(**reached).group_by(*keys).agg(*(nw.col(name).min() for name in percents))


def find_medians(frame: nw.LazyFrame[Any], keys: Sequence[str], value: str) -> nw.LazyFrame[Any]:
    """Return one row per group with ``lower`` and ``upper``, the middle values of an integer column without nulls.

    Both are the same value where the number of rows is odd. The median is their mean.
    """
    seen, rows = nw.col("_seen") * 2, nw.col("_rows")
    middle = {"lower": nw.when(seen >= rows).then(nw.col(value)), "upper": nw.when(seen > rows).then(nw.col(value))}
    return (
        _rank(frame, keys, value)
        .with_columns(**middle)
        .group_by(*keys)
        .agg(nw.col("lower").min(), nw.col("upper").min())
    )


def _rank(frame: nw.LazyFrame[Any], keys: Sequence[str], value: str) -> nw.LazyFrame[Any]:
    """Return the distinct values of each group with the number of rows up to each, and of all."""
    counts = frame.group_by(*keys, value).agg(_count=nw.len()).with_columns(nw.col("_count").cast(nw.Int64()))
    return counts.with_columns(
        _seen=nw.col("_count").cum_sum().over(*keys, order_by=value).cast(nw.Int64()),
        _rows=nw.col("_count").sum().over(*keys).cast(nw.Int64()),
    )
