"""Requests: what became of them, how long they took, and bills that were split."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from support.analyses.oracle.rules import (
    find_person,
    group,
    in_order,
    latest,
    nearest_rank,
    newest_first,
    normalise,
    nulls_last,
    select,
    select_payments,
    sum_cents,
    to_utc,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.analyses.oracle.rules import Record

STATUSES = ("settled", "pending", "cancelled", "expired", "failed")
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1) // MICROSECOND


def find_wait(record: Record) -> int | None:
    """Return the microseconds from creation to completion, None without both dates or in a row of a statement."""
    if record.get("source") == "statement":
        return None
    created, completed = to_utc(record["date_created"]), to_utc(record["date_completed"])
    return None if created is None or completed is None else (completed - created) // MICROSECOND


def to_days(microseconds: int | None) -> float | None:
    """Return a time in days."""
    return None if microseconds is None else microseconds / DAY


def request_outcomes(records: Sequence[Record]) -> list[Record]:
    """Return a row for each person and direction, the largest sum asked first."""
    charges = [
        record
        for record in select_payments(records)
        if record["action"] == "charge" and record["direction"] in {"in", "out"}
    ]
    rows = []
    for ((identifier, _), direction), found in group(
        charges, lambda record: (find_person(record), record["direction"])
    ).items():
        counts = {status: sum(record["status"] == status for record in found) for status in STATUSES}
        waits = [wait for record in found if record["status"] == "settled" and (wait := find_wait(record)) is not None]
        row = {
            "counterparty_id": identifier,
            "counterparty_name": latest(found, "counterparty_name"),
            "direction": direction,
            "requests": len(found),
            **counts,
            "asked": sum_cents(found) / 100,
            "collected": sum_cents(found, "status", "settled") / 100,
            "still_open": sum_cents(found, "status", "pending") / 100,
            "share_settled": counts["settled"] / decided if (decided := len(found) - counts["pending"]) else None,
            "days_p50": to_days(nearest_rank(waits, 50)),
            "days_p90": to_days(nearest_rank(waits, 90)),
        }
        order = (-sum_cents(found), nulls_last(identifier), nulls_last(row["counterparty_name"]), direction)
        rows.append((order, row))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def time_to_settle(records: Sequence[Record], by: str = "direction") -> list[Record]:
    """Return a row for each value of a column."""
    settled = [record for record in select(select_payments(records), "settled") if record["action"] == "charge"]
    rows = []
    for value, found in group(settled, lambda record: record[by]).items():
        waits = [wait for record in found if (wait := find_wait(record)) is not None]
        if waits:
            ranks = {f"days_p{percent}": to_days(nearest_rank(waits, percent)) for percent in (50, 90, 99)}
            rows.append({by: value, "payments": len(waits), **ranks, "days_max": to_days(max(waits))})
    return sorted(rows, key=lambda row: nulls_last(row[by]))


def split_bills(records: Sequence[Record], as_of: datetime, within: timedelta = timedelta(hours=6)) -> list[Record]:
    """Return a row for each bill, the newest first."""
    charges = [
        record
        for record in select_payments(records)
        if record["action"] == "charge"
        and record["direction"] == "in"
        and normalise(record["note"])
        and record["date_created"] is not None
    ]
    charges.sort(key=in_order)
    bills: list[list[Record]] = []
    open_bills: dict[str, list[Record]] = {}
    for charge in charges:
        note = normalise(charge["note"])
        bill = open_bills.get(note)
        if bill is None or to_utc(charge["date_created"]) - to_utc(bill[-1]["date_created"]) > within:
            bill = open_bills[note] = []
            bills.append(bill)
        bill.append(charge)
    rows = [describe_bill(bill, as_of) for bill in bills if len({find_person(charge) for charge in bill}) > 1]
    return sorted(rows, key=lambda row: (newest_first(row["date"]), nulls_last(row["bill_id"]), normalise(row["note"])))


def describe_bill(bill: list[Record], as_of: datetime) -> Record:
    """Return the row of a bill."""
    pending = [to_utc(charge["date_created"]) for charge in bill if charge["status"] == "pending"]
    age = max(as_of - min(pending), timedelta(0)) if pending else None
    return {
        "bill_id": bill[0]["payment_id"],
        "date": to_utc(bill[0]["date_created"]),
        "note": bill[0]["note"],
        "people": len({find_person(charge) for charge in bill}),
        "asked": sum_cents(bill) / 100,
        "collected": sum_cents(bill, "status", "settled") / 100,
        "still_open": sum_cents(bill, "status", "pending") / 100,
        "declined": sum_cents(bill, "status", "cancelled", "expired", "failed") / 100,
        "oldest_open_days": None if age is None else to_days(age // MICROSECOND),
    }
