"""Monzo: transactions of one account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.fields import (
    blank_cells,
    build_reading,
    find_currencies,
    join_texts,
    list_places,
    match_kinds,
    read_dates,
    read_money,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Reading, Table

_COLUMNS: Final = {
    "id": ("Transaction ID",),
    "date": ("Date",),
    "time": ("Time",),
    "type": ("Type",),
    "name": ("Name",),
    "emoji": ("Emoji",),
    "category": ("Category",),
    "amount": ("Amount",),
    "currency": ("Currency",),
    "local_amount": ("Local amount",),
    "local_currency": ("Local currency",),
    "note": ("Notes and #tags",),
    "address": ("Address",),
    "receipt": ("Receipt",),
    "description": ("Description",),
    "category_split": ("Category split",),
    "money_out": ("Money Out",),
    "money_in": ("Money In",),
    "balance": ("Balance",),
    "balance_currency": ("Balance currency",),
}
_KINDS: Final = (
    ("transfer", r"\bpot\b|\batm\b|cash withdrawal|top.?up"),
    ("reward", r"interest|cash ?back|reward|monzo paid"),
    ("fee", r"\bfees?\b|overdraft"),
    ("deposit", r"bacs|direct.credit|cheque|salary"),
    ("merchant", r"card|direct.debit|flex|chargeback|refund"),
    ("payment", r"faster.payment|monzo.to.monzo|p2p|standing.order|bank.transfer|international"),
)


def read(table: Table) -> Reading:
    """Return the rows of Monzo; dates are day/month/year, and every row is settled."""
    table = blank_cells(table)
    cells = table.cells
    money, problems = read_money(table, ("amount", "money_out", "money_in", "balance"))
    dates, faults = read_dates(table, join_texts(cells["date"], cells["time"]), order="dmy")
    problems += faults
    currency, faults = find_currencies(table, cells["currency"])
    problems += faults
    frame = cells.select("id", "type", "name", "note", "description", "balance_currency").with_columns(
        [*money.get_columns(), dates, currency, match_kinds(cells["type"], _KINDS)]
    )
    has_own_balance = pl.col("balance_currency").is_null() | (pl.col("balance_currency") == pl.col("currency"))
    frame = frame.with_columns(
        pl.col("id").alias("payment_id"),
        pl.lit(str(Status.SETTLED)).alias("status"),
        pl.coalesce("note", "description").alias("note"),
        pl.coalesce("name", "description").alias("counterparty_name"),
        pl.col("amount").alias("flow_cents"),
        pl.col("amount").alias("moved_cents"),
        pl.when(has_own_balance).then("balance").alias("balance_cents"),
    )
    in_or_out = pl.col("money_in").abs().fill_null(0) - pl.col("money_out").abs().fill_null(0)
    is_split = pl.col("money_in").is_not_null() | pl.col("money_out").is_not_null()
    is_wrong = frame.select(is_split & (pl.col("amount") != in_or_out)).to_series().fill_null(value=False)
    problems += list_problems(list_places(table), is_wrong, cells["amount"], field="amount", code="wrong_split")
    return build_reading(table, frame, problems)


MONZO: Final = StatementFormat(
    name="monzo",
    columns=_COLUMNS,
    required=("id", "date", "type", "name", "amount", "currency", "local_amount", "local_currency"),
    read=read,
    repeats_ids=True,
)
