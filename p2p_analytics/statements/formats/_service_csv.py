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
from p2p_analytics.statements.formats.cells import list_orders, parse_instants, parse_money
from p2p_analytics.statements.formats.format import Reading, StatementFormat
from p2p_analytics.statements.ledger.sides import find_owners
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from p2p_analytics.statements.formats.cells import Order
    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

PERSONAL: Final = "statement"
"""The service of all forms of a personal statement, so that a file without a name belongs to the others."""
STATUSES: Final = {
    "complete": Status.SETTLED.value,
    "completed": Status.SETTLED.value,
    "issued": Status.SETTLED.value,
    "settled": Status.SETTLED.value,
    "pending": Status.PENDING.value,
    "cancelled": Status.CANCELLED.value,
    "canceled": Status.CANCELLED.value,
    "failed": Status.FAILED.value,
    "expired": Status.EXPIRED.value,
}
_PAYMENT: Final = "payment"
_NOTICE: Final = "notice"
_UNKNOWN: Final = "unknown"
_REFUND: Final = "refund"
_KINDS: Final = {
    "payment": _PAYMENT,
    "charge": _PAYMENT,
    "standard transfer": "transfer",
    "instant transfer": "transfer",
    "merchant transaction": "merchant",
    "credit card payment": "card",
    "credit card reward": "reward",
    "credit card rewards": "reward",
    "direct deposit": "deposit",
    "currency conversion": "asset",
}
_ASSET_WORD: Final = "crypto"
_LAST_WORDS: Final = ("fee", "hold")  # of types with names such as "Payment Fee"; each is the bin too
_SUMMARY: Final = "cryptocurrency summary"
_STATED: Final = ("beginning", "ending")
_AMOUNTS: Final = ("total", "tip", "tax", "fee", "net", *_STATED)
_ALL: Final = (
    *_AMOUNTS, "type", "status", "from", "to", "funding_source", "destination", "id", "datetime", "date", "time",
    "note", "margin", "username",
)  # fmt: skip
_SEVERAL: Final = 3
_LONGEST: Final = 30  # characters of a cell in an error
_NONE: Final = "(None)"
_BRACKETS: Final = r"^\s*(\$?)\s*\(([^-+()]*)\)\s*$"
_DECIMAL_COMMA: Final = r",[0-9]{1,2}[^0-9]*$"
_DECIMAL_POINT: Final = r"\.[0-9]{1,2}[^0-9]*$"
_YEAR_LAST: Final = r"^\s*[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}"
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
_RARE: Final = 100  # long ids, of which one may end in zeros by chance
_CHANCE: Final = 1 / 300  # less, and the zeros are no accident: one id of 18 digits, or two of 17


def _read_personal(table: Table) -> Reading:
    """Return the rows of a personal statement."""
    return _read(table, _complete(table.cells), table.tz)


def _read_business(table: Table) -> Reading:
    """Return the rows of a business or charity statement, with date and time in UTC apart and "(None)" for empty."""
    cells = _complete(table.cells)
    texts = [name for name in _ALL if name not in {"date", "time", "datetime"}]
    cells = cells.with_columns(
        pl.when(pl.col(texts).str.strip_chars() != _NONE).then(pl.col(texts)),
        pl.concat_str("date", "time", separator=" ", ignore_nulls=True).replace("", None).alias("datetime"),
    )
    return _read(table, cells, table.tz, order="mdy")


