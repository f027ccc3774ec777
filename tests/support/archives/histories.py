"""Payments in the wire form, and histories of them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from p2p_analytics.frames.build import friends_frame, payments_frame, problems_frame
from p2p_analytics.history import History
from p2p_analytics.records import Me, User, decode_payments

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def payment() -> Callable[..., dict[str, Any]]:
    """Return a function that builds a payment in the wire form."""
    return _payment


def _payment(payment_id: int | str, **fields: Any) -> dict[str, Any]:
    """Return a payment of 5.00 from user 7 to user 8."""
    return {
        "id": str(payment_id), "status": "settled", "action": "pay", "amount": 5, "note": f"note {payment_id}",
        "date_created": "2024-05-01T12:00:00", "date_completed": None, "audience": "private",
        "actor": {"id": "7", "display_name": "Ada"},
        "target": {"type": "user", "user": {"id": "8", "display_name": "Bo"}}, **fields,
    }  # fmt: skip


@pytest.fixture(scope="session")
def history_of() -> Callable[..., History]:
    """Return a function that builds a history of payments with a given fetch time."""

    def make(*items: dict[str, Any], at: datetime = NOON, account: str = "7", friends: int = 1) -> History:
        page = decode_payments(json.dumps({"data": items}).encode())
        return History(
            me=Me(user=User(id=account, display_name="Ada"), balance_cents=990),
            payments=payments_frame([page.items], account),
            friends=friends_frame([User(id=str(8 + number), username=f"u{number}") for number in range(friends)]),
            fetched_at=at,
            problems=problems_frame(page.problems),
        )

    return make


def assert_same_history(found: History, expected: History) -> None:
    """Assert that two histories are equal."""
    for name in ("payments", "people", "friends", "problems"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))
    assert (found.me, found.fetched_at) == (expected.me, expected.fetched_at)
