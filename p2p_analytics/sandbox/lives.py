"""How the people of the town live: rent, bills, dinners, trips, favours, and the requests nobody answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict

from p2p_analytics.sandbox.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.people import BUSINESS, DAY_US
from p2p_analytics.sandbox.store import Payment, Spelling
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from p2p_analytics.sandbox.store import Person

HOUR_US: Final = 3_600_000_000
SECOND_US: Final = 1_000_000
HOUSEHOLD: Final = 3
_LONG_IDS: Final = 14 * 10**17
_REFUND_IDS: Final = 4 * 10**18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def live(
    rng: random.Random, people: Sequence[Person], *, start_us: int, now_us: int
) -> tuple[list[tuple[int, int]], list[Payment]]:
    """Return who is friends with whom, and all payments, oldest first, refunds after what they refund."""
    story = _Story(rng, start_us, now_us)
    homes = [people[first : first + HOUSEHOLD] for first in range(0, len(people), HOUSEHOLD)]
    friendships = _friendships(rng, people, homes)
    circles = _circles(people, friendships)
    for month_us in story.months():
        for home in homes:
            _keep_house(story, home, month_us)
        for _ in range(max(1, len(people) // 4)):
            _eat_out(story, rng.choice(circles), month_us)
        for _ in range(max(1, len(people) // 3)):
            _do_a_favour(story, people, month_us)
    for circle in circles[:: max(1, len(circles) // 3)]:
        _travel(story, circle)
    _meet_trouble(story, people)
    return friendships, _numbered(story.drafts)


@dataclass(slots=True)
class _Draft:
    """A payment before it has its id."""

    actor: int
    target: int | str
    action: Action
    cents: int
    note: str
    created_us: int
    status: Status
    completed_us: int | None
    audience: Audience
    medium: Medium
    spelling: Spelling
    fee_cents: int | None = None
    refund_us: int | None = None


class _More(TypedDict, total=False):
    """What a payment may differ in from the plain one."""

    status: Status
    completed_us: int
    audience: Audience
    fee_cents: int
    refund_us: int


class _Story:
    """What has happened so far."""

    def __init__(self, rng: random.Random, start_us: int, now_us: int) -> None:
        self.rng = rng
        self.start_us = start_us
        self.now_us = now_us
        self.drafts: list[_Draft] = []

    def months(self) -> Iterator[int]:
        """Yield the first moment of each calendar month in which something may happen."""
        month = (_EPOCH + timedelta(microseconds=self.start_us)).replace(
            day=1, hour=0, minute=0, second=0, microsecond=0
        )
        while (month_us := (month - _EPOCH) // timedelta(microseconds=1)) < self.now_us:
            yield month_us
            month = (month + timedelta(days=32)).replace(day=1)

    def at(self, month_us: int, first_day: int = 1, last_day: int = 28, *, hours: tuple[int, int] = (8, 23)) -> int:
        """Return a moment of a month."""
        day, hour = self.rng.randint(first_day, last_day), self.rng.randrange(*hours)
        return month_us + (day - 1) * DAY_US + hour * HOUR_US + self.rng.randrange(3_600) * SECOND_US

    def pay(self, actor: int, target: int | str, cents: int, note: str, created_us: int, **more: Unpack[_More]) -> None:
        """Pay somebody: it is settled at once."""
        self._add(Action.PAY, actor, target, cents, note, created_us, 0, {"status": Status.SETTLED, **more})

    def charge(
        self, actor: int, target: int | str, cents: int, note: str, created_us: int, **more: Unpack[_More]
    ) -> None:
        """Ask somebody for money: most agree within days, some never do."""
        luck = self.rng.random()
        delay_us = round(self.rng.expovariate(1 / (9 * HOUR_US))) + 60 * SECOND_US
        status = Status.CANCELLED if luck < 0.03 else Status.PENDING if luck < 0.045 else Status.SETTLED  # noqa: PLR2004
        self._add(Action.CHARGE, actor, target, cents, note, created_us, delay_us, {"status": status, **more})

    def _add(  # noqa: PLR0913, PLR0917 - the one place where all of a payment comes together
        self,
        action: Action,
        actor: int,
        target: int | str,
        cents: int,
        note: str,
        created_us: int,
        delay_us: int,
        more: _More,
    ) -> None:
        rng = self.rng
        spelling = rng.choices(tuple(Spelling), (5, 3, 2))[0]
        if spelling is Spelling.FRACTIONAL:
            created_us += rng.randrange(SECOND_US)
        audience = rng.choices(tuple(Audience), (2, 5, 3))[0]
        medium = rng.choices(tuple(Medium), (6, 4, 2, 1))[0]
        if not self.start_us <= created_us < self.now_us:
            return
        status = more.get("status", Status.SETTLED)
        completed_us = more.get("completed_us", created_us + delay_us // SECOND_US * SECOND_US)
        if completed_us >= self.now_us:
            status = Status.PENDING
        draft = _Draft(
            actor=actor,
            target=target,
            action=action,
            cents=cents,
            note=note,
            created_us=created_us,
            status=status,
            completed_us=None if status is Status.PENDING else completed_us,
            audience=more.get("audience", audience),
            medium=medium,
            spelling=spelling,
            fee_cents=more.get("fee_cents"),
            refund_us=more.get("refund_us"),
        )
        self.drafts.append(draft)


def _friendships(
    rng: random.Random, people: Sequence[Person], homes: Sequence[Sequence[Person]]
) -> list[tuple[int, int]]:
    """Flatmates are friends, neighbours in the list are, and some others; the business is nobody's friend."""
    pairs = {(one, other) for home in homes for place, one in enumerate(home) for other in home[place + 1 :]}
    pairs |= set(pairwise(people))
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


