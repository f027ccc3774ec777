"""Tests of spending_over_time against hand calculation, on every kind of frame."""

import pytest
from analyses.conftest import read_values

from p2p_analytics.analyses.spending import spending_over_time


def make_payment(cents, completed, **more):
    """Return a settled payment, received if the cents are positive."""
    direction = "in" if (cents or 0) > 0 else "out"
    row = {"counterparty_id": "1", "counterparty_name": "Ann", "flow_cents": cents, "direction": direction}
    return row | {"completed": completed} | more


def read(table):
    """Return the rows as tuples, with each period as a date text."""
    return [(period and f"{period:%Y-%m-%d}", *values) for period, *values in read_values(table)]


@pytest.mark.parametrize(
    ("every", "third", "periods"),
    [
        ("day", "2024-01-03", ["2023-12-31", "2024-01-01", "2024-01-02", "2024-01-03"]),
        ("week", "2024-01-15", ["2023-12-25", "2024-01-01", "2024-01-08", "2024-01-15"]),
        ("month", "2024-03-01", ["2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01"]),
        ("quarter", "2024-07-01", ["2023-10-01", "2024-01-01", "2024-04-01", "2024-07-01"]),
        ("year", "2026-01-01", ["2023-01-01", "2024-01-01", "2025-01-01", "2026-01-01"]),
    ],
)
def test_each_period(payments, every, third, periods):
    """The first moment of 2024 is a Monday, and the first of every kind of period; the one after it is empty."""
    frame = payments(
        make_payment(-300, "2023-12-31T23:59:59.999999Z"),
        make_payment(150, "2024-01-01T00:00:00Z"),
        make_payment(None, "2024-01-01T23:00:00Z"),
        make_payment(-7, f"{third}T00:00:00Z"),
        make_payment(-999, "2027-01-05T00:00:00Z", status="pending"),
        make_payment(-999, "2027-01-05T00:00:00Z", direction=None),
        make_payment(-999, "2027-01-05T00:00:00Z", kind="transfer"),
    )
    sums = [(3.0, 0.0, -3.0, 1), (0.0, 1.5, 1.5, 2), (0.0, 0.0, 0.0, 0), (0.07, 0.0, -0.07, 1)]
    assert read(spending_over_time(frame, every=every)) == [
        (period, *row) for period, row in zip(periods, sums, strict=True)
    ]


@pytest.mark.parametrize(
    ("every", "day", "first"),
    [
        ("week", "2024-02-25", "2024-02-19"),  # a Sunday
        ("week", "1970-01-01", "1969-12-29"),
        ("month", "2024-02-29", "2024-02-01"),
        ("quarter", "2024-06-30", "2024-04-01"),
        ("year", "2024-12-31", "2024-01-01"),
    ],
)
def test_the_last_days_of_periods(build, every, day, first):
    """A period ends the day before the next one; a week of 1970 begins in 1969."""
    assert read(spending_over_time(build([make_payment(1, f"{day}T12:00:00Z")]), every=every))[0][0] == first


def test_gaps_and_dates_that_are_missing(payments):
    """A month without payments holds zeros; without a completion the creation counts; no date is a last row."""
    frame = payments(
        make_payment(-100, "2024-01-31T00:00:00Z"),
        make_payment(-200, None, created="2024-03-01T00:00:00Z"),
        make_payment(400, None),
        make_payment(-800, "1969-12-31T23:59:59Z"),
    )
    assert read(spending_over_time(frame)) == [
        ("2024-01-01", 1.0, 0.0, -1.0, 1),
        ("2024-02-01", 0.0, 0.0, 0.0, 0),
        ("2024-03-01", 2.0, 0.0, -2.0, 1),
        (None, 8.0, 4.0, -4.0, 2),
    ]


def test_by_counterparty(payments):
    """Every person is in every period, largest sent first, then by id; the later name of an id is everywhere."""
    frame = payments(
        make_payment(-100, "2024-01-10T00:00:00Z"),
        make_payment(-300, "2024-01-10T00:00:00Z", counterparty_id="2", counterparty_name="Bo"),
        make_payment(500, "2024-02-10T00:00:00Z", counterparty_name="Zoe"),
        make_payment(-50, "2024-02-10T00:00:00Z", counterparty_id=None, counterparty_name="Zoe"),
        make_payment(-4, None, counterparty_id=None, counterparty_name=None),
        make_payment(None, None),
    )
    assert read(spending_over_time(frame, by="counterparty")) == [
        ("2024-01-01", "2", "Bo", 3.0, 0.0, -3.0, 1),
        ("2024-01-01", "1", "Zoe", 1.0, 0.0, -1.0, 1),
        ("2024-01-01", None, "Zoe", 0.0, 0.0, 0.0, 0),
        ("2024-01-01", None, None, 0.0, 0.0, 0.0, 0),
        ("2024-02-01", None, "Zoe", 0.5, 0.0, -0.5, 1),
        ("2024-02-01", "1", "Zoe", 0.0, 5.0, 5.0, 1),
        ("2024-02-01", "2", "Bo", 0.0, 0.0, 0.0, 0),
        ("2024-02-01", None, None, 0.0, 0.0, 0.0, 0),
        (None, None, None, 0.04, 0.0, -0.04, 1),
        (None, "1", "Zoe", 0.0, 0.0, 0.0, 1),
        (None, "2", "Bo", 0.0, 0.0, 0.0, 0),
        (None, None, "Zoe", 0.0, 0.0, 0.0, 0),
    ]


def test_by_kind_and_action(payments):
    """By kind, rows of every kind count; null is a separate value."""
    frame = payments(
        make_payment(-100, "2024-01-10T00:00:00Z", action=None, kind="merchant"),
        make_payment(-300, "2024-01-10T00:00:00Z", kind="payment"),
        make_payment(500, "2024-01-10T00:00:00Z", action="charge", kind="payment"),
        make_payment(-7, "2024-01-10T00:00:00Z", action=None),
    )
    assert read(spending_over_time(frame, every="year", by="kind")) == [
        ("2024-01-01", "merchant", 1.0, 0.0, -1.0, 1),
        ("2024-01-01", "payment", 3.0, 5.0, 2.0, 2),
        ("2024-01-01", None, 0.07, 0.0, -0.07, 1),
    ]
    assert read(spending_over_time(frame, every="year", by="action")) == [
        ("2024-01-01", "charge", 0.0, 5.0, 5.0, 1),
        ("2024-01-01", "pay", 3.0, 0.0, -3.0, 1),
        ("2024-01-01", None, 0.07, 0.0, -0.07, 1),
    ]


def test_a_week_of_a_zone(payments):
    """Sunday, 23:59 in Honolulu is Monday in UTC."""
    frame = payments(make_payment(-100, "2024-01-08T09:59:00Z"))
    assert read(spending_over_time(frame, every="week"))[0][0] == "2024-01-08"
    assert read(spending_over_time(frame, every="week", tz="Pacific/Honolulu"))[0][0] == "2024-01-01"
