"""CSV statements of the service, in the forms that it has written since 2017."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.statements.formats.cells import (
    DECIMAL_COMMA,
    DECIMAL_POINT,
    YEAR_LAST,
    blank_notices,
    find_day_first,
    match_kinds,
    parse_money,
    require_amounts,
)
from p2p_analytics.statements.formats.format import Reading, StatementFormat
from p2p_analytics.statements.formats.instants import parse_instants
from p2p_analytics.statements.ledger.transactions import find_owners
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import NOTICE, SERVICE, UNKNOWN, complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.formats.instants import Order
    from p2p_analytics.statements.problems import Problem

STATUSES: Final[dict[str, str]] = {
    **{status.value: status.value for status in Status},
    **dict.fromkeys(("complete", "completed", "issued"), Status.SETTLED.value),
    "canceled": Status.CANCELLED.value,
}
_REFUND: Final = "refund"
# Of types without spaces around them. A refund gets a kind when the payments of all files are known.
_KINDS: Final = (
    (_REFUND, "^refund$"),
    ("asset", "crypto|^currency conversion$"),
    ("fee", r"(?:^| )fee$"),
    ("hold", r"(?:^| )hold$"),
    ("payment", "^(?:payment|charge)$"),
    ("transfer", "^(?:standard|instant) transfer$"),
    ("merchant", "^merchant transaction$"),
    ("card", "^credit card payment$"),
    ("reward", "^credit card rewards?$"),
    ("deposit", "^direct deposit$"),
)
_SUMMARY: Final = "cryptocurrency summary"
_STATED: Final = ("beginning", "ending")
_AMOUNTS: Final = ("total", "tip", "tax", "fee", "net", *_STATED)
_TRANSACTION: Final = {
    "id": ("ID", "Transaction ID"), "datetime": ("Datetime",), "type": ("Type",), "status": ("Status",),
    "note": ("Note",), "from": ("From",), "to": ("To",), "total": ("Amount (total)",), "fee": ("Amount (fee)",),
    "funding_source": ("Funding Source",), "destination": ("Destination",),
}  # fmt: skip
_BALANCES: Final = {
    "margin": ("",),  # the column without a name, where titles between the rows are
    "username": ("Username",), "beginning": ("Beginning Balance",), "ending": ("Ending Balance",),
    "period_fees": ("Statement Period Venmo Fees",), "year_fees": ("Year to Date Venmo Fees",),
    "terminal": ("Terminal Location",), "disclaimer": ("Disclaimer",),
}  # fmt: skip
_TIPS: Final = {"tip": ("Amount (tip)",)}
_TAXES: Final = {"tax": ("Amount (tax)",), "tax_rate": ("Tax Rate",), "tax_exempt": ("Tax Exempt",)}
_BUSINESS: Final = {
    "date": ("Date",), "time": ("Time (UTC)",), "donor_email": ("Donor email",), "net": ("Amount (net)",),
}  # fmt: skip
_ALL: Final = tuple(_TRANSACTION | _BALANCES | _TIPS | _TAXES | _BUSINESS)
_NONE: Final = "(None)"
_BRACKETS: Final = r"^\s*(\$?)\s*\(([^-+()]*)\)\s*$"
_DECIMALS: Final = r"^(?<id>[0-9]{1,14})\.0$"  # a short id that a program saved as a number, which is exact
_ACTIONS: Final = {"payment": Action.PAY.value, "charge": Action.CHARGE.value}
_HANDLE: Final = re.compile(r"\(@([^()\s]{1,100})\)")
_DAY: Final = r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?"
_PERIOD: Final = re.compile(rf"{_DAY} (?:to|-) {_DAY}", re.ASCII)
_USERNAME: Final = "username"
# A spreadsheet keeps 15 digits of a number, and a binary float is exact up to 16.
_KEPT: Final = 15
_FEW: Final = 3  # ids that are floats by chance: one of 256 or more
_REWRITTEN: Final = (  # 3.18E+18, 3180000000000000000.0, 3,180,000,000,000,000,000, and ##### of a narrow column
    r"^[0-9]+(?:[.,][0-9]+)?[Ee][+]?[0-9]+$|^[0-9]{15,}[.,]0+$|^[0-9]{1,3}(?:[,. '\u00a0\u202f][0-9]{3}){5,}$|^##+$"
)
_ROUNDED: Final = (
    "the id {} was rounded by a spreadsheet or another program, and cannot be restored: download the file again and do "
    "not save it with one, or leave it out if it is a copy."
)
_RARE: Final = 100  # among this many long ids, one may end in zeros by chance
_CHANCE: Final = 1 / 300  # a smaller chance is not an accident: one id of 18 digits, or two of 17


def _read_business(table: Table) -> Reading:
    """Return the rows of a business or charity statement, with date and time in UTC apart and "(None)" for empty."""
    texts = pl.exclude("file", "line", "date", "time", "datetime")
    cells = _complete(table.cells).with_columns(
        pl.when(texts.str.strip_chars() != _NONE).then(texts).name.keep(),
        pl.concat_str("date", "time", separator=" ", ignore_nulls=True).replace("", None).alias("datetime"),
    )
    return _read(replace(table, cells=cells), order="mdy")


def _complete(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with every field that is read, null where the header has no such column."""
    absent = [pl.lit(None, pl.String).alias(name) for name in _ALL if name not in cells.columns]
    plain = pl.col("id").str.strip_chars("\"'=\t ").replace("", None)
    return cells.with_columns(plain.str.replace(_DECIMALS, "$id"), *absent)


