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


def count_slices(frame: nw.LazyFrame[Any], native: IntoFrame, *, rows: int, what: str) -> int:
    """Return in how many slices of at most a number of rows to read a lazy frame of Polars; 1 for other frames.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not is_polars_lazyframe(native):
        return 1
    (number,) = collect(frame.select(nw.len()), native, what=what).row(0)
    return max(1, -(-int(number) // rows))


def keep(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return the rows of a query on Polars in memory.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    import polars as pl

    with refuse_failing_query(native, what=what):
        table = frame.to_native().collect(engine="streaming")
    # Texts of a few rows are views of buffers that hold those of all; Arrow's older layout has a copy.
    kept: nw.LazyFrame[Any] = nw.from_native(pl.DataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))).lazy()
    return kept


def cut(
    frame: nw.LazyFrame[Any], values: nw.LazyFrame[Any], *, on: str, key: str, slices: int
) -> list[nw.LazyFrame[Any]]:
    """Return parts of a Polars frame: each has the rows with some values of a column ``on``.

    ``values`` has each value, and its key; values of one key are together.
    """
    import polars as pl

    chosen = values.to_native().with_columns(pl.col(key).hash(seed=0) % slices)
    rows = frame.to_native()
    return [nw.from_native(rows.join(chosen.filter(pl.col(key) == at), on=on, how="semi")) for at in range(slices)]


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
    slices = count_slices(frame, native, rows=rows, what=what)
    if slices == 1:
        return build(frame)
    # The key of each value once: not for every row of every slice.
    values = collect(frame.select(column).unique().with_columns(key.alias(_KEY)), native, what=what).lazy()
    parts = cut(frame, values, on=column, key=_KEY, slices=slices)
    found: nw.LazyFrame[Any] = nw.concat([keep(build(part), native, what=what) for part in parts])
    return found
