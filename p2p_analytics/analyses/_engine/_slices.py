"""Large queries, slice by slice: Polars keeps all rows of a window function in memory, and Python all that it reads."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_polars_lazyframe

from p2p_analytics.analyses._engine import _polars
from p2p_analytics.analyses._engine._duckdb import quote
from p2p_analytics.analyses._engine._engines import collect, collect_here
from p2p_analytics.frames.schema import refuse_failing_query

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import polars as pl
    from narwhals.stable.v2.typing import IntoFrame

    Build = Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]]

_KEY = "slice_key"
_ROWS_IN_ORDER = 100_000  # of a batch, and of a part, for which the search for series takes 0.2 GB
_ROWS_OF_PLAN = 10_000_000  # of the caller's frame; with 50 million, a sort in the plan takes 1.1 GB
_LARGEST = 2**63 - 1


def count_rows(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> int:
    """Return the number of rows of a lazy frame of Polars; 0 for other frames, which are not read in parts.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not is_polars_lazyframe(native):
        return 0
    (number,) = collect(frame.select(nw.len()), native, what=what).row(0)
    return int(number)


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
    # Columns of a few rows lie in buffers made for all; Arrow's older layout, written and read, has buffers of its own.
    stream = table.write_ipc_stream(None, compat_level=pl.CompatLevel.oldest())
    del table
    stream.seek(0)
    kept: nw.LazyFrame[Any] = nw.from_native(pl.read_ipc_stream(stream)).lazy()
    return kept


def copy_texts(frame: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Return a frame after a filter that keeps few rows, without the buffers of all: texts of Polars are views of them.

    A query would keep them to its end.
    """
    if not frame.implementation.is_polars():
        return frame
    import polars as pl

    copies = [pl.concat_str(pl.col(name), pl.lit("")).alias(name) for name in names]  # null stays null
    copied: nw.LazyFrame[Any] = nw.from_native(frame.to_native().with_columns(copies))
    return copied


def cut_by_hash(frame: nw.LazyFrame[Any], names: Sequence[str], slices: int) -> list[nw.LazyFrame[Any]]:
    """Return parts of a Polars frame: each has the rows with some values of the first text of columns."""
    if slices <= 1:
        return [frame]
    import polars as pl

    rows, key = frame.to_native(), pl.coalesce(*names).hash(seed=0) % slices
    return [nw.from_native(rows.filter(key == at)) for at in range(slices)]


def sort(frame: nw.LazyFrame[Any], native: IntoFrame, names: Sequence[str], *, what: str) -> nw.LazyFrame[Any]:
    """Return rows in the order of columns; nulls are last.

    A small query stays one: steps that the caller adds, such as ``head``, make it faster. One of a large frame of
    Polars, or of rows in memory, is sorted as a whole, which takes two thirds of the memory.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not frame.implementation.is_polars():
        return frame.sort(*names, nulls_last=True)
    if is_polars_lazyframe(native) and count_rows(nw.from_native(native), native, what=what) <= _ROWS_OF_PLAN:
        return frame.sort(*names, nulls_last=True)
    return _polars.sort(frame, names)


def sort_in_slices(
    frame: nw.LazyFrame[Any], native: IntoFrame, names: Sequence[str], *, slices: int, what: str
) -> nw.LazyFrame[Any]:
    """Return a frame with the largest of the first column first, then by the others from the smallest; nulls last.

    A Polars frame may be sorted in slices, one after another, which take less memory: by parts of the first column,
    whole numbers of at most 2**62.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    order: dict[str, Any] = {"descending": [True, *(False for _ in names[1:])], "nulls_last": True}
    if slices <= 1:
        return frame.sort(*names, **order)
    import polars as pl

    values = pl.col(names[0])
    cuts = [values.quantile(at / slices, "nearest").cast(pl.Int64).alias(str(at)) for at in range(1, slices)]
    with refuse_failing_query(native, what=what):
        (found,) = frame.to_native().select(cuts).collect(engine="streaming").rows()
    bounds = sorted({bound for bound in found if bound is not None}, reverse=True)
    of_slices = [values.is_between(low, high, closed="right") for high, low in pairwise([_LARGEST, *bounds, -_LARGEST])]
    parts = [nw.from_native(frame.to_native().filter(each)) for each in (*of_slices, values.is_null())]
    table: nw.LazyFrame[Any] = nw.concat([keep(part.sort(*names, **order), native, what=what) for part in parts])
    return table


def read_in_slices(  # noqa: PLR0913 - the query, and how it is divided
    frame: nw.LazyFrame[Any], native: IntoFrame, build: Build, *, names: Sequence[str], rows: int, what: str
) -> Generator[pl.DataFrame, None, None]:
    """Yield the rows of what ``build`` returns for a frame, in Polars.

    They are divided by the first text of columns, which ``build`` keeps; it has to treat each value by itself. A Polars
    query of more than a number of rows is read several times, each time those with some values. DuckDB reads the rows
    once, in the order of values, and ``build`` gets some of them at a time, in Polars: it may return a row several
    times that it would return once for all.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if frame.implementation.is_duckdb():
        with closing(_read_in_order(frame, native, build, names, what=what)) as parts:
            yield from parts
        return
    for part in cut_by_hash(frame, names, -(-count_rows(frame, native, what=what) // rows)):
        yield collect_here(build(part), native, what=what).collect().to_native()


def _read_in_order(
    frame: nw.LazyFrame[Any], native: IntoFrame, build: Build, names: Sequence[str], *, what: str
) -> Generator[pl.DataFrame, None, None]:
    """Yield what ``build`` returns for a DuckDB query, in parts: all with some values of the first text of columns."""
    import polars as pl

    text, key = pl.coalesce(*names).fill_null(""), pl.col(_KEY)
    keyed = frame.to_native().project(f"*, hash(coalesce({', '.join(map(quote, names))})) AS {_KEY}")
    with refuse_failing_query(native, what=what):
        reader = keyed.order(_KEY).to_arrow_reader(_ROWS_IN_ORDER)
    read = pl.DataFrame()
    with reader:  # the connection refuses other queries until it is closed
        while True:
            with refuse_failing_query(native, what=what):
                batch = next(reader, None)
            if batch is None:
                break
            rows = pl.DataFrame(batch)
            built = build(nw.from_native(rows.drop(_KEY).lazy())).collect().to_native()
            read = pl.concat([read, built]) if len(read) else built
            if len(read) >= _ROWS_IN_ORDER:
                goes_on = text.is_in(rows.filter(key == rows.item(-1, _KEY)).select(text).to_series().unique())
                part, read = read.filter(~goes_on), read.filter(goes_on)
                del batch, rows, built  # beside the search for series
                if len(part):
                    yield part
    if len(read):
        yield read


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
    slices = -(-count_rows(frame, native, what=what) // rows)
    if slices <= 1:
        return build(frame)
    # The key of each value once: not for every row of every slice.
    values = keep(frame.select(column).unique().with_columns(key.alias(_KEY)), native, what=what)
    chosen = [part.to_native() for part in cut_by_hash(values, [_KEY], slices)]
    parts: list[nw.LazyFrame[Any]] = [
        nw.from_native(frame.to_native().join(some, on=column, how="semi")) for some in chosen
    ]
    found: nw.LazyFrame[Any] = nw.concat([keep(build(part), native, what=what) for part in parts])
    return found
