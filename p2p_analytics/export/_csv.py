"""Frames to CSV files and back."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics import settings
from p2p_analytics.errors import SchemaError
from p2p_analytics.export import _diagnosis
from p2p_analytics.export._source import open_source
from p2p_analytics.files import atomic_file
from p2p_analytics.formulas import defuse_formulas, restore_formulas
from p2p_analytics.frames.arrow import frame_of, table_of, type_of_name, type_without_values
from p2p_analytics.privacy import Mask

if TYPE_CHECKING:
    import mmap
    import os
    import re
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    import pandas as pd
    import pyarrow as pa

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
    import pyarrow as pa
    import pyarrow.compute as pc

    table = table_of(frame)
    names = _format_cells(pa.array(table.column_names, pa.string()), raw=raw)
    columns = [_prepare_cells(column, raw=raw) for column in table.columns]
    file.write(",".join(names.to_pylist()).encode() + b"\n")
    for start in range(0, len(table), _ROWS_AT_ONCE):
        cells = [column(start) for column in columns]
        rows = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
        file.write(_to_bytes(pc.binary_join_element_wise(rows, "", "\n")))


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
    import pyarrow as pa

    private = settings.privacy(privacy)
    with open_source(path, private=bool(private)) as (file, content, name):
        header, unquoted = _sniff_header(content, name)
        table = _parse_cells(file, header, name)
        _diagnosis.require_exact_digits(header, table.columns, content, name)
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
        columns = [_restore_column(column) if pa.types.is_string(column.type) else column for column in columns]
    frame = frame_of(pa.table(columns, names=names))
    return Mask(strict=private == settings.STRICT).frame(frame) if private else frame


def _parse_cells(file: IO[bytes], header: list[str], path: Path | str) -> pa.Table:
    """Return the cells of a CSV file in the types that their names determine, else as text."""
    import pyarrow as pa
    import pyarrow.csv

    try:
        return pyarrow.csv.read_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
            # In a table of one column an empty line is a null.
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(header) > 1),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: type_of_name(name) or pa.string() for name in header},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _diagnosis.encoding_error(path) from None
        raise


def _prepare_cells(column: pa.ChunkedArray, *, raw: bool) -> Callable[[int], pa.Array]:
    """Return a function that formats the cells from a row on; repeated values are formatted once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first = column.slice(0, _ROWS_AT_ONCE)
    repeats = 2 * pc.count_distinct(first).as_py() < len(first)
    if not repeats or not (pa.types.is_string(column.type) or pa.types.is_timestamp(column.type)):
        return lambda start: _format_cells(column.slice(start, _ROWS_AT_ONCE).combine_chunks(), raw=raw)
    encoded = column.dictionary_encode().combine_chunks()
    cells = _format_cells(encoded.dictionary, raw=raw)
    return lambda start: cells.take(encoded.indices.slice(start, _ROWS_AT_ONCE))


def _to_bytes(text: pa.StringArray) -> memoryview:
    """Return the concatenated values of a new text array."""
    _validity, ends, content = text.buffers()
    return memoryview(content)[: memoryview(ends).cast("i")[len(text)]]


def _format_cells(column: pa.Array, *, raw: bool) -> pa.Array:
    """Return a column as CSV cells: null stays null, text is quoted and its formulas are defused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(column.type):
        return _format_instants(column)
    if pa.types.is_floating(column.type):  # Arrow writes 5.0 as 5, which would be read as a whole number
        text = column.cast(pa.string())
        return pc.if_else(pc.match_substring_regex(text, r"^-?\d+$"), _join(text, ".0"), text)
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    safe = column if raw else defuse_formulas(column)
    return _join('"', pc.replace_substring(safe, '"', '""'), '"')


def _format_instants(instants: pa.Array) -> pa.Array:
    """Return instants in the document's form; strftime takes forty times as long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    exact = instants.cast(pa.timestamp("us"))
    whole = exact.cast(pa.timestamp("s"), safe=False)
    text = pc.if_else(pc.equal(whole.cast(exact.type), exact), whole.cast(pa.string()), exact.cast(pa.string()))
    return _join(pc.utf8_replace_slice(text, start=10, stop=11, replacement="T"), "Z")


def _join(*parts: Any) -> pa.Array:  # noqa: ANN401 - arrays and scalars, as Arrow takes them
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, "")


# The type that `_infer_type` gives an unquoted column if all cells match. A number with leading zeros is an id: text.
_WHOLE: Final = r"^(0|-?[1-9]\d{0,18})$"
_NUMBER: Final = r"^-?(\d+\.\d*|\d+(\.\d*)?[eE][+-]?\d+|0|[1-9]\d{0,14}|inf)$"
_TRUTH: Final = r"^(true|false)$"
_DATE: Final = r"^\d{4}-\d\d-\d\d$"
_INSTANT: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


def _infer_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an unquoted column in the type that all its cells match, or else as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

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


def _restore_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([restore_formulas(chunk) for chunk in column.chunks], column.type)


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def _sniff_header(content: mmap.mmap | bytes, path: Path | str) -> tuple[list[str], set[str]]:
    """Return the header of a CSV file, and its columns with an unquoted first value, which have their type inferred."""
    _diagnosis.require_csv(content, path)
    begin = len(_BYTE_ORDER_MARK) if content[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK else 0
    cells = _diagnosis.CELL.finditer(content, begin)
    first_line = []
    for cell in cells:
        first_line.append(cell[1])
        if cell[2] != b",":
            break
    _diagnosis.require_columns(first_line, path)
    header = [_decode_cell(cell) for cell in first_line]
    if len(set(header)) < len(header) or not all(header):
        raise SchemaError(f"{path} is no table: its first line must name each column once.")
    return header, _find_unquoted(header, cells)


def _find_unquoted(header: list[str], cells: Iterator[re.Match[bytes]]) -> set[str]:
    unquoted = set()
    unseen = {name for name in header if type_of_name(name) is None}
    while unseen and (row := list(islice(cells, len(header)))):
        for name, cell in zip(header, row, strict=False):
            if cell[1] and name in unseen:
                unseen.discard(name)
                if not cell[1].startswith(b'"'):
                    unquoted.add(name)
    return unquoted


def _decode_cell(cell: bytes) -> str:
    text = cell.decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
