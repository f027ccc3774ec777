"""Writers of pandas: JSON, SQL, CSV, Parquet, Feather, pickle, HTML, and what they refuse of aware datetimes."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import p2p_analytics as p2p


def test_json_records(payments, rows) -> None:
    """`to_json` gives ids as text, cents as numbers, ISO dates, null for null."""
    found = json.loads(payments.to_json(orient="records", date_format="iso", date_unit="us"))
    assert [record["payment_id"] for record in found] == [row["payment_id"] for row in rows]
    assert [record["flow_cents"] for record in found] == [row["flow_cents"] for row in rows]
    assert [record["target_email"] for record in found] == [row["target_email"] for row in rows]
    assert found[0]["date_created"] == rows[0]["date_created"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_sql_table(payments, people, rows) -> None:
    """SQLite holds text, integers and ISO instants; its sums are those of the rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        payments.to_sql("payments", connection, index=False)
        people.to_sql("people", connection, index=False)
        total = connection.execute(
            "SELECT count(*), sum(flow_cents), min(date_created), typeof(payment_id) FROM payments"
            " WHERE status = 'settled'"
        ).fetchone()
        some = [row for row in rows if row["status"] == "settled"]
        oldest = min(row["date_created"] for row in some).isoformat(sep=" ")
        assert total == (len(some), sum(row["flow_cents"] for row in some), oldest, "text")
        names = connection.execute(
            "SELECT count(*) FROM payments JOIN people ON user_id = counterparty_id WHERE note LIKE '%rent%'"
        ).fetchone()
        assert names == (
            sum("rent" in row["note"].lower() and row["counterparty_username"] is not None for row in rows),
        )
        # Without a format, pandas reads the dates in the form of the first one, and others silently become NaT.
        forms = {key: {"format": "ISO8601", "utc": True} for key in ("date_created", "date_completed")}
        back = pd.read_sql("SELECT * FROM payments", connection, parse_dates=forms)
    assert_frame_equal(back.astype(payments.dtypes.to_dict()), payments)


def test_pandas_csv(payments) -> None:
    """The CSV file of pandas holds the same cells; read with dtypes, it is the same frame."""
    text = payments.to_csv(index=False)
    dates = ["date_created", "date_completed"]
    dtypes = {name: dtype for name, dtype in payments.dtypes.items() if name not in dates}
    back = pd.read_csv(io.StringIO(text), dtype=dtypes, keep_default_na=False, na_values=[""])
    for name in dates:
        back[name] = pd.to_datetime(back[name], format="ISO8601").dt.as_unit("us")
    blank = payments["note"] == ""
    assert_frame_equal(back[~blank], payments[~blank])  # in pandas' CSV empty text becomes null


def test_binary_files_of_pandas(payments, tmp_path) -> None:
    """Parquet, Feather and pickle give back the frame with its dtypes."""
    payments.to_parquet(tmp_path / "p.parquet")
    payments.to_feather(tmp_path / "p.feather")
    payments.to_pickle(tmp_path / "p.pickle")
    for read, name in ((pd.read_parquet, "p.parquet"), (pd.read_feather, "p.feather"), (pd.read_pickle, "p.pickle")):
        assert_frame_equal(read(tmp_path / name), payments)
    assert_frame_equal(p2p.read_parquet(tmp_path / "p.parquet", privacy=False), payments)
    few = pd.read_parquet(tmp_path / "p.parquet", columns=["note"], filters=[("status", "==", "pending")])
    assert few["note"].tolist() == payments.loc[payments["status"] == "pending", "note"].tolist()


def test_excel_refuses_aware_dates(payments, tmp_path) -> None:
    """Excel has no zones: pandas refuses aware datetimes, and takes the cells after `tz_localize(None)`."""
    cells: dict[tuple[int, int], object] = {}

    class Workbook(pd.ExcelWriter):  # an engine in memory, because none is installed
        _engine, _supported_extensions = "memory", (".memory",)
        book, sheets = None, {}

        def _write_cells(self, written, *_sheet: object, **_options: object) -> None:
            for cell in written:
                value, _form = self._value_with_fmt(cell.val)
                cells[cell.row, cell.col] = value

        def _save(self) -> None:
            """Keep the cells in memory."""

    some = payments[["payment_id", "note", "flow_cents", "date_created"]].head(3)
    refusal = pytest.raises(ValueError, match="Excel does not support datetimes with timezones")
    with refusal, Workbook(tmp_path / "p.memory", engine="memory") as book:
        some.to_excel(book, index=False)
    with Workbook(tmp_path / "p.memory", engine="memory") as book:
        some.assign(date_created=some["date_created"].dt.tz_localize(None)).to_excel(book, index=False)
    assert cells[0, 0] == "payment_id"
    assert [cells[1, column] for column in (0, 1, 2)] == some.iloc[0, :3].tolist()


def test_html_and_style(payments, rows) -> None:
    """HTML escapes names, and a style formats cents."""
    table = payments.loc[payments["counterparty_name"].str.contains("&"), ["counterparty_name", "flow_cents"]]
    assert len(table)
    assert "Bean &amp; Leaf" in table.to_html()
    styled = payments[["flow_cents"]].head(2).style.format({"flow_cents": lambda cents: f"${cents / 100:,.2f}"})
    assert f"${rows[0]['flow_cents'] / 100:,.2f}" in styled.to_html()
    assert rows[0]["payment_id"] in payments.head(1).T.to_string()
