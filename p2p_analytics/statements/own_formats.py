"""Formats of a user's own without Python: a TOML file, and a draft of one made from a statement file."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics import settings
from p2p_analytics.display import clean_line
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.files import to_path
from p2p_analytics.frames.schema import KINDS
from p2p_analytics.statements.formats.bank_columns import BANK_COLUMNS, OUT_WORDS, SERVICE_COLUMNS
from p2p_analytics.statements.formats.cells import DECIMAL_COMMA, STATUSES, YEAR_LAST, parse_money
from p2p_analytics.statements.formats.column_format import FIELDS, ColumnFormat
from p2p_analytics.statements.formats.format import normalize_name
from p2p_analytics.statements.formats.instants import ORDERS, list_orders, parse_instants
from p2p_analytics.statements.formats.registry import HeaderFinder
from p2p_analytics.statements.reading.sources import read_path, show_name
from p2p_analytics.statements.reading.tables import DELIMITERS, HEAD_LINES, to_utf8
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

_KEYS: Final = tuple(each.name for each in fields(ColumnFormat) if each.init and each.name != "adjust")
_TOP_KEYS: Final = {*_KEYS} - {*FIELDS, *KINDS}
_SAMPLE_ROWS: Final = 200
_SHOWN_ROWS: Final = 3
_LONGEST_CELL: Final = 60
_CODE: Final = r"^[A-Z]{3}$"
_MOST_WORDS: Final = 20
_UTC: Final = find_zone("UTC")
_NAMES: Final = {
    normalize_name(name): {"debit": "out", "credit": "in"}.get(field, field)
    for field, names in {**BANK_COLUMNS, **SERVICE_COLUMNS, "id": ("ID", "Transaction ID")}.items()
    for name in names
}


@dataclass(frozen=True)
class FileDescription:
    """The columns of a file, its first rows and a draft of a format; as text, all of these.

    Attributes
    ----------
    file : str
        The path.
    format : str or None
        The name of the known format that reads the file.
    columns : tuple of str
        The names in the header.
    rows : tuple of tuple of str
        The first three rows.
    toml : str
        A draft of a format, to correct, save and read with `read_format`.
    """

    file: str
    format: str | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    toml: str

    def __str__(self) -> str:
        """Return columns, rows and draft, for people."""
        width = max(map(len, self.columns), default=0)
        lines = [f"{self.file} is read with the format {self.format!r}." if self.format else f"{self.file}:", ""]
        for at, name in enumerate(self.columns):
            cells = [clean_line(row[at])[:_LONGEST_CELL] if at < len(row) else "" for row in self.rows]
            lines.append(f"  {name:<{width}}  {' | '.join(cells)}".rstrip())
        if self.format is None:
            lines += ["", "Save this as a file such as mybank.toml, and correct it:", "", self.toml]
        return "\n".join(lines)


def read_format(path: str | os.PathLike[str]) -> ColumnFormat:
    """Return the format that a TOML file describes, with the keys of `ColumnFormat`.

    Register it with `register_format`; `read_statements` then finds it by the header of a file.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or a key or its value is not one of a format.
    """
    name = show_name(to_path(path))
    try:
        given = tomllib.loads(read_path(path, ConfigurationError).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{name} is not in UTF-8: save it as a text file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(
            f"{name} is not a TOML file: {error}; texts need quotes, and a key can be there only once."
        ) from None
    for title, table in ((title, table) for title, table in given.items() if isinstance(table, dict)):
        if misplaced := sorted(set(table) & _TOP_KEYS):
            raise ConfigurationError(f"{name} has {misplaced[0]!r} below [{title}]: move it above the first table.")
    if unknown := [key for key in given if key not in _KEYS]:
        raise ConfigurationError(f"{name} has the unknown key {unknown[0]!r}: use one of {', '.join(_KEYS)}.")
    for key in ("name", "columns"):
        if key not in given:
            raise ConfigurationError(f"{name} has no {key}: write the name of the format, and a table [columns].")
    try:
        return ColumnFormat(**given)
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None


def describe_file(path: str | os.PathLike[str]) -> FileDescription:
    """Return the columns of a CSV file, three rows, and the draft of a format, as TOML.

    Columns are guessed by their names in many languages, and by their cells.

    Raises
    ------
    StatementError
        The file cannot be read, or has no header.
    ConfigurationError
        Privacy mode is on: the rows would be shown.
    """
    if settings.privacy():
        raise ConfigurationError(f"Rows of a file are not shown in privacy mode: set {settings.PRIVACY_VARIABLE}=0.")
    name = show_name(to_path(path))
    text = to_utf8(read_path(path), name).utf8.decode()
    header, rows = max((_split(text, delimiter) for delimiter in DELIMITERS), key=lambda found: _score(found[0]))
    if len([cell for cell in header if cell]) < 2:  # noqa: PLR2004 - a date and an amount
        raise StatementError(f"{name} has no header of columns: download it as CSV.")
    finder = HeaderFinder()
    finder.learn([header, *rows[:1]])
    known = finder.find(header)
    cells = {
        column: pl.Series([(row[at : at + 1] or [""])[0].strip() or None for row in rows], dtype=pl.String)
        for at, column in enumerate(header)
        if column
    }
    title = to_path(path).stem.lower().replace(" ", "_")
    return FileDescription(
        name, known and known.format.name, header, tuple(map(tuple, rows[:_SHOWN_ROWS])), _draft(title, cells)
    )


def _split(text: str, delimiter: str) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the header and rows of a text; the header is the line with the most known names, then cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = list(islice((row for row in reader if any(map(str.strip, row))), _SAMPLE_ROWS))
    except csv.Error:
        return (), []
    head = [tuple(cell.strip() for cell in row) for row in rows[:HEAD_LINES]]
    best = max(range(len(head)), key=lambda at: _score(head[at]), default=0)
    return (head[best], rows[best + 1 :]) if head else ((), [])


def _score(header: Sequence[str]) -> tuple[int, int]:
    texts = [cell for cell in header if cell and not cell[:1].isdigit()]
    return sum(normalize_name(cell) in _NAMES for cell in texts), len(texts)


def _find_fields(cells: dict[str, pl.Series]) -> tuple[dict[str, str], list[str]]:
    """Return the column of each field, by names and by cells, and the other columns."""
    named = {name: field for name in reversed(cells) if (field := _NAMES.get(normalize_name(name)))}
    columns = {field: name for name, field in named.items() if field != "currency"}
    free = [name for name in cells if name not in columns.values()]
    # "Valuta" is a currency or a date.
    for field, has_value in (("currency", _is_code), ("date", _is_date), ("amount", _is_amount)):
        if field not in columns and not (field == "amount" and {"out", "in"} & set(columns)):
            found = next((name for name in free if has_value(cells[name])), None)
            columns |= {field: found or f"the {field} column"} if found or field != "currency" else {}
            free = [name for name in free if name != found]
    texts = [name for name in free if not any(has(cells[name]) for has in (_is_code, _is_date, _is_amount))]
    if texts and not {"note", "description"} & set(columns):
        columns["note"] = texts[0]
        free.remove(texts[0])
    return columns, free


def _draft(title: str, cells: dict[str, pl.Series]) -> str:
    """Return the TOML of a format, with comments at uncertain values."""
    columns, free = _find_fields(cells)
    lines = [f"name = {_quote(title)}"]
    if "currency" not in columns and not any(name.rstrip().endswith(")") for name in columns.values()):
        lines.append('currency = "EUR"  # of all rows: correct it')
    dates = cells.get(columns["date"], pl.Series([], dtype=pl.String))
    if dates.str.contains(YEAR_LAST).any():
        orders = list_orders(dates)
        lines.append(f'order = "{orders[0]}"' if len(orders) == 1 else 'order = "dmy"  # or "mdy": the month is first')
    amounts = [cells[columns[key]] for key in ("amount", "out", "in") if columns.get(key) in cells]
    has_comma = any(cell.str.contains(DECIMAL_COMMA).any() for cell in amounts)
    lines.append(f'decimal = "{"," if has_comma else "."}"')
    if "sign" in columns and columns["sign"] in cells:
        words = _list_words(cells[columns["sign"]])
        outs = [word for word in words if normalize_name(word) in OUT_WORDS] or words[:1]
        ins = [word for word in words if word not in outs]
        lines.append(f"signs = {{ out = {_quote(outs)}, in = {_quote(ins)} }}  # correct them")
    if "fee" in columns:
        lines.append('fee = "inside"  # the amount; or "taken off", where the balance falls by amount and fee')
    lines += ["", "[columns]", *(f"{field} = {_quote(columns[field])}" for field in FIELDS if field in columns)]
    lines += [f"# not used: {_quote(name)}" for name in free]
    if columns.get("status") in cells:
        words = [word for word in _list_words(cells[columns["status"]]) if word.lower() not in STATUSES]
        lines += ["", f"# [statuses]  # {', '.join(Status)}", f"# settled = {_quote(words)}"] if words else []
    if columns.get("type") in cells:
        words = _list_words(cells[columns["type"]])
        lines += ["", "[kinds]  # payment, transfer, merchant, fee, ...: patterns of types, in lower case"]
        lines += [f"payment = {_quote('|'.join(map(re.escape, words)).lower())}"] if words else []
    return "\n".join(lines) + "\n"


def _is_code(cells: pl.Series) -> bool:
    return bool(cells.count()) and bool(cells.drop_nulls().str.contains(_CODE).all())


def _is_date(cells: pl.Series) -> bool:
    texts = cells.drop_nulls()
    read = [parse_instants(texts, tz=_UTC, order=order) for order in ORDERS]
    return bool(len(texts)) and any(not values.has_nulls() for values in read)


def _is_amount(cells: pl.Series) -> bool:
    texts = cells.drop_nulls()
    read = [parse_money(texts, decimal_comma=comma) for comma in (False, True)]
    return bool(len(texts)) and any(not values.has_nulls() for values in read)


def _list_words(cells: pl.Series) -> list[str]:
    return list(cells.drop_nulls().unique(maintain_order=True).head(_MOST_WORDS))


def _quote(value: str | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
