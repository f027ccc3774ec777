"""Frames to CSV files and back."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import re
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, SchemaError, describe_type
from p2p_analytics.files import atomic_file, open_table, refuse_unreadable, to_path
from p2p_analytics.formulas import defuse_formulas, restore_formulas
from p2p_analytics.frames.arrow import frame_of, table_of, type_of_name, type_without_values
from p2p_analytics.privacy import Mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.settings import Privacy

_ROWS_AT_ONCE: Final = 8_192
_BLOCK_BYTES: Final = 64 * 1024 * 1024  # one row must fit, and notes have no stated maximum length


def to_csv(frame: pd.DataFrame, path: str | os.PathLike[str], *, raw: bool = False) -> None:
    """Write a frame as a CSV file that `read_csv` restores.

    Text is quoted and null is an empty cell, so empty text differs from null; numbers, booleans and
    instants are not quoted. UTF-8, one header line, the frame's order, no index. A frame without rows
    gives only the header.

    A text cell, or a line within one, that a spreadsheet would run as a formula gets a leading ``'``;
    so does one that begins with ``'`` itself, so that `read_csv` can restore the text exactly.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of text, categoricals, numbers, booleans, dates or aware datetimes (written in UTC). Datetimes without
        a zone are dates, so each has to be a midnight.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.
    raw : bool
        True writes text unchanged, for programs; read it with ``raw=True``.

    Raises
    ------
    SchemaError
        A column cannot be written without loss.
    ConfigurationError
        The file cannot be written.
    """
    with atomic_file(path) as file:
        write_csv(frame, file, raw=raw)


def write_csv(frame: pd.DataFrame, file: IO[bytes], *, raw: bool = False) -> None:
    """Write a frame to an open binary file, such as standard output, in the form of `to_csv`.

    Parameters
    ----------
    frame, raw
        As for `to_csv`.
    file : binary file
        Errors of writing to it are its own OSErrors.

    Raises
    ------
    SchemaError
        A column cannot be written without loss; nothing is written.
    """
    table = table_of(frame)
    names = _format_cells(pa.array(table.column_names, pa.string()), raw=raw)
    columns = [_prepare_cells(column, raw=raw) for column in table.columns]
    file.write(",".join(names.to_pylist()).encode() + b"\n")
    for start in range(0, len(table), _ROWS_AT_ONCE):
        cells = [column(start) for column in columns]
        rows = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(rows, "", "\n")
        _validity, ends, content = lines.buffers()  # of a new array, so its text is all of the content up to the end
        file.write(memoryview(content)[: memoryview(ends).cast("i")[len(lines)]])


def read_csv(
    path: str | os.PathLike[str] | IO[str] | IO[bytes], *, raw: bool = False, privacy: Privacy | None = None
) -> pd.DataFrame:
    """Return the frame of a CSV file that `to_csv` wrote, or that a spreadsheet saved again.

    The columns of payments, people and friends get their documented dtypes independently of the data.
    Other columns are text if their cells are quoted or their name ends in ``_id`` or ``_phone``; the rest is inferred:
    whole numbers are ``Int64``, other numbers ``float64``, true and false ``boolean``, instants
    ``datetime64[us, UTC]``, dates ``datetime64[us]``, and everything else, also categoricals, is text. A column without
    values has the dtype that its name has in problems or in the tables of the analyses or of `units`, else it is text.

    Parameters
    ----------
    path : str, os.PathLike or open file
        A UTF-8 file, with a byte order mark or without. An open file, in text or binary mode, such as ``sys.stdin``,
        is read to its end and not closed.
    raw : bool
        True for a file written with ``raw=True``: an apostrophe before a cell is part of it.
    privacy : bool or "strict", optional
        True or "strict" masks the rows as `History.masked` does; by default, the environment variable
        ``P2P_PRIVACY`` decides. A file of pseudonyms would be masked again: pass False. In a file of sums, each
        sum is changed separately, so they no longer add up: mask the history and compute them again.

    Raises
    ------
    SchemaError
        The file is not such a table. The error names a file with semicolons or tabs, in another encoding, with an
        index, or with ids or phone numbers that a spreadsheet has rounded or pandas has made floats.
    ConfigurationError
        The file cannot be read.
    """
    private = settings.privacy(privacy)
    with _open_source(path, private=bool(private)) as (content, name):
        _require_csv(content, name)
        header, unquoted = _sniff_header(content, name)
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(content),
                read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
                # In a table of one column an empty line is a null.
                parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(header) > 1),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types={column: type_of_name(column) or pa.string() for column in header},
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                raise _encoding_error(name) from None
            raise
        _require_exact_digits(header, table.columns, content, name)
    columns = [
        column.cast(type_without_values(name))
        if column.null_count == len(column)
        else _infer_type(column)
        if name in unquoted
        else column
        for name, column in zip(header, table.columns, strict=True)
    ]
    names = header
    if not raw:
        names = restore_formulas(pa.array(header, pa.string())).to_pylist()
        columns = [
            pa.chunked_array([restore_formulas(chunk) for chunk in column.chunks], column.type)
            if pa.types.is_string(column.type)
            else column
            for column in columns
        ]
    frame = frame_of(pa.table(columns, names=names))
    return Mask(strict=private == settings.STRICT).frame(frame) if private else frame


def _prepare_cells(column: pa.ChunkedArray, *, raw: bool) -> Callable[[int], pa.Array]:
    """Return a function that formats the cells from a row on; repeated values are formatted once."""
    first = column.slice(0, _ROWS_AT_ONCE)
    repeats = 2 * pc.count_distinct(first).as_py() < len(first)
    if not repeats or not (pa.types.is_string(column.type) or pa.types.is_timestamp(column.type)):
        return lambda start: _format_cells(column.slice(start, _ROWS_AT_ONCE).combine_chunks(), raw=raw)
    encoded = column.dictionary_encode().combine_chunks()
    cells = _format_cells(encoded.dictionary, raw=raw)
    return lambda start: cells.take(encoded.indices.slice(start, _ROWS_AT_ONCE))


def _format_cells(column: pa.Array, *, raw: bool) -> pa.Array:
    """Return a column as CSV cells: null stays null, text is quoted and its formulas are defused."""
    if pa.types.is_timestamp(column.type):  # strftime takes forty times as long
        exact = column.cast(pa.timestamp("us"))
        whole = exact.cast(pa.timestamp("s"), safe=False)
        text = pc.if_else(pc.equal(whole.cast(exact.type), exact), whole.cast(pa.string()), exact.cast(pa.string()))
        return _join(pc.utf8_replace_slice(text, start=10, stop=11, replacement="T"), "Z")
    if pa.types.is_floating(column.type):  # Arrow writes 5.0 as 5, which would be read as a whole number
        text = column.cast(pa.string())
        return pc.if_else(pc.match_substring_regex(text, r"^-?\d+$"), _join(text, ".0"), text)
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    safe = column if raw else defuse_formulas(column)
    return _join('"', pc.replace_substring(safe, '"', '""'), '"')


def _join(*parts: Any) -> pa.Array:  # noqa: ANN401 - arrays and scalars, as Arrow takes them

    return pc.binary_join_element_wise(*parts, "")


# The type that `_infer_type` gives an unquoted column if all cells match. A number with leading zeros is an id: text.
_WHOLE: Final = r"^(0|-?[1-9]\d{0,18})$"
_NUMBER: Final = r"^-?(\d+\.\d*|\d+(\.\d*)?[eE][+-]?\d+|0|[1-9]\d{0,14}|inf)$"
_TRUTH: Final = r"^(true|false)$"
_DATE: Final = r"^\d{4}-\d\d-\d\d$"
_INSTANT: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


def _infer_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an unquoted column in the type that all its cells match, or else as text."""
    for pattern, target in (
        (_WHOLE, pa.int64()),
        (_NUMBER, pa.float64()),
        (_TRUTH, pa.bool_()),
        (_INSTANT, pa.timestamp("us", "UTC")),
        (_DATE, pa.date32()),
    ):
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            with contextlib.suppress(pa.ArrowInvalid):  # such as 31 February: text
                return column.cast(target)
    return column


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def _sniff_header(content: mmap.mmap | bytes, path: Path | str) -> tuple[list[str], set[str]]:
    """Return the header of a CSV file, and its columns with an unquoted first value, which have their type inferred."""
    begin = len(_BYTE_ORDER_MARK) if content[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK else 0
    cells = _CELL.finditer(content, begin)
    first_line = []
    for cell in cells:
        first_line.append(cell[1])
        if cell[2] != b",":
            break
    _require_columns(first_line, path)
    texts = [cell.decode(errors="replace") for cell in first_line]
    header = [text[1:-1].replace('""', '"') if text.startswith('"') else text for text in texts]
    if len(set(header)) < len(header) or not all(header):
        raise SchemaError(f"{path} is not a table: its first line must name each column once.")
    unquoted = set()
    unseen = {name for name in header if type_of_name(name) is None}
    while unseen and (row := list(islice(cells, len(header)))):
        for name, cell in zip(header, row, strict=False):
            if cell[1] and name in unseen:
                unseen.discard(name)
                if not cell[1].startswith(b'"'):
                    unquoted.add(name)
    return header, unquoted


@contextlib.contextmanager
def _open_source(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], *, private: bool
) -> Iterator[tuple[mmap.mmap | bytes, Path | str]]:
    """Yield the content of a table and its name; errors of reading it are this package's, private ones quote no cell.

    A mapped file is closed with the last reference to it.
    """
    with contextlib.ExitStack() as stack:
        content: mmap.mmap | bytes
        name: Path | str
        if hasattr(source, "read"):
            given = getattr(source, "name", None)  # such as <stdin>
            name = given if isinstance(given, str) and given else "<open file>"
            stack.enter_context(refuse_unreadable(name, private=private))
            content = _read_bytes(source, name)
        else:
            name = to_path(source)
            file = stack.enter_context(open_table(name, private=private))
            # An empty file cannot be mapped.
            size = os.fstat(file.fileno()).st_size
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        if not len(content):
            raise SchemaError(f"{name} is empty: it lacks the line that names the columns.")
        yield content, name


