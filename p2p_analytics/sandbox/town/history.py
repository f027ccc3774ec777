"""Simulated history of the town: rent, bills, dinners, trips, favours, and requests without a response."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.town.habits import MONTHLY, add_habits
from p2p_analytics.sandbox.town.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.town.people import BUSINESS
from p2p_analytics.sandbox.town.timeline import HOUR_US, SECOND_US, Series, Timeline
from p2p_analytics.vocabulary import Audience, Status

HOUSEHOLD: Final = 3
INTERNET: Final = "Internet"
STRANGERS_EACH: Final = 8
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
    persons = [person for person in people if person not in people[BUSINESS : BUSINESS + 1]]
    homes = [persons[first : first + HOUSEHOLD] for first in range(0, len(persons), HOUSEHOLD)]
    friendships = _make_friendships(rng, people, homes)
    circles = _find_circles(people, friendships)
    for number, month_us in enumerate(timeline.months()):
        for home in homes:
            _keep_house(timeline, home, month_us, number)
        _go_out(timeline, circles[0], people[BUSINESS : BUSINESS + 1], month_us)
        for _ in range(max(1, len(people) // 5)):
            _eat_out(timeline, rng.choice(circles), month_us)
        for _ in range(max(1, len(people) // 3)):
            _do_a_favour(timeline, people, month_us)
    for circle in circles[:: max(1, len(circles) // 3)]:
        _travel(timeline, circle)
    _add_required_cases(timeline, persons)
    if with_series:  # last, so that all others are the payments of a town without them
        add_habits(timeline, persons[0].user_id, [person.user_id for person in persons[1:]])
    payments = timeline.payments()
    return friendships, payments, list(timeline.series.values())


def _make_friendships(
    rng: random.Random, people: Sequence[Person], homes: Sequence[Sequence[Person]]
) -> list[tuple[int, int]]:
    """Return pairs of friends: flatmates, neighbours in the list and random pairs.

    The first person has the most friends, the business has none.
    """
    pairs = {(one, other) for home in homes for place, one in enumerate(home) for other in home[place + 1 :]}
    pairs |= set(pairwise(people))
    pairs |= {(people[0], other) for place, other in enumerate(people[:16]) if place % 5}
    for place, one in enumerate(people):
        for other in rng.sample(people, min(4, len(people))):
            if people.index(other) > place:
                pairs.add((one, other))
    businesses = set(people[BUSINESS : BUSINESS + 1])
    return sorted(
        (min(one.user_id, other.user_id), max(one.user_id, other.user_id))
        for one, other in pairs
        if one not in businesses and other not in businesses
    )


def _find_circles(people: Sequence[Person], friendships: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the circle of each person with friends: the person's id, then the ids of the friends."""
    friends: dict[int, set[int]] = defaultdict(set)
    for one, other in friendships:
        friends[one].add(other)
        friends[other].add(one)
    return [[person.user_id, *sorted(friends[person.user_id])] for person in people if friends[person.user_id]]