def _read_instants(cells: pl.DataFrame, tz: ZoneInfo, order: Order | None) -> tuple[pl.Series, list[Problem]]:
    """Return the instants of a statement, and a problem for each file of ambiguous dates.

    Dates that end in the year were written by a spreadsheet, unless the format has an order of its own: only a day
    above 12 shows their order in a file.
    """
    instants = parse_instants(cells["datetime"], tz=tz)
    rewritten = cells.filter(pl.col("datetime").str.contains(_YEAR_LAST))
    if rewritten.is_empty():
        return instants, []
    day_first: list[object] = []
    problems: list[Problem] = []
    for (file,), part in rewritten.group_by("file", maintain_order=True):
        orders = list_orders(part["datetime"])
        if orders == ["dmy"]:
            day_first.append(file)
        elif len(orders) > 1 and order is None:
            first = part.select("file", "line", "datetime", payment_id="id").head(1)
            problems += list_problems(
                first,
                first["line"].is_not_null(),
                first["datetime"],
                field="datetime",
                code="ambiguous_date",
                details=("month/day/year",),
            )
    is_day_first = cells["file"].is_in(day_first)
    return parse_instants(cells["datetime"], tz=tz, order="dmy").zip_with(is_day_first, instants), problems


def _complete(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with every field that is read, null where the header has no such column."""
    fields = [pl.col(name) if name in cells.columns else pl.lit(None, pl.String).alias(name) for name in _ALL]
    plain = pl.col("id").str.strip_chars("\"'=\t ").replace("", None)
    return cells.select("file", "line", *fields).with_columns(plain.str.replace(_DECIMALS, "$id"))


def _map_words(cells: pl.Series, find: Callable[[str], str | None]) -> pl.Series:
    """Return what a function finds for each distinct text, trimmed and in lower case."""
    words = cells.drop_nulls().unique()
    found = pl.Series([find(word.strip().lower()) for word in words], dtype=pl.String)
    return cells.replace_strict(words, found, default=None, return_dtype=pl.String)


def _read(table: Table, cells: pl.DataFrame, tz: ZoneInfo, *, order: Order | None = None) -> Reading:
    instants, problems = _read_instants(cells, tz, order)
    problems += _check_ids(cells.select("file", "line", "id"))
    handles = _read_handles(table.preambles, cells)
    cells = cells.with_columns(
        *_read_amounts(cells),
        instants.alias("instant"),
        _is_notice(cells),
        _map_words(cells["type"], _find_kind).fill_null(_UNKNOWN).alias("kind"),
        _map_words(cells["type"], _ACTIONS.get).alias("action"),
        _map_words(cells["status"], STATUSES.get).alias("known_status"),
        _is_paid_elsewhere(cells["funding_source"]).alias("is_paid_elsewhere"),
        pl.col("file").replace_strict(handles, default=None, return_dtype=pl.String).alias("account"),
    )
    rows = _find_holders(_describe(cells))
    problems = [*problems, *_list_unread_cells(cells), *_list_unknown_words(rows)]
    return Reading(complete_rows(rows), problems, _read_periods(table.preambles, tz))


def _read_amounts(cells: pl.DataFrame) -> list[pl.Series]:
    """Return the cents of each field of amounts.

    The service writes "- $1,234.50". A spreadsheet saves "- 1.234,50 $" in another language, and "($1,234.50)" for a
    negative amount; both can mean one amount only. Without decimals, as in "1.234 $", the others of the file have
    to show which separator it uses.

    Raises
    ------
    StatementError
        They do not.
    """
    columns = []
    for name in _AMOUNTS:
        cents = parse_money(cells[name], symbol="$")
        if (cents.is_null() & cells[name].str.contains("[0-9]").fill_null(value=False)).any():
            text = cells[name].str.replace(_BRACKETS, "-$1$2")
            with_point = parse_money(text, symbol="$")
            cents = with_point.zip_with(cents.is_null(), cents)
            with_comma = parse_money(text, decimal_comma=True, symbol="$")
            is_only = cents.is_null() & with_comma.is_not_null()
            if is_only.any():
                _require_decimals(cells, is_only & ~text.str.contains(_DECIMAL_COMMA), name)
                cents = with_comma.zip_with(is_only, cents)
        if name == "total":
            _require_readable(cells, cents)
        columns.append(cents.alias(f"{name}_cents"))
    return columns


def _require_readable(cells: pl.DataFrame, cents: pl.Series) -> None:
    """Refuse a file of several rows of which no amount can be read."""
    if cents.null_count() < _SEVERAL:
        return
    given = cells.select("file", "line", text=pl.col("total").str.strip_chars()).with_columns(cents.alias("cents"))
    given = given.filter(pl.col("text") != "")
    counts = given.group_by("file", maintain_order=True).agg(
        pl.len(), pl.col("cents").count(), pl.first("line", "text")
    )
    unread = counts.filter(pl.col("cents") == 0, pl.col("len") >= _SEVERAL)
    if not unread.is_empty():
        file, line, text, count = unread.select("file", "line", "text", "len").row(0)
        raise StatementError(
            f"{file}, line {line}: {text[:_LONGEST]!r} is not an amount of US dollars, and none of the {count:,} "
            "amounts of the file is: download the file again and do not save it with a spreadsheet."
        )


def _require_decimals(cells: pl.DataFrame, is_open: pl.Series, name: str) -> None:
    """Refuse an amount such as "1.234 $" in a file of which no amount has a decimal comma, or one has a point."""
    if not is_open.any():
        return
    has = [pl.any_horizontal(pl.col(_AMOUNTS).str.contains(text)) for text in (_DECIMAL_COMMA, _DECIMAL_POINT)]
    files = cells.group_by("file").agg(comma=has[0].any(), point=has[1].any())
    known = files.filter(pl.col("comma") & ~pl.col("point"))["file"]
    unknown = cells.filter(is_open & ~cells["file"].is_in(known.to_list()))
    if not unknown.is_empty():
        file, line, text = unknown.select("file", "line", name).row(0)
        raise StatementError(
            f"{file}, line {line}: the amount {text.strip()} was rewritten by a spreadsheet, and no other one shows "
            "whether its point separates thousands or decimals: download the file again and do not save it with one."
        )


def _is_notice(cells: pl.DataFrame) -> pl.Series:
    """Return which rows are no transactions: balances, fees, disclaimers and the summary of assets."""
    has_nothing = pl.all_horizontal(pl.col("id", "datetime", "type", "total").is_null())
    titles = pl.col("margin", "username", "id").str.to_lowercase().str.starts_with(_SUMMARY)
    is_title = pl.any_horizontal(titles).fill_null(value=False)
    below_title = is_title.cum_max().over("file") & pl.col("total").is_null()
    expression = has_nothing | below_title if cells.select(is_title.any()).item() else has_nothing
    return cells.select(expression.alias("is_notice")).to_series()


def _describe(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ROWS that follow from a row alone."""
    is_notice, kind = pl.col("is_notice"), pl.col("kind")
    transaction = {
        "payment_id": pl.col("id"),
        "date": pl.col("instant"),
        "type": pl.col("type"),
        "status": pl.coalesce("known_status", "status"),
        "action": pl.col("action"),
        "note": pl.col("note"),
        "from_name": pl.col("from"),
        "to_name": pl.col("to"),
        "flow_cents": _find_flow(),
        "fee_cents": pl.col("fee_cents").abs(),
        "tip_cents": pl.col("tip_cents"),
        "tax_cents": pl.col("tax_cents"),
        "funding_source": pl.col("funding_source"),
        "destination": pl.col("destination"),
        "moved_cents": _find_moved(),
    }
    return cells.select(
        "file",
        "line",
        "account",
        pl.lit("USD").alias("currency"),
        pl.when(is_notice).then(pl.lit(_NOTICE)).when(kind != _REFUND).then(kind).alias("kind"),
        pl.when(is_notice).then("beginning_cents").alias("opening_cents"),
        pl.when(is_notice).then("ending_cents").alias("closing_cents"),
        *(pl.when(~is_notice).then(expression).alias(name) for name, expression in transaction.items()),
    )


def _find_kind(word: str) -> str:
    """Return the bin of a type; refunds get one when the payments of all files are known."""
    if word == _REFUND:
        return _REFUND
    if _ASSET_WORD in word:
        return "asset"
    last_word = word.rpartition(" ")[2]
    return last_word if last_word in _LAST_WORDS else _KINDS.get(word, _UNKNOWN)


def _is_paid_elsewhere(sources: pl.Series) -> pl.Series:
    banks_and_cards = [source for source in sources.unique() if is_bank_or_card(source)]
    return sources.is_in(banks_and_cards).fill_null(value=False)


def _find_flow() -> pl.Expr:
    """Return the amounts; that of a transfer with the fee, which is in the net of a business statement alone."""
    total, net = pl.col("total_cents"), pl.col("net_cents")
    has_fee_apart = (pl.col("kind") == "transfer") & (total < 0) & (net == total - pl.col("fee_cents").abs())
    return pl.when(has_fee_apart.fill_null(value=False)).then(net).otherwise(total)


def _find_moved() -> pl.Expr:
    """Return by how much rows changed the balance; null for an unknown status."""
    status = pl.col("known_status")
    settled = pl.when(~pl.col("is_paid_elsewhere")).then(pl.coalesce("net_cents", "total_cents")).otherwise(0)
    return pl.when(status == Status.SETTLED.value).then(settled).when(status.is_not_null()).then(0)


def _list_unread_cells(cells: pl.DataFrame) -> list[Problem]:
    """Return a problem for each amount, datetime and balance that cannot be read, and for each missing id."""
    problems: list[Problem] = []
    values = {name: f"{name}_cents" for name in _AMOUNTS} | {"datetime": "instant"}
    for name, value in values.items():
        is_missing = pl.col(value).is_null() & (pl.col("is_notice") == (name in _STATED))
        if name not in {"total", "datetime"}:
            is_missing &= pl.col(name).is_not_null()
        part = cells.filter(is_missing).select("file", "line", name, value, pl.col("id").alias("payment_id"))
        if part.is_empty():
            continue
        code, word = (NOT_A_DATE, "date") if name == "datetime" else (NOT_AN_AMOUNT, "amount")
        problems += list_unreadable(part, part[name], part[value], field=name, code=code)
        if name in {"total", "datetime"}:
            problems += list_problems(
                part, part[name].is_null(), part[name], field=name, code="missing", details=(word,)
            )
    missing = cells.filter(pl.col("id").is_null() & ~pl.col("is_notice"))
    return problems + list_problems(
        missing, missing["id"].is_null(), missing["id"], field="id", code="missing", details=("id",)
    )


def _list_unknown_words(rows: pl.DataFrame) -> list[Problem]:
    is_transaction = pl.col("kind").fill_null(_UNKNOWN) != _NOTICE
    is_known = pl.col("status").is_in(list(STATUSES.values())).fill_null(value=False)
    problems: list[Problem] = []
    for name, is_strange in (("type", pl.col("kind") == _UNKNOWN), ("status", ~is_known)):
        part = rows.filter(is_transaction & is_strange)
        problems += list_problems(part, part["line"].is_not_null(), part[name], field=name, code=f"unknown_{name}")
    return problems


def _read_handles(preambles: Mapping[str, Sequence[Sequence[str]]], cells: pl.DataFrame) -> dict[str, str | None]:
    """Return the account of each file: the handle before the header, else the first one in the column of usernames."""
    handles = {file: _find_handle(lines) for file, lines in preambles.items()}
    named = cells.select("file", _USERNAME).filter(pl.col(_USERNAME).is_not_null())
    names = named.filter(pl.col(_USERNAME).str.strip_chars().str.contains(r"^\S+$"))
    for file, name in names.group_by("file", maintain_order=True).agg(pl.col(_USERNAME).first()).iter_rows():
        handles[file] = handles.get(file) or name.strip().removeprefix("@")
    return handles


def _read_periods(
    preambles: Mapping[str, Sequence[Sequence[str]]], tz: ZoneInfo
) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Return the first and last moment of the period in the title, such as "June 1st to September 1st 2021".

    Its days are those of the zone of the file's datetimes.
    """
    found: dict[str, tuple[datetime | None, datetime | None]] = {}
    for file, lines in preambles.items():
        period = next(filter(None, (_find_period(" ".join(line), tz) for line in lines)), None)
        if period is not None:
            found[file] = period
    return found


def _find_holders(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with ``owner`` and the ``direction`` of their sign, as far as their own file shows them."""
    flow = pl.col("flow_cents")
    unknown = dict.fromkeys(("counterparty_name", "counterparty_username", "counterparty_id"), pl.lit(None, pl.String))
    rows = rows.with_columns(
        pl.when(flow > 0).then(pl.lit("in")).when(flow < 0).then(pl.lit("out")).alias("direction"), **unknown
    )
    owners = find_owners(rows, "file")
    return rows.join(owners, left_on="file", right_on="key", how="left", maintain_order="left")


def _find_handle(lines: Sequence[Sequence[str]]) -> str | None:
    for line in lines:
        found = _HANDLE.search(" ".join(line))
        if found:
            return found[1]
        if len(line) > 1 and line[0].strip().casefold() == _USERNAME and line[1].strip():
            return line[1].strip().removeprefix("@")
    return None


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

    One id of 17 digits in a hundred ends in two zeros, so it may be the true id of a file with one payment.

    Parameters
    ----------
    rows : polars.DataFrame
        ``file``, ``line`` and ``id`` of transactions.

    Raises
    ------
    StatementError
        Ids are numbers in scientific notation, or were rounded by a spreadsheet or a float.
    """
    rows = rows.filter(pl.col("id").is_not_null())
    text = pl.col("id")
    is_long = text.str.contains(r"^[1-9][0-9]{16,18}$")
    others = rows.filter(~is_long)
    _refuse(others.filter(text.str.contains(_REWRITTEN)))
    long = (rows if others.is_empty() else rows.filter(is_long)).with_columns(number=text.cast(pl.Int64, strict=False))
    if long.is_empty():
        return []
    has_zeros = text.str.contains("^[0-9]{15}0+$")
    is_float = pl.col("number") == pl.col("number").cast(pl.Float64).cast(pl.Int64, strict=False)
    counts = long.group_by("file", maintain_order=True).agg(
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
    _refuse(counts.filter((many_zeros & ~is_accident) | all_floats))
    doubtful = counts.filter(pl.col("zeros") == pl.col("count")).with_columns(pl.col("id").alias("payment_id"))
    return list_problems(doubtful, doubtful["id"].is_not_null(), doubtful["id"], field="id", code="rounded_id")


def _refuse(rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    file, line, text = rows.select("file", "line", "id").row(0)
    raise StatementError(
        f"{file}, line {line}: the id {text} was rounded by a spreadsheet or another program, and cannot be restored: "
        "download the file again and do not save it with one, or leave it out if it is a copy."
    )


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
_ALWAYS: Final = ("id", "datetime", "type", "status", "from", "to", "total")


def _declare(name: str, columns: Mapping[str, tuple[str, ...]], *required: str) -> StatementFormat:
    has_balances = "beginning" in required
    return StatementFormat(
        name, columns, (*_ALWAYS, *required), _read_personal, PERSONAL, zone="UTC", has_closing_row=has_balances
    )


TO_2018: Final = _declare("statement_a", _TRANSACTION)
TO_2020: Final = _declare("statement_b", _TRANSACTION | _BALANCES, "beginning")
OF_2021: Final = _declare("statement_c", _TRANSACTION | _BALANCES | _TIPS, "beginning", "tip")
FROM_2022: Final = _declare("statement_d", _TRANSACTION | _BALANCES | _TIPS | _TAXES, "beginning", "tax")
BUSINESS: Final = StatementFormat(
    "statement_e",
    {key: names for key, names in _TRANSACTION.items() if key != "datetime"} | _BALANCES | _TIPS | _TAXES | _BUSINESS,
    ("id", "date", "time", "type", "status", "from", "to", "total"),
    _read_business,
    zone="UTC",
)
FULL_BUSINESS: Final = replace(BUSINESS, required=(*BUSINESS.required, "beginning", "ending"), has_closing_row=True)
