"""Wrong arguments and frames without a needed column: each analysis refuses them at the call, in one sentence."""

import re
from functools import partial
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError, SchemaError

AS_OF = "2024-06-30T12:00:00Z"
WRONG = {
    "tz": ({"tz": "Mars/Base"}, "tz must be a zone name .*, not 'Mars/Base'"),
    "as_of": ({"as_of": "soon"}, "as_of='soon' is not an instant: give a datetime"),
    "within": ({"within": "6 hours"}, "within='6 hours' is not a duration: give a timedelta, or text like '10min'"),
    "every": ({"every": "months"}, "every='months' is not valid: give .*'month'"),
    "top": ({"top": np.int64(0)}, "give the number of rows"),
}
CASES = [
    (name, *WRONG[argument]) for name in ANALYSES for argument in signature(getattr(p2p, name)).parameters
    if argument in WRONG
]  # fmt: skip
EDGES = [np.array([1.5]), np.array([True]), (), (0, 1), (-1,), (7, 1), (1, 1), (1.5,), (True,), "17", 7, None]
CASES += [("pending_ageing", {"edges": edges}, "give whole days from 1") for edges in EDGES]
CASES += [
    ("spending_over_time", {"by": "person"}, "by='person' is not valid: give .*'category'"),
    ("time_to_settle", {"by": "payments"}, "is a column of the result"),
    ("time_to_settle", {"by": "directoin"}, "did you mean 'dir"),
]


def call(name, frame, **options):
    """Return the table of an analysis; some need the instant at which ages end."""
    known = {"as_of": AS_OF} if "as_of" in signature(getattr(p2p, name)).parameters else {}
    return partial(getattr(p2p, name), frame)(**known | options)


@pytest.mark.parametrize("at", range(len(CASES)))
def test_a_wrong_argument(build, at):
    """The sentence names the argument and its value, and what to give."""
    name, options, said = CASES[at]
    with pytest.raises(ConfigurationError, match=said) as caught:
        call(name, build([]), **options)
    assert "\n" not in str(caught.value)


def compute(name, frame):
    """Return the table of an analysis, or the sentence that refuses the frame."""
    try:
        return call(name, frame)
    except (ConfigurationError, SchemaError) as error:
        return str(error)


ONE_ROW = [{"direction": "in", "flow_cents": 100, "amount_cents": 100, "audience": "public"}]


def check_without(columns, name, frame):
    """Check that a frame without columns gives the same table, or is refused by the name of the first."""
    found = compute(name, frame.drop(columns=columns))
    if isinstance(found, str):
        assert re.search(rf"(columns |by='){columns[0]}", found)
    else:
        pd.testing.assert_frame_equal(found, call(name, frame))
    return found


@pytest.mark.parametrize("name", ANALYSES)
def test_needed_columns(build, name):
    """A frame without a needed column is refused by its name; without all the others it gives the same table."""
    frame, needed = build(ONE_ROW), []
    while isinstance(found := compute(name, frame[needed]), str):
        needed += [column for column in frame if re.search(rf"(columns |, |by='){column}\b", found)]
    pd.testing.assert_frame_equal(found, call(name, frame))
    assert sum(isinstance(check_without([column], name, frame), str) for column in needed) > 1


@pytest.mark.full
@pytest.mark.parametrize("name", ANALYSES)
def test_each_column(build, name):
    """A frame without any one column gives the same table, or is refused by the name of the column."""
    frame = build(ONE_ROW)
    for column in frame:
        check_without([column], name, frame)
