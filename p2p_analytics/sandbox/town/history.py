"""How the people of the town live: rent, bills, dinners, trips, favours, and the requests nobody answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypedDict

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Payment, Spelling
from p2p_analytics.sandbox.town.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.town.people import BUSINESS
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from p2p_analytics.sandbox.storage.rows import Person

HOUR_US: Final = 3_600_000_000
SECOND_US: Final = 1_000_000
HOUSEHOLD: Final = 3
STRANGERS_EACH: Final = 8
_ASKED_DAYS: Final = (0.2, 2.3, 5.1, 12.6, 25.2, 45.8, 75.4, 101.7, 202.9)
_ASKING_DAYS: Final = (0.5, 3.4, 9.1, 19.7, 38.2, 62.5, 140.3)
_OUTINGS: Final = ((DINNERS, 2_500, 11_000), (CONCERTS, 4_500, 18_000), (TRIP, 10_000, 36_000))
_LONG_IDS: Final = 14 * 10**17
_REFUND_IDS: Final = 4 * 10**18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def live(
    rng: random.Random, people: Sequence[Person], *, start_us: int, now_us: int
) -> tuple[list[tuple[int, int]], list[Payment]]:
    """Return who is friends with whom, and all payments, oldest first, refunds after what they refund."""
    story = _Story(rng, start_us, now_us)
    persons = [person for person in people if person not in people[BUSINESS : BUSINESS + 1]]
    homes = [persons[first : first + HOUSEHOLD] for first in range(0, len(persons), HOUSEHOLD)]
    friendships = _friendships(rng, people, homes)
    circles = _circles(people, friendships)
    for number, month_us in enumerate(story.months()):
        for home in homes:
            _keep_house(story, home, month_us, number)
        _go_out(story, circles[0], people[BUSINESS : BUSINESS + 1], month_us)
        for _ in range(max(1, len(people) // 5)):
            _eat_out(story, rng.choice(circles), month_us)
        for _ in range(max(1, len(people) // 3)):
            _do_a_favour(story, people, month_us)
    for circle in circles[:: max(1, len(circles) // 3)]:
        _travel(story, circle)
    _meet_trouble(story, persons)
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

    def ago(self, days: float) -> int:
        """Return a moment up to six hours earlier than so many days ago."""
        return self.now_us - round(days * DAY_US) - self.rng.randrange(6 * 3_600) * SECOND_US

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
    """Flatmates, neighbours in the list and some others are friends; the first person has most, the business none."""
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


def _circles(people: Sequence[Person], friendships: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return for each person with friends the circle they eat out with: themselves first."""
    friends: dict[int, set[int]] = defaultdict(set)
    for one, other in friendships:
        friends[one].add(other)
        friends[other].add(one)
    return [[person.user_id, *sorted(friends[person.user_id])] for person in people if friends[person.user_id]]


