"""Workbooks of spreadsheets to CSV text: one text for each sheet, whose cells are exact."""

from __future__ import annotations

import csv
import io
import warnings
import zipfile
import zlib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import openpyxl

from p2p_analytics.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAGIC: Final = b"PK\x03\x04"
_MOST_ROWS: Final = 2**20  # of a sheet
_MOST_COLUMNS: Final = 1_000
_LARGEST_TEXT: Final = 2**26  # characters of all sheets; a sheet can repeat a long text with a few bytes
_FIRST_LONG: Final = 10**15  # a workbook keeps 15 digits of a number
_DECIMALS: Final = 8
_FEWEST_DECIMALS: Final = 2  # so that a point is never taken for a separator of thousands
_HALF_SECOND: Final = timedelta(milliseconds=500)
# What openpyxl raises for files that are not as they should be.
_DAMAGED: Final = (
    LookupError, ValueError, TypeError, AttributeError, SyntaxError, ArithmeticError, OSError, EOFError, RuntimeError,
    AssertionError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class Sheet(NamedTuple):
    """The text of a sheet as CSV in UTF-8, and the line of the first number with more digits than a workbook keeps."""

    utf8: bytes
    rounded_line: int | None


def is_workbook(content: bytes) -> bool:
    """Return whether the bytes of a `Source` are a workbook: other zip archives have been unpacked."""
    return content.startswith(_MAGIC)


def read_sheets(content: bytes, name: str) -> list[Sheet]:
    """Return the sheets of a workbook; a line of the text is a row of the sheet, if no cell has several lines.

    Raises
    ------
    StatementError
        The workbook is damaged, or larger than a statement.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # about styles, and dates that do not exist
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
            sheets: list[Sheet] = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # which exporters often write wrongly
                written = sum(len(each.utf8) for each in sheets)
                sheets.append(_write_sheet(sheet.iter_rows(), name, _LARGEST_TEXT - written))
    except _DAMAGED:
        raise StatementError(f"{name} is a damaged workbook: download it again, or as CSV.") from None
    return sheets


def _write_sheet(rows: Iterable[Sequence[Any]], name: str, most_characters: int) -> Sheet:
    """Return a sheet as CSV. A row is as wide as the widest row above it; empty rows are blank lines."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    width, rounded_line = 0, None
    for line, row in enumerate(rows, 1):
        cells = [_to_text(cell) for cell in row[: _MOST_COLUMNS + 1]]
        while cells and not cells[-1]:
            cells.pop()
        width = max(width, len(cells))
        if width > _MOST_COLUMNS or line > _MOST_ROWS or text.tell() + sum(map(len, cells)) > most_characters:
            raise StatementError(f"{name} is larger than a statement: split it into files of a year.")
        writer.writerow(cells + [""] * (width - len(cells)) if cells else [])
        if rounded_line is None and any(_is_rounded(cell.value) for cell in row):
            rounded_line = line
    return Sheet(text.getvalue().encode("utf-8", "replace"), rounded_line)


def _is_rounded(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) >= _FIRST_LONG


def _to_text(cell: Any) -> str:  # noqa: ANN401 - openpyxl has several classes of cells
    """Return a cell as a CSV file has it: ISO dates, and numbers without binary noise."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        second = (value + _HALF_SECOND).replace(microsecond=0)  # a workbook keeps days as fractions
        return str(second if "h" in cell.number_format.lower() else second.date())
    if not isinstance(value, int | float) or _is_rounded(value) or value != value:  # noqa: PLR0124 - NaN
        return str(value)
    number = round(Decimal(f"{value:.15g}"), _DECIMALS)
    whole, _, decimals = f"{number:f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals.ljust(_FEWEST_DECIMALS, '0')}" if decimals else whole
