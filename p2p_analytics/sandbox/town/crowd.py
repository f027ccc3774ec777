"""Towns of any size: thousands of accounts with millions of payments, made account by account.

Each payment is a function of the seed and of its number, and the payments of two people have consecutive numbers. So
both sides of a payment agree although each account is made by itself, and no more than one account is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.town import crowd_payments
from p2p_analytics.sandbox.town.build import LARGEST_SEED, MOST_YEARS, NOW, from_microseconds
from p2p_analytics.sandbox.town.crowd_payments import Columns
from p2p_analytics.sandbox.town.crowd_random import draw, draw_unit
from p2p_analytics.sandbox.town.people import FIRST_NAMES, FOREIGN_NAMES, LAST_NAMES
from p2p_analytics.sandbox.town.timeline import SECOND_US

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


@dataclass(frozen=True, slots=True)
class Ties:
    """Pairs of people who pay each other.

    Attributes
    ----------
    one, other : array of int
        The people; the first has an account, and the smaller number if both have one.
    start : array of int
        The number of the first payment of each pair, and after the last pair the number of all payments.
    """

    one: Array
    other: Array
    start: Array


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
        self._outsiders = max(_BUSINESS_EVERY + 1, accounts // _ACCOUNTS_PER_OUTSIDER)
        self._ties = self._tie_people()
        self._pairs_of = self._index_ties()

    def make_account(self, number: int) -> Account:
        """Return an account of the town by its number, from 0."""
        ties, pairs = self._ties, self._pairs_of[number]
        others = np.where(ties.one[pairs] == number, ties.other[pairs], ties.one[pairs])
        present = ties.start[pairs + 1] > ties.start[pairs]
        pairs, others = pairs[present], others[present]
        people = [self._describe(number), *(self._describe(int(other)) for other in others)]
        friends = [
            place
            for place, other in enumerate(others.tolist(), start=1)
            if people[place].user_id is not None and not self._is_business(other) and (number + other) % 8
        ]
        rows = crowd_payments.Rows(
            pair=np.repeat(pairs, ties.start[pairs + 1] - ties.start[pairs]),
            place=np.repeat(np.arange(1, len(people)), ties.start[pairs + 1] - ties.start[pairs]),
            number=np.concatenate(
                [np.arange(0), *(np.arange(ties.start[pair], ties.start[pair + 1]) for pair in pairs)]
            ),
        )
        return Account(people, friends, crowd_payments.make_columns(self, rows, number))

    def list_sides(self, pairs: Array) -> tuple[Array, Array, Array]:
        """Return both people of pairs, and the number of the first payment of each pair."""
        return self._ties.one[pairs], self._ties.other[pairs], self._ties.start[pairs]

    def is_address(self, people: Array) -> Array:
        """Return whether people are addresses without an account, which only receive."""
        found: Array = (people >= self.accounts) & ((people - self.accounts) % _ADDRESS_EVERY == 0)
        return found

    def is_business(self, people: Array) -> Array:
        """Return whether people are businesses, which only receive, for a fee."""
        outside = people - self.accounts
        found: Array = (outside >= 0) & (outside % _BUSINESS_EVERY == 1) & (outside % _ADDRESS_EVERY != 0)
        return found

    def _is_business(self, person: int) -> bool:
        return bool(self.is_business(np.array([person]))[0])

    def _tie_people(self) -> Ties:
        """Return who pays whom how often: few pairs pay each other often."""
        all_people = self.accounts + self._outsiders
        everybody = np.arange(self.accounts)
        known = draw_unit(self.seed, "known", everybody)
        keys = []
        for slot in range(_NEIGHBOURS + _ACQUAINTANCES + _OUTSIDERS_EACH):
            if slot < _NEIGHBOURS:
                others, is_known = (everybody + slot + 1) % self.accounts, np.full(self.accounts, fill_value=True)
            else:
                chance = draw_unit(self.seed, f"slot {slot}", everybody)
                is_outside = slot >= _NEIGHBOURS + _ACQUAINTANCES
                count = self._outsiders if is_outside else self.accounts
                others = (chance ** (2 if is_outside else 1.4) * count).astype("int64") + is_outside * self.accounts
                most = _OUTSIDERS_EACH if is_outside else _ACQUAINTANCES
                first = _NEIGHBOURS + _ACQUAINTANCES if is_outside else _NEIGHBOURS
                is_known = known * known * most >= slot - first
            is_pair = is_known & (others != everybody)
            low, high = np.minimum(everybody, others), np.maximum(everybody, others)
            keys.append((low * all_people + high)[is_pair])
        pairs = np.unique(np.concatenate(keys))
        # A heavy tail: a fifth of the pairs has most payments.
        weights = (draw_unit(self.seed, "weight", pairs) + 0.01) ** -0.9
        share = np.cumsum(weights) / weights.sum()
        ends = np.floor(share * self.payments).astype("int64")
        ends[-1] = self.payments
        return Ties(pairs // all_people, pairs % all_people, np.concatenate([[0], ends]))

    def _index_ties(self) -> list[Array]:
        """Return the pairs of each account."""
        ties = self._ties
        pairs = np.arange(len(ties.one))
        within = ties.other < self.accounts
        people = np.concatenate([ties.one, ties.other[within]])
        order = np.argsort(people, kind="stable")
        ends = np.searchsorted(people[order], np.arange(self.accounts + 1))
        found = np.concatenate([pairs, pairs[within]])[order]
        return [found[ends[number] : ends[number + 1]] for number in range(self.accounts)]

    def _describe(self, person: int) -> CrowdPerson:
        chance = int(draw(self.seed, "name", np.array([person]))[0])
        outside = person - self.accounts
        if outside >= 0 and outside % _ADDRESS_EVERY == 0:
            if outside % 2:
                return CrowdPerson(None, phone=f"1555{outside % 10_000_000:07d}")
            return CrowdPerson(None, email=f"guest{outside}@example.com")
        if chance % _FOREIGN_EVERY == 0:
            username, first, last, display_name = FOREIGN_NAMES[chance // 16 % len(FOREIGN_NAMES)]
        else:
            first, last = FIRST_NAMES[chance // 16 % len(FIRST_NAMES)], LAST_NAMES[chance // 1024 % len(LAST_NAMES)]
            username, display_name = f"{first}-{last}".lower(), f"{first} {last}"
        if outside >= 0 and self._is_business(person):
            first, last, display_name = f"{last} & Sons", "", f"{last} & Sons"
        joined = self.now - timedelta(days=365 * self.years + 30 + chance % 900)
        return CrowdPerson(
            str(_PERSON_IDS + person * _PERSON_STEP + self.seed % _PERSON_STEP),
            f"{username}-{person}",
            first,
            last,
            display_name,
            f"{username}-{person}@example.com",
            f"1555{person % 10_000_000:07d}",
            from_microseconds((joined - from_microseconds(0)) // timedelta(seconds=1) * SECOND_US),
        )
