"""Pending payments, by age and one by one."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from support.analyses.oracle.rules import nulls_last, select, select_payments, sum_cents, to_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.analyses.oracle.rules import Record

NO_AGE = timedelta(0)


def find_age(record: Record, as_of: datetime) -> timedelta | None:
    """Return the time since the creation, not less than nothing."""
    created = to_utc(record["date_created"])
    return None if created is None else max(as_of - created, NO_AGE)


def pending_ageing(records: Sequence[Record], as_of: datetime, edges: Sequence[int] = (1, 7, 30, 90)) -> list[Record]:
    """Return a row for each direction and band of ages, and one for payments without a date."""
    pending = select(select_payments(records), "pending")
    name = f"under {edges[0]} day{'s' * (edges[0] > 1)}"
    bands = [(name, NO_AGE, timedelta(edges[0]))]
    bands += [(f"{low} to {high} days", timedelta(low), timedelta(high)) for low, high in pairwise(edges)]
    bands += [(f"{edges[-1]} day{'s' * (edges[-1] > 1)} or more", timedelta(edges[-1]), timedelta.max)]
    rows = []
    for direction in ("in", "out"):
        here = [record for record in pending if record["direction"] == direction]
        for band, low, high in bands:
            found = [record for record in here if (age := find_age(record, as_of)) is not None and low <= age < high]
            oldest = max((find_age(record, as_of).days for record in found), default=None)
            rows.append((direction, band, found, oldest))
        if undated := [record for record in here if find_age(record, as_of) is None]:
            rows.append((direction, "no date", undated, None))
    return [
        {
            "direction": direction,
            "band": band,
            "payments": len(found),
            "amount": sum_cents(found) / 100,
            "oldest_days": oldest,
        }
        for direction, band, found, oldest in rows
    ]


def pending_requests(records: Sequence[Record], as_of: datetime) -> list[Record]:
    """Return the pending payments, oldest first."""
    names = ("payment_id", "direction", "counterparty_id", "counterparty_username", "counterparty_name", "note")
    pending = select(select_payments(records), "pending")
    ties = ("payment_id", "counterparty_id", "counterparty_name", "direction", "note")
    pending.sort(
        key=lambda record: (
            nulls_last(to_utc(record["date_created"])),
            *(nulls_last(record[name]) for name in ties),
            nulls_last(None if record["amount_cents"] is None else abs(record["amount_cents"])),
        )
    )
    rows = []
    for record in pending:
        age, amount = find_age(record, as_of), record["amount_cents"]
        rows.append(
            {name: record[name] for name in names}
            | {
                "amount": None if amount is None else abs(amount) / 100,
                "date_created": to_utc(record["date_created"]),
                "age_days": None if age is None else age.days,
            }
        )
    return rows
