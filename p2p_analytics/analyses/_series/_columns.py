"""Payments of several people as arrays, and runs of several lengths within one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


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

    def select(self, places: Array) -> Payments:
        """Return the payments of some places."""
        return Payments(*(column[places] for column in self))


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
    """Return places in the order of keys; those of one key stay in their order.

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


def join(runs: Sequence[Runs]) -> Runs:
    """Return all arrays of several runs."""
    return Runs(np.concatenate([run.values for run in runs]), add_up(np.concatenate([run.sizes for run in runs])))


def list_places(starts: Array, sizes: Array) -> Array:
    """Return the numbers from each start on, as many as its size says."""
    ends = np.cumsum(sizes, dtype=np.int64)
    places: Array = np.arange(ends[-1] if len(ends) else 0) + (starts - ends + sizes).repeat(sizes)
    return places
