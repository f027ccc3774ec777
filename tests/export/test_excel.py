"""Excel workbooks: read back with another library, the cells hold what the frame holds."""

from __future__ import annotations

import re
import zipfile
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import openpyxl
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.export import write_workbook
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS

if TYPE_CHECKING:
    from pathlib import Path


def read_sheet(path: Path, name: str = "payments") -> list[dict[str, Any]]:
    """Return the rows of a sheet by the titles in its first row; escaped control characters are restored."""
    rows = openpyxl.load_workbook(path)[name].iter_rows(values_only=True)
    titles = next(rows)
    return [{title: restore(cell) for title, cell in zip(titles, row, strict=True)} for row in rows]


def restore(cell: object) -> object:
    """Return a cell with the escapes of the file format undone, as Excel and LibreOffice do."""
    if not isinstance(cell, str):
        return cell
    return re.sub("_x([0-9A-F]{4})_", lambda match: chr(int(match[1], 16)), cell)


def test_money_dates_and_ids(tmp_path: Path) -> None:
    """Money is a number of units, dates are on the clocks of the zone, ids are text, and null is an empty cell."""
    rows = [
        {"payment_id": "0123456789012345678", "amount_cents": -1230, "flow_cents": 99_999_999_99, "note": "",
         "date_created": "2024-03-10T06:59:59Z", "date_completed": "1899-12-31T00:00:00Z"},
        {"payment_id": "2", "fee_cents": 5, "date_created": "2024-07-01T00:00:00Z"},
    ]  # fmt: skip
    write_workbook({"payments": frame_from_rows(rows, PAYMENTS)}, tmp_path / "p.xlsx", tz="America/New_York")
    first, second = read_sheet(tmp_path / "p.xlsx")
    assert first["payment_id"] == "0123456789012345678"
    assert (first["amount"], first["flow"], first["fee"]) == (-12.3, 99_999_999.99, None)
    assert first["date_created (America/New_York)"] == datetime(2024, 3, 10, 1, 59, 59)  # noqa: DTZ001
    assert first["date_completed (America/New_York)"] == "1899-12-30 19:00:00"
    assert second["date_created (America/New_York)"] == datetime(2024, 6, 30, 20, 0)  # noqa: DTZ001
    assert (second["fee"], second["amount"], second["note"]) == (0.05, None, None)


def test_no_text_is_a_formula(tmp_path: Path) -> None:
    """Each text comes back equal, as text; the file holds neither a formula nor a link."""
    texts = [*TEXTS, "_x0041_", "https://example.org", "123", "#REF!", "\x00", "TRUE", "  spaces  "]
    write_workbook({"payments": pd.DataFrame({"note": pd.Series(texts, dtype="str")})}, tmp_path / "p.xlsx")
    assert [row["note"] for row in read_sheet(tmp_path / "p.xlsx")] == texts
    with zipfile.ZipFile(tmp_path / "p.xlsx") as parts:
        sheet = parts.read("xl/worksheets/sheet1.xml")
        assert b"<f>" not in sheet
        assert b"hyperlink" not in sheet
        assert b'quotePrefix="1"' in parts.read("xl/styles.xml")


def test_numbers_that_a_cell_cannot_hold_are_text(tmp_path: Path) -> None:
    """Whole numbers above 2**53, infinity and very long text are not rounded silently."""
    frame = pd.DataFrame(
        {"number": [2**53, 2**53 + 1], "flow_cents": [2**53 + 1, -(2**53) - 1], "days": [0.5, float("inf")],
         "note": ["x" * 32_767, "y" * 40_000], "is_friend": [True, False]}
    )  # fmt: skip
    write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    first, second = read_sheet(tmp_path / "p.xlsx")
    assert (first["number"], second["number"]) == (2**53, "9007199254740993")
    assert (first["flow"], second["flow"]) == ("90071992547409.93", "-90071992547409.93")
    assert (first["days"], second["days"]) == (0.5, "inf")
    assert (first["is_friend"], second["is_friend"]) == (True, False)
    assert first["note"] == "x" * 32_767
    assert second["note"] == "y" * 32_727 + "... (7,273 more characters)"