def _keep_house(timeline: Timeline, home: Sequence[Person], month_us: int, number: int) -> None:
    """Pay the rent, which rises each year, to the second person, and split the bills of the first and the last."""
    if len(home) < 2:  # noqa: PLR2004 - a person alone splits no bills
        return
    rng = timeline.rng
    lessee = home[1].user_id
    for place, flatmate in enumerate(home):
        if flatmate.user_id != lessee:
            rent = 40_500 + 2_500 * place + 2_500 * (number // 12)
            timeline.pay(
                flatmate.user_id,
                lessee,
                rent,
                "Rent 🏠",
                timeline.at(month_us, 1, 3),
                audience=Audience.PRIVATE,
                series=timeline.find_series(flatmate.user_id, lessee, MONTHLY, "Rent 🏠"),
            )
    for payer, bill, low, high, day in (
        (home[0].user_id, "Electricity ⚡", 8_000, 24_000, 6),
        (home[-1].user_id, INTERNET, 5_999, 6_000, 11),
    )[number % 2 :]:  # electricity every other month
        share, when_us = rng.randrange(low, high) // len(home), timeline.at(month_us, day, day)
        for flatmate in home:
            if flatmate.user_id != payer and bill == INTERNET:
                series = timeline.find_series(flatmate.user_id, payer, MONTHLY, bill)
                timeline.charge(payer, flatmate.user_id, share, bill, when_us, series=series)
            elif flatmate.user_id != payer:
                timeline.charge(payer, flatmate.user_id, share, bill, when_us)
    for _ in range(rng.randint(1, 2)):
        one, other = rng.sample([person.user_id for person in home], 2)
        timeline.pay(one, other, rng.randrange(900, 9_000), rng.choice(GROCERIES), timeline.at(month_us))


def _go_out(timeline: Timeline, circle: Sequence[int], businesses: Sequence[Person], month_us: int) -> None:
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
    for business in businesses if rng.random() < 0.6 else ():  # noqa: PLR2004
        cents = rng.randrange(900, 5_500)
        fee = max(10, round(cents * 19 / 1_000))
        timeline.pay(me, business.user_id, cents, "☕", timeline.at(month_us), fee_cents=fee, audience=Audience.PRIVATE)


def _eat_out(timeline: Timeline, circle: Sequence[int], month_us: int) -> None:
    """Add a dinner: one person pays the bill and charges the others in the same second."""
    rng = timeline.rng
    host, others = circle[0], rng.sample(circle[1:], min(len(circle) - 1, rng.randint(1, 4)))
    when_us = timeline.at(month_us, hours=(19, 24))
    share = rng.randrange(900, 6_500)
    note = rng.choice(DINNERS if rng.random() < 0.8 else CONCERTS)  # noqa: PLR2004 - mostly dinners
    for other in others:
        timeline.charge(host, other, share, note, when_us)


def _do_a_favour(timeline: Timeline, people: Sequence[Person], month_us: int) -> None:
    """Add a small payment between two people; a payment to the business has a fee."""
    rng = timeline.rng
    businesses = {person.user_id for person in people[BUSINESS : BUSINESS + 1]}
    one, other = (person.user_id for person in rng.sample(people, 2))
    if one in businesses:  # the business never pays
        one, other = other, one
    cents, when_us = rng.randrange(100, 9_000), timeline.at(month_us)
    if other in businesses:
        fee = max(10, round(cents * 19 / 1_000))
        timeline.pay(one, other, cents, "☕", when_us, fee_cents=fee, audience=Audience.PRIVATE)
    elif rng.random() < 0.05:  # noqa: PLR2004 - some payments fail
        timeline.pay(one, other, cents, rng.choice(FAVOURS), when_us, status=Status.FAILED)
    else:
        timeline.pay(one, other, cents, rng.choice(FAVOURS + STRANGE), when_us)


def _travel(timeline: Timeline, circle: Sequence[int]) -> None:
    """Add a week away: each evening one traveller charges all others for two things in the same second."""
    rng = timeline.rng
    travellers = list(circle[:5])
    first_us = rng.randrange(timeline.start_us, timeline.now_us - 20 * DAY_US)
    first_us -= first_us % DAY_US
    for evening in range(7):
        host = travellers[evening % len(travellers)]
        when_us = first_us + evening * DAY_US + 21 * HOUR_US + rng.randrange(3_600) * SECOND_US
        for note in rng.sample(TRIP, 2):
            share = rng.randrange(500, 12_000)
            for other in travellers:
                if other != host:
                    timeline.charge(host, other, share, note, when_us)


def _add_required_cases(timeline: Timeline, persons: Sequence[Person]) -> None:
    """Add the cases that every seed must have: strange notes, failures, cancellations, late and missing answers."""
    rng = timeline.rng
    me, others = persons[0].user_id, [person.user_id for person in persons[1:]]
    for place, note in enumerate((*STRANGE, *ALONE)):
        when_us = timeline.ago(20 + 17 * place)
        timeline.pay(me, others[place % len(others)], rng.randrange(100, 5_000), note, when_us)
    _add_pending_requests(timeline, me, others)
    for place, days in enumerate((9, 130, 290)):
        cents = 40_000 + 100 * days
        timeline.pay(me, others[place % len(others)], cents, "Deposit", timeline.ago(days), status=Status.FAILED)
    for place, days in enumerate((40, 220)):
        before_us, cents = timeline.ago(days), rng.randrange(900, 4_000)
        undone_us = before_us + rng.randrange(3 * HOUR_US, 2 * DAY_US) // SECOND_US * SECOND_US
        timeline.charge(
            me,
            others[place % len(others)],
            cents,
            "Wrong person, sorry",
            before_us,
            status=Status.CANCELLED,
            completed_us=undone_us,
        )
    for place, (days, waited) in enumerate(_LATE_DAYS):
        other, asked_us = others[place % len(others)], timeline.ago(days)
        payer, payee = (me, other) if place % 2 else (other, me)
        cents, note = 2_900 + 100 * waited, "Festival tickets, pay me when you can"
        settled_us = asked_us + waited * DAY_US
        timeline.charge(payee, payer, cents, note, asked_us, status=Status.SETTLED, completed_us=settled_us)
    timeline.pay(me, others[0], 12_000, "Moving van, needed today", timeline.ago(64), fee_cents=210)
    _pay_strangers(timeline, me, 0)
    for number, person in enumerate(others[::STRANGERS_EACH], 1):
        _pay_strangers(timeline, person, number)


def _add_pending_requests(timeline: Timeline, me: int, others: Sequence[int]) -> None:
    """Add pending requests to and from the first person; all amounts differ, so no two look alike."""
    rng = timeline.rng
    sums = rng.sample(range(2, 31), len(_ASKED_DAYS) + len(_ASKING_DAYS))
    askers, asked = others[::2], others[1::2] or others
    for place, days in enumerate(_ASKED_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(DINNERS)
        timeline.charge(me, asked[place % len(asked)], cents, note, timeline.ago(days), status=Status.PENDING)
    for place, days in enumerate(_ASKING_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(CONCERTS)
        timeline.charge(askers[place % len(askers)], me, cents, note, timeline.ago(days), status=Status.PENDING)


def _pay_strangers(timeline: Timeline, person: int, number: int) -> None:
    """Pay and charge addresses without an account, different ones for each person; one payment expires unclaimed."""
    rng, suffix = timeline.rng, f".{number}" if number else ""
    phones = (15_555_550_142 + 2 * number, 15_555_550_177 + 200 * number)
    timeline.pay(
        person,
        f"auntie{suffix}@example.net",
        rng.randrange(2_000, 6_000),
        "Happy birthday 🎂",
        timeline.ago(2 + number % 20),
        status=Status.PENDING,
    )
    timeline.pay(
        person, str(phones[0]), rng.randrange(900, 3_000), "Cab", timeline.ago(8 + number % 30), status=Status.PENDING
    )
    timeline.charge(
        person,
        str(phones[1]),
        rng.randrange(1_200, 4_000),
        "Your half",
        timeline.ago(31 + number % 60),
        status=Status.PENDING,
    )
    sent_us = timeline.ago(120 + number % 90)
    back_us = sent_us + 30 * DAY_US
    timeline.pay(
        person,
        f"old.address{suffix}@example.net",
        4_400 + 100 * number % 3_700,
        "For the tickets",
        sent_us,
        status=Status.EXPIRED,
        completed_us=back_us,
        refund_us=back_us,
    )
