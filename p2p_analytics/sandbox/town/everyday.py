"""Simulated history of the town: rent, bills, dinners, trips, favours, and requests without a response."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Final

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.town.habits import MONTHLY, add_habits
from p2p_analytics.sandbox.town.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.town.people import BUSINESS
from p2p_analytics.sandbox.town.timeline import HOUR_US, SECOND_US, Series, Timeline, list_months
from p2p_analytics.vocabulary import Audience, Status

HOUSEHOLD: Final = 3
_INTERNET: Final = "Internet"
_STRANGERS_EACH: Final = 8
_ASKED_DAYS: Final = (0.2, 2.3, 5.1, 12.6, 25.2, 45.8, 75.4, 101.7, 202.9)
_ASKING_DAYS: Final = (0.5, 3.4, 9.1, 19.7, 38.2, 62.5, 140.3)
_LATE_DAYS: Final = ((80, 35), (170, 46), (330, 62))  # when it was asked, and how long the answer took: over a month
_OUTINGS: Final = ((DINNERS, 2_500, 11_000), (CONCERTS, 4_500, 18_000), (TRIP, 10_000, 36_000))


def simulate(
    rng: random.Random, people: Sequence[Person], *, start_us: int, now_us: int, with_series: bool = False
) -> tuple[list[tuple[int, int]], list[Payment], list[Series]]:
    """Return the friendships, all payments, and the series among them.

    Payments are sorted, the oldest first, each refund after the payment that it refunds. With ``with_series``, the
    first person has more series, and payments that could be mistaken for one.
    """
    timeline = Timeline(rng, start_us, now_us)
    ids = [person.user_id for person in people]
    cafe = ids[BUSINESS] if len(ids) > BUSINESS else None
    persons = [one for one in ids if one != cafe]
    homes = [persons[first : first + HOUSEHOLD] for first in range(0, len(persons), HOUSEHOLD)]
    friendships = _make_friendships(rng, ids, homes, cafe)
    friends: dict[int, set[int]] = {one: set() for one in ids}
    for one, other in friendships:
        friends[one].add(other)
        friends[other].add(one)
    circles = [[one, *sorted(friends[one])] for one in ids if friends[one]]
    for number, month_us in enumerate(list_months(start_us, now_us)):
        for home in homes:
            _keep_house(timeline, home, month_us, number)
        _go_out(timeline, circles[0], cafe, month_us)
        for _ in range(max(1, len(people) // 5)):
            _eat_out(timeline, rng.choice(circles), month_us)
        for _ in range(max(1, len(people) // 3)):
            _do_a_favour(timeline, ids, cafe, month_us)
    for circle in circles[:: max(1, len(circles) // 3)]:
        _travel(timeline, circle[:5])
    _add_required_cases(timeline, *persons)
    if with_series:  # last, so that all others are the payments of a town without them
        add_habits(timeline, persons[0], persons[1:])
    payments = timeline.payments()
    return friendships, payments, list(timeline.series.values())


def _make_friendships(
    rng: random.Random, people: Sequence[int], homes: Sequence[Sequence[int]], cafe: int | None
) -> list[tuple[int, int]]:
    """Return pairs of friends: flatmates, neighbours in the list and random pairs.

    The first person has the most friends, the business has none.
    """
    pairs = {pair for home in homes for pair in combinations(home, 2)} | set(pairwise(people))
    pairs |= {(people[0], other) for place, other in enumerate(people[:16]) if place % 5}
    for place, one in enumerate(people):
        chosen = rng.sample(people, min(4, len(people)))
        pairs |= {(one, other) for other in chosen if people.index(other) > place}
    return sorted((min(pair), max(pair)) for pair in pairs if cafe not in pair)


def _keep_house(timeline: Timeline, home: Sequence[int], month_us: int, number: int) -> None:
    """Pay the rent, which rises each year, to the second person, and split the bills of the first and the last."""
    if len(home) < 2:  # noqa: PLR2004 - a person alone splits no bills
        return
    rng, lessee = timeline.rng, home[1]
    for place, flatmate in enumerate(home):
        if flatmate != lessee:
            rent, when_us = 40_500 + 2_500 * place + 2_500 * (number // 12), timeline.at(month_us, 1, 3)
            series = timeline.find_series(flatmate, lessee, MONTHLY, "Rent 🏠")
            timeline.pay(flatmate, lessee, rent, series.note, when_us, audience=Audience.PRIVATE, series=series)
    for payer, bill, low, high, day in (
        (home[0], "Electricity ⚡", 8_000, 24_000, 6),
        (home[-1], _INTERNET, 5_999, 6_000, 11),
    )[number % 2 :]:  # electricity every other month
        share, when_us = rng.randrange(low, high) // len(home), timeline.at(month_us, day, day)
        for flatmate in home:
            if flatmate != payer:
                recurring = timeline.find_series(flatmate, payer, MONTHLY, bill) if bill == _INTERNET else None
                timeline.charge(payer, flatmate, share, bill, when_us, series=recurring)
    for _ in range(rng.randint(1, 2)):
        one, other = rng.sample(home, 2)
        timeline.pay(one, other, rng.randrange(900, 9_000), rng.choice(GROCERIES), timeline.at(month_us))


def _go_out(timeline: Timeline, circle: Sequence[int], cafe: int | None, month_us: int) -> None:
    """Add the first person's month: outings with friends, some more often than others, and the café."""
    rng = timeline.rng
    me, *friends = circle
    weights = [1 / (place + 3) for place in range(len(friends))]
    for _ in range(rng.randint(2, 3)):
        (friend,) = rng.choices(friends, weights)
        notes, low, high = rng.choice(_OUTINGS)
        cents, note, when_us = rng.randrange(low, high), rng.choice(notes), timeline.at(month_us)
        luck = rng.random()
        if luck < 0.4:  # noqa: PLR2004 - who paid the bill, and who settles it
            timeline.charge(friend, me, cents, note, when_us)
        elif luck < 0.75:  # noqa: PLR2004
            timeline.pay(me, friend, cents, note, when_us)
        else:
            timeline.charge(me, friend, cents, note, when_us)
    if rng.random() < 0.6 and cafe is not None:  # noqa: PLR2004 - of the months
        _buy_coffee(timeline, me, cafe, rng.randrange(900, 5_500), timeline.at(month_us))