def _circles(people: Sequence[Person], friendships: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return for each person with friends the circle they eat out with: themselves first."""
    friends: dict[int, set[int]] = defaultdict(set)
    for one, other in friendships:
        friends[one].add(other)
        friends[other].add(one)
    return [[person.user_id, *sorted(friends[person.user_id])] for person in people if friends[person.user_id]]


def _keep_house(story: _Story, home: Sequence[Person], month_us: int) -> None:
    """Send the rent to the second of a home, who holds the lease, and share out the bills the first one paid."""
    if len(home) < 2:  # noqa: PLR2004 - nobody to share with
        return
    rng = story.rng
    lessee = home[1].user_id
    for place, flatmate in enumerate(home):
        if flatmate.user_id != lessee:
            rent = 81_500 + 2_500 * place
            story.pay(flatmate.user_id, lessee, rent, "Rent 🏠", story.at(month_us, 1, 3), audience=Audience.PRIVATE)
    payer = home[0].user_id
    for bill, low, high, day in (("Electricity ⚡", 4_000, 14_000, 6), ("Internet", 5_999, 6_000, 11)):
        share, when_us = rng.randrange(low, high) // len(home), story.at(month_us, day, day)
        for flatmate in home:
            if flatmate.user_id != payer:
                story.charge(payer, flatmate.user_id, share, bill, when_us)
    for _ in range(rng.randint(1, 4)):
        one, other = rng.sample([person.user_id for person in home], 2)
        story.pay(one, other, rng.randrange(300, 6_000), rng.choice(GROCERIES), story.at(month_us))


def _eat_out(story: _Story, circle: Sequence[int], month_us: int) -> None:
    """One pays the bill and charges the others in the same second."""
    rng = story.rng
    host, others = circle[0], rng.sample(circle[1:], min(len(circle) - 1, rng.randint(1, 4)))
    when_us = story.at(month_us, hours=(19, 24))
    share = rng.randrange(900, 6_500)
    note = rng.choice(DINNERS if rng.random() < 0.8 else CONCERTS)  # noqa: PLR2004 - mostly dinners
    for other in others:
        story.charge(host, other, share, note, when_us)


def _do_a_favour(story: _Story, people: Sequence[Person], month_us: int) -> None:
    """Small things between any two; a coffee from the business carries its fee."""
    rng = story.rng
    one, other = (person.user_id for person in rng.sample(people, 2))
    cents, when_us = rng.randrange(100, 9_000), story.at(month_us)
    businesses = {person.user_id for person in people[BUSINESS : BUSINESS + 1]}
    if other in businesses:
        fee = max(10, round(cents * 19 / 1_000))
        story.pay(one, other, cents, "☕", when_us, fee_cents=fee, audience=Audience.PRIVATE)
    elif rng.random() < 0.05:  # noqa: PLR2004 - a few had no money behind them
        story.pay(one, other, cents, rng.choice(FAVOURS), when_us, status=Status.FAILED)
    else:
        story.pay(one, other, cents, rng.choice(FAVOURS + STRANGE), when_us)


def _travel(story: _Story, circle: Sequence[int]) -> None:
    """Spend a week away: every evening one of the circle charges all the others, several things in one second."""
    rng = story.rng
    travellers = list(circle[:5])
    first_us = rng.randrange(story.start_us, story.now_us - 20 * DAY_US)
    first_us -= first_us % DAY_US
    for evening in range(7):
        host = travellers[evening % len(travellers)]
        when_us = first_us + evening * DAY_US + 21 * HOUR_US + rng.randrange(3_600) * SECOND_US
        for note in rng.sample(TRIP, 2):
            share = rng.randrange(500, 12_000)
            for other in travellers:
                if other != host:
                    story.charge(host, other, share, note, when_us)


def _meet_trouble(story: _Story, people: Sequence[Person]) -> None:
    """Tell what every seed must have, for the first person above all: the strange notes, and requests of every age."""
    rng, now_us = story.rng, story.now_us
    me, others = people[0].user_id, [person.user_id for person in people[1:]]
    for place, note in enumerate((*STRANGE, *ALONE)):
        when_us = now_us - (20 + 17 * place) * DAY_US - rng.randrange(86_400) * SECOND_US
        story.pay(me, others[place % len(others)], rng.randrange(100, 5_000), note, when_us)
    ages = (4 * HOUR_US, 20 * HOUR_US, 3 * DAY_US, 6 * DAY_US, 12 * DAY_US, 25 * DAY_US, 45 * DAY_US, 75 * DAY_US,
            100 * DAY_US, 200 * DAY_US)  # fmt: skip
    for place, age_us in enumerate(ages):
        other, cents = others[place % len(others)], rng.randrange(500, 9_000)
        before_us = now_us - age_us
        story.charge(me, other, cents, rng.choice(DINNERS), before_us, status=Status.PENDING)
        story.charge(other, me, cents + 150, rng.choice(CONCERTS), before_us - HOUR_US, status=Status.PENDING)
    for place, days in enumerate((9, 130, 290)):
        before_us = now_us - days * DAY_US
        story.pay(me, others[place % len(others)], 40_000 + 100 * days, "Deposit", before_us, status=Status.FAILED)
    for place, days in enumerate((40, 220)):
        before_us, other = now_us - days * DAY_US, others[place % len(others)]
        undone_us = before_us + 2 * DAY_US
        story.charge(
            me, other, 2_500, "Wrong person, sorry", before_us, status=Status.CANCELLED, completed_us=undone_us
        )
    story.pay(me, others[0], 12_000, "Moving van, needed today", now_us - 64 * DAY_US, fee_cents=210)
    for person in (me, others[1]):
        story.pay(person, "auntie@example.net", 3_000, "Happy birthday 🎂", now_us - 2 * DAY_US, status=Status.PENDING)
        story.pay(person, "15555550142", 1_850, "Cab", now_us - 8 * DAY_US, status=Status.PENDING)
        story.charge(person, "15555550177", 2_200, "Your half", now_us - 31 * DAY_US, status=Status.PENDING)
        sent_us = now_us - 120 * DAY_US
        back_us = sent_us + 30 * DAY_US
        story.pay(
            person,
            "old.address@example.net",
            4_400,
            "For the tickets",
            sent_us,
            status=Status.EXPIRED,
            completed_us=back_us,
            refund_us=back_us,
        )


def _numbered(drafts: Sequence[_Draft]) -> list[Payment]:
    """Give ids that rise with time, mostly of 19 digits, of 18 in the early days, and short for a few."""
    payments: list[Payment] = []
    for serial, draft in enumerate(sorted(drafts, key=lambda one: one.created_us)):
        # Time and serial both rise, so no two ids of a kind can be equal, and the kinds have ranges of their own.
        milliseconds = draft.created_us // 1_000
        payment_id = _LONG_IDS + milliseconds * 10**6 + serial
        if serial < len(drafts) // 10:
            payment_id = milliseconds * 10**5 + serial
        if serial % 97 == 96:  # noqa: PLR2004 - one in a hundred
            payment_id = 1_000_000 + serial * 10
        payments.append(_row(draft, payment_id))
        if draft.refund_us is not None:
            payments.append(payments[-1].refund(payment_id + _REFUND_IDS, draft.refund_us))
    return payments


def _row(draft: _Draft, payment_id: int) -> Payment:
    target = draft.target
    email = target if isinstance(target, str) and "@" in target else None
    phone = target if isinstance(target, str) and "@" not in target else None
    return Payment(
        payment_id=payment_id,
        status=draft.status.value,
        action=draft.action.value,
        amount_cents=draft.cents,
        note=draft.note,
        audience=draft.audience.value,
        medium=draft.medium.value,
        spelling=draft.spelling,
        created_us=draft.created_us,
        completed_us=draft.completed_us,
        actor_id=draft.actor,
        target_type=(TargetType.EMAIL if email else TargetType.PHONE if phone else TargetType.USER).value,
        target_user_id=target if isinstance(target, int) else None,
        target_email=email,
        target_phone=phone,
        fee_cents=draft.fee_cents,
    )
