"""Histories of literal payments for tests of the explorer, and its inputs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import p2p_analytics as p2p
from p2p_analytics.history import History
from p2p_analytics.times import parse_instant
from support.reports import report_history


def build_payment(
    number: int, created: str | None, who: str | None, name: str | None, cents: int | None, **more: Any
) -> dict[str, Any]:
    """Return a row of a settled payment with this flow in cents, which is not completed unless ``more`` says so."""
    more = {"date_created": created} | more
    dates = {key: value and parse_instant(value) for key, value in more.items() if key.startswith("date_")}
    return {
        "payment_id": str(number), "status": "settled", "action": "pay", "kind": "payment", "currency": "USD",
        "direction": None if cents is None else "out" if cents < 0 else "in", "counterparty_id": who,
        "counterparty_name": name, "flow_cents": cents, "amount_cents": None if cents is None else abs(cents),
        **more, **dates,
    }  # fmt: skip


def build_history(rows: list[dict[str, Any]], **user: str) -> History:
    """Return a history of literal payments, fetched by Rosa on 1 June 2024."""
    return replace(
        report_history(rows, **{"display_name": "Rosa", **user}), fetched_at=datetime(2024, 6, 1, tzinfo=UTC)
    )


def choose(explorer: p2p.Explorer, name: str, label: str) -> None:
    """Choose an option of an input by its label."""
    widget = getattr(explorer, name)
    widget.index = [option[0] if isinstance(option, tuple) else option for option in widget.options].index(label)


def build_long_history(count: int) -> History:
    """Return a history of settled payments of $1.00, one per hour up to its last day, with 40 people in turn.

    Payment 0 is the newest. Payments with an even number are received, the others are sent.
    """
    newest = datetime(2024, 5, 31, 23, tzinfo=UTC)
    rows = []
    for number in range(count):
        created, person = f"{newest - timedelta(hours=number):%Y-%m-%dT%H:%M:%SZ}", number % 40
        note = f"rent {number}" if number % 1000 == 0 else f"Pizza 🍕 {number}"
        rows.append(
            build_payment(
                number, created, str(person + 100), f"Person {person:02}", -100 if number % 2 else 100,
                date_completed=created, counterparty_username=f"handle-{person:02}", note=note,
            )
        )  # fmt: skip
    return build_history(rows)
