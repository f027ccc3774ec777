"""Rows of single payments: categories, sensitive notes, duplicates and large amounts."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from p2p_analytics.analyses._notes.reasons import find_reasons
from support.analyses.oracle.categories import find_category
from support.analyses.oracle.rules import (
    cents,
    find_person,
    group,
    in_order,
    latest,
    median,
    newest_first,
    normalise,
    nulls_last,
    select,
    select_payments,
    to_utc,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.analyses.oracle.rules import Record


def categorise(records: Sequence[Record], rules: Sequence[Record] | None = None) -> list[Record]:
    """Return the category of every record."""
    return [{"category": find_category(record, rules)} for record in records]


def sensitive_notes(records: Sequence[Record]) -> list[Record]:
    """Return public payments with a reason, newest first.

    The reasons of a note are those of the package, which are judged by notes that people labelled.
    """
    rows = [
        {
            "payment_id": record["payment_id"],
            "date_created": to_utc(record["date_created"]),
            "counterparty_name": record["counterparty_name"],
            "note": record["note"],
            "reasons": ",".join(reasons),
        }
        for record in select_payments(records)
        if record["audience"] == "public" and (reasons := find_reasons(record["note"] or ""))
    ]
    return sorted(rows, key=lambda row: (newest_first(row["date_created"]), nulls_last(row["payment_id"])))


def unusual(records: Sequence[Record], within: timedelta = timedelta(minutes=10)) -> list[Record]:
    """Return a row for each flagged payment and reason, newest first."""
    settled = select(select_payments(records), "settled")
    names = {person: latest(found, "counterparty_name") for person, found in group(settled, find_person).items()}
    rows = []

    def add(record: Record, reason: str, other: str | None, usual: float | None) -> None:
        rows.append(
            {
                "payment_id": record["payment_id"],
                "reason": reason,
                "other_id": other,
                "amount": cents(record) / 100,
                "usual": usual,
                "counterparty_id": record["counterparty_id"],
                "counterparty_name": names[find_person(record)],
                "date_created": to_utc(record["date_created"]),
                "note": record["note"],
            }
        )

    known = [record for record in settled if record["amount_cents"] is not None]
    dated = [record for record in known if record["date_created"] is not None]
    dated.sort(key=in_order)
    for at, record in enumerate(dated):
        for other in reversed(dated[:at]):
            gap = to_utc(record["date_created"]) - to_utc(other["date_created"])
            if gap > within:
                break
            if describe(record) == describe(other):
                add(record, "duplicate", other["payment_id"], None)
                break
    for found in group(known, lambda record: (find_person(record), record["direction"])).values():
        usual = median(cents(record) for record in found)
        for record in found:
            if len(found) >= 5 and cents(record) >= 5 * usual:
                add(record, "large", None, usual / 100)
    ties = ("payment_id", "reason", "counterparty_id", "counterparty_name", "amount", "other_id", "note")
    return sorted(rows, key=lambda row: (newest_first(row["date_created"]), *(nulls_last(row[name]) for name in ties)))


def describe(record: Record) -> tuple[object, ...]:
    """Return what two duplicates have in common."""
    return find_person(record), record["direction"], cents(record), normalise(record["note"])
