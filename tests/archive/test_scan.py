"""Other engines read the same rows from the files, lazily, with UTC as their zone."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [*PAYMENTS, "created_us", "completed_us", "settle_us"]


@pytest.fixture
def archive(tmp_path, history_of, payment, monkeypatch) -> p2p.Archive:
    """Return an archive of several files, in a folder with a pattern as its name."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 2)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 2)
    archive = p2p.open_archive(tmp_path / "a[b]*")
    first = payment(0, date_created="2024-03-01T02:00:00")  # in New York still February
    days = [payment(day, date_created=f"2024-04-{day:02}T12:00:00.000001", fee={"amount": day}) for day in range(1, 8)]
    archive.merge(history_of(first, *days, payment(9, date_created=None)))
    assert len(archive._folder.read_manifest().service.payments) > 2
    return archive


def sort_rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    """Return the rows of some columns of each kind, null as None."""
    columns = ["payment_id", "status", "amount_cents", "fee_cents", "date_created", "direction"]
    rows = frame.sort_values("payment_id")[columns].astype(object)
    return list(rows.where(rows.notna(), None).itertuples(index=False, name=None))


def test_polars(archive) -> None:
    """A LazyFrame with the columns of PAYMENTS and times as microseconds, that analyses take."""
    scan = archive.scan("polars")
    assert isinstance(scan, pl.LazyFrame)
    assert scan.collect_schema().names() == COLUMNS
    assert scan.collect_schema()["date_created"] == pl.Datetime("us", "UTC")
    assert sort_rows(scan.collect().to_pandas()) == sort_rows(archive.history().payments)
    assert p2p.status_mix(scan).collect()["payments"].to_list() == [9]


def test_duckdb(archive) -> None:
    """A relation with the columns of PAYMENTS and times as microseconds; its months are in UTC in every local zone."""
    scan = archive.scan("duckdb")
    assert isinstance(scan, duckdb.DuckDBPyRelation)
    assert scan.columns == COLUMNS
    assert sort_rows(scan.to_arrow_table().to_pandas()) == sort_rows(archive.history().payments)
    months = scan.filter("payment_id = '0'").aggregate("max(month(date_created)) AS month")
    assert months.fetchall() == [(3,)]


def test_an_engine_that_is_not_there(archive, monkeypatch) -> None:
    """The errors for an unknown engine and a missing package give advice."""
    with pytest.raises(ConfigurationError, match="polars, duckdb, spark"):
        archive.scan("excel")
    for engine, module, instead in (("duckdb", "duckdb", "make install"), ("spark", "pyspark", "pip install pyspark")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match=f"{module}.* is not installed: .*{instead}"):
            archive.scan(engine)


def test_a_missing_file_is_named(archive) -> None:
    """An engine would name it in words of its own, or not at all."""
    file = next(archive.path.glob("payments-*"))
    file.unlink()
    with pytest.raises(ArchiveError, match=f"{file.name} is broken"):
        archive.scan("polars")


def test_no_engine_is_loaded_before_it_is_asked_for(archive) -> None:
    """Opening and scanning with one engine loads no other."""
    code = f"import sys, p2p_analytics as p2p; p2p.open_archive({str(archive.path)!r}).scan('polars'); "
    code += "sys.exit(bool({'duckdb', 'pyspark', 'requests'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)  # noqa: S603 - our own words
