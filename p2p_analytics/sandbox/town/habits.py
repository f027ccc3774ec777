"""Habits of the first person: series of payments as people have them, and payments that only look like series."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.town.notes import DINNERS, FAVOURS
from p2p_analytics.sandbox.town.timeline import HOUR_US, Timeline

WEEKLY: Final = "weekly"
FORTNIGHTLY: Final = "fortnightly"
MONTHLY: Final = "monthly"
QUARTERLY: Final = "quarterly"
YEARLY: Final = "yearly"
DAYS: Final = {WEEKLY: 7, FORTNIGHTLY: 14}
MONTHS: Final = {MONTHLY: 1, QUARTERLY: 3, YEARLY: 12}
LAST_OF_MONTH: Final = 31
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MOST_MONTHS: Final = 12 * 40
_SUNDAY: Final = 6
_AUGUST: Final = 8
_DAYS_OF_PERIOD: Final = {WEEKLY: 7, FORTNIGHTLY: 14, MONTHLY: 30, QUARTERLY: 91, YEARLY: 365}


class _Habit(NamedTuple):
    """How a series is planted; shares are from 0 to 1."""

    note: str  # "{month}" is replaced by the month's name
    cadence: str
    low: int  # cents, between which the first amount is drawn
    high: int
    received: bool = False  # by the first person; otherwise that person pays
    spread: float = 0.0  # share by which the amounts vary
    rise: float = 0.0  # share by which the amount rises each year, at most
    delay: int = 0  # days that a payment is late, at most
    is_moved: bool = False  # from a weekend to Monday
    requested: float = 0.0  # share of the payments that the receiver asks for
    skipped: float = 0.0  # share of the dates without a payment
    doubled: float = 0.0  # share of the dates with two
    day: int = 0  # of the month; 0 for any
    ago: tuple[float, float] = (0, 0)  # first and last date, in periods before the end; 0 for beginning and end
    pauses: bool = False  # in August
    companions: int = 0  # other payments to the same person in each month, at most
    with_last: bool = False  # with the person of the habit before


_HABITS: Final = (
    _Habit("Room in the attic", MONTHLY, 35_000, 60_000, received=True, rise=0.08, is_moved=True, requested=0.3,
           doubled=0.03),
    _Habit("Gas and water 🔥", MONTHLY, 6_000, 14_000, spread=0.27, delay=4, requested=0.8),
    _Habit("Piano lesson 🎹", WEEKLY, 2_500, 4_500, delay=1, skipped=0.06, pauses=True, requested=0.2),
    _Habit("Sheet music", MONTHLY, 900, 2_000, delay=2, with_last=True),
    _Habit("Window cleaning", FORTNIGHTLY, 2_000, 5_000, delay=2, skipped=0.03),
    _Habit("Allotment fee 🥕", QUARTERLY, 4_000, 9_000, delay=6, rise=0.05),
    _Habit("Photo storage, your half", YEARLY, 3_000, 6_000, received=True, delay=3),
    _Habit("Climbing pass", MONTHLY, 3_000, 6_500, is_moved=True, ago=(0, 9), requested=0.5),
    _Habit("Phone plan", MONTHLY, 1_500, 3_500, delay=2, ago=(0, 1.4)),
    _Habit("Parking space", MONTHLY, 4_500, 9_000, skipped=0.04, companions=3),
    _Habit("For grandma", MONTHLY, 10_000, 20_000, day=LAST_OF_MONTH, doubled=0.02),
    _Habit("Yoga", WEEKLY, 1_200, 2_000, ago=(6, 0), delay=1),
    _Habit("Storage unit", MONTHLY, 5_000, 8_000, ago=(3.2, 0), delay=2),
    _Habit("Cello {month}", FORTNIGHTLY, 3_000, 5_000, received=True, delay=1, ago=(30, 8)),
    _Habit("Music streaming {month}", MONTHLY, 500, 1_100, received=True, rise=0.1, delay=3, skipped=0.05),
    _Habit("", MONTHLY, 1_300, 2_900, is_moved=True),
    _Habit("Firewood 🪵", QUARTERLY, 9_000, 15_000, spread=0.2, delay=8, ago=(0, 4), received=True),
)  # fmt: skip
_MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def add_habits(timeline: Timeline, me: int, others: Sequence[int]) -> None:
    """Plant the series of a person, and payments that form no series."""
    rng = timeline.rng
    people = rng.sample(others, len(others))
    friend = people[0]
    for number, habit in enumerate(_HABITS):
        friend = friend if habit.with_last else people[number % len(people)]
        _plant(timeline, habit, me, friend)
    # No series: dinners every few days, one amount at random dates, and lunch on workdays.
    eater, barista, colleague = rng.sample([*people, *people, *people], 3)
    day = first_day = timeline.start_us // DAY_US + 1
    last_day = timeline.now_us // DAY_US
    while (day := day + rng.randint(2, 7)) < last_day:
        cents, note = rng.randrange(900, 6_000), rng.choice(DINNERS)
        payer, host = (me, eater) if rng.random() < 0.5 else (eater, me)  # noqa: PLR2004 - each pays half of them
        timeline.pay(payer, host, cents, note, day * DAY_US + 21 * HOUR_US)
    day = first_day
    while (day := day + round(rng.expovariate(1 / 12))) < last_day:
        timeline.pay(me, barista, 450, "☕", timeline.on(day, 9))
    for day in range(max(first_day, last_day - 200), last_day):
        if _to_date(day).weekday() < _SUNDAY - 1 and rng.random() < 0.85:  # noqa: PLR2004 - not on every workday
            timeline.pay(me, colleague, 850, "Lunch", timeline.on(day, 12))


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
        date_due, years = _to_date(due), (due - begin) // 365
        cents = round(base * rise**years * (1 + rng.uniform(-habit.spread, habit.spread)))
        if (habit.pauses and date_due.month == _AUGUST) or rng.random() < habit.skipped:
            continue
        note = habit.note.format(month=_MONTH_NAMES[date_due.month - 1])
        late = rng.randint(0, habit.delay) if habit.delay else 0
        if habit.is_moved and date_due.weekday() >= _SUNDAY - 1:
            late = _SUNDAY + 1 - date_due.weekday()
        when_us = timeline.on(due + late, rng.randrange(8, 22))
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
    for months in range(0, _MOST_MONTHS, MONTHS[habit.cadence]):
        due = add_months(first, months, habit.day or first.day).toordinal() - _EPOCH_DAY
        if due >= end:
            return
        if due >= begin:
            yield due


def add_months(first: date, months: int, day: int) -> date:
    """Return a day of the month that is some months after a date; the last of the month where it is shorter."""
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return date(year, month + 1, min(day, monthrange(year, month + 1)[1]))


def _to_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_DAY)
