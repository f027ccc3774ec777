"""Habits of the first person: series of payments as people have them, and payments that only look like series."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.town.notes import DINNERS, FAVOURS
from p2p_analytics.sandbox.town.timeline import HOUR_US, SECOND_US, Timeline

WEEKLY: Final = "weekly"
FORTNIGHTLY: Final = "fortnightly"
MONTHLY: Final = "monthly"
QUARTERLY: Final = "quarterly"
YEARLY: Final = "yearly"
DAYS: Final = {WEEKLY: 7, FORTNIGHTLY: 14}
MONTHS: Final = {MONTHLY: 1, QUARTERLY: 3, YEARLY: 12}
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LAST_OF_MONTH: Final = 31
_MOST_MONTHS: Final = 12 * 40
_SUNDAY: Final = 6
_AUGUST: Final = 8
_DAYS_OF_PERIOD: Final = {WEEKLY: 7, FORTNIGHTLY: 14, MONTHLY: 30, QUARTERLY: 91, YEARLY: 365}


class _Habit(NamedTuple):
    """How a series is planted.

    Attributes
    ----------
    note : str
        ``{month}`` is replaced by the month's name.
    cadence : str
    low, high : int
        Cents, between which the first amount is drawn.
    received : bool
        Whether the first person receives the money.
    spread : float
        By which share the amounts vary: 0 for the same amount each time.
    rise : float
        By which share the amount rises each year, at most.
    delay : int
        How many days a payment is late, at most.
    is_moved : bool
        Whether payments due on a weekend are made on Monday.
    requested : float
        Share of the payments that the receiver asks for.
    skipped, doubled : float
        Shares of the dates without a payment, and with two.
    day : int
        Of the month; 0 for any, 31 for the last of each month.
    ago : tuple of int
        The first and the last date, in periods before the end of the history; 0 for its beginning and end.
    pauses : bool
        Whether August is left out.
    companions : int
        Payments of other amounts and notes to the same person in each month, at most.
    with_last : bool
        Whether the person is the same as in the habit before.
    """

    note: str
    cadence: str
    low: int
    high: int
    received: bool = False
    spread: float = 0.0
    rise: float = 0.0
    delay: int = 0
    is_moved: bool = False
    requested: float = 0.0
    skipped: float = 0.0
    doubled: float = 0.0
    day: int = 0
    ago: tuple[float, float] = (0, 0)
    pauses: bool = False
    companions: int = 0
    with_last: bool = False


_HABITS: Final = (
    _Habit(
        "Room in the attic",
        MONTHLY,
        35_000,
        60_000,
        received=True,
        rise=0.08,
        is_moved=True,
        requested=0.3,
        doubled=0.03,
    ),
    _Habit("Gas and water 🔥", MONTHLY, 6_000, 14_000, spread=0.27, delay=4, requested=0.8),
    _Habit("Piano lesson 🎹", WEEKLY, 2_500, 4_500, delay=1, skipped=0.06, pauses=True, requested=0.2),
    _Habit("Sheet music", MONTHLY, 900, 2_000, delay=2, with_last=True),
    _Habit("Window cleaning", FORTNIGHTLY, 2_000, 5_000, delay=2, skipped=0.03),
    _Habit("Allotment fee 🥕", QUARTERLY, 4_000, 9_000, delay=6, rise=0.05),
    _Habit("Photo storage, your half", YEARLY, 3_000, 6_000, received=True, delay=3),
    _Habit("Climbing pass", MONTHLY, 3_000, 6_500, is_moved=True, ago=(0, 9), requested=0.5),
    _Habit("Phone plan", MONTHLY, 1_500, 3_500, delay=2, ago=(0, 1.4)),
    _Habit("Parking space", MONTHLY, 4_500, 9_000, skipped=0.04, companions=3),
    _Habit("For grandma", MONTHLY, 10_000, 20_000, day=_LAST_OF_MONTH, doubled=0.02),
    _Habit("Yoga", WEEKLY, 1_200, 2_000, ago=(6, 0), delay=1),
    _Habit("Storage unit", MONTHLY, 5_000, 8_000, ago=(3.2, 0), delay=2),
    _Habit("Cello {month}", FORTNIGHTLY, 3_000, 5_000, received=True, delay=1, ago=(30, 8)),
    _Habit("Music streaming {month}", MONTHLY, 500, 1_100, received=True, rise=0.1, delay=3, skipped=0.05),
    _Habit("", MONTHLY, 1_300, 2_900, is_moved=True),
    _Habit("Firewood 🪵", QUARTERLY, 9_000, 15_000, spread=0.2, delay=8, ago=(0, 4), received=True),
)
_MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def add_habits(timeline: Timeline, me: int, others: Sequence[int]) -> None:
    """Plant the series of a person, and payments at random dates that are none."""
    rng = timeline.rng
    people = rng.sample(others, len(others))
    friend = people[0]
    for number, habit in enumerate(_HABITS):
        friend = friend if habit.with_last else people[number % len(people)]
        _plant(timeline, habit, me, friend)
    _add_distractions(timeline, me, people)


def _plant(timeline: Timeline, habit: _Habit, me: int, friend: int) -> None:
    rng = timeline.rng
    payer, receiver = (friend, me) if habit.received else (me, friend)
    series = timeline.find_series(payer, receiver, habit.cadence, habit.note)
    base, rise = rng.randrange(habit.low, habit.high), 1 + rng.uniform(habit.rise / 2, habit.rise)
    first_day, last_day = timeline.start_us // DAY_US + 1, timeline.now_us // DAY_US
    period = _DAYS_OF_PERIOD[habit.cadence]
    begin, end = (round(last_day - ago * period) for ago in habit.ago)
    begin = max(begin, first_day) if habit.ago[0] else first_day + rng.randrange(min(period, 90))
    for due in _list_due_days(begin, end, habit):
        years = (due - begin) // 365
        cents = round(base * rise**years * (1 + rng.uniform(-habit.spread, habit.spread)))
        is_paused = habit.pauses and _to_date(due).month == _AUGUST
        if is_paused or rng.random() < habit.skipped:
            continue
        note = habit.note.format(month=_MONTH_NAMES[_to_date(due).month - 1])
        late = rng.randint(0, habit.delay) if habit.delay else 0
        weekday = _to_date(due).weekday()
        if habit.is_moved and weekday >= _SUNDAY - 1:
            late = _SUNDAY + 1 - weekday
        when_us = (due + late) * DAY_US + rng.randrange(8, 22) * HOUR_US + rng.randrange(3_600) * SECOND_US
        if rng.random() < habit.requested:
            timeline.charge(receiver, payer, cents, note, when_us, series=series)
        else:
            timeline.pay(payer, receiver, cents, note, when_us, series=series)
        if rng.random() < habit.doubled:
            timeline.pay(payer, receiver, cents, note, when_us + rng.randrange(40) * HOUR_US)
        for _ in range(rng.randint(0, habit.companions)):
            on_us = (due + rng.randrange(period)) * DAY_US + 15 * HOUR_US
            timeline.pay(payer, receiver, rng.randrange(300, 12_000), rng.choice(DINNERS + FAVOURS), on_us)


def _list_due_days(begin: int, end: int, habit: _Habit) -> Iterator[int]:
    """Yield the due days, counted from 1970-01-01."""
    if step := DAYS.get(habit.cadence):
        yield from range(begin, end, step)
        return
    first = _to_date(begin)
    day, months = habit.day or first.day, MONTHS[habit.cadence]
    for number in range(0, _MOST_MONTHS, months):
        year, month = divmod(first.year * 12 + first.month - 1 + number, 12)
        due = date(year, month + 1, min(day, monthrange(year, month + 1)[1])).toordinal() - _EPOCH_DAY
        if due >= end:
            return
        if due >= begin:
            yield due


def _add_distractions(timeline: Timeline, me: int, people: Sequence[int]) -> None:
    """Add payments that form no series: dinners every few days, one amount at random dates, lunch each workday."""
    rng = timeline.rng
    eater, barista, colleague = rng.sample([*people, *people, *people], 3)
    first_day, last_day = timeline.start_us // DAY_US + 1, timeline.now_us // DAY_US
    day = first_day
    while (day := day + rng.randint(2, 7)) < last_day:
        cents, note = rng.randrange(900, 6_000), rng.choice(DINNERS)
        if rng.random() < 0.5:  # noqa: PLR2004 - who paid
            timeline.pay(me, eater, cents, note, day * DAY_US + 21 * HOUR_US)
        else:
            timeline.pay(eater, me, cents, note, day * DAY_US + 21 * HOUR_US)
    day = first_day
    while (day := day + round(rng.expovariate(1 / 12))) < last_day:
        timeline.pay(me, barista, 450, "☕", day * DAY_US + 9 * HOUR_US + rng.randrange(3_600) * SECOND_US)
    for day in range(max(first_day, last_day - 200), last_day):
        if _to_date(day).weekday() < _SUNDAY - 1 and rng.random() < 0.85:  # noqa: PLR2004 - not on every workday
            timeline.pay(me, colleague, 850, "Lunch", day * DAY_US + 12 * HOUR_US + rng.randrange(3_600) * SECOND_US)


def _to_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_DAY)
