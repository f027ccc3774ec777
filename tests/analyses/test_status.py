"""Tests of payments by status."""

import re

import pytest
from analyses.conftest import read_rows, read_values

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
    )
    table = read_rows(status_mix(frame))
    assert list(table[0]) == ["action", "status", "payments", "share", "amount", "share_of_amount"]
    assert [tuple(row.values()) for row in table] == [
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


@pytest.mark.parametrize("by", ["date_of_trip", "all_payments", "by_value", "values", "a.b", "self"])
def test_a_column_of_the_users_own(convert, build, by):
    """``by`` may be any text column, whatever its name."""
    frame = build([{"amount_cents": 100}, {"amount_cents": 300}, {}])
    frame[by] = ["x", "x", None]
    assert read_values(status_mix(convert(frame), by=by)) == [
        ("x", "settled", 2, 1.0, 4.0, 1.0),
        (None, "settled", 1, 1.0, 0.0, 0.0),
    ]


@pytest.mark.parametrize(
    "by", ["nonsense", "amount_cents", "fee_cents", "date_created", "status", "share", None, ["action"]]
)
def test_by_is_a_text_column(build, by):
    """A ``by`` that does not name another text column of the frame is refused in one sentence."""
    with pytest.raises(ConfigurationError, match="'action'"):
        status_mix(build([{}]), by=by)


@pytest.mark.parametrize(
    ("by", "advice"),
    [
        # Some engine cannot distinguish these by their names.
        ("Share", "differs from the column 'share' of the result in capital letters only: rename it"),
        ("*", "is a pattern of several columns: rename it"),
        ("^a.*$", "is a pattern of several columns: rename it"),
        ("", "is a column without a name: rename it"),
        (
            "statuss",
            "is not a text column of the frame: the result has 'status' anyway, so name another, like 'action'",
        ),
        ("actoin", "is not a text column of the frame: did you mean 'action'"),
        ("Direction", "is not a text column of the frame: did you mean 'direction'"),
    ],
)
def test_a_refused_name(build, by, advice):
    """The error says why, or names the column that it is nearest to."""
    frame = build([{"amount_cents": 100}])
    if "rename" in advice:
        frame = frame.assign(**{by: ["x"]})
    with pytest.raises(ConfigurationError, match=re.escape(f"by={by!r} {advice}")):
        status_mix(frame, by=by)


def test_missing_columns_are_named(build):
    """A frame without a needed column is refused, and the message names the column."""
    with pytest.raises(SchemaError, match="needs the columns status, amount_cents;"):
        status_mix(build([]).drop(columns=["status", "amount_cents"]))
