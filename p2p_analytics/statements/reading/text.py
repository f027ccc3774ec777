"""Bytes of a file to text: byte order marks, UTF-8, UTF-16, Windows-1252, workbooks, and bytes that are not text."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
import zipfile
import zlib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ZIPPED: Final = b"PK\x03\x04"  # begins workbooks; sources unpack other zip archives
LONGEST_LINE: Final = 2**18  # bytes
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, which has the same first bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BEFORE_JSON: Final = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"
_START: Final = 2**16  # bytes that show whether a damaged file is a statement
_SAMPLE: Final = 512  # bytes that decide whether a file without a mark is UTF-16
_PIECE: Final = 2**20  # bytes that are decoded at a time
_OTHERS: Final = (  # the first bytes of files of other kinds
    (b"%PDF-", "a PDF"),
    (ZIPPED, "a workbook of a spreadsheet, or another zip archive"),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet"),
)
_LATER_MARKS: Final = re.compile(rb"(^|[\r\n])(?:\xef\xbb\xbf)+")  # where tools have joined files
_MULTIBYTE: Final = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")
_MOST_ROWS: Final = 2**20  # of a sheet
_MOST_COLUMNS: Final = 1_000
_MOST_CELLS: Final = 5_000_000  # of a sheet, with empty ones
_LARGEST_SHEETS: Final = 2**26  # characters of all sheets; a sheet can repeat a long text with a few bytes
_FIRST_LONG: Final = 10**15  # a workbook keeps 15 digits of a number
_MOST_DECIMALS: Final = 8
_HALF_SECOND: Final = timedelta(milliseconds=500)
_DAMAGED: Final = (  # the errors of openpyxl
    LookupError, ValueError, TypeError, AttributeError, SyntaxError, ArithmeticError, OSError, EOFError, RuntimeError,
    AssertionError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class Text(NamedTuple):
    """The text of a file as UTF-8, and whether it had to be read as Windows-1252."""

    utf8: bytes
    is_windows: bool = False


class Sheet(NamedTuple):
    """The text of a sheet as CSV in UTF-8, and the line of the first number with more digits than a workbook keeps."""

    utf8: bytes
    rounded_line: int | None


def to_utf8(content: bytes, name: str) -> Text:
    """Return the text of a file as valid UTF-8 without byte order marks at the start of its lines.

    Without a mark it is UTF-8, or UTF-16 if every second byte is zero. Text that is not UTF-8 and has no character of
    several bytes in it was saved as Windows-1252 by a spreadsheet.

    Raises
    ------
    StatementError
        The bytes are not text, a line is longer than a statement has, or there is a NUL character.
    """
    kind = next((words for start, words in _OTHERS if content[:_SAMPLE].lstrip().startswith(start)), "")
    if kind:
        raise StatementError(f"{name} is {kind}, which cannot be read: download the CSV file instead.")
    if not begins_as_json(content):  # which may be one long line
        _require_short_lines(content, name)
    encoding, start = _find_encoding(content)
    utf8, is_windows = content[start:], False
    try:
        if encoding == "utf-8":
            _require_utf8(utf8)
        else:
            utf8 = utf8.decode(encoding).encode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, start + error.start) + 1
        has_text = b"\0" not in content[:_START] or encoding != "utf-8"
        if has_text and (encoding != "utf-8" or start or _MULTIBYTE.search(content[: error.start])):
            raise StatementError(f"{name}, line {line}: the text is damaged: download the file again.") from None
        try:
            if not has_text:
                raise
            utf8, is_windows = content.decode("cp1252").encode(), True
        except UnicodeDecodeError:
            raise StatementError(f"{name} is not text: choose the CSV or JSON file.") from None
    position = utf8.find(b"\0")
    if position >= 0:
        line = utf8.count(b"\n", 0, position) + 1
        raise StatementError(f"{name}, line {line}: there is a NUL character, so the file is damaged or is not text.")
    return Text(_LATER_MARKS.sub(rb"\1", utf8) if codecs.BOM_UTF8 in utf8 else utf8, is_windows)


def _require_utf8(utf8: bytes) -> None:
    """Raise a UnicodeDecodeError if bytes are not UTF-8. Decoding pieces takes little memory."""
    view, start = memoryview(utf8), 0
    while start < len(utf8):
        end = utf8.find(b"\n", start + _PIECE) + 1 or len(utf8)
        try:
            str(view[start:end], "utf-8")
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", utf8, start + error.start, start + error.end, error.reason) from None
        start = end


def begins_as_json(content: bytes) -> bool:
    """Return whether a file begins as JSON, in any encoding of a statement."""
    return content[:64].lstrip(_BEFORE_JSON)[:1] in {b"{", b"["}


def decode_start(content: bytes) -> str:
    """Return the first characters of a file that may be damaged, or not text."""
    encoding, start = _find_encoding(content)
    return content[start : start + _START].decode(encoding, "replace").replace("\0", "")


def _find_encoding(content: bytes) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding, len(mark)
    sample = content[:_SAMPLE]
    even, odd, many = sample[0::2].count(0), sample[1::2].count(0), len(sample) // 4
    if odd > many and not even:
        return "utf-16-le", 0
    if even > many and not odd:
        return "utf-16-be", 0
    return "utf-8", 0


def _require_short_lines(content: bytes, name: str) -> None:
    position, end = 0, len(content)
    while end - position > LONGEST_LINE:
        window = position, position + LONGEST_LINE
        last = max(content.rfind(b"\n", *window), content.rfind(b"\r", *window))
        if last < 0:
            line = content.count(b"\n", 0, position) + 1
            raise StatementError(
                f"{name}, line {line}: the line has more than {LONGEST_LINE // 2**10} kB, which no statement has: "
                "download the file again."
            )
        position = last + 1


def read_sheets(content: bytes, name: str) -> list[Sheet]:
    """Return the sheets of a workbook; a line of the text is a row of the sheet, if no cell has several lines.

    Raises
    ------
    StatementError
        The workbook is damaged, or larger than a statement.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # about styles, and dates that do not exist
            import openpyxl  # late: few people have workbooks, and it takes a third of a second

            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
            sheets: list[Sheet] = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # which exporters often write wrongly
                written = sum(len(each.utf8) for each in sheets)
                sheets.append(_write_sheet(sheet.iter_rows(), name, _LARGEST_SHEETS - written))
    except _DAMAGED:
        raise StatementError(f"{name} is a damaged workbook: download it again, or as CSV.") from None
    return sheets or [Sheet(b"", None)]


