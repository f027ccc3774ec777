"""What goes into a CSV or Parquet file comes back out of it, and nothing in it runs."""

from __future__ import annotations

import csv
import os
import re
import stat
import types
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export import read_csv, read_parquet, to_csv, to_parquet
from p2p_analytics.frames import schema
from support.frames import frame_from_columns, frame_from_rows
from support.hostile_texts import TRIGGERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


NASTY = [
    "", " ", "NA", "null", "nan", "None", "#N/A", "007", "1e5", "true", "2024-05-31", "2024-05-31T18:30:00Z",
    'say "hi"', '"', '""', ",", "a,b", "a\nb", "a\rb", "a\r\nb", "\n", "\r", "\r\n", "\r\r=1", "a\n\n", "\0", "a\0b",
    "=SUM(1)", "+1", "-1", "@x", "\t=1", "  =1", "\u00a0=1", "\ufeff=1", "\u200b=1", "＝1", "＋1", "－1", "＠1",  # noqa: RUF001
    "\x0b\tx", "a\n=1", "a\r=1", "a\r\n@x", "a\n '=1", "a\r'b", "'", "''", "'=1", "''=1", "'tis", "a'b", "\u2028x",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1fa\U0001f1f8", "\u202eabc", "x" * 5000,
]  # fmt: skip

FILES = ((to_csv, read_csv), (to_parquet, read_parquet))
FAR = pd.Series(np.array(["0000-12-31", "2024-05-31", "10000-01-01"], dtype="datetime64[us]"))


def payments(**columns: list[object]) -> pd.DataFrame:
    """Return a PAYMENTS frame with these columns filled and the others null."""
    rows = len(next(iter(columns.values())))
    return frame_from_columns(columns, schema.PAYMENTS, rows)


def cells(path: os.PathLike[str]) -> list[list[str]]:
    """Return a file's cells as Python's own reader sees them, header and all."""
    with open(path, encoding="utf-8", newline="") as file:  # noqa: PTH123 - newline="" is csv's demand
        return list(csv.reader(file))


def test_csv_gives_back_nasty_text(tmp_path: Path) -> None:
    """Every note survives: separators, quotes, line ends, controls, emoji, formulas, words that look like nulls."""
    frame = payments(payment_id=[f"{i:020d}" for i in range(len(NASTY))], note=NASTY)
    to_csv(frame, tmp_path / "p.csv")
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame)
    for text in NASTY:  # one cell between nulls, in a column of any name
        frame = pd.DataFrame({"band": pd.Series([None, text, None], dtype="str")})
        for raw in (False, True):
            to_csv(frame, tmp_path / "p.csv", raw=raw)
            assert_frame_equal(read_csv(tmp_path / "p.csv", raw=raw), frame)


def test_csv_text_is_what_the_rules_say(tmp_path: Path) -> None:
    """Text is quoted, null is empty, numbers, truth and instants are bare, formulas carry an apostrophe."""
    frame = pd.DataFrame(
        {
            "payment_id": ["007", "8"],
            "note": pd.Series(["=1+1", None], dtype="str"),
            "about": pd.Series(["", 'a "b"\r-c'], dtype="str"),
            "amount_cents": pd.array([2**60 + 1, None], dtype="Int64"),
            "share": [1.0, np.nan],
            "is_friend": pd.array([True, None], dtype="boolean"),
            "date_created": pd.to_datetime(["2024-05-31T18:30:00Z", "2024-05-31T18:30:00.000001Z"], format="ISO8601"),
        }
    )  # fmt: skip
    to_csv(frame, tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes().decode() == (
        '"payment_id","note","about","amount_cents","share","is_friend","date_created"\n'
        '"007","\'=1+1","",1152921504606846977,1.0,true,2024-05-31T18:30:00Z\n'
        '"8",,"a ""b""\r\'-c",,,,2024-05-31T18:30:00.000001Z\n'
    )


def test_what_is_defused(tmp_path: Path) -> None:
    """Column names are, numbers are not, so that spreadsheets go on adding them up, and nothing is with raw=True."""
    frame = pd.DataFrame(
        {"=HYPERLINK(1)": ["=1", "'x"], "flow_cents": pd.array([-5, 6], dtype="Int64"), "net": [-0.05, 1]}
    )
    to_csv(frame, tmp_path / "p.csv", raw=True)
    assert cells(tmp_path / "p.csv") == [[*frame], ["=1", "-5", "-0.05"], ["'x", "6", "1.0"]]
    to_csv(frame, tmp_path / "p.csv")
    assert cells(tmp_path / "p.csv")[:2] == [["'=HYPERLINK(1)", "flow_cents", "net"], ["'=1", "-5", "-0.05"]]
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame)


TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("=+-@\t\r\n\0'\",＝ \ufeff")), max_size=12)  # noqa: RUF001
CENTS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
INSTANTS = st.one_of(
    st.none(), st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
)  # fmt: skip
ROW = st.tuples(st.one_of(st.none(), TEXT), TEXT, CENTS, INSTANTS, st.one_of(st.none(), st.booleans()))
ANY_EXAMPLE = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


@ANY_EXAMPLE
@given(rows=st.lists(ROW, max_size=6))
def test_any_frame_comes_back(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    """CSV and Parquet both give back any frame, cell for cell and dtype for dtype, and no CSV cell can run."""
    note, name, cents, instant, truth = zip(*rows, strict=True) if rows else [()] * 5
    frame = pd.DataFrame(
        {
            "note": pd.Series(note, dtype="str"),
            "counterparty_name": pd.Series(name, dtype="str"),
            "amount_cents": pd.Series(cents, dtype="Int64"),
            "date_created": pd.Series(instant, dtype="datetime64[us, UTC]"),
            "is_friend": pd.Series(truth, dtype="boolean"),
        }
    )
    to_parquet(frame, tmp_path / "p.parquet")
    assert_frame_equal(read_parquet(tmp_path / "p.parquet"), frame)
    to_csv(frame, tmp_path / "p.csv")
    known = [column for column in frame if column != "is_friend" or frame[column].notna().any()]
    assert_frame_equal(read_csv(tmp_path / "p.csv")[known], frame[known])
    for text in (text for row in cells(tmp_path / "p.csv")[1:] for text in row[:2]):
        for line in re.split("[\r\n]", text):
            assert not line.lstrip(" \u00a0\ufeff").startswith(TRIGGERS), text


@ANY_EXAMPLE
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=8))
def test_any_float_comes_back_exactly(tmp_path: Path, values: list[float]) -> None:
    """Currency units come back bit for bit, and whole ones stay floats."""
    frame = pd.DataFrame({"sent": values})
    to_csv(frame, tmp_path / "p.csv")
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame, check_exact=True)


@pytest.mark.parametrize("columns", [schema.PAYMENTS, schema.FRIENDS, schema.PROBLEMS])
@pytest.mark.parametrize("rows", [0, 2])
def test_schema_dtypes_hold_whatever_the_data(tmp_path: Path, columns: dict[str, str], rows: int) -> None:
    """No rows, or nothing but nulls, come back with the schema's columns and dtypes."""
    frame = frame_from_columns({}, columns, rows)
    for write, read in FILES:
        write(frame, tmp_path / "f")
        assert_frame_equal(read(tmp_path / "f"), frame)


def test_problems_come_back(tmp_path: Path) -> None:
    """Days, cents and lines of problems keep their dtypes; another table may use the names for something else."""
    day = datetime(2024, 2, 1, tzinfo=UTC)
    gap = {"code": "gap", "file": "=1.csv", "first_day": day, "last_day": day, "cents": -5, "currency": "USD"}
    odd = {"code": "unexpected", "line": 7, "payment_id": "007", "field": "status", "value": "1", "problem": "odd"}
    own = pd.DataFrame({"line": ["M4"], "cents": [1.5], "first_day": np.array(["2024-05-01"], "datetime64[us]")})
    for frame in (*(frame_from_rows(rows, schema.PROBLEMS) for rows in ([gap, odd], [odd])), own):
        for write, read in FILES:
            write(frame, tmp_path / "f")
            assert_frame_equal(read(tmp_path / "f"), frame)


