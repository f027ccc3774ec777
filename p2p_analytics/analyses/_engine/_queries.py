"""Steps of a query that an engine computes, and their rows in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
from narwhals.stable.v2.dependencies import is_duckdb_relation, is_polars_lazyframe
from narwhals.stable.v2.typing import IntoFrame

from p2p_analytics.analyses._engine._engines import find_computing_engine, find_engine
from p2p_analytics.analyses._engine._ranks import Ranked
from p2p_analytics.frames.schema import refuse_failing_query


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with a column of whole numbers divided by a number above 0, rounded down; null stays null."""
    return find_computing_engine(frame).add_quotient(frame, name, dividend, divisor)


def find_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group, with the number of its ``values``."""
    return find_computing_engine(frame).find_ranked(frame, wanted)


def collect(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.DataFrame[Any]:
    """Return the rows of a query on the caller's frame, in Arrow for an engine without frames in memory.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    with refuse_failing_query(native, what=what):
        return frame.collect()


def collect_here(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return the rows of a query on the caller's frame as a Polars frame in this process, to finish a small result.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    found = collect(frame, native, what=what).to_native()
    return nw.from_native(found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)).lazy()


def keep_small(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return a small table with exact ranks in memory for DuckDB, unchanged for other engines.

    DuckDB keeps all values for a rank: beside other parts of a query that are short of memory, it fills the disk.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not is_duckdb_relation(native):
        return frame
    return find_engine(native, what=what).load_table(native, collect(frame, native, what=what).to_arrow())


def list_parts(
    frame: nw.LazyFrame[Any], native: IntoFrame, *, by: Sequence[str], rows: int, what: str
) -> list[nw.LazyFrame[Any]]:
    """Return a lazy query of Polars or DuckDB in parts of about ``rows`` rows, which are read one after another.

    Rows with the same first text of the columns ``by`` are in one part. Other frames are one part.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not (is_polars_lazyframe(native) or is_duckdb_relation(native)):
        return [frame]
    (number,) = collect(frame.select(nw.len()), native, what=what).row(0)
    parts = -(-number // rows)
    return [frame] if parts <= 1 else find_engine(native, what=what).cut(frame, by, parts)


def build_in_parts(  # noqa: PLR0913 - the query, and how it is divided
    frame: nw.LazyFrame[Any],
    native: IntoFrame,
    build: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]],
    *,
    by: Sequence[str],
    rows: int,
    what: str,
) -> nw.LazyFrame[Any]:
    """Return what ``build`` returns for a frame; a row of it depends only on rows with the same text in ``by``.

    A large query of Polars is read in parts, because Polars keeps all rows of a window in memory; the results of the
    parts are kept. DuckDB and Spark move such rows to disk.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    parts = list_parts(frame, native, by=by, rows=rows, what=what) if is_polars_lazyframe(native) else [frame]
    if len(parts) == 1:
        return build(frame)
    found: nw.LazyFrame[Any] = nw.concat([collect_here(build(part), native, what=what) for part in parts])
    return found
