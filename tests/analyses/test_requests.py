"""Tests of request_outcomes and time_to_settle against hand calculation, on every kind of frame."""

import numpy as np
import polars as pl
import pytest
from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses import status_mix
from p2p_analytics.analyses.requests import request_outcomes, time_to_settle


def charge(status, cents, days=None, **more):
    """Return a request to Ann, paid some days after noon of May 1st."""
    hours = None if days is None else round(12 + 24 * days)
    completed = None if hours is None else f"2024-05-{1 + hours // 24:02}T{hours % 24:02}:00:00Z"
    row = {"action": "charge", "direction": "in", "counterparty_id": "1", "counterparty_name": "Ann", "status": status}
    return row | {"amount_cents": cents, "created": "2024-05-01T12:00:00Z", "completed": completed} | more


def test_one_person(payments):
    """Six requests of one person; the one with an unknown status counts as a request alone."""
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
            charge("settled", -900, 1, direction="IN"),
            charge("settled", -900, 1, kind="card"),
            *(charge("failed", -100, counterparty_id=None, counterparty_name=name) for name in ("Bo", "Al")),
        )
    )
    names = ("counterparty_id", "counterparty_name", "direction", "requests", "asked", "share_settled", "days_p50")
    assert read_values(found, *names, "failed", "cancelled", "still_open") == [
        (None, "Ann", "in", 2, 7.5, 0.0, None, 0, 2, 0.0),
        ("1", "Ann", "in", 1, 5.0, None, None, 0, 0, 5.0),
        ("1", "Ann", "out", 1, 5.0, None, None, 0, 0, 5.0),
        ("2", "Ann", "in", 1, 5.0, 0.0, None, 1, 0, 0.0),
        (None, "Al", "in", 1, 1.0, 0.0, None, 1, 0, 0.0),
        (None, "Bo", "in", 1, 1.0, 0.0, None, 1, 0, 0.0),
        (None, None, "in", 1, 0.2, 0.0, None, 0, 1, 0.0),
    ]
    assert read_rows(request_outcomes(payments())) == read_rows(time_to_settle(payments())) == []


def test_nearest_rank(payments):
    """Of n requests that took n, ..., 2, 1 days, the percentile is the day at rank ceil(p * n)."""
    frame = payments(
        *(charge("settled", -1, days, note=f"{size:02}") for size in range(1, 21) for days in range(size, 0, -1)),
        charge("settled", -1, note="10"),
        *(charge("settled", -1, hours / 24, note="hours") for hours in range(1, 201)),
    )
    p50, p90 = (1, 1, 2, 2, 3, 3, 4, 4, 5, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9, 9)
    p50 += tuple(day + 5 for day in p50)
    p90 += tuple(day + 9 for day in p90)
    names = ("payments", "days_p50", "days_p90", "days_p99", "days_max")
    assert read_values(time_to_settle(frame, by="note"), *names) == [
        *((size, p50[size - 1], p90[size - 1], size, size) for size in range(1, 21)),
        (200, 100 / 24, 7.5, 8.25, 200 / 24),
    ]


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy])
def test_the_longest_times(convert):
    """2**63 - 1 microseconds are 106,751,991.167 days, although as a float the number does not fit into 64 bits."""
    instants = np.array([-(2**62) + 1, 2**62], dtype="datetime64[us]")
    texts = {"status": "settled", "action": "charge", "direction": "in", "counterparty_id": "2"}
    dates = {"date_created": instants[[0, 0]], "date_completed": instants[[1, 1]]}
    frame = convert(pl.DataFrame(texts | {"counterparty_name": "Ada", "amount_cents": [500, 700]} | dates))
    for analysis in (time_to_settle, request_outcomes):
        ((days,),) = read_values(analysis(frame), "days_p50")
        assert days == pytest.approx(106_751_991.167, abs=0.001)


def test_rows_of_statements_do_not_say_how_long_it_took(payments):
    """They have one date, of the payment; they count as requests, but not in the days."""
    stated = charge("settled", -300, 0, source="statement", currency="USD")
    both = payments(charge("settled", -100, 4, source="api"), stated)
    names = ("requests", "settled", "collected", "days_p50", "days_p90")
    assert read_values(request_outcomes(both), *names) == [(2, 2, 4.0, 4.0, 4.0)]
    assert read_values(time_to_settle(both), "payments", "days_p50", "days_max") == [(1, 4.0, 4.0)]
    (row,) = read_rows(request_outcomes(payments(stated)))
    assert row["days_p50"] is None
    assert "currency" not in row  # dollars
    assert read_rows(time_to_settle(payments(stated))) == []


def test_by_another_column(payments):
    """Null is a separate value, listed last; requests without both dates or a direction are left out."""
    found = time_to_settle(
        payments(
            charge("settled", -1, 2, audience="public"),
            charge("settled", -1, 4, audience="public"),
            charge("settled", -1, 0.25),
            charge("settled", -1, audience="friends"),
            charge("settled", -1, 3, audience="friends", created=None),
            charge("settled", -1, 3, audience="friends", direction=None),
            charge("pending", -1, 3, audience="friends"),
            charge("settled", -1, 3, audience="friends", action="pay"),
            charge("settled", -1, 3, audience="friends", kind="card"),
        ),
        by="audience",
    )
    names = ("audience", "payments", "days_p50", "days_max")
    assert read_values(found, *names) == [("public", 2, 2.0, 4.0), (None, 1, 0.25, 0.25)]


@pytest.mark.parametrize("by", ["values", "waited_us", "_count", "by_value", "a.b", "self", "date_of_trip"])
def test_a_column_of_the_users_own(convert, build, by):
    """``by`` may be any text column, whatever names the query itself uses."""
    frame = build([charge("settled", -100, days) for days in (1, 3, 2)])
    frame[by] = ["x", "x", None]
    frame = convert(frame)
    assert read_values(time_to_settle(frame, by=by), by, "payments", "days_p50") == [("x", 2, 1.0), (None, 1, 2.0)]
    assert read_values(status_mix(frame, by=by), by, "payments", "amount") == [("x", 2, 2.0), (None, 1, 1.0)]
