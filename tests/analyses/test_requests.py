"""Tests of request_outcomes and time_to_settle against hand calculation, on every kind of frame."""

import pytest
from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses.requests import request_outcomes, time_to_settle
from p2p_analytics.errors import ConfigurationError


def charge(status, cents, days=None, **more):
    """Return a request to Ann, paid some days after noon of May 1st."""
    hours = None if days is None else round(12 + 24 * days)
    completed = None if hours is None else f"2024-05-{1 + hours // 24:02}T{hours % 24:02}:00:00Z"
    row = {"action": "charge", "direction": "in", "counterparty_id": "1", "counterparty_name": "Ann", "status": status}
    return row | {"amount_cents": cents, "created": "2024-05-01T12:00:00Z", "completed": completed} | more


def read(table, *names):
    """Return some columns of each row."""
    return [tuple(row[name] for name in names) for row in read_rows(table)]


def test_one_person(payments):
    """Five requests of one person; the one with an unknown status counts as a request alone."""
    found = request_outcomes(
        payments(
            charge("settled", -1000, 1),
            charge("settled", -250, 2.5),
            charge("settled", None, 10, counterparty_name="Annie"),
            charge("pending", -4000),
            charge("expired", -1),
            charge("on_hold", -9),
        )
    )
    assert read_rows(found) == [
        {
            "counterparty_id": "1", "counterparty_name": "Annie", "direction": "in", "requests": 6, "settled": 3,
            "pending": 1, "cancelled": 0, "expired": 1, "failed": 0, "asked": 52.6, "collected": 12.5,
            "still_open": 40.0, "share_settled": 0.6, "days_p50": 2.5, "days_p90": 10.0,
        }
    ]  # fmt: skip


def test_people_and_directions(payments):
    """Namesakes with ids are two people, without ids one; payments, and rows without a direction, do not count."""
    found = request_outcomes(
        payments(
            charge("pending", -500),
            charge("pending", -500, direction="out"),
            charge("failed", -500, counterparty_id="2"),
            charge("cancelled", -700, counterparty_id=None),
            charge("cancelled", -50, counterparty_id=None),
            charge("cancelled", -20, counterparty_id=None, counterparty_name=None),
            charge("settled", -900, 1, action="pay"),
            charge("settled", -900, 1, direction=None),
        )
    )
    names = ("counterparty_id", "counterparty_name", "direction", "requests", "asked", "share_settled", "days_p50")
    assert read(found, *names, "failed", "cancelled", "still_open") == [
        (None, "Ann", "in", 2, 7.5, 0.0, None, 0, 2, 0.0),
        ("1", "Ann", "in", 1, 5.0, None, None, 0, 0, 5.0),
        ("1", "Ann", "out", 1, 5.0, None, None, 0, 0, 5.0),
        ("2", "Ann", "in", 1, 5.0, 0.0, None, 1, 0, 0.0),
        (None, None, "in", 1, 0.2, 0.0, None, 0, 1, 0.0),
    ]
    assert read_rows(request_outcomes(payments())) == read_rows(time_to_settle(payments())) == []


@pytest.mark.parametrize("ranks", [(1, 1, 1, 1), (2, 1, 2, 2), (9, 5, 9, 9), (10, 5, 9, 10), (11, 6, 10, 11)])
def test_nearest_rank(payments, ranks):
    """Of n requests that took 1, 2, ... n days, the percentile is the day at rank ceil(p * n)."""
    number, p50, p90, p99 = ranks
    found = time_to_settle(payments(*(charge("settled", -1, days) for days in range(1, number + 1))))
    assert read_values(found) == [("in", number, p50, p90, p99, number)]


def test_rows_of_statements_do_not_say_how_long_it_took(payments):
    """They have one date, that of the payment; they count as requests, but not in the days."""
    stated = charge("settled", -300, 0, source="statement", currency="USD")
    both = payments(charge("settled", -100, 4, source="api"), stated)
    names = ("requests", "settled", "collected", "days_p50", "days_p90")
    assert read(request_outcomes(both), *names) == [(2, 2, 4.0, 4.0, 4.0)]
    assert read(time_to_settle(both), "payments", "days_p50", "days_max") == [(1, 4.0, 4.0)]
    (row,) = read_rows(request_outcomes(payments(stated)))
    assert row["days_p50"] is None
    assert "currency" not in row  # dollars
    assert read_rows(time_to_settle(payments(stated))) == []


def test_by_another_column(payments):
    """Null is a value of its own, listed last; requests without both dates or a direction are left out."""
    found = time_to_settle(
        payments(
            charge("settled", -1, 2, audience="public"),
            charge("settled", -1, 4, audience="public"),
            charge("settled", -1, 0.25),
            charge("settled", -1, audience="friends"),
            charge("settled", -1, 3, audience="friends", created=None),
            charge("settled", -1, 3, audience="friends", direction=None),
            charge("pending", -1, 3, audience="friends"),
        ),
        by="audience",
    )
    names = ("audience", "payments", "days_p50", "days_max")
    assert read(found, *names) == [("public", 2, 2.0, 4.0), (None, 1, 0.25, 0.25)]


@pytest.mark.parametrize("by", ["values", "waited_us", "_count", "by_value", "a.b", "self"])
def test_a_column_of_the_users_own(convert, build, by):
    """``by`` may be any text column, whatever names the query itself uses."""
    frame = build([charge("settled", -1, days) for days in (1, 3, 2)])
    frame[by] = ["x", "x", None]
    assert read(time_to_settle(convert(frame), by=by), by, "payments", "days_p50") == [("x", 2, 1.0), (None, 1, 2.0)]


def test_a_wrong_column(build):
    """The error suggests a column."""
    for by, advice in (("payments", "is a column of the result"), ("directoin", "did you mean 'dir")):
        with pytest.raises(ConfigurationError, match=advice):
            time_to_settle(build([charge("settled", -1, 1)]), by=by)
