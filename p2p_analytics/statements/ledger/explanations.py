"""The smallest sets of rows that explain a difference, by hashing sums of pairs instead of trying all sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

WITHOUT: Final = "without"
COUNTING: Final = "counting"
REVERSING: Final = "reversing"
READING: Final = "reading"
MOST_SETS: Final = 5
MOST_STEPS: Final = 60_000_000  # all sets of three of about 5,000 rows with distinct amounts
_LESS_LIKELY: Final = {REVERSING: 1}
_ROWS_PER_AMOUNT: Final = 3  # as many as one set can need
_STEPS_PER_SEARCH: Final = 1000  # the time of a search for no sums
_ENOUGH: Final = 500  # sets of three, of which the likeliest are chosen
_TABLE: Final = 1 << 20
_LARGEST: Final = 1 << 58  # cents; sums of three changes fit 64 bits


class Change(NamedTuple):
    """What to do with one row: leave it out, count it, reverse its sign; or its amount that could not be read."""

    row: int
    action: str


class Explanations(NamedTuple):
    """Sets of changes that each explain the whole difference.

    Attributes
    ----------
    sets : tuple of tuple of Change
        All of one size, the smallest that there is; likeliest first, then in the order of the rows; at most five.
    has_more : bool
        Whether there are other sets of this size.
    steps : int
        Sums that were looked up, and 1,000 for each amount that they began with.
    is_complete : bool
        Whether all sets up to three rows were searched.
    """

    sets: tuple[tuple[Change, ...], ...]
    has_more: bool
    steps: int
    is_complete: bool


def find_explanations(
    moved: Sequence[int | None], flow: Sequence[int | None], difference: int, most_steps: int = MOST_STEPS
) -> Explanations:
    """Return the smallest sets of one, two or three rows that explain a difference.

    Parameters
    ----------
    moved : sequence of int or None
        By how many cents each row moved the balance; None where the amount could not be read.
    flow : sequence of int or None
        The amount of each row, whether or not it moved the balance.
    difference : int
        Cents that the closing balance has more than the opening balance and the rows.
    most_steps : int
        Maximum number of sums to look up for sets of three rows.
    """
    options = _Options(moved, flow)
    unread = [(Change(row, READING),) for row, cents in enumerate(moved) if cents is None]
    singles = [(change,) for change in options.changes.get(difference, ())]
    if unread or singles:
        sets = [*(unread if len(unread) == 1 else ()), *sorted(singles, key=_rank)]
        return Explanations(tuple(sets[:MOST_SETS]), len(sets) > MOST_SETS, len(options.changes), is_complete=True)
    pairs = [(cents, difference - cents) for cents in options.changes if cents <= difference - cents]
    found = [changes for pair in pairs if pair[1] in options.changes for changes in options.combine(pair)]
    if found:
        return options.choose(found, len(pairs))
    return _find_triples(options, difference, most_steps)


class _Options:
    """The possible changes by the cents that they add to the rows."""

    def __init__(self, moved: Sequence[int | None], flow: Sequence[int | None]) -> None:
        self.changes: dict[int, list[Change]] = {}
        self._kept: dict[int, list[Change]] = {}
        add = self.changes.setdefault
        for row, (cents, amount) in enumerate(zip(moved, flow, strict=True)):
            if max(abs(cents or 0), abs(amount or 0)) > _LARGEST:
                continue
            if cents:
                add(-cents, []).append(Change(row, WITHOUT))
                add(-2 * cents, []).append(Change(row, REVERSING))
            elif cents == 0 and amount:
                add(amount, []).append(Change(row, COUNTING))

    def combine(self, amounts: Collection[int]) -> list[tuple[Change, ...]]:
        """Return the sets of changes of distinct rows that add these amounts; of equal ones the likeliest."""
        choices = [list(combinations(self._keep(cents), times)) for cents, times in Counter(amounts).items()]
        sets = (tuple(sorted(change for part in parts for change in part)) for parts in product(*choices))
        return [changes for changes in sets if len({change.row for change in changes}) == len(amounts)]

    def choose(self, sets: list[tuple[Change, ...]], steps: int) -> Explanations:
        """Return the likeliest of all sets that were combined."""
        left_out = any(len(self.changes[cents]) > len(kept) for cents, kept in self._kept.items())
        has_more = len(sets) > MOST_SETS or (bool(sets) and left_out)
        return Explanations(tuple(sorted(sets, key=_rank)[:MOST_SETS]), has_more, steps, is_complete=True)

    def _keep(self, cents: int) -> list[Change]:
        if cents not in self._kept:
            self._kept[cents] = sorted(self.changes[cents], key=_rank_one)[:_ROWS_PER_AMOUNT]
        return self._kept[cents]


def _find_triples(options: _Options, difference: int, most_steps: int) -> Explanations:
    """Search sets of three: for each amount, look up what all amounts from it on leave of the difference."""
    if abs(difference) > 6 * _LARGEST:
        return options.choose([], 0)
    values = np.array(sorted(options.changes), np.int64)
    table = np.zeros(_TABLE, np.bool_)
    table[values & (_TABLE - 1)] = True
    sets: list[tuple[Change, ...]] = []
    steps = 0
    at = 0
    while at < len(values) and steps < most_steps and len(sets) < _ENOUGH:
        first = int(values[at])
        rest = (difference - first) - values[at:]
        steps += len(rest) + _STEPS_PER_SEARCH
        for hit in np.flatnonzero(table[rest & (_TABLE - 1)]).tolist():
            second = int(values[at + hit])
            third = difference - first - second
            if third >= second and third in options.changes and len(sets) < _ENOUGH:
                sets += options.combine((first, second, third))
        at += 1
    explanations = options.choose(sets, steps)
    if at == len(values):
        return explanations
    return explanations._replace(has_more=bool(sets), is_complete=bool(sets))


def _rank(changes: tuple[Change, ...]) -> tuple[int, tuple[Change, ...]]:
    return sum(_LESS_LIKELY.get(change.action, 0) for change in changes), changes


def _rank_one(change: Change) -> tuple[int, tuple[Change, ...]]:
    return _rank((change,))
