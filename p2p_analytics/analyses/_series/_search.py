"""Search of the best chain of each cadence in each of many sets of payments, all sets of a block at once.

A step of a chain leads from a payment to one of the next few, so that the number of steps that are compared is
proportional to the number of payments.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from p2p_analytics.analyses._series import FEWEST, _columns, _gains
from p2p_analytics.analyses._series._views import MOST_HIDDEN
from p2p_analytics.analyses._series.cadence import CADENCES, add_to_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.analyses._series._columns import Array, Payments, Runs
    from p2p_analytics.analyses._series._views import Views
    from p2p_analytics.analyses._series.cadence import Cadence

REACH: Final = 6  # a step leads to one of the next payments, this many
_FEWEST_OF_SLOTS: Final = 0.62  # share of a series' dates that have a payment
_CELLS: Final = 2**17  # payments that are searched at once
_FAR: Final = 2**30  # a day after all others
_GAIN: Final = np.float32  # of gains that choose between steps; those of chains are computed in 64 bits


class Block(NamedTuple):
    """Sets that are searched at once, the longest first, and how many cadences they are not too dense for."""

    views: Array
    cadences: int


class Found(NamedTuple):
    """Chains: the set of each, its members by their places in it, and the payments per day of the set."""

    views: Array
    members: Runs
    densities: Array


class _Table(NamedTuple):
    """Days of several sets, a column for each set, with the longest first; the rest of a column is empty.

    ``between`` and ``alike`` have the days, and the gains of amounts and notes, of the steps to each payment, from the
    farthest earlier payment to the nearest, a table for each. A step that is none has a gain of -inf.
    """

    days: Array
    sizes: Array
    between: Array
    alike: Array


def list_blocks(payments: Payments, views: Views) -> list[Block]:
    """Return the sets that are not too dense for some cadence; longer cadences need sets that are less dense."""
    sizes = views.members.sizes
    number = np.zeros(len(sizes), dtype=np.int64)
    for place, cadence in enumerate(CADENCES):
        fits = _find_densities(payments, views.members, cadence) * cadence.length * views.least <= MOST_HIDDEN
        number += fits & (number == place)  # a set that is too dense for one is so for all longer ones
    blocks = []
    for cadences in range(1, len(CADENCES) + 1):
        of_one = np.flatnonzero(number == cadences)
        of_one = of_one[np.argsort(-sizes[of_one], kind="stable")]
        while len(of_one):
            many = max(1, _CELLS // int(sizes[of_one[0]]))
            blocks.append(Block(of_one[:many], cadences))
            of_one = of_one[many:]
    return blocks


def find_chains(payments: Payments, views: Views, block: Block) -> Iterator[Found]:
    """Yield for each cadence the best chain of each set, if not too many other payments are among its members."""
    members, least = views.members.take(block.views), views.least[block.views]
    table = _build_table(payments, members)
    gains = np.full_like(table.alike, -np.inf)
    for cadence in CADENCES[: block.cadences]:
        densities = _find_densities(payments, members, cadence)
        _list_gains(table, cadence, gains)
        chains = _follow_steps(table, gains, np.log(densities).astype(_GAIN))
        # A column without members has no step.
        first = chains.values[np.minimum(chains.starts[:-1], len(chains.values) - 1)]
        last = chains.values[chains.starts[1:] - 1]
        of_each = np.arange(len(table.sizes))
        slots = np.rint((table.days[last, of_each] - table.days[first, of_each]) / cadence.length) + 1
        fewest = np.maximum(slots * _FEWEST_OF_SLOTS, (last - first + 1) * least)
        right = np.flatnonzero(chains.sizes >= np.maximum(FEWEST, fewest))
        right = right[_have_step(table, right, cadence)]
        yield Found(block.views[right], chains.take(right), densities[right])


def _find_densities(payments: Payments, members: Runs, cadence: Cadence) -> Array:
    """Return the payments per day of sets, of which the last day is followed by a period."""
    ends = members.values[members.starts[1:] - 1], members.values[members.starts[:-1]]
    densities: Array = members.sizes / (payments.days[ends[0]] - payments.days[ends[1]] + cadence.length)
    return densities


def _build_table(payments: Payments, members: Runs) -> _Table:
    sizes = members.sizes
    shape = (int(sizes[0]), len(sizes))
    rows, columns = _columns.list_places(np.zeros_like(sizes), sizes), members.owners
    tables = []
    for values, dtype in ((payments.days, np.int32), (payments.cents, np.int64), (payments.texts, np.int32)):
        table = np.full(shape, _FAR, dtype=dtype)
        table[rows, columns] = values[members.values]
        tables.append(table)
    days, cents, texts = tables
    between, alike = np.zeros((REACH, *shape), dtype=np.int32), np.full((REACH, *shape), -np.inf, dtype=_GAIN)
    for apart in range(1, min(REACH, len(days) - 1) + 1):
        np.subtract(days[apart:], days[:-apart], out=between[-apart, apart:])
        pairs = ((values[:-apart], values[apart:]) for values in (cents, texts))
        alike[-apart, apart:] = _gains.weigh_likeness(*pairs)
    return _Table(days, sizes, between, alike)


def _follow_steps(table: _Table, gains: Array, logarithms: Array) -> Runs:
    """Return the places of the best chain of each set; the logarithms of densities are what each step says less."""
    length, number = table.days.shape
    best = np.zeros((length + REACH, number), dtype=_GAIN)
    best[:REACH] = -np.inf
    filled = np.searchsorted(-table.sizes, -np.arange(length))
    for at in range(1, length):
        those = slice(int(filled[at]))
        steps = best[at : at + REACH, those] + gains[:, at, those]
        np.maximum(steps.max(axis=0) - logarithms[those], 0, out=best[at + REACH, those])
    back = np.arange(REACH)
    places, columns = best[REACH:].argmax(axis=0), np.arange(number)
    found = [(columns, places)]
    while len(columns):
        # The same sums as above: of equal ones, the step from the farthest payment is taken.
        goes_on = best[places + REACH, columns] > 0
        places, columns = places[goes_on, np.newaxis], columns[goes_on, np.newaxis]
        steps = best[places + back, columns] + gains[back, places, columns]
        places, columns = places[:, 0] - REACH + steps.argmax(axis=1), columns[:, 0]
        found.append((columns, places))
    columns, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((places, columns))
    return _columns.Runs(places[order], _columns.add_up(np.bincount(columns, minlength=number)))


def _list_gains(table: _Table, cadence: Cadence, gains: Array) -> None:
    """Write the gains of the steps to each payment, but for the density of the set.

    All are computed, because it takes longer to select those with dates that fit.
    """
    of_days = _list_gains_of_days(cadence) if cadence.days else None
    of_dates = _list_gains_of_dates(cadence)
    for apart in range(1, min(REACH, len(table.days) - 1) + 1):
        steps = (-apart, slice(apart, None))
        if of_days is not None:
            of_step = of_days.take(table.between[steps], mode="clip")
        else:
            periods, off = _find_periods(table.days[:-apart], table.between[steps], cadence)
            of_step = of_dates.take(periods * len(of_dates[0]) + np.minimum(off, cadence.most + 1))
        np.add(of_step, table.alike[steps], out=gains[steps])


def _have_step(table: _Table, which: Array, cadence: Cadence) -> Array:
    """Return whether there is a step of one period in some sets."""
    found = np.zeros(len(which), dtype=bool)
    for apart in range(1, min(REACH, len(table.days) - 1) + 1):
        rest = np.flatnonzero(~found)
        days, between = (values[:, which[rest]] for values in (table.days[:-apart], table.between[-apart, apart:]))
        periods, off = _find_periods(days, between, cadence)
        found[rest] = ((periods == 1) & (off <= cadence.most)).any(axis=0)
    return found


def _find_periods(days: Array, between: Array, cadence: Cadence) -> tuple[Array, Array]:
    """Return of steps from days how many periods they may take, 0 for none, and how many days they are off."""
    periods = _list_periods(cadence).take(between, mode="clip")
    return periods, np.abs(days + between - add_to_each(days, periods, cadence))


@cache
def _list_gains_of_dates(cadence: Cadence) -> Array:
    """Return the gains of dates: a row for each number of periods, of which 0 is none, a column for each of days off.

    The last column is that of too many days.
    """
    gains = np.full((cadence.pause + 1, cadence.most + 2), -np.inf, dtype=_GAIN)
    gains[1:, :-1] = _gains.list_pauses(cadence)[1:, np.newaxis] + _gains.list_gains(cadence)
    return gains


@cache
def _list_gains_of_days(cadence: Cadence) -> Array:
    """Return the gain for each number of days between two dates, of a cadence that is a number of days."""
    periods = _list_periods(cadence)
    off = np.abs(np.arange(len(periods)) - periods * cadence.days)
    gains: Array = _list_gains_of_dates(cadence)[periods, np.minimum(off, cadence.most + 1)]
    return gains


@cache
def _list_periods(cadence: Cadence) -> Array:
    """Return for each number of days how many periods it may be, 0 for none; more days than these are none."""
    spread = cadence.most + (3 if cadence.months else 0)  # months are up to two days shorter than the mean
    periods_of = np.zeros(int((cadence.pause + 1) * cadence.length) + 1, dtype=np.int64)
    for periods in range(1, cadence.pause + 1):
        near = int(periods * cadence.length)
        periods_of[near - spread : near + spread + 1] = periods
    return periods_of
