"""Text of columns to exact cents, UTC instants and words, and the problems of cells that cannot be read.

All amounts are whole hundredths of the unit of their currency, also where the currency has no minor unit: 1,200 yen are
120000. A cell that is not exactly an amount or a datetime is null in the result.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import polars as pl

from p2p_analytics.currencies import WITH_MILLS
from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.errors import StatementError
from p2p_analytics.money import LARGEST_CENTS
from p2p_analytics.statements.formats.format import Reading, normalize_name
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import UNKNOWN, complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

Order: TypeAlias = Literal["mdy", "dmy"]
ORDERS: Final[tuple[Order, ...]] = ("mdy", "dmy")

_SPACES: Final = "[\u00a0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff\t\r\n]"
_MINUS: Final = "[\u2010-\u2015\u2212\ufe63\uff0d]"
_SYMBOL: Final = r"(?:[A-Za-z]{0,3}\p{Sc}|[A-Z]{3}|kr\.?|zł|Kč|Ft|Rs\.?)"
_WITH_POINTS: Final = r"^\s*[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"

_DATE: Final = (
    r"(?:((?:19|20|21)[0-9]{2})([-/.])([0-9]{1,2})[-/.]([0-9]{1,2})"
    r"|([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]((?:19|20|21)[0-9]{2}))"
)
_TIME: Final = (
    r"(?:(?:[Tt]| *,? +)([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,9}))?)?(?: *([AaPp])\.?[Mm]\.?)?"
)
_ZONE: Final = r"(?: *\(?([Zz]|[+-][0-9]{2}:?[0-9]{2}|[A-Za-z][A-Za-z0-9_+:/-]{1,40})\)?)?)?"
_MOMENT: Final = rf"^\s*{_DATE}{_TIME}{_ZONE}\s*$"
_COMMON: Final = r"^(?:19|20|21)[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9]$"

_MONTHS: Final = {name.lower(): f"-{number}-" for number, name in enumerate(MONTH_NAMES, 1)}
_MONTH: Final = r"([A-Za-z]{3})[a-z]{0,6}\.?"
_WORDED: Final = rf"^\s*(?:{_MONTH} ([0-9]{{1,2}}),? ([0-9]{{4}})|([0-9]{{1,2}})\.? {_MONTH},? ([0-9]{{4}}))"

# An abbreviation means this offset also where the time zone database has a zone of that name with summer time.
# Abbreviations of several zones that statement files do not use, such as IST, are not listed.
_OFFSET_HOURS: Final = {
    "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8,
    "HST": -10, "AST": -4, "ADT": -3, "BRT": -3, "SGT": 8, "HKT": 8, "JST": 9, "AWST": 8, "AEST": 10, "AEDT": 11,
    "NZST": 12, "NZDT": 13,
}  # fmt: skip
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", re.ASCII)
_SECONDS_PER_MINUTE: Final = 60
_LARGEST_OFFSET_HOURS: Final = 15


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
    groups = _use_plain_characters(cells).str.extract_groups(pattern).struct.unnest()
    first, second, whole, part, third = (pl.col(name) for name in groups.columns)
    sign = pl.concat_str(first, second, third, ignore_nulls=True)
    is_amount = (whole.is_not_null() | part.is_not_null()) & (sign.str.len_bytes() <= 1)
    units = whole.fill_null("0").str.replace_all("[^0-9]", "")
    text = sign.str.replace("+", "", literal=True) + units + part.fill_null("").str.pad_end(2, "0")
    cents = pl.when(is_amount).then(text).cast(pl.Int64, strict=False)
    has_size = cents >= -LARGEST_CENTS  # the least integer of 64 bits has no absolute value
    return groups.select(pl.when(has_size).then(cents).alias(cells.name)).to_series()


def parse_instants(
    cells: pl.Series, *, tz: ZoneInfo, order: Order | pl.Series = "mdy", zones: pl.Series | None = None
) -> pl.Series:
    """Return datetimes as UTC instants.

    A datetime is a date, alone or with a time, or with a time and a zone: ``2024-05-31T18:30:00Z``,
    ``2024-05-31 18:30 CDT``, ``05/31/2024, 6:30:15 PM``, ``31 May 2024``, or ``31.05.2024`` with the order "dmy".
    A date alone means its first moment. The zone is an offset, a name of the time zone database or one of the
    abbreviations that statement files use; each abbreviation is a fixed offset.

    A local time that occurs twice, because the clock was put back, means the first one. One that the clock skipped
    when it was put forward is read with the offset before the change, as `datetime` does with ``fold=0``.

    Parameters
    ----------
    cells : polars.Series
        Text. Date and time of two columns are joined with a space.
    tz : ZoneInfo
        Zone of datetimes without one.
    order : {"mdy", "dmy"} or polars.Series
        Whether the month or the day is first in a date that ends in the year; or of each cell, whether it is the day.
    zones : polars.Series, optional
        The zone of each cell, from a separate column; a zone in the cell wins.

    Returns
    -------
    polars.Series
        Datetime("us", "UTC"); null for a cell without text or with other text, for dates that do not exist, for
        years outside 1900 to 2199 and for unknown zones.
    """
    cells = cells.cast(pl.String)
    if cells.null_count() == len(cells):
        return pl.Series(cells.name, [None] * len(cells), pl.Datetime("us", "UTC"))
    if zones is None and cells.str.contains(_COMMON).all():
        common = cells.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
        return _convert(common.to_frame("local"), tz.key or "UTC").alias(cells.name)
    groups = _number_months(_use_plain_characters(cells)).str.extract_groups(_MOMENT).struct.unnest()
    (year, _, month, day, one, two, late_year, hour, minute, second, fraction, half, zone) = (
        pl.col(name) for name in groups.columns
    )
    is_day_first = pl.lit(value=order == "dmy") if isinstance(order, str) else pl.lit(order)
    first, last = (pl.when(is_day_first).then(late).otherwise(early) for early, late in ((one, two), (two, one)))
    noon, number, half = 12, hour.fill_null("0").cast(pl.Int64), half.str.to_lowercase()
    in_day = number % noon + pl.when(half == "p").then(noon).otherwise(0)
    # An hour such as 13 PM is null.
    of_half = pl.when(number.is_between(1, noon)).then(in_day)
    hours = pl.when(half.is_null()).then(number).otherwise(of_half).cast(pl.String).str.zfill(2)
    date = [pl.coalesce(year, late_year), pl.coalesce(month, first), pl.coalesce(day, last)]
    micros = fraction.fill_null("").str.slice(0, 6).str.pad_end(6, "0")
    moment = pl.format("{}-{}-{} {}:{}:{}.{}", *date, hours, minute.fill_null("00"), second.fill_null("00"), micros)
    if zones is not None:
        zone = pl.coalesce(zone, pl.lit(zones.cast(pl.String).str.strip_chars().replace("", None)))
    local = moment.str.to_datetime("%Y-%m-%d %H:%M:%S%.6f", time_unit="us", strict=False)  # null without date or hour
    return _read_zones(groups.select(local=local, zone=zone), tz).alias(cells.name)


def list_orders(cells: pl.Series) -> list[Order]:
    """Return the orders of day and month in which all dates that end in the year exist; with points, the day first."""
    cells, months = cells.cast(pl.String), 12
    numbers = cells.str.extract_groups(_MOMENT).struct.unnest().select(pl.nth(4, 5).cast(pl.Int64).max()).row(0)
    possible = [order for order, number in zip(ORDERS, numbers, strict=True) if (number or 1) <= months]
    return ["dmy"] if len(possible) > 1 and cells.str.contains(_WITH_POINTS).any() else possible


def _number_months(cells: pl.Series) -> pl.Series:
    """Return dates with an English month, such as "24 Mar 2020" or "Apr 2, 2019", as "2020-3-24"."""
    if not cells.str.contains(_WORDED).any():
        return cells
    groups = cells.str.extract_groups(_WORDED).struct.unnest()
    month, day, year, other_day, other_month, other_year = (pl.col(name) for name in groups.columns)
    number = pl.coalesce(month, other_month).str.to_lowercase().replace_strict(_MONTHS, default=None)
    rest = pl.lit(cells.str.replace(_WORDED, ""))
    date = pl.concat_str(pl.coalesce(year, other_year), number, pl.coalesce(day, other_day), rest)
    return groups.select(pl.coalesce(date, pl.lit(cells))).to_series()


def _use_plain_characters(cells: pl.Series) -> pl.Series:
    """Return text with plain spaces and minus signs."""
    if not cells.str.contains(r"[^ -~]").any():
        return cells
    return cells.str.replace_all(_SPACES, " ").str.replace_all(_MINUS, "-")


def _read_zones(read: pl.DataFrame, tz: ZoneInfo) -> pl.Series:
    """Return the instants of local times with the zones named beside them."""
    zones = {name: _find_zone(name) for name in read["zone"].drop_nulls().unique().sort()}
    offsets: dict[str, Any] = {name: zone for name, zone in zones.items() if isinstance(zone, int)}
    default = _convert(read.select("local"), tz.key or "UTC")
    seconds = pl.col("zone").replace_strict(offsets or {"": 0}, default=None, return_dtype=pl.Int64)
    with_offset = pl.col("local").dt.replace_time_zone("UTC") - pl.duration(seconds=seconds)
    instants = [pl.when(pl.col("zone").is_null()).then(pl.lit(default)), with_offset]
    named = [
        pl.when(pl.col("zone") == name).then(pl.lit(_convert(read, zone)))
        for name, zone in zones.items()
        if isinstance(zone, str)
    ]
    return read.select(pl.coalesce(*instants, *named)).to_series()


def _find_zone(name: str) -> int | str | None:
    """Return the offset in seconds, or the name in the time zone database, of a zone; None if it is unknown."""
    hours = _OFFSET_HOURS.get(name.upper())
    if hours is not None:
        return hours * _SECONDS_PER_MINUTE**2
    if offset := _OFFSET.fullmatch(name.upper()):
        hour, minute = int(offset[2]), int(offset[3] or 0)
        seconds = (hour * _SECONDS_PER_MINUTE + minute) * _SECONDS_PER_MINUTE
        is_offset = hour <= _LARGEST_OFFSET_HOURS and minute < _SECONDS_PER_MINUTE
        return (-seconds if offset[1] == "-" else seconds) if is_offset else None
    return name if "/" in name and has_zone(name) else None


@lru_cache
def has_zone(name: str) -> bool:
    """Return whether Polars knows a zone of the time zone database."""
    try:
        pl.Series([None], dtype=pl.Datetime("us")).dt.replace_time_zone(name)
    except pl.exceptions.PolarsError:
        return False
    return True


def _convert(read: pl.DataFrame, zone: str) -> pl.Series:
    """Return the instants of the column ``local`` in a zone."""
    local = pl.col("local")
    if zone == "UTC":
        return read.select(local.dt.replace_time_zone("UTC")).to_series()
    # The clock skips an hour, or a day where a country changed to the other side of the date line.
    skips = (pl.duration(), pl.duration(hours=1), pl.duration(days=1))
    read_as = [
        (local - skip).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null") + skip for skip in skips
    ]
    return read.select(pl.coalesce(read_as).dt.convert_time_zone("UTC")).to_series()


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