def test_long_text_is_cut_where_a_cell_ends(tmp_path: Path) -> None:
    """A cell holds 32,767 units of UTF-16: an emoji has two, none is halved, and the cell says what it lacks.

    Kept are the first 32,727 units: 16,363 emoji, and of the text that begins with a letter the letter and as many.
    """
    fits, cut = "🎉" * 16_383 + "a", "🎉" * 16_384
    frame = pd.DataFrame({"note": [fits, cut, "a" + cut], "🎉" * 20_000: ["", "", ""]})
    write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    notes = [row["note"] for row in read_sheet(tmp_path / "p.xlsx")]
    assert notes[0] == fits
    assert notes[1] == "🎉" * 16_363 + "... (21 more characters)"
    assert notes[2] == "a" + "🎉" * 16_363 + "... (21 more characters)"
    assert "🎉" * 16_363 + "... (3,637 more characters)" in read_sheet(tmp_path / "p.xlsx")[0]


@pytest.mark.parametrize(
    ("tz", "first", "last"),
    [
        ("Asia/Tokyo", "0001-01-01 09:18:59", "9999-12-31 23:59:59+00:00"),
        ("America/New_York", "0001-01-01 00:00:00+00:00", datetime(9999, 12, 31, 18, 59, 59)),  # noqa: DTZ001
    ],
)
def test_instants_that_a_zone_puts_outside_of_the_calendar(tmp_path: Path, tz: str, first: str, last: object) -> None:
    """They are text in UTC, which says so; the others are on the clocks of the zone."""
    dates = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
    frame = pd.DataFrame({"date_created": pd.Series(dates, dtype="datetime64[us, UTC]")})
    write_workbook({"payments": frame}, tmp_path / "p.xlsx", tz=tz)
    rows = read_sheet(tmp_path / "p.xlsx")
    assert [row[f"date_created ({tz})"] for row in rows] == [first, last]


def test_the_first_days_of_1900_are_text(tmp_path: Path) -> None:
    """Excel counts a 29 February 1900, so programs differ in the days before; instants and dates are alike in this."""
    days = ["1900-01-01", "1900-02-28", "1900-03-01"]
    frame = pd.DataFrame({"at": pd.to_datetime(days, utc=True).as_unit("us"), "day": [*map(date.fromisoformat, days)]})
    write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    first = datetime(1900, 3, 1)  # noqa: DTZ001
    assert [(row["at (UTC)"], row["day"]) for row in read_sheet(tmp_path / "p.xlsx")] == [
        ("1900-01-01 00:00:00", "1900-01-01"), ("1900-02-28 00:00:00", "1900-02-28"), (first, first),
    ]  # fmt: skip