def _read_bytes(file: Any, name: str) -> bytes:  # noqa: ANN401 - any object with a method read
    """Return the rest of an open file as bytes.

    The bytes below a text file are read, because it may translate line ends, also those in quoted cells.
    """
    if isinstance(file, io.TextIOWrapper):
        try:
            file.reconfigure(encoding=file.encoding, errors=file.errors)  # refused once something has been read
        except io.UnsupportedOperation:
            raise ConfigurationError(
                f"{name} has been read in part as text: pass it before anything is read, or open it in binary mode."
            ) from None
        except ValueError as error:
            raise _unreadable_error(name, error) from None
        file = file.buffer
    try:
        content = file.read()
    except ValueError as error:  # such as a closed file
        raise _unreadable_error(name, error) from None
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError:
            raise _encoding_error(name) from None
    if not isinstance(content, bytes | bytearray | memoryview):
        raise ConfigurationError(f"Cannot read {name}: its read() gives {describe_type(content)}, not text or bytes.")
    return bytes(content)


def _unreadable_error(name: str, error: ValueError) -> ConfigurationError:
    return ConfigurationError(f"Cannot read {name}: {str(error).rstrip('.')}.")


# Files in another form: what wrote them, and what to do, in one sentence.

_CELL: Final = re.compile(rb'("[^"]*(?:""[^"]*)*"|[^,\r\n]*)(,|\r\n|\r|\n|\Z)')  # its content, and what ends it
_AS_UTF8: Final = 'save it again as "CSV UTF-8", with commas'
# The first bytes of files of other kinds.
_OTHER_KINDS: Final = {
    b"PK\x03\x04": "is a spreadsheet's workbook or a zip archive, not CSV: save the table as CSV UTF-8.",
    b"PAR1": "is a Parquet file: read it with read_parquet.",
    b"\x1f\x8b": "is compressed with gzip: unpack it first.",
    b"\xff\xfe": f"is in UTF-16, not UTF-8: {_AS_UTF8}.",
    b"\xfe\xff": f"is in UTF-16, not UTF-8: {_AS_UTF8}.",
}
_SEPARATORS: Final = {b";": "semicolons", b"\t": "tabs", b"|": "vertical bars"}
_QUOTED: Final = re.compile(rb'"(?:[^"]|"")*"')
_LARGEST_SAMPLE: Final = 4_096
_INDEX: Final = re.compile(rb'(?:""|Unnamed: \d+)?')
# Forms of a number in which digits of an id are lost, each with its message.
_INEXACT: Final = {
    # A spreadsheet displays a long number so, and saves what it displays; some write the decimal comma.
    r"^\d([.,]\d+)?[eE]\+\d+$": (
        "were rounded by a spreadsheet to numbers such as 3.18E+18, and cannot be restored: export the table again and "
        "do not save it in a spreadsheet."
    ),
    # pandas.read_csv makes floats of a column of whole numbers with a gap.
    r"^\d+\.0+$": (
        "are decimal numbers such as 2000000001.0, which pandas writes after reading whole numbers beside an empty "
        "cell: read the table with p2p.read_csv, or with pandas.read_csv(path, dtype=str), before you write it again."
    ),
}