def _write_sheet(rows: Iterable[Sequence[Any]], name: str, most_characters: int) -> Sheet:
    """Return a sheet as CSV. A row is as wide as the widest row above it; empty rows are blank lines."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    width, count, rounded_line = 0, 0, None
    for line, row in enumerate(rows, 1):
        count += len(row)
        cells = [_to_text(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        width = max(width, len(cells))
        is_large = width > _MOST_COLUMNS or line > _MOST_ROWS or count > _MOST_CELLS
        if is_large or text.tell() + sum(map(len, cells)) > most_characters:
            raise StatementError(f"{name} is larger than a statement: split it into files of a year.")
        writer.writerow(cells + [""] * (width - len(cells)) if cells else [])
        if any(isinstance(cell.value, int | float) and abs(cell.value) >= _FIRST_LONG for cell in row):
            rounded_line = rounded_line or line
    return Sheet(text.getvalue().encode("utf-8", "replace"), rounded_line)


def _to_text(cell: Any) -> str:  # noqa: ANN401 - openpyxl has several classes of cells
    """Return a cell as a CSV file has it: ISO dates, and numbers without binary noise."""
    value = cell.value
    if isinstance(value, datetime):
        second = (value + _HALF_SECOND).replace(microsecond=0)  # a workbook keeps days as fractions
        return str(second if "h" in cell.number_format.lower() else second.date())
    if not isinstance(value, int | float) or abs(value) >= _FIRST_LONG:
        return "" if value is None else str(value)
    whole, _, decimals = f"{round(Decimal(f'{value:.15g}'), _MOST_DECIMALS):f}".partition(".")
    decimals = decimals.rstrip("0")
    # A single decimal is filled, because the point of a file without others could separate thousands.
    return f"{whole}.{decimals.ljust(2, '0')}" if decimals else whole
