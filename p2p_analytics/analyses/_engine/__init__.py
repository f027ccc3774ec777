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

One module per engine reads the columns of a frame, has the steps in words of the engine, and makes the caller's kind
of frame; `_engines.Engine` states its functions. A pandas frame is computed by Polars: it hands its columns over
through Arrow, mostly without a copy. A module is imported when the first frame of its kind comes, because DuckDB and
PySpark are optional.
"""

from p2p_analytics.analyses._engine._engines import is_text_column as is_text_column
from p2p_analytics.analyses._engine._engines import list_names as list_names
from p2p_analytics.analyses._engine._expressions import integers as integers
from p2p_analytics.analyses._engine._expressions import name_key as name_key
from p2p_analytics.analyses._engine._expressions import normalise as normalise
from p2p_analytics.analyses._engine._expressions import normalise_text as normalise_text
from p2p_analytics.analyses._engine._expressions import person_key as person_key
from p2p_analytics.analyses._engine._expressions import received_cents as received_cents
from p2p_analytics.analyses._engine._expressions import share as share
from p2p_analytics.analyses._engine._expressions import text_key as text_key
from p2p_analytics.analyses._engine._kinds import COUNT as COUNT
from p2p_analytics.analyses._engine._kinds import DATE as DATE
from p2p_analytics.analyses._engine._kinds import FLAG as FLAG
from p2p_analytics.analyses._engine._kinds import INSTANT as INSTANT
from p2p_analytics.analyses._engine._kinds import NUMBER as NUMBER
from p2p_analytics.analyses._engine._kinds import TEXT as TEXT
from p2p_analytics.analyses._engine._kinds import WHOLE as WHOLE
from p2p_analytics.analyses._engine._kinds import Kind as Kind
from p2p_analytics.analyses._engine._kinds import days as days
from p2p_analytics.analyses._engine._kinds import units as units
from p2p_analytics.analyses._engine._kinds import whole_days as whole_days
from p2p_analytics.analyses._engine._open import add_text_column as add_text_column
from p2p_analytics.analyses._engine._open import open_frame as open_frame
from p2p_analytics.analyses._engine._queries import add_quotient as add_quotient
from p2p_analytics.analyses._engine._queries import build_in_parts as build_in_parts
from p2p_analytics.analyses._engine._queries import collect as collect
from p2p_analytics.analyses._engine._queries import collect_here as collect_here
from p2p_analytics.analyses._engine._queries import find_ranked as find_ranked
from p2p_analytics.analyses._engine._queries import keep_small as keep_small
from p2p_analytics.analyses._engine._queries import list_parts as list_parts
from p2p_analytics.analyses._engine._ranks import Rank as Rank
from p2p_analytics.analyses._engine._ranks import Ranked as Ranked
from p2p_analytics.analyses._engine._results import build_result as build_result
from p2p_analytics.analyses._engine._results import build_rows as build_rows
from p2p_analytics.analyses._engine._results import to_result as to_result
