"""One problem is listed once, although it is in several copies of a file, or in rows of several files."""

from __future__ import annotations

import hashlib
import json
import zipfile
from datetime import date

import pytest

import p2p_analytics as p2p
from p2p_analytics.cli import main

_HEADER = (
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
    "Ending Balance"
)
_WALLET = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_STRANGE = "{id},2024-05-0{id}T10:00:00,Sponsored Tea,Complete,tea,Ada Reyes,Bo Lund,- $5.00,0,Balance,,,"


def _write(path, *rows: str, handle: str = "ada", closing: str = "$9.00"):
    title = [f"Account Statement - (@{handle})", "Account Activity", _HEADER]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*title, f"{',' * 11}$20.00,", *rows, f"{',' * 12}{closing}"]) + "\n", "utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a file of three problems, and a zip archive with a copy of it."""
    rows = [_STRANGE.format(id=3), _STRANGE.format(id=4), "5,2024-05-05T10:00:00,Payment,Complete,n" + "," * 9 + "x"]
    path = _write(tmp_path / "files" / "may.csv", *rows)
    with zipfile.ZipFile(path.parent / "download.zip", "w") as archive:
        archive.write(path, "copy/may.csv")
    return path.parent


def _list(problems):
    columns = problems[["file", "line", "payment_id", "field"]].astype(object)
    return sorted(columns.where(columns.notna(), None).itertuples(index=False, name=None), key=str)


def test_a_folder_and_a_zip_archive_of_its_files(folder, tmp_path, capsys) -> None:
    """The problems are those of one file; import, archive, summary card, report and JSON count the same."""
    alone = p2p.read_statements(folder / "may.csv")
    both = p2p.read_statements(folder)
    assert both.files["file"].tolist() == ["download.zip/copy/may.csv", "may.csv"]
    fields = [(line, payment_id, field) for _, line, payment_id, field in _list(alone.problems)]
    assert fields == [
        (5, "3", "type"), (6, "4", "type"), (7, "5", "total"), (7, None, "row"), (None, None, "balance"),
    ]  # fmt: skip
    assert _list(both.problems) == _list(alone.problems)
    archive = tmp_path / "archive"
    assert main(["import", str(archive), str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["problems"], found["files"], found["not_adding_up"]) == (5, 2, ["may.csv"])
    history = p2p.open_archive(archive).history()
    assert _list(history.problems) == _list(alone.problems)
    assert "5 problems" in history._repr_html_()
    assert "5 problems" in p2p.render_report(history, as_of=history.fetched_at)
    assert main(["import", str(archive), str(folder), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "2 Venmo files" in printed
    assert "5 problems" in printed
    assert printed.count("the balances and the rows differ") == 1


def test_files_that_are_imported_apart(folder, tmp_path) -> None:
    """A copy that comes later brings no problem of its own, in any order; undo takes it back."""
    apart = [p2p.read_statements(folder / name) for name in ("may.csv", "download.zip")]
    listed = []
    for number, order in enumerate((apart, apart[::-1])):
        archive = p2p.open_archive(tmp_path / str(number))
        for statements in order:
            archive.import_(statements)
        listed.append(_list(archive.history().problems))
        archive.undo()
        assert _list(archive.history().problems) == _list(order[0].problems)
    assert listed[0] == listed[1] == _list(apart[0].problems)


def test_rows_of_files_that_overlap(tmp_path) -> None:
    """The problem of a row that two files have is one; one of another account, or of another row, is another."""
    early = _write(tmp_path / "a.csv", _STRANGE.format(id=3), _STRANGE.format(id=4), closing="$10.00")
    late = _write(tmp_path / "b.csv", _STRANGE.format(id=4), closing="$15.00")
    other = _write(tmp_path / "c.csv", _STRANGE.format(id=4), handle="bo", closing="$15.00")
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
