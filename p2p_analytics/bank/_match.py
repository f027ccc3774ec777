"""Pairs of a statement's transfers and the rows of a bank account, from a CSV file or a frame."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import polars as pl

from p2p_analytics import settings
from p2p_analytics.arguments import read_whole_number
from p2p_analytics.display import clean_line, to_zone
from p2p_analytics.errors import ConfigurationError, StatementError, describe_type
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.schema import INSTANT, KIND_PAYMENT, TEXT, WHOLE, require
from p2p_analytics.history import describe_history_call
from p2p_analytics.statements.formats.bank_columns import BANK_COLUMNS, OUT_WORDS, find_bank_columns
from p2p_analytics.statements.formats.cells import parse_money
from p2p_analytics.statements.formats.format import normalize_name
from p2p_analytics.statements.formats.instants import ORDERS, list_orders, parse_instants
from p2p_analytics.statements.formats.registry import list_bank_words
from p2p_analytics.statements.reading.sources import read_path, show_name
from p2p_analytics.statements.reading.tables import DELIMITERS, HEAD_LINES, to_utf8
from p2p_analytics.times import EPOCH, find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from zoneinfo import ZoneInfo

BANK_MATCHES: Final[Mapping[str, str]] = {
    "account_id": TEXT,
    "payment_id": TEXT,
    "kind": TEXT,
    "date": INSTANT,
    "flow_cents": WHOLE,
    "fee_cents": WHOLE,
    "currency": TEXT,
    "bank_line": WHOLE,
    "bank_date": INSTANT,
    "bank_description": TEXT,
    "bank_amount_cents": WHOLE,
    "days": WHOLE,
    "state": TEXT,
}
_SKIP_TRANSFER: Final = 1
_SKIP_ROW: Final = 2
_PAIR: Final = 3
_TRANSFER: Final = "transfer"
_NEEDED: Final = ("payment_id", "status", "date_created", "kind", "flow_cents")
_OPTIONAL: Final = ("account_id", "fee_cents", "currency", "funding_source")
_LONGEST_VALUE: Final = 100  # characters of a cell in a message
_LONGEST_NAMES: Final = 300
_SHORT_YEAR: Final = r"^\s*(\d{1,2}[/.]\d{1,2}[/.])(\d\d)\s*$"
_COMPACT: Final = r"^\s*((?:19|20)\d\d)(\d\d)(\d\d)\s*$"
_DOTTED: Final = re.compile(r"\s*\d{1,2}\.\d{1,2}\.\d{2,4}")
_IN_BRACKETS: Final = r"^\s*\(([^()a-zA-Z]*)\)\s*$"
_UTC: Final = find_zone("UTC")
_UNCLEAR: Final = "can be month/day or day/month: pass day_first=True or day_first=False"


class Candidate(NamedTuple):
    """A bank row: its day, and whether its description names a payment service."""

    day: int
    is_named: bool


class _Movement(NamedTuple):
    """A row of PAYMENTS that may be in the bank account, with its number; the day is counted from 1970."""

    number: int
    account_id: str | None
    payment_id: str | None
    kind: str
    date: datetime
    day: int
    flow_cents: int
    fee_cents: int | None
    currency: str | None


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


def match_bank(  # noqa: PLR0913 - each is an independent option of a public function
    payments: object,
    bank: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    names: Iterable[str] | None = None,
    days: int = 5,
    tz: str | ZoneInfo = "UTC",
    day_first: bool | None = None,
) -> pd.DataFrame:
    """Return the transfers of a statement paired with the rows of a bank account, and those without a pair.

    A transfer out of the service is money into the bank account, less the fee, and the reverse. Transfers get bank rows
    of exactly this amount, each row once: as many pairs as possible, then as many as possible with rows that name a
    payment service, then the fewest days between the two. A transfer with a fee that finds none is compared with the
    amount before the fee. Payments that were funded by a bank or card, not by the balance of the service, are in the
    bank account too: they are paired with the remaining rows that name a payment service, and listed only then.

    Parameters
    ----------
    payments : Statements, History or DataFrame
        PAYMENTS with ``kind``, as `read_statements` returns them.
    bank : path or DataFrame
        A CSV file or frame with a date, a description, and an amount that is positive for money into the bank account,
        or columns for money out and in. Rows without an amount are skipped.
    columns : mapping of str to str, optional
        The names of columns that are not found by themselves: for any of the fields ``date``, ``description``,
        ``amount``, ``debit``, ``credit``, ``sign`` and ``currency``.
    names : iterable of str, optional
        A description with one of these words names a payment service; by default the words of all known formats, such
        as "venmo" and "cash app".
    days : int
        Maximum number of days between a transfer and its bank row, in either direction.
    tz : str or ZoneInfo
        Zone in which the date of a transfer is compared with the date of the bank.
    day_first : bool, optional
        Whether the day or the month is first in dates that end in the year; only needed if it cannot be found out.

    Returns
    -------
    DataFrame
        One row per pair, per settled transfer without a pair, and per bank row that names a payment service and has no
        pair, in order of time, with the columns and dtypes of `BANK_MATCHES`. ``bank_date`` is midnight UTC of the
        day, ``days`` are from the transfer to the bank row, ``bank_line`` is counted from 1, and ``state`` is "paired",
        "only in statement" or "only in bank", or "outside the bank file" for a transfer without a pair before the first
        or after the last day of the bank's rows, where the file cannot say anything.

    Raises
    ------
    StatementError
        The bank file cannot be read, or a date or amount in it is not clear.
    SchemaError
        The payments lack a column.
    ConfigurationError
        An argument is invalid, or privacy mode is on, in which amounts are invented.
    """
    if settings.privacy() or getattr(payments, "private", False):
        raise ConfigurationError("In privacy mode amounts are invented and match no bank account: switch it off first.")
    limit = read_whole_number(days)
    if limit is None or limit < 0:
        raise ConfigurationError(f"days={days!r} is not valid: give the number of days, 0 or more.")
    movements, funded = _read_movements(payments, find_zone(tz))
    rows = read_bank(bank, columns, day_first=day_first)
    rows.sort(key=lambda row: (row.day, row.description or "", row.line))
    words = list_bank_words() if names is None else [names] if isinstance(names, str) else list(names)
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise ConfigurationError("names are words such as 'venmo': leave out empty ones.")
    whole_words = "|".join(rf"(?<!\w){re.escape(word.strip())}(?!\w)" for word in words) or r"(?!)"
    pattern = re.compile(whole_words, re.IGNORECASE)
    candidates = [Candidate(row.day, bool(pattern.search(row.description or ""))) for row in rows]
    rows_of: dict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        rows_of[row.cents].append(at)
    pairs: dict[_Movement, int] = {}  # what has a pair gets no other
    used: set[int] = set()
    # A fee is inside the amount that left the service.
    net = {each: -each.flow_cents - (each.fee_cents or 0 if each.flow_cents < 0 else 0) for each in movements}
    gross = {each: -each.flow_cents for each in movements if each.fee_cents}
    for expected, named_only in ((net, False), (gross, False), ({each: each.flow_cents for each in funded}, True)):
        groups: dict[tuple[int, str], list[_Movement]] = defaultdict(list)
        for movement, cents in expected.items():
            if movement not in pairs:
                groups[cents, movement.currency or ""].append(movement)
        for (cents, currency), same in sorted(groups.items(), key=lambda group: group[0]):
            near = [
                at
                for at in rows_of[cents]
                if at not in used
                and (candidates[at].is_named or not named_only)
                and (not currency or rows[at].currency in {None, currency})
            ]
            for one, other in assign([each.day for each in same], [candidates[at] for at in near], limit):
                pairs[same[one]] = near[other]
                used.add(near[other])
    return _build_frame(movements, rows, candidates, pairs)


def _read_movements(payments: object, zone: ZoneInfo) -> tuple[list[_Movement], list[_Movement]]:
    """Return the settled transfers, and the payments that a bank or card funded, both in order of time."""
    frame = getattr(payments, "payments", payments)
    if not isinstance(frame, pd.DataFrame):
        raise ConfigurationError(
            "payments is what read_statements returns, or a history, not "
            f"{describe_type(payments)}{describe_history_call(payments)}."
        )
    require(frame.columns, _NEEDED, what="match_bank", instead="what read_statements returns")
    settled = frame[(frame["status"] == Status.SETTLED) & frame["date_created"].notna() & frame["flow_cents"].notna()]
    columns = settled.reindex(columns=[*_NEEDED, *_OPTIONAL]).astype(object)
    transfers, funded = [], []
    for number, row in enumerate(columns.where(columns.notna(), None).to_dict("records")):
        instant = row["date_created"].to_pydatetime()
        movement = _Movement(
            number=number,
            account_id=row["account_id"],
            payment_id=row["payment_id"],
            kind=row["kind"] or KIND_PAYMENT,
            date=instant,
            day=(to_zone(instant, zone).date() - EPOCH.date()).days,
            flow_cents=int(row["flow_cents"]),
            fee_cents=None if row["fee_cents"] is None else int(row["fee_cents"]),
            currency=row["currency"],
        )
        if movement.kind == _TRANSFER:
            transfers.append(movement)
        elif movement.flow_cents < 0 and is_bank_or_card(row["funding_source"]):
            funded.append(movement)
    for found in (transfers, funded):
        found.sort(key=lambda each: (each.day, each.date, each.payment_id or "", each.account_id or ""))
    return transfers, funded


def _build_frame(
    transfers: list[_Movement], rows: list[BankRow], candidates: list[Candidate], pairs: Mapping[_Movement, int]
) -> pd.DataFrame:
    first, last = (rows[0].day, rows[-1].day) if rows else (math.inf, -math.inf)
    used = set(pairs.values())
    alone = [row for at, row in enumerate(rows) if candidates[at].is_named and at not in used]
    lines = [_describe(None, row, "only in bank") for row in alone]
    for movement in (*transfers, *(each for each in pairs if each.kind != _TRANSFER)):
        if (at := pairs.get(movement)) is not None:
            lines.append(_describe(movement, rows[at], "paired"))
        else:
            state = "only in statement" if first <= movement.day <= last else "outside the bank file"
            lines.append(_describe(movement, None, state))
    by_line = sorted(lines, key=lambda line: line["bank_line"] or 0)
    by_id = sorted(by_line, key=lambda line: (line["payment_id"] is None, line["payment_id"] or ""))
    lines = sorted(by_id, key=lambda line: line["date"] or line["bank_date"])  # of one instant, bank rows come last
    return pd.DataFrame(
        {name: pd.Series([line[name] for line in lines], dtype=dtype) for name, dtype in BANK_MATCHES.items()}
    )


def _describe(movement: _Movement | None, row: BankRow | None, state: str) -> dict[str, Any]:
    """Return a row of the result."""
    line: dict[str, Any] = dict.fromkeys(BANK_MATCHES) | {"state": state}
    if movement:
        line |= {name: value for name, value in movement._asdict().items() if name in line}
    if row:
        line |= {
            "bank_line": row.line,
            "bank_date": EPOCH + timedelta(days=row.day),
            "bank_description": row.description,
            "bank_amount_cents": row.cents,
        }
        line["currency"] = line["currency"] or row.currency
    if movement and row:
        line["days"] = row.day - movement.day
    return line


def assign(transfers: Sequence[int], rows: Sequence[Candidate], most_days: int) -> list[tuple[int, int]]:
    """Return the positions of the pairs of transfers, by their days, and bank rows; both are in order of days.

    The pairs are as many as possible; of these assignments, those with most rows that name a payment service; of
    these, the one with the fewest days between the two of each pair, all added up. So a transfer does not always get
    the closest row: that could leave another transfer without one. No two pairs cross: to uncross them never makes them
    longer. For each transfer only the rows in its reach are compared: earlier rows are out of reach of all later
    transfers, and later rows were out of reach of all transfers before.
    """
    scores: list[tuple[int, int, int]] = [(0, 0, 0)]  # of the transfers so far, with the rows up to each one in reach
    begin = 0
    steps = []
    for day in transfers:
        first = bisect_left(rows, day - most_days, key=attrgetter("day"))
        end = bisect_right(rows, day + most_days, key=attrgetter("day"))
        above = scores[first - begin :] or scores[-1:]
        above += above[-1:] * (end - first + 1 - len(above))
        scores, begin = above[:1], first
        choice = bytearray([_SKIP_TRANSFER])
        for at, row in enumerate(rows[first:end], start=1):
            count, named, nearness = above[at - 1]
            pair = (count + 1, named + row.is_named, nearness - abs(row.day - day))
            best, chosen = max((above[at], _SKIP_TRANSFER), (scores[-1], _SKIP_ROW), (pair, _PAIR))
            scores.append(best)
            choice.append(chosen)
        steps.append((first, choice))
    # From the last transfer back, the choices give the pairs of the best assignment.
    pairs = []
    other = len(rows)
    for one in range(len(steps) - 1, -1, -1):
        first, choice = steps[one]
        other = min(other, first + len(choice) - 1)
        while other > first and choice[other - first] == _SKIP_ROW:
            other -= 1
        if other > first and choice[other - first] == _PAIR:
            other -= 1
            pairs.append((one, other))
    return pairs[::-1]


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
    sheet = _read_frame(bank, named) if isinstance(bank, (pd.DataFrame, pl.DataFrame)) else _read_file(bank, named)
    cents = _read_amounts(sheet)
    booked = [at for at, amount in enumerate(cents) if amount is not None]
    cells = pl.Series([sheet.columns["date"][row] for row in booked], dtype=pl.String)
    text = cells.str.replace(_SHORT_YEAR, "${1}20${2}").str.replace(_COMPACT, "${1}-${2}-${3}")
    orders = [ORDERS[day_first]] if day_first is not None else list_orders(text)
    if day_first is None and len(text) and all(map(_DOTTED.match, text.drop_nulls())):
        orders = ["dmy"]
    readings = [parse_instants(text, tz=_UTC, order=order).dt.date() for order in orders or ORDERS[:1]]
    days = readings[0]
    for is_wrong, fault in (
        (days.is_null(), "is not a date"),
        *((days != other, _UNCLEAR) for other in readings[1:]),
    ):
        if is_wrong.any():
            raise _describe_cell(sheet, "date", booked[is_wrong.arg_true()[0]], fault)
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
        for at, day in zip(booked, days.cast(pl.Int32), strict=True)
    ]


def _check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    if columns is not None and not isinstance(columns, Mapping):
        raise ConfigurationError(f"columns is a mapping of fields to names of columns, not {describe_type(columns)}.")
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
    text = to_utf8(read_path(path), name).utf8.decode()
    widest: list[str] = []
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            for row in reader:
                positions = find_bank_columns(row, named)
                if positions is not None:
                    columns: dict[str, list[str | None]] = {field: [] for field in positions}
                    lines, before = [], reader.line_num
                    for cells in reader:
                        if any(cells):
                            lines.append(before + 1)
                            for field, position in positions.items():
                                columns[field].append(cells[position] if position < len(cells) else None)
                        before = reader.line_num
                    return _Sheet(name, columns, lines)
                widest = max(widest, row, key=len)
                if reader.line_num >= HEAD_LINES:
                    break
        except csv.Error:
            raise StatementError(f"{name}, line {reader.line_num}: a cell is too large: is a quote open?") from None
    raise StatementError(_describe_missing(name, widest, named))


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


def _describe_cell(sheet: _Sheet, field: str, row: int, fault: str) -> StatementError:
    value = clean_line(sheet.columns[field][row])[:_LONGEST_VALUE]
    return StatementError(f"{sheet.name}, line {sheet.lines[row]}: the {field} {value!r} {fault}.")
