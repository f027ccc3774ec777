"""Values at a rank of each group: what to find, and a way that suits every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import narwhals.stable.v2 as nw

_PART_OF_ROW: Final = 1e-13  # less than one value as a share of all, and more than an error of rounding


class Rank(NamedTuple):
    """A rank among the n sorted values of a group: ceil(percent / 100 * n), from the smallest or from the largest.

    The percentage is 1 to 100.
    """

    percent: int
    from_largest: bool = False


LARGEST: Final = Rank(100)  # the largest value, which needs no order of the others


class Ranked(NamedTuple):
    """What to find in each group of rows.

    Attributes
    ----------
    keys : sequence of str
        The columns that separate groups.
    value : str
        An integer column; nulls are ignored.
    ranks : mapping of str to Rank
        Columns of the result, with values at ranks; null in a group without values. Polars returns floats, which are
        exact up to 2**53: amounts are not larger, and times become days, which are floats.
    sums, last : sequence of str
        Columns to add up, and columns to find the largest value of.
    """

    keys: Sequence[str]
    value: str
    ranks: Mapping[str, Rank]
    sums: Sequence[str] = ()
    last: Sequence[str] = ()


def find_share(rank: Rank) -> float:
    """Return the share such that ceil(share * n) is the place of the rank among n values, from the smallest."""
    if not rank.from_largest:
        return rank.percent / 100 - _PART_OF_ROW
    return (100 - rank.percent) / 100 + _PART_OF_ROW


def count_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group: values are found from the number of rows of each distinct value."""
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
        whole = col("values") * (100 - rank.percent if rank.from_largest else rank.percent)
        seen = col("_seen") * 100
        reached[name] = nw.when(seen > whole if rank.from_largest else seen >= whole).then(col(value))
    found = ranked.with_columns(**reached).group_by(*keys)
    return found.agg(*others, *(col(name).min() for name in ["values", *ranks]))
