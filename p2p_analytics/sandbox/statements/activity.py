"""Invented activity of an account other than payments between people: merchants, cards, deposits, rewards, transfers.

Each month of an account has a separate random generator, so a month does not depend on the others.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.statements.lines import LineType

_SECOND_US: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MERCHANTS: Final = ("Corner Pantry", "Blue Kettle Diner", "Pine & Paper", "Tram Kiosk", 'The "Old" Cinema, Hall 2')
_TIPPED: Final = "Blue Kettle Diner"
_FIRST_ID: Final = 9_000_000_000_000_000_000  # above the ids of payments, which are below 9 * 10**18
_IDS: Final = 223_000_000_000_000_000  # so that all are below 2**63


class Activity(NamedTuple):
    """One event: ``cents`` are as the account holder sees them; of a transfer, the percentage of the balance."""

    when_us: int
    line_id: int
    type: LineType
    cents: int
    merchant: str = ""
    tip_cents: int = 0
    tax_cents: int = 0
    is_failed: bool = False


def make_line_id(user_id: int, *key: object) -> int:
    """Return the id of a line that is not a payment: 19 digits, the same for the same user and key."""
    digest = hashlib.sha256(repr((user_id, *key)).encode()).digest()
    return _FIRST_ID + int.from_bytes(digest[:8]) % _IDS


def make_opening_balance(seed: str, user_id: int) -> int:
    """Return the balance before the first line, in cents."""
    return random.Random(f"{seed} {user_id}").randrange(2_000, 20_000)  # noqa: S311 - a repeatable history


def make_activity(seed: str, user_id: int, start_us: int, end_us: int) -> Iterator[Activity]:
    """Yield the activity of an account from one instant to another, in no particular order."""
    for number, month_us in enumerate(_months(start_us, end_us)):
        rng = random.Random(f"{seed} {user_id} {month_us}")  # noqa: S311 - a repeatable history
        for place, event in enumerate(_make_month(rng, number, month_us)):
            if start_us <= event.when_us < end_us:
                yield event._replace(line_id=make_line_id(user_id, month_us, place))


def _months(start_us: int, end_us: int) -> Iterator[int]:
    month = (_EPOCH + timedelta(microseconds=start_us)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while (month_us := (month - _EPOCH) // timedelta(microseconds=1)) < end_us:
        yield month_us
        month = (month + timedelta(days=32)).replace(day=1)


def _make_month(rng: random.Random, number: int, month_us: int) -> Iterator[Activity]:
    def at(first_day: int, last_day: int) -> int:
        return month_us + (rng.randint(first_day, last_day) - 1) * DAY_US + rng.randrange(86_400) * _SECOND_US

    yield Activity(at(1, 3), 0, LineType.DIRECT_DEPOSIT, rng.randrange(12_000, 40_000))
    for _ in range(rng.randint(1, 3)):
        yield _make_purchase(rng, at(2, 24))
    if number % 4 == 2:  # noqa: PLR2004 - every fourth month something is returned
        merchant, when_us, cents = rng.choice(_MERCHANTS), at(5, 20), rng.randrange(600, 4_000)
        yield Activity(when_us, 0, LineType.MERCHANT, -cents, merchant)
        yield Activity(when_us + 2 * DAY_US, 0, LineType.REFUND, cents // 2, merchant)
    if number % 3 == 1:
        yield Activity(at(12, 16), 0, LineType.CARD_PAYMENT, -rng.randrange(2_000, 9_000))
    yield Activity(at(17, 19), 0, LineType.CARD_REWARD, rng.randrange(100, 900))
    transfer = LineType.INSTANT_TRANSFER if number % 2 else LineType.STANDARD_TRANSFER
    yield Activity(at(25, 28), 0, transfer, rng.randrange(30, 80))
    if number % 12 == 5:  # noqa: PLR2004 - once a year
        yield Activity(at(25, 28), 0, LineType.STANDARD_TRANSFER, 90, is_failed=True)
    if number == 1:
        yield Activity(at(8, 20), 0, LineType.NEW, 101)


def _make_purchase(rng: random.Random, when_us: int) -> Activity:
    """Return a purchase; the total includes a tip of 18 % in a restaurant, and a tax of 8 %."""
    merchant, net = rng.choice(_MERCHANTS), rng.randrange(450, 4_800)
    tip = round(net * 18 / 100) if merchant == _TIPPED else 0
    tax = round(net * 8 / 100)
    return Activity(when_us, 0, LineType.MERCHANT, -(net + tip + tax), merchant, tip, tax)
