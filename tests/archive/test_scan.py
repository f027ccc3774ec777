"""A scan reads the chosen columns of the files of a period, and no other byte of them, in UTC on every engine."""

import shutil
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.limits import LIMITS
from support.archives.statements import read_manifest, row, statements_of
from support.frames import list_values

ENGINES = ["pandas", "polars", "duckdb"]
DTYPES = PAYMENTS | dict.fromkeys(["created_us", "completed_us", "settle_us"], "Int64")
NOON = datetime(2024, 4, 3, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def april(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive with a payment at noon of 1 to 8 April, and one without a date, in files of two days."""
    made = p2p.open_archive(tmp_path_factory.mktemp("april") / "account_id=[9]*")
    days = [payment(day, date_created=f"2024-04-{day:02}T12:00:00", fee={"amount": day}) for day in range(2, 9)]
    first = payment(1, date_created="2024-04-01T02:00:00.000001")  # in New York still March
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LIMITS, "archive_rows", 2)
        made.merge(history_of(first, *days, payment(9, date_created=None)))
    assert len(read_manifest(made)["service"]["payments"]) == 5
    return made.path


@pytest.fixture
def archive(april, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(april, tmp_path / april.name))


def read(frame) -> pd.DataFrame:
    """Return a scan of any engine as a pandas frame."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect().to_pandas()
    return frame.to_arrow_table().to_pandas() if isinstance(frame, duckdb.DuckDBPyRelation) else frame


def list_ids(frame) -> list[str]:
    """Return the sorted ids of the payments in a scan."""
    return sorted(read(frame)["payment_id"], key=int)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_of_everything(april, engine) -> None:
    """The columns of PAYMENTS and times in microseconds, with the values of the history."""
    archive = p2p.open_archive(april)
    scan, expected = archive.scan(engine), archive.history().payments.sort_values("payment_id")
    assert type(scan) is {"pandas": pd.DataFrame, "polars": pl.LazyFrame, "duckdb": duckdb.DuckDBPyRelation}[engine]
    rows = read(scan).sort_values("payment_id")
    assert list(rows) == list(DTYPES)
    for name in ("payment_id", "status", "amount_cents", "fee_cents", "date_created", "direction"):
        assert list_values(rows[name]) == list_values(expected[name])
    if engine == "pandas":
        pd.testing.assert_frame_equal(rows[[*expected]].set_index("payment_id"), expected.set_index("payment_id"))
        assert rows.dtypes.astype(str).to_dict() == DTYPES
        assert archive.scan("pandas", ["note"]).dtypes.astype(str).to_dict() == {"note": "str"}
    if engine == "polars":
        assert p2p.status_mix(scan).collect()["payments"].to_list() == [9]
    if engine == "duckdb":  # in UTC, whatever the local zone is
        months = archive.scan("duckdb").filter("payment_id = '1'").aggregate("max(month(date_created))")
        assert months.fetchall() == [(4,)]


def test_an_engine_that_is_not_there(april, monkeypatch) -> None:
    """The error says how to install it."""
    for engine, module, instead in (("duckdb", "duckdb", "make install"), ("spark", "pyspark", "pip install pyspark")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match=f"{module}.* is not installed: .*{instead}"):
            p2p.open_archive(april).scan(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_other_columns_and_files_are_read(archive, engine) -> None:
    """Columns are in the order given; the bytes of the others are gone, and the name of the folder replaces none.

    Only a scan of everything compares the digest. Of five files, one holds the period, and others may be unreadable.
    """
    for path in archive.path.glob("payments-*"):
        content, group = bytearray(path.read_bytes()), pq.read_metadata(path).row_group(0)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema not in {"payment_id", "created_us", "account_id"}:
                start, size = column.dictionary_page_offset or column.data_page_offset, column.total_compressed_size
                content[start : start + size] = b"\xff" * size
        path.write_bytes(content)
    found = read(archive.scan(engine, columns=["account_id", "payment_id"]))
    assert list(found) == ["account_id", "payment_id"]
    assert set(found["account_id"]) == {"7"}
    assert list_ids(archive.scan(engine, columns=["payment_id"], before="2024-04-03")) == ["1", "2"]
    with pytest.raises(ArchiveError, match="is broken"):
        archive.scan(engine)
    for path in archive.path.glob("payments-*"):
        if "2024-04-05" not in path.name:
            path.write_bytes(b"\xff" * path.stat().st_size)
    found = archive.scan(engine, columns=["payment_id"], since="2024-04-05", before="2024-04-06T12:00:00.000001")
    assert list_ids(found) == ["5", "6"]


@pytest.mark.parametrize(
    ("since", "before", "expected"),
    [
        (None, NOON, "12"),
        (NOON, None, "345678"),
        (NOON, NOON, ""),
        (NOON, NOON + timedelta(microseconds=1), "3"),
        (NOON.replace(tzinfo=None), date(2024, 4, 5), "34"),
        (NOON.astimezone(timezone(timedelta(hours=9))), pd.Timestamp("2024-04-04T13:00"), "34"),
        ("2031-01-01", None, ""),
        (None, "1999-12-31T23:59:59Z", ""),
        (date.min, "9999-12-31", "12345678"),
    ],
)
def test_a_period_includes_its_start_and_excludes_its_end(april, since, before, expected) -> None:
    """Aware, naive, dates and text; a payment without a date belongs to no period with a bound."""
    for engine in ENGINES:
        assert list_ids(p2p.open_archive(april).scan(engine, since=since, before=before)) == list(expected)


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
        ({"before": pd.NaT}, "before: 'NaT' is no date"),
        ({"since": "2024-05-01", "before": "2024-04-01"}, "exchange them"),
        ({"spark": object()}, "spark is a session for engine='spark', not for 'polars'"),
        ({"engine": "spark", "spark": "local"}, "spark is a SparkSession, not a str"),
        ({"engine": ["polars"]}, "engine can be pandas, polars, duckdb, spark"),
    ],
)
def test_a_wrong_choice_is_refused(april, chosen, sentence) -> None:
    """Each in one sentence with the value."""
    with pytest.raises(ConfigurationError, match=sentence):
        p2p.open_archive(april).scan(**{"engine": "polars"} | chosen)


def test_statements_within_a_period(archive) -> None:
    """Whether a statement repeats a payment is decided by all payments, and its date by the service's."""
    given = [
        row(2, account_id="7", date_created=NOON + timedelta(days=2)),  # the service lists it on 2 April
        row(9, account_id="7", date_created=NOON + timedelta(hours=1)),  # the service shows no date
        row(10, account_id="7", date_created=NOON + timedelta(hours=2)),
        row(11, account_id="7", date_created=NOON - timedelta(days=9)),
    ]
    archive.import_(statements_of(*given))
    for engine in ENGINES:
        assert list_ids(archive.scan(engine)) == [str(number) for number in range(1, 12)]
        found = read(archive.scan(engine, ["payment_id", "file"], since="2024-04-03", before="2024-04-06"))
        assert list_ids(found) == ["3", "4", "5", "9", "10"]
        assert found.set_index("payment_id")["file"].get("10") == "may.csv"
        assert list_ids(archive.scan(engine, since="2020-01-01", before="2024-04-01")) == ["11"]


def test_a_currency_that_is_not_known_stays_so(tmp_path: Path) -> None:
    """Without the column source too, analyses do not take it for dollars; with it, the null stays."""
    archive = p2p.open_archive(tmp_path / "a")
    archive.import_(statements_of(row(1, currency=None), row(2, currency="EUR")))
    needed = ["status", "direction", "date_created", "date_completed", "amount_cents", "flow_cents"]
    columns = ["payment_id", *needed, "kind", "currency"]
    for engine in ENGINES:
        rows = read(archive.scan(engine, columns=columns)).set_index("payment_id")
        assert rows["currency"].to_dict() == {"1": "XXX", "2": "EUR"}
        with pytest.raises(SchemaError, match="in one currency, not in EUR and an unknown one"):
            p2p.monthly_flow(archive.scan(engine, columns=columns))
        whole = read(archive.scan(engine, columns=[*columns, "source"])).set_index("payment_id")
        assert whole["currency"].isna().to_dict() == {"1": True, "2": False}
