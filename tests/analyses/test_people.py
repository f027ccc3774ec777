"""Tests of people_by_year and activity against hand calculation, on every kind of frame."""

import pytest
from analyses.conftest import read_rows

from p2p_analytics.analyses.hours import activity
from p2p_analytics.analyses.people import people_by_year


def make_payment(person, cents, completed, **more):
    """Return a settled payment to a person, from one if the cents are positive."""
    row = {"counterparty_id": person, "counterparty_name": f"name of {person}", "flow_cents": cents}
    return row | {"direction": "in" if cents > 0 else "out", "completed": completed} | more


def test_people_come_and_go(payments):
    """Ann pays in 2019 and 2022, Bo in 2019 and 2020, six others once in 2022; 2021 is empty."""
    others = [make_payment(f"{number}", -100 * number, "2022-07-01T00:00:00Z") for number in range(1, 7)]
    found = people_by_year(
        payments(
            make_payment("ann", -300, "2019-12-31T23:59:59.999999Z"),
            make_payment("bo", 100, "2019-01-01T00:00:00Z"),
            make_payment("bo", 0, "2020-01-01T00:00:00Z"),
            make_payment("ann", 700, "2022-01-01T00:00:00Z"),
            *others,
            make_payment("ann", -1, None),
            make_payment("ann", -1, "1969-12-31T23:59:59Z"),
            make_payment("cy", -1, "2019-05-05T00:00:00Z", status="pending"),
            make_payment("cy", -1, "2019-05-05T00:00:00Z", direction=None),
        )
    )
    assert [tuple(row.values()) for row in read_rows(found)] == [
        (2019, 2, 2, 0, 0.75, 1.0, 2, 3.0, 1.0),
        (2020, 1, 0, 1, 0.0, 0.0, 1, 0.0, 0.0),
        (2021, 0, 0, 1, 0.0, 0.0, 0, 0.0, 0.0),
        (2022, 7, 6, 0, 0.25, 0.8928571428571429, 7, 21.0, 7.0),  # 7 of 28; 7 + 6 + 5 + 4 + 3 of 28
    ]
    assert list(read_rows(found)[0]) == [
        "year", "people", "new", "lost", "top_person_share", "top_5_share", "payments", "sent", "received",
    ]  # fmt: skip


def test_the_year_of_a_zone(payments):
    """In Kolkata the year begins 5.5 hours earlier; without a completion the creation counts."""
    rows = [
        make_payment("1", -1, "2019-12-31T18:29:59.999999Z"),
        make_payment("1", -1, "2019-12-31T18:30:00Z"),
        make_payment(None, -1, None, created="2019-12-31T18:30:00Z"),
    ]
    found = read_rows(people_by_year(payments(*rows), tz="Asia/Kolkata"))
    assert [(row["year"], row["people"], row["new"]) for row in found] == [(2019, 1, 1), (2020, 2, 1)]
    assert [row["year"] for row in read_rows(people_by_year(payments(*rows)))] == [2019]


def test_no_people(payments):
    """Without settled payments there are no years."""
    assert read_rows(people_by_year(payments())) == []


@pytest.mark.parametrize(
    ("zone", "weekday", "hour"),
    [("UTC", 6, 5), ("America/New_York", 6, 1), ("America/Los_Angeles", 5, 22), ("Asia/Kathmandu", 6, 11)],
)
def test_the_hour_of_a_payment(payments, zone, weekday, hour):
    """Sunday, November 5th 2023, 05:30 UTC is half past one for the first time in New York; the hour repeats."""
    rows = read_rows(
        activity(
            payments(
                {"direction": "out", "amount_cents": 150, "created": "2023-11-05T05:30:00Z"},
                {"direction": "in", "amount_cents": -50, "created": "2023-11-05T05:59:59.999999Z"},
                {"direction": "in", "amount_cents": None, "created": "2023-11-05T05:30:00Z"},
                {"direction": "in", "amount_cents": 9, "created": None, "completed": "2023-11-05T05:30:00Z"},
                {"direction": "in", "amount_cents": 9, "created": "2023-11-05T05:30:00Z", "status": "pending"},
            ),
            tz=zone,
        )
    )
    assert [(row["weekday"], row["hour"]) for row in rows] == [(day, at) for day in range(7) for at in range(24)]
    assert [tuple(row.values()) for row in rows if row["payments"] or row["amount"]] == [(weekday, hour, 3, 2.0)]


def test_a_repeated_hour(payments):
    """Both hours from one to two of the night count together."""
    hours = ("2023-11-05T05:30:00Z", "2023-11-05T06:30:00Z", "2023-11-05T07:30:00Z")
    found = activity(payments(*({"direction": "in", "created": at} for at in hours)), tz="America/New_York")
    assert [(row["hour"], row["payments"]) for row in read_rows(found) if row["payments"]] == [(1, 2), (2, 1)]


def test_no_activity(payments):
    """Without payments all 168 rows are zeros."""
    rows = read_rows(activity(payments()))
    assert len(rows) == 168
    assert {(row["payments"], row["amount"]) for row in rows} == {(0, 0.0)}
