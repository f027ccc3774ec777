"""Statement files as other programs save them again: the same cells in other bytes."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Final

_MARK: Final = "\ufeff"


def _mark(text: str) -> str:
    """Return a text with one byte order mark."""
    return _MARK + text.removeprefix(_MARK)


def _rewrite(text: str, *, line_end: str, quoting: int) -> str:
    """Return a CSV file with the same cells, with other line ends and quotes."""
    out = io.StringIO(newline="")
    rows = csv.reader(io.StringIO(text.removeprefix(_MARK), newline=""))
    csv.writer(out, lineterminator=line_end, quoting=quoting).writerows(rows)
    return out.getvalue()


CSV_FORMS: Final[Mapping[str, Callable[[str], bytes]]] = {
    "as written": str.encode,
    "BOM": lambda text: _mark(text).encode(),
    "without BOM": lambda text: text.removeprefix(_MARK).encode(),
    "UTF-16, little endian": lambda text: _mark(text).encode("utf-16-le"),
    "UTF-16, big endian": lambda text: _mark(text).encode("utf-16-be"),
    "CRLF": lambda text: _rewrite(text, line_end="\r\n", quoting=csv.QUOTE_MINIMAL).encode(),
    "LF": lambda text: _rewrite(text, line_end="\n", quoting=csv.QUOTE_MINIMAL).encode(),
    "all cells quoted": lambda text: _rewrite(text, line_end="\r\n", quoting=csv.QUOTE_ALL).encode(),
    "all cells quoted in UTF-16": lambda text: _rewrite(text, line_end="\n", quoting=csv.QUOTE_ALL).encode("utf-16"),
    "a blank line at the end": lambda text: (text + text[-1:]).encode(),
}
JSON_FORMS: Final[Mapping[str, Callable[[str], bytes]]] = {
    "as written": str.encode,
    "BOM": lambda text: _mark(text).encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
}