def _keep_house(story: _Story, home: Sequence[Person], month_us: int, number: int) -> None:
    """Send the rent, which rises each year, to the second of a home, and share out what the first and last paid."""
    if len(home) < 2:  # noqa: PLR2004 - nobody to share with
        return
    rng = story.rng
    lessee = home[1].user_id
    for place, flatmate in enumerate(home):
        if flatmate.user_id != lessee:
            rent = 40_500 + 2_500 * place + 2_500 * (number // 12)
            story.pay(flatmate.user_id, lessee, rent, "Rent 🏠", story.at(month_us, 1, 3), audience=Audience.PRIVATE)
    for payer, bill, low, high, day in (
        (home[0].user_id, "Electricity ⚡", 8_000, 24_000, 6),
        (home[-1].user_id, "Internet", 5_999, 6_000, 11),
    )[number % 2 :]:  # electricity every other month
        share, when_us = rng.randrange(low, high) // len(home), story.at(month_us, day, day)
        for flatmate in home:
            if flatmate.user_id != payer:
                story.charge(payer, flatmate.user_id, share, bill, when_us)
    for _ in range(rng.randint(1, 2)):
        one, other = rng.sample([person.user_id for person in home], 2)
        story.pay(one, other, rng.randrange(900, 9_000), rng.choice(GROCERIES), story.at(month_us))


def _go_out(story: _Story, circle: Sequence[int], businesses: Sequence[Person], month_us: int) -> None:
    """Tell what the first person does each month with friends, some closer than others, and at the café."""
    rng = story.rng
    me, *friends = circle
    weights = [1 / (place + 3) for place in range(len(friends))]
    for _ in range(rng.randint(2, 3)):
        (friend,) = rng.choices(friends, weights)
        notes, low, high = rng.choice(_OUTINGS)
        cents, note, when_us = rng.randrange(low, high), rng.choice(notes), story.at(month_us)
        luck = rng.random()
        if luck < 0.4:  # noqa: PLR2004 - who laid the money out, and who thinks of it first
            story.charge(friend, me, cents, note, when_us)
        elif luck < 0.75:  # noqa: PLR2004
            story.pay(me, friend, cents, note, when_us)
        else:
            story.charge(me, friend, cents, note, when_us)
    for business in businesses if rng.random() < 0.6 else ():  # noqa: PLR2004
        cents = rng.randrange(900, 5_500)
        fee = max(10, round(cents * 19 / 1_000))
        story.pay(me, business.user_id, cents, "☕", story.at(month_us), fee_cents=fee, audience=Audience.PRIVATE)


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
    businesses = {person.user_id for person in people[BUSINESS : BUSINESS + 1]}
    one, other = (person.user_id for person in rng.sample(people, 2))
    if one in businesses:  # it asks nobody for favours
        one, other = other, one
    cents, when_us = rng.randrange(100, 9_000), story.at(month_us)
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


def _meet_trouble(story: _Story, persons: Sequence[Person]) -> None:
    """Tell what every seed must have, for the first person above all: the strange notes, and requests of every age."""
    rng = story.rng
    me, others = persons[0].user_id, [person.user_id for person in persons[1:]]
    for place, note in enumerate((*STRANGE, *ALONE)):
        when_us = story.ago(20 + 17 * place)
        story.pay(me, others[place % len(others)], rng.randrange(100, 5_000), note, when_us)
    _wait_for_answers(story, me, others)
    for place, days in enumerate((9, 130, 290)):
        cents = 40_000 + 100 * days
        story.pay(me, others[place % len(others)], cents, "Deposit", story.ago(days), status=Status.FAILED)
    for place, days in enumerate((40, 220)):
        before_us, cents = story.ago(days), rng.randrange(900, 4_000)
        undone_us = before_us + rng.randrange(3 * HOUR_US, 2 * DAY_US) // SECOND_US * SECOND_US
        story.charge(
            me,
            others[place % len(others)],
            cents,
            "Wrong person, sorry",
            before_us,
            status=Status.CANCELLED,
            completed_us=undone_us,
        )
    story.pay(me, others[0], 12_000, "Moving van, needed today", story.ago(64), fee_cents=210)
    _write_to_strangers(story, me, 0)
    for number, person in enumerate(others[::STRANGERS_EACH], 1):
        _write_to_strangers(story, person, number)


def _wait_for_answers(story: _Story, me: int, others: Sequence[int]) -> None:
    """Ask and be asked for money that is not there yet; no two of these requests look like each other's answer."""
    rng = story.rng
    sums = rng.sample(range(2, 31), len(_ASKED_DAYS) + len(_ASKING_DAYS))
    askers, asked = others[::2], others[1::2] or others
    for place, days in enumerate(_ASKED_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(DINNERS)
        story.charge(me, asked[place % len(asked)], cents, note, story.ago(days), status=Status.PENDING)
    for place, days in enumerate(_ASKING_DAYS):
        cents, note = 300 * sums.pop() + rng.randrange(100), rng.choice(CONCERTS)
        story.charge(askers[place % len(askers)], me, cents, note, story.ago(days), status=Status.PENDING)


def _write_to_strangers(story: _Story, person: int, number: int) -> None:
    """Pay and ask people who have no account, each person other ones; one payment comes back unclaimed."""
    rng, unlike = story.rng, f".{number}" if number else ""
    phones = (15_555_550_142 + 2 * number, 15_555_550_177 + 200 * number)
    story.pay(
        person,
        f"auntie{unlike}@example.net",
        rng.randrange(2_000, 6_000),
        "Happy birthday 🎂",
        story.ago(2 + number % 20),
        status=Status.PENDING,
    )
    story.pay(
        person, str(phones[0]), rng.randrange(900, 3_000), "Cab", story.ago(8 + number % 30), status=Status.PENDING
    )
    story.charge(
        person,
        str(phones[1]),
        rng.randrange(1_200, 4_000),
        "Your half",
        story.ago(31 + number % 60),
        status=Status.PENDING,
    )
    sent_us = story.ago(120 + number % 90)
    back_us = sent_us + 30 * DAY_US
    story.pay(
        person,
        f"old.address{unlike}@example.net",
        4_400 + 100 * number % 3_700,
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
            payments.append(payments[-1].build_refund(payment_id + _REFUND_IDS, draft.refund_us))
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
