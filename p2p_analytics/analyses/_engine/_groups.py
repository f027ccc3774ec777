"""Groups of rows by numbers in place of texts, where an engine has them."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP: Final = "group_hash"


def add_group(frame: nw.LazyFrame[Any], names: Sequence[str]) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Return a frame, and the columns in which rows are equal if they are equal in columns that have no nulls.

    For Polars that is one more column, a hash, which takes less memory than texts; a few other rows may be equal in it.
    """
    if not frame.implementation.is_polars():
        return frame, list(names)
    import polars as pl

    # Another seed for each column: else equal values in two of them would cancel each other out.
    hashes = [pl.col(name).hash(seed=at) for at, name in enumerate(names)]
    grouped = frame.to_native().with_columns(reduce(operator.xor, hashes).alias(_GROUP))
    return nw.from_native(grouped), [_GROUP]


def encode(frame: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Return a frame with texts as codes of Polars, which take a quarter of the memory where values repeat."""
    if not frame.implementation.is_polars():
        return frame
    import polars as pl

    encoded: nw.LazyFrame[Any] = nw.from_native(frame.to_native().with_columns(pl.col(*names).cast(pl.Categorical)))
    return encoded
