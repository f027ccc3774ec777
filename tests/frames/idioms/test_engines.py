"""Other engines on a pandas frame: DuckDB, Polars, PyArrow, narwhals."""

from __future__ import annotations

from collections import Counter

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pandas.testing import assert_frame_equal

from p2p_analytics.frames.schema import INSTANT, PAYMENTS, PEOPLE, TEXT, WHOLE

# DuckDB's `df` drops columns in a spelling that pandas 3.1 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop")


@pytest.fixture
def connection():
    """Open a DuckDB connection in UTC."""
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


def flows_by(rows, name: str) -> dict[str, int]:
    """Return the flow of the plain rows by one field."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[name]] += row["flow_cents"]
    return dict(sums)


def months_of(rows) -> dict[str, int]:
    """Return the count of the plain rows by month."""
    return Counter(row["date_created"].strftime("%Y-%m") for row in rows)


def test_duckdb_scans_a_frame(payments, rows, connection) -> None:
    """A variable is a table; text is VARCHAR, cents BIGINT, instants TIMESTAMPTZ."""
    kinds = connection.sql("DESCRIBE payments").fetchall()
    names = {TEXT: "VARCHAR", WHOLE: "BIGINT", INSTANT: "TIMESTAMP WITH TIME ZONE"}
    assert {name: kind for name, kind, *_ in kinds} == {name: names[dtype] for name, dtype in PAYMENTS.items()}
    found = connection.sql("SELECT counterparty_id, sum(flow_cents) FROM payments GROUP BY 1").fetchall()
    assert dict(found) == flows_by(rows, "counterparty_id")
    assert len(payments) == len(rows)


def test_duckdb_joins_people(payments, people, rows, connection) -> None:
    """Payments and people join by id."""
    found = connection.sql(
        "SELECT display_name, count(*) FROM payments JOIN people ON counterparty_id = user_id"
        " GROUP BY user_id, display_name"
    ).fetchall()
    expected = Counter(row["counterparty_id"] for row in rows if row["counterparty_username"])
    assert Counter(count for _, count in found) == Counter(expected.values())
    assert {name for name, _ in found} == {row["counterparty_name"] for row in rows if row["counterparty_username"]}
    assert people["user_id"].is_unique
    assert len(payments) == len(rows)


def test_duckdb_gives_a_frame_back(payments, rows, connection) -> None:
    """`df` and Arrow hold the same values; text is text again."""
    frame = connection.sql("SELECT payment_id, note, flow_cents FROM payments WHERE status = 'pending'").df()
    assert frame["payment_id"].tolist() == [row["payment_id"] for row in rows if row["status"] == "pending"]
    assert frame["note"].dtype == "str"
    table = connection.sql("SELECT date_created FROM payments").to_arrow_table()
    assert table["date_created"].to_pylist() == payments["date_created"].tolist()


def test_polars_takes_a_frame(payments, people) -> None:
    """`from_pandas`, and back, gives the same frame; text is String, never Categorical."""
    kinds = {TEXT: pl.String, WHOLE: pl.Int64, INSTANT: pl.Datetime("us", "UTC"), "boolean": pl.Boolean}
    for frame, schema in ((payments, PAYMENTS), (people, PEOPLE)):
        taken = pl.from_pandas(frame)
        assert dict(taken.schema) == {name: kinds[dtype] for name, dtype in schema.items()}
        assert taken.equals(pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)))
        assert_frame_equal(taken.to_pandas().astype(dict(schema)), frame)


def test_polars_refuses_integer_ids(payments) -> None:
    """Polars joins no text with integers."""
    labels = pl.DataFrame({"counterparty_id": [1, 2]})
    with pytest.raises(pl.exceptions.SchemaError, match="datatypes of join keys don't match"):
        pl.from_pandas(payments).join(labels, on="counterparty_id")


def test_pyarrow_takes_a_frame(payments, rows) -> None:
    """A table of plain types, without dictionaries, groups and filters."""
    table = pa.Table.from_pandas(payments, preserve_index=False)
    kinds = {TEXT: "large_string", WHOLE: "int64", INSTANT: "timestamp[us, tz=UTC]"}
    assert {field.name: str(field.type) for field in table.schema} == {
        name: kinds[dtype] for name, dtype in PAYMENTS.items()
    }
    sums = table.group_by("counterparty_id").aggregate([("flow_cents", "sum")]).to_pydict()
    assert dict(zip(sums["counterparty_id"], sums["flow_cents_sum"], strict=True)) == flows_by(rows, "counterparty_id")
    pending = table.filter(pc.field("status") == "pending")
    assert pending["payment_id"].to_pylist() == [row["payment_id"] for row in rows if row["status"] == "pending"]
    assert_frame_equal(table.to_pandas(), payments)


def test_narwhals_takes_a_frame(payments, rows) -> None:
    """One expression for every engine."""
    frame = nw.from_native(payments)
    assert frame.schema["counterparty_name"] == nw.String
    found = frame.group_by("status").agg(nw.col("flow_cents").sum(), nw.len().alias("payments")).sort("status")
    counts = Counter(row["status"] for row in rows)
    flows = flows_by(rows, "status")
    assert found.rows() == [(status, flows[status], counts[status]) for status in sorted(counts)]
    upper = frame.select(nw.col("counterparty_name").str.to_uppercase()).to_native()
    assert upper["counterparty_name"].tolist() == [row["counterparty_name"].upper() for row in rows]
