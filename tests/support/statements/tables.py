"""Tables of sample files for formats, without the reader of files."""

import csv
import io
from zoneinfo import ZoneInfo

import polars as pl

from p2p_analytics.statements.formats.format import Reading, Table
from p2p_analytics.statements.formats.registry import find_format


def read_text(text, *, name="sample.csv", tz="UTC", account=None) -> Reading:
    """Return what the format of a header reads from the text of one file."""
    return read_texts({name: text}, tz=tz, account=account)


def read_texts(texts: dict[str, str], *, tz="UTC", account=None) -> Reading:
    """Return what the format of a header reads from several files with one header."""
    header: list[str] = []
    rows: list[tuple[str, int, list[str]]] = []
    for name, text in texts.items():
        reader = csv.reader(io.StringIO(text, newline=""))
        header = next(reader)
        line = reader.line_num + 1
        for row in reader:
            if any(row):
                rows.append((name, line, row))
            line = reader.line_num + 1
    statement_format, positions, _ = find_format(header)
    columns = [pl.Series(str(at), [row[at] or None for *_, row in rows], pl.String) for at in range(len(header))]
    empty = pl.Series([None] * len(rows), dtype=pl.String)
    fields = {key: columns[positions[key]] if key in positions else empty for key in statement_format.columns}
    places = pl.DataFrame([row[:2] for row in rows], {"file": pl.String, "line": pl.Int64}, orient="row")
    cells = places.with_columns(**fields)
    names = tuple(name.strip() for name in header)
    extras = {names[at]: columns[at] for at in range(len(names)) if at not in positions.values()}
    return statement_format.read_table(Table(cells, {}, names, extras, ZoneInfo(tz), account))