def _require_csv(content: mmap.mmap | bytes, path: Path | str) -> None:
    """Raise a SchemaError if the first bytes show another kind of file or encoding."""
    sample = content[:_LARGEST_SAMPLE]
    for start, words in _OTHER_KINDS.items():
        if sample.startswith(start):
            raise SchemaError(f"{path} {words}")
    # In UTF-16 without a byte order mark, every second byte of a header in Latin letters is zero.
    first_line = sample.partition(b"\n")[0]
    if any(half and not half.strip(b"\0") for half in (first_line[::2], first_line[1::2])):
        raise SchemaError(f"{path} is in UTF-16, not UTF-8: {_AS_UTF8}.")


def _require_columns(cells: list[bytes], path: Path | str) -> None:
    """Raise a SchemaError if the cells of the first line are separated otherwise, or begin with an index."""
    if len(cells) == 1:
        bare = _QUOTED.sub(b"", cells[0])
        for separator, words in _SEPARATORS.items():
            if separator in bare:
                raise SchemaError(
                    f"{path} separates its cells by {words}, not commas: save it again with commas, or read it with "
                    f"pandas.read_csv(path, sep={separator.decode()!r})."
                )
    elif _INDEX.fullmatch(cells[0]):
        raise SchemaError(
            f"The first column of {path} has no name, as that of an index that pandas wrote: write the table with "
            "index=False, or remove that column."
        )


def _require_exact_digits(
    names: Iterable[str], columns: Iterable[pa.ChunkedArray], content: mmap.mmap | bytes, path: Path | str
) -> None:
    """Raise a SchemaError if an id or phone number has the form that spreadsheets or pandas give to numbers."""
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        kind = "ids" if name.endswith("_id") else "phone numbers" if name == "phone" or name.endswith("_phone") else ""
        if not kind or not pa.types.is_string(column.type):
            continue
        for form, words in _INEXACT.items():
            if pc.any(pc.match_substring_regex(column, form)).as_py() and _has_unquoted(content, place, form.encode()):
                raise SchemaError(f"The {kind} in the column {name!r} of {path} {words}")


def _has_unquoted(content: mmap.mmap | bytes, place: int, form: bytes) -> bool:
    """Return whether a column has a cell of this form without quotes; in quotes, it is text that looks so."""
    column = 0
    for cell in _CELL.finditer(content):
        if column == place and re.search(form, cell[1]):
            return True
        column = column + 1 if cell[2] == b"," else 0
    return False


def _encoding_error(path: Path | str) -> SchemaError:
    """Return the error of a file with text in another encoding than UTF-8."""
    return SchemaError(f"{path} holds text that is not UTF-8: {_AS_UTF8}.")