def test_a_column_is_money_if_it_holds_numbers(tmp_path: Path) -> None:
    """Text keeps its name, and floats with nulls, as NumPy has them, are cents too."""
    frame = pd.DataFrame({"a_cents": ["12", None], "b_cents": [1250.0, None], "c_cents": [float("inf"), 5]})
    write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    assert read_sheet(tmp_path / "p.xlsx") == [
        {"a_cents": "12", "b": 12.5, "c": "inf"},
        {"a_cents": None, "b": None, "c": 0.05},
    ]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["a/b"],
            r"'a/b' cannot be the name of a sheet: choose 1 to 31 characters, none of \[\]:\*\?/\\, with no apostrophe",
        ),
        *(
            ([name], "cannot be the name of a sheet")
            for name in ("x" * 32, "🎉" * 16, "", "'a", "a\0b", "a\ud800", "History", 1)
        ),
        (["Rent", "rent"], r"Excel takes the sheets 'Rent' and 'rent' for one: rename one of them\."),
    ],
)
def test_names_that_excel_does_not_take_are_refused(tmp_path: Path, names: list[str], sentence: str) -> None:
    """One sentence says which and what to do, and no file is left."""
    with pytest.raises(ConfigurationError, match=sentence):
        write_workbook(dict.fromkeys(names, pd.DataFrame({"a": [1]})), tmp_path / "p.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_workbook_has_the_ending_that_excel_opens(tmp_path: Path) -> None:
    """Another one is refused in a sentence; capitals do not matter, and a name may have no ending."""
    tables = {"a": pd.DataFrame({"a": [1]})}
    for name in ("p.txt", "p.xls", "p.xlsx.gz"):
        with pytest.raises(
            ConfigurationError, match=rf"{name} is not opened by Excel, because it does not end in \.xlsx"
        ):
            write_workbook(tables, tmp_path / name)
    for taken in ("P.XLSX", "p"):
        write_workbook(tables, tmp_path / taken)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["P.XLSX", "p"]


def test_sheets_keep_their_header_in_view(tmp_path: Path) -> None:
    """Each table has a sheet with a frozen header and a filter; one without rows has the header."""
    tables = {"one": pd.DataFrame({"a": [1]}), "none": pd.DataFrame({"b": pd.Series([], dtype="str")})}
    write_workbook(tables, tmp_path / "p.xlsx")
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    assert book.sheetnames == ["one", "none"]
    assert [sheet.freeze_panes for sheet in book] == ["A2", "A2"]
    assert [sheet.auto_filter.ref for sheet in book] == ["A1:A2", "A1"]
    assert read_sheet(tmp_path / "p.xlsx", "none") == []


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    """Nothing in the file depends on when, where or by whom it was written."""
    frame = pd.DataFrame({"date_created": [datetime(2024, 1, 1, tzinfo=UTC)]})
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook({"payments": frame}, tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_a_table_too_long_for_a_sheet_is_refused(tmp_path: Path) -> None:
    """It is refused in a sentence before anything is written."""
    frame = pd.DataFrame({"a": range(1_048_576)})
    with pytest.raises(ConfigurationError, match="1,048,576 rows, and a sheet holds 1,048,575"):
        write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    wide = pd.DataFrame([[1] * 16_385], columns=[f"c{at}" for at in range(16_385)])
    with pytest.raises(ConfigurationError, match="16,385 columns, and a sheet holds 16,384: choose some of them"):
        write_workbook({"payments": wide}, tmp_path / "p.xlsx")
    assert list(tmp_path.iterdir()) == []


def make_payment(number: int, cents: int, **more: Any) -> dict[str, Any]:
    """Return a settled payment from Ada to Tom in May 2024."""
    row = {"payment_id": str(number), "status": "settled", "action": "pay", "amount_cents": cents, "flow_cents": -cents}
    names = {"counterparty_id": "7", "counterparty_name": "Tom", "account_id": "ada", "currency": "USD"}
    dates = {"date_created": "2024-05-31T23:00:00Z", "date_completed": "2024-05-31T23:30:00Z"}
    return row | names | dates | {"direction": "out", "kind": "payment", "note": "tea", "audience": "public"} | more


def test_a_workbook_of_payments_has_a_sheet_for_each_analysis(tmp_path: Path) -> None:
    """Sums are those counted by hand; months and dates are those of the zone."""
    rows = [make_payment(1, 1250), make_payment(2, 250), make_payment(3, 100, status="pending", date_completed=None)]
    frame = frame_from_rows(rows, PAYMENTS)
    p2p.to_excel(frame, tmp_path / "p.xlsx", as_of="2024-06-30T23:00:00Z", tz="Asia/Tokyo")
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    assert book.sheetnames[:3] == ["about", "payments", "spend_by_friend"]
    assert len(book.sheetnames) == 18
    (tom,) = read_sheet(tmp_path / "p.xlsx", "spend_by_friend")
    assert (tom["counterparty_name"], tom["sent"], tom["payments"]) == ("Tom", 15, 2)
    (month,) = read_sheet(tmp_path / "p.xlsx", "monthly_flow")
    assert (month["month"], month["sent"]) == ("2024-06", 15)
    (period,) = read_sheet(tmp_path / "p.xlsx", "spending_over_time")
    assert period["period"] == datetime(2024, 6, 1)  # noqa: DTZ001
    (late,) = read_sheet(tmp_path / "p.xlsx", "pending_requests")
    assert late["age_days"] == 30
    about = {row["sheet"]: row["rows"] for row in read_sheet(tmp_path / "p.xlsx", "about")}
    assert (about["payments"], about["spend_by_friend"], about["activity"]) == (3, 1, 168)
