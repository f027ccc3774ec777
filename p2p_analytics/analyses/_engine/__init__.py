"""What an analysis may use.

An analysis is written once: a chain of narwhals expressions on a lazy frame. `open_frame` checks the caller's frame
and returns the columns of the payments that count; `to_result` returns the table as the caller's kind of frame.
Between the two,

- an instant is a whole number of microseconds since 1970 in UTC, and a date a whole number of days, so that no engine
  applies a time zone; periods of a zone are computed in Python (`_parts.calendar`) and compared as numbers;
- amounts stay cents, and times microseconds, until the last step: the kinds of the result's columns (`units`, `days`)
  state what they are divided by, except where Python makes the rows;
- ``.agg`` holds only ``nw.len()`` and plain ``sum``, ``min``, ``max``, ``count``, ``mean`` of a column, because pandas
  silently ignores a condition there, and others fail;
- ``clip`` does not occur, because engines disagree on nulls in it;
- counts and sums are cast to 64 bits after they are made (`integers`); sorting comes last, by a unique key;
- a small result may be finished on Polars, whatever the engine (`collect_here`);
- what narwhals lacks, or does slowly, is a step of each engine: `add_quotient`, `find_ranked`, `list_parts`.

tests/analyses/engines/test_narwhals_subset.py lists every function and method of narwhals that analyses may use.

One folder per engine has the same files: ``frames`` reads the columns of a frame, ``queries`` has the steps in words
of the engine, ``results`` makes the caller's kind of frame. `_engines.Engine` states what a folder contains. A pandas
frame is computed by Polars: it hands its columns over through Arrow, mostly without a copy, so ``_pandas`` has no
``queries``. A folder is imported when the first frame of its kind comes, because DuckDB and PySpark are optional.
"""

from p2p_analytics.analyses._engine._engines import is_text_column, read_names
from p2p_analytics.analyses._engine._expressions import (
    integers,
    normalise,
    normalise_text,
    person_key,
    share,
    text_key,
)
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
from p2p_analytics.analyses._engine._open import add_text_column, open_frame
from p2p_analytics.analyses._engine._queries import (
    add_quotient,
    build_in_parts,
    collect,
    collect_here,
    find_ranked,
    keep_small,
    list_parts,
)
from p2p_analytics.analyses._engine._ranks import Rank, Ranked
from p2p_analytics.analyses._engine._results import build_result, build_rows, to_result

__all__ = [
    "COUNT",
    "DATE",
    "FLAG",
    "INSTANT",
    "NUMBER",
    "TEXT",
    "WHOLE",
    "Kind",
    "Rank",
    "Ranked",
    "add_quotient",
    "add_text_column",
    "build_in_parts",
    "build_result",
    "build_rows",
    "collect",
    "collect_here",
    "days",
    "find_ranked",
    "integers",
    "is_text_column",
    "keep_small",
    "list_parts",
    "normalise",
    "normalise_text",
    "open_frame",
    "person_key",
    "read_names",
    "share",
    "text_key",
    "to_result",
    "units",
    "whole_days",
]
