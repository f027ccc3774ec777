"""A call of every analysis, and the columns of its result as lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable

AS_OF, ZONE = "2011-06-30", "America/St_Johns"


def add_category(frame: Any) -> Any:
    """Return the ids and categories of a frame's payments as its kind of frame."""
    if isinstance(frame, pd.DataFrame):
        return pd.DataFrame({"payment_id": frame["payment_id"], "category": p2p.categorise(frame)})
    return p2p.categorise(frame).select("payment_id", "category")


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "activity": lambda frame: p2p.activity(frame, tz=ZONE),
    "categories": p2p.categories,
    "categorise": add_category,
    "exposure": lambda frame: p2p.exposure(frame, tz=ZONE),
    "monthly_flow": lambda frame: p2p.monthly_flow(frame, ZONE),
    "pending_ageing": lambda frame: p2p.pending_ageing(frame, AS_OF),
    "pending_requests": lambda frame: p2p.pending_requests(frame, AS_OF),
    "people_by_year": lambda frame: p2p.people_by_year(frame, tz=ZONE),
    "recurring": lambda frame: p2p.recurring(frame, as_of=AS_OF, tz=ZONE),
    "request_outcomes": p2p.request_outcomes,
    "sensitive_notes": p2p.sensitive_notes,
    "spend_by_friend": lambda frame: p2p.spend_by_friend(frame, top=3),
    "spending_over_time, by person": lambda frame: p2p.spending_over_time(frame, by="counterparty", tz=ZONE),
    "spending_over_time, by week": lambda frame: p2p.spending_over_time(frame, every="week", by="kind", tz=ZONE),
    "split_bills": lambda frame: p2p.split_bills(frame, as_of=AS_OF),
    "status_mix": p2p.status_mix,
    "time_to_settle": lambda frame: p2p.time_to_settle(frame, by="audience"),
    "unusual": p2p.unusual,
}


def list_columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table of pandas or Spark as plain values; null is None, a date of pandas is a date."""
    if not isinstance(table, pd.DataFrame):
        columns: dict[str, list[Any]] = table.toArrow().to_pydict()
        return columns
    columns = table.astype(object).where(table.notna(), None).to_dict("list")
    for name, dtype in table.dtypes.items():
        if dtype == "datetime64[us]":
            columns[str(name)] = [value and value.date() for value in columns[str(name)]]
    return columns
