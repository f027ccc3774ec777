"""Sums per person, status and category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.analyses.oracle.categories import find_category
from support.analyses.oracle.rules import (
    find_person,
    group,
    latest,
    nulls_last,
    select,
    select_payments,
    sent_received,
    share,
    sum_cents,
    to_utc,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from support.analyses.oracle.rules import Record


def spend_by_friend(
    records: Sequence[Record], friends: Collection[str] | None = None, top: int | None = None
) -> list[Record]:
    """Return a row for each counterparty, the largest sum sent first."""
    settled = select(select_payments(records), "settled")
    total = sum_cents(settled, "direction", "out")
    rows = []
    for (identifier, _), found in group(settled, find_person).items():
        dates = [moment for record in found if (moment := to_utc(record["date_created"])) is not None]
        sent = sum_cents(found, "direction", "out")
        row = {
            "counterparty_id": identifier,
            "counterparty_username": latest(found, "counterparty_username"),
            "counterparty_name": latest(found, "counterparty_name"),
            "is_friend": None if friends is None or identifier is None else identifier in friends,
            **sent_received(found),
            "payments": len(found),
            "share_of_sent": share(sent, total),
            "first_date": min(dates, default=None),
            "last_date": max(dates, default=None),
        }
        rows.append((-sent, nulls_last(identifier), nulls_last(row["counterparty_name"]), row))
    return [row for *_, row in sorted(rows, key=lambda each: each[:3])][:top]


def status_mix(records: Sequence[Record], by: str = "action") -> list[Record]:
    """Return a row for each value of a column and status."""
    rows = []
    for value, found in group(select_payments(records), lambda record: record[by]).items():
        for status, alike in group(found, lambda record: record["status"]).items():
            row: dict[str, Any] = {
                by: value,
                "status": status,
                "payments": len(alike),
                "share": share(len(alike), len(found)),
                "amount": sum_cents(alike) / 100,
                "share_of_amount": share(sum_cents(alike), sum_cents(found)),
            }
            rows.append((nulls_last(value), -len(alike), nulls_last(status), row))
    return [row for *_, row in sorted(rows, key=lambda each: each[:3])]


def categories(records: Sequence[Record], rules: Sequence[Record] | None = None) -> list[Record]:
    """Return a row for each category, the largest sum sent first, payments without one last."""
    settled = select(select_payments(records), "settled")
    total = sum_cents(settled, "direction", "out")
    rows = []
    for category, found in group(settled, lambda record: find_category(record, rules)).items():
        sent = sum_cents(found, "direction", "out")
        row = {
            "category": category or "uncategorised",
            **sent_received(found),
            "payments": len(found),
            "share_of_sent": share(sent, total),
        }
        rows.append((category is None, -sent, category or "", row))
    return [row for *_, row in sorted(rows, key=lambda each: each[:3])]
