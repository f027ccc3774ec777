"""CSV tables from any file: for another form, one sentence names the cause and the remedy."""

import gzip
import io
import os
import re
from pathlib import Path
from typing import TextIO

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export import read_csv, to_csv, to_parquet

# Two payments as a spreadsheet writes them: quotes only where they are needed.
TEXT = "payment_id,note,amount_cents,actor_id\n3181234567890123456,Pizza; beer,1250,11\n3181234567890123457,rent,5,12\n"
SEMICOLONS, UTF_16 = "separates its cells by semicolons, not commas", "is in UTF-16, not UTF-8: save it again"
WAYS: dict[str, tuple[bytes, str]] = {
    "semicolons": (
        TEXT.replace("; ", " ").replace(",", ";").encode(),
        rf"{SEMICOLONS}: .* pandas\.read_csv\(path, sep=';'\)",
    ),
    "quoted semicolons": (b'"payment_id";"note"\r\n"1";"a, b"\r\n', SEMICOLONS),
    "a line that names the separator": (b"sep=;\r\n" + TEXT.replace(",", ";").encode(), SEMICOLONS),
    "tabs": (TEXT.replace(",", "\t").encode(), r"separates its cells by tabs, not commas: .* sep='\\t'\)"),
    "UTF-16": (TEXT.encode("utf-16"), UTF_16),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), UTF_16),
    "UTF-16, big end first": (TEXT.encode("utf-16-be"), UTF_16),
    "Windows-1252": (TEXT.replace("rent", "Café").encode("cp1252"), "holds text that is not UTF-8: save"),
    "rounded ids": (
        re.sub(r"^3\d+", "3.18E+18", TEXT, flags=re.MULTILINE).encode(),
        "ids in the column 'payment_id' .* rounded by a spreadsheet to numbers such as 3.18E.18, .* export the table",
    ),
    "gzip": (gzip.compress(TEXT.encode()), "is compressed with gzip: unpack it first"),
    "a workbook": (b"PK\x03\x04\x14\0\x06\0", "is a spreadsheet's workbook or a zip archive, not CSV: save"),
    "Parquet": (b"PAR1\x15\x04", "is a Parquet file: read it with read_parquet"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_cause_is_named(way: str, tmp_path: Path) -> None:
    """The error is one sentence with the path, the cause and the remedy."""
    content, message = WAYS[way]
    (tmp_path / "p.csv").write_bytes(content)
    with pytest.raises(SchemaError, match=message) as caught:
        read_csv(tmp_path / "p.csv")
    assert str(tmp_path / "p.csv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_index_that_pandas_wrote(tmp_path: Path) -> None:
    """The first column of pandas.to_csv has no name, or ``Unnamed: 0`` after another round."""
    path = tmp_path / "p.csv"
    pd.DataFrame({"payment_id": ["1", "2"], "note": ["a", "b"]}).to_csv(path)
    for start in (",payment_id", "Unnamed: 0,payment_id"):
        assert path.read_text().startswith(start)
        with pytest.raises(SchemaError, match=r"first column of .*p\.csv has no name, .* pandas wrote: .* index=False"):
            read_csv(path)
        pd.read_csv(path).to_csv(path, index=False)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"Unnamed: 0": ["1"], "note": ["x"]}),
        pd.DataFrame({"a;b": ["1"]}),
        pd.DataFrame({"a\tb": ["1"]}),
        pd.DataFrame({"code_id": ["3.18E+18", "1e+5"]}),
        pd.DataFrame({"code_id": ["2000000001.0", "5.0"], "other_id": ["a,5.0", "\n5.0\n"]}),
        pd.DataFrame({"note": ["\0\0\0\0\0\0\0\0"]}),
    ],
    ids=["unnamed", "semicolon", "tab", "rounded id", "float id", "zeros"],
)
def test_frames_that_only_look_like_it_come_back(tmp_path: Path, frame: pd.DataFrame) -> None:
    """Text that `to_csv` has quoted is no sign of another form."""
    to_csv(frame, tmp_path / "p.csv")
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame.astype("str"))


