"""Tests of pending payments, by age and one by one."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses import pending_ageing, pending_requests
from p2p_analytics.errors import ConfigurationError, SchemaError

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
        {"status": "pending", "direction": None, "amount_cents": 100, "created": "2024-06-01T00:00:00Z"},
    )
    table = read_rows(pending_ageing(frame, as_of=AS_OF))
    assert list(table[0]) == ["direction", "band", "payments", "amount", "oldest_days"]
    assert [tuple(row.values()) for row in table] == [
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
    "2024-06-29T12:00:00.000001Z": ("under 1 day", 0),
    "2024-06-29T12:00:00Z": ("1 to 7 days", 1),
    "2024-06-29T11:59:59.999999Z": ("1 to 7 days", 1),
    "2024-06-23T12:00:00.000001Z": ("1 to 7 days", 6),
    "2024-06-23T12:00:00Z": ("7 to 30 days", 7),
    "2024-05-31T12:00:00.000001Z": ("7 to 30 days", 29),
    "2024-05-31T12:00:00Z": ("30 to 90 days", 30),
    "2024-04-01T12:00:00.000001Z": ("30 to 90 days", 89),
    "2024-04-01T12:00:00Z": ("90 days or more", 90),
    "2024-06-30T12:00:00.000001Z": ("under 1 day", 0),
    "2024-07-09T00:00:00Z": ("under 1 day", 0),
}


def test_an_age_on_an_edge(payments):
    """To the microsecond, an age on an edge belongs to the older band; a payment created after as_of has age 0."""
    frame = payments(*({**IN, "flow_cents": 2**at, "created": created} for at, created in enumerate(AGES)))
    bands = {row["band"]: round(row["amount"] * 100) for row in read_rows(pending_ageing(frame, as_of=AS_OF))[:5]}
    assert bands == {name: sum(2**at for at, (band, _) in enumerate(AGES.values()) if band == name) for name in bands}
    rows = read_rows(pending_requests(frame, as_of=AS_OF))
    assert [row["age_days"] for row in sorted(rows, key=lambda row: row["payment_id"])] == [
        age for _, age in AGES.values()
    ]


def test_a_payment_without_a_date_is_not_lost(payments):
    """A pending payment without date_created has a band of its own, and is last in the list."""
    frame = payments({**OUT, "flow_cents": -125}, {**OUT, "flow_cents": -300, "created": "2024-06-30T00:00:00Z"})
    assert read_values(pending_ageing(frame, as_of=AS_OF, edges=[3])) == [
        ("in", "under 3 days", 0, 0.0, None),
        ("in", "3 days or more", 0, 0.0, None),
        ("out", "under 3 days", 1, 3.0, 0),
        ("out", "3 days or more", 0, 0.0, None),
        ("out", "no date", 1, 1.25, None),
    ]
    listed = read_rows(pending_requests(frame, as_of=AS_OF))
    assert [(row["payment_id"], row["age_days"]) for row in listed] == [("001", 0), ("000", None)]


def test_requests_oldest_first(payments):
    """Every pending payment is listed with its note and its age, oldest first, ties by id, then by username."""
    june = {"created": "2024-06-01T00:00:00Z"}
    frame = payments(
        {**IN, **june, "payment_id": "9", "flow_cents": 1250, "note": "tent, 2 nights"},
        {**OUT, **june, "payment_id": "3", "flow_cents": -5, "counterparty_id": "77", "counterparty_username": "y"},
        {**OUT, **june, "payment_id": "3", "flow_cents": -5, "counterparty_id": "77", "counterparty_username": "x"},
        {**IN, "payment_id": "4", "created": "2024-01-01T00:00:00Z", "counterparty_name": "Ada Quill"},
        {**IN, "payment_id": "5", "created": "2024-01-01T00:00:00Z", "status": "cancelled"},
    )
    table = read_rows(pending_requests(frame, as_of="2024-06-30"))
    assert list(table[0]) == [
        "payment_id", "direction", "counterparty_id", "counterparty_username", "counterparty_name", "note", "amount",
        "date_created", "age_days",
    ]  # fmt: skip
    day = datetime(2024, 6, 1, tzinfo=UTC)
    assert [tuple(row.values()) for row in table] == [
        ("4", "in", None, None, "Ada Quill", None, None, datetime(2024, 1, 1, tzinfo=UTC), 181),
        ("3", "out", "77", "x", None, None, 0.05, day, 29),
        ("3", "out", "77", "y", None, None, 0.05, day, 29),
        ("9", "in", None, None, None, "tent, 2 nights", 12.5, day, 29),
    ]


@pytest.mark.parametrize(
    "as_of",
    [
        datetime(2024, 6, 30),  # noqa: DTZ001 - a moment without a zone is the case
        date(2024, 6, 30),
        "2024-06-29T20:00:00-04:00",
        datetime(2024, 6, 30, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        pd.Timestamp("2024-06-30", tz="UTC"),
        np.datetime64("2024-06-30"),
        np.datetime64("2024-06-30T00:00:00.000000000"),
        "2024-06-30 00:00",
        "20240630T000000Z",
        "2024-W26-7",
    ],
)
def test_spellings_of_as_of(build, as_of):
    """It is the second argument; a date means its first instant, and a missing zone means UTC."""
    assert pending_requests(build([WEEK_AGO]), as_of)["age_days"].tolist() == [7]
    assert pending_ageing(build([WEEK_AGO]), as_of)["oldest_days"].max() == 7


@pytest.mark.parametrize(
    ("as_of", "shown"),
    [
        (None, "None"),
        ("soon", "'soon'"),
        ("2024-02-30", "'2024-02-30'"),
        (20240630, "20240630"),
        (pd.NaT, "NaT"),
        (np.datetime64("NaT"), ""),
        (pd.DataFrame({"counterparty_name": ["Ada Quill"] * 9}), r"DataFrame\(\.\.\.\)"),  # no names in messages
    ],
)
def test_bad_as_of(build, as_of, shown):
    """A value that is not an instant is refused in one sentence, without the content of a long value."""
    for analysis in (pending_ageing, pending_requests):
        with pytest.raises(ConfigurationError, match=f"as_of={shown}.* is not an instant: give a datetime"):
            analysis(build([]), as_of=as_of)


@pytest.mark.parametrize("edges", [np.array([3, 10]), [np.int64(3), 10], range(3, 11, 7)])
def test_edges_of_numpy(build, edges):
    """Edges may be whole numbers of any type, in an array or another sequence."""
    bands = pending_ageing(build([]), as_of=AS_OF, edges=edges)["band"]
    assert list(bands)[:3] == ["under 3 days", "3 to 10 days", "10 days or more"]


def test_edges_beyond_every_age(build):
    """An edge may be larger than any age; its band is empty."""
    assert pending_ageing(build([WEEK_AGO]), AS_OF, edges=[1, 10**30])["payments"].tolist() == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "edges", [np.array([1.5]), np.array([True]), (), (0, 1), (-1,), (7, 1), (1, 1), (1.5,), (True,), "17", 7, None]
)
def test_bad_edges(build, edges):
    """Edges that are not ascending whole days from 1 are refused in one sentence."""
    with pytest.raises(ConfigurationError, match="give whole days from 1"):
        pending_ageing(build([]), as_of=AS_OF, edges=edges)


def test_missing_columns_are_named(build):
    """A frame without a needed column is refused, and the message names the column."""
    with pytest.raises(SchemaError, match="needs the columns date_created;"):
        pending_requests(build([]).drop(columns="date_created"), as_of=AS_OF)
