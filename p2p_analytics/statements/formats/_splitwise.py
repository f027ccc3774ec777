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
    problems: list[Problem] = []
    wide = _read_cells(table, columns, problems)
    dates = read_dates(table, table.cells["date"], problems, order=None if is_english(table) else "dmy")
    currency = find_currencies(table, table.cells["currency"], problems)
    total = wide.select(pl.sum_horizontal(*columns.values())).to_series()
    is_unbalanced = total.abs() > len(columns)  # apart from a cent of rounding for each member
    cost = table.cells["cost"]
    problems += list_problems(list_places(table), is_unbalanced, cost, field="cost", code="unbalanced_row")

    others = {name: key for name, key in columns.items() if name != member}
    category = pl.col("category")
    is_total = pl.col("cost_text").is_null() & category.is_null()
    is_settlement = category.str.to_lowercase().is_in(_SETTLEMENTS).fill_null(value=False) & ~is_total
    frame = wide.with_columns(
        dates, currency, is_total=is_total, is_settlement=is_settlement, own=pl.col(columns[member])
    )
    is_total, is_settlement, own = pl.col("is_total"), pl.col("is_settlement"), pl.col("own")
    person = pl.when(own < 0).then(_name_only(others, 1)).when(own > 0).then(_name_only(others, -1))
    frame = frame.with_columns(
        pl.when(is_total | is_settlement & (own == 0)).then(pl.lit("notice"))
        .when(is_settlement).then(pl.lit("payment"))
        .otherwise(pl.lit("merchant")).alias("kind"),
        owner=pl.lit(member),
        type="category",
        status=pl.lit(str(Status.SETTLED)),
        note="description",
        counterparty_name=pl.when(~is_total).then(person),
        flow_cents=pl.when(~is_total).then(pl.when(is_settlement).then(-own).otherwise(own)),
        moved_cents=pl.when(is_total).then(0).otherwise(own),
        opening_cents=pl.when(is_total).then(0),
        closing_cents=pl.when(is_total).then(own),
    )  # fmt: skip
    group = clean_line(", ".join(sorted(columns)))
    exported = frame.filter("is_total").group_by("file").agg(pl.col("date").max()).drop_nulls()
    return build_reading(frame, problems, dict.fromkeys(table.preambles, group), dict(exported.iter_rows()))


def _find_member(table: Table) -> tuple[str, dict[str, str]]:
    """Return the member that ``member`` names, else ``account``, and the column of each member."""
    columns = {name: f"member_{position}" for position, name in enumerate(table.extras) if name.strip()}
    file = next(iter(table.cells["file"]), "The file")
    if not columns:
        raise StatementError(f"{file} has no column for a member: export the group from Splitwise again.")
    given = table.member or table.account
    wanted = (given or "").strip().casefold()
    for name in columns:
        if name.strip().casefold() == wanted:
            return name, columns
    fault = "does not say which member you are" if given is None else f"has no member {given!r}"
    names = clean_line(", ".join(map(repr, columns)))[:_LONGEST_NAMES]
    raise MemberNeededError(f"{file} {fault}: name yours with member=... (--member), one of {names}.", file, [*columns])


def _read_cells(table: Table, columns: dict[str, str], problems: list[Problem]) -> pl.DataFrame:
    """Return the text columns, and cost and members in cents."""
    faults: list[Problem] = []
    wide = table.cells.with_columns(table.extras[name].cast(pl.String).alias(key) for name, key in columns.items())
    money = read_money(replace(table, cells=wide), ("cost", *columns.values()), faults)
    problems += [each if each.field == "cost" else each._replace(field="member") for each in faults]
    texts = table.cells.select("file", "line", "description", "category", pl.col("cost").alias("cost_text"))
    return texts.with_columns(money.get_columns())


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
