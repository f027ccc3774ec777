"""Every analysis gives the table of pandas on every engine: payments that break analyses, in the dtypes of users."""

from functools import cache

import pytest
from analyses.conftest import read_rows

from p2p_analytics.errors import SchemaError
from support.analyses.calls import CALLS, pick
from support.analyses.containers import ENGINES, LAYOUTS, make_table, to_pandas
from support.analyses.records import HOSTILE, make_town

FRAMES = {**HOSTILE, "a town": lambda: make_town(3)}
# A layout for each frame; `make soak` tries all layouts with all frames.
CHOSEN = {
    "no rows": "as loaded",
    "one row": "categories",
    "one row of nothing": "as loaded",
    "nothing settled": "naive dates",
    "a mixture": "categories",
    "without ids": "another order",
    "notes": "large text",
    "huge amounts": "as loaded",
    "first years": "naive dates",
    "last years": "as loaded",
    "bursts": "dates of New York",
    "nothing but zeros": "nanoseconds",
    "names alike": "chunks",
    "euros of another kind": "as loaded",
    "a town": "another order",
}


def compute(call, frame):
    """Return the rows of a table, or the sentence that refuses the frame."""
    try:
        return read_rows(call(frame))
    except SchemaError as error:
        return str(error)


@cache
def find_expected(name):
    """Return the tables of a pandas frame as a load gives it."""
    frame = to_pandas(make_table(FRAMES[name](), {}))
    return {label: compute(call, frame) for label, call in CALLS.items()}


def compare(name, layout, engine, calls):
    """Compare the tables of a frame; the ids of `categorise` are in the order of the rows."""
    frame = ENGINES[engine](LAYOUTS[layout](FRAMES[name]()))
    for label, call in calls.items():
        if layout != "another order" or not label.startswith("categorise"):
            assert compute(call, frame) == find_expected(name)[label], label


# An eager frame of Polars is read as a lazy one.
@pytest.mark.parametrize(
    "engine", [pytest.param(each, marks=pytest.mark.all_frames) if each == "Polars" else each for each in ENGINES]
)
@pytest.mark.parametrize("name", FRAMES)
def test_engines_agree(name, engine):
    """Row for row and cent for cent, in the same order, or in the same words."""
    compare(name, CHOSEN[name], engine, pick(list(FRAMES).index(name)))


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