def _map_words(cells: pl.Series, meanings: Mapping[str, str]) -> pl.Series:
    """Return the meaning of each text, trimmed and in lower case; each distinct text is compared once."""
    found = {text: text and meanings.get(text.strip().lower()) for text in cells.unique()}
    return cells.replace_strict(found, return_dtype=pl.String)


def _read(table: Table, *, order: Order | None = None) -> Reading:
    cells = _complete(table.cells)
    places = cells.select("file", "line", payment_id="id")
    problems: list[Problem] = []
    dates = cells["datetime"]
    is_day_first = find_day_first(places, dates, problems, order=order, field="datetime", dates=YEAR_LAST)
    problems += _check_ids(cells.select("file", "line", "id"))
    handles = _read_handles(table.preambles, cells)
    # Balances, fees, disclaimers and the summary of assets are not transactions.
    has_nothing = pl.all_horizontal(pl.col("id", "datetime", "type", "total").is_null())
    is_title = pl.any_horizontal(pl.col("margin", "username", "id").str.to_lowercase().str.starts_with(_SUMMARY))
    is_below_title = is_title.fill_null(value=False).cum_max().over("file") & pl.col("total").is_null()
    banks_and_cards = [source for source in cells["funding_source"].unique() if is_bank_or_card(source)]
    cells = cells.with_columns(
        *_read_amounts(cells),
        parse_instants(dates, tz=table.tz, order=is_day_first).alias("instant"),
        (has_nothing | is_below_title).alias("is_notice"),
        match_kinds(cells["type"].str.strip_chars(), _KINDS),
        _map_words(cells["type"], _ACTIONS).alias("action"),
        _map_words(cells["status"], STATUSES).alias("known_status"),
        pl.col("funding_source").is_in(banks_and_cards).fill_null(value=False).alias("is_paid_elsewhere"),
        pl.col("file").replace_strict(handles, default=None, return_dtype=pl.String).alias("account"),
    )
    rows = _describe(cells)
    owners = find_owners(rows, "file")
    rows = rows.drop("owner").join(owners, left_on="file", right_on="key", how="left", maintain_order="left")
    problems += _list_unread_cells(cells)
    is_transaction = rows["kind"].fill_null(UNKNOWN) != NOTICE
    is_strange, types = is_transaction & (rows["kind"] == UNKNOWN), rows["type"]
    problems += list_problems(rows, is_strange, types, field="type", code="unknown_type")
    is_strange, statuses = is_transaction & cells["known_status"].is_null(), rows["status"]
    problems += list_problems(rows, is_strange, statuses, field="status", code="unknown_status")
    # The period in the title, such as "June 1st to September 1st 2021", is in the zone of the file's datetimes.
    titles = {
        file: (_find_period(" ".join(line), table.tz) for line in lines) for file, lines in table.preambles.items()
    }
    periods = {file: period for file, found in titles.items() if (period := next(filter(None, found), None))}
    return Reading(rows, problems, periods)


def _read_amounts(cells: pl.DataFrame) -> list[pl.Series]:
    """Return the cents of each field of amounts.

    A spreadsheet saves "- 1.234,50 $" in another language, and "($1,234.50)" for a negative amount.
    """
    columns = []
    for name in _AMOUNTS:
        cents = parse_money(cells[name], symbol="$")
        is_open = cents.null_count() > cells[name].null_count()
        if is_open and (cents.is_null() & cells[name].str.contains("[0-9]").fill_null(value=False)).any():
            text = cells[name].str.replace(_BRACKETS, "-$1$2")
            with_point = parse_money(text, symbol="$")
            cents = with_point.zip_with(cents.is_null(), cents)
            with_comma = parse_money(text, decimal_comma=True, symbol="$")
            is_only = cents.is_null() & with_comma.is_not_null()
            if is_only.any():
                _require_decimals(cells, is_only & ~text.str.contains(DECIMAL_COMMA), name)
                cents = with_comma.zip_with(is_only, cents)
        if name == "total" and is_open:
            texts = cells.select("file", "line", text=pl.col(name).str.strip_chars())
            require_amounts(texts.filter(texts["text"] != ""), cents.filter(texts["text"] != ""))
        columns.append(cents.alias(f"{name}_cents"))
    return columns


