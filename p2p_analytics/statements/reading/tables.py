"""Bytes of a file to text, and text to tables of cells: the header found by its names, and the line of each row."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import warnings
import zipfile
import zlib
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from p2p_analytics.display import join_short
from p2p_analytics.errors import StatementError
from p2p_analytics.limits import LIMITS
from p2p_analytics.statements.formats.format import NoHeaderError, normalize_name
from p2p_analytics.statements.formats.registry import list_names
from p2p_analytics.statements.formats.service_json import FIELDS, PREFIX, build_cells
from p2p_analytics.statements.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from p2p_analytics.statements.formats.registry import Header, HeaderFinder

LINE: Final = "line"
_END: Final = "\x01"  # the line after a text, longer if the text has one, which an open quote would contain
_LARGEST_BLOCK: Final = 2**23
_BLANK_LINES: Final = (b"\n\n", b"\n\r", b"\r\r")
DELIMITERS: Final = (",", ";", "\t", "|")
HEAD_LINES: Final = 50  # in which the header is searched for
_MOST_CELLS: Final = 1_000  # of a row
_MOST_ROWS: Final = 2_000_000  # of a file
_MOST_IRREGULAR: Final = 10_000  # rows of a file with too many or too few cells
_MOST_PARTS: Final = 1_000  # of a file
_CHUNK: Final = 20_000  # rows that are Python objects at a time
_LONGEST_NAMES: Final = 300  # characters of column names in a message
# A date or an amount, which no column is named; a member of a group can be named by a phone number.
_VALUE: Final = re.compile(
    r"\W*(?:[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[T ].*)?|[0-9]{1,3}(?:[,.' ]?[0-9]{3})*[.,][0-9]{2})\W*"
)
_WEB_PAGE: Final = ("<!doctype", "<html")


class Part(NamedTuple):
    """The rows below one header of a file; a second header begins "(part 2)" of it.

    ``preamble`` are the lines before the header. ``cells`` has ``line`` and a text column named by each position.
    """

    file: str
    header: Header
    preamble: list[list[str]]
    cells: pa.Table
    problems: Sequence[Problem] = ()


class _Body(NamedTuple):
    """The text below the first header, and the number of its first line."""

    header: Header
    preamble: list[list[str]]
    delimiter: str
    utf8: bytes
    line: int


def split_file(content: bytes, name: str, finder: HeaderFinder) -> tuple[list[Part], bool]:
    """Return the parts of a file, one for each header, and whether its text had to be read as Windows-1252.

    A NoHeaderError lists the columns if none of the first lines is the header of a known format.
    """
    rounded_line, is_book = None, content.startswith(ZIPPED)
    if is_book:  # the first sheet with a known header, else the error names the columns of the first one
        sheets = read_sheets(content, name)
        content, rounded_line = next((sheet for sheet in sheets if has_csv_header(sheet.utf8, finder)), sheets[0])
    text = to_utf8(content, name)
    if not is_book and begins_as_json(content) and not has_csv_header(content, finder):
        header = finder.find([f"{PREFIX}{field}" for field in FIELDS])
        if header is None:
            raise NoHeaderError(f"{name} is a JSON history, which a registered format of that name replaced.")
        fields = build_cells(text.utf8, name)
        columns = {str(header.positions[field]): values for field, values in fields.items()}
        lines = pa.array(range(1, len(columns["0"]) + 1))  # the number of the transaction
        return [Part(name, header, [], pa.table({LINE: lines, **columns}))], text.is_windows
    body = _find_header(text.utf8, name, finder)
    if rounded_line is not None:
        raise StatementError(
            f"{name}, line {rounded_line}: a number has more than the 15 digits that a workbook keeps, so "
            "the last ones are lost: download the CSV file instead."
        )
    return [*(_read_regular_part(body, name, finder) or _read_rows(body, name, finder))], text.is_windows


def _read_regular_part(body: _Body, name: str, finder: HeaderFinder) -> list[Part]:
    """Return the only part of a text with regular rows below one header; nothing of other texts."""
    count, width = body.utf8.count(b"\n") + 1, len(body.header.names)
    if count <= _MOST_ROWS and count * width <= LIMITS.statement_cells:
        cells = read_regular(body.utf8, body.line, width, body.delimiter)
        first = str(body.header.positions[next(iter(body.header.format.required))])
        if cells is not None and not finder.has_names(cells[first]):
            return [Part(name, body.header, body.preamble, cells)]
    return []


def has_header(content: bytes, finder: HeaderFinder) -> bool:
    """Return whether a file that cannot be read begins as a statement."""
    if content.startswith(ZIPPED):
        with contextlib.suppress(StatementError):
            return any(has_csv_header(sheet.utf8, finder) for sheet in read_sheets(content, ""))
        return False
    is_json = begins_as_json(content) and '"transactions"' in decode_start(content)
    return is_json or has_csv_header(content, finder)


def has_csv_header(content: bytes, finder: HeaderFinder) -> bool:
    """Return whether one of the first lines is a header, also where the first cell begins as JSON does."""
    start = decode_start(content)
    for delimiter in DELIMITERS:
        rows = islice(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), HEAD_LINES)
        with contextlib.suppress(csv.Error):
            if any(finder.find(row) for row in rows):
                return True
    return False


def _find_header(utf8: bytes, name: str, finder: HeaderFinder) -> _Body:
    head = b"".join(islice(io.BytesIO(utf8), HEAD_LINES)).decode()
    heads: list[list[str]] = []
    for delimiter in DELIMITERS:
        lines = io.StringIO(head, newline="")
        reader = csv.reader(lines, delimiter=delimiter)
        preamble: list[list[str]] = []
        try:
            for row in reader:
                _require_width(row, name, reader.line_num)
                header = finder.find(row)
                if header is not None:
                    _require_names(header, name, reader.line_num)
                    start = len(head[: lines.tell()].encode())
                    return _Body(header, preamble, delimiter, utf8[start:], reader.line_num + 1)
                preamble.append(row)
                heads.append(row)
                if reader.line_num >= HEAD_LINES:
                    break
        except csv.Error:
            continue  # with this delimiter, a cell is too large
    if finder.learn(heads):
        return _find_header(utf8, name, finder)
    raise _describe_missing_header(name, heads)


def _describe_missing_header(name: str, rows: Sequence[Sequence[str]]) -> NoHeaderError:
    """Return an error that quotes the likeliest header: the row with the most known names, then texts, else the first.

    That row is a header if it is the first one, has a known name, or is one of several of its length.
    """
    names = list_names()
    texts = [found for row in rows if (found := [cell for cell in row if cell.strip()])] or [[]]
    known = [sum(normalize_name(cell) in names for cell in row) for row in texts]
    best = max(range(len(texts)), key=lambda at: (known[at], len(texts[at])))
    is_header = best == 0 or known[best] > 0 or [len(row) for row in texts].count(len(texts[best])) > 1
    columns = texts[best] if is_header else texts[0]
    quoted = join_short(columns, _LONGEST_NAMES)
    is_web_page = quoted.casefold().startswith(_WEB_PAGE)
    reason = f"is not a statement (columns: {quoted})."
    if not quoted:
        reason = "is not a statement: it is empty. Download the CSV file again."
    elif is_web_page:
        reason = "is not a statement but a web page: sign in to the service, and download the CSV file."
    elif not is_header:
        reason = f"is not a statement: it begins with {quoted!r}. Download the statement as CSV."
    error = NoHeaderError(f"{name} {reason}")
    error.columns = columns if is_header and not is_web_page else ()
    return error


def _require_width(row: Sequence[str], name: str, line: int) -> None:
    if len(row) > _MOST_CELLS:
        raise StatementError(
            f"{name}, line {line}: the row has {len(row):,} cells, which no statement has: download it again."
        )


def _require_names(header: Header, name: str, line: int) -> None:
    """Raise a StatementError if a header continues with values, or repeats the name of a column that is read."""
    if any(map(_VALUE.fullmatch, header.names)):
        raise StatementError(f"{name}, line {line}: rows without line ends continue the header: download it again.")
    read = {normalize_name(header.names[position]) for position in header.positions.values()} - {""}
    counts = Counter(map(normalize_name, header.names))
    repeated = [each for each in header.names if normalize_name(each) in read and counts[normalize_name(each)] > 1]
    if repeated:
        raise StatementError(f"{name}, line {line}: there are two columns {repeated[0]!r}: download it again.")


def _read_rows(body: _Body, name: str, finder: HeaderFinder) -> Iterator[Part]:
    """Yield the parts of a text below its first header, row by row, with rows of any number of cells."""
    end = _END
    while end.encode() in body.utf8:
        end += _END
    utf8 = io.BytesIO(b"".join((body.utf8, f"\n{end}\n".encode())))
    reader = csv.reader(io.TextIOWrapper(utf8, "utf-8", newline=""), delimiter=body.delimiter)
    names = list_names()
    builder = _PartBuilder(name, body.header, body.preamble)
    begin, last = body.line, (body.line, [""])
    try:
        for row in reader:
            if row == [end]:
                break
            last = begin, row
            if row:
                _require_width(row, name, begin)
                is_header = sum(normalize_name(cell) in names for cell in row if cell) > 1
                header = finder.find(row) if is_header else None
                if header is None:
                    if not any(row[builder.width :]):  # empty surplus cells shift nothing
                        del row[builder.width :]
                    builder.add(begin, row)
                else:
                    preamble = builder.remove_preamble()
                    yield builder.finish()
                    builder.begin(header, preamble)
                    _require_names(header, name, begin)
            begin = body.line + reader.line_num
        else:
            builder.close_quote(end)
        # Short rows of empty cells alone mean nothing, except where the text breaks off in one.
        if 1 < len(last[1]) < builder.width and not any(last[1]) and body.utf8[-1:] not in {b"\n", b"\r"}:
            builder.report_width(*last)
    except csv.Error:
        raise StatementError(f"{name}, line {begin}: a cell is larger than a statement has: is a quote open?") from None
    yield builder.finish()


class _PartBuilder:
    """Collects the rows below each header of a file, and refuses more than a statement has."""

    def __init__(self, name: str, header: Header, preamble: list[list[str]]) -> None:
        self._name = name
        self._count = self._cells = self._irregular = self._parts = 0
        self._rows: list[list[str]] = []
        self._lines: list[int] = []
        self.begin(header, preamble)

    def begin(self, header: Header, preamble: list[list[str]]) -> None:
        """Begin the part below a header."""
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise StatementError(
                f"{self._name} has more than {_MOST_PARTS:,} headers, which no statement has: import the files that "
                "it is made of."
            )
        self.width = len(header.names)
        self._file = self._name if self._parts == 1 else f"{self._name} (part {self._parts})"
        self._header, self._preamble = header, preamble
        self._chunks: list[pa.Table] = []
        self._problems: list[Problem] = []

    def add(self, line: int, row: list[str]) -> None:
        """Add a row; missing cells are empty, and surplus ones are dropped with a problem that quotes them."""
        missing = self.width - len(row)
        self._count += 1
        self._cells += self.width
        self._irregular += missing != 0
        if self._count > _MOST_ROWS or self._cells > LIMITS.statement_cells:
            raise StatementError(f"{self._name} has more rows than a statement: split it into files of a year.")
        if self._irregular > _MOST_IRREGULAR:
            raise StatementError(
                f"{self._name} has more than {_MOST_IRREGULAR:,} rows with too many or too few cells: "
                "download it again."
            )
        if missing and any(row):
            self.report_width(line, row)
        self._rows.append(row[: self.width] + [""] * missing)
        self._lines.append(line)
        if len(self._rows) > _CHUNK + HEAD_LINES:
            self._flush(_CHUNK)

    def report_width(self, line: int, row: list[str]) -> None:
        """Report a row with too many or too few cells."""
        rest, details = join_short(row[self.width :], _LONGEST_NAMES) or None, (len(row), self.width)
        self._problems.append(Problem("row_width", self._file, line, None, "row", rest, details=details))

    def remove_preamble(self) -> list[list[str]]:
        """Remove and return the last rows that begin in their first column and have no cell of a required field."""
        positions = [self._header.positions[name] for name in self._header.format.required]
        count = 0
        for row in reversed(self._rows):
            if not row[0] or any(row[position] for position in positions if position > 1):
                break
            count += 1
        begin = len(self._rows) - count
        removed, lines = self._rows[begin:], set(self._lines[begin:])
        del self._rows[begin:], self._lines[begin:]
        self._problems = [problem for problem in self._problems if problem.line not in lines]
        return removed

    def close_quote(self, end: str) -> None:
        """Report that a quote of the last row is never closed: its cell has the rest of the file and ``end``."""
        last = self._rows[-1]
        last[:] = [cell.removesuffix(end + "\n").rstrip("\r\n") for cell in last]
        rest = join_short(last[-1:], _LONGEST_NAMES) or None
        self._problems.append(Problem("open_quote", self._file, self._lines[-1], None, "row", rest))

    def finish(self) -> Part:
        """Return the part."""
        self._flush(len(self._rows))
        return Part(self._file, self._header, self._preamble, pa.concat_tables(self._chunks), self._problems)

    def _flush(self, count: int) -> None:
        self._chunks.append(_build_cells(self._lines[:count], self._rows[:count], self.width))
        del self._lines[:count], self._rows[:count]


def read_regular(body: bytes, line: int, width: int, delimiter: str) -> pa.Table | None:
    """Return ``line`` and a text column per position of a text without a header, None if it has irregular rows.

    Those have another number of cells, a blank line, an open quote, or a line that ends in a carriage return alone.
    ``line`` is the number of the first line; empty cells are null.
    """
    if width < 2:  # noqa: PLR2004 - a row with one cell and a blank line are alike
        return None
    size = len(body.rstrip(b"\r\n"))
    count = body.count(b"\n", 0, size) + 1 if size else 0
    end = f"{_END}{delimiter * (width - 1)}\n".encode()
    text = b"".join([memoryview(body)[:size], b"\n", end]) if size else end
    has_returns = b"\r" in text
    has_blank_lines = text[:1] in b"\r\n" or any(blank in text for blank in _BLANK_LINES[: 3 if has_returns else 1])
    if has_blank_lines or (has_returns and text.count(b"\r") != text.count(b"\r\n")):
        return None
    names = [str(position) for position in range(width)]
    try:  # the text was decoded before
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=min(len(text) + 1, _LARGEST_BLOCK)),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    begins = np.arange(len(table))
    if len(table) != count + 1:  # cells have line breaks
        texts = pc.binary_join_element_wise(*table.columns, "", null_handling="skip")
        begins[1:] += np.cumsum(pc.count_substring(texts, "\n"))[:-1]
    ends = np.flatnonzero(pc.fill_null(pc.equal(table["0"], _END), fill_value=False).to_numpy())
    if begins[ends].tolist() != [count]:
        return None
    return table.add_column(0, LINE, pa.array(begins + line, pa.int64())).slice(0, ends[0])


def _build_cells(lines: Sequence[int], rows: Sequence[Sequence[str]], width: int) -> pa.Table:
    """Return rows of Python objects as a table like the results of `read_regular`."""
    columns = zip(*rows, strict=True) if rows else [()] * width
    cells = {
        str(position): pa.array([cell or None for cell in column], pa.string())
        for position, column in enumerate(columns)
    }
    return pa.table({LINE: pa.array(lines, pa.int64()), **cells})


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
_OTHERS: Final = (  # the first bytes of files of other kinds
    (b"%PDF-", "a PDF"),
    (ZIPPED, "a workbook of a spreadsheet, or another zip archive"),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet"),
)
_LATER_MARKS: Final = re.compile(rb"(^|[\r\n])(?:\xef\xbb\xbf)+")  # where tools have joined files
_MULTIBYTE: Final = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")
_MOST_SHEET_ROWS: Final = 2**20  # of a sheet
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
    several bytes in it was saved as Windows-1252 by a spreadsheet. A StatementError says why bytes are not text.
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
            str(memoryview(utf8), "utf-8")
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
    """Return the sheets of a workbook; a line of the text is a row of the sheet, if no cell has several lines."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about styles, and dates that do not exist
            import openpyxl  # late: few people have workbooks, and it takes a third of a second

            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
            sheets: list[Sheet] = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # which exporters often write wrongly
                written = sum(len(each.utf8) for each in sheets)
                sheets.append(_write_sheet(sheet.iter_rows(), name, LIMITS.sheet_characters - written))
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
        is_large = width > _MOST_CELLS or line > _MOST_SHEET_ROWS or count > LIMITS.sheet_cells
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
