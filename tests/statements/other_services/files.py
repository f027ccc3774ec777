"""Tables of sample files for formats, without the reader of files."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import polars as pl

from p2p_analytics.statements._format import Table
from p2p_analytics.statements._registry import find_format

if TYPE_CHECKING:
    from p2p_analytics.statements._format import Reading, StatementFormat


def read_text(text, *, name="sample.csv", tz="UTC", account=None) -> Reading:
    """Return what the format of a header reads from the text of one file."""
    return read_texts({name: text}, tz=tz, account=account)


def read_texts(texts: dict[str, str], *, tz="UTC", account=None) -> Reading:
    """Return what the format of a header reads from several files with one header."""
    header, rows = None, []
    for name, text in texts.items():
        reader = csv.reader(io.StringIO(text, newline=""))
        line = 1
        for row in reader:
            if header is None or line == 1:
                header = row
            elif any(row):
                rows.append((name, line, row))
            line = reader.line_num + 1
    statement_format, positions = find_format(header)
    return statement_format.read(_to_table(statement_format, positions, header, rows, tz, account))


def _to_table(statement_format: StatementFormat, positions, header, rows, tz, account) -> Table:
    columns = [
        pl.Series(str(position), [row[position] or None for *_, row in rows], pl.String)
        for position in range(len(header))
    ]
    empty = pl.Series([None] * len(rows), dtype=pl.String)
    cells = {"file": [name for name, *_ in rows], "line": [line for _, line, _ in rows]}
    fields = {key: columns[positions[key]] if key in positions else empty for key in statement_format.columns}
    used = set(positions.values())
    extras = {name.strip(): columns[at] for at, name in enumerate(header) if at not in used}
    return Table(
        pl.DataFrame(cells | fields), {}, tuple(name.strip() for name in header), extras, ZoneInfo(tz), account
    )
