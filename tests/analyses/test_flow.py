"""Tests of money sent and received per calendar month."""

from zoneinfo import ZoneInfo

import pytest
from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses import monthly_flow


def move(cents, created, completed=None, **more):
    """Return a settled payment, received if the cents are positive."""
    direction = "in" if (cents or 0) > 0 else "out"
    return {"direction": direction, "flow_cents": cents, "created": created, "completed": completed, **more}


def test_months_without_gaps(payments):
    """Every month from the first to the last is a row; the running net adds up the nets."""
    frame = payments(
        move(-1050, "2022-01-05T23:00:00Z", "2023-12-31T23:30:00Z"),  # counted by completion
        move(2000, "2023-12-01T00:00:00Z", "2023-12-01T00:00:00Z"),
        move(None, "2024-02-01T00:00:00Z"),
        move(-25, "2024-03-01T00:00:00Z"),
        move(None, "2024-03-01T00:00:00Z"),
        move(-9900, "2025-01-01T00:00:00Z", status="pending"),
        move(-9900, "2026-01-01T00:00:00Z", direction=None),
        move(-9900, "2026-01-01T00:00:00Z", direction="IN"),
        move(-9900, "2026-01-01T00:00:00Z", kind="transfer"),
    )
    table = read_rows(monthly_flow(frame))
    assert list(table[0]) == ["month", "sent", "received", "net", "payments", "running_net"]
    assert [tuple(row.values()) for row in table] == [
        ("2023-12", 10.5, 20.0, 9.5, 2, 9.5),
        ("2024-01", 0.0, 0.0, 0.0, 0, 9.5),
        ("2024-02", 0.0, 0.0, 0.0, 1, 9.5),
        ("2024-03", 0.25, 0.0, -0.25, 2, 9.25),
    ]


def test_a_payment_without_dates_is_not_lost(payments):
    """Settled payments without any date form a last row without a month, included in the running net."""
    dated, undated = move(100, "2024-07-01T00:00:00Z"), move(-250, None)
    assert read_values(monthly_flow(payments(undated, dated, undated))) == [
        ("2024-07", 0.0, 1.0, 1.0, 1, 1.0),
        (None, 5.0, 0.0, -5.0, 2, -4.0),
    ]
    assert read_values(monthly_flow(payments(undated))) == [(None, 2.5, 0.0, -2.5, 1, -2.5)]


ZONES = {
    "UTC": {"2024-02-29T23:59:59.999999Z": "2024-02", "2024-03-01T00:00:00Z": "2024-03"},
    # March begins five hours behind UTC, April (daylight time) four.
    "America/New_York": {
        "2024-03-01T04:59:59.999999Z": "2024-02",
        "2024-03-01T05:00:00Z": "2024-03",
        "2024-03-10T07:00:00Z": "2024-03",
        "2024-04-01T03:59:59.999999Z": "2024-03",
        "2024-04-01T04:00:00Z": "2024-04",
        "2024-11-03T06:00:00Z": "2024-11",
    },
    # 11:00 ahead in summer, 10:30 in winter
    "Australia/Lord_Howe": {
        "2024-03-31T12:59:59.999999Z": "2024-03",
        "2024-03-31T13:00:00Z": "2024-04",
        "2024-04-30T13:29:59.999999Z": "2024-04",
        "2024-04-30T13:30:00Z": "2024-05",
    },
    "Asia/Kolkata": {"2024-04-30T18:29:59.999999Z": "2024-04", "2024-04-30T18:30:00Z": "2024-05"},
    # In 2011, clocks went forward over midnight of April 1st, so April began at 01:00.
    "Asia/Amman": {"2011-03-31T21:59:59.999999Z": "2011-03", "2011-03-31T22:00:00Z": "2011-04"},
    # December 30th, 2011, was left out, on the way to the other side of the date line.
    "Pacific/Apia": {"2011-12-31T09:59:59.999999Z": "2011-12", "2011-12-31T10:00:00Z": "2012-01"},
}


@pytest.mark.parametrize("zone", ZONES)
def test_local_months_to_the_edge(payments, zone):
    """Months begin and end at local midnight, also around clock changes."""
    far = [move(100, "2010-05-17T00:00:00Z"), move(100, "2025-05-17T00:00:00Z")]
    frame = payments(*far, *(move(-100, instant) for instant in ZONES[zone]))
    months = list(ZONES[zone].values())
    sent = {month: units for month, units in read_values(monthly_flow(frame, zone), "month", "sent") if units}
    assert sent == {month: months.count(month) for month in months}


@pytest.mark.parametrize("tz", ["UTC", "Pacific/Kiritimati"])
def test_an_odd_date_is_no_date(payments, tz):
    """A payment with a date before 1970 or after 2199 is in the last row and adds no months."""
    odd = ("0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "2200-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
    fair = move(100, "2024-07-15T00:00:00Z")
    rows = [row for date in odd for row in (move(-250, date), move(-1, "2024-07-15T00:00:00Z", date))]
    assert read_values(monthly_flow(payments(*rows, fair), tz=tz)) == [
        ("2024-07", 0.0, 1.0, 1.0, 1, 1.0),
        (None, 10.04, 0.0, -10.04, 8, -9.04),
    ]


@pytest.mark.parametrize(
    ("tz", "months"),
    [
        ("UTC", ["1970-01", "2199-12"]),
        ("America/New_York", ["1969-12", "2199-12"]),
        ("Pacific/Kiritimati", ["1969-12", "2200-01"]),  # behind UTC until 1995
    ],
)
def test_the_ends_of_the_calendar(payments, tz, months):
    """The first and the last supported instants are in local months; the zone may be a ZoneInfo."""
    for edge, month in zip(("1970-01-01T00:00:00Z", "2199-12-31T23:59:59.999999Z"), months, strict=True):
        assert read_values(monthly_flow(payments(move(100, edge)), ZoneInfo(tz)), "month") == [(month,)]
