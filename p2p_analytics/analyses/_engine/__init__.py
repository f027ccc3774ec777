"""Conversion of input frames to narwhals, and of results back to the caller's kind of frame.

Polars frames, DuckDB relations and PySpark frames are computed by their own engine. A pandas frame is computed by
Polars: it hands its columns over through Arrow, mostly without a copy, and gets its result back as pandas. Between the
two, an analysis is one chain of narwhals expressions on a lazy frame, in which

- an instant is a whole number of microseconds since 1970 in UTC, and a date a whole number of days, so that no engine
  applies a time zone of its own; periods of a zone are worked out in Python and compared as numbers;
- ``.agg`` holds only ``nw.len()`` and plain ``sum``, ``min``, ``max``, ``count``, ``mean`` of a column, because pandas
  silently ignores a condition there, and others fail;
- ``clip`` does not occur, because engines disagree on nulls in it;
- a small result may be finished on Polars, whatever the engine: `collect_here`;
- counts and sums are cast to 64 bits after they are made; sorting comes last, by a unique key;
- amounts stay cents, and times microseconds, until the last step: the kinds of the result's columns say by what they
  are divided, except where Python makes the rows.
"""

from p2p_analytics.analyses._engine._engines import (
    build_result,
    build_rows,
    collect,
    collect_here,
    is_text_column,
    keep_small,
    read_names,
    to_result,
)
from p2p_analytics.analyses._engine._expressions import (
    add_quotient,
    integers,
    normalise,
    normalise_text,
    person_key,
    share,
    text_key,
)
from p2p_analytics.analyses._engine._groups import add_group, encode
from p2p_analytics.analyses._engine._kinds import (
    COUNT,
    DATE,
    FLAG,
    INSTANT,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    days,
    units,
    whole_days,
)
from p2p_analytics.analyses._engine._open import open_frame
from p2p_analytics.analyses._engine._pandas import PreparedPandas
from p2p_analytics.analyses._engine._ranks import Rank, Ranked, find_ranked
from p2p_analytics.analyses._engine._slices import (
    build_in_slices,
    copy_texts,
    count_rows,
    cut_by_hash,
    keep,
    read_in_slices,
    sort,
    sort_in_slices,
)
from p2p_analytics.analyses._engine._text_column import add_text_column

__all__ = [
    "COUNT",
    "DATE",
    "FLAG",
    "INSTANT",
    "NUMBER",
    "TEXT",
    "WHOLE",
    "Kind",
    "PreparedPandas",
    "Rank",
    "Ranked",
    "add_group",
    "add_quotient",
    "add_text_column",
    "build_in_slices",
    "build_result",
    "build_rows",
    "collect",
    "collect_here",
    "copy_texts",
    "count_rows",
    "cut_by_hash",
    "days",
    "encode",
    "find_ranked",
    "integers",
    "is_text_column",
    "keep",
    "keep_small",
    "normalise",
    "normalise_text",
    "open_frame",
    "person_key",
    "read_in_slices",
    "read_names",
    "share",
    "sort",
    "sort_in_slices",
    "text_key",
    "to_result",
    "units",
    "whole_days",
]
