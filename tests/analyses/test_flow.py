"""Tests of money sent and received per calendar month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from p2p_analytics.analyses import monthly_flow
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    Builder = Callable[..., Any]
    Reader = Callable[..., list[dict[str, Any]]]


def _values(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


def test_months_without_gaps(payments: Builder, rows_of: Reader) -> None:
    """Every month from the first to the last is a row; the running net adds up the nets."""
    frame = payments(
        {
            "direction": "out",
            "flow_cents": -1050,
            "created": "2023-12-31T23:00:00Z",
            "completed": "2023-12-31T23:30:00Z",
        },
        {"direction": "in", "flow_cents": 2000, "created": "2023-12-01T00:00:00Z", "completed": "2023-12-01T00:00:00Z"},
        {"direction": "out", "flow_cents": -25, "created": "2024-03-01T00:00:00Z", "completed": None},
        {"direction": "out", "flow_cents": -9900, "created": "2025-01-01T00:00:00Z", "status": "pending"},
        {"direction": None, "flow_cents": None, "created": "2026-01-01T00:00:00Z"},
    )
    table = rows_of(monthly_flow(frame))
    assert list(table[0]) == ["month", "sent", "received", "net", "payments", "running_net"]
    assert _values(table) == [
        ("2023-12", 10.5, 20.0, 9.5, 2, 9.5),
        ("2024-01", 0.0, 0.0, 0.0, 0, 9.5),
        ("2024-02", 0.0, 0.0, 0.0, 0, 9.5),
        ("2024-03", 0.25, 0.0, -0.25, 1, 9.25),
    ]


def test_the_month_is_that_of_completion(payments: Builder, rows_of: Reader) -> None:
    """A charge that was approved much later counts in the month of its approval."""
    frame = payments(
        {"direction": "in", "flow_cents": 100, "created": "2022-01-05T00:00:00Z", "completed": "2024-07-01T00:00:00Z"}
    )
    assert [row["month"] for row in rows_of(monthly_flow(frame))] == ["2024-07"]


def test_a_payment_without_dates_is_not_lost(payments: Builder, rows_of: Reader) -> None:
    """Settled payments without any date form a last row without a month, included in the running net."""
    dated = {"direction": "in", "flow_cents": 100, "created": "2024-07-01T00:00:00Z"}
    undated = {"direction": "out", "flow_cents": -250}
    assert _values(rows_of(monthly_flow(payments(undated, dated, undated)))) == [
        ("2024-07", 0.0, 1.0, 1.0, 1, 1.0),
        (None, 5.0, 0.0, -5.0, 2, -4.0),
    ]
    assert _values(rows_of(monthly_flow(payments(undated)))) == [(None, 2.5, 0.0, -2.5, 1, -2.5)]


@pytest.mark.parametrize(
    ("zone", "instant", "month"),
    [
        ("UTC", "2024-02-29T23:59:59.999999Z", "2024-02"),
        ("UTC", "2024-03-01T00:00:00Z", "2024-03"),
        # New York: March begins five hours behind UTC, April (daylight time) four.
        ("America/New_York", "2024-03-01T04:59:59.999999Z", "2024-02"),
        ("America/New_York", "2024-03-01T05:00:00Z", "2024-03"),
        ("America/New_York", "2024-03-10T07:00:00Z", "2024-03"),
        ("America/New_York", "2024-04-01T03:59:59.999999Z", "2024-03"),
        ("America/New_York", "2024-04-01T04:00:00Z", "2024-04"),
        ("America/New_York", "2024-11-03T06:00:00Z", "2024-11"),
        # Lord Howe: 11:00 ahead in summer, 10:30 in winter.
        ("Australia/Lord_Howe", "2024-03-31T12:59:59.999999Z", "2024-03"),
        ("Australia/Lord_Howe", "2024-03-31T13:00:00Z", "2024-04"),
        ("Australia/Lord_Howe", "2024-04-30T13:29:59.999999Z", "2024-04"),
        ("Australia/Lord_Howe", "2024-04-30T13:30:00Z", "2024-05"),
        ("Asia/Kolkata", "2024-04-30T18:29:59.999999Z", "2024-04"),
        ("Asia/Kolkata", "2024-04-30T18:30:00Z", "2024-05"),
        # Amman, 2011: clocks went forward over midnight of April 1st, so April began at 01:00.
        ("Asia/Amman", "2011-03-31T21:59:59.999999Z", "2011-03"),
        ("Asia/Amman", "2011-03-31T22:00:00Z", "2011-04"),
        # Apia left out December 30th, 2011, and changed sides of the date line.
        ("Pacific/Apia", "2011-12-31T09:59:59.999999Z", "2011-12"),
        ("Pacific/Apia", "2011-12-31T10:00:00Z", "2012-01"),
    ],
)
def test_local_months_to_the_edge(payments: Builder, rows_of: Reader, zone: str, instant: str, month: str) -> None:
    """Months begin and end at local midnight, also around clock changes."""
    far = [
        {"direction": "in", "flow_cents": 100, "created": "2010-05-17T00:00:00Z"},
        {"direction": "in", "flow_cents": 100, "created": "2025-05-17T00:00:00Z"},
    ]
    frame = payments(*far, {"direction": "out", "flow_cents": -700, "created": instant})
    assert [row["month"] for row in rows_of(monthly_flow(frame, tz=zone)) if row["sent"]] == [month]


def test_ten_years_of_month_edges(payments: Builder, rows_of: Reader) -> None:
    """Two payments a microsecond apart around each month's edge fall into different months: two per month."""
    edges = [f"{year}-{month:02d}" for year in range(2010, 2020) for month in range(1, 13)]
    rows = []
    for edge in edges:
        rows += [
            {"direction": "in", "flow_cents": 1, "created": f"{edge}-01T00:00:00Z"},
            {"direction": "in", "flow_cents": 1, "created": f"{edge}-28T23:59:59.999999Z"},
        ]
    table = rows_of(monthly_flow(payments(*rows)))
    assert [row["month"] for row in table] == edges
    assert {row["payments"] for row in table} == {2}
    assert table[-1]["running_net"] == 2.4


