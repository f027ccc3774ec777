"""One problem is listed once, although it is in several copies of a file, or in rows of several files."""

from __future__ import annotations

import hashlib
import zipfile
from datetime import date

import p2p_analytics as p2p

_HEADER = (
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
    "Ending Balance"
)
_WALLET = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_STRANGE = "{0},2024-05-0{0}T10:00:00,Sponsored Tea,Complete,tea,Ada Reyes,Bo Lund,- $5.00,0,Balance,,,"


def _write(path, *rows: str, handle: str = "ada", closing: str = "$9.00"):
    title = [f"Account Statement - (@{handle})", "Account Activity", _HEADER]
    path.write_text("\n".join([*title, f"{',' * 11}$20.00,", *rows, f"{',' * 12}{closing}"]) + "\n", "utf-8")
    return path


def _list(problems):
    columns = problems[["file", "line", "payment_id", "field"]].astype(object)
    return sorted(columns.where(columns.notna(), None).itertuples(index=False, name=None), key=str)


def test_a_folder_and_a_zip_archive_of_its_files(tmp_path) -> None:
    """The problems are those of one file, also in a history."""
    rows = [_STRANGE.format(3), _STRANGE.format(4), "5,2024-05-05T10:00:00,Payment,Complete,n" + "," * 9 + "x"]
    path = _write(tmp_path / "may.csv", *rows)
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        archive.write(path, "copy/may.csv")
    alone, both = p2p.read_statements(path), p2p.read_statements(tmp_path)
    assert both.files["file"].tolist() == ["download.zip/copy/may.csv", "may.csv"]
    assert [each[1:] for each in _list(alone.problems)] == [
        (5, "3", "type"), (6, "4", "type"), (7, "5", "total"), (7, None, "row"), (None, None, "balance"),
    ]  # fmt: skip
    assert _list(both.problems) == _list(both.history().problems) == _list(alone.problems)


def test_rows_of_files_that_overlap(tmp_path) -> None:
    """The problem of a row that two files have is one; one of another account, or of another row, is another."""
    early = _write(tmp_path / "a.csv", _STRANGE.format(3), _STRANGE.format(4), closing="$10.00")
    late = _write(tmp_path / "b.csv", _STRANGE.format(4), closing="$15.00")
    other = _write(tmp_path / "c.csv", _STRANGE.format(4), handle="bo", closing="$15.00")
    found = [each for each in _list(p2p.read_statements([early, late, other]).problems) if each[3] == "type"]
    assert found == [("a.csv", 4 + 1, "3", "type"), ("b.csv", 5, "4", "type"), ("c.csv", 5, "4", "type")]


def test_rows_of_one_id_in_one_file(tmp_path) -> None:
    """A purchase and its refund of one id have a problem each, also with a copy of the file."""
    row = "\n3x9,2024-05-0{} 10:00:00 EDT,P2P,USD,{},x,{},,,,CARD CHARGED,Deli,,Visa 1111"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(_WALLET + row.format(4, "-$8", "-$8") + row.format(5, "$3", "$3"), "utf-8")
    parts = ("300", "USD", str((date(2024, 5, 5) - date(1970, 1, 1)).days))
    refund = f"3x9-{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:8]}"
    assert _list(p2p.read_statements(tmp_path).problems) == [("b.csv", 2, "3x9", "fee"), ("b.csv", 3, refund, "fee")]
