"""Workbooks of services: cells become the text that the CSV file has, and what a workbook lost is refused."""

import csv
import io
import re
import zipfile
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.statements import list_refused, list_skipped
from p2p_analytics.statements.reading.tables import read_sheets
from support.statements.files import REVOLUT, SAMPLES, read_sample

NAMES = REVOLUT.strip()
GERMAN = "Art,Produkt,Datum des Beginns,Datum des Abschlusses,Beschreibung,Betrag,Gebühr,Währung,Status,Kontostand"
MOMENTS = (datetime(2026, 3, 1, 9, 30, 15), datetime(2026, 3, 2), datetime(2026, 3, 3, 23, 59, 59))  # noqa: DTZ001 - cells
ROWS = [
    ["Transfer", "Current", MOMENTS[0], MOMENTS[0], "To Theo Marsh", -12.5, 0, "EUR", "COMPLETED", 0.1 + 0.2 + 87.2],
    ["Card Payment", "Current", MOMENTS[1], MOMENTS[1], 'Mill, "N"\nHall', -1234.56, 0.0, "EUR", "COMPLETED", -1147.06],
    ["Transfer", "Current", MOMENTS[2], None, "From Lena Ortiz", 40, None, "EUR", "PENDING", None],
]  # fmt: skip


def save(folder: Path, rows: list[list[object]], name: str = "statement.xlsx", title: str = "Statement") -> Path:
    """Write a workbook with a first sheet of remarks, and the rows in the second one."""
    book = openpyxl.Workbook()
    book.active.append(["Exported for", "Nora Quill"])
    sheet = book.create_sheet(title)
    for row in rows:
        sheet.append(row)
    book.save(folder / name)
    return folder / name


def change(path: Path, member: str, change_text: str, pattern: str) -> Path:
    """Replace text of a member of a workbook, and return its path."""
    with zipfile.ZipFile(path) as book:
        contents = {name: book.read(name) for name in book.namelist()}
    changed = re.sub(pattern, lambda _: change_text, contents[member].decode(), count=1)
    assert changed != contents[member].decode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in contents.items():
            book.writestr(name, changed if name == member else content)
    return path


