"""Tests of activity against hand calculation, on every kind of frame."""

import pytest
from analyses.conftest import read_values

from p2p_analytics.analyses.hours import activity


def make_payment(cents, created, **more):
    """Return a settled payment."""
    return {"direction": "out", "amount_cents": cents, "created": created} | more


def read(table):
    """Return the hours with payments, after a look at the others."""
    rows = read_values(table)
    assert [row[:2] for row in rows] == [(day, hour) for day in range(7) for hour in range(24)]
    assert all(amount == 0.0 for _, _, payments, amount in rows if not payments)
    return [row for row in rows if row[2]]


def test_hours_of_the_week(payments):
    """2024-05-06 is a Monday; both directions and charges count, without sign, by their creation."""
    frame = payments(
        make_payment(1000, "2024-05-06T00:00:00Z", completed="2024-05-09T12:00:00Z"),
        make_payment(-250, "2024-05-06T00:59:59.999999Z", direction="in", action="charge"),
        make_payment(None, "2024-05-06T01:00:00Z"),
        make_payment(3, "2024-05-13T01:30:00Z"),
        make_payment(None, "2024-05-09T12:00:00Z"),
        make_payment(7, "2024-05-12T23:59:59Z"),
        make_payment(999, "2024-05-06T12:00:00Z", status="pending"),
        make_payment(999, "2024-05-06T12:00:00Z", direction=None),
        make_payment(999, "2024-05-06T12:00:00Z", kind="card"),
        make_payment(999, None, completed="2024-05-06T12:00:00Z"),
        make_payment(999, "1969-12-31T23:59:59Z"),
        make_payment(999, "2200-01-01T00:00:00Z"),
    )
    assert read(activity(frame)) == [(0, 0, 2, 12.5), (0, 1, 2, 0.03), (3, 12, 1, 0.0), (6, 23, 1, 0.07)]
    assert read(activity(payments())) == []


@pytest.mark.parametrize(
    ("zone", "slots"),
    [
        ("UTC", [(3, 2, 1), (6, 5, 1), (6, 6, 1), (6, 7, 1)]),
        # On Sunday, 2024-11-03 at 06:00 UTC, clocks went from 02:00 back to 01:00: that hour occurs twice.
        ("America/New_York", [(2, 21, 1), (6, 1, 2), (6, 2, 1)]),
        ("Asia/Kathmandu", [(3, 7, 1), (6, 11, 1), (6, 12, 1), (6, 13, 1)]),  # 5:45 ahead, and 5:30 in 1970
    ],
)
def test_hours_of_a_zone(payments, zone, slots):
    """An hour that occurs twice counts both; a Thursday of UTC is a Wednesday of 1969 in New York."""
    instants = ["1970-01-01T02:00:00Z", *(f"2024-11-03T0{hour}:30:00Z" for hour in (5, 6, 7))]
    table = activity(payments(*(make_payment(100, instant) for instant in instants)), tz=zone)
    assert read(table) == [(*slot, float(slot[2])) for slot in slots]
