"""Gains: the logarithm of how much more likely dates, amounts and notes are for a series than at random."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from p2p_analytics.analyses._series.cadence import add_to_each

if TYPE_CHECKING:
    from p2p_analytics.analyses._series._columns import Array, Payments, Runs
    from p2p_analytics.analyses._series.cadence import Cadence

ENOUGH: Final = 5.0  # gain of a series
_STEADY: Final = math.log(0.9)  # the share of a series' steps that are one period long
_SKIPPED: Final = math.log(0.06)  # two periods
_LONGER: Final = 0.6  # less for each further one
_STRAY: Final = 0.1  # share of a series' dates that are on any day within the tolerance
# Upper bounds of the larger of two amounts by the smaller, and how much less each says than equal amounts.
_RATIOS: Final = (1.0, 1.03, 1.13, 1.36, 1.87)
_LESS: Final = np.array([0.0, 0.4, 0.6, 0.9, 1.4, math.inf])
NEIGHBOURS: Final = 5  # amounts before one that are compared with it
_SAME_AMOUNT, _MOST_OF_AMOUNT, _COMMON_AMOUNT = math.log(3), 2.5, 3
_SAME_NOTE, _MOST_OF_NOTE, _COMMON_NOTE = math.log(2), 1.5, 2
_OTHER_NOTE: Final = -0.3
_OF_NOTES: Final = np.array([0.0, _SAME_NOTE, _OTHER_NOTE])  # of none, the same, and another
# Of each ratio of amounts with each pair of notes; in 32 bits, as they only choose between steps.
_ALIKE: Final = np.add.outer(_SAME_AMOUNT - _LESS, _OF_NOTES).ravel().astype(np.float32)


class Gains(NamedTuple):
    """What the gain of each of several chains is computed from.

    Attributes
    ----------
    dates : array
        The gain of its dates, less for other payments of the set among them.
    share : array
        Its share of the set's payments.
    sizes, same, others : array
        Its payments, and its pairs of neighbours with one note, and with two.
    losses : array
        How much less its amounts say than equal ones; infinite if some near each other are too far apart.
    of_amount, of_note : array
        Its payments with the amount, and with the note, of its last one.
    """

    dates: Array
    share: Array
    sizes: Array
    same: Array
    others: Array
    losses: Array
    of_amount: Array
    of_note: Array

    def take(self, which: Array) -> Gains:
        """Return those of some chains."""
        return Gains(*(column[which] for column in self))

    def weigh(self, everyone: Array, same_amount: Array, same_note: Array) -> Array:
        """Return the gains: large if payments are regular, alike, and unlike the others.

        Parameters
        ----------
        everyone, same_amount, same_note : array
            All payments of the person, and those with the amount, and with the note, of the last one.
        """
        rest = everyone - self.sizes
        amount = np.log((rest + _COMMON_AMOUNT) / (same_amount - self.of_amount + 1))
        note = np.log((rest + _COMMON_NOTE) / (same_note - self.of_note + 1))
        return self._sum_up(np.minimum(amount, _MOST_OF_AMOUNT), np.minimum(note, _MOST_OF_NOTE)) - np.log(
            everyone / self.sizes
        )

    def find_bound(self) -> Array:
        """Return the largest gains that the chains may have among any other payments."""
        return self._sum_up(_MOST_OF_AMOUNT, _MOST_OF_NOTE)

    def _sum_up(self, amount: Array | float, note: Array | float) -> Array:
        alike = amount * (self.sizes - 1) - self.losses + note * self.same + _OTHER_NOTE * self.others
        gains: Array = self.dates + alike * self.share
        return gains


class Surroundings(NamedTuple):
    """The sets that chains are from: their payments from the first of the chain to its last, all, and per day."""

    during: Array
    sizes: Array
    densities: Array


def measure(payments: Payments, chains: Runs, within: Surroundings, cadence: Cadence) -> Gains:
    """Return what the gains of chains, places of payments, are computed from."""
    lasts = chains.values[chains.starts[1:] - 1]
    is_last = np.zeros(len(chains.values), dtype=bool)
    is_last[chains.starts[1:] - 1] = True
    one = payments.select(chains.values)
    other = payments.select(np.append(chains.values[1:], chains.values[-1:]))
    periods = np.maximum(np.rint((other.days - one.days) / cadence.length), 1).astype(np.int64)
    periods[is_last] = 1
    off = np.minimum(np.abs(other.days - add_to_each(one.days, periods, cadence)), cadence.most)
    dates = list_gains(cadence)[off] + list_pauses(cadence)[np.minimum(periods, cadence.pause)]
    losses = find_losses(one.cents, other.cents)
    has_notes = (one.texts >= 0) & (other.texts >= 0)
    is_same = has_notes & (one.texts == other.texts)
    steps = (np.where(is_last, 0, column) for column in (dates, losses, is_same, has_notes & ~is_same))
    of_dates, of_losses, same, others = (chains.sum(column) for column in steps)
    owners = chains.owners
    counts = chains.sizes
    strays = within.during - counts
    of_dates -= (counts - 1) * np.log(within.densities) + strays * np.log(within.during / np.maximum(strays, 1))
    return Gains(
        dates=of_dates,
        share=counts / within.sizes,
        sizes=counts,
        same=same,
        others=others,
        losses=np.where(has_jump(one.cents, chains), np.inf, of_losses),
        of_amount=chains.sum((one.cents == payments.cents[lasts][owners]).astype(np.int64)),
        of_note=chains.sum((one.texts == payments.texts[lasts][owners]).astype(np.int64)),
    )


def has_jump(cents: Array, chains: Runs) -> Array:
    """Return for each chain whether one of its amounts is too far from one of those before it, not the last only.

    Small steps in one direction are no series if they come one after another.
    """
    owners = chains.owners
    most = np.maximum(cents, 1) * _RATIOS[-1]
    jumps = np.zeros(len(cents), dtype=np.int64)
    for apart in range(2, NEIGHBOURS + 1):
        is_far = (cents[apart:] > most[:-apart]) | (cents[:-apart] > most[apart:])
        jumps[apart:] |= is_far & (owners[:-apart] == owners[apart:])
    found: Array = chains.sum(jumps) > 0
    return found


def weigh_likeness(cents: tuple[Array, Array], texts: tuple[Array, Array]) -> Array:
    """Return the gains of the amounts and notes of steps; a payment without a note says nothing by it."""
    one, other = texts
    of_note = ((one >= 0) & (other >= 0)) * np.add(one != other, 1, dtype=np.int8)
    gains: Array = _ALIKE.take(_count_bounds(*cents) * np.int8(len(_OF_NOTES)) + of_note)
    return gains


def find_losses(one: Array, other: Array) -> Array:
    """Return how much less amounts say than equal ones; those of different series have an infinite loss."""
    losses: Array = _LESS.take(_count_bounds(one, other))
    return losses


def _count_bounds(one: Array, other: Array) -> Array:
    """Return how many of the upper bounds the ratios of amounts are above."""
    ratios = np.maximum(one, other) / np.maximum(np.minimum(one, other), 1)
    above = np.zeros(ratios.shape, dtype=np.int8)
    for ratio in _RATIOS:
        above += ratios > ratio
    return above


def continues(cents: tuple[int, int], texts: tuple[int, int]) -> bool:
    """Return whether two payments may belong to one series in spite of the time between them."""
    (loss,) = find_losses(np.array(cents[:1]), np.array(cents[1:]))
    is_other = min(texts) >= 0 and texts[0] != texts[1]
    return bool(loss < _SAME_AMOUNT + (_OTHER_NOTE if is_other else 0))


@cache
def list_pauses(cadence: Cadence) -> Array:
    """Return the logarithm of the share of a series' steps that take each number of periods."""
    return np.array([0.0, _STEADY, *(_SKIPPED - _LONGER * more for more in range(cadence.pause - 1))])


@cache
def list_gains(cadence: Cadence) -> Array:
    """Return the logarithm of the share of a series' dates at each number of days off."""
    ratio = math.exp(-1 / cadence.usual)
    scale = (1 - _STRAY) * (1 - ratio) / (1 + ratio)
    stray = _STRAY / (2 * cadence.most + 1)
    return np.array([math.log(scale * ratio**off + stray) for off in range(cadence.most + 1)])
