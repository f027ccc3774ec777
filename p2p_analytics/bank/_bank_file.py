"""Rows of a bank account, from a CSV file or a frame: day, description and exact amount."""

from __future__ import annotations

import csv
import io
import os
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from p2p_analytics.display import clean_line
from p2p_analytics.errors import ConfigurationError, StatementError, describe_os_error, describe_type
from p2p_analytics.files import NotRegularFileError, open_regular, to_path
from p2p_analytics.statements.formats.bank_columns import BANK_COLUMNS, OUT_WORDS, find_bank_columns
from p2p_analytics.statements.formats.cells import ORDERS, list_orders, parse_instants, parse_money
from p2p_analytics.statements.formats.format import normalize_name
from p2p_analytics.statements.reading.sources import read_bounded, show_name
from p2p_analytics.statements.reading.tables import to_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DELIMITERS: Final = (",", ";", "\t", "|")
_HEAD_LINES: Final = 50
_LONGEST_VALUE: Final = 100  # characters of a cell in a message
_LONGEST_NAMES: Final = 300
_SHORT_YEAR: Final = r"^\s*(\d{1,2}[/.]\d{1,2}[/.])(\d\d)\s*$"
_COMPACT: Final = r"^\s*((?:19|20)\d\d)(\d\d)(\d\d)\s*$"
_DOTTED: Final = re.compile(r"\s*\d{1,2}\.\d{1,2}\.\d{2,4}")
_IN_BRACKETS: Final = r"^\s*\(([^()a-zA-Z]*)\)\s*$"
_UTC: Final = ZoneInfo("UTC")


class BankRow(NamedTuple):
    """One booking; the day is counted from 1970, the amount is positive for money into the bank account."""

    line: int
    day: int
    description: str | None
    cents: int
    currency: str | None


class _Sheet(NamedTuple):
    """Columns of text by field, and the number of the line of each row."""

    name: str
    columns: dict[str, list[str | None]]
    lines: list[int]


def read_bank(bank: object, columns: Mapping[str, str] | None, *, day_first: bool | None) -> list[BankRow]:
    """Return the bookings of a bank account in the order of the file; rows without an amount are none.

    Raises
    ------
    StatementError
        The file cannot be read, has no such columns, or has a date or amount that cannot be read or has two meanings.
    ConfigurationError
        An argument is of another type or names another field.
    """
    named = _check_columns(columns)
    sheet = _read_frame(bank, named) if hasattr(bank, "columns") else _read_file(bank, named)
    cents = _read_amounts(sheet)
    booked = [at for at, amount in enumerate(cents) if amount is not None]
    days = _read_days(sheet, booked, day_first=day_first)
    empty: list[str | None] = [None] * len(cents)
    descriptions, currencies = (sheet.columns.get(name, empty) for name in ("description", "currency"))
    codes = [(cell or "").strip().upper() for cell in currencies]
    # A column of that name can hold something else than codes.
    is_code = [len(code) == len("USD") and code.isascii() and code.isalpha() for code in codes]
    return [
        BankRow(
            sheet.lines[at],
            day,
            clean_line(descriptions[at]) or None,
            cents[at] or 0,
            codes[at] if is_code[at] else None,
        )
        for at, day in zip(booked, days, strict=True)
    ]


def _check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    named = dict(columns or {})
    for field, name in named.items():
        if field not in BANK_COLUMNS:
            raise ConfigurationError(f"columns names the field {field!r}: the fields are {', '.join(BANK_COLUMNS)}.")
        if not isinstance(name, str):
            raise ConfigurationError(f"columns[{field!r}] is the name of a column, not {describe_type(name)}.")
    return named


def _read_frame(frame: Any, named: Mapping[str, str]) -> _Sheet:  # noqa: ANN401 - a pandas or Polars frame
    """Return the columns of a frame as text; lines are counted from 1."""
    names = [str(name) for name in frame.columns]
    positions = find_bank_columns(names, named)
    if positions is None:
        raise StatementError(_describe_missing("The frame", names, named))
    columns = {}
    for field, position in positions.items():
        values = (frame.iloc[:, position] if hasattr(frame, "iloc") else frame.to_series(position)).to_list()
        columns[field] = [_to_text(value) for value in values]
    return _Sheet("the frame", columns, list(range(1, len(frame) + 1)))


def _to_text(value: object) -> str | None:
    """Return a cell as text; an instant without a time of day is a date, and a missing value of any kind is None."""
    if isinstance(value, str):
        return value
    if value is None or str(value) in {"<NA>", "NaT", "nan"}:
        return None
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    return repr(value) if isinstance(value, float) else str(value)


