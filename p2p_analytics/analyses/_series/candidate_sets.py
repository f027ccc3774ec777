"""Candidate sets: the sets of one person's payments that are searched for chains.

A set has the payments of one amount, of about one amount, of one note, or all. A set that is too dense for every
cadence is left out before its payments are listed. So the sets have a bounded number of payments for each day between
the first and the last, and a payment is in a bounded number of sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np

from p2p_analytics.analyses._series.cadence import CADENCES, find_days_of_month

Array = np.ndarray[Any, Any]
Table = TypeVar("Table", bound=tuple[Any, ...])

FEWEST: Final = 3  # payments of a series
MOST_HIDDEN: Final = 1.5  # the most payments among the payments of a series, as a multiple
_FEWEST_OF_SET: Final = 0.45  # of the payments during a chain; two series may have one amount
_FEWEST_OF_ALL: Final = 0.6
_FEWEST_OF_HALF: Final = 0.8
_SHORTEST: Final = min(cadence.length for cadence in CADENCES)
_DENSEST: Final = MOST_HIDDEN / _SHORTEST  # payments per day, by the share of them that a chain must have
_BAND: Final = 1.36  # the largest of amounts that rise, by the smallest
_APART: Final = 1.15  # amounts with no others between them are different ones
_STEPS_OF_BAND: Final = 2  # bands; only the band around the most frequent amount is searched
_LONGEST_MONTH: Final = 31


class Payments(NamedTuple):
    """Payments by person, day, amount and note, as arrays of whole numbers.

    ``people`` are numbers of people and directions, ``days`` local days since 1970-01-01, ``texts`` numbers of the part
    of a note that stays, -1 for none. ``of_amount`` and ``of_note`` are numbers of the person with the amount, and of
    the person with the note.
    """

    people: Array
    days: Array
    cents: Array
    texts: Array
    of_amount: Array
    of_note: Array


class Runs(NamedTuple):
    """Several arrays one after another: their values, and where each starts; ``starts`` ends with the total."""

    values: Array
    starts: Array

    @property
    def sizes(self) -> Array:
        """The length of each."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Array:
        """For each value, the number of the array that it is in."""
        return np.arange(len(self.starts) - 1).repeat(self.sizes)

    def take(self, which: Array) -> Runs:
        """Return some of the arrays."""
        sizes = self.sizes[which]
        return Runs(self.values[list_places(self.starts[:-1][which], sizes)], add_up(sizes))

    def get(self, which: int) -> Array:
        """Return one of the arrays."""
        found: Array = self.values[self.starts[which] : self.starts[which + 1]]
        return found

    def keep(self, mask: Array) -> Runs:
        """Return the arrays with some of their values, as marked for each value."""
        return Runs(self.values[mask], np.append(0, mask.cumsum())[self.starts])

    def sum(self, numbers: Array) -> Array:
        """Return the sum of numbers of the values, for each array."""
        total = np.zeros(len(numbers) + 1, dtype=numbers.dtype)
        numbers.cumsum(out=total[1:])
        return total[self.starts[1:]] - total[self.starts[:-1]]


def number_payments(people: Array, days: Array, cents: Array, texts: Array) -> Payments:
    """Return payments with numbers of their pairs."""
    amounts = np.unique(cents, return_inverse=True)[1]
    pairs = (people * (values.max(initial=0) + 1) + values for values in (amounts, texts + 1))
    return Payments(people, days, cents, texts, *(np.unique(numbers, return_inverse=True)[1] for numbers in pairs))


def find_order(keys: Array) -> Array:
    """Return places in the order of keys; places of one key stay in their order.

    It is much faster than a sort of places. Keys are from 0 to a bound that leaves room for the place: less than 2**36
    for a hundred million of them.
    """
    bits = len(keys).bit_length()
    order: Array = np.sort(keys << bits | np.arange(len(keys))) & ((1 << bits) - 1)
    return order


def add_up(sizes: Array) -> Array:
    """Return the starts of runs of some sizes, and the total."""
    starts: Array = np.append(0, np.cumsum(sizes, dtype=np.int64))
    return starts


