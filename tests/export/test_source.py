"""Reading a CSV table from an open file or standard input."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from pathlib import Path

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
    p2p.to_csv(FRAME, tmp_path / "p.csv")
    return tmp_path / "p.csv"


@pytest.mark.parametrize(
    "open_file",
    [
        lambda path: path.open("rb"),
        lambda path: path.open("rb", buffering=0),
        lambda path: path.open(encoding="latin-1"),
        lambda path: io.BytesIO(path.read_bytes()),
        lambda path: io.StringIO(path.read_bytes().decode(), newline=""),
        lambda path: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(path.read_bytes()))),
    ],
)
def test_an_open_file_gives_the_same_table(table: Path, open_file) -> None:
    """In text or binary mode, and it stays open."""
    with open_file(table) as file:
        assert_frame_equal(p2p.read_csv(file), FRAME)
        assert not file.closed


def test_a_byte_order_mark_in_text_is_no_part_of_a_name() -> None:
    """A text in memory may begin with one, as a file of a spreadsheet does."""
    assert p2p.read_csv(io.StringIO("\ufeffnote\nx\n")).columns.tolist() == ["note"]


def test_standard_input(table: Path) -> None:
    """The table of another command through a pipe, in text mode and another encoding."""
    code = f"import sys, p2p_analytics as p2p; print(p2p.read_csv(sys.stdin)['note'].tolist() == {NOTES!a})"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    found = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-c", code], input=table.read_bytes(), capture_output=True, check=True, env=environment
    )
    assert found.stdout == b"True\n"


def test_a_file_read_in_part_as_text_is_refused(table: Path) -> None:
    """A text file reads ahead, so rows would be lost; a binary file gives the rest of it."""
    with table.open(encoding="utf-8") as file:
        file.readline()
        with pytest.raises(ConfigurationError, match=r"p\.csv has been read in part as text: .* binary mode\.$"):
            p2p.read_csv(file)
    with io.BytesIO(b"a comment\nnote\nx\n") as rest:
        rest.readline()
        assert p2p.read_csv(rest)["note"].tolist() == ["x"]


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
        (type("Reader", (), {"read": lambda _self: 5})(), ConfigurationError, "its read.. gives an int, not text or"),
    ):
        with pytest.raises(error, match=words) as raised:
            p2p.read_csv(file)
        assert str(raised.value).count("\n") == 0
    writing.close()


def test_an_open_file_is_masked_in_privacy_mode() -> None:
    """As a file that is named; the reason of a failure quotes no cell."""
    assert p2p.read_csv(io.StringIO("note\nVolodya\n"), privacy=True)["note"].tolist() != ["Volodya"]
    with pytest.raises(SchemaError) as raised:
        p2p.read_csv(io.StringIO("note,about\nVolodya\n"), privacy=True)
    assert str(raised.value) == "<open file> cannot be read as a table: the reason is not shown in privacy mode."
