"""Cash App: activity of 2022 and later, and the file of Bitcoin transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.formats.column_format import ColumnFormat
from p2p_analytics.statements.problems import list_problems

if TYPE_CHECKING:
    from p2p_analytics.statements.problems import Problem


def _adjust(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Name the merchant, which the notes do; list types with the wrong sign, except of payments that came back."""
    flow, text = pl.col("flow_cents"), pl.col("type").str.to_lowercase()
    is_back = pl.col("status_text").str.contains("(?i)refunded|reversed|returned").fill_null(value=False)
    is_wrong = text.str.starts_with("sent") & (flow > 0) | text.str.starts_with("received") & (flow < 0)
    wrong = frame.select((is_wrong & ~is_back).fill_null(value=False)).to_series()
    problems = list_problems(frame, wrong, frame["type"], field="type", code="wrong_sign")
    return frame.with_columns(name=pl.coalesce("name", pl.when(pl.col("kind") == "merchant").then("note"))), problems


CASH_APP: Final = ColumnFormat(
    name="cash_app",
    columns={
        "id": "Transaction ID", "date": "Date", "type": "Transaction Type", "currency": "Currency",
        "amount": "Amount", "fee": "Fee", "net": "Net Amount", "asset_type": "Asset Type", "status": "Status",
        "note": "Notes", "name": "Name of sender/receiver", "via": "Account",
    },
    required=("id", "date", "type", "currency", "amount", "fee", "net", "asset_type"),
    symbols={"$": "USD", "£": "GBP", "€": "EUR", "₿": "BTC", "BTC": "BTC"},
    fee="added",
    kind_from=("type", "status"),  # the older statuses name what happened where a row has no type
    kinds=(
        ("notice", r"^account notification"),
        ("asset", r"bitcoin|\bbtc\b|\bstock|\betf\b|dividend"),
        ("fee", r"\bfees?\b"),
        ("reward", r"boost|cash ?back|reward|interest|bonus|referral"),
        ("payment", r"p2p|^(?:sent|received)\b|^request|^payment (?:sent|[a-z]+ed|pending|waiting|held)$"),
        ("transfer", r"cash ?out|cash ?in\b|add(?:ed)? cash|transfer|withdrawal|\batm\b|savings|round ?up"),
        ("deposit", r"deposit|pay ?check|payroll|tax refund"),
        ("merchant", r"card|cash app pay|refund"),
    ),
    status_verbs=True,
    statuses={
        "settled": ("sent", "deposited", "received", "charged", "refunded", "reversed", "returned"),
        "pending": "waiting",
    },
    unmoved="savings interest",
    persons=(),
    repeats_ids=True,
    adjust=_adjust,
)  # fmt: skip
