"""Transactions as tables of text, for the preview of an import or undo."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pandas as pd

from p2p_analytics.cli import _output
from p2p_analytics.display import NO_NAME, clean_line, format_money
from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.vocabulary import Status

_LONGEST_NOTE: Final = 60


def describe_rows(payments: pd.DataFrame, most: int) -> list[str]:
    """Return a table of the first transactions, and how many more there are."""
    if not most or payments.empty:
        return []
    shown = _name_columns(payments.head(most))
    table = [("Date", "Person", "Amount", "Kind", "Note")]
    table += [
        (row["date"], row["person"], _format_cents(row["flow_cents"], row["currency"]), row["state"], row["note"])
        for row in shown.to_dict("records")
    ]
    lines = _output.align_rows([(*row[:-1], clean_line(row[-1])[:_LONGEST_NOTE]) for row in table])
    return ["", *_output.end_list(lines, len(payments) + 1)]  # with the header


def describe_months(payments: pd.DataFrame) -> list[str]:
    """Return a table of sums by month and person, the last month first, then the largest sum; empty without rows."""
    if payments.empty:
        return []
    named = _name_columns(payments)
    flows = pd.to_numeric(named["flow_cents"]).fillna(0).where(named["is_settled"], 0)
    sums = (
        named.assign(month=named["date"].str[:7], received=flows.clip(lower=0), sent=-flows.clip(upper=0), count=1)
        .groupby(["month", "person", "currency"], sort=False)[["count", "received", "sent"]]
        .sum()
        .reset_index()
    )
    sums = sums.assign(moved=sums["received"] + sums["sent"]).sort_values(
        ["month", "moved", "person"], ascending=[False, False, True], kind="stable"
    )
    table = [("Month", "Person", "Rows", "Received", "Sent")]
    table += [
        (
            row["month"], row["person"], str(row["count"]),
            *(_format_cents(row[name], row["currency"]) if row[name] else "-" for name in ("received", "sent")),
        )
        for row in sums.head(_output.MOST_LINES).to_dict("records")
    ]  # fmt: skip
    return ["", *_output.end_list(_output.align_rows(table), len(sums) + 1)]


def _name_columns(payments: pd.DataFrame) -> pd.DataFrame:
    """Return date, person, state and note of each transaction as text, beside its flow and currency."""
    text = payments.astype(object).where(payments.notna(), None)
    kind = text["kind"].fillna(KIND_PAYMENT)
    is_settled = text["status"] == Status.SETTLED.value
    nobody = kind.where(kind != KIND_PAYMENT, NO_NAME)  # a transfer has no other person
    return text[["flow_cents"]].assign(
        date=payments["date_created"].dt.strftime("%Y-%m-%d").astype(object).fillna("no date"),
        person=text["counterparty_name"].fillna(text["counterparty_username"]).fillna(nobody),
        state=kind.where(is_settled, kind + ", " + text["status"].fillna("unknown")),
        note=text["note"].fillna(""),
        currency=text["currency"].fillna(""),
        is_settled=is_settled,
    )


def _format_cents(cents: float | None, currency: str) -> str:
    return format_money(None if cents is None else Decimal(int(cents)) / 100, currency=currency or None)
