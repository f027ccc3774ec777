"""Steps of a query in the words of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

from p2p_analytics.analyses._engine._ranks import count_ranked
from p2p_analytics.analyses._engine._spark.frames import check, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import narwhals.stable.v2 as nw
    from pyspark.sql import DataFrame

    from p2p_analytics.analyses._engine._kinds import Usual

find_ranked = count_ranked  # Spark's percentiles keep all rows of a group in memory


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: whole numbers divided by a number above 0, rounded down."""
    return frame.with_columns((dividend // divisor).alias(name))


def find_unusual(frame: nw.LazyFrame[Any], usual: Mapping[str, Usual], what: str) -> tuple[int, set[str]]:
    """Return the number of rows, and the columns with an unusual value; the session is checked, too."""
    native: DataFrame = frame.to_native()
    check(native, what)
    counts = {"": functions.count("*").alias("rows")}
    for name, (first, last, with_null) in usual.items():
        column = functions.col(quote(name))
        outside = (column < first) | (column > last)
        outside = outside if with_null else outside | column.isNull()
        counts[name] = functions.count_if(outside).alias(name)
    rows, *found = native.agg(*counts.values()).toArrow().to_pylist()[0].values()
    return rows, {name for name, number in zip(usual, found, strict=True) if number}


def cut(frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:
    """Return the whole frame: Spark distributes large queries itself."""
    _ = by, parts
    return [frame]
