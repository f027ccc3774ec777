"""What goes into a CSV, Parquet or JSON Lines file comes back out of it, and nothing in it runs."""

import csv
import io
import json
import os
import re
import stat
import types
from datetime import UTC, datetime
from pathlib import Path

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

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export import read_csv, read_parquet, to_csv, to_parquet
from p2p_analytics.frames import schema
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_columns, frame_from_rows
from support.hostile_texts import TEXTS, TRIGGERS

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


def test_csv_gives_back_nasty_text(tmp_path: Path) -> None:
    """Every note survives: separators, quotes, line ends, controls, emoji, formulas, words that look like nulls."""
    alone = {f"band {at}": pd.Series([None, text, None], dtype="str") for at, text in enumerate(NASTY)}
    for frame in (
        payments(payment_id=[f"{i:020d}" for i in range(len(NASTY))], note=NASTY),
        pd.DataFrame(alone),  # one cell between nulls, in columns of other names
        pd.DataFrame({"note": ['a\n,"' * 500_000, "b"]}),  # longer than a block
    ):
        for raw in (False, True):
            to_csv(frame, tmp_path / "p.csv", raw=raw)
            assert_frame_equal(read_csv(tmp_path / "p.csv", raw=raw), frame)


def test_csv_text_is_what_the_rules_say(tmp_path: Path) -> None:
    """Text is quoted, null is empty, numbers, truth and instants are bare; formulas carry an apostrophe unless raw."""
    frame = pd.DataFrame(
        {
            "=HYPERLINK(1)": ["007", "8"],
            "note": pd.Series(["=1+1", None], dtype="str"),
            "about": pd.Series(["", 'a "b"\r-c'], dtype="str"),
            "amount_cents": pd.array([2**60 + 1, -5], dtype="Int64"),
            "net": [-1.0, np.nan],
            "is_friend": pd.array([True, None], dtype="boolean"),
            "date_created": pd.to_datetime(["2024-05-31T18:30:00Z", "2024-05-31T18:30:00.000001Z"], format="ISO8601"),
        }
    )  # fmt: skip
    to_csv(frame, tmp_path / "p.csv")
    written = (
        '"\'=HYPERLINK(1)","note","about","amount_cents","net","is_friend","date_created"\n'
        '"007","\'=1+1","",1152921504606846977,-1.0,true,2024-05-31T18:30:00Z\n'
        '"8",,"a ""b""\r\'-c",-5,,,2024-05-31T18:30:00.000001Z\n'
    )
    assert (tmp_path / "p.csv").read_bytes().decode() == written
    to_csv(frame, tmp_path / "p.csv", raw=True)
    assert (tmp_path / "p.csv").read_bytes().decode() == written.replace("'", "")


TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("=+-@\t\r\n\0'\",＝ \ufeff")), max_size=12)  # noqa: RUF001
CENTS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
INSTANTS = st.one_of(
    st.none(), st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
)  # fmt: skip
TRUTH, UNITS = st.one_of(st.none(), st.booleans()), st.floats(allow_nan=False)
ROW = st.tuples(st.one_of(st.none(), TEXT), TEXT, CENTS, INSTANTS, TRUTH, UNITS)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(rows=st.lists(ROW, max_size=6))
def test_any_frame_comes_back(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    """CSV and Parquet both give back any frame, bit for bit and dtype for dtype, and no CSV cell can run."""
    note, name, cents, instant, truth, sent = zip(*rows, strict=True) if rows else [()] * 6
    frame = pd.DataFrame(
        {
            "note": pd.Series(note, dtype="str"),
            "counterparty_name": pd.Series(name, dtype="str"),
            "amount_cents": pd.Series(cents, dtype="Int64"),
            "date_created": pd.Series(instant, dtype="datetime64[us, UTC]"),
            "is_friend": pd.Series(truth, dtype="boolean"),
            "sent": pd.Series(sent, dtype="float64"),
        }
    )
    to_parquet(frame, tmp_path / "p.parquet")
    assert_frame_equal(read_parquet(tmp_path / "p.parquet"), frame, check_exact=True)
    to_csv(frame, tmp_path / "p.csv")
    known = [column for column in frame if column not in {"is_friend", "sent"} or frame[column].notna().any()]
    assert_frame_equal(read_csv(tmp_path / "p.csv")[known], frame[known], check_exact=True)
    _, *written = csv.reader(io.StringIO((tmp_path / "p.csv").read_bytes().decode(), newline=""))
    for line in (line for row in written for text in row[:2] for line in re.split("[\r\n]", text)):
        assert not line.lstrip(" \u00a0\ufeff").startswith(TRIGGERS), line


def test_schema_dtypes_hold_whatever_the_data(tmp_path: Path) -> None:
    """No rows, nothing but nulls, and problems come back with the schema's columns and dtypes; also other columns."""
    day = datetime(2024, 2, 1, tzinfo=UTC)
    gap = {"code": "gap", "file": "=1.csv", "first_day": day, "last_day": day, "cents": -5, "currency": "USD"}
    odd = {"code": "unexpected", "line": 7, "payment_id": "007", "field": "status", "value": "1", "problem": "odd"}
    schemas = (schema.PAYMENTS, schema.FRIENDS, schema.PROBLEMS)
    frames = [frame_from_columns({}, columns, rows) for columns in schemas for rows in (0, 2)]
    frames += [frame_from_rows(rows, schema.PROBLEMS) for rows in ([gap, odd], [odd])]
    # Another table may use the names of problems for something else.
    days = np.array(["2024-05-01"], "datetime64[us]")
    frames.append(pd.DataFrame({"line": ["M4"], "cents": [1.5], "first_day": days}))
    for frame in frames:
        for write, read in FILES:
            write(frame, tmp_path / "f")
            assert_frame_equal(read(tmp_path / "f"), frame)


def test_other_tables_come_back_nullable(tmp_path: Path) -> None:
    """By their cells: text stays text even when it looks like a number; categories are text, and instants in UTC."""
    local = pd.Series(pd.to_datetime(["2024-05-31T18:30:00Z", None])).dt.tz_convert("America/New_York")
    frame = pd.DataFrame({"month": ["2024-05", "2024-06"], "code": ["0012", "7"], "sent": [5.0, 7.0]})
    whole = {"payments": pd.array([3, 4], "Int64"), "is_friend": pd.array([True, False], "boolean")}
    other = {"status": pd.Categorical(["settled", None]), "date_created": local}
    expected = {"status": pd.Series(["settled", None], dtype="str"), "date_created": local.dt.tz_convert("UTC")}
    for write, read in FILES:
        write(frame.assign(**whole, **other), tmp_path / "t")
        found = read(tmp_path / "t")
        assert_frame_equal(found, frame.assign(**whole, **expected).astype({"date_created": "datetime64[us, UTC]"}))


def test_csv_saved_again_by_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark, CRLF and quotes only where needed do not change the types of columns known by name."""
    text = "payment_id,note,amount_cents,share,code\r\n007,'=1,-5,0.5,0012\r\n8,,,1,13\r\n"
    (tmp_path / "p.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    frame = read_csv(tmp_path / "p.csv")
    assert frame.astype(object).where(frame.notna(), None).to_numpy().tolist() == [
        ["007", "=1", -5, 0.5, "0012"], ["8", None, None, 1.0, "13"],
    ]  # fmt: skip
    assert [str(dtype) for dtype in frame.dtypes] == ["str", "str", "Int64", "float64", "str"]


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
    """Dictionaries, large strings, other time units: the same frame; a list and a relation are refused by name."""
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
    sentence = r"frame, not of duckdb\.DuckDBPyRelation: pass frame\.df\(\)\.$"
    with duckdb.connect() as database, pytest.raises(SchemaError, match=sentence):
        to_csv(database.sql("SELECT 'secret' AS a"), tmp_path / "f")


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (pd.DataFrame({"note": pd.Series(["a\ud800b"], dtype=object)}), "'note'.*surrogate"),
        (pd.DataFrame({"note": pd.Series(["a", 1], dtype=object)}), "'note'"),
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
        (pd.DataFrame({"a": [1]}, index=pd.Index(["Noor"], name="person")), r"reset_index\(\)"),
    ],
)
def test_what_files_cannot_hold_is_refused_by_name(tmp_path: Path, frame: pd.DataFrame, named: str) -> None:
    """A frame that would lose something is not written; the sentence names the column; no file is left."""
    for write in (to_csv, to_parquet):
        with pytest.raises(SchemaError, match=named):
            write(frame, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    """In one sentence with the path, which is short and can be printed, also about a picture or an endless row."""
    broken = [b"", b"a,a\n1,2\n", b",b\n1,2\n", b"a,b\n1\n", b"note\n\xff\n", b"amount_cents\nx\n"]
    broken.append(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\\,\0\0\x05d\x08\x03\xff\n")
    broken.append(b"amount_cents\n\x1b[31m" + b"x" * 5000 + b"\n")
    for content in broken:
        (tmp_path / "p.csv").write_bytes(content)
        for read in (read_csv, read_parquet):
            with pytest.raises(SchemaError, match=r"p\.csv") as caught:
                read(tmp_path / "p.csv")
            sentence = str(caught.value).replace(str(tmp_path), "")
            assert (sentence.isprintable(), "\ufffd" in sentence, len(sentence) < 250) == (True, False, True)


@pytest.mark.parametrize("write", [to_csv, to_parquet])
def test_files_are_private_whole_and_alone(tmp_path, monkeypatch, write) -> None:
    """Only the owner reads the file, a planted link leads nowhere else, a failure leaves the old one and no other."""
    folder = tmp_path / "new"
    folder.mkdir()
    (tmp_path / "elsewhere").write_text("mine")
    (folder / "f").symlink_to(tmp_path / "elsewhere")
    before = os.umask(0)
    try:
        write(pd.DataFrame({"note": ["old"]}), folder / "f")
    finally:
        os.umask(before)
    assert ((tmp_path / "elsewhere").read_text(), (folder / "f").is_symlink()) == ("mine", False)
    assert stat.S_IMODE((folder / "f").stat().st_mode) == 0o600
    old = (folder / "f").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"Cannot write .*: no space left on device\."):
        write(pd.DataFrame({"note": ["new"]}), folder / "f")
    assert (folder / "f").read_bytes() == old
    assert [path.name for path in folder.iterdir()] == ["f"]


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
    rows = [('=1 "a"\n-b', "1969-12-31T23:59:59.999999Z", 0.5), (None, None, 1), ("", "2024-05-31T18:30:00Z", 2)]
    frame = pd.DataFrame(rows * 7_000, columns=["note", "date_created", "share"]).astype({"note": "str"})
    frame["date_created"] = pd.to_datetime(frame["date_created"], format="ISO8601").dt.as_unit("us")
    to_csv(frame, tmp_path / "p.csv")
    lines = '"\'=1 ""a""\n\'-b",1969-12-31T23:59:59.999999Z,0.5\n,,1.0\n"",2024-05-31T18:30:00Z,2.0\n'
    assert (tmp_path / "p.csv").read_bytes().decode() == '"note","date_created","share"\n' + lines * 7_000


def test_each_row_is_an_object(tmp_path: Path) -> None:
    """Ids are text, cents whole numbers, instants text in UTC; every column is there, null or not."""
    rows = [
        {"payment_id": "0123456789012345678", "amount_cents": 2**53 + 1, "date_created": "2024-05-31T18:30:00Z"},
        {"payment_id": "2", "note": "", "fee_cents": -5, "date_created": "2024-05-31T18:30:00.000001Z"},
    ]
    p2p.to_jsonl(frame_from_rows(rows, PAYMENTS), tmp_path / "p.jsonl")
    content = (tmp_path / "p.jsonl").read_bytes()
    assert content.endswith(b"}\n")
    read = [json.loads(line) for line in content.splitlines()]
    assert read == [dict.fromkeys(PAYMENTS) | row for row in rows]
    assert [list(row) for row in read] == [list(PAYMENTS)] * 2


def test_other_frames(tmp_path: Path) -> None:
    """A frame may have a column named like the payments of a history, NaN is null, and no rows give an empty file."""
    for frame, content in (
        (pd.DataFrame({"month": ["2024-05"], "payments": [3]}), '{"month":"2024-05","payments":3}\n'),
        (pd.DataFrame({"share": [0.5, float("nan")]}), '{"share":0.5}\n{"share":null}\n'),
        (frame_from_rows([], {**PAYMENTS, "file": "str"}), ""),
    ):
        p2p.to_jsonl(frame, tmp_path / "t.jsonl")
        assert (tmp_path / "t.jsonl").read_text("utf-8") == content
    with pytest.raises(SchemaError, match="'share' holds infinity"):
        p2p.to_jsonl(pd.DataFrame({"share": [float("inf")]}), tmp_path / "q.jsonl")
    assert not (tmp_path / "q.jsonl").exists()


def test_hostile_texts_come_back(tmp_path: Path) -> None:
    """Every text stays on its line and comes back equal, and so do words that look like null."""
    texts = [*TEXTS, "", "null", "NaN", "\u0085", "\u2029", "\x7f", '"}\n{"'] * 400  # more than one batch
    p2p.to_jsonl(pd.DataFrame({"note": pd.Series(texts, dtype="str")}), tmp_path / "p.jsonl")
    lines = (tmp_path / "p.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["note"] for line in lines[:-1]] == texts
