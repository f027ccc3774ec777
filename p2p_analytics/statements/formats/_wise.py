"""Wise: the statement of one balance, with a row of its own for each fee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.fields import (
    blank_cells,
    build_reading,
    find_currencies,
    match_kinds,
    read_dates,
    read_money,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Reading, Table

_COLUMNS: Final = {
    "id": ("TransferWise ID", "Wise ID"),
    "date": ("Date",),
    "date_time": ("Date Time",),
    "amount": ("Amount",),
    "currency": ("Currency",),
    "description": ("Description",),
    "reference": ("Payment Reference",),
    "balance": ("Running Balance",),
    "exchange_from": ("Exchange From",),
    "exchange_to": ("Exchange To",),
    "exchange_rate": ("Exchange Rate", "Buy - Rate"),
    "payer": ("Payer Name",),
    "payee": ("Payee Name",),
    "payee_account": ("Payee Account Number",),
    "merchant": ("Merchant",),
    "card": ("Card Last Four Digits",),
    "card_holder": ("Card Holder Full Name",),
    "attachment": ("Attachment",),
    "note": ("Note",),
    "fee": ("Total fees",),
    "exchange_to_amount": ("Exchange To Amount",),
    "type": ("Transaction Type",),
    "details": ("Transaction Details Type",),
}
_FEE: Final = "FEE-"
_KINDS: Final = (
    ("fee", r"^fee\b|^fee-|\bfee$"),
    ("reward", r"cashback|interest|reward|bonus"),
    ("asset", r"^balance\b|^balance-|conversion|exchange"),
    ("merchant", r"^card\b|^card-|^card_|direct_debit"),
    ("transfer", r"money_added|top.?up|^atm"),
    ("deposit", r"direct_deposit|payroll"),
    ("payment", r"^transfer|^deposit|bank_details|^payment"),
)


def read(table: Table) -> Reading:
    """Return the rows of Wise; dates are day-month-year, and a row moves its amount, the fee included."""
    table = blank_cells(table)
    cells = table.cells
    money, problems = read_money(table, ("amount", "balance", "fee"))
    moments = cells["date_time"].zip_with(cells["date_time"].is_not_null(), cells["date"])
    dates, faults = read_dates(table, moments, order="dmy")
    problems += faults
    currency, faults = find_currencies(table, cells["currency"])
    problems += faults
    prefix = cells["id"].str.to_lowercase().str.extract(r"^([a-z_]+(?:-[a-z_]+)*)")
    by_id = match_kinds(prefix, _KINDS)
    by_details = match_kinds(cells["details"], _KINDS)
    is_fee_row = cells["id"].str.to_uppercase().str.starts_with(_FEE).fill_null(value=False)
    kind = by_details.zip_with((by_details != "unknown") & ~is_fee_row, by_id)
    topped_up = cells["description"].str.to_lowercase().str.contains("^topped up").fill_null(value=False)
    kind = pl.Series("kind", ["transfer"]).new_from_index(0, len(cells)).zip_with(topped_up, kind)

    amount, flow_id = pl.col("amount"), pl.col("id")
    # A fee with a row of its own must not be counted a second time, in the row that it belongs to.
    has_fee_row = cells["id"].is_in(cells["id"].filter(is_fee_row).str.replace("(?i)^fee-", "").implode())
    frame = cells.select("id", "payer", "payee", "merchant", "reference", "note", "description").with_columns(
        [*money.get_columns(), dates, currency, kind, has_fee_row.alias("has_fee_row")]
    )
    frame = frame.with_columns(
        flow_id.alias("payment_id"),
        pl.when(flow_id.str.to_uppercase().str.starts_with(_FEE)).then(flow_id.str.slice(len(_FEE)))
        .alias("reference_id"),
        pl.lit(str(Status.SETTLED)).alias("status"),
        pl.coalesce(cells["details"], prefix.str.to_uppercase()).alias("type"),
        pl.coalesce("reference", "note", "description").alias("note"),
        pl.when(amount < 0).then(pl.coalesce("merchant", "payee"))
        .otherwise(pl.coalesce("merchant", "payer")).alias("counterparty_name"),
        amount.alias("flow_cents"),
        amount.alias("moved_cents"),
        pl.when(~pl.col("has_fee_row").fill_null(value=False)).then(pl.col("fee").abs()).alias("fee_cents"),
        pl.col("balance").alias("balance_cents"),
    )  # fmt: skip
    return build_reading(table, frame, problems)


WISE: Final = StatementFormat(
    name="wise",
    columns=_COLUMNS,
    required=("id", "date", "amount", "currency", "balance"),
    read=read,
    repeats_ids=True,
)
