"""Values at a rank of each group, by an aggregate of the engine where it has an exact one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _duckdb
from p2p_analytics.analyses._engine._groups import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

_WHOLE: Final = 100
_PART_OF_ROW: Final = 1e-13  # a share of the values that is less than one of them, and more than an error of rounding


class Rank(NamedTuple):
    """A rank among the n sorted values of a group: ceil(percent / 100 * n), from the smallest or from the largest.

    The percentage is 1 to 100.
    """

    percent: int
    from_largest: bool = False


_LARGEST: Final = Rank(_WHOLE)  # the largest value, which is found without the order of the others


class Ranked(NamedTuple):
    """What to find in each group of rows.

    Attributes
    ----------
    keys : sequence of str
        The columns that separate groups.
    value : str
        An integer column; nulls are no values.
    ranks : mapping of str to Rank
        Columns of the result, of values at ranks; null in a group without values. Polars gives floats, which are exact
        up to 2**53: amounts are not larger, and times become days, which are floats.
    sums, last : sequence of str
        Columns to add up, and columns of which to find the greatest value.
    """

    keys: Sequence[str]
    value: str
    ranks: Mapping[str, Rank]
    sums: Sequence[str] = ()
    last: Sequence[str] = ()


def find_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group, with the number of its ``values``."""
    if frame.implementation.is_polars():
        return _find_in_polars(frame, wanted)
    if frame.implementation.is_duckdb():
        return _find_in_duckdb(frame, wanted)
    return _find_in_counts(frame, wanted)


def _find_in_polars(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    import polars as pl

    keys, value, ranks, sums, last = wanted
    table = (
        encode(frame, keys)
        .to_native()
        .group_by(*keys)
        .agg(
            *(pl.col(name).sum() for name in sums),
            *(pl.col(name).max() for name in last),
            values=pl.col(value).count().cast(pl.Int64),
            **{name: _select_in_polars(pl.col(value), rank) for name, rank in ranks.items()},
        )
        .select(pl.col(*keys).cast(pl.String), *sums, *last, "values", *ranks)
    )
    result: nw.LazyFrame[Any] = nw.from_native(table)
    return result


def _select_in_polars(column: pl.Expr, rank: Rank) -> pl.Expr:
    """Return the value at a rank as a float: selected in less time than it takes to sort all values."""
    if rank == _LARGEST:
        return column.max().cast(float)
    return column.quantile(_find_share(rank), "equiprobable")


def _find_in_duckdb(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    keys, value, ranks, sums, last = wanted
    column, groups = _duckdb.quote(value), [_duckdb.quote(key) for key in keys]
    found = [f"count({column}) AS values"]
    found += [f"{function}({each}) AS {each}" for function, names in (("sum", sums), ("max", last)) for each in names]
    found += [f"max({column}) AS {_duckdb.quote(name)}" for name, rank in ranks.items() if rank == _LARGEST]
    listed = {name: rank for name, rank in ranks.items() if rank != _LARGEST}
    shares = ", ".join(f"{_find_share(rank):.13f}" for rank in listed.values())
    # One list of ranks: with a second aggregate that keeps all values, DuckDB fills the disk when memory is short.
    found += [
        f"quantile_disc({column}, [{shares}])[{at}] AS {_duckdb.quote(name)}" for at, name in enumerate(listed, start=1)
    ]
    relation = frame.to_native().aggregate(", ".join([*groups, *found]), ", ".join(groups))
    table: nw.LazyFrame[Any] = nw.from_native(relation)
    return table


def _find_share(rank: Rank) -> float:
    """Return the share for which ceil(share * n) is the place of the rank among n values, from the smallest."""
    if not rank.from_largest:
        return rank.percent / _WHOLE - _PART_OF_ROW
    return (_WHOLE - rank.percent) / _WHOLE + _PART_OF_ROW


def _find_in_counts(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Find values from the number of rows of each distinct one; Spark would keep all rows of a group in memory."""
    keys, value, ranks, sums, last = wanted
    col = nw.col
    others = [*(col(name).sum() for name in sums), *(col(name).max() for name in last)]
    counts = frame.with_columns(_value=col(value)).group_by(*keys, value).agg(*others, _count=col("_value").count())
    ranked = counts.with_columns(
        _seen=col("_count").cum_sum().over(*keys, order_by=value).cast(nw.Int64()),
        values=col("_count").sum().over(*keys).cast(nw.Int64()),
    )
    reached = {}
    for name, rank in ranks.items():
        whole = col("values") * (_WHOLE - rank.percent if rank.from_largest else rank.percent)
        seen = col("_seen") * _WHOLE
        reached[name] = nw.when(seen > whole if rank.from_largest else seen >= whole).then(col(value))
    found = ranked.with_columns(**reached).group_by(*keys)
    return found.agg(*others, *(col(name).min() for name in ["values", *ranks]))