@pytest.mark.parametrize("names", [NAMES, GERMAN])
def test_a_workbook_is_read_as_the_csv_file(names: str, tmp_path: Path) -> None:
    """Dates, sums with binary noise and texts of several lines; below a title, in the second sheet, in any language."""
    path = save(tmp_path, [["Statement of Nora Quill"], [], names.split(","), *ROWS])
    found = p2p.read_statements(path, account="ada")
    texts = [
        ["" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in ROWS
    ]
    with (tmp_path / "statement.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names.split(","), *texts])
    expected = p2p.read_statements(tmp_path / "statement.csv", account="ada")
    columns = [name for name in expected.payments if name not in {"file", "line"}]
    assert found.payments[columns].equals(expected.payments[columns])
    assert found.payments["flow_cents"].tolist() == [4000, -123456, -1250]
    assert found.payments["line"].tolist() == [6 + 1, 5, 4]  # the text of the fifth row has two lines
    assert found.problems["code"].tolist() == expected.problems["code"].tolist()
    assert found.reconciliation["reconciled"].tolist() == [True]
    both = p2p.read_statements([path, tmp_path / "statement.csv"], account="ada")
    assert len(both.payments) == len(ROWS)


def test_a_statement_with_ids_as_text(tmp_path: Path) -> None:
    """The service's own file as a workbook reconciles; ids that became numbers are refused with the reason."""
    rows: list[list[object]] = [[*row] for row in csv.reader(io.StringIO(read_sample("gen_d_2024")))]
    found, expected = p2p.read_statements(save(tmp_path, rows)), p2p.read_statements(SAMPLES["gen_d_2024"])
    assert found.payments["payment_id"].tolist() == expected.payments["payment_id"].tolist()
    assert found.reconciliation["reconciled"].tolist() == [True]
    for row in rows:
        row[1] = int(str(row[1])) if str(row[1]).isdigit() else row[1]
    path = save(tmp_path, rows)
    sentence = (
        "statement.xlsx, line 5: a number has more than the 15 digits that a workbook keeps, so the last ones are "
        "lost: download the CSV file instead."
    )
    for given in (path, tmp_path):  # also in a folder: payments would be missing
        with pytest.raises(StatementError, match=sentence):
            p2p.read_statements(given)
    found = p2p.read_statements([path, SAMPLES["gen_a_2018"]], on_bad_file="refuse")
    assert list_refused(found.problems) == [("statement.xlsx", sentence)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.30"), (1234.5600000000122, "1234.56"), (-12.5, "-12.50"), (12.0, "12"), (100, "100"),
        (-0.75, "-0.75"), (0.00000012, "0.00000012"), (1e-9, "0"), (" a\nb ", " a\nb "), (None, ""),
        ("007", "007"), (999_999_999_999_999, "999999999999999"), (date(2026, 3, 1), "2026-03-01"),
        (MOMENTS[0], "2026-03-01 09:30:15"),
    ],
)  # fmt: skip
def test_cells_as_text(value: object, text: str, tmp_path: Path) -> None:
    """As many decimals as an amount has, at least two; dates are ISO, without a time if the cell shows none."""
    sheet = read_sheets(save(tmp_path, [["begin", value, "end"]]).read_bytes(), "a.xlsx")[1]
    assert next(csv.reader(io.StringIO(sheet.utf8.decode(), newline=""))) == ["begin", text, "end"]
    assert sheet.rounded_line is None


def test_other_workbooks_of_a_folder_are_skipped(tmp_path: Path, pack) -> None:
    """Whether they hold other tables, are damaged, or are in a zip archive."""
    save(tmp_path, [["Shop", "Total"], ["Mill", 10**18]], "shops.xlsx")
    (tmp_path / "damaged.xlsx").write_bytes(save(tmp_path, ROWS, "a.xlsx").read_bytes()[:-9])
    pack("s.zip", {"a.xlsx": (tmp_path / "a.xlsx").read_bytes(), "a.csv": read_sample("gen_a_2018")})
    (tmp_path / "a.xlsx").unlink()
    found = p2p.read_statements(tmp_path)
    assert found.files["file"].tolist() == ["s.zip/a.csv"]
    skipped = dict(list_skipped(found.problems))
    assert "shops.xlsx is not a statement (columns: Exported for, Nora Quill)" in skipped.pop("shops.xlsx")
    assert skipped == {
        "damaged.xlsx": "damaged.xlsx is a damaged zip archive: download it again",
        "s.zip/a.xlsx": "s.zip/a.xlsx is a workbook in a zip archive: unpack it",
    }
    packed = pack("b.zip", {"a.csv": (tmp_path / "shops.xlsx").read_bytes()})
    with pytest.raises(StatementError, match=r"b\.zip/a\.csv is a zip archive or workbook in a zip archive: unpack it"):
        p2p.read_statements(packed)


def test_a_wrong_dimension_hides_no_row(tmp_path: Path) -> None:
    """Some exporters write the size of an empty sheet."""
    path = save(tmp_path, [NAMES.split(","), *ROWS])
    change(path, "xl/worksheets/sheet2.xml", '<dimension ref="A1"/>', "<dimension[^>]*>")
    assert len(p2p.read_statements(path).payments) == len(ROWS)


_ROWS = "<row r=.2.*</sheetData>"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (_ROWS, '<row r="99999999999"><c r="A99999999999"><v>1</v></c></row></sheetData>'),
        (_ROWS, '<row r="2"><c r="XFD2"><v>1</v></c></row></sheetData>'),
        (_ROWS, '<row><c r="XFD2"/></row>' * 10 + "</sheetData>"),
        (_ROWS, '<row><c t="s"><v>0</v></c></row>' * 1_000 + "</sheetData>"),
        (_ROWS, '<row r="2"><c t="s"><v>999</v></c></row></sheetData>'),
        (_ROWS, "<row><c><v>1e</v></c></row></sheetData>"),
        ("<row r=.2.*", "<row>"),
        ("<worksheet", '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">]><worksheet'),
    ],
    ids=["far row", "far column", "empty cells", "repeated text", "no such text", "no number", "cut off", "entities"],
)  # fmt: skip
def test_workbooks_made_to_do_harm(pattern: str, text: str, tmp_path: Path, set_limit) -> None:
    """They are refused in a moment, or read as the little that they are."""
    set_limit("sheet_characters", 100_000)
    set_limit("sheet_cells", 100_000)
    path = tmp_path / "statement.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, cells in enumerate((["x" * 1_000], NAMES.split(","), ["Transfer"])):
            sheet.write_row(number, 0, cells)
    change(path, "xl/worksheets/sheet1.xml", text, f"(?s){pattern}")
    with pytest.raises(StatementError, match=r"statement\.xlsx is (larger than a statement|a damaged workbook)"):
        p2p.read_statements(path)