@pytest.mark.parametrize("tz", ["Asia/Kolkata", ZoneInfo("Asia/Kolkata")])
def test_zone_by_position(build: Builder, tz: str | ZoneInfo) -> None:
    """The zone is the second argument, a name or a ZoneInfo."""
    frame = build([{"direction": "in", "flow_cents": 100, "created": "2024-04-30T18:30:00Z"}])
    assert monthly_flow(frame, tz)["month"].tolist() == ["2024-05"]


@pytest.mark.parametrize("tz", ["Mars/Olympus", "", "America", "../etc/passwd", None, 5])
def test_bad_zone(build: Builder, tz: object) -> None:
    """An unknown zone is refused in one sentence."""
    with pytest.raises(ConfigurationError, match="tz must be a zone name"):
        monthly_flow(build([]), tz=tz)


def test_missing_columns_are_named(build: Builder) -> None:
    """A frame without a needed column is refused, and the message names the column."""
    with pytest.raises(SchemaError, match="needs the columns date_completed;"):
        monthly_flow(build([]).drop(columns="date_completed"))


@pytest.mark.parametrize("tz", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize(
    "odd",
    ["0001-01-01T00:00:00Z", "1000-06-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "2200-01-01T00:00:00Z",
     "9999-12-31T23:59:59.999999Z"],
)  # fmt: skip
def test_an_odd_date_is_no_date(payments: Builder, rows_of: Reader, odd: str, tz: str) -> None:
    """A payment with a date before 1970 or after 2199 is in the last row and adds no months."""
    fair = {"direction": "in", "flow_cents": 100, "created": "2024-07-15T00:00:00Z"}
    slip = {"direction": "out", "flow_cents": -250, "created": odd}
    late = {"direction": "out", "flow_cents": -1, "created": "2024-07-15T00:00:00Z", "completed": odd}
    assert _values(rows_of(monthly_flow(payments(slip, fair, late), tz=tz))) == [
        ("2024-07", 0.0, 1.0, 1.0, 1, 1.0),
        (None, 2.51, 0.0, -2.51, 2, -1.51),
    ]


@pytest.mark.parametrize("tz", ["UTC", "America/New_York", "Pacific/Kiritimati"])
def test_the_ends_of_the_calendar(payments: Builder, rows_of: Reader, tz: str) -> None:
    """The first and the last supported instants are in local months."""
    for edge, month in (
        # Kiritimati was behind UTC until it changed sides of the date line in 1995.
        ("1970-01-01T00:00:00Z", "1970-01" if tz == "UTC" else "1969-12"),
        ("2199-12-31T23:59:59.999999Z", "2200-01" if tz == "Pacific/Kiritimati" else "2199-12"),
    ):
        frame = payments({"direction": "in", "flow_cents": 100, "created": edge})
        assert [row["month"] for row in rows_of(monthly_flow(frame, tz=tz))] == [month]
