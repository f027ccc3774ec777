"""Excel workbooks: read back with another library, the cells hold what the frame holds."""

import re
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.export import write_workbook
from p2p_analytics.frames.schema import PAYMENTS
from support.analyses.records import make_record
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS


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
    """Whole numbers above 2**53, infinity and long text are not rounded; a column of cents is money if it has some."""
    frame = pd.DataFrame(
        {"number": [2**53, 2**53 + 1], "flow_cents": [2**53 + 1, -(2**53) - 1], "days": [0.5, float("inf")],
         "note": ["x" * 32_767, "y" * 40_000], "is_friend": [True, False],
         "a_cents": ["12", None], "b_cents": [1250.0, None], "c_cents": [float("inf"), 5]}
    )  # fmt: skip
    write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    assert read_sheet(tmp_path / "p.xlsx") == [
        {"number": 2**53, "flow": "90071992547409.93", "days": 0.5, "note": "x" * 32_767, "is_friend": True,
         "a_cents": "12", "b": 12.5, "c": "inf"},
        {"number": "9007199254740993", "flow": "-90071992547409.93", "days": "inf",
         "note": "y" * 32_727 + "... (7,273 more characters)", "is_friend": False, "a_cents": None, "b": None,
         "c": 0.05},
    ]  # fmt: skip


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
    """They are text in UTC, which says so; so are the first days of 1900, in which Excel counts a 29 February."""
    dates = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
    frame = pd.DataFrame({"at": pd.Series(dates, dtype="datetime64[us, UTC]")})
    days = ["1900-01-01", "1900-02-28", "1900-03-01"]
    early = pd.DataFrame({"at": pd.to_datetime(days, utc=True).as_unit("us"), "day": [*map(date.fromisoformat, days)]})
    write_workbook({"payments": frame}, tmp_path / "p.xlsx", tz=tz)
    write_workbook({"payments": early}, tmp_path / "early.xlsx")
    assert [row[f"at ({tz})"] for row in read_sheet(tmp_path / "p.xlsx")] == [first, last]
    march = datetime(1900, 3, 1)  # noqa: DTZ001
    assert [(row["at (UTC)"], row["day"]) for row in read_sheet(tmp_path / "early.xlsx")] == [
        ("1900-01-01 00:00:00", "1900-01-01"), ("1900-02-28 00:00:00", "1900-02-28"), (march, march),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a/b"], r"'a/b' cannot be the name of a sheet: choose 1 to 31 characters, none of \[\]:\*\?/\\, with no apo"),
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
        sentence = rf"{name} is not opened by Excel, because it does not end in \.xlsx"
        with pytest.raises(ConfigurationError, match=sentence):
            write_workbook(tables, tmp_path / name)
    for taken in ("P.XLSX", "p"):
        write_workbook(tables, tmp_path / taken)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["P.XLSX", "p"]


def test_sheets_keep_their_header_in_view(tmp_path: Path) -> None:
    """Each table has a sheet with a frozen header and a filter, also without rows; the same tables, the same bytes."""
    dates = [datetime(2024, 1, 1, tzinfo=UTC)]
    tables = {"one": pd.DataFrame({"date_created": dates}), "none": pd.DataFrame({"b": pd.Series([], dtype="str")})}
    for name in ("p.xlsx", "again.xlsx"):
        write_workbook(tables, tmp_path / name)
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    assert book.sheetnames == ["one", "none"]
    assert [sheet.freeze_panes for sheet in book] == ["A2", "A2"]
    assert [sheet.auto_filter.ref for sheet in book] == ["A1:A2", "A1"]
    assert read_sheet(tmp_path / "p.xlsx", "none") == []
    assert (tmp_path / "p.xlsx").read_bytes() == (tmp_path / "again.xlsx").read_bytes()


def test_a_table_too_long_for_a_sheet_is_refused(tmp_path: Path) -> None:
    """It is refused in a sentence before anything is written."""
    frame = pd.DataFrame({"a": range(1_048_576)})
    with pytest.raises(ConfigurationError, match="1,048,576 rows, and a sheet holds 1,048,575"):
        write_workbook({"payments": frame}, tmp_path / "p.xlsx")
    wide = pd.DataFrame([[1] * 16_385], columns=[f"c{at}" for at in range(16_385)])
    with pytest.raises(ConfigurationError, match="16,385 columns, and a sheet holds 16,384: choose some of them"):
        write_workbook({"payments": wide}, tmp_path / "p.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_workbook_of_payments_has_a_sheet_for_each_analysis(tmp_path: Path) -> None:
    """Sums are those counted by hand; months and dates are those of the zone."""
    may = datetime(2024, 5, 31, 23, tzinfo=UTC)
    rows = [
        make_record(payment_id=f"{at}", amount_cents=cents, status=status, date_created=may)
        for at, (cents, status) in enumerate(((1250, "settled"), (250, "settled"), (100, "pending")))
    ]
    p2p.to_excel(frame_from_rows(rows, PAYMENTS), tmp_path / "p.xlsx", as_of="2024-06-30T23:00:00Z", tz="Asia/Tokyo")
    book = openpyxl.load_workbook(tmp_path / "p.xlsx")
    assert book.sheetnames == ["about", "payments", *ANALYSES]
    (ann,) = read_sheet(tmp_path / "p.xlsx", "spend_by_friend")
    assert (ann["counterparty_name"], ann["sent"], ann["payments"]) == ("Ann Quill", 15, 2)
    (month,) = read_sheet(tmp_path / "p.xlsx", "monthly_flow")
    assert (month["month"], month["sent"]) == ("2024-06", 15)
    (period,) = read_sheet(tmp_path / "p.xlsx", "spending_over_time")
    assert period["period"] == datetime(2024, 6, 1)  # noqa: DTZ001
    (late,) = read_sheet(tmp_path / "p.xlsx", "pending_requests")
    assert late["age_days"] == 30
    about = {row["sheet"]: row["rows"] for row in read_sheet(tmp_path / "p.xlsx", "about")}
    assert (about["payments"], about["spend_by_friend"], about["activity"]) == (3, 1, 168)
