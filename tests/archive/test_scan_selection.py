"""A scan reads the chosen columns of the files of a period, and no other byte of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

ENGINES = ["pandas", "polars", "duckdb"]


@pytest.fixture(scope="module")
def small_files() -> Iterator[None]:
    """Fill a file with two payments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("p2p_analytics.archive._service.MOST_ROWS", 2)
        patch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 2)
        yield


@pytest.fixture(scope="module")
def april(tmp_path_factory, history_of, payment, small_files: None) -> Path:
    """Return an archive with a payment at noon of 1 to 8 April, and one without a date, in files of two days."""
    archive = p2p.open_archive(tmp_path_factory.mktemp("april") / "account_id=9")
    ada = Me(user=User(id="7", username="ada", display_name="Ada"))
    days = [payment(day, date_created=f"2024-04-{day:02}T12:00:00") for day in range(1, 9)]
    archive.merge(replace(history_of(*days, payment(9, date_created=None)), me=ada))
    return archive.path


@pytest.fixture
def archive(april: Path, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(april, tmp_path / april.name))


def read(frame: Any) -> pd.DataFrame:
    """Return a scan of any engine as a pandas frame."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect().to_pandas()
    return frame.to_arrow_table().to_pandas() if isinstance(frame, duckdb.DuckDBPyRelation) else frame


def list_ids(frame: Any) -> list[str]:
    """Return the ids of the payments in a scan, in their order."""
    return sorted(read(frame)["payment_id"])


def erase(path: Path, kept: Collection[str] = ()) -> None:
    """Overwrite the data of all columns but the kept ones; the size of the file stays."""
    content = bytearray(path.read_bytes())
    metadata = pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            if column.path_in_schema not in kept:
                first = column.dictionary_page_offset or column.data_page_offset
                content[first : first + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_in_the_order_given(archive, engine) -> None:
    """A folder that is named like a column does not replace it."""
    found = read(archive.scan(engine, columns=["note", "account_id", "payment_id"]))
    assert list(found) == ["note", "account_id", "payment_id"]
    assert sorted(found["note"]) == [f"note {number}" for number in range(1, 10)]
    assert set(found["account_id"]) == {"7"}


def test_each_column_has_its_dtype_in_a_pandas_scan(archive) -> None:
    """Alone or among others; the instants in microseconds are whole numbers."""
    dtypes = PAYMENTS | dict.fromkeys(["created_us", "completed_us", "settle_us"], "Int64")
    assert archive.scan("pandas").dtypes.astype(str).to_dict() == dtypes
    for name, dtype in dtypes.items():
        assert archive.scan("pandas", columns=[name]).dtypes.astype(str).to_dict() == {name: dtype}


@pytest.mark.parametrize("engine", ENGINES)
def test_other_columns_are_not_read(archive, engine) -> None:
    """Their bytes are gone, and the chosen ones are as before; only a scan of everything compares the digest."""
    for path in archive.path.glob("payments-*"):
        erase(path, kept={"payment_id", "created_us"})
    assert list_ids(archive.scan(engine, columns=["payment_id"])) == [str(number) for number in range(1, 10)]
    assert list_ids(archive.scan(engine, columns=["payment_id"], before="2024-04-03")) == ["1", "2"]
    with pytest.raises(ArchiveError, match="is broken"):
        archive.scan(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_files_outside_the_period_are_not_opened(archive, engine) -> None:
    """Of five files, one holds the period; the others hold nothing readable any more."""
    paths = sorted(archive.path.glob("payments-*"))
    for path in paths:
        if "2024-04-05" not in path.name:
            path.write_bytes(b"\xff" * path.stat().st_size)
    assert len(paths) > 3
    found = archive.scan(engine, since="2024-04-05", before="2024-04-06T12:00:00.000001")
    assert list_ids(found) == ["5", "6"]
    assert list(read(found))[: len(PAYMENTS)] == list(PAYMENTS)


NOON = datetime(2024, 4, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "before", "expected"),
    [
        (None, None, "123456789"),
        (None, NOON, "12"),
        (NOON, None, "345678"),
        (NOON, NOON, ""),
        (NOON, NOON + timedelta(microseconds=1), "3"),
        (NOON.replace(tzinfo=None), date(2024, 4, 5), "34"),
        (NOON.astimezone(timezone(timedelta(hours=9))), pd.Timestamp("2024-04-04T13:00"), "34"),
        ("2024-04-08", None, "8"),
        ("2031-01-01", None, ""),
        (None, "1999-12-31T23:59:59Z", ""),
        (date.min, "9999-12-31", "12345678"),
    ],
)
def test_a_period_includes_its_start_and_excludes_its_end(archive, since, before, expected) -> None:
    """Aware, naive, dates and text; a payment without a date belongs to no period with a bound."""
    for engine in ENGINES:
        assert list_ids(archive.scan(engine, since=since, before=before)) == list(expected)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"columns": "note"}, r"columns is a list of names: write columns=\['note'\]\.$"),
        ({"columns": []}, "columns is empty: name at least one"),
        ({"columns": ["amount_cent"]}, "no 'amount_cent'; did you mean 'amount_cents'"),
        ({"columns": ["x" * 50]}, "there are payment_id, status,"),
        ({"columns": [None]}, "the archive has no None"),
        ({"columns": ["note", "note"]}, "names 'note' twice"),
        ({"columns": 7}, "a list of names, not an int"),
        ({"columns": ["balance_cents"]}, "the archive has no 'balance_cents'"),
        ({"since": "last May"}, "since: 'last May' is no date"),
        ({"before": 2024}, "before: '2024' is no date"),
        ({"before": pd.NaT}, "before: 'NaT' is no date"),
        ({"since": "2024-05-01", "before": "2024-04-01"}, "exchange them"),
        ({"spark": object()}, "spark is a session for engine='spark', not for 'polars'"),
        ({"engine": "spark", "spark": "local"}, "spark is a SparkSession, not a str"),
        ({"engine": ["polars"]}, "engine can be pandas, polars, duckdb, spark"),
    ],
)
def test_a_wrong_choice_is_refused(archive, chosen, sentence) -> None:
    """Each in one sentence with the value."""
    with pytest.raises(ConfigurationError, match=sentence):
        archive.scan(**{"engine": "polars"} | chosen)


def test_a_pandas_scan_is_the_history(archive) -> None:
    """Without a choice: the rows and dtypes of the history, and microseconds."""
    expected = archive.history().payments.set_index("payment_id").sort_index()
    found = archive.scan("pandas").set_index("payment_id").sort_index()
    pd.testing.assert_frame_equal(found[[*expected]], expected)
    assert [*found.columns.difference([*expected])] == ["completed_us", "created_us", "settle_us"]


@pytest.mark.parametrize("engine", ENGINES)
def test_statements_within_a_period(archive, engine) -> None:
    """Whether a statement repeats a payment is decided by all payments, and its date by the service's."""
    archive.import_(
        statements_of(
            row(2, "Bo", date_created=NOON + timedelta(days=2)),  # the service lists it on 2 April
            row(9, "Bo", date_created=NOON + timedelta(hours=1)),  # the service shows no date
            row(10, "Bo", date_created=NOON + timedelta(hours=2)),
            row(11, "Bo", date_created=NOON - timedelta(days=9)),
        )
    )
    everything = read(archive.scan(engine))
    assert sorted(everything["payment_id"], key=int) == [str(number) for number in range(1, 12)]
    found = read(archive.scan(engine, ["payment_id", "file"], since="2024-04-03", before="2024-04-06"))
    assert sorted(found["payment_id"], key=int) == ["3", "4", "5", "9", "10"]
    assert dict(zip(found["payment_id"], found["file"], strict=True))["10"] == "may.csv"
    assert list_ids(archive.scan(engine, since="2020-01-01", before="2024-04-01")) == ["11"]


