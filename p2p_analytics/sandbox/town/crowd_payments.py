"""Payments of a large town as columns: habits, bills, favours, and requests with every end."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import datetime
from statistics import NormalDist
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.town.crowd_random import draw, take_bits, to_unit
from p2p_analytics.sandbox.town.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.town.timeline import HOUR_US, SECOND_US
from p2p_analytics.vocabulary import Action, Audience, Medium, Status

Array = np.ndarray[Any, Any]

ACTIONS: Final = tuple(action.value for action in Action)
STATUSES: Final = tuple(status.value for status in Status)
AUDIENCES: Final = tuple(audience.value for audience in Audience)
MEDIA: Final = tuple(medium.value for medium in Medium)
_SETTLED, _PENDING, _FAILED, _EXPIRED, _CANCELLED = (
    STATUSES.index(status.value)
    for status in (Status.SETTLED, Status.PENDING, Status.FAILED, Status.EXPIRED, Status.CANCELLED)
)
_PAY, _CHARGE = ACTIONS.index(Action.PAY.value), ACTIONS.index(Action.CHARGE.value)
_PRIVATE: Final = AUDIENCES.index(Audience.PRIVATE.value)

# Shares of 256, by which a byte is looked up.
_OF_PAYS: Final = {_SETTLED: 249, _FAILED: 7}
_OF_CHARGES: Final = {_SETTLED: 200, _CANCELLED: 22, _EXPIRED: 12, _FAILED: 6, _PENDING: 16}
_OF_AUDIENCES: Final = dict(zip(range(len(AUDIENCES)), (52, 128, 76), strict=True))
_OF_MEDIA: Final = dict(zip(range(len(MEDIA)), (128, 80, 36, 12), strict=True))
_OF_HOURS: Final = dict(
    zip(range(24), (5, 3, 2, 1, 1, 1, 3, 6, 9, 10, 10, 12, 15, 13, 10, 9, 10, 13, 18, 24, 26, 24, 19, 12), strict=True)
)
# Notes with the usual amount in cents. The first ones are the most frequent.
_NOTES: Final = (
    *((note, 2_600) for note in DINNERS),
    *((note, 3_100) for note in GROCERIES),
    *((note, 1_500) for note in FAVOURS),
    *((note, 5_200) for note in CONCERTS),
    *((note, 4_300) for note in TRIP),
)
_ENDINGS: Final = (
    "",
    "!",
    " 🎉",
    " again",
    " on Friday",
    " last week",
    ", thanks",
    " with everybody",
    " 😅",
    " (my half)",
)
_RARE: Final = (*STRANGE, *ALONE)
_RENT, _BILL, _LESSON, _SUBSCRIPTION = ("Rent 🏠", 71_000), ("Electricity ⚡", 4_200), ("Piano lesson 🎹", 3_500), (
    "Yearly membership", 9_900,
)  # fmt: skip
_HABITS: Final = (_RENT, _BILL, _LESSON, _SUBSCRIPTION)
_NOTE_TEXTS: Final = [
    *(note + ending for ending in _ENDINGS for note, _ in _NOTES), *_RARE, *(note for note, _ in _HABITS),
]  # fmt: skip
_USUAL_CENTS: Final = np.array(
    [cents for _ in _ENDINGS for _, cents in _NOTES] + [2_000] * len(_RARE) + [cents for _, cents in _HABITS]
)
_DAYS_OF_HABITS: Final = (30.4375, 30.4375, 7.0, 365.25)
_NONE: Final = -1
_SPREAD: Final = 0.85  # of the logarithm of amounts
_LARGEST_CENTS: Final = 299_999
_DELAY_HOURS, _DELAY_SPREAD = 7.0, 2.0
_BILLS_A_YEAR: Final = 30
_PAYMENT_IDS: Final = 10**9  # to which the number of the payment is added


class Town(Protocol):
    """The settings of a large town, and its people by their numbers."""

    seed: int
    years: int
    now: datetime

    def list_sides(self, pairs: Array) -> tuple[Array, Array, Array]:
        """Return both people of pairs, and the number of the first payment of each pair."""

    def is_address(self, people: Array) -> Array:
        """Return whether people are addresses without an account, which only receive."""

    def is_business(self, people: Array) -> Array:
        """Return whether people are businesses, which only receive, for a fee."""


class Rows(NamedTuple):
    """The number of each payment in the town, its pair of people, and the place of the other person in the account."""

    pair: Array
    place: Array
    number: Array


class Columns(NamedTuple):
    """Payments as columns.

    Attributes
    ----------
    texts : dict of str to (array of int, sequence of str)
        Codes and the texts that they stand for.
    numbers : dict of str to array of int
        ``payment_id``, ``amount_cents``, instants in microseconds since 1970; masked where the value is missing.
    actor, target : array of int
        Positions of people in the account; the account holder is 0.
    """

    texts: dict[str, tuple[Array, Sequence[str]]]
    numbers: dict[str, Array]
    actor: Array
    target: Array


def make_columns(crowd: Town, rows: Rows, viewer: int) -> Columns:
    """Return payments of one account; from either side, a payment is the same."""
    seed, numbers = crowd.seed, rows.number
    one, other, first = crowd.list_sides(rows.pair)
    chance, more = draw(seed, "first", numbers), draw(seed, "second", numbers)
    only_receives = crowd.is_address(other) | crowd.is_business(other)
    is_charge = (take_bits(chance, 0, 8) < 92) & ~only_receives  # noqa: PLR2004 - 36 % of payments
    # Of each pair, one asks or pays more often.
    bias = np.where(take_bits(draw(seed, "bias", rows.pair), 0, 1) == 1, 176, 80)
    one_acts = (take_bits(chance, 8, 8) < bias) | only_receives
    created = _draw_instants(crowd, chance, more)
    note = _draw_notes(more)
    cents = _draw_amounts(to_unit(draw(seed, "amount", numbers)), note, take_bits(more, 0, 8))
    bill = _join_bills(crowd, np.where(one_acts, one, other), is_charge, draw(seed, "bill", numbers))
    created, note, cents = (
        np.where(bill.is_part, new, old) for new, old in zip(bill[1:], (created, note, cents), strict=True)
    )
    habit = _keep_habits(crowd, rows.pair, other, numbers - first)
    created, note, cents = (
        np.where(habit.is_part, new, old) for new, old in zip(habit[1:], (created, note, cents), strict=True)
    )
    is_charge &= ~habit.is_part
    one_acts |= habit.is_part
    status, completed = _settle(crowd, is_charge, created, draw(seed, "end", numbers), crowd.is_address(other))
    actor_is_viewer = one_acts == (one == viewer)
    fee = np.ma.masked_array(np.maximum(10, cents * 19 // 1_000), mask=~crowd.is_business(other))
    audience = np.where(crowd.is_business(other), _PRIVATE, _look_up(_OF_AUDIENCES, take_bits(chance, 16, 8)))
    return Columns(
        texts={
            "action": (np.where(is_charge, _CHARGE, _PAY), ACTIONS),
            "status": (status, STATUSES),
            "note": (note, _NOTE_TEXTS),
            "audience": (audience, AUDIENCES),
            "medium": (_look_up(_OF_MEDIA, take_bits(chance, 24, 8)), MEDIA),
        },
        numbers={
            "payment_id": created // SECOND_US * _PAYMENT_IDS + numbers,
            "amount_cents": cents,
            "created_us": created,
            "completed_us": completed,
            "fee_cents": fee,
        },
        actor=np.where(actor_is_viewer, 0, rows.place),
        target=np.where(actor_is_viewer, rows.place, 0),
    )


class _Special(NamedTuple):
    """Payments that are part of a habit or of a shared bill, with what that decides."""

    is_part: Array
    created: Array
    note: Array
    cents: Array


def _draw_instants(crowd: Town, chance: Array, more: Array) -> Array:
    """Return instants: more of them in later years and in the evening; a quarter has fractions of a second."""
    days = 365 * crowd.years
    first_day = _now_us(crowd) // DAY_US - days
    # The exponent makes the last year the busiest.
    day = (to_unit(chance) ** 0.8 * days).astype("int64")
    hour = _look_up(_OF_HOURS, take_bits(more, 8, 8))
    second = take_bits(more, 16, 12) * 3_600 >> 12
    fraction = np.where(take_bits(more, 28, 2) == 0, take_bits(more, 30, 20) * SECOND_US >> 20, 0)
    instants: Array = (first_day + day) * DAY_US + hour * HOUR_US + second * SECOND_US + fraction
    return instants


def _draw_notes(more: Array) -> Array:
    """Return positions in the list of notes, mostly of the first ones."""
    usual = len(_NOTES) * len(_ENDINGS)
    unit = take_bits(more, 50, 14) / 2**14
    common = (unit**3 * usual).astype("int64")
    is_rare = take_bits(more, 4, 8) == 0
    return np.where(is_rare, usual + take_bits(more, 20, 12) % len(_RARE), common)


def _draw_amounts(unit: Array, note: Array, rounding: Array) -> Array:
    """Return amounts in cents around the usual one of the note; most are whole dollars or halves."""
    factors = np.exp(_SPREAD * _quantiles())
    cents = _USUAL_CENTS[note] * factors[(unit * len(factors)).astype("int64")]
    step = np.where(rounding < 120, 100, np.where(rounding < 170, 50, 1))  # noqa: PLR2004 - of 256
    # Below the coarse step, a second number makes amounts other than multiples of the quantiles.
    fine = cents * (0.97 + 0.06 * ((unit * 1e6) % 1))
    rounded: Array = np.clip(np.rint(fine / step).astype("int64") * step, step, _LARGEST_CENTS)
    return rounded


def _join_bills(crowd: Town, host: Array, is_charge: Array, drawn: Array) -> _Special:
    """Return the charges that are shares of a bill: charges of one host with one number are made within the hour."""
    bills = _BILLS_A_YEAR * crowd.years
    number = host * bills + take_bits(drawn, 8, 24) % bills
    chance, more = draw(crowd.seed, "bill instant", number), draw(crowd.seed, "bill note", number)
    created = _draw_instants(crowd, chance, more) + take_bits(drawn, 32, 12) * SECOND_US // 2
    note = _draw_notes(more)
    cents = _draw_amounts(to_unit(more), note, take_bits(more, 0, 8))
    return _Special(is_charge & (take_bits(drawn, 0, 8) < 110), created, note, cents)  # noqa: PLR2004 - 43 % of charges


def _keep_habits(crowd: Town, pair: Array, other: Array, rank: Array) -> _Special:
    """Return the payments that are repeated on time, the latest first: of these pairs, the first payments."""
    drawn = draw(crowd.seed, "habit", pair)
    kind = take_bits(drawn, 0, 8)
    to_business = crowd.is_business(other)
    # One in eight pairs has a habit; businesses have members.
    habit = np.where(kind < 32, kind % 3, _NONE)  # noqa: PLR2004 - of 256
    habit = np.where(to_business, np.where(kind < 64, 3, _NONE), habit)  # noqa: PLR2004 - of 256
    habit = np.where(crowd.is_address(other), _NONE, habit)
    period = np.rint(np.array([*_DAYS_OF_HABITS, 1.0])[habit] * DAY_US).astype("int64")
    now = _now_us(crowd)
    last = now - take_bits(drawn, 8, 12) * period // 2**12
    jitter = take_bits(draw(crowd.seed, "jitter", pair * 4096 + rank), 0, 16) * 6 * HOUR_US >> 16
    created = last - rank * period - jitter
    created -= created % SECOND_US
    base = np.array([cents for _, cents in _HABITS] + [0])[habit] * (192 + take_bits(drawn, 20, 7)) // 256
    changing = 90 + take_bits(draw(crowd.seed, "share", pair * 4096 + rank), 0, 8) * 20 // 256
    cents = np.where(habit == 1, base * changing // 100, base)
    note = len(_NOTES) * len(_ENDINGS) + len(_RARE) + np.maximum(habit, 0)
    first = now - 365 * crowd.years * DAY_US
    return _Special((habit != _NONE) & (created >= first), created, note, cents)


def _settle(crowd: Town, is_charge: Array, created: Array, drawn: Array, to_address: Array) -> tuple[Array, Array]:
    """Return the status and the instant of completion, which pending payments do not have."""
    byte = take_bits(drawn, 0, 8)
    status = np.where(is_charge, _look_up(_OF_CHARGES, byte), _look_up(_OF_PAYS, byte))
    delays = np.exp(_DELAY_SPREAD * _quantiles()) * _DELAY_HOURS * 3_600
    waited = 60 + delays[take_bits(drawn, 8, 12) * len(delays) >> 12].astype("int64") + take_bits(drawn, 20, 8)
    completed = created + np.where(is_charge, waited, 0) * SECOND_US
    # An address without an account takes the money within 30 days or not at all.
    is_unclaimed = to_address & ~is_charge & (byte < 128)  # noqa: PLR2004 - half of them
    status = np.where(is_unclaimed, _EXPIRED, status)
    completed = np.where(is_unclaimed, created + 30 * DAY_US, completed)
    is_open = (status == _PENDING) | (completed >= _now_us(crowd))
    return np.where(is_open, _PENDING, status), np.ma.masked_array(completed, mask=is_open)


def _now_us(crowd: Town) -> int:
    return round(crowd.now.timestamp()) * SECOND_US


@functools.cache
def _quantiles() -> Array:
    """Return the middles of 4096 equal parts of the normal distribution."""
    count = 4096
    return np.array([NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)])


def _look_up(shares: dict[int, int], byte: Array) -> Array:
    """Return a code for each byte, so that each code has its share of 256."""
    found: Array = np.repeat(list(shares), list(shares.values()))[byte]
    return found
