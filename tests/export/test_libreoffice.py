"""Workbooks and CSV files as LibreOffice opens and saves them: no live formula, the right dates and sums."""

import shutil
import subprocess
from datetime import datetime
from typing import Any

import openpyxl
import pytest

import p2p_analytics as p2p
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed"),
]
DATES = {"date_created": "2024-03-10T06:59:59Z", "date_completed": "2024-07-01T00:00:00Z"}
ROWS = [
    {
        "payment_id": f"{10**18 + at}", "status": "settled", "kind": "payment", "direction": "out", "note": text,
        "counterparty_name": text, "amount_cents": 10 + at, "flow_cents": -10 - at, **DATES,
    }
    for at, text in enumerate(TEXTS)
]  # fmt: skip
CENTS = sum(10 + at for at in range(len(TEXTS)))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a workbook and a CSV file as LibreOffice saves them."""
    folder = tmp_path_factory.mktemp("libreoffice")
    payments = frame_from_rows(ROWS, PAYMENTS)
    p2p.to_excel(payments, folder / "book.xlsx", as_of="2025-01-01", tz="America/New_York")
    p2p.to_csv(payments, folder / "table.csv")
    options = [f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "xlsx"]
    command = ["soffice", *options, "--outdir", folder / "saved", folder / "book.xlsx", folder / "table.csv"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)  # noqa: S603 - a fixed program
    return {name: openpyxl.load_workbook(folder / "saved" / f"{name}.xlsx") for name in ("book", "table")}


def read_columns(sheet: Any) -> dict[str, list[Any]]:
    """Return the columns of a sheet by the titles in its first row."""
    titles, *rows = sheet.values
    return {title: [row[at] for row in rows] for at, title in enumerate(titles)}


def test_a_workbook_has_dates_and_sums(copies: dict[str, Any]) -> None:
    """Dates are dates on the clocks of the zone, and amounts add up, in the payments and in the analyses."""
    payments = read_columns(copies["book"]["payments"])
    assert {*payments["date_created (America/New_York)"]} == {datetime(2024, 3, 10, 1, 59, 59)}  # noqa: DTZ001
    assert {*payments["date_completed (America/New_York)"]} == {datetime(2024, 6, 30, 20, 0)}  # noqa: DTZ001
    assert sum(round(amount * 100) for amount in payments["amount"]) == CENTS
    assert payments["payment_id"] == [row["payment_id"] for row in ROWS]
    months = read_columns(copies["book"]["monthly_flow"])
    assert (months["month"], [round(amount * 100) for amount in months["sent"]]) == (["2024-06"], [CENTS])


def test_a_csv_file_has_dates_and_sums(copies: dict[str, Any]) -> None:
    """Cents are numbers that add up, and instants stay as they are; no cell of any file has a formula or a link."""
    payments = read_columns(copies["table"].active)
    assert sum(payments["amount_cents"]) == CENTS
    assert {name: {*payments[name]} for name in DATES} == {name: {value} for name, value in DATES.items()}
    cells = [cell for book in copies.values() for sheet in book for row in sheet.iter_rows() for cell in row]
    assert len(cells) > 1_000
    assert [cell.value for cell in cells if cell.data_type == "f" or cell.hyperlink] == []