def _buy_coffee(timeline: Timeline, person: int, cafe: int, cents: int, when_us: int) -> None:
    """Pay the business, which takes the money for a fee."""
    fee = max(10, round(cents * 19 / 1_000))
    timeline.pay(person, cafe, cents, "☕", when_us, fee_cents=fee, audience=Audience.PRIVATE)


def _eat_out(timeline: Timeline, circle: Sequence[int], month_us: int) -> None:
    """Add a dinner: one person pays the bill and charges the others in the same second."""
    rng = timeline.rng
    host, others = circle[0], rng.sample(circle[1:], min(len(circle) - 1, rng.randint(1, 4)))
    when_us = timeline.at(month_us, hours=(19, 24))
    share = rng.randrange(900, 6_500)
    note = rng.choice(DINNERS if rng.random() < 0.8 else CONCERTS)  # noqa: PLR2004 - mostly dinners
    for other in others:
        timeline.charge(host, other, share, note, when_us)


def _do_a_favour(timeline: Timeline, people: Sequence[int], cafe: int | None, month_us: int) -> None:
    """Add a small payment between two people, or to the business, which never pays."""
    rng = timeline.rng
    one, other = rng.sample(people, 2)
    cents, when_us = rng.randrange(100, 9_000), timeline.at(month_us)
    if cafe is not None and cafe in {one, other}:
        _buy_coffee(timeline, other if one == cafe else one, cafe, cents, when_us)
    elif rng.random() < 0.05:  # noqa: PLR2004 - some payments fail
        timeline.pay(one, other, cents, rng.choice(FAVOURS), when_us, status=Status.FAILED)
    else:
        timeline.pay(one, other, cents, rng.choice(FAVOURS + STRANGE), when_us)


