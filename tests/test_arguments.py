"""Checks that several packages share have one rule and one message."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.arguments import check_top, parse_duration
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows


@pytest.mark.parametrize(("top", "rows"), [(1, 1), (np.int8(3), 3), (2**70, 2**70)])
def test_a_whole_number_from_one_is_a_number_of_rows(top, rows: int) -> None:
    """Any integer type counts, of any size; the result is a plain int."""
    assert (check_top(top), type(check_top(top))) == (rows, int)


@pytest.mark.parametrize("top", [0, -1, True, 2.0, "3", None, pd.NA])
def test_anything_else_is_refused_in_one_sentence(top) -> None:
    """The value is quoted, by analyses and plots too."""
    spent = p2p.spend_by_friend(frame_from_rows([], PAYMENTS))
    for call in (check_top, lambda top: p2p.plots.spend_by_friend(spent, top=top)):
        with pytest.raises(ConfigurationError) as raised:
            call(top)
        assert str(raised.value) == f"top={top!r} is not valid: give the number of rows, 1 or more."


def test_durations() -> None:
    """A timedelta, or a number with a unit; neither negative nor too long."""
    for given, seconds in (("90s", 90), ("1.5min", 90), ("6 h", 21_600), ("2d", 172_800), (timedelta(0), 0)):
        assert parse_duration("within", given) == timedelta(seconds=seconds)
    for wrong in ("", "5", "-1s", "1 week", "9999999999d", timedelta(-1), 5, "\uff11s"):
        with pytest.raises(ConfigurationError, match=r"^within=.* is not a duration: give a timedelta, or text like "):
            parse_duration("within", wrong)
