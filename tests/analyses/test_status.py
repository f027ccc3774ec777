"""Tests of payments by status."""

import re

import pandas as pd
import pytest
from analyses.conftest import read_values

from p2p_analytics.analyses import status_mix
from p2p_analytics.errors import ConfigurationError, SchemaError


def test_counts_and_amounts_by_action(payments):
    """The statuses of each action are sorted by frequency, with shares of that action."""
    frame = payments(
        {"action": "pay", "status": "failed", "amount_cents": 100},
        {"action": "pay", "status": "settled", "amount_cents": 250},
        {"action": "pay", "status": "settled", "amount_cents": 50},
        {"action": "pay", "status": "expired", "amount_cents": 0},
        {"action": "charge", "status": "pending", "amount_cents": -300},
        {"action": "charge", "status": "settled", "amount_cents": 100},
        {"action": "charge", "status": "settled", "amount_cents": 100, "kind": "card"},
    )
    assert read_values(status_mix(frame)) == [
        ("charge", "pending", 1, 0.5, 3.0, 0.75),
        ("charge", "settled", 1, 0.5, 1.0, 0.25),
        ("pay", "settled", 2, 0.5, 3.0, 0.75),
        ("pay", "expired", 1, 0.25, 0.0, 0.0),
        ("pay", "failed", 1, 0.25, 1.0, 0.25),
    ]


def test_unknown_words_and_nulls_are_kept(payments):
    """Unknown statuses and nulls have rows of their own; an unknown amount counts as 0."""
    frame = payments(
        {"medium": None, "status": None, "amount_cents": None},
        {"medium": None, "status": "on_hold", "amount_cents": 500},
        {"medium": "telex", "status": "settled", "amount_cents": None},
    )
    assert read_values(status_mix(frame, by="medium")) == [
        ("telex", "settled", 1, 1.0, 0.0, 0.0),
        (None, "on_hold", 1, 0.5, 5.0, 1.0),
        (None, None, 1, 0.5, 0.0, 0.0),
    ]


NO_TEXT = "is not a text column of the frame: "
OF_RESULT = "is a column of the result: name another text column, like 'action'"


@pytest.mark.parametrize(
    ("by", "advice"),
    [
        *((by, OF_RESULT) for by in ("amount_cents", "status", "share")),
        *((by, NO_TEXT) for by in ("nonsense", "fee_cents", "date_created", None, ["action"])),
        # Some engine cannot distinguish these by their names.
        ("Share", "differs from the column 'share' of the result in capital letters only: rename it"),
        ("*", "is a pattern of several columns: rename it"),
        ("^a.*$", "is a pattern of several columns: rename it"),
        ("", "is a column without a name: rename it"),
        ("statuss", f"{NO_TEXT}the result has 'status' anyway, so name another, like 'action'"),
        ("actoin", f"{NO_TEXT}did you mean 'action'"),
        ("Direction", f"{NO_TEXT}did you mean 'direction', or another like 'action'"),
    ],
)
def test_a_refused_name(build, by, advice):
    """Another column than a text column is refused; the error says why, or names the column that is nearest."""
    frame = build([{"amount_cents": 100}])
    if "rename" in advice:
        frame = frame.assign(**{by: ["x"]})
    with pytest.raises(ConfigurationError, match=re.escape(f"by={by!r} {advice}")):
        status_mix(frame, by=by)


def test_two_columns_of_one_name(build):
    """A frame with the column twice is refused as such."""
    frame = build([{"amount_cents": 100}])
    with pytest.raises(SchemaError, match="not two columns action; rename or drop one"):
        status_mix(pd.concat([frame, frame[["action"]]], axis=1))
