"""Other engines on a pandas frame: DuckDB, Polars, PyArrow."""

from __future__ import annotations

from collections import Counter

import duckdb
import polars as pl
import pyarrow as pa
from pandas.testing import assert_frame_equal

from p2p_analytics.frames.schema import INSTANT, PAYMENTS, PEOPLE, TEXT, WHOLE


def sum_by_person(rows) -> dict[str, int]:
    """Return the flow of the plain rows by counterparty."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["counterparty_id"]] += row["flow_cents"]
    return dict(sums)


def test_duckdb_scans_a_frame(payments, rows) -> None:
    """A variable is a table; text is VARCHAR, cents BIGINT, instants TIMESTAMPTZ, and the instants come back."""
    assert len(payments) == len(rows)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        kinds = connection.sql("DESCRIBE payments").fetchall()
        found = connection.sql("SELECT counterparty_id, sum(flow_cents) FROM payments GROUP BY 1").fetchall()
        table = connection.sql("SELECT date_created FROM payments").to_arrow_table()
    names = {TEXT: "VARCHAR", WHOLE: "BIGINT", INSTANT: "TIMESTAMP WITH TIME ZONE"}
    assert {name: kind for name, kind, *_ in kinds} == {name: names[dtype] for name, dtype in PAYMENTS.items()}
    assert dict(found) == sum_by_person(rows)
    assert table["date_created"].to_pylist() == [row["date_created"] for row in rows]


def test_polars_takes_a_frame(history) -> None:
    """`from_pandas`, and back, gives the same frame; text is String, never Categorical."""
    kinds = {TEXT: pl.String, WHOLE: pl.Int64, INSTANT: pl.Datetime("us", "UTC"), "boolean": pl.Boolean}
    for frame, schema in ((history.payments, PAYMENTS), (history.people, PEOPLE)):
        taken = pl.from_pandas(frame)
        assert dict(taken.schema) == {name: kinds[dtype] for name, dtype in schema.items()}
        assert_frame_equal(taken.to_pandas().astype(dict(schema)), frame)


def test_pyarrow_takes_a_frame(payments, rows) -> None:
    """A table of plain types, without dictionaries, groups and comes back."""
    table = pa.Table.from_pandas(payments, preserve_index=False)
    kinds = {TEXT: "large_string", WHOLE: "int64", INSTANT: "timestamp[us, tz=UTC]"}
    assert {field.name: str(field.type) for field in table.schema} == {
        name: kinds[dtype] for name, dtype in PAYMENTS.items()
    }
    sums = table.group_by("counterparty_id").aggregate([("flow_cents", "sum")]).to_pydict()
    assert dict(zip(sums["counterparty_id"], sums["flow_cents_sum"], strict=True)) == sum_by_person(rows)
    assert_frame_equal(table.to_pandas(), payments)