def test_an_index_with_a_name_is_not_lost(tmp_path: Path) -> None:
    """A group key in the index cannot be written: the error asks to make it a column."""
    table = pd.DataFrame({"person": ["Noor", "Theo"], "flow_cents": [1, 2]}).groupby("person").sum()
    for write in (to_csv, to_parquet):
        with pytest.raises(SchemaError, match=r"reset_index\(\)"):
            write(table, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_analysis_tables_come_back_nullable(tmp_path: Path) -> None:
    """Columns of unknown names come back by their cells: text stays text even when it looks like a number."""
    frame = pd.DataFrame(
        {
            "month": ["2024-05", "2024-06"],
            "code": ["0012", "7"],
            "sent": [5.0, 7.0],
            "payments": [3, 4],
            "is_friend": [True, False],
            "first_date": pd.to_datetime(["2024-05-31", "2024-06-01"], utc=True).as_unit("us"),
        }
    )
    to_csv(frame, tmp_path / "t.csv")
    assert_frame_equal(read_csv(tmp_path / "t.csv"), frame.astype({"payments": "Int64", "is_friend": "boolean"}))


def test_categories_and_zones_are_not_kept(tmp_path: Path) -> None:
    """A categorical comes back as text, and an instant in UTC."""
    words = ["settled", None]
    local = pd.Series(pd.to_datetime(["2024-05-31T18:30:00Z", None])).dt.tz_convert("America/New_York")
    frame = pd.DataFrame({"status": pd.Categorical(words), "date_created": local})
    expected = pd.DataFrame({"status": pd.Series(words), "date_created": local.dt.tz_convert("UTC").dt.as_unit("us")})
    for write, read in FILES:
        write(frame, tmp_path / "f")
        assert_frame_equal(read(tmp_path / "f"), expected)


def test_csv_saved_again_by_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark, CRLF and quotes only where needed do not change the types of columns known by name."""
    text = "payment_id,note,amount_cents,share,code\r\n007,'=1,-5,0.5,0012\r\n8,,,1,13\r\n"
    (tmp_path / "p.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    expected = pd.DataFrame(
        {
            "payment_id": ["007", "8"],
            "note": pd.Series(["=1", None], dtype="str"),
            "amount_cents": pd.array([-5, None], dtype="Int64"),
            "share": [0.5, 1.0],
            "code": ["0012", "13"],
        }
    )
    assert_frame_equal(read_csv(tmp_path / "p.csv"), expected)


def test_csv_reads_rows_longer_than_a_block(tmp_path: Path) -> None:
    """A note of several megabytes, with line ends in it, does not break its row."""
    frame = pd.DataFrame({"note": ['a\n,"' * 1_000_000, "b"]})
    to_csv(frame, tmp_path / "p.csv")
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame)


def test_parquet_types_are_the_plain_five(tmp_path: Path) -> None:
    """string, int64, double, bool, timestamp[us, UTC]: no dictionary, no index, no pandas metadata, zstd."""
    frame = payments(payment_id=["1"], status=["settled"]).astype({"status": "category"})
    frame = frame.assign(share=[0.5], is_friend=[True])
    frame.index = pd.Index([7])
    to_parquet(frame, tmp_path / "p.parquet")
    file = pq.ParquetFile(tmp_path / "p.parquet")
    found = file.schema_arrow
    assert found.names == list(frame.columns)
    assert {str(kind) for kind in found.types} == {"string", "int64", "double", "bool", "timestamp[us, tz=UTC]"}
    assert found.metadata is None
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_parquet_of_another_engine_is_read(tmp_path: Path) -> None:
    """Dictionaries, large strings, other time units: the same frame; a list is refused by name."""
    table = pa.table(
        {
            "status": pa.array(["settled"]).dictionary_encode(),
            "note": pa.array(["x"], pa.large_string()),
            "payments": pa.array([3], pa.uint32()),
            "date_created": pa.array([1_700_000_000_000], pa.timestamp("ms", "Europe/Paris")),
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    frame = read_parquet(tmp_path / "p.parquet")
    assert [str(dtype) for dtype in frame.dtypes] == ["str", "str", "Int64", "datetime64[us, UTC]"]
    assert frame.iloc[0].tolist() == ["settled", "x", 3, pd.Timestamp(1_700_000_000, unit="s", tz="UTC")]
    pq.write_table(pa.table({"tags": [["a"]]}), tmp_path / "p.parquet")
    with pytest.raises(SchemaError, match="'tags'"):
        read_parquet(tmp_path / "p.parquet")


def test_a_relation_is_refused(tmp_path: Path) -> None:
    """The error says how to make a pandas frame of it."""
    relation = duckdb.connect().sql("SELECT 'secret' AS a")
    with pytest.raises(SchemaError, match=r"frame, not of duckdb\.DuckDBPyRelation: pass frame\.df\(\)\.$"):
        to_csv(relation, tmp_path / "f")


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (pd.DataFrame({"note": pd.Series(["a\ud800b"], dtype=object)}), "'note'.*surrogate"),
        (pd.DataFrame({"note": pd.Series(["a", 1], dtype=object)}), "'note'"),
        (pd.DataFrame({"note": pd.Series([object()], dtype=object)}), "'note'"),
        (pd.DataFrame({"when": pd.to_datetime(["2024-05-31T12:00"])}), "'when'"),
        (pd.DataFrame({"when": pd.to_datetime(["2024-05-31"], utc=True).as_unit("ns") + pd.Timedelta(1)}), "'when'"),
        (pd.DataFrame({"when": FAR.dt.tz_localize("UTC")}), "'when' holds a date outside of the years 1 to 9999: "),
        (pd.DataFrame({"when": FAR[:1]}), "'when' holds a date outside of the years 1 to 9999: "),
        (pd.DataFrame({"big": pd.array([2**63], dtype="UInt64")}), "'big'"),
        (pd.DataFrame({1: ["a"]}), "names"),
        (pd.DataFrame([["a", "b"]], columns=["x", "x"]), "names"),
        (pd.DataFrame(index=[1]), "names"),
        (types.SimpleNamespace(payments=pd.DataFrame()), "frame, not of types.SimpleNamespace: pass history.payments"),
        (pl.DataFrame({"a": ["secret"]}), r"frame, not of polars\.DataFrame: pass frame\.to_pandas\(\)\.$"),
        (pl.LazyFrame({"a": [1]}), r"frame, not of polars\.LazyFrame: pass frame\.collect\(\)\.to_pandas\(\)\.$"),
    ],
)
def test_what_files_cannot_hold_is_refused_by_name(tmp_path: Path, frame: pd.DataFrame, named: str) -> None:
    """A frame that would lose something is not written; the sentence names the column; no file is left."""
    for write in (to_csv, to_parquet):
        with pytest.raises(SchemaError, match=named):
            write(frame, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    """An empty file, names twice or missing, a short row, no UTF-8, or a word for cents: one sentence with the path."""
    for content in (b"", b"a,a\n1,2\n", b",b\n1,2\n", b"a,b\n1\n", b"note\n\xff\n", b"amount_cents\nx\n"):
        (tmp_path / "p.csv").write_bytes(content)
        for read in (read_csv, read_parquet):
            with pytest.raises(SchemaError, match=r"p\.csv"):
                read(tmp_path / "p.csv")


def test_what_is_no_text_is_not_quoted(tmp_path: Path) -> None:
    """The sentence about a picture, or about a row without an end, is short and can be printed."""
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\\,\0\0\x05d\x08\x03\xff\n"
    for content in (picture, b"amount_cents\n\x1b[31m" + b"x" * 5000 + b"\n"):
        (tmp_path / "p.csv").write_bytes(content)
        with pytest.raises(SchemaError) as caught:
            read_csv(tmp_path / "p.csv")
        sentence = str(caught.value).removeprefix(str(tmp_path))
        assert sentence.startswith("/p.csv cannot be read as a table: ")
        assert (sentence.isprintable(), "\ufffd" in sentence, len(sentence) < 250) == (True, False, True)


@pytest.mark.parametrize("write", [to_csv, to_parquet])
def test_files_are_private_whole_and_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[..., None]
) -> None:
    """Whatever the umask only the owner reads the file; a failure leaves the old one and no other."""
    before = os.umask(0)
    try:
        write(pd.DataFrame({"note": ["old"]}), tmp_path / "f")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600
    old = (tmp_path / "f").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"Cannot write .*: no space left on device\."):
        write(pd.DataFrame({"note": ["new"]}), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_writing_replaces_a_link_and_not_what_it_points_to(tmp_path: Path) -> None:
    """A link planted under the file's name does not lead the payments elsewhere."""
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "f").symlink_to(tmp_path / "elsewhere")
    to_csv(pd.DataFrame({"note": ["x"]}), tmp_path / "f")
    assert ((tmp_path / "elsewhere").read_text(), (tmp_path / "f").is_symlink()) == ("mine", False)


