"""Text of columns to exact cents, dates and words, and the problems of cells that cannot be read.

All amounts are whole hundredths of the unit of their currency, also where the currency has no minor unit: 1,200 yen are
120000. A cell that is not exactly an amount or a datetime is null in the result.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.currencies import WITH_MILLS
from p2p_analytics.errors import StatementError
from p2p_analytics.money import LARGEST_CENTS
from p2p_analytics.statements.formats.format import Reading, normalize_name
from p2p_analytics.statements.formats.instants import list_orders, parse_instants, use_plain_characters
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import UNKNOWN, complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.formats.instants import Order
    from p2p_analytics.statements.problems import Problem

_SYMBOL: Final = r"(?:[A-Za-z]{0,3}\p{Sc}|[A-Z]{3}|kr\.?|zł|Kč|Ft|Rs\.?)"


def parse_money(cells: pl.Series, *, decimal_comma: bool = False, symbol: str | None = None) -> pl.Series:
    """Return amounts of money as whole cents.

    An amount is digits, with or without separated thousands, and at most two decimals, such as ``- $1,234.56``,
    ``+ $45``, ``42.5``, or ``-12,30 EUR`` with ``decimal_comma``. One sign may be at the start, after the currency or
    at the end. All kinds of space and of minus sign are accepted.

    Parameters
    ----------
    cells : polars.Series
        Text.
    decimal_comma : bool
        True if a comma separates the decimals and a point the thousands.
    symbol : str, optional
        The only currency symbol or code that amounts may have, such as "$"; by default any.

    Returns
    -------
    polars.Series
        Int64; null for a cell without text, with "(None)" or with other text, and for amounts beyond 64 bits.
    """
    cells = cells.cast(pl.String)
    distinct = cells.unique()
    if 2 * len(distinct) < len(cells):  # such as tips, most of which are empty or 0
        found = parse_money(distinct, decimal_comma=decimal_comma, symbol=symbol)
        return cells.replace_strict(distinct, found, return_dtype=pl.Int64)
    currency = _SYMBOL if symbol is None else re.escape(symbol)
    thousands, decimal = ("[. '’]", ",") if decimal_comma else ("[, '’]", r"\.")  # noqa: RUF001 - Swiss thousands
    whole_part = rf"[0-9]{{1,3}}(?:{thousands}[0-9]{{3}})+|[0-9]+"
    number = rf"({whole_part})?(?:{decimal}([0-9]{{1,2}}))?"
    pattern = rf"^ *([-+]?) *(?:{currency})? *([-+]?) *{number} *(?:{currency})? *([-+]?) *$"
    groups = use_plain_characters(cells).str.extract_groups(pattern).struct.unnest()
    first, second, whole, part, third = (pl.col(name) for name in groups.columns)
    sign = pl.concat_str(first, second, third, ignore_nulls=True)
    is_amount = (whole.is_not_null() | part.is_not_null()) & (sign.str.len_bytes() <= 1)
    units = whole.fill_null("0").str.replace_all("[^0-9]", "")
    text = sign.str.replace("+", "", literal=True) + units + part.fill_null("").str.pad_end(2, "0")
    cents = pl.when(is_amount).then(text).cast(pl.Int64, strict=False)
    has_size = cents >= -LARGEST_CENTS  # the least integer of 64 bits has no absolute value
    return groups.select(pl.when(has_size).then(cents).alias(cells.name)).to_series()


_ENGLISH: Final = frozenset({"currency", "amount", "gross", "cost"})  # names of columns in no other language
_AGAIN: Final = "download the file again and do not save it with a spreadsheet"
_SEVERAL: Final = 3  # amounts of a file
_LONGEST: Final = 40  # characters of a cell in a message
DECIMAL_COMMA: Final = r",[0-9]{1,2}[^0-9]*$"
DECIMAL_POINT: Final = r"\.[0-9]{1,2}[^0-9]*$"
YEAR_LAST: Final = r"^\s*[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}"
_NUMBER_FIRST: Final = r"^\s*[0-9]{1,2}[-/.]"
_READ_AS: Final = {"mdy": "month/day/year", "dmy": "day/month/year"}
_GERMAN_ZONES: Final = {"MEZ": "CET", "MESZ": "CEST"}

# Words in the status columns of several services and languages, in lower case.
STATUSES: Final[dict[str, Status]] = {
    word: status
    for status, words in {
        Status.SETTLED: (
            "complete", "completed", "settled", "paid", "refunded", "partially refunded", "reversed",
            "partially reversed",
            "abgeschlossen", "rückzahlung", "rückerstattet", "teilweise rückerstattet",
            "completata", "completato", "rimborsata", "rimborsato",
            "completado", "completada", "reembolsado", "reembolsada",
            "terminé", "terminée", "effectué", "effectuée", "remboursé", "remboursée",
            "voltooid", "terugbetaald", "concluído", "concluída",
        ),
        Status.PENDING: (
            "pending", "held", "on hold", "unclaimed", "uncleared", "waiting", "in progress", "processing",
            "ausstehend", "offen", "in bearbeitung", "einbehalten", "nicht eingelöst",
            "in sospeso", "in attesa", "pendiente", "retenido", "en attente", "en cours",
            "in behandeling", "in afwachting", "openstaand", "pendente",
        ),
        Status.FAILED: (
            "failed", "denied", "declined", "returned", "rejected",
            "abgelehnt", "fehlgeschlagen", "rifiutata", "rifiutato", "non riuscita", "non riuscito",
            "rechazado", "rechazada", "denegado", "fallido", "refusé", "refusée", "échoué", "échouée",
            "geweigerd", "mislukt", "recusado", "recusada", "falhou", "falhada",
        ),
        Status.EXPIRED: (
            "expired", "abgelaufen", "scaduta", "scaduto", "caducado", "expiré", "expirée", "verlopen", "expirado",
        ),
        Status.CANCELLED: (
            "cancelled", "canceled", "reverted", "voided", "removed",
            "storniert", "abgebrochen", "rückgängig gemacht", "rückgängig", "zurückgesetzt",
            "annullata", "annullato", "stornata", "stornato", "cancelado", "cancelada", "revertido", "revertida",
            "annulé", "annulée", "rétabli", "geannuleerd", "teruggedraaid",
        ),
    }.items()
    for word in words
}  # fmt: skip


def is_english(table: Table) -> bool:
    """Return whether the header names a currency or an amount in English."""
    return any(normalize_name(name) in _ENGLISH for name in table.header)


def blank_cells(table: Table) -> Table:
    """Return a table in which texts have no spaces around them and equal line ends; a text of spaces is null."""
    fields = [name for name in table.cells.columns if name not in {"file", "line"}]
    text = pl.col(fields).str.strip_chars().str.replace_all("\r\n", "\n", literal=True)
    return replace(table, cells=table.cells.with_columns(pl.when(text != "").then(text).name.keep()))


def read_money(
    table: Table, fields: Sequence[str], problems: list[Problem], *, decimal: str | None = None
) -> pl.DataFrame:
    """Return the cents of money fields, and add a problem for each cell that is not an amount.

    Unless ``decimal`` is given, the cells of each file show the separator of decimals, else the language of the header.
    """
    cells = table.cells
    evidence = cells.group_by("file").agg(
        pl.any_horizontal(pl.col(name).str.contains(pattern).any() for name in fields).alias(key)
        for key, pattern in (("comma", DECIMAL_COMMA), ("point", DECIMAL_POINT))
    )
    is_comma = pl.lit(value=decimal == ",")
    if decimal is None:
        is_comma = ~pl.col("point") & (pl.col("comma") | (not is_english(table)))
    comma = cells["file"].is_in(evidence.filter(is_comma)["file"].to_list())
    has_mills = pl.repeat(value=False, n=len(cells), eager=True)
    if "currency" in cells.columns:
        has_mills = cells["currency"].str.strip_chars().is_in(WITH_MILLS).fill_null(value=False)
    read: dict[str, pl.Series] = {}
    for name in fields:
        text = cells[name].cast(pl.String)
        if has_mills.any():  # a third decimal that is zero is left out
            text = text.str.replace(r"([.,][0-9]{2})0(\s*)$", "$1$2").zip_with(has_mills, text)
        values = pl.Series(name, [None], pl.Int64).new_from_index(0, len(cells))
        if not comma.all():
            values = parse_money(text)
        if comma.any():
            values = parse_money(text, decimal_comma=True).zip_with(comma, values)
        problems += list_unreadable(list_places(table), cells[name], values, field=name, code=NOT_AN_AMOUNT)
        read[name] = values.alias(name)
    return pl.DataFrame(read)


def require_amounts(texts: pl.DataFrame, cents: pl.Series, advice: str = _AGAIN) -> None:
    """Raise a StatementError if a file has several amounts and none can be read; ``texts``: file, line, text."""
    given = texts.with_columns(cents=cents).drop_nulls("text").group_by("file", maintain_order=True)
    counts = given.agg(pl.first("line", "text"), pl.len(), pl.count("cents"))
    for file, line, text, count, _ in counts.filter(pl.col("cents") == 0, pl.col("len") >= _SEVERAL).head(1).rows():
        raise StatementError(
            f"{file}, line {line}: {text[:_LONGEST]!r} is not an amount, and none of the {count:,} amounts of the file "
            f"is: {advice}."
        )


def read_dates(  # noqa: PLR0913 - what the cells do not show
    table: Table,
    text: pl.Series,
    problems: list[Problem],
    *,
    order: Order | None = None,
    zones: pl.Series | None = None,
    field: str = "date",
) -> pl.Series:
    """Return the instants of a date column, and add its problems; for ``order``, see `find_day_first`.

    A datetime of an unknown zone is read in the zone of the table, which is a problem.
    """
    zones = None if zones is None else zones.str.strip_chars().replace(_GERMAN_ZONES)
    places = list_places(table)
    is_day_first = find_day_first(
        places.drop("payment_id"), text, problems, order=order, field=field, dates=_NUMBER_FIRST
    )
    values = parse_instants(text, tz=table.tz, order=is_day_first, zones=zones)
    if zones is not None and (values.is_null() & zones.is_not_null()).any():
        local = parse_instants(text, tz=table.tz, order=is_day_first)
        is_unknown = values.is_null() & zones.is_not_null() & local.is_not_null()
        problems += list_problems(places, is_unknown, zones, field="zone", code="unknown_zone", details=(table.tz.key,))
        values = local.zip_with(is_unknown, values)
    problems += list_unreadable(places, text, values, field=field, code=NOT_A_DATE)
    return values.alias(field)


def find_day_first(  # noqa: PLR0913 - the dates, and the problem
    places: pl.DataFrame, text: pl.Series, problems: list[Problem], *, order: Order | None, field: str, dates: str
) -> pl.Series:
    """Return which dates that end in the year begin with the day, in the order that is possible in each file.

    Without ``order``, a file in which both are possible is a problem, at the first text that matches ``dates``.
    """
    usual, swapped = order or "mdy", []
    matching = places.with_columns(text.alias("text")).filter(pl.col("text").str.contains(dates))
    if matching.is_empty():
        return pl.repeat(usual == "dmy", len(places), eager=True)
    for (file,), part in matching.group_by("file", maintain_order=True):
        possible = list_orders(part["text"])
        if possible and usual not in possible:
            swapped.append(file)
        elif order is None and len(possible) > 1:
            first = part.head(1)
            is_date, details = first["text"].is_not_null(), (_READ_AS[usual],)
            problems += list_problems(
                first, is_date, first["text"], field=field, code="ambiguous_date", details=details
            )
    return places["file"].is_in(swapped) != (usual == "dmy")


def match_kinds(cells: pl.Series, patterns: Sequence[tuple[str, str]]) -> pl.Series:
    """Return the kind of the first pattern that occurs in each text, in lower case, else "unknown"."""
    distinct = cells.cast(pl.String).unique()
    text = pl.col("text").str.to_lowercase()
    found = [pl.when(text.str.contains(pattern)).then(pl.lit(kind)) for kind, pattern in patterns]
    kinds = distinct.to_frame("text").with_columns(kind=pl.coalesce(*found, pl.lit(UNKNOWN)))["kind"]
    return cells.cast(pl.String).replace_strict(distinct, kinds, return_dtype=pl.String).alias("kind")


def read_statuses(
    table: Table, words: Mapping[str, str], problems: list[Problem], *, verbs: bool, is_done: pl.Series | None
) -> pl.Series:
    """Return the status of each row, by the last word with ``verbs``; a problem for each unknown one, which stays.

    Rows of ``is_done`` are settled whatever an unknown word means.
    """
    text = table.cells["status"]
    word = text.str.extract(r"(\S+)$") if verbs else text
    known = word.str.to_lowercase().replace_strict(dict(words), default=None, return_dtype=pl.String)
    if is_done is not None:
        known = known.zip_with(known.is_not_null() | ~is_done, pl.repeat(str(Status.SETTLED), len(text), eager=True))
    problems += list_problems(
        list_places(table), known.is_null() & text.is_not_null(), text, field="status", code="unknown_status"
    )
    return known.zip_with(known.is_not_null(), text).alias("status")


def find_currencies(table: Table, cells: pl.Series, problems: list[Problem]) -> pl.Series:
    """Return the currency of each row in capitals, else the only one of its file, else null with a problem."""
    text = cells.cast(pl.String).str.strip_chars().str.to_uppercase().replace("", None)
    frame = table.cells.select("file").with_columns(text.alias("currency"))
    given = pl.col("currency").drop_nulls()
    only = pl.when(given.n_unique() == 1).then(given.first()).over("file")
    values = frame.select(pl.coalesce("currency", only)).to_series()
    problems += list_problems(list_places(table), values.is_null(), cells, field="currency", code="missing_currency")
    return values.alias("currency")


def build_reading(
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    subaccounts: Mapping[str, str] | None = None,
    snapshots: Mapping[str, datetime] | None = None,
) -> Reading:
    """Return ROWS of a frame with columns of ROWS, with a problem for each unknown type.

    Direction and sides follow from ``flow_cents`` and ``counterparty_name``; a notice has none. Payments "pay".
    """
    absent = {"counterparty_name", "owner", "type"} - set(frame.columns)
    flow, is_notice = pl.col("flow_cents"), (pl.col("kind") == "notice").fill_null(value=False)
    direction = pl.when(flow > 0).then(pl.lit("in")).when(flow < 0).then(pl.lit("out"))
    frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent).with_columns(
        pl.when(~is_notice).then(direction).alias("direction"),
        pl.when(pl.col("kind") == "payment").then(pl.lit(str(Action.PAY))).alias("action"),
    )
    is_out, is_in = (pl.col("direction") == word for word in ("out", "in"))
    rows = complete_rows(
        frame.with_columns(
            pl.when(is_in).then("counterparty_name").when(is_out).then("owner").alias("from_name"),
            pl.when(is_out).then("counterparty_name").when(is_in).then("owner").alias("to_name"),
        )
    )
    unknown = list_problems(rows, rows["kind"] == UNKNOWN, rows["type"], field="type", code="unknown_type")
    return Reading(rows, [*problems, *unknown], subaccounts=subaccounts or {}, snapshots=snapshots or {})


def blank_notices(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS in which notices have no columns of a transaction, and transactions no opening or closing balance."""
    is_notice = (pl.col("kind") == "notice").fill_null(value=False)
    balances = ("opening_cents", "closing_cents")
    return rows.with_columns(
        pl.when(is_notice).then(pl.col(balances)).name.keep(),
        pl.when(~is_notice).then(pl.exclude("file", "line", "account", "currency", "kind", *balances)).name.keep(),
    )


def list_places(table: Table) -> pl.DataFrame:
    """Return file, line and id of the rows of a table, for its problems."""
    cells = table.cells
    return cells.select("file", "line", payment_id=pl.col("id") if "id" in cells.columns else pl.lit(None, pl.String))
