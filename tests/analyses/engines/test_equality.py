"""Every analysis gives the table of pandas on every engine: payments that break analyses, in the dtypes of users."""

from functools import cache

import pytest
from analyses.conftest import read_rows

from p2p_analytics.errors import SchemaError
from support.analyses.calls import CALLS, pick
from support.analyses.containers import ENGINES, LAYOUTS, make_table, to_pandas
from support.analyses.records import HOSTILE, make_town

FRAMES = {**HOSTILE, "a town": lambda: make_town(3)}


def compute(call, frame):
    """Return the rows of a table, or the sentence that refuses the frame."""
    try:
        return read_rows(call(frame))
    except SchemaError as error:
        return str(error)


@cache
def find_expected(name, label):
    """Return the table of a pandas frame as a load gives it."""
    return compute(CALLS[label], to_pandas(make_table(FRAMES[name](), {})))


def compare(name, layout, engine, calls):
    """Compare the tables of a frame; the ids of `categorise` are in the order of the rows."""
    frame = ENGINES[engine](LAYOUTS[layout](FRAMES[name]()))
    for label, call in calls.items():
        if layout != "another order" or not label.startswith("categorise"):
            assert compute(call, frame) == find_expected(name, label), label


def list_cases():
    """Return each frame with each engine; `make test` runs one of the engines with a frame, in turn.

    These are LazyFrame and DuckDB: an eager frame of Polars is read as a lazy one, and pandas is computed by Polars.
    A LazyFrame without rows is in `test_rules`.
    """
    usual = {name: ("LazyFrame", "DuckDB")[number % 2] for number, name in enumerate(FRAMES) if name != "no rows"}
    return [
        pytest.param(name, engine, marks=[] if usual.get(name) == engine else pytest.mark.all_frames)
        for name in FRAMES
        for engine in ("LazyFrame", "DuckDB", "pandas", "Polars")
    ]


@pytest.mark.parametrize(("name", "engine"), list_cases())
def test_engines_agree(name, engine):
    """Row for row and cent for cent, in the same order, or in the same words; `make soak` tries all layouts."""
    number = list(FRAMES).index(name)
    compare(name, list(LAYOUTS)[number % len(LAYOUTS)], engine, pick(number))


@pytest.mark.soak
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FRAMES)
def test_every_layout(name, layout):
    """All arguments and layouts on all engines."""
    if layout == "nanoseconds" and "years" in name:
        pytest.skip("nanoseconds cannot hold the years 1 and 9999")
    # Python has no date for the start of the year 1 in New York.
    is_unreadable = (name, layout) == ("first years", "dates of New York")
    calls = {label: call for label, call in CALLS.items() if not (is_unreadable and label.startswith("categorise"))}
    for engine in ENGINES:
        compare(name, layout, engine, calls)
