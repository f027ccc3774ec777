"""CSV files in another form: one sentence names the cause and the remedy."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export import read_csv, to_csv, to_parquet

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_file_itself_is_read(tmp_path: Path) -> None:
    """The text that the ways above change is a valid file, in which semicolons are text."""
    (tmp_path / "p.csv").write_text(TEXT)
    frame = read_csv(tmp_path / "p.csv")
    assert frame["payment_id"].tolist() == ["3181234567890123456", "3181234567890123457"]
    assert frame["note"].tolist() == ["Pizza; beer", "rent"]


@pytest.mark.parametrize("again", [False, True], ids=["written", "read and written again"])
def test_an_index_that_pandas_wrote(tmp_path: Path, *, again: bool) -> None:
    """The first column of pandas.to_csv has no name, or ``Unnamed: 0`` after another round."""
    frame = pd.DataFrame({"payment_id": ["1", "2"], "note": ["a", "b"]})
    frame.to_csv(tmp_path / "p.csv")
    if again:
        pd.read_csv(tmp_path / "p.csv").to_csv(tmp_path / "p.csv", index=False)
        assert (tmp_path / "p.csv").read_text().startswith("Unnamed: 0,")
    with pytest.raises(SchemaError, match=r"first column of .*p\.csv has no name, .* pandas wrote: .* index=False"):
        read_csv(tmp_path / "p.csv")


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
    (tmp_path / "p.csv").write_text("payment_id,actor_id,note\n1,2000000001,2000000001.0\n2,,b\n")
    assert read_csv(tmp_path / "p.csv")["actor_id"].tolist()[0] == "2000000001"
    pd.read_csv(tmp_path / "p.csv", dtype={"note": str}).to_csv(tmp_path / "p.csv", index=False)
    text = (tmp_path / "p.csv").read_text()
    assert text == "payment_id,actor_id,note\n1,2000000001.0,2000000001.0\n2,,b\n"
    with pytest.raises(SchemaError, match=r"^The ids in the column 'actor_id' of .*p\.csv are .* p2p\.read_csv"):
        read_csv(tmp_path / "p.csv")
    quoted_note = text.replace(",2000000001.0\n", ',"2000000001.0"\n')
    (tmp_path / "p.csv").write_text(quoted_note)
    with pytest.raises(SchemaError, match="'actor_id'"):
        read_csv(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text(quoted_note.replace(",2000000001.0,", ",,").replace("2,,b", "\n2,3.0,b"))
    with pytest.raises(SchemaError, match="'actor_id'"):  # the empty line is no row
        read_csv(tmp_path / "p.csv")


def test_phone_numbers_are_text(tmp_path: Path) -> None:
    """With and without a plus, quoted or not, beside a gap; leading zeros stay."""
    path = tmp_path / "p.csv"
    for name in ("phone", "target_phone", "contact_phone"):
        for cells in (["+15550100123", "1555"], ["15550100123", ""], ["", "0015550100123"], ['"15550100123"', "1"]):
            path.write_text("\n".join([f"user_id,{name}", *(f"7,{cell}" for cell in cells), ""]))
            column = read_csv(path)[name]
            assert column.dtype == "str"
            assert column.fillna("").tolist() == [cell.strip('"') for cell in cells]


@pytest.mark.parametrize(("number", "words"), [("15550100123.0", "p2p.read_csv"), ("1.55501E+10", "spreadsheet")])
def test_phone_numbers_that_became_numbers_are_refused(tmp_path: Path, number: str, words: str) -> None:
    """The text 15550100123.0 would be another number, and a rounded one lacks digits; in quotes it is text."""
    path = tmp_path / "p.csv"
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


def test_what_is_no_path() -> None:
    """A frame in the place of the path is named."""
    for path in (pd.DataFrame({"note": ["x"]}), None, 7):
        with pytest.raises(ConfigurationError, match=f"A path is text or a Path, not an? {type(path).__name__}: "):
            read_csv(path)


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
