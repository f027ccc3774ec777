"""Shared pieces of the formats of other services: languages, money, dates, words for kinds and statuses.

All amounts are whole hundredths of the unit of their currency, also where the currency has no minor unit: 1,200 yen are
120000. So every ``_cents`` column divided by 100 is an amount in units, whatever the currency.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from p2p_analytics.currencies import WITH_MILLS
from p2p_analytics.statements.formats.cells import list_orders, parse_instants, parse_money
from p2p_analytics.statements.formats.format import Reading, normalize_name
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from p2p_analytics.statements.formats.cells import Order
    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

Spelling: TypeAlias = str | tuple[str, ...]
Languages: TypeAlias = "Mapping[str, Mapping[str, Spelling]]"
ENGLISH: Final = "en"
UNKNOWN: Final = "unknown"

_DECIMAL_COMMA: Final = r",[0-9]{1,2}[^0-9]*$"
_DECIMAL_POINT: Final = r"\.[0-9]{1,2}[^0-9]*$"
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


def merge_names(languages: Languages) -> dict[str, tuple[str, ...]]:
    """Return the header names of each field in all languages."""
    fields = dict.fromkeys(key for names in languages.values() for key in names)
    return {
        key: tuple(
            dict.fromkeys(name for names in languages.values() if key in names for name in _as_tuple(names[key]))
        )
        for key in fields
    }


def find_language(header: Iterable[str], languages: Languages) -> str:
    """Return the language with the most names of a header; of several, the first."""
    present = {normalize_name(name) for name in header}
    counts = {
        language: sum(normalize_name(name) in present for value in names.values() for name in _as_tuple(value))
        for language, names in languages.items()
    }
    return max(counts, key=lambda language: counts[language])


def has_column(table: Table, *names: str) -> bool:
    """Return whether the header has one of these names."""
    present = {normalize_name(name) for name in table.header}
    return any(normalize_name(name) in present for name in names)


def blank_cells(table: Table) -> Table:
    """Return a table in which cells of spaces alone are null, ids have no spaces around them, and lines end alike."""
    fields = [name for name in table.cells.columns if name not in {"file", "line"}]
    text = [pl.col(name).str.replace_all("\r\n", "\n", literal=True) for name in fields]
    has_text = [pl.when(cell.str.strip_chars() != "").then(cell) for cell in text]
    ids = [pl.col(name).str.strip_chars() for name in ("id", "reference") if name in fields]
    return replace(table, cells=table.cells.with_columns(has_text).with_columns(ids))


def read_money(
    table: Table, fields: Sequence[str], *, currency: str = "currency", language: str = ENGLISH
) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the cents of money fields, and a problem for each cell that is no amount.

    Whether a comma or a point separates the decimals is found in the cells of each file. Where no cell of a file has
    one or two decimals, the language of the header decides.
    """
    cells = table.cells
    evidence = cells.group_by("file").agg(
        pl.any_horizontal(pl.col(name).str.contains(_DECIMAL_COMMA).any() for name in fields).alias("comma"),
        pl.any_horizontal(pl.col(name).str.contains(_DECIMAL_POINT).any() for name in fields).alias("point"),
    )
    is_comma = pl.col("comma") & ~pl.col("point") if language == ENGLISH else ~pl.col("point")
    has_comma = cells.select("file").join(evidence, on="file", how="left", maintain_order="left").select(is_comma)
    comma = has_comma.to_series().fill_null(value=False)
    read, problems = {}, []
    for name in fields:
        text = _shorten_mills(cells, name, currency)
        values = pl.Series(name, [None], pl.Int64).new_from_index(0, len(cells))
        if not comma.all():
            values = parse_money(text)
        if comma.any():
            values = parse_money(text, decimal_comma=True).zip_with(comma, values)
        problems += list_unreadable(list_places(table), cells[name], values, field=name, code=NOT_AN_AMOUNT)
        read[name] = values.alias(name)
    return pl.DataFrame(read), problems