def take(table: Table, which: Array) -> Table:
    """Return some rows of a table: a named tuple of arrays, runs and tables with a row for each chain, say."""
    if isinstance(table, Runs):
        return cast("Table", table.take(which))
    columns = (column[which] if isinstance(column, np.ndarray) else take(column, which) for column in table)
    return type(table)(*columns)


def join(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables."""
    if isinstance(tables[0], Runs):
        runs = cast("Sequence[Runs]", tables)
        joined = Runs(np.concatenate([run.values for run in runs]), add_up(np.concatenate([run.sizes for run in runs])))
        return cast("Table", joined)
    columns = (
        np.concatenate(each) if isinstance(each[0], np.ndarray) else join(each) for each in zip(*tables, strict=True)
    )
    return type(tables[0])(*columns)


def list_places(starts: Array, sizes: Array) -> Array:
    """Return the numbers from each start on, as many as its size says."""
    ends = np.cumsum(sizes, dtype=np.int64)
    places: Array = np.arange(ends[-1] if len(ends) else 0) + (starts - ends + sizes).repeat(sizes)
    return places


class CandidateSets(NamedTuple):
    """Candidate sets: row indices in time order, and the minimum share of a set's payments that a chain must cover."""

    members: Runs
    min_share: Array
    is_halved: Array  # whether there may be two series in it


def _build_sets(members: Runs, min_share: float, *, is_halved: bool = False) -> CandidateSets:
    number = len(members.starts) - 1
    return CandidateSets(members, np.full(number, min_share), np.full(number, is_halved))


class _People(NamedTuple):
    """Where each person's payments start in all, and the days from the first to the last and one period."""

    starts: Array
    spans: Array
    of_each: Array  # the person of each payment


class _Groups(NamedTuple):
    """Payments of one person with one value: all places by person, value and time, and where each group starts."""

    order: Array
    starts: Array
    people: Array
    values: Array

    @property
    def sizes(self) -> Array:
        """How many payments each group has."""
        return np.diff(self.starts)


def list_candidate_sets(payments: Payments) -> CandidateSets:
    """Return the sets of some people's payments."""
    places = np.arange(len(payments.days))
    starts = np.append(np.flatnonzero(np.diff(payments.people, prepend=-1)), len(places))
    spans = payments.days[starts[1:] - 1] - payments.days[starts[:-1]] + _SHORTEST
    people = _People(starts, spans, np.arange(len(spans)).repeat(np.diff(starts)))
    amounts = _group(people, payments.cents, payments.of_amount, places)
    noted = np.flatnonzero(payments.texts >= 0)
    sets = []
    for groups in (amounts, _group(people, payments.texts, payments.of_note, noted)):
        # Each of two halves may be as dense as a set that is not halved.
        most = max(1 / _FEWEST_OF_SET, 2 / _FEWEST_OF_HALF) * _DENSEST * spans[groups.people]
        chosen = np.flatnonzero((groups.sizes >= FEWEST) & (groups.sizes <= most))
        sets.append(_build_sets(Runs(groups.order, groups.starts).take(chosen), _FEWEST_OF_SET, is_halved=True))
    slices = _list_slices(people, amounts)
    sizes = slices[:, 1] - slices[:, 0]
    owners = np.arange(len(slices)).repeat(sizes)
    inside = amounts.order[list_places(slices[:, 0], sizes)]
    by_time = np.sort(owners * len(places) + inside) - owners * len(places)
    return join([*sets, _build_sets(Runs(by_time, add_up(sizes)), _FEWEST_OF_ALL)])


def _group(people: _People, values: Array, pairs: Array, places: Array) -> _Groups:
    order = places[find_order(pairs[places])]
    starts = np.append(np.flatnonzero(np.diff(pairs[order], prepend=-1)), len(order))
    firsts = order[starts[:-1]]
    return _Groups(order, starts, people.of_each[firsts], values[firsts])


def _list_slices(people: _People, amounts: _Groups) -> Array:
    """Return sets of about one amount, as pairs of places in the order of amounts, the second after the last."""
    first, end = _list_bands(people, amounts)
    is_new = np.diff(amounts.people, prepend=-1).astype(bool)
    is_apart = np.append(True, amounts.values[1:] > amounts.values[:-1] * _APART)
    edges = np.append(np.flatnonzero(is_new | is_apart), len(amounts.values))
    blocks = np.append(np.flatnonzero(is_new), len(amounts.values))
    first = np.concatenate([first, edges[:-1], blocks[:-1]])
    end = np.concatenate([end, edges[1:], blocks[1:]])
    is_several = end > first + 1  # one amount has another set
    first, end = first[is_several], end[is_several]
    slices = np.stack([amounts.starts[first], amounts.starts[end]], axis=1)
    most = _DENSEST / _FEWEST_OF_ALL * people.spans[amounts.people[first]]
    sizes = slices[:, 1] - slices[:, 0]
    found: Array = np.unique(slices[(sizes >= FEWEST) & (sizes <= most)], axis=0)
    return found


def _list_bands(people: _People, amounts: _Groups) -> tuple[Array, Array]:
    """Return the ranges of amounts that one rising series may have, by their places among the amounts."""
    distinct, ranks = np.unique(amounts.values, return_inverse=True)
    number = len(distinct) + 1
    keys = amounts.people * number + ranks
    centres = np.flatnonzero(amounts.sizes >= FEWEST)
    cents, owners = amounts.values[centres], amounts.people[centres]
    first = np.searchsorted(keys, owners * number + np.searchsorted(distinct, cents / _BAND))
    end = np.searchsorted(keys, owners * number + np.searchsorted(distinct, cents * _BAND, side="right"))
    sizes = amounts.starts[end] - amounts.starts[first]
    fits = sizes <= _DENSEST / _FEWEST_OF_ALL * people.spans[owners]
    centres, cents, owners, first, end = (column[fits] for column in (centres, cents, owners, first, end))
    steps = np.floor(np.log(np.maximum(cents, 1)) * (_STEPS_OF_BAND / np.log(_BAND)))
    order = np.lexsort((cents, -amounts.sizes[centres], steps, owners))
    is_first = (np.diff(owners[order], prepend=-1) != 0) | (np.diff(steps[order], prepend=-1) != 0)
    chosen = order[is_first]
    return first[chosen], end[chosen]


def halve(sets: CandidateSets, days: Array) -> tuple[CandidateSets, Array]:
    """Return two sets of about one size for each set that has two payments on days, or in two parts of the month.

    The sets of one half come first, then the sets of the other in the same order; with them, the number of the set that
    each pair is a part of.
    """
    halved = np.flatnonzero(sets.is_halved & (sets.members.sizes >= 2 * FEWEST))
    members = sets.members.take(halved)
    within = days[members.values]
    owners = members.owners
    is_second = (np.diff(within, prepend=-1) == 0) & (np.diff(owners, prepend=-1) == 0)
    ones, others, parents = [], [], []
    for is_one in (~is_second, _is_in_part(members, owners, within)):
        counts = members.sum(is_one.astype(np.int64))
        less, more = np.minimum(counts, members.sizes - counts), np.maximum(counts, members.sizes - counts)
        chosen = np.flatnonzero(less >= np.maximum(FEWEST, _FEWEST_OF_HALF * more))
        ones.append(members.keep(is_one).take(chosen))
        others.append(members.keep(~is_one).take(chosen))
        parents.append(halved[chosen])
    return _build_sets(join([*ones, *others]), _FEWEST_OF_HALF), np.concatenate(parents)


def _is_in_part(members: Runs, owners: Array, days: Array) -> Array:
    """Return for each member whether it is in the one of two parts of the month, between the two longest gaps."""
    months = find_days_of_month(days)
    order = find_order(owners * (_LONGEST_MONTH + 1) + months)
    months = months[order]
    is_last = np.diff(owners, append=-1) != 0
    following = np.append(months[1:], 0)
    following[is_last] = months[members.starts[:-1]]
    gaps = (following - months) % _LONGEST_MONTH
    at = np.arange(len(gaps)) - members.starts[:-1].repeat(members.sizes)
    by_gap = find_order(owners * _LONGEST_MONTH + gaps)
    ends = at[by_gap][members.starts[1:, None] + np.array([-2, -1])] + 1
    first, second = ends.min(axis=1, initial=2**62), ends.max(axis=1, initial=0)
    is_in = np.empty(len(gaps), dtype=bool)
    is_in[order] = (at >= first.repeat(members.sizes)) & (at < second.repeat(members.sizes))
    return is_in