def _travel(timeline: Timeline, travellers: Sequence[int]) -> None:
    """Add a week away: each evening one traveller charges all others for two things in the same second."""
    rng = timeline.rng
    first_day = rng.randrange(timeline.start_us, timeline.now_us - 20 * DAY_US) // DAY_US
    for evening in range(7):
        host = travellers[evening % len(travellers)]
        when_us = timeline.on(first_day + evening, 21)
        for note in rng.sample(TRIP, 2):
            share = rng.randrange(500, 12_000)
            for other in travellers:
                if other != host:
                    timeline.charge(host, other, share, note, when_us)


def _add_required_cases(timeline: Timeline, me: int, *others: int) -> None:
    """Add the cases that every seed must have: strange notes, failures, cancellations, late and missing answers."""
    rng = timeline.rng
    for place, note in enumerate((*STRANGE, *ALONE)):
        when_us = timeline.ago(20 + 17 * place)
        timeline.pay(me, others[place % len(others)], rng.randrange(100, 5_000), note, when_us)
    # Pending requests to and from the first person; all amounts differ, so no two look alike.
    sums = rng.sample(range(2, 31), len(_ASKED_DAYS) + len(_ASKING_DAYS))
    askers, asked = others[::2], others[1::2] or others
    for place, days in enumerate(_ASKED_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(DINNERS)
        timeline.charge(me, asked[place % len(asked)], cents, note, timeline.ago(days), status=Status.PENDING)
    for place, days in enumerate(_ASKING_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(CONCERTS)
        timeline.charge(askers[place % len(askers)], me, cents, note, timeline.ago(days), status=Status.PENDING)
    for place, days in enumerate((9, 130, 290)):
        cents = 40_000 + 100 * days
        timeline.pay(me, others[place % len(others)], cents, "Deposit", timeline.ago(days), status=Status.FAILED)
    for place, days in enumerate((40, 220)):
        when_us, cents, note = timeline.ago(days), rng.randrange(900, 4_000), "Wrong person, sorry"
        undone_us = when_us + rng.randrange(3 * HOUR_US, 2 * DAY_US) // SECOND_US * SECOND_US
        other = others[place % len(others)]
        timeline.charge(me, other, cents, note, when_us, status=Status.CANCELLED, completed_us=undone_us)
    for place, (days, waited) in enumerate(_LATE_DAYS):
        other, when_us = others[place % len(others)], timeline.ago(days)
        payer, payee = (me, other) if place % 2 else (other, me)
        cents, note = 2_900 + 100 * waited, "Festival tickets, pay me when you can"
        settled_us = when_us + waited * DAY_US
        timeline.charge(payee, payer, cents, note, when_us, status=Status.SETTLED, completed_us=settled_us)
    timeline.pay(me, others[0], 12_000, "Moving van, needed today", timeline.ago(64), fee_cents=210)
    for number, person in enumerate((me, *others[::_STRANGERS_EACH])):
        _pay_strangers(timeline, person, number)


def _pay_strangers(timeline: Timeline, person: int, number: int) -> None:
    """Pay and charge addresses without an account, different ones for each person; one payment expires unclaimed."""
    suffix = f".{number}" if number else ""
    for send, address, low, high, note, days in (
        (timeline.pay, f"auntie{suffix}@example.net", 2_000, 6_000, "Happy birthday 🎂", 2 + number % 20),
        (timeline.pay, f"{15_555_550_142 + 2 * number}", 900, 3_000, "Cab", 8 + number % 30),
        (timeline.charge, f"{15_555_550_177 + 200 * number}", 1_200, 4_000, "Your half", 31 + number % 60),
    ):
        cents, when_us = timeline.rng.randrange(low, high), timeline.ago(days)
        send(person, address, cents, note, when_us, status=Status.PENDING)
    cents, when_us = 4_400 + 100 * number % 3_700, timeline.ago(120 + number % 90)
    timeline.pay(
        person, f"old.address{suffix}@example.net", cents, "For the tickets", when_us,
        status=Status.EXPIRED, completed_us=when_us + 30 * DAY_US, refund_us=when_us + 30 * DAY_US,
    )  # fmt: skip
