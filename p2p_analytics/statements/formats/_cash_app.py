"""Cash App: activity of 2022 and later, and the file of Bitcoin transactions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from p2p_analytics.statements.formats.fields import (
    STATUSES,
    UNKNOWN,
    blank_cells,
    build_reading,
    find_currencies,
    has_column,
    list_places,
    match_kinds,
    read_dates,
    read_money,
    read_statuses,
)
from p2p_analytics.statements.formats.format import StatementFormat
from p2p_analytics.statements.problems import list_problems
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Reading, Table
    from p2p_analytics.statements.problems import Problem
import polars as pl

_COLUMNS: Final = {
    "id": ("Transaction ID",),
    "date": ("Date",),
    "type": ("Transaction Type",),
    "currency": ("Currency",),
    "amount": ("Amount",),
    "fee": ("Fee",),
    "net": ("Net Amount",),
    "asset_type": ("Asset Type",),
    "asset_price": ("Asset Price",),
    "asset_amount": ("Asset Amount",),
    "status": ("Status",),
    "note": ("Notes",),
    "name": ("Name of sender/receiver",),
    "source": ("Account",),
}
_INTEREST: Final = r"savings interest"
_KINDS: Final = (
    ("notice", r"^account notification"),
    ("asset", r"bitcoin|\bbtc\b|\bstock|\betf\b|dividend"),
    ("reward", r"boost|cash ?back|reward|interest|bonus|referral"),
    ("payment", r"p2p|^(?:sent|received)\b|^request"),
    ("transfer", r"cash ?out|cash ?in\b|add(?:ed)? cash|transfer|withdrawal|\batm\b|savings|round ?up"),
    ("deposit", r"deposit|pay ?check|payroll|tax refund"),
    ("merchant", r"card|cash app pay|refund"),
    ("fee", r"\bfees?\b"),
)
# Rows without a type: the older statuses name what happened.
_KINDS_OF_STATUS: Final = (("payment", r"^payment "), ("merchant", r"^card "), ("transfer", r"^transfer "))
_STATUSES: Final = STATUSES | {
    "payment sent": Status.SETTLED,
    "payment deposited": Status.SETTLED,
    "payment received": Status.SETTLED,
    "payment refunded": Status.SETTLED,
    "card charged": Status.SETTLED,
    "card refunded": Status.SETTLED,
    "transfer sent": Status.SETTLED,
    "transfer deposited": Status.SETTLED,
    "deposited": Status.SETTLED,
    "payment pending": Status.PENDING,
    "payment failed": Status.FAILED,
    "payment declined": Status.FAILED,
    "payment canceled": Status.CANCELLED,
    "payment expired": Status.EXPIRED,
    "card declined": Status.FAILED,
    "transfer failed": Status.FAILED,
}
_AMOUNTS: Final = ("amount", "fee", "net")
_SYMBOLS: Final = {"$": "USD", "£": "GBP", "€": "EUR", "₿": "BTC", "BTC": "BTC"}


def read(table: Table) -> Reading:
    """Return the rows of Cash App; the net amount is what a row moved, and interest on savings moves nothing."""
    table = blank_cells(table)
    cells = table.cells
    currency, problems = _read_currencies(table)
    is_bitcoin = (currency == "BTC").fill_null(value=False)
    money, faults = read_money(_blank_bitcoin(table, is_bitcoin), _AMOUNTS)
    problems += faults
    problems += list_problems(list_places(table), is_bitcoin, cells["net"], field="net", code="bitcoin_amount")
    dates, faults = read_dates(table, cells["date"])
    problems += faults
    status, faults = read_statuses(table, cells["status"], _STATUSES)
    problems += faults

    kind = match_kinds(cells["type"], _KINDS)
    by_status = match_kinds(cells["status"], _KINDS_OF_STATUS)
    kind = by_status.zip_with((kind == UNKNOWN) & cells["type"].is_null(), kind)
    kind = pl.Series("kind", ["asset"]).new_from_index(0, len(cells)).zip_with(is_bitcoin, kind)
    if not has_column(table, *_COLUMNS["status"]):
        status = pl.Series("status", [str(Status.SETTLED)]).new_from_index(0, len(cells))
    frame = cells.select("id", "type", "note", "name", "source").with_columns(
        [*money.get_columns(), dates, status, kind, currency, is_bitcoin.alias("is_bitcoin")]
    )
    net = pl.coalesce("net", pl.col("amount") + pl.col("fee").fill_null(0))
    net = pl.when(~pl.col("is_bitcoin")).then(net)
    is_interest = pl.col("type").str.to_lowercase().str.contains(_INTEREST).fill_null(value=False)
    moves = (pl.col("status") == Status.SETTLED) & ~is_interest & (pl.col("kind") != "notice")
    is_out = net < 0
    frame = frame.with_columns(
        pl.col("id").alias("payment_id"),
        net.alias("flow_cents"),
        pl.when(~pl.col("is_bitcoin")).then(pl.col("fee").abs()).alias("fee_cents"),
        pl.when(moves.fill_null(value=False)).then(net).otherwise(0).alias("moved_cents"),
        pl.when(pl.col("kind") == "merchant")
        .then(pl.coalesce("name", "note"))
        .otherwise("name")
        .alias("counterparty_name"),
        pl.when(is_out).then("source").alias("funding_source"),
        pl.when(~is_out).then("source").alias("destination"),
    )
    problems += _list_contradictions(table, frame)
    return build_reading(table, frame, problems)


def _blank_bitcoin(table: Table, is_bitcoin: pl.Series) -> Table:
    """Return a table without the amounts of Bitcoin, which have more than two decimals."""
    return replace(table, cells=table.cells.with_columns(pl.when(~is_bitcoin).then(pl.col(_AMOUNTS)).name.keep()))


def _read_currencies(table: Table) -> tuple[pl.Series, list[Problem]]:
    """Return the currency of each row: its cell, else the symbol of its amount, else that of the file."""
    cells = table.cells
    symbol = cells["net"].str.extract(r"(BTC|[$£€₿])").replace_strict(_SYMBOLS, default=None, return_dtype=pl.String)
    given = cells["currency"].zip_with(cells["currency"].is_not_null(), symbol)
    return find_currencies(table, given)


def _list_contradictions(table: Table, frame: pl.DataFrame) -> list[Problem]:
    """Return a problem for each payment with a type that contradicts the sign of its amount, other than a refund."""
    text = pl.col("type").str.to_lowercase()
    flow = pl.col("flow_cents")
    is_wrong = frame.select(
        (text.str.starts_with("sent") & (flow > 0) | text.str.starts_with("received") & (flow < 0))
        & ~table.cells["status"].str.to_lowercase().str.contains("refund").fill_null(value=False)
    ).to_series()
    return list_problems(
        list_places(table), is_wrong.fill_null(value=False), frame["type"], field="type", code="wrong_sign"
    )


CASH_APP: Final = StatementFormat(
    name="cash_app",
    columns=_COLUMNS,
    required=("id", "date", "type", "currency", "amount", "fee", "net", "asset_type"),
    read=read,
    repeats_ids=True,
)