def _shorten_mills(cells: pl.DataFrame, name: str, currency: str) -> pl.Series:
    """Return amounts without a third decimal that is zero, in the currencies that have three."""
    text = cells[name].cast(pl.String)
    if currency not in cells.columns:
        return text
    has_mills = cells[currency].str.strip_chars().is_in(WITH_MILLS).fill_null(value=False)
    return text.str.replace(r"([.,][0-9]{2})0(\s*)$", "$1$2").zip_with(has_mills, text) if has_mills.any() else text


def read_dates(
    table: Table, cells: pl.Series, *, order: Order | None = None, zones: pl.Series | None = None, field: str = "date"
) -> tuple[pl.Series, list[Problem]]:
    """Return the instants of a date column, and its problems.

    Parameters
    ----------
    table : Table
        Table of the cells.
    cells : polars.Series
        Dates, with or without a time.
    order : {"mdy", "dmy"}, optional
        Order of day and month that the service or the language of the file has. A file in which this order is
        impossible is read in the other one. None if nothing says so: a file in which both are possible is read as
        "mdy", which is a problem of this file.
    zones : polars.Series, optional
        Zone of each cell. A datetime with an unknown zone is read in the zone of the table, which is a problem.
    field : str
        Name of the field in problems.
    """
    text = cells.cast(pl.String)
    zones = None if zones is None else zones.cast(pl.String).str.strip_chars().replace(_GERMAN_ZONES)
    orders: dict[str, Order] = {}
    problems: list[Problem] = []
    frame = table.cells.select("file", "line").with_columns(text.alias("text"))
    for (file,), part in frame.group_by("file", maintain_order=True):
        possible = list_orders(part["text"])
        taken = order if order in possible else (possible[0] if possible else order or "mdy")
        orders[str(file)] = taken
        if order is None and len(possible) > 1:
            late = part.filter(pl.col("text").str.contains(r"^\s*[0-9]{1,2}[-/.]").fill_null(value=False))
            problems += list_problems(
                late.head(1),
                late["text"].head(1).is_not_null(),
                late["text"].head(1),
                field=field,
                code="ambiguous_date",
                details=(_READ_AS[taken],),
            )
    is_dmy = frame["file"].replace_strict(orders, return_dtype=pl.String) == "dmy"
    values = parse_instants(text, tz=table.tz, order="mdy", zones=zones)
    if is_dmy.any():
        values = parse_instants(text, tz=table.tz, order="dmy", zones=zones).zip_with(is_dmy, values)
    if zones is not None and (values.is_null() & zones.is_not_null()).any():
        local, _ = read_dates(table, text, order=order, field=field)
        is_unknown = values.is_null() & zones.is_not_null() & local.is_not_null()
        problems += list_problems(
            list_places(table), is_unknown, zones, field="zone", code="unknown_zone", details=(table.tz.key,)
        )
        values = local.zip_with(is_unknown, values)
    problems += list_unreadable(list_places(table), text, values, field=field, code=NOT_A_DATE)
    return values.alias(field), problems


def join_texts(first: pl.Series, second: pl.Series) -> pl.Series:
    """Return date and time of two columns as one text; null without a date."""
    frame = pl.DataFrame([first.cast(pl.String).alias("first"), second.cast(pl.String).alias("second")])
    joined = pl.concat_str("first", "second", separator=" ", ignore_nulls=True)
    return frame.select(pl.when(pl.col("first").is_not_null()).then(joined)).to_series()


def match_kinds(cells: pl.Series, patterns: Sequence[tuple[str, str]]) -> pl.Series:
    """Return the kind of each type: that of the first pattern that occurs in its lower-case text, else "unknown"."""
    text = cells.cast(pl.String).str.to_lowercase()
    kinds = pl.Series("kind", [UNKNOWN]).new_from_index(0, len(cells))
    for kind, pattern in reversed(patterns):
        found = text.str.contains(pattern).fill_null(value=False)
        kinds = pl.Series("kind", [kind]).new_from_index(0, len(cells)).zip_with(found, kinds)
    return kinds


