"""Splitwise: the export of one group or friend, with a column for each member.

A cell is the amount that the member paid less the member's share. The cells of a member add up to the row "Total
balance". For a settlement the sign is the reverse of the money: the member who pays has a positive cell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.display import clean_line
from p2p_analytics.errors import MemberNeededError, StatementError
from p2p_analytics.statements.formats.bank_columns import SERVICE_COLUMNS
from p2p_analytics.statements.formats.fields import (
    blank_cells,
    build_reading,
    find_currencies,
    is_english,
    list_places,
    read_dates,
    read_money,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Reading, Table
    from p2p_analytics.statements.problems import Problem

_COLUMNS: Final = {
    "date": ("Date", "Datum", "Data", "Fecha"),
    "description": (
        "Description", "Beschreibung", "Descrizione", "Descripción", "Descrição", "Omschrijving", "Beschrijving",
        "Beskrivning", "Opis",
    ),
    "category": ("Category", "Kategorie", "Catégorie", "Categorie", "Categoria", "Categoría", "Kategori", "Kategoria"),
    "cost": ("Cost", "Kosten", "Coût", "Costo", "Coste", "Custo", "Kostnad", "Koszt"),
    "currency": SERVICE_COLUMNS["currency"],
}  # fmt: skip
_LONGEST_NAMES: Final = 300  # characters of the members in a message
_SETTLEMENTS: Final = (
    "payment", "zahlung", "paiement", "pagamento", "pago", "betaling", "betalning", "płatność",
)  # fmt: skip


def read(table: Table) -> Reading:
    """Return the rows of Splitwise, as the member sees them that `account` names.

    A settlement is a payment; settlements of other members are notices. An expense has the kind "merchant", and its
    flow is the member's cell: + if others owe the member for it. Its payer is known only if one member paid.
    """
    table = blank_cells(table)
    member, columns = _find_member(table)
    wide, problems = _read_cells(table, columns)
    dates, faults = read_dates(table, table.cells["date"], order=None if is_english(table) else "dmy")
    problems += faults
    currency, faults = find_currencies(table, table.cells["currency"])
    problems += faults + _list_unbalanced(table, wide, columns)

    own, others = pl.col(columns[member]), {name: key for name, key in columns.items() if name != member}
    category = pl.col("category")
    is_total = pl.col("cost_text").is_null() & category.is_null()
    is_settlement = category.str.to_lowercase().is_in(_SETTLEMENTS).fill_null(value=False) & ~is_total
    creditor, debtor = _name_only(others, 1), _name_only(others, -1)
    frame = wide.with_columns(
        is_total.alias("is_total"), is_settlement.alias("is_settlement"), own.alias("own"), dates, currency
    )
    is_total, is_settlement, own = pl.col("is_total"), pl.col("is_settlement"), pl.col("own")
    frame = frame.with_columns(
        pl.lit(member).alias("owner"),
        category.alias("type"),
        pl.lit(str(Status.SETTLED)).alias("status"),
        pl.when(is_total | is_settlement & (own == 0)).then(pl.lit("notice"))
        .when(is_settlement).then(pl.lit("payment"))
        .otherwise(pl.lit("merchant")).alias("kind"),
        pl.col("description").alias("note"),
        pl.when(is_total).then(None).when(own < 0).then(creditor).when(own > 0).then(debtor)
        .alias("counterparty_name"),
        pl.when(is_total).then(None).when(is_settlement).then(-own).otherwise(own).alias("flow_cents"),
        pl.when(is_total).then(0).otherwise(own).alias("moved_cents"),
        pl.when(is_total).then(0).alias("opening_cents"),
        pl.when(is_total).then(own).alias("closing_cents"),
    )  # fmt: skip
    group = clean_line(", ".join(sorted(columns)))
    totals = table.cells.select("file").with_columns(frame["is_total"], dates.alias("date"))
    exported = totals.filter("is_total").group_by("file").agg(pl.col("date").max()).drop_nulls()
    return build_reading(
        frame,
        problems,
        subaccounts=dict.fromkeys(table.preambles, group),
        snapshots=dict(exported.iter_rows()),
    )


def _find_member(table: Table) -> tuple[str, dict[str, str]]:
    """Return the member that ``member`` names, else ``account``, and the column of each member."""
    columns = {name: f"member_{position}" for position, name in enumerate(table.extras) if name.strip()}
    if not columns:
        raise StatementError(f"{_first_file(table)} has no column for a member: export the group from Splitwise again.")
    given = table.member or table.account
    wanted = (given or "").strip().casefold()
    for name in columns:
        if name.strip().casefold() == wanted:
            return name, columns
    fault = "does not say which member you are" if given is None else f"has no member {given!r}"
    names = clean_line(", ".join(map(repr, columns)))[:_LONGEST_NAMES]
    file = _first_file(table)
    raise MemberNeededError(f"{file} {fault}: name yours with member=... (--member), one of {names}.", file, [*columns])


def _first_file(table: Table) -> str:
    return str(table.cells["file"][0]) if len(table.cells) else "The file"


def _read_cells(table: Table, columns: dict[str, str]) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the text columns, and cost and members in cents."""
    wide = table.cells.with_columns(table.extras[name].cast(pl.String).alias(key) for name, key in columns.items())
    money, problems = read_money(replace(table, cells=wide), ("cost", *columns.values()))
    problems = [each._replace(field="member" if each.field.startswith("member_") else each.field) for each in problems]
    texts = table.cells.select("file", "line", "description", "category", pl.col("cost").alias("cost_text"))
    return texts.with_columns(money.get_columns()), problems


def _list_unbalanced(table: Table, wide: pl.DataFrame, columns: dict[str, str]) -> list[Problem]:
    """Return a problem for each row with cells that do not add up to zero, apart from a cent of rounding for each."""
    total = wide.select(pl.sum_horizontal(*columns.values())).to_series()
    return list_problems(
        list_places(table), total.abs() > len(columns), table.cells["cost"], field="cost", code="unbalanced_row"
    )


def _name_only(columns: dict[str, str], sign: int) -> pl.Expr:
    """Return the name of the member with a cell of this sign, null if there is none or if there are several."""
    if not columns:
        return pl.lit(None, pl.String)
    names = [pl.when(pl.col(key) * sign > 0).then(pl.lit(name)) for name, key in columns.items()]
    count = pl.sum_horizontal((pl.col(key) * sign > 0).cast(pl.Int64) for key in columns.values())
    return pl.when(count == 1).then(pl.coalesce(names))


SPLITWISE: Final = StatementFormat(
    name="splitwise",
    columns=_COLUMNS,
    required=("date", "description", "category", "cost", "currency"),
    read=read,
)
