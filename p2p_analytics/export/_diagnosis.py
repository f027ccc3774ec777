"""Diagnosis of CSV files in another form: what wrote them, and what to do, in one sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

CELL: Final = re.compile(rb'("[^"]*(?:""[^"]*)*"|[^,\r\n]*)(,|\r\n|\r|\n|\Z)')  # its content, and what ends it
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


def require_csv(content: mmap.mmap | bytes, path: Path | str) -> None:
    """Raise a SchemaError if the first bytes are those of a file of another kind or encoding."""
    sample = content[:_LARGEST_SAMPLE]
    for start, words in _OTHER_KINDS.items():
        if sample.startswith(start):
            raise SchemaError(f"{path} {words}")
    # In UTF-16 without a byte order mark, every second byte of a header in Latin letters is zero.
    first_line = sample.partition(b"\n")[0]
    if any(half and not half.strip(b"\0") for half in (first_line[::2], first_line[1::2])):
        raise SchemaError(f"{path} is in UTF-16, not UTF-8: {_AS_UTF8}.")


def require_columns(cells: list[bytes], path: Path | str) -> None:
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


def require_exact_digits(
    names: Iterable[str], columns: Iterable[pa.ChunkedArray], content: mmap.mmap | bytes, path: Path | str
) -> None:
    """Raise a SchemaError if an id or phone number has the form that spreadsheets or pandas give to numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
    for cell in CELL.finditer(content):
        if column == place and re.search(form, cell[1]):
            return True
        column = column + 1 if cell[2] == b"," else 0
    return False


def encoding_error(path: Path | str) -> SchemaError:
    """Return the error of a file with text in another encoding than UTF-8."""
    return SchemaError(f"{path} holds text that is not UTF-8: {_AS_UTF8}.")
