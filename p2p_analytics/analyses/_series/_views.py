"""Views: the sets of one person's payments that are searched, of one amount, of about one amount, of one note, and all.

A set that is too dense for every cadence is left out before its payments are listed, so that the sets have a bounded
number of payments for each day between the first and the last, and a payment is in a bounded number of sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from p2p_analytics.analyses._series import FEWEST, _columns
from p2p_analytics.analyses._series.cadence import CADENCES, find_days_of_month

if TYPE_CHECKING:
    from p2p_analytics.analyses._series._columns import Array, Payments, Runs

MOST_HIDDEN: Final = 1.5  # times as many payments as may be among those of a series
_FEWEST_OF_VIEW: Final = 0.45  # of the payments during a chain; two series may have one amount
_FEWEST_OF_ALL: Final = 0.6
_FEWEST_OF_HALF: Final = 0.8
_SHORTEST: Final = min(cadence.length for cadence in CADENCES)
_DENSEST: Final = MOST_HIDDEN / _SHORTEST  # payments per day, by the share of them that a chain must have
_BAND: Final = 1.36  # the largest of amounts that rise, by the smallest
_APART: Final = 1.15  # amounts with no others between them are different ones
_STEPS_OF_BAND: Final = 2  # bands of which one, that around the most frequent amount, is searched
_LONGEST_MONTH: Final = 31


class Views(NamedTuple):
    """Sets of payments: places in order of time, and the share of a set's payments that a chain in it must have."""

    members: Runs
    least: Array
    is_halved: Array  # whether there may be two series in it

    def take(self, which: Array) -> Views:
        """Return some of the sets."""
        return Views(self.members.take(which), self.least[which], self.is_halved[which])


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


def list_views(payments: Payments) -> Views:
    """Return the sets of some people's payments."""
    places = np.arange(len(payments.days))
    starts = np.append(np.flatnonzero(np.diff(payments.people, prepend=-1)), len(places))
    spans = payments.days[starts[1:] - 1] - payments.days[starts[:-1]] + _SHORTEST
    people = _People(starts, spans, np.arange(len(spans)).repeat(np.diff(starts)))
    amounts = _group(people, payments.cents, payments.of_amount, places)
    noted = np.flatnonzero(payments.texts >= 0)
    views = []
    for groups in (amounts, _group(people, payments.texts, payments.of_note, noted)):
        # Each of two halves may be as dense as a set that is not halved.
        most = max(1 / _FEWEST_OF_VIEW, 2 / _FEWEST_OF_HALF) * _DENSEST * spans[groups.people]
        chosen = np.flatnonzero((groups.sizes >= FEWEST) & (groups.sizes <= most))
        members = _columns.Runs(groups.order, groups.starts).take(chosen)
        views.append(Views(members, np.full(len(chosen), _FEWEST_OF_VIEW), np.full(len(chosen), fill_value=True)))
    slices = _list_slices(people, amounts)
    owners = np.arange(len(slices)).repeat(slices[:, 1] - slices[:, 0])
    inside = amounts.order[_columns.list_places(slices[:, 0], slices[:, 1] - slices[:, 0])]
    by_time = np.sort(owners * len(places) + inside) - owners * len(places)
    members = _columns.Runs(by_time, _columns.add_up(slices[:, 1] - slices[:, 0]))
    views.append(Views(members, np.full(len(slices), _FEWEST_OF_ALL), np.full(len(slices), fill_value=False)))
    return Views(
        _columns.join([view.members for view in views]),
        np.concatenate([view.least for view in views]),
        np.concatenate([view.is_halved for view in views]),
    )


def _group(people: _People, values: Array, pairs: Array, places: Array) -> _Groups:
    order = places[_columns.find_order(pairs[places])]
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
    is_several = end > first + 1  # one amount has a set of its own
    first, end = first[is_several], end[is_several]
    slices = np.stack([amounts.starts[first], amounts.starts[end]], axis=1)
    most = _DENSEST / _FEWEST_OF_ALL * people.spans[amounts.people[first]]
    sizes = slices[:, 1] - slices[:, 0]
    found: Array = np.unique(slices[(sizes >= FEWEST) & (sizes <= most)], axis=0)
    return found


def _list_bands(people: _People, amounts: _Groups) -> tuple[Array, Array]:
    """Return the ranges of amounts that may be those of one series that rises, by their places among the amounts."""
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


def halve(views: Views, days: Array) -> tuple[Views, Array]:
    """Return two sets of about one size for each set that has two payments on days, or in two parts of the month.

    The sets of one half come first, then those of the other in the same order. With them, the number of the set that
    each pair is of.
    """
    halved = np.flatnonzero(views.is_halved & (views.members.sizes >= 2 * FEWEST))
    members = views.members.take(halved)
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
    halves = _columns.join([*ones, *others])
    number = len(halves.starts) - 1
    found = Views(halves, np.full(number, _FEWEST_OF_HALF), np.full(number, fill_value=False))
    return found, np.concatenate(parents)


def _is_in_part(members: Runs, owners: Array, days: Array) -> Array:
    """Return for each member whether it is in the one of two parts of the month, between the two longest gaps."""
    months = find_days_of_month(days)
    order = _columns.find_order(owners * (_LONGEST_MONTH + 1) + months)
    months = months[order]
    is_last = np.diff(owners, append=-1) != 0
    following = np.append(months[1:], 0)
    following[is_last] = months[members.starts[:-1]]
    gaps = (following - months) % _LONGEST_MONTH
    at = np.arange(len(gaps)) - members.starts[:-1].repeat(members.sizes)
    by_gap = _columns.find_order(owners * _LONGEST_MONTH + gaps)
    ends = at[by_gap][members.starts[1:, None] + np.array([-2, -1])] + 1
    first, second = ends.min(axis=1, initial=2**62), ends.max(axis=1, initial=0)
    is_in = np.empty(len(gaps), dtype=bool)
    is_in[order] = (at >= first.repeat(members.sizes)) & (at < second.repeat(members.sizes))
    return is_in