def test_a_forked_process_gets_no_pandas_frame(archive, monkeypatch) -> None:
    """Polars, which reads it, would hang there."""
    monkeypatch.setattr("p2p_analytics.forks.is_marked", lambda: True)
    with pytest.raises(ConfigurationError, match="forked"):
        archive.scan("pandas")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_currency_that_is_not_known_stays_so(tmp_path: Path, engine: Any) -> None:
    """Without the column source too, analyses do not take it for dollars; with it, the null stays."""
    archive = p2p.open_archive(tmp_path / "a")
    archive.import_(statements_of(row(1, currency=None), row(2, currency="EUR")))
    needed = ["status", "direction", "date_created", "date_completed", "amount_cents", "flow_cents"]
    columns = ["payment_id", *needed, "kind", "currency"]
    rows = read(archive.scan(engine, columns=columns)).set_index("payment_id")
    assert rows["currency"].to_dict() == {"1": "XXX", "2": "EUR"}
    with pytest.raises(SchemaError, match="in one currency, not in EUR and an unknown one"):
        p2p.monthly_flow(archive.scan(engine, columns=columns))
    whole = read(archive.scan(engine, columns=[*columns, "source"])).set_index("payment_id")
    assert whole["currency"].isna().to_dict() == {"1": True, "2": False}
