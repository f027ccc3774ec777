"""Histories of literal payments for tests of the explorer, and its inputs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.history import History
from p2p_analytics.records import Me, User
from p2p_analytics.times import parse_instant
from support.frames import frame_from_rows

if TYPE_CHECKING:
    import p2p_analytics as p2p


def build_payment(
    number: int, created: str | None, who: str | None, name: str | None, cents: int | None, **more: Any
) -> dict[str, Any]:
    """Return a row of a settled payment with this flow in cents, which is not completed unless ``more`` says so."""
    for key, value in more.items():
        if key.startswith("date_") and isinstance(value, str):
            more[key] = parse_instant(value)
    return {
        "payment_id": str(number), "status": "settled", "action": "pay", "kind": "payment", "currency": "USD",
        "direction": None if cents is None else "out" if cents < 0 else "in", "counterparty_id": who,
        "counterparty_name": name, "flow_cents": cents, "amount_cents": None if cents is None else abs(cents),
        "date_created": None if created is None else parse_instant(created), **more,
    }  # fmt: skip


def build_history(rows: list[dict[str, Any]], **user: str) -> History:
    """Return a history of literal payments, fetched by Rosa on 1 June 2024."""
    return History(
        me=Me(user=User(id="1", **{"display_name": "Rosa", "username": "rosa-vale", **user})),
        payments=frame_from_rows(rows, PAYMENTS),
        friends=frame_from_rows([{"user_id": "2"}], FRIENDS),
        fetched_at=datetime(2024, 6, 1, tzinfo=UTC),
        problems=frame_from_rows([], PROBLEMS),
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
    rows = [
        build_payment(
            number,
            None,
            str(number % 40 + 100),
            f"Person {number % 40:02}",
            -100 if number % 2 else 100,
            date_created=newest - timedelta(hours=number),
            date_completed=newest - timedelta(hours=number),
            counterparty_username=f"handle-{number % 40:02}",
            note=f"rent {number}" if number % 1000 == 0 else f"Pizza 🍕 {number}",
        )
        for number in range(count)
    ]
    return build_history(rows)
