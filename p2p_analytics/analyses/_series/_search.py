"""Search of the best chain of one cadence in each of many sets of payments, all sets at once.

A step of a chain leads from a payment to one of the next few, so that the number of steps that are compared is
proportional to the number of payments.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from p2p_analytics.analyses._series import FEWEST, _columns, _gains
from p2p_analytics.analyses._series._views import MOST_HIDDEN
from p2p_analytics.analyses._series.cadence import add_to_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.analyses._series._columns import Array, Payments, Runs
    from p2p_analytics.analyses._series._views import Views
    from p2p_analytics.analyses._series.cadence import Cadence

REACH: Final = 6  # a step leads to one of the next payments, this many
_FEWEST_OF_SLOTS: Final = 0.62  # share of a series' dates that have a payment
_CELLS: Final = 2**17  # payments that are searched at once
_FAR: Final = 2**30  # a day after all others


class Found(NamedTuple):
    """Chains: the set of each, its members by their places in it, and the payments per day of the set."""

    views: Array
    members: Runs
    densities: Array


class _Table(NamedTuple):
    """Payments of several sets, a column for each set, with the longest first; the rest of a column is empty."""

    days: Array
    cents: Array
    texts: Array
    sizes: Array
    densities: Array


def find_chains(payments: Payments, views: Views, cadence: Cadence) -> Iterator[Found]:
    """Yield the best chain of each set that is not too dense, if not too many other payments are among its members."""
    members = views.members
    sizes, days = members.sizes, payments.days[members.values]
    filled = np.flatnonzero(sizes >= FEWEST)
    densities = np.zeros(len(sizes))
    spans = days[members.starts[1:][filled] - 1] - days[members.starts[:-1][filled]] + cadence.length
    densities[filled] = sizes[filled] / spans
    fits = filled[densities[filled] * cadence.length * views.least[filled] <= MOST_HIDDEN]
    fits = fits[np.argsort(-sizes[fits], kind="stable")]
    while len(fits):
        number = max(1, _CELLS // int(sizes[fits[0]]))
        some, fits = fits[:number], fits[number:]
        table = _build_table(payments, members.take(some), densities[some])
        chains, has_step = _follow_steps(table, cadence)
        counts = chains.sizes
        # A column without members has no step.
        first = chains.values[np.minimum(chains.starts[:-1], len(chains.values) - 1)]
        last = chains.values[chains.starts[1:] - 1]
        of_each = np.arange(len(some))
        slots = np.rint((table.days[last, of_each] - table.days[first, of_each]) / cadence.length) + 1
        least = np.maximum(slots * _FEWEST_OF_SLOTS, (last - first + 1) * views.least[some])
        right = np.flatnonzero(has_step & (counts >= np.maximum(FEWEST, least)))
        yield Found(some[right], chains.take(right), densities[some[right]])


def _build_table(payments: Payments, members: Runs, densities: Array) -> _Table:
    sizes = members.sizes
    shape = (int(sizes[0]), len(sizes))
    rows, columns = _columns.list_places(np.zeros_like(sizes), sizes), members.owners
    tables = []
    for values, dtype in ((payments.days, np.int32), (payments.cents, np.int64), (payments.texts, np.int32)):
        table = np.full(shape, _FAR, dtype=dtype)
        table[rows, columns] = values[members.values]
        tables.append(table)
    return _Table(tables[0], tables[1], tables[2], sizes, densities)


def _follow_steps(table: _Table, cadence: Cadence) -> tuple[Runs, Array]:
    """Return the places of the best chain of each set, and whether the set has a step of one period."""
    length, number = table.days.shape
    gains, has_step = _list_steps(table, cadence)
    best = np.zeros((length + REACH, number))
    best[:REACH] = -np.inf
    filled = np.searchsorted(-table.sizes, -np.arange(length))
    for at in range(1, length):
        those = slice(int(filled[at]))
        steps = best[at : at + REACH, those] + gains[:, at, those]
        np.maximum(steps.max(axis=0), 0, out=best[at + REACH, those])
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
    return _columns.Runs(places[order], _columns.add_up(np.bincount(columns, minlength=number))), has_step


def _list_steps(table: _Table, cadence: Cadence) -> tuple[Array, Array]:
    """Return the gains of the steps to each payment, and whether a set has a step of one period.

    The steps are from the farthest earlier payment to the nearest, a table of gains for each; -inf is no step. All are
    computed, because it takes longer to select those with dates that fit.
    """
    length, number = table.days.shape
    gains = np.full((REACH, length, number), -np.inf)
    has_step = np.zeros(number, dtype=bool)
    logarithms = np.log(table.densities)
    for apart in range(1, min(REACH, length - 1) + 1):
        days, cents, texts = ((values[:-apart], values[apart:]) for values in (table.days, table.cents, table.texts))
        of_step, is_one_period = _weigh_dates(*days, cadence)
        has_step |= is_one_period.any(axis=0)
        of_step -= logarithms
        of_step += _gains.weigh_amounts(*cents)
        of_step += _gains.weigh_notes(*texts)
        gains[REACH - apart, apart:] = of_step
    return gains, has_step


def _weigh_dates(earlier: Array, later: Array, cadence: Cadence) -> tuple[Array, Array]:
    """Return the gains of steps between days, -inf for none, and whether they are of one period."""
    between = later - earlier
    if cadence.days:
        of_days = _list_gains_of_days(cadence)
        return of_days.take(between, mode="clip"), np.abs(between - cadence.days) <= cadence.most
    periods = _list_periods(cadence).take(between, mode="clip")
    off = np.abs(later - add_to_each(earlier, periods, cadence))
    gains = _list_gains_of_dates(cadence)
    of_dates = gains.take(periods * len(gains[0]) + np.minimum(off, cadence.most + 1))
    return of_dates, (periods == 1) & (off <= cadence.most)


@cache
def _list_gains_of_dates(cadence: Cadence) -> Array:
    """Return the gains of dates: a row for each number of periods, of which 0 is none, a column for each of days off.

    The last column is that of too many days.
    """
    gains = np.full((cadence.pause + 1, cadence.most + 2), -np.inf)
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
