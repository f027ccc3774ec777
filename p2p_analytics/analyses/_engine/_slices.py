"""Large queries of Polars, computed slice by slice: it keeps all rows of a window function in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_polars_lazyframe

from p2p_analytics.analyses._engine._engines import collect
from p2p_analytics.frames.schema import refuse_failing_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from narwhals.stable.v2.typing import IntoFrame

    Build = Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]

_KEY = "slice_key"


def build_in_slices(  # noqa: PLR0913 - the query, and how it is divided
    frame: nw.LazyFrame[Any], native: IntoFrame, build: Build, *, column: str, key: nw.Expr, rows: int, what: str
) -> nw.LazyFrame[Any]:
    """Return what ``build`` returns for a frame.

    A Polars query with more than a number of rows is read several times, each time those with some values of a text
    column, of which those with one key are read together; ``build`` has to treat each key by itself. What it returns
    for them is kept in memory, and each distinct value. Rows with a null in the column may be left out.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not is_polars_lazyframe(native):
        return build(frame)
    (number,) = collect(frame.select(nw.len()), native, what=what).row(0)
    slices = -(-int(number) // rows)
    if slices <= 1:
        return build(frame)
    import polars as pl

    # The key of each value once: not for every row of every slice.
    keyed = collect(frame.select(column).unique().with_columns(key.alias(_KEY)), native, what=what).to_native()
    values = keyed.select(column, pl.col(_KEY).hash(seed=0) % slices)
    tables = []
    with refuse_failing_query(native, what=what):
        for at in range(slices):
            chosen = values.filter(pl.col(_KEY) == at).lazy()
            some = frame.to_native().join(chosen, on=column, how="semi")
            table = build(nw.from_native(some)).to_native().collect(engine="streaming")
            # Texts of a few rows are views of buffers that hold those of all; Arrow's older layout has a copy.
            tables.append(pl.DataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())))
    found: nw.LazyFrame[Any] = nw.from_native(pl.concat(tables)).lazy()
    return found