def test_ids_that_pandas_wrote_as_floats(tmp_path: Path) -> None:
    """A null beside an id makes both floats in pandas; the text 2000000001.0 would be another person."""
    path = tmp_path / "p.csv"
    path.write_text("payment_id,actor_id,note\n1,2000000001,2000000001.0\n2,,b\n")
    assert read_csv(path)["actor_id"].tolist()[0] == "2000000001"
    pd.read_csv(path, dtype={"note": str}).to_csv(path, index=False)
    text = path.read_text()
    assert text == "payment_id,actor_id,note\n1,2000000001.0,2000000001.0\n2,,b\n"
    quoted = text.replace(",2000000001.0\n", ',"2000000001.0"\n')
    late = quoted.replace(",2000000001.0,", ",,").replace("2,,b", "\n2,3.0,b")  # the empty line is no row
    for written in (text, quoted, late):
        path.write_text(written)
        with pytest.raises(SchemaError, match=r"^The ids in the column 'actor_id' of .*p\.csv are .* p2p\.read_csv"):
            read_csv(path)


def test_phone_numbers_are_text(tmp_path: Path) -> None:
    """With all digits, quoted or not; 15550100123.0 would be another number, and a rounded one lacks digits."""
    path = tmp_path / "p.csv"
    for name in ("phone", "target_phone", "contact_phone"):
        for cells in (["+15550100123", "1555"], ["15550100123", ""], ["", "0015550100123"], ['"15550100123"', "1"]):
            path.write_text("\n".join([f"user_id,{name}", *(f"7,{cell}" for cell in cells), ""]))
            column = read_csv(path)[name]
            assert column.dtype == "str"
            assert column.fillna("").tolist() == [cell.strip('"') for cell in cells]
    for number, words in (("15550100123.0", "p2p.read_csv"), ("1.55501E+10", "spreadsheet")):
        for name in ("phone", "target_phone"):
            path.write_text(f"user_id,{name}\n7,{number}\n8,\n")
            with pytest.raises(SchemaError, match=rf"^The phone numbers in the column '{name}' of .*p\.csv .*{words}"):
                read_csv(path)
            path.write_text(f'user_id,{name}\n7,"{number}"\n')
            assert read_csv(path)[name].tolist() == [number]


def test_the_cause_quotes_no_cell_in_privacy_mode(tmp_path: Path) -> None:
    """The sentence has the path and the name of the column only."""
    for number in ("4.44E+18", "444.0"):
        (tmp_path / "p.csv").write_text(f"payment_id,note\n{number},secret dinner\n")
        with pytest.raises(SchemaError) as caught:
            read_csv(tmp_path / "p.csv", privacy=True)
        assert "44" not in str(caught.value).replace(str(tmp_path), "")
        assert "dinner" not in str(caught.value)


def test_cents_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    """A whole number that does not fit 64 bits is neither wrapped nor rounded when it is written or read."""
    for cents in (2**63, -(2**63) - 1):
        frame = pd.DataFrame({"amount_cents": pd.Series([cents], dtype=object)})
        for write in (to_csv, to_parquet):
            with pytest.raises(SchemaError, match="'amount_cents'"):
                write(frame, tmp_path / "out")
    for cell in (2**63, -(2**63) - 1, "1e30"):
        (tmp_path / "p.csv").write_text(f"amount_cents\n{cell}\n")
        with pytest.raises(SchemaError, match=r"p\.csv"):
            read_csv(tmp_path / "p.csv")


NOTES = ["two\r\nlines, \N{SLICE OF PIZZA}", "=1+1"]
FRAME = pd.DataFrame(
    {
        "payment_id": pd.Series(["1", "2"], dtype="str"),
        "note": pd.Series(NOTES, dtype="str"),
        "amount_cents": pd.Series([5, None], dtype="Int64"),
    }
)


