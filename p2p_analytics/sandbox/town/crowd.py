"""Towns of any size: thousands of accounts with millions of payments, made account by account.

Each payment is a function of the seed and of its number, and the payments of two people have consecutive numbers. So
both sides of a payment agree although each account is made by itself, and no more than one account is in memory.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.town.build import LARGEST_SEED, MOST_YEARS, NOW
from p2p_analytics.sandbox.town.notes import ALONE, CONCERTS, DINNERS, FAVOURS, GROCERIES, STRANGE, TRIP
from p2p_analytics.sandbox.town.people import FIRST_NAMES, FOREIGN_NAMES, LAST_NAMES
from p2p_analytics.sandbox.town.timeline import HOUR_US, SECOND_US, to_microseconds
from p2p_analytics.vocabulary import Action, Audience, Medium, Status

Array = np.ndarray[Any, Any]

FEWEST_ACCOUNTS, MOST_ACCOUNTS = 2, 100_000
MOST_PAYMENTS: Final = 1_000_000_000
MOST_PER_ACCOUNT: Final = 500_000  # on average; one account has to fit into memory
_NEIGHBOURS: Final = 3  # who live together or next to each other
_ACQUAINTANCES: Final = 20  # at most
_OUTSIDERS_EACH: Final = 5  # at most
_ACCOUNTS_PER_OUTSIDER: Final = 4
_ADDRESS_EVERY, _BUSINESS_EVERY = 5, 7  # of the outsiders
_PERSON_IDS: Final = 2 * 10**18
_PERSON_STEP: Final = 7_919_000_003
_FOREIGN_EVERY: Final = 9

_ACTIONS: Final = tuple(action.value for action in Action)
_STATUSES: Final = tuple(status.value for status in Status)
_AUDIENCES: Final = tuple(audience.value for audience in Audience)
_MEDIA: Final = tuple(medium.value for medium in Medium)
_SETTLED, _PENDING, _FAILED, _EXPIRED, _CANCELLED = (
    _STATUSES.index(status.value)
    for status in (Status.SETTLED, Status.PENDING, Status.FAILED, Status.EXPIRED, Status.CANCELLED)
)
_PAY, _CHARGE = _ACTIONS.index(Action.PAY.value), _ACTIONS.index(Action.CHARGE.value)
_PRIVATE: Final = _AUDIENCES.index(Audience.PRIVATE.value)


def _look_up_table(*shares: int, codes: Sequence[int] | None = None) -> Array:
    """Return a code for each byte, so that each code has its share of 256; codes count from 0 if not given."""
    return np.repeat(range(len(shares)) if codes is None else codes, shares)


_OF_PAYS: Final = _look_up_table(249, 7, codes=[_SETTLED, _FAILED])
_OF_CHARGES: Final = _look_up_table(
    200, 22, 12, 6, 16, codes=[_SETTLED, _CANCELLED, _EXPIRED, _FAILED, _PENDING]
)  # fmt: skip
_OF_AUDIENCES: Final = _look_up_table(52, 128, 76)
_OF_MEDIA: Final = _look_up_table(128, 80, 36, 12)
_OF_HOURS: Final = _look_up_table(
    5, 3, 2, 1, 1, 1, 3, 6, 9, 10, 10, 12, 15, 13, 10, 9, 10, 13, 18, 24, 26, 24, 19, 12
)  # fmt: skip
# Notes with the usual amount in cents. The first ones are the most frequent.
_NOTES: Final = [
    (note, cents)
    for notes, cents in ((DINNERS, 2_600), (GROCERIES, 3_100), (FAVOURS, 1_500), (CONCERTS, 5_200), (TRIP, 4_300))
    for note in notes
]
_ENDINGS: Final = (
    "", "!", " 🎉", " again", " on Friday", " last week", ", thanks", " with everybody", " 😅", " (my half)",
)  # fmt: skip
_RARE: Final = (*STRANGE, *ALONE)
_HABITS: Final = (
    ("Rent 🏠", 71_000), ("Electricity ⚡", 4_200), ("Piano lesson 🎹", 3_500), ("Yearly membership", 9_900),
)  # fmt: skip
_NOTE_TEXTS: Final = [
    *(note + ending for ending in _ENDINGS for note, _ in _NOTES), *_RARE, *(note for note, _ in _HABITS),
]  # fmt: skip
_USUAL_CENTS: Final = np.array(
    [cents for _, cents in _NOTES] * len(_ENDINGS) + [2_000] * len(_RARE) + [cents for _, cents in _HABITS]
)
_USUAL_NOTES: Final = len(_NOTES) * len(_ENDINGS)
_DAYS_OF_HABITS: Final = (30.4375, 30.4375, 7.0, 365.25)
_NONE: Final = -1
_SPREAD: Final = 0.85  # of the logarithm of amounts
_LARGEST_CENTS: Final = 299_999
_DELAY_HOURS, _DELAY_SPREAD = 7.0, 2.0
_BILLS_A_YEAR: Final = 30
_PAYMENT_IDS: Final = 10**9  # to which the number of the payment is added


class CrowdPerson(NamedTuple):
    """A person as the service describes them; an address without an account has an email or phone alone."""

    user_id: str | None
    username: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    display_name: str | None = None
    email: str | None = None
    phone: str | None = None
    date_joined: datetime | None = None


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


class Account(NamedTuple):
    """An account with its payments, in no order.

    Attributes
    ----------
    people : list of CrowdPerson
        The account holder first, then everybody whom the payments show.
    friends : list of int
        Positions of friends in ``people``.
    payments : Columns
        Columns of the payments; people are positions in ``people``.
    """

    people: list[CrowdPerson]
    friends: list[int]
    payments: Columns


class _Special(NamedTuple):
    """Which payments are part of a habit or of a shared bill, and what that decides."""

    is_part: Array
    created: Array
    note: Array
    cents: Array


class Crowd:
    """A large town, the same for the same arguments.

    Parameters
    ----------
    seed : int
    accounts : int
        People with an account. They also pay people and addresses outside.
    payments : int
        Payments; each is in one account, or in two.
    years : int
        Length of the history, which ends at `now`.

    Raises
    ------
    SettingError
        A number is out of its range.
    """

    def __init__(self, seed: int, *, accounts: int, payments: int, years: int) -> None:
        for name, number, low, high in (
            ("seed", seed, 0, LARGEST_SEED),
            ("number of accounts", accounts, FEWEST_ACCOUNTS, MOST_ACCOUNTS),
            ("number of payments", payments, 1, MOST_PAYMENTS),
            ("number of years", years, 1, MOST_YEARS),
        ):
            if not isinstance(number, int) or not low <= number <= high:
                raise SettingError(f"The {name} is a whole number from {low:,} to {high:,}, not {number!r}.")
        if payments > accounts * MOST_PER_ACCOUNT:
            raise SettingError(
                f"{payments:,} payments of {accounts:,} accounts are more than {MOST_PER_ACCOUNT:,} for each: "
                f"give {-(-payments // MOST_PER_ACCOUNT):,} accounts or more."
            )
        self.seed, self.accounts, self.payments, self.years, self.now = seed, accounts, payments, years, NOW
        self._now_us, self._days = to_microseconds(NOW), 365 * years
        self._tie_people()

    def _tie_people(self) -> None:
        """Decide who pays whom how often: few pairs pay each other often.

        The first of a pair has an account, and the smaller number if both have one. A pair's payments are numbered
        from its start to the start of the next pair.
        """
        outsiders = max(_BUSINESS_EVERY + 1, self.accounts // _ACCOUNTS_PER_OUTSIDER)
        everybody = np.arange(self.accounts)
        known = self._draw_unit("known", everybody)
        met = [(everybody, (everybody + step) % self.accounts) for step in range(1, _NEIGHBOURS + 1)]
        slots = range(_NEIGHBOURS, _NEIGHBOURS + _ACQUAINTANCES)
        for part, exponent, first, count in (
            (slots, 1.4, 0, self.accounts),
            (range(slots.stop, slots.stop + _OUTSIDERS_EACH), 2, self.accounts, outsiders),
        ):
            for slot in part:
                others = first + (self._draw_unit(f"slot {slot}", everybody) ** exponent * count).astype("int64")
                is_known = known * known * len(part) >= slot - part.start
                met.append((everybody[is_known], others[is_known]))
        sides = np.concatenate(met, axis=1)
        low, high = np.sort(sides[:, sides[0] != sides[1]], axis=0)
        pairs = np.unique(low * (self.accounts + outsiders) + high)
        self._one, self._other = np.divmod(pairs, self.accounts + outsiders)
        # A heavy tail: a fifth of the pairs has most payments.
        weights = (self._draw_unit("weight", pairs) + 0.01) ** -0.9
        ends = np.floor(np.cumsum(weights) / weights.sum() * self.payments).astype("int64")
        ends[-1] = self.payments
        self._start = np.concatenate([[0], ends])
        numbers, within = np.arange(len(pairs)), self._other < self.accounts
        people = np.concatenate([self._one, self._other[within]])
        order = np.argsort(people, kind="stable")
        ends_of = np.searchsorted(people[order], np.arange(1, self.accounts))
        self._pairs_of = np.split(np.concatenate([numbers, numbers[within]])[order], ends_of)

    def make_account(self, number: int) -> Account:
        """Return an account of the town by its number, from 0."""
        pairs = self._pairs_of[number]
        pairs = pairs[self._start[pairs + 1] > self._start[pairs]]
        others = np.where(self._one[pairs] == number, self._other[pairs], self._one[pairs])
        people = [self._describe(number), *(self._describe(int(other)) for other in others)]
        friends = [
            place
            for place, other in enumerate(others.tolist(), start=1)
            if people[place].user_id is not None and not self._is_business(other) and (number + other) % 8
        ]
        counts = self._start[pairs + 1] - self._start[pairs]
        numbers = [np.arange(self._start[pair], self._start[pair + 1]) for pair in pairs]
        payments = self._list_payments(
            number,
            pair=np.repeat(pairs, counts),
            place=np.repeat(np.arange(1, len(people)), counts),
            numbers=np.concatenate([np.arange(0), *numbers]),
        )
        return Account(people, friends, payments)

    def _describe(self, person: int) -> CrowdPerson:
        chance = int(self._draw("name", np.array([person]))[0])
        if self._is_address(person):
            outside = person - self.accounts
            if outside % 2:
                return CrowdPerson(None, phone=f"1555{outside % 10_000_000:07d}")
            return CrowdPerson(None, email=f"guest{outside}@example.com")
        if chance % _FOREIGN_EVERY == 0:
            username, first, last, display_name = FOREIGN_NAMES[chance // 16 % len(FOREIGN_NAMES)]
        else:
            first, last = FIRST_NAMES[chance // 16 % len(FIRST_NAMES)], LAST_NAMES[chance // 1024 % len(LAST_NAMES)]
            username, display_name = f"{first}-{last}".lower(), f"{first} {last}"
        if self._is_business(person):
            first, last, display_name = f"{last} & Sons", "", f"{last} & Sons"
        return CrowdPerson(
            str(_PERSON_IDS + person * _PERSON_STEP + self.seed % _PERSON_STEP),
            f"{username}-{person}",
            first,
            last,
            display_name,
            f"{username}-{person}@example.com",
            f"1555{person % 10_000_000:07d}",
            self.now - timedelta(days=self._days + 30 + chance % 900),
        )

    def _is_address(self, people: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        """Return whether people are addresses without an account, which only receive."""
        return (people >= self.accounts) & ((people - self.accounts) % _ADDRESS_EVERY == 0)

    def _is_business(self, people: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        """Return whether people are businesses, which only receive, for a fee."""
        outside = people - self.accounts
        return (outside >= 0) & (outside % _BUSINESS_EVERY == 1) & (outside % _ADDRESS_EVERY != 0)

    def _list_payments(self, viewer: int, *, pair: Array, place: Array, numbers: Array) -> Columns:
        """Return payments by their numbers; from either side of the pair, a payment is the same."""
        one, other = self._one[pair], self._other[pair]
        chance, more = self._draw("first", numbers), self._draw("second", numbers)
        is_address, is_business = self._is_address(other), self._is_business(other)
        is_charge = (_take_bits(chance, 0, 8) < 92) & ~is_address & ~is_business  # noqa: PLR2004 - 36 % of payments
        # Of each pair, one asks or pays more often.
        bias = np.where(_take_bits(self._draw("bias", pair), 0, 1) == 1, 176, 80)
        one_acts = (_take_bits(chance, 8, 8) < bias) | is_address | is_business
        note = _draw_notes(more)
        cents = _draw_amounts(self._draw_unit("amount", numbers), note, more)
        created = self._draw_instants(chance, more)
        bill = self._join_bills(np.where(one_acts, one, other), is_charge, self._draw("bill", numbers))
        habit = self._keep_habits(pair, numbers - self._start[pair])
        for special in (bill, habit):
            created, note, cents = (
                np.where(special.is_part, new, old)
                for new, old in zip(special[1:], (created, note, cents), strict=True)
            )
        is_charge &= ~habit.is_part
        one_acts |= habit.is_part
        end = self._draw("end", numbers)
        byte = _take_bits(end, 0, 8)
        # An address without an account takes the money within 30 days or not at all.
        is_unclaimed = is_address & ~is_charge & (byte < 128)  # noqa: PLR2004 - half of them
        delays = np.exp(_DELAY_SPREAD * _quantiles()) * _DELAY_HOURS * 3_600
        waited = 60 + delays[_take_bits(end, 8, 12) * len(delays) >> 12].astype("int64") + _take_bits(end, 20, 8)
        completed = created + np.where(is_unclaimed, 30 * DAY_US, np.where(is_charge, waited, 0) * SECOND_US)
        status = np.where(is_unclaimed, _EXPIRED, np.where(is_charge, _OF_CHARGES[byte], _OF_PAYS[byte]))
        is_open = (status == _PENDING) | (completed >= self._now_us)  # so they have no instant of completion
        actor_is_viewer = one_acts == (one == viewer)
        audience = np.where(is_business, _PRIVATE, _OF_AUDIENCES[_take_bits(chance, 16, 8)])
        return Columns(
            texts={
                "action": (np.where(is_charge, _CHARGE, _PAY), _ACTIONS),
                "status": (np.where(is_open, _PENDING, status), _STATUSES),
                "note": (note, _NOTE_TEXTS),
                "audience": (audience, _AUDIENCES),
                "medium": (_OF_MEDIA[_take_bits(chance, 24, 8)], _MEDIA),
            },
            numbers={
                "payment_id": created // SECOND_US * _PAYMENT_IDS + numbers,
                "amount_cents": cents,
                "created_us": created,
                "completed_us": np.ma.masked_array(completed, mask=is_open),
                "fee_cents": np.ma.masked_array(np.maximum(10, cents * 19 // 1_000), mask=~is_business),
            },
            actor=np.where(actor_is_viewer, 0, place),
            target=np.where(actor_is_viewer, place, 0),
        )

    def _draw_instants(self, chance: Array, more: Array) -> Array:
        """Return instants: more of them in later years and in the evening; a quarter has fractions of a second."""
        # The exponent makes the last year the busiest.
        day = self._now_us // DAY_US - self._days + (_to_unit(chance) ** 0.8 * self._days).astype("int64")
        second = _take_bits(more, 16, 12) * 3_600 >> 12
        fraction = np.where(_take_bits(more, 28, 2) == 0, _take_bits(more, 30, 20) * SECOND_US >> 20, 0)
        instants: Array = day * DAY_US + _OF_HOURS[_take_bits(more, 8, 8)] * HOUR_US + second * SECOND_US + fraction
        return instants

    def _join_bills(self, host: Array, is_charge: Array, drawn: Array) -> _Special:
        """Return the charges that share a bill: charges of one host with one number are made within the hour."""
        bills = _BILLS_A_YEAR * self.years
        number = host * bills + _take_bits(drawn, 8, 24) % bills
        chance, more = self._draw("bill instant", number), self._draw("bill note", number)
        created = self._draw_instants(chance, more) + _take_bits(drawn, 32, 12) * SECOND_US // 2
        note = _draw_notes(more)
        is_part = is_charge & (_take_bits(drawn, 0, 8) < 110)  # noqa: PLR2004 - 43 % of charges
        return _Special(is_part, created, note, _draw_amounts(_to_unit(more), note, more))

    def _keep_habits(self, pair: Array, rank: Array) -> _Special:
        """Return which payments are part of a habit: one per period, counted back from now."""
        drawn, other = self._draw("habit", pair), self._other[pair]
        kind = _take_bits(drawn, 0, 8)
        # One in eight pairs has a habit; businesses have members.
        habit = np.where(kind < 32, kind % 3, _NONE)  # noqa: PLR2004 - of 256
        habit = np.where(self._is_business(other), np.where(kind < 64, 3, _NONE), habit)  # noqa: PLR2004 - of 256
        habit = np.where(self._is_address(other), _NONE, habit)
        period = np.rint(np.array([*_DAYS_OF_HABITS, 1.0])[habit] * DAY_US).astype("int64")
        last = self._now_us - _take_bits(drawn, 8, 12) * period // 2**12
        jitter = _take_bits(self._draw("jitter", pair * 4096 + rank), 0, 16) * 6 * HOUR_US >> 16
        created = last - rank * period - jitter
        created -= created % SECOND_US
        base = np.array([cents for _, cents in _HABITS] + [0])[habit] * (192 + _take_bits(drawn, 20, 7)) // 256
        changing = 90 + _take_bits(self._draw("share", pair * 4096 + rank), 0, 8) * 20 // 256
        cents = np.where(habit == 1, base * changing // 100, base)
        note = _USUAL_NOTES + len(_RARE) + np.maximum(habit, 0)
        is_part = (habit != _NONE) & (created >= self._now_us - self._days * DAY_US)
        return _Special(is_part, created, note, cents)

    def _draw(self, name: str, numbers: Array) -> Array:
        """Return a random 64-bit whole number for each number, by splitmix64; other names give independent ones."""
        start = int.from_bytes(hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:8], "little")
        mixed = numbers.astype("uint64") * np.uint64(0x9E3779B97F4A7C15)
        mixed += np.uint64(start)
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        return mixed

    def _draw_unit(self, name: str, numbers: Array) -> Array:
        """Return a random number from 0 to below 1 for each number."""
        return _to_unit(self._draw(name, numbers))


def _to_unit(drawn: Array) -> Array:
    """Return 64-bit random numbers as numbers from 0 to below 1."""
    unit: Array = (drawn >> np.uint64(11)) * 2.0**-53
    return unit


def _take_bits(drawn: Array, first: int, count: int) -> Array:
    """Return some of the bits of 64-bit random numbers as a whole number."""
    bits: Array = ((drawn >> np.uint64(first)) & np.uint64((1 << count) - 1)).astype("int64")
    return bits


def _draw_notes(more: Array) -> Array:
    """Return positions in the list of notes, mostly of the first ones."""
    common = ((_take_bits(more, 50, 14) / 2**14) ** 3 * _USUAL_NOTES).astype("int64")
    is_rare = _take_bits(more, 4, 8) == 0
    return np.where(is_rare, _USUAL_NOTES + _take_bits(more, 20, 12) % len(_RARE), common)


def _draw_amounts(unit: Array, note: Array, more: Array) -> Array:
    """Return amounts in cents around the usual one of the note; most are whole dollars or halves."""
    factors = np.exp(_SPREAD * _quantiles())
    cents = _USUAL_CENTS[note] * factors[(unit * len(factors)).astype("int64")]
    rounding = _take_bits(more, 0, 8)
    step = np.where(rounding < 120, 100, np.where(rounding < 170, 50, 1))  # noqa: PLR2004 - of 256
    # Below the coarse step, a second number makes amounts other than multiples of the quantiles.
    fine = cents * (0.97 + 0.06 * ((unit * 1e6) % 1))
    rounded: Array = np.clip(np.rint(fine / step).astype("int64") * step, step, _LARGEST_CENTS)
    return rounded


@functools.cache
def _quantiles() -> Array:
    """Return the middles of 4096 equal parts of the normal distribution."""
    return np.array([NormalDist().inv_cdf((place + 0.5) / 4096) for place in range(4096)])
