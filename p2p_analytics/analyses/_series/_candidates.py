"""Candidates: chains that may be series, if their gains are large enough among the other payments of the person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from p2p_analytics.analyses._series import _columns, _gains, _search, _views
from p2p_analytics.analyses._series.cadence import CADENCES
from p2p_analytics.threads import map_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from p2p_analytics.analyses._series._columns import Array, Payments, Runs
    from p2p_analytics.analyses._series._views import Views
    from p2p_analytics.analyses._series.cadence import Cadence

    Result = TypeVar("Result")

_FEWEST_IN_THREADS: Final = 50_000  # payments in sets; fewer take less time than to start threads


class Side(NamedTuple):
    """Chains with what their gains are computed from.

    ``lasts`` are their last payments. Of the person's payments, of those with the amount, and of those with the note of
    the last one, ``left_out`` are not compared: those of the other half of a set.
    """

    gains: _gains.Gains
    lasts: Array
    left_out: Array

    def take(self, which: Array) -> Side:
        """Return some of the chains."""
        return Side(self.gains.take(which), self.lasts[which], self.left_out[which])

    def weigh(self, tallies: Tallies) -> Array:
        """Return the gains among the payments that are left."""
        return self.gains.weigh(*(tallies.count(self.lasts) - self.left_out).T)


class Candidates(NamedTuple):
    """Chains: the mark of the set, the number of the cadence, the payments; and the chain in the other half of a set.

    For a set that is not halved, the other chain is the same.
    """

    marks: Array
    cadences: Array
    members: Runs
    one: Side
    other: Side
    is_half: Array

    def take(self, which: Array) -> Candidates:
        """Return some of the candidates."""
        return Candidates(
            self.marks[which],
            self.cadences[which],
            self.members.take(which),
            self.one.take(which),
            self.other.take(which),
            self.is_half[which],
        )

    def weigh(self, tallies: Tallies) -> Array:
        """Return the gains: of two halves both, if each is large enough."""
        one = self.one.weigh(tallies)
        other = self.other.weigh(tallies)
        both = np.where(np.minimum(one, other) >= _gains.ENOUGH, one + other, -np.inf)
        found: Array = np.where(self.is_half, both, one)
        return found


class Tallies:
    """Numbers of payments that are left: of each person, and of each person and amount, and person and note."""

    def __init__(self, payments: Payments) -> None:
        self._codes = [payments.people, payments.of_amount, payments.of_note]
        self._counts = [np.bincount(codes) for codes in self._codes]

    def count(self, places: Array) -> Array:
        """Return for payments how many are left with the person, the amount, and the note, as columns."""
        columns = zip(self._codes, self._counts, strict=True)
        return np.stack([counts[codes[places]] for codes, counts in columns], axis=1)

    def remove(self, places: Array) -> None:
        """Take payments away."""
        for codes, counts in zip(self._codes, self._counts, strict=True):
            np.subtract.at(counts, codes[places], 1)


def find_candidates(payments: Payments, views: Views, marks: Array) -> Candidates | None:
    """Return the candidates in sets, each of which has a mark; None without any."""
    halves, parents = _views.halve(views, payments.days)
    of_whole = _search_blocks(payments, views, partial(_choose, payments, views, marks))
    of_halves = _search_blocks(payments, halves, lambda found, _: found)
    parts = []
    for number in range(len(CADENCES)):
        parts += of_whole[number]
        found = _join_found(of_halves[number])
        if found is not None:
            parts.append(_pair(payments, halves, found, marks[parents], number))
    return join(parts)


def _search_blocks(payments: Payments, views: Views, use: Callable[[_search.Found, int], Result]) -> list[list[Result]]:
    """Return what a function returns for the chains of each cadence, and its number, in each block of sets."""

    def search(block: _search.Block) -> list[Result]:
        return [use(found, number) for number, found in enumerate(_search.find_chains(payments, views, block))]

    blocks = _search.list_blocks(payments, views)
    is_large = len(views.members.values) >= _FEWEST_IN_THREADS
    of_blocks = map_in_threads(search, blocks) if is_large else [*map(search, blocks)]
    return [[each[number] for each in of_blocks if number < len(each)] for number in range(len(CADENCES))]


def _choose(payments: Payments, views: Views, marks: Array, found: _search.Found, number: int) -> Candidates:
    """Return the candidates among the chains of a cadence."""
    side, members = _measure(payments, views, found, CADENCES[number])
    chosen = np.flatnonzero(side.gains.find_bound() >= _gains.ENOUGH)
    side = side.take(chosen)
    return _build(number, marks[found.views[chosen]], members.take(chosen), (side, side))


def join(parts: Sequence[Candidates]) -> Candidates | None:
    """Return all candidates of several sets."""
    parts = [part for part in parts if len(part.marks)]
    if not parts:
        return None
    return Candidates(
        np.concatenate([part.marks for part in parts]),
        np.concatenate([part.cadences for part in parts]),
        _columns.join([part.members for part in parts]),
        _join_sides([part.one for part in parts]),
        _join_sides([part.other for part in parts]),
        np.concatenate([part.is_half for part in parts]),
    )


def _join_sides(sides: Sequence[Side]) -> Side:
    gains = _gains.Gains(*map(np.concatenate, zip(*(side.gains for side in sides), strict=True)))
    return Side(
        gains,
        np.concatenate([side.lasts for side in sides]),
        np.concatenate([side.left_out for side in sides]),
    )


def _join_found(parts: Sequence[_search.Found]) -> _search.Found | None:
    if not any(len(part.views) for part in parts):
        return None
    views, members, densities = zip(*parts, strict=True)
    return _search.Found(np.concatenate(views), _columns.join(members), np.concatenate(densities))


def _build(number: int, marks: Array, members: Runs, sides: tuple[Side, Side]) -> Candidates:
    is_half = sides[0] is not sides[1]
    return Candidates(marks, np.full(len(marks), number), members, *sides, np.full(len(marks), is_half))


def _measure(payments: Payments, views: Views, found: _search.Found, cadence: Cadence) -> tuple[Side, Runs]:
    """Return what the gains of chains are computed from, and the chains as places of payments."""
    chains = found.members
    places = views.members.values[views.members.starts[:-1][found.views][chains.owners] + chains.values]
    members = _columns.Runs(places, chains.starts)
    ends = chains.starts[1:] - 1
    during = chains.values[ends] - chains.values[chains.starts[:-1]] + 1 if len(ends) else ends
    within = _gains.Surroundings(during, views.members.sizes[found.views], found.densities)
    gains = _gains.measure(payments, members, within, cadence)
    return Side(gains, places[ends], np.zeros((len(ends), 3), dtype=np.int64)), members


def _pair(payments: Payments, halves: Views, found: _search.Found, marks: Array, number: int) -> Candidates:
    """Return the candidates of sets with a chain in both halves."""
    pairs = len(halves.least) // 2
    place_of = np.full(2 * pairs, -1)
    place_of[found.views] = np.arange(len(found.views))
    both = np.flatnonzero((place_of[:pairs] >= 0) & (place_of[pairs:] >= 0))
    sides = []
    for own, rest in ((both, both + pairs), (both + pairs, both)):
        which = place_of[own]
        chosen = _search.Found(found.views[which], found.members.take(which), found.densities[which])
        side, members = _measure(payments, halves, chosen, CADENCES[number])
        left_out = _count_like(payments, halves.members.take(rest), side.lasts)
        sides.append((side._replace(left_out=left_out), members))
    (one, chains), (other, _) = sides
    bounds = np.minimum(one.gains.find_bound(), other.gains.find_bound())
    right = np.flatnonzero(bounds >= _gains.ENOUGH)
    return _build(number, marks[both[right]], chains.take(right), (one.take(right), other.take(right)))


def _count_like(payments: Payments, sets: Runs, lasts: Array) -> Array:
    """Return how many payments sets have, and how many with the amount, and with the note, of a payment for each."""
    counts = [sets.sizes]
    for values in (payments.cents, payments.texts):
        is_like = values[sets.values] == values[lasts][sets.owners]
        counts.append(sets.sum(is_like.astype(np.int64)))
    return np.stack(counts, axis=1)
