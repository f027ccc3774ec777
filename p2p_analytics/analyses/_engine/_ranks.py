"""Values at a rank of each group, by an aggregate of the engine where it has an exact one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _duckdb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHOLE: Final = 100


class Rank(NamedTuple):
    """A rank among the n sorted values of a group: ceil(percent / 100 * n), from the smallest or from the largest."""

    percent: int
    from_largest: bool = False


def find_ranked(
    frame: nw.LazyFrame[Any], keys: Sequence[str], value: str, ranks: Mapping[str, Rank]
) -> nw.LazyFrame[Any]:
    """Return one row per group: its number of ``rows``, and the values at ranks of an integer column without nulls."""
    if frame.implementation.is_polars():
        return _find_in_polars(frame, keys, value, ranks)
    if frame.implementation.is_duckdb():
        return _find_in_duckdb(frame, keys, value, ranks)
    return _find_in_counts(frame, keys, value, ranks)


def _find_in_polars(
    frame: nw.LazyFrame[Any], keys: Sequence[str], value: str, ranks: Mapping[str, Rank]
) -> nw.LazyFrame[Any]:
    import polars as pl

    values = pl.col(value).sort()
    found = {"rows": pl.len().cast(pl.Int64)}
    for name, rank in ranks.items():
        place = (pl.len().cast(pl.Int64) * rank.percent + _WHOLE - 1) // _WHOLE
        found[name] = values.get(pl.len().cast(pl.Int64) - place if rank.from_largest else place - 1)
    table: nw.LazyFrame[Any] = nw.from_native(frame.to_native().group_by(*keys).agg(**found))
    return table


def _find_in_duckdb(
    frame: nw.LazyFrame[Any], keys: Sequence[str], value: str, ranks: Mapping[str, Rank]
) -> nw.LazyFrame[Any]:
    column, groups = _duckdb.quote(value), [_duckdb.quote(key) for key in keys]
    found = ["count(*) AS rows"]
    found += [
        f"{sign}quantile_disc({sign}{column}, {rank.percent / _WHOLE}) AS {_duckdb.quote(name)}"
        for name, rank in ranks.items()
        for sign in ["-" if rank.from_largest else ""]
    ]
    relation = frame.to_native().aggregate(", ".join([*groups, *found]), ", ".join(groups))
    table: nw.LazyFrame[Any] = nw.from_native(relation)
    return table


def _find_in_counts(
    frame: nw.LazyFrame[Any], keys: Sequence[str], value: str, ranks: Mapping[str, Rank]
) -> nw.LazyFrame[Any]:
    """Find values from the number of rows of each distinct one; Spark would keep all rows of a group in memory."""
    col = nw.col
    counts = frame.group_by(*keys, value).agg(_count=nw.len()).with_columns(col("_count").cast(nw.Int64()))
    ranked = counts.with_columns(
        _seen=col("_count").cum_sum().over(*keys, order_by=value).cast(nw.Int64()),
        rows=col("_count").sum().over(*keys).cast(nw.Int64()),
    )
    reached = {}
    for name, rank in ranks.items():
        whole = col("rows") * (_WHOLE - rank.percent if rank.from_largest else rank.percent)
        seen = col("_seen") * _WHOLE
        reached[name] = nw.when(seen > whole if rank.from_largest else seen >= whole).then(col(value))
    return ranked.with_columns(**reached).group_by(*keys).agg(*(col(name).min() for name in ["rows", *ranks]))
