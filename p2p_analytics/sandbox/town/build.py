"""Town of invented people with years of payments, the same for the same seed.

The town's clock stands still, so that ages such as "pending for three days" do not depend on the day of a run.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.town.everyday import HOUSEHOLD, simulate
from p2p_analytics.sandbox.town.people import make_residents
from p2p_analytics.sandbox.town.timeline import Series, to_microseconds
from p2p_analytics.vocabulary import Action, Status

NOW: Final = datetime(2025, 6, 30, 18, tzinfo=UTC)
SEED: Final = 7
LARGEST_SEED: Final = 2**63 - 1
PEOPLE: Final = 12
YEARS: Final = 4
FEWEST_PEOPLE, MOST_PEOPLE = 3, 2_000
MOST_YEARS: Final = 20
MOST_KEPT_CENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Town:
    """People with their balances at `now`, pairs of friends, all payments, opening balances, and planted series."""

    now: datetime
    people: list[Person]
    friendships: list[tuple[int, int]]
    payments: list[Payment]
    opening_cents: dict[int, int]
    series: list[Series]


def build(
    seed: int = SEED, *, people: int = PEOPLE, years: int = YEARS, now: datetime = NOW, series: bool = False
) -> Town:
    """Return the town of a seed.

    With ``series``, its first person also has payments of every cadence, which recur; the other payments have the same
    dates and amounts as without, but other ids.

    Raises
    ------
    SettingError
        A number is out of its range, or `now` has no time zone.
    """
    for number, low, high, rule in (
        (seed, 0, LARGEST_SEED, f"A town's seed is a whole number from 0 to {LARGEST_SEED}"),
        (people, FEWEST_PEOPLE, MOST_PEOPLE, f"A town has {FEWEST_PEOPLE} to {MOST_PEOPLE} people"),
        (years, 1, MOST_YEARS, f"A town's history has 1 to {MOST_YEARS} whole years"),
    ):
        if not isinstance(number, int) or not low <= number <= high:
            raise SettingError(f"{rule}, not {number!r}.")
    if now.tzinfo is None:
        raise SettingError(f"The town's now, {now}, has no time zone: give an aware datetime.")
    now_us, start_us = to_microseconds(now), to_microseconds(now - timedelta(days=365 * years))
    rng = random.Random(seed)  # noqa: S311 - a repeatable history, not a secret
    everybody = make_residents(rng, people, start_us)
    friendships, payments, planted = simulate(rng, everybody, start_us=start_us, now_us=now_us, with_series=series)
    opening = {person.user_id: person.balance_cents for person in everybody}
    closing = compute_balances(opening, payments)
    everybody = [person._replace(balance_cents=closing[person.user_id]) for person in everybody]
    return Town(now, everybody, friendships, payments, opening, planted)


def trusts(town: Town) -> list[tuple[int, int]]:
    """Return pairs of (user, trusted user): flatmates who are friends trust each other."""
    friends, ids = set(town.friendships), [person.user_id for person in town.people]
    homes = [ids[first : first + HOUSEHOLD] for first in range(0, len(ids), HOUSEHOLD)]
    pairs = [(one, other) for home in homes for one, other in product(home, home)]
    return [pair for pair in pairs if (min(pair), max(pair)) in friends]


def compute_balances(opening_cents: dict[int, int], payments: Sequence[Payment]) -> dict[int, int]:
    """Return the balance of each person after all payments, in cents.

    Money moves when a payment settles. The payer's balance pays where it covers the amount and the fee, otherwise the
    payer's bank pays all of it; a balance above 1,000.00 is moved to the bank. Money to an address without an account
    leaves when it is sent, and returns when the payment expires.
    """
    moves: list[tuple[int, int, int, int]] = []
    for payment in payments:
        is_charge = payment.action == Action.CHARGE
        payer, receiver = payment.actor_id, payment.target_user_id
        if is_charge and receiver is not None:
            payer, receiver = receiver, payer
        total = payment.amount_cents + (payment.fee_cents or 0)
        is_unclaimed = receiver is None and payment.status in (Status.PENDING, Status.EXPIRED)
        if payment.refund_of is not None:
            moves.append((payment.completed_us or 0, payment.payment_id, payment.actor_id, payment.amount_cents))
        elif is_unclaimed and not is_charge:
            moves.append((payment.created_us, payment.payment_id, payer, -total))
        elif payment.status == Status.SETTLED and receiver is not None:
            settled = payment.completed_us or payment.created_us
            moves.append((settled, payment.payment_id, payer, -total))
            moves.append((settled, payment.payment_id, receiver, payment.amount_cents))
    held = dict(opening_cents)
    for _, _, person, change in sorted(moves):
        if change > 0:
            held[person] = min(held[person] + change, MOST_KEPT_CENTS)
        elif held[person] + change >= 0:
            held[person] += change
    return held