def read_statuses(
    table: Table, cells: pl.Series, words: Mapping[str, Status] = STATUSES
) -> tuple[pl.Series, list[Problem]]:
    """Return the status of each row, and a problem for each word that is none; such a word stays as it is."""
    text = cells.cast(pl.String).str.strip_chars()
    known = text.str.to_lowercase().replace_strict(
        {word: str(status) for word, status in words.items()}, default=None, return_dtype=pl.String
    )
    is_unknown = known.is_null() & text.is_not_null() & (text != "")
    problems = list_problems(list_places(table), is_unknown, text, field="status", code="unknown_status")
    return known.zip_with(known.is_not_null(), text).alias("status"), problems


def find_currencies(table: Table, cells: pl.Series) -> tuple[pl.Series, list[Problem]]:
    """Return the currency of each row in capitals.

    A row without one has the currency of its file if the file has only one; otherwise it stays null, with a problem.
    """
    text = cells.cast(pl.String).str.strip_chars().str.to_uppercase().replace("", None)
    frame = table.cells.select("file").with_columns(text.alias("currency"))
    only = frame.group_by("file").agg(pl.col("currency").drop_nulls().unique().sort().alias("all"))
    only = only.select("file", pl.when(pl.col("all").list.len() == 1).then(pl.col("all").list.first()).alias("only"))
    joined = frame.join(only, on="file", how="left", maintain_order="left")
    values = joined.select(pl.coalesce("currency", "only")).to_series()
    problems = list_problems(
        list_places(table),
        values.is_null(),
        cells,
        field="currency",
        code="missing_currency",
    )
    return values.alias("currency"), problems


def build_reading(
    table: Table,
    frame: pl.DataFrame,
    problems: list[Problem],
    subaccounts: Mapping[str, str] | None = None,
    snapshots: Mapping[str, datetime] | None = None,
) -> Reading:
    """Return the rows of a table with their problems, and one more for each row of an unknown type."""
    rows = _build_rows(table, frame)
    unknown = list_problems(
        list_places(table),
        rows["kind"] == UNKNOWN,
        rows["type"],
        field="type",
        code="unknown_type",
    )
    return Reading(rows, [*problems, *unknown], subaccounts=subaccounts or {}, snapshots=snapshots or {})


def _build_rows(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS of a table.

    Direction and sides follow from the sign of ``flow_cents`` and from ``counterparty_name``; a notice has none.
    Payments have the action "pay".
    """
    is_notice = (pl.col("kind") == "notice").fill_null(value=False)
    flow = pl.col("flow_cents")
    direction = pl.when(flow > 0).then(pl.lit("in")).when(flow < 0).then(pl.lit("out"))
    places = table.cells.select("file", "line")
    given = frame.columns
    frame = pl.concat([places, frame], how="horizontal")
    if "counterparty_name" not in given:
        frame = frame.with_columns(pl.lit(None, pl.String).alias("counterparty_name"))
    owner = pl.col("owner") if "owner" in given else pl.lit(None, pl.String)
    frame = frame.with_columns(
        pl.when(~is_notice).then(direction).alias("direction"),
        pl.when(pl.col("kind") == "payment").then(pl.lit(str(Action.PAY))).alias("action"),
    )
    is_out = pl.col("direction") == "out"
    is_in = pl.col("direction") == "in"
    return complete_rows(
        frame.with_columns(
            pl.when(is_in).then("counterparty_name").when(is_out).then(owner).alias("from_name"),
            pl.when(is_out).then("counterparty_name").when(is_in).then(owner).alias("to_name"),
        )
    )


def list_places(table: Table) -> pl.DataFrame:
    """Return file, line and id of the rows of a table, for its problems."""
    cells = table.cells
    return cells.select("file", "line", payment_id=pl.col("id") if "id" in cells.columns else pl.lit(None, pl.String))


def _as_tuple(value: Spelling) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
