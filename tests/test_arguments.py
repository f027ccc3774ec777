"""Checks that several packages share have one rule and one message."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.arguments import check_top
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows

NO_PAYMENTS = frame_from_rows([], PAYMENTS)


@pytest.mark.parametrize(("top", "rows"), [(1, 1), (np.int8(3), 3), (2**70, 2**70)])
def test_a_whole_number_from_one_is_a_number_of_rows(top, rows: int) -> None:
    """Any integer type counts, of any size; the result is a plain int."""
    assert check_top(top) == rows
    assert type(check_top(top)) is int


@pytest.mark.parametrize("top", [0, -1, True, 2.0, "3", None, pd.NA])
def test_anything_else_is_refused_in_one_sentence(top) -> None:
    """The value is quoted. True is no number of rows, nor is a float or text."""
    with pytest.raises(ConfigurationError) as raised:
        check_top(top)
    assert str(raised.value) == f"top={top!r} is not valid: give the number of rows, 1 or more."


def test_analyses_and_plots_give_the_same_message() -> None:
    """One wrong value gives one sentence, whichever function it is passed to."""
    spent = p2p.spend_by_friend(NO_PAYMENTS)
    requests = p2p.pending_requests(NO_PAYMENTS, as_of="2024-05-31")
    messages = set()
    for call in (
        lambda: p2p.spend_by_friend(NO_PAYMENTS, top=0),
        lambda: p2p.plots.spend_by_friend(spent, top=0),
        lambda: p2p.plots.pending_requests(requests, top=0),
    ):
        with pytest.raises(ConfigurationError) as raised:
            call()
        messages.add(str(raised.value))
    assert messages == {"top=0 is not valid: give the number of rows, 1 or more."}
