"""Payments without a readable amount, which no sum contains."""

from __future__ import annotations

from typing import Final

import pandas as pd

from p2p_analytics.display import clean_line, format_count
from p2p_analytics.frames.schema import select_payments
from p2p_analytics.vocabulary import Status

_COUNTED: Final = (Status.SETTLED.value, Status.PENDING.value)  # the statuses of payments that are in sums
_MOST_PLACES: Final = 3


def describe_missing_amounts(payments: pd.DataFrame) -> str:
    """Return a sentence about the settled and pending payments without an amount, with the places of the first ones.

    A place is the line of a statement file or, of a payment that the service lists, its id. Empty without such
    payments.
    """
    rows = select_payments(payments)
    rows = rows[rows[["amount_cents", "flow_cents"]].isna().all(axis="columns") & rows["status"].isin(_COUNTED)]
    if rows.empty:
        return ""
    status = " or ".join(name for name in _COUNTED if (rows["status"] == name).any())
    count = format_count(len(rows), f"{status} payment has", f"{status} payments have")
    shown = rows.reindex(columns=["file", "line", "payment_id"]).head(_MOST_PLACES)
    places = [
        f"{clean_line(file)} line {line}"
        if isinstance(file, str)
        else f"payment {clean_line(payment_id)}"
        if isinstance(payment_id, str)
        else "a payment without an id"
        for file, line, payment_id in shown.itertuples(index=False, name=None)
    ]
    more = f" and {len(rows) - _MOST_PLACES:,} more" if len(rows) > _MOST_PLACES else ""
    return f"{count} no readable amount, and {'is' if len(rows) == 1 else 'are'} in no sum: {', '.join(places)}{more}."