def _require_decimals(cells: pl.DataFrame, is_open: pl.Series, name: str) -> None:
    """Refuse an amount such as "1.234 $" in a file where no amount has a decimal comma, or one has a point."""
    if not is_open.any():
        return
    has = [pl.any_horizontal(pl.col(_AMOUNTS).str.contains(text)) for text in (DECIMAL_COMMA, DECIMAL_POINT)]
    files = cells.group_by("file").agg(comma=has[0].any(), point=has[1].any())
    known = files.filter(pl.col("comma") & ~pl.col("point"))["file"]
    unknown = cells.filter(is_open & ~cells["file"].is_in(known.to_list()))
    _refuse(
        unknown.with_columns(pl.col(name).str.strip_chars()),
        "the amount {} was rewritten by a spreadsheet, and no other one shows whether its point separates thousands or "
        "decimals: download the file again and do not save it with one.",
        name,
    )


def _describe(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ROWS that follow from a row alone."""
    total, net, status = pl.col("total_cents"), pl.col("net_cents"), pl.col("known_status")
    # Only the net amount, which business statements have, contains the fee of a transfer.
    has_fee_apart = (pl.col("kind") == "transfer") & (total < 0) & (net == total - pl.col("fee_cents").abs())
    flow = pl.when(has_fee_apart.fill_null(value=False)).then(net).otherwise(total)
    moved = pl.when(~pl.col("is_paid_elsewhere")).then(pl.coalesce(net, total)).otherwise(0)
    rows = cells.with_columns(
        pl.lit("USD").alias("currency"),
        pl.when("is_notice").then(pl.lit(NOTICE)).when(pl.col("kind") != _REFUND).then("kind").alias("kind"),
        pl.coalesce("known_status", "status").alias("status"),
        pl.col("fee_cents").abs(),
        payment_id="id",
        date="instant",
        from_name="from",
        to_name="to",
        flow_cents=flow,
        direction=pl.when(flow > 0).then(pl.lit("in")).when(flow < 0).then(pl.lit("out")),
        moved_cents=pl.when(status == Status.SETTLED.value).then(moved).when(status.is_not_null()).then(0),
        opening_cents="beginning_cents",
        closing_cents="ending_cents",
    )
    return blank_notices(complete_rows(rows))


def _list_unread_cells(cells: pl.DataFrame) -> list[Problem]:
    """Return a problem for each amount, datetime and balance that cannot be read, and for each missing id."""
    problems: list[Problem] = []
    values = {**{name: f"{name}_cents" for name in _AMOUNTS}, "datetime": "instant", "id": "id"}
    words = {"total": "amount", "datetime": "date", "id": "id"}
    has_text = {name: pl.col(name).is_not_null() | (name in words) for name in values}
    is_unread = cells.select(
        (pl.col(value).is_null() & (pl.col("is_notice") == (name in _STATED)) & has_text[name]).alias(f"is_{name}")
        for name, value in values.items()
    )
    for name, value in values.items():
        if not is_unread[f"is_{name}"].any():
            continue
        part = cells.filter(is_unread[f"is_{name}"]).select("file", "line", payment_id="id", text=name, value=value)
        code = NOT_A_DATE if name == "datetime" else NOT_AN_AMOUNT
        problems += list_unreadable(part, part["text"], part["value"], field=name, code=code)
        if name in words:
            is_missing = part["text"].is_null()
            problems += list_problems(
                part, is_missing, part["text"], field=name, code="missing", details=(words[name],)
            )
    return problems


def _read_handles(preambles: Mapping[str, Sequence[Sequence[str]]], cells: pl.DataFrame) -> dict[str, str | None]:
    """Return the account of each file: the handle before the header, else the first one in the column of usernames."""
    handles: dict[str, str | None] = {}
    for file, line in ((file, line) for file, lines in preambles.items() for line in lines):
        found = _HANDLE.search(" ".join(line))
        is_named = len(line) > 1 and line[0].strip().casefold() == _USERNAME
        name = found[1] if found else line[1].strip().removeprefix("@") if is_named else None
        handles[file] = handles.get(file) or name or None
    named = cells.select("file", name=pl.col(_USERNAME).str.strip_chars()).filter(pl.col("name").str.contains(r"^\S+$"))
    for file, name in named.group_by("file", maintain_order=True).agg(pl.col("name").first()).iter_rows():
        handles[file] = handles.get(file) or name.removeprefix("@")
    return handles


def _find_period(title: str, tz: ZoneInfo) -> tuple[datetime, datetime] | None:
    found = _PERIOD.search(title)
    if found is None or found[6] is None:
        return None
    first_month, first_day, first_year, last_month, last_day, last_year = found.groups()
    end = _find_day(int(last_year), last_month, last_day)
    start = _find_day(int(first_year or last_year), first_month, first_day)
    if end and start and start > end and first_year is None:
        start = _find_day(int(last_year) - 1, first_month, first_day)
    if end is None or start is None or start > end:
        return None
    first, last = datetime.combine(start, time.min, tz), datetime.combine(end, time.max, tz)
    return first.astimezone(UTC), last.astimezone(UTC)


def _find_day(year: int, month: str, day: str) -> date | None:
    try:
        return date(year, [name.casefold() for name in MONTH_NAMES].index(month[:3].casefold()) + 1, int(day))
    except ValueError:
        return None


def _check_ids(rows: pl.DataFrame) -> list[Problem]:
    """Return a problem for each file with ids that a spreadsheet may have rounded, too few of them to be sure.

    Ids in scientific notation, or surely rounded by a spreadsheet or a float, are refused.
    """
    text, number = pl.col("id"), pl.col("id").cast(pl.Int64, strict=False)
    rows = rows.filter(text.is_not_null()).with_columns(
        is_long=text.str.contains(r"^[1-9][0-9]{16,18}$"),
        has_zeros=text.str.contains("^[0-9]{15}0+$"),
        is_float=number == number.cast(pl.Float64).cast(pl.Int64, strict=False),
    )
    if not rows["is_long"].all():
        _refuse(rows.filter(~pl.col("is_long"), text.str.contains(_REWRITTEN)), _ROUNDED, "id")
        rows = rows.filter("is_long")
    has_zeros, is_float = pl.col("has_zeros"), pl.col("is_float")
    if not rows.select((has_zeros | is_float).any()).item():
        return []
    counts = rows.group_by("file", maintain_order=True).agg(
        line=pl.col("line").min(),
        count=pl.len(),
        zeros=has_zeros.sum(),
        expected=pl.lit(10.0).pow(_KEPT - text.str.len_bytes().cast(pl.Int64)).sum(),
        floats=is_float.sum(),
        id=text.filter(has_zeros | is_float).first(),
    )
    many_zeros = (pl.col("zeros") == pl.col("count")) | (
        (pl.col("zeros") > 1) & (pl.col("zeros") * _RARE > pl.col("count"))
    )
    all_floats = (pl.col("floats") == pl.col("count")) & (pl.col("count") >= _FEW)
    # An upper bound of the chance of this count, for a Poisson distribution (Chernoff).
    is_accident = pl.col("zeros") * (1 + (pl.col("expected") / pl.col("zeros")).log()) > math.log(_CHANCE)
    _refuse(counts.filter((many_zeros & ~is_accident) | all_floats), _ROUNDED, "id")
    doubtful = counts.filter(pl.col("zeros") == pl.col("count")).with_columns(pl.col("id").alias("payment_id"))
    return list_problems(doubtful, doubtful["id"].is_not_null(), doubtful["id"], field="id", code="rounded_id")


def _refuse(rows: pl.DataFrame, reason: str, *quoted: str) -> None:
    """Raise a StatementError about the first of some rows, with the columns that the reason quotes."""
    if not rows.is_empty():
        file, line, *cells = rows.select("file", "line", *quoted).row(0)
        raise StatementError(f"{file}, line {line}: {reason.format(*cells)}")


_ALWAYS: Final = ("id", "datetime", "type", "status", "from", "to", "total")
_OF_BUSINESS: Final = ("id", "date", "time", "type", "status", "from", "to", "total")


def _declare(name: str, columns: Mapping[str, tuple[str, ...]], *required: str) -> StatementFormat:
    has_balances = "beginning" in required
    return StatementFormat(
        name,
        columns,
        (*_ALWAYS, *required),
        _read,
        SERVICE,
        zone="UTC",
        has_closing_row=has_balances,
        title="Venmo",
        bank_words=("venmo",),
    )


TO_2018: Final = _declare("statement_a", _TRANSACTION)
TO_2020: Final = _declare("statement_b", _TRANSACTION | _BALANCES, "beginning")
OF_2021: Final = _declare("statement_c", _TRANSACTION | _BALANCES | _TIPS, "beginning", "tip")
FROM_2022: Final = _declare("statement_d", _TRANSACTION | _BALANCES | _TIPS | _TAXES, "beginning", "tax")
FULL_BUSINESS: Final = StatementFormat(
    "statement_e",
    {key: names for key, names in _TRANSACTION.items() if key != "datetime"} | _BALANCES | _TIPS | _TAXES | _BUSINESS,
    (*_OF_BUSINESS, "beginning", "ending"),
    _read_business,
    zone="UTC",
    has_closing_row=True,
)
BUSINESS: Final = replace(FULL_BUSINESS, required=_OF_BUSINESS, has_closing_row=False)
