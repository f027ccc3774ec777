"""Tests of pending payments, by age and one by one."""

from datetime import UTC, date, datetime

import numpy as np
import pytest
from analyses.conftest import read_values

from p2p_analytics.analyses import pending_ageing, pending_requests

AS_OF = "2024-06-30T12:00:00Z"
IN = {"status": "pending", "direction": "in"}
OUT = {"status": "pending", "direction": "out"}
WEEK_AGO = {**IN, "flow_cents": 100, "created": "2024-06-23T00:00:00Z"}


def test_bands_in_order_with_empty_ones(payments):
    """Both directions have every band, youngest first; empty ones hold zeros and no age."""
    frame = payments(
        {**IN, "flow_cents": 1000, "created": "2024-06-30T11:59:59Z"},
        {**IN, "flow_cents": 550, "created": "2024-06-10T00:00:00Z"},
        {**IN, "flow_cents": None, "created": "2024-06-09T13:00:00Z"},
        {**OUT, "flow_cents": -2000, "created": "2023-06-30T12:00:00Z"},
        {**OUT, "flow_cents": -7777, "created": "2024-06-01T00:00:00Z", "status": "settled"},
        *({**WEEK_AGO, "direction": direction} for direction in (None, "IN")),
        {**WEEK_AGO, "kind": "transfer"},
    )
    assert read_values(pending_ageing(frame, as_of=AS_OF)) == [
        ("in", "under 1 day", 1, 10.0, 0),
        ("in", "1 to 7 days", 0, 0.0, None),
        ("in", "7 to 30 days", 2, 5.5, 20),
        ("in", "30 to 90 days", 0, 0.0, None),
        ("in", "90 days or more", 0, 0.0, None),
        ("out", "under 1 day", 0, 0.0, None),
        ("out", "1 to 7 days", 0, 0.0, None),
        ("out", "7 to 30 days", 0, 0.0, None),
        ("out", "30 to 90 days", 0, 0.0, None),
        ("out", "90 days or more", 1, 20.0, 366),
    ]


AGES = {
    "2024-06-29T12:00:00.000001Z": 0,
    "2024-06-29T12:00:00Z": 1,
    "2024-06-29T11:59:59.999999Z": 1,
    "2024-06-23T12:00:00.000001Z": 6,
    "2024-06-23T12:00:00Z": 7,
    "2024-05-31T12:00:00.000001Z": 29,
    "2024-05-31T12:00:00Z": 30,
    "2024-04-01T12:00:00.000001Z": 89,
    "2024-04-01T12:00:00Z": 90,
    "2024-06-30T12:00:00.000001Z": 0,
    "2024-07-09T00:00:00Z": 0,
}


def test_an_age_on_an_edge(payments):
    """To the microsecond, an age on an edge belongs to the older band; a payment created after as_of has age 0."""
    frame = payments(*({**IN, "flow_cents": 2**at, "created": created} for at, created in enumerate(AGES)))
    bands = [
        (band, round(100 * amount)) for band, amount in read_values(pending_ageing(frame, AS_OF), "band", "amount")
    ]
    assert bands[:5] == [
        ("under 1 day", 0b11000000001), ("1 to 7 days", 0b1110), ("7 to 30 days", 0b110000),
        ("30 to 90 days", 0b11000000), ("90 days or more", 0b100000000),
    ]  # fmt: skip
    ages = sorted(read_values(pending_requests(frame, as_of=AS_OF), "payment_id", "age_days"))
    assert [age for _, age in ages] == [*AGES.values()]


def test_a_payment_without_a_date_is_not_lost(payments):
    """A pending payment without date_created has a separate band, and is last in the list."""
    frame = payments({**OUT, "flow_cents": -125}, {**OUT, "flow_cents": -300, "created": "2024-06-30T00:00:00Z"})
    assert read_values(pending_ageing(frame, as_of=AS_OF, edges=[3])) == [
        ("in", "under 3 days", 0, 0.0, None),
        ("in", "3 days or more", 0, 0.0, None),
        ("out", "under 3 days", 1, 3.0, 0),
        ("out", "3 days or more", 0, 0.0, None),
        ("out", "no date", 1, 1.25, None),
    ]
    assert read_values(pending_requests(frame, as_of=AS_OF), "payment_id", "age_days") == [("001", 0), ("000", None)]


def test_requests_oldest_first(payments):
    """Every pending payment is listed with its note and its age, oldest first, ties by id, then by username."""
    june = {"created": "2024-06-01T00:00:00Z"}
    frame = payments(
        {**IN, **june, "payment_id": "9", "flow_cents": 1250, "note": "tent, 2 nights"},
        {**OUT, **june, "payment_id": "3", "flow_cents": -5, "counterparty_id": "77", "counterparty_username": "y"},
        {**OUT, **june, "payment_id": "3", "flow_cents": -5, "counterparty_id": "77", "counterparty_username": "x"},
        {**IN, "payment_id": "4", "created": "2024-01-01T00:00:00Z", "counterparty_name": "Ada Quill"},
        {**IN, "payment_id": "5", "created": "2024-01-01T00:00:00Z", "status": "cancelled"},
        *({**WEEK_AGO, "direction": direction} for direction in (None, "IN")),
        {**WEEK_AGO, "kind": "transfer"},
    )
    day = datetime(2024, 6, 1, tzinfo=UTC)
    assert read_values(pending_requests(frame, as_of="2024-06-30")) == [
        ("4", "in", None, None, "Ada Quill", None, None, datetime(2024, 1, 1, tzinfo=UTC), 181),
        ("3", "out", "77", "x", None, None, 0.05, day, 29),
        ("3", "out", "77", "y", None, None, 0.05, day, 29),
        ("9", "in", None, None, None, "tent, 2 nights", 12.5, day, 29),
    ]


def test_a_date_as_of(build):
    """It is the second argument; a date means its first instant."""
    assert pending_requests(build([WEEK_AGO]), date(2024, 6, 30))["age_days"].tolist() == [7]
    assert pending_ageing(build([WEEK_AGO]), date(2024, 6, 30))["oldest_days"].max() == 7


@pytest.mark.parametrize("edges", [np.array([3, 10]), [np.int64(3), 10], range(3, 11, 7)])
def test_edges(payments, edges):
    """They may be whole numbers of any type, in any sequence; one may be larger than any age, and its band is empty."""
    bands = read_values(pending_ageing(payments(WEEK_AGO), AS_OF, edges=[*edges, 10**30]), "band", "payments")
    assert bands[:3] == [("under 3 days", 0), ("3 to 10 days", 1), (f"10 to {10**30} days", 0)]
