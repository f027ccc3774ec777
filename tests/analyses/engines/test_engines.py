"""Tests of engines: sessions, results of the caller's kind, and local time as numbers."""

from bisect import bisect_left
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest
from analyses.conftest import connect

from p2p_analytics import (
    activity,
    categorise,
    monthly_flow,
    pending_ageing,
    spend_by_friend,
    spending_over_time,
    status_mix,
    unusual,
)
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.arrow import table_of

ROWS = [
    {"direction": "out", "flow_cents": -1050, "counterparty_id": "1", "created": "2024-02-29T23:59:59.999Z"},
    {"direction": "in", "flow_cents": 2000, "counterparty_id": "2", "created": "2024-03-01T00:00:00Z"},
]


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


@pytest.mark.parametrize("analysis", [spend_by_friend, categorise])
def test_a_connection_in_another_zone_is_refused(build, analysis):
    """The dates of a result would be shown in the zone of the connection."""
    relation = connect("Asia/Kolkata").from_arrow(table_of(build(ROWS)))
    sentence = rf"{analysis.__name__}: DuckDB's connection is in the time zone Asia/Kolkata.*SET TimeZone"
    with pytest.raises(SchemaError, match=sentence):
        analysis(relation)


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
    """A number or a text is not a date; what it could mean is not guessed."""
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
    instants = [first + timedelta(hours=12 * half) for half in range(2 * (last - first).days)]

    def has_offset_of(instant, other):
        return instant.astimezone(zone).utcoffset() == other.astimezone(zone).utcoffset()

    for begin, end in pairwise([*instants]):
        if not has_offset_of(begin, end):
            at = bisect_left(range(43_200), x=True, key=lambda at: has_offset_of(begin + timedelta(seconds=at), end))
            instants += [begin + timedelta(seconds=at + step) for step in (-3601, -1, 0, 1, 3601)]
    others = {"status": "settled", "direction": "in", "amount_cents": 1}
    table = activity(pl.DataFrame({"date_created": instants, **others}), tz=zone)
    clocks = Counter((local.weekday(), local.hour) for local in (instant.astimezone(zone) for instant in instants))
    assert {tuple(hour): number for *hour, number, _ in table.rows() if number} == clocks