@pytest.fixture
def table(tmp_path) -> Path:
    """Write a table with a note that holds a line end of Windows, which text files translate."""
    to_csv(FRAME, tmp_path / "p.csv")
    return tmp_path / "p.csv"


def open_pipe(path: Path) -> TextIO:
    """Return the content of a file as standard input shows it: a pipe in text mode and another encoding."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(path.read_bytes())
    return os.fdopen(reading, encoding="ascii")


@pytest.mark.parametrize(
    "open_file",
    [
        lambda path: path.open("rb"),
        lambda path: path.open("rb", buffering=0),
        lambda path: path.open(encoding="latin-1"),
        open_pipe,
        lambda path: io.BytesIO(path.read_bytes()),
        lambda path: io.StringIO(path.read_bytes().decode(), newline=""),
        lambda path: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(path.read_bytes()))),
    ],
)
def test_an_open_file_gives_the_same_table(table: Path, open_file) -> None:
    """In text or binary mode, and it stays open."""
    with open_file(table) as file:
        assert_frame_equal(read_csv(file), FRAME)
        assert not file.closed


def test_a_file_read_in_part_as_text_is_refused(table: Path) -> None:
    """A text file reads ahead, so rows would be lost; a binary file gives the rest of it."""
    with table.open(encoding="utf-8") as file:
        file.readline()
        with pytest.raises(ConfigurationError, match=r"p\.csv has been read in part as text: .* binary mode\.$"):
            read_csv(file)
    with io.BytesIO(b"a comment\nnote\nx\n") as rest:
        rest.readline()
        assert read_csv(rest)["note"].tolist() == ["x"]


def test_open_files_that_are_no_table(table: Path) -> None:
    """Each error names the file, or says that it is an open one, and gives the reason."""
    closed = table.open("rb")
    closed.close()
    writing = (table.parent / "w.csv").open("wb")
    for file, error, words in (
        (io.BytesIO(b""), SchemaError, r"^<open file> is empty: "),
        (io.StringIO(""), SchemaError, r"^<open file> is empty: "),
        (io.BytesIO(b"note;payment_id\n"), SchemaError, r"^<open file> separates its cells by semicolons"),
        (io.BytesIO(b"note,about\n\xe9,\n"), SchemaError, r"^<open file> holds text that is not UTF-8"),
        (io.StringIO("note\n\ud83d\n"), SchemaError, r"^<open file> holds text that is not UTF-8"),
        (io.BytesIO(b"note,about\nx\n"), SchemaError, r"^<open file> cannot be read as a table: "),
        (closed, ConfigurationError, r"^Cannot read .*p\.csv: .*closed file\.$"),
        (writing, ConfigurationError, r"^Cannot read .*w\.csv: "),
        (table.parent.glob("*"), ConfigurationError, "A path is text or a Path, not a"),
        (FRAME, ConfigurationError, "A path is text or a Path, not a DataFrame: "),
        (7, ConfigurationError, "A path is text or a Path, not an int: "),
        (type("Reader", (), {"read": lambda _self: 5})(), ConfigurationError, "its read.. gives an int, not text or"),
    ):
        with pytest.raises(error, match=words) as raised:
            read_csv(file)
        assert str(raised.value).count("\n") == 0
    writing.close()


def test_an_open_file_is_masked_in_privacy_mode() -> None:
    """As a file that is named; the reason of a failure quotes a cell without privacy mode only."""
    assert read_csv(io.StringIO("\ufeffnote\nVolodya\n"))["note"].tolist() == ["Volodya"]
    assert read_csv(io.StringIO("note\nVolodya\n"), privacy=True)["note"].tolist() != ["Volodya"]
    for text in ("note,about\nVolodya\n", "payment_id,amount_cents\n1,Volodya\n"):
        with pytest.raises(SchemaError, match="Volodya"):
            read_csv(io.StringIO(text), privacy=False)
        with pytest.raises(SchemaError) as raised:
            read_csv(io.StringIO(text), privacy=True)
        hidden = "<open file> cannot be read as a table: the reason is not shown in privacy mode."
        assert raised.value.args == (hidden,)
