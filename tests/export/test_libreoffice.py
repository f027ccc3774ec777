"""Workbooks and CSV files as LibreOffice opens them: no live formula, the right dates and sums."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, NamedTuple

import pytest

import p2p_analytics as p2p
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed"),
]

OFFICE, TABLE, TEXT = (f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "table", "text"))
DATES = {"date_created": "2024-03-10T06:59:59Z", "date_completed": "2024-07-01T00:00:00Z"}
ROWS = [
    {
        "payment_id": f"{10**18 + at}", "status": "settled", "kind": "payment", "direction": "out", "note": text,
        "counterparty_name": text, "amount_cents": 10 + at, "flow_cents": -10 - at, **DATES,
    }
    for at, text in enumerate(TEXTS)
]  # fmt: skip
CENTS = sum(10 + at for at in range(len(TEXTS)))


class Cell(NamedTuple):
    """A cell as LibreOffice understands it."""

    kind: str | None
    value: str


def read_sheet(path: Path, name: str) -> dict[str, list[Cell]]:
    """Return the columns of a sheet by the titles in its first row."""
    (table,) = (each for each in ET.parse(path).iter(f"{TABLE}table") if each.get(f"{TABLE}name") == name)  # noqa: S314 - made here
    titles, *rows = [[*_list_cells(row)] for row in table.iter(f"{TABLE}table-row")]
    return {title.value: [row[at] for row in rows if row[0].value] for at, title in enumerate(titles) if title.value}


def _list_cells(row: ET.Element) -> Iterator[Cell]:
    for cell in row.iter(f"{TABLE}table-cell"):
        given = cell.get(f"{OFFICE}value") or cell.get(f"{OFFICE}date-value")
        text = "\n".join("".join(part.itertext()) for part in cell.iter(f"{TEXT}p"))
        found = Cell(cell.get(f"{OFFICE}value-type"), given or text)
        yield from [found] * min(int(cell.get(f"{TABLE}number-columns-repeated", "1")), len(PAYMENTS))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a workbook and a CSV file as LibreOffice opens and saves them."""
    folder = tmp_path_factory.mktemp("libreoffice")
    payments = frame_from_rows(ROWS, PAYMENTS)
    p2p.to_excel(payments, folder / "book.xlsx", as_of="2025-01-01", tz="America/New_York")
    p2p.to_csv(payments, folder / "table.csv")
    options = [f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "fods"]
    command = ["soffice", *options, "--outdir", folder, folder / "book.xlsx", folder / "table.csv"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - a fixed program
    return folder


def test_no_formula_is_live(copies: Path) -> None:
    """No cell of any sheet has a formula, and none is a link."""
    for name in ("book.fods", "table.fods"):
        text = (copies / name).read_text("utf-8")
        assert ["calc" in text, "table:formula" in text, "text:a " in text] == [True, False, False]


def test_a_workbook_has_dates_and_sums(copies: Path) -> None:
    """Dates are dates on the clocks of the zone, and amounts add up, in the payments and in the analyses."""
    payments = read_sheet(copies / "book.fods", "payments")
    assert set(payments["date_created (America/New_York)"]) == {("date", "2024-03-10T01:59:59")}
    assert set(payments["date_completed (America/New_York)"]) == {("date", "2024-06-30T20:00:00")}
    assert sum(round(float(cell.value) * 100) for cell in payments["amount"]) == CENTS
    assert {cell.kind for cell in payments["amount"]} == {"float"}
    assert list(payments["payment_id"]) == [("string", row["payment_id"]) for row in ROWS]
    months = read_sheet(copies / "book.fods", "monthly_flow")
    assert [cell.value for cell in months["month"]] == ["2024-06"]
    assert [round(float(cell.value) * 100) for cell in months["sent"]] == [CENTS]


def test_a_csv_file_has_dates_and_sums(copies: Path) -> None:
    """Cents are numbers that add up, and instants stay as they are."""
    payments = read_sheet(copies / "table.fods", "table")
    assert sum(int(cell.value) for cell in payments["amount_cents"]) == CENTS
    assert {cell.kind for cell in payments["amount_cents"]} == {"float"}
    for name, value in DATES.items():
        assert {cell.value for cell in payments[name]} == {value}