def _read_file(path: object, named: Mapping[str, str]) -> _Sheet:
    if not isinstance(path, str | os.PathLike):
        raise ConfigurationError(f"bank is a CSV file or a frame, not {describe_type(path)}.")
    name = show_name(path)
    try:
        with open_regular(to_path(path).expanduser()) as file:
            text = to_utf8(read_bounded(file, name), name).utf8.decode()
    except OSError as error:
        reason = error.reason if isinstance(error, NotRegularFileError) else describe_os_error(error)
        raise StatementError(f"{name} cannot be read: {reason}.") from None
    widest: list[str] = []
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            for row in reader:
                positions = find_bank_columns(row, named)
                if positions is not None:
                    return _read_rows(reader, positions, name)
                widest = max(widest, row, key=len)
                if reader.line_num >= _HEAD_LINES:
                    break
        except csv.Error:
            raise StatementError(f"{name}, line {reader.line_num}: a cell is too large: is a quote open?") from None
    raise StatementError(_describe_missing(name, widest, named))


def _read_rows(reader: Any, positions: Mapping[str, int], name: str) -> _Sheet:  # noqa: ANN401 - of the module csv
    columns: dict[str, list[str | None]] = {field: [] for field in positions}
    lines = []
    before = reader.line_num
    for row in reader:
        if any(row):
            lines.append(before + 1)
            for field, position in positions.items():
                columns[field].append(row[position] if position < len(row) else None)
        before = reader.line_num
    return _Sheet(name, columns, lines)


def _describe_missing(name: str, header: Sequence[str], named: Mapping[str, str]) -> str:
    found = clean_line(", ".join(filter(None, header)))[:_LONGEST_NAMES]
    columns = f" Its columns are: {found}." if found else ""
    needed = "a date and an amount: name them, as in columns={'date': 'Day', 'amount': 'Sum'}"
    if named:
        needed = f"the columns {', '.join(map(repr, named.values()))}"
    return f"{name} has no header with {needed}.{columns}"


def _read_amounts(sheet: _Sheet) -> list[int | None]:
    """Return the signed amounts in cents: one column, or one each for money out and in."""
    if "amount" in sheet.columns:
        cents = _read_money(sheet, "amount")
        signs = [normalize_name(sign or "") for sign in sheet.columns.get("sign", [])]
        if signs and not any((amount or 0) < 0 for amount in cents):
            pairs = zip(cents, signs, strict=True)
            cents = [-amount if amount and sign in OUT_WORDS else amount for amount, sign in pairs]
        return cents
    empty: list[int | None] = [None] * len(sheet.lines)
    debits, credits_ = (_read_money(sheet, name) if name in sheet.columns else empty for name in ("debit", "credit"))
    return [
        None if debit is None and credit is None else (credit or 0) - abs(debit or 0)
        for debit, credit in zip(debits, credits_, strict=True)
    ]


def _read_money(sheet: _Sheet, field: str) -> list[int | None]:
    """Return a column in cents, with the decimal separator with which more amounts can be read."""
    cells = pl.Series(sheet.columns[field], dtype=pl.String)
    text = (
        cells.str.replace(_IN_BRACKETS, "-${1}")
        .str.replace(r"(?i)\s*\bDR\.?\s*$", "-")
        .str.replace(r"(?i)\s*\bCR\.?\s*$", "")
        .str.strip_chars()
        .replace("", None)
    )
    point, comma = (parse_money(text, decimal_comma=is_comma) for is_comma in (False, True))
    cents = comma if comma.null_count() < point.null_count() else point
    unreadable = (cents.is_null() & text.is_not_null()).arg_true()
    if len(unreadable):
        raise _describe_cell(sheet, field, unreadable[0], "is not an amount")
    return cents.to_list()


def _read_days(sheet: _Sheet, at: list[int], *, day_first: bool | None) -> list[int]:
    """Return the days of some rows, counted from 1970."""
    cells = pl.Series([sheet.columns["date"][row] for row in at], dtype=pl.String)
    text = cells.str.replace(_SHORT_YEAR, "${1}20${2}").str.replace(_COMPACT, "${1}-${2}-${3}")
    orders = [ORDERS[day_first]] if day_first is not None else list_orders(text)
    if day_first is None and len(text) and all(map(_DOTTED.match, text.drop_nulls())):
        orders = ["dmy"]
    readings = [parse_instants(text, tz=_UTC, order=order).dt.date() for order in orders or ORDERS[:1]]
    days = readings[0]
    unreadable = days.is_null().arg_true()
    if len(unreadable):
        raise _describe_cell(sheet, "date", at[unreadable[0]], "is not a date")
    for other in readings[1:]:
        unclear = (days != other).arg_true()
        if len(unclear):
            advice = "can be month/day or day/month: pass day_first=True or day_first=False"
            raise _describe_cell(sheet, "date", at[unclear[0]], advice)
    return days.cast(pl.Int32).to_list()


def _describe_cell(sheet: _Sheet, field: str, row: int, fault: str) -> StatementError:
    value = clean_line(sheet.columns[field][row])[:_LONGEST_VALUE]
    return StatementError(f"{sheet.name}, line {sheet.lines[row]}: the {field} {value!r} {fault}.")
