"""Wise: the statement of one balance, with a row for each fee, and the transaction history of all balances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.column_format import ColumnFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.problems import Problem

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


def _name_types(frame: pl.DataFrame) -> pl.DataFrame:
    prefix = pl.col("id").str.extract(r"^([A-Za-z_]+(?:-[A-Za-z_]+)*)").str.to_uppercase()
    return frame.with_columns(type=pl.coalesce("type", prefix))


def _adjust_statement(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Count a fee that has a row once, and give money that the holder added the kind "transfer"."""
    is_fee = pl.col("id").str.to_uppercase().str.starts_with(_FEE).fill_null(value=False)
    own = pl.col("id").str.slice(len(_FEE))
    with_rows = frame.filter(is_fee).select(own).to_series()
    is_added = pl.col("description").str.to_lowercase().str.contains("^topped up").fill_null(value=False)
    frame = frame.with_columns(
        fee=pl.when(~pl.col("id").is_in(with_rows.implode()).fill_null(value=False)).then("fee"),
        reference=pl.when(is_fee).then(own),
        note=pl.coalesce("note_to_payee", "note", "description"),
        kind=pl.when(is_fee).then(pl.lit("fee")).when(is_added).then(pl.lit("transfer")).otherwise("kind"),
    )
    return _name_types(frame), []


def _adjust_history(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Take the amount of the holder's side, with the fee outside of it; a conversion has a row for each balance.

    A purchase that was refunded has no row for the money that came back, so it moved nothing.
    """
    word = pl.col("sign").str.to_uppercase()
    is_in, is_refunded = word == "IN", pl.col("status_text").str.to_uppercase() == "REFUNDED"
    is_known = frame.select(word.is_in(["IN", "OUT", "NEUTRAL"]).fill_null(value=False)).to_series()
    problems = list_problems(frame, ~is_known, frame["sign"], field="sign", code="unknown_sign")
    has_fee = (pl.col("fee_currency") == pl.col("currency")).fill_null(value=False)
    fee = pl.when(has_fee).then(pl.col("fee").abs()).fill_null(0)
    frame = frame.with_row_index("at").with_columns(
        status=pl.when(is_refunded & ~is_in).then(pl.lit(str(Status.CANCELLED))).otherwise("status")
    )
    out = frame.filter(~is_in.fill_null(value=False)).with_columns(
        flow_cents=pl.when(word.is_in(["OUT", "NEUTRAL"])).then(-(pl.col("out").abs() + fee)), fee_cents=fee
    )
    arrived = frame.filter(word.is_in(["IN", "NEUTRAL"])).with_columns(
        flow_cents=pl.col("in").abs(), fee_cents=pl.lit(None, pl.Int64), currency="to_currency"
    )
    both = pl.concat([out, arrived.select(out.columns)]).sort("at", maintain_order=True).drop("at")
    is_asset = pl.col("kind") == "asset"
    return _name_types(both).with_columns(
        payer=pl.when(~is_asset).then("payer"),
        payee=pl.when(~is_asset).then("payee"),
        note=pl.coalesce("note", "comment"),
    ), problems


WISE: Final = ColumnFormat(
    name="wise",
    columns={
        "id": ("TransferWise ID", "Wise ID"), "date": "Date", "date_time": "Date Time", "amount": "Amount",
        "currency": "Currency", "description": "Description", "note_to_payee": "Payment Reference",
        "balance": "Running Balance", "payer": "Payer Name", "payee": "Payee Name", "merchant": "Merchant",
        "note": "Note", "fee": "Total fees", "type": "Transaction Details Type",
    },
    required=("id", "date", "amount", "currency", "balance"),
    order="dmy",
    kinds=_KINDS,
    kind_from=("type", "id"),
    persons=("^(?i:sent money to|received money from) (.+?)(?: with reference .*)?$",),
    repeats_ids=True,
    adjust=_adjust_statement,
)  # fmt: skip
WISE_HISTORY: Final = ColumnFormat(
    name="wise_history",
    columns={
        "id": "ID", "status": "Status", "sign": "Direction", "started": "Created on", "date": "Finished on",
        "fee": "Source fee amount", "fee_currency": "Source fee currency", "payer": "Source name",
        "out": "Source amount (after fees)", "currency": "Source currency", "payee": "Target name",
        "in": "Target amount (after fees)", "to_currency": "Target currency", "note": "Reference", "comment": "Note",
    },
    required=("id", "status", "sign", "started", "out", "currency", "in", "to_currency"),
    kinds=_KINDS,
    kind_from=("id",),
    kind="unknown",
    service="wise",
    repeats_ids=True,
    adjust=_adjust_history,
)  # fmt: skip