def test_a_path_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    """No such folder, a folder itself, a file as a folder, NUL, too long a name: ConfigurationError, both ways."""
    (tmp_path / "file").touch()
    for name in ("missing/f", ".", "file/f", "a\0b", "x" * 300):
        for call in (lambda path: to_csv(pd.DataFrame({"note": ["x"]}), path), read_csv, read_parquet):
            with pytest.raises(ConfigurationError, match=r"\A[^\n]*\.\Z"):
                call(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_csv_file_is_the_same_however_often_its_cells_repeat(tmp_path: Path) -> None:
    """Repeated cells are formatted once; the bytes equal the rows, over more rows than one batch."""
    note, born, share = ['=1 "a"\n-b', None, ""], ["1969-12-31T23:59:59.999999Z", None, "2024-05-31T18:30:00Z"], 0.5
    rows = [(str(number), note[number % 3], born[number % 3], share * number) for number in range(20_000)]
    columns = dict(zip(("payment_id", "note", "date_created", "share"), zip(*rows, strict=True), strict=True))
    frame = pd.DataFrame(columns).astype({"note": "str"})
    frame["date_created"] = pd.to_datetime(frame["date_created"], format="ISO8601").dt.as_unit("us")
    to_csv(frame, tmp_path / "p.csv")
    written = {None: "", "": '""', note[0]: '"\'=1 ""a""\n\'-b"'}
    lines = [f'"{name}",{written[text]},{when or ""},{part}' for name, text, when, part in rows]
    assert (tmp_path / "p.csv").read_bytes().decode() == "\n".join(
        ['"payment_id","note","date_created","share"', *lines, ""]
    )
