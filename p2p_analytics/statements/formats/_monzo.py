"""Monzo: transactions of one account."""

from __future__ import annotations

from typing import Final

from p2p_analytics.statements.formats.column_format import ColumnFormat

MONZO: Final = ColumnFormat(
    name="monzo",
    columns={
        "id": "Transaction ID", "date": "Date", "time": "Time", "type": "Type", "name": "Name", "amount": "Amount",
        "currency": "Currency", "x_local_amount": "Local amount", "note": "Notes and #tags",
        "description": "Description", "out": "Money Out", "in": "Money In", "balance": "Balance",
        "balance_currency": "Balance currency",
    },
    required=("id", "date", "type", "name", "amount", "currency", "x_local_amount"),
    order="dmy",
    kinds=(
        ("transfer", r"\bpot\b|\batm\b|cash withdrawal|top.?up"),
        ("reward", r"interest|cash ?back|reward|monzo paid"),
        ("fee", r"\bfees?\b|overdraft"),
        ("deposit", r"bacs|direct.credit|cheque|salary"),
        ("merchant", r"card|direct.debit|flex|chargeback|refund"),
        ("payment", r"faster.payment|monzo.to.monzo|p2p|standing.order|bank.transfer|international"),
    ),
    repeats_ids=True,
)  # fmt: skip
