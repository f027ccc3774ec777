"""Tests of engines: sessions, results of the caller's kind, and local time as numbers."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest
from analyses.conftest import connect

from p2p_analytics import (
    monthly_flow,
    pending_ageing,
    pending_requests,
    spend_by_friend,
    spending_over_time,
    status_mix,
    unusual,
)
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.times import from_microseconds, to_microseconds

ROWS = [
    {"direction": "out", "flow_cents": -1050, "counterparty_id": "1", "created": "2024-02-29T23:59:59.999Z"},
    {"direction": "in", "flow_cents": 2000, "counterparty_id": "2", "created": "2024-03-01T00:00:00Z"},
]
ANALYSES = {
    "spend_by_friend": spend_by_friend,
    "status_mix": status_mix,
    "monthly_flow": monthly_flow,
    "pending_ageing": lambda frame: pending_ageing(frame, "2024-06-30"),
    "pending_requests": lambda frame: pending_requests(frame, "2024-06-30"),
}


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum])
@pytest.mark.parametrize(
    ("kinds", "counted"), [(["payment", None], 2), (["payment", "card"], 1), (["card", None], 1), ([None, None], 2)]
)
def test_kinds_in_polars_files(tmp_path, dtype, kinds, counted):
    """Only payments count, and rows without a kind are payments, whatever the statistics of a file say."""
    frame = pl.DataFrame({"action": "pay", "status": "settled", "amount_cents": [1, 1]})
    exact = pl.Enum([kind for kind in kinds if kind]) if dtype is pl.Enum else dtype  # maybe without "payment"
    frame = frame.with_columns(kind=pl.Series(kinds, dtype=exact))
    frame.write_parquet(tmp_path / "payments.parquet")
    assert status_mix(frame)["payments"].sum() == counted
    lazy: Any = status_mix(pl.scan_parquet(tmp_path / "payments.parquet"))
    assert lazy.collect()["payments"].sum() == counted


@pytest.mark.parametrize("name", ANALYSES)
def test_a_connection_in_another_zone_is_refused(build, name):
    """The dates of a result would be shown in the zone of the connection."""
    relation = connect("Asia/Kolkata").from_arrow(table_of(build(ROWS)))
    with pytest.raises(SchemaError, match=rf"{name}: DuckDB's connection is in the time zone Asia/Kolkata.*SET TimeZ"):
        ANALYSES[name](relation)


def test_a_relation_of_the_same_connection(build):
    """A result can be queried further, and joined with tables of the connection, which are not taken for results."""
    connection = connect()
    payments = connection.from_arrow(table_of(build(ROWS)))
    connection.execute("CREATE TABLE nicknames AS SELECT '2' AS id, 'Bea' AS nickname")
    connection.execute("CREATE TABLE p2p_analytics_rows AS SELECT 43 AS mine")
    people = spend_by_friend(payments)
    assert isinstance(people, duckdb.DuckDBPyRelation)
    found = connection.sql("SELECT nickname, received, first_date FROM people JOIN nicknames ON counterparty_id = id")
    assert found.pl().rows() == [("Bea", 20.0, datetime(2024, 3, 1, tzinfo=UTC))]
    assert monthly_flow(payments).filter("received > 0").pl()["month"].to_list() == ["2024-03"]
    assert unusual(payments).pl().rows() == []
    assert connection.table("p2p_analytics_rows").fetchall() == [(43,)]


def test_medians_of_duckdb_are_computed_once(build):
    """The relation of unusual payments has their values: its query keeps no amounts to sort them."""
    names = ["payment_id", "counterparty_id"]
    rows = [
        ROWS[0] | dict(zip(names, (f"{at}", "9"), strict=True)) | {"flow_cents": -cents}
        for at, cents in enumerate([100, 200, 300, 400, 1500])
    ]
    found = unusual(connect().from_arrow(table_of(build(rows))))
    assert "quantile" not in found.sql_query()
    assert found.pl()["usual"].to_list() == [3.0]


def test_duckdb_reads_only_some_columns_before_a_lazy_result(build):
    """The check of values is one query; the others ask for the zone of the connection."""
    connection = connect()
    connection.from_arrow(table_of(build([row | {"currency": "USD"} for row in ROWS]))).create("payments")
    payments = connection.table("payments")
    connection.execute("CALL enable_logging('QueryLog')")
    pending_requests(payments, "2024-06-30")
    logged = connection.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
    (check,) = (text for (text,) in logged if "WHERE" in text and "duckdb_logs" not in text)
    conditions = "".join(part.partition("\n")[0] for part in check.split("WHERE")[1:])
    names = [name for name in payments.columns if f'"{name}"' in conditions]
    assert names == ["amount_cents", "date_created", "currency"]


def test_a_connection_that_may_not_read_python(build):
    """Results are written as text for it, with every type, nulls and any character."""
    connection = connect()
    rows = [row | {"counterparty_name": name} for row, name in zip(ROWS, ["A\n=b '\u00e9", None], strict=True)]
    connection.from_arrow(table_of(build(rows))).create("payments")
    result = spend_by_friend(connection.table("payments"), build(ROWS)[[]].assign(user_id="1"))
    assert "VARCHAR" not in result.sql_query()  # nothing is written as text
    expected = result.pl()
    assert expected["counterparty_name"].to_list() == [rows[0]["counterparty_name"], None]
    ages = pending_ageing(connection.table("payments"), "2024-06-30").pl()
    connection.execute("SET enable_external_access = false")
    payments = connection.table("payments")
    assert spend_by_friend(payments, build(ROWS)[[]].assign(user_id="1")).pl().equals(expected)
    assert pending_ageing(payments, "2024-06-30").pl().equals(ages)
    assert monthly_flow(payments, "America/New_York").pl()["sent"].to_list() == [10.5]
    assert spending_over_time(payments, every="day").pl()["period"].to_list() == [date(2024, 2, 29), date(2024, 3, 1)]


@pytest.mark.parametrize(
    ("column", "found"), [("'soon'", "VARCHAR"), ("20240301", "INTEGER"), ("1.5::DOUBLE", "DOUBLE")]
)
def test_other_types_are_refused(build, column, found):
    """A number or a text is no date; what it could mean is not guessed."""
    relation = connect().from_arrow(table_of(build(ROWS)))
    changed = relation.select(f"* REPLACE ({column} AS date_created)")
    with pytest.raises(SchemaError, match=f"needs datetimes in the column date_created, not {found}; cast it"):
        spend_by_friend(changed)


def test_naive_dates_of_duckdb_are_utc(build):
    """A timestamp without a zone, or a date, is one of UTC."""
    relation = connect().from_arrow(table_of(build(ROWS)))
    for dtype in ("TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"):
        months = monthly_flow(relation.select(f"* REPLACE (CAST(date_created AS {dtype}) AS date_created)"))
        assert months.pl().select("month", "sent", "received").rows() == [
            ("2024-02", 10.5, 0.0),
            ("2024-03", 0.0, 20.0),
        ]


def test_a_failing_query_of_duckdb(build):
    """The error holds no value of the data."""
    relation = connect().from_arrow(table_of(build(ROWS)))
    failing = relation.select("* REPLACE (CAST(CAST(direction AS INTEGER) AS VARCHAR) AS direction)")
    sentence = r"^spend_by_friend: the relation cannot be computed \(\w+\): call its df\(\) yourself to see why\.$"
    with pytest.raises(SchemaError, match=sentence) as caught:
        spend_by_friend(failing)
    assert "'out'" not in str(caught.value)


# St. John's put clocks back at 00:01, into the day before; Apia left out a day; Lord Howe moves by half an hour; Gaza
# has had changes a week apart; Monrovia's offset held seconds.
ZONES = (
    "UTC", "America/New_York", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Gaza", "Asia/Kolkata",
    "Africa/Casablanca", "Africa/Monrovia", "America/Boa_Vista",
)  # fmt: skip


@pytest.mark.parametrize("name", ZONES)
def test_local_time_equals_that_of_the_clocks(name):
    """Seconds around every change of the clocks, and two instants of each day, from 1970 to 2037."""
    zone = ZoneInfo(name)
    first, last = datetime(1970, 1, 1, tzinfo=UTC), datetime(2037, 12, 31, tzinfo=UTC)
    changes = [at for at, _ in calendar.find_offsets(to_microseconds(first), to_microseconds(last), zone)]
    instants = [first + timedelta(hours=12 * half) for half in range(2 * (last - first).days)]
    instants += [from_microseconds(at) + timedelta(seconds=step) for at in changes for step in (-3601, -1, 0, 1, 3601)]
    instants = sorted(at for at in instants if first <= at <= last)
    frame = pl.DataFrame({"at": [to_microseconds(at) for at in instants]})
    ends = to_microseconds(first), to_microseconds(last)
    found = calendar.add_local_time(nw.from_native(frame).lazy(), "at", zone, ends, frame)
    seconds = found.sort("at").collect().to_native()["local_us"].to_list()
    assert seconds == [to_microseconds(at.astimezone(zone).replace(tzinfo=UTC)) for at in instants]


@pytest.mark.parametrize(
    ("every", "day", "start"),
    [
        ("day", "2024-02-29", "2024-02-29"),
        ("week", "2024-02-25", "2024-02-19"),  # a Sunday
        ("week", "2024-02-26", "2024-02-26"),
        ("week", "1970-01-01", "1969-12-29"),
        ("month", "2024-02-29", "2024-02-01"),
        ("quarter", "2024-06-30", "2024-04-01"),
        ("year", "2024-12-31", "2024-01-01"),
    ],
)
def test_first_day_of_a_period(every, day, start):
    """The first day of the period that a day is in."""
    number = (datetime.fromisoformat(day) - datetime(1970, 1, 1)).days  # noqa: DTZ001 - days have no zone
    (first,) = calendar.list_periods([number], every)
    assert calendar.to_date(first).isoformat() == start
