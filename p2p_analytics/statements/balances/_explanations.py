"""The smallest sets of rows that explain a difference, by hashing sums of pairs instead of trying all sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

WITHOUT: Final = "without"
COUNTING: Final = "counting"
REVERSING: Final = "reversing"
READING: Final = "reading"
MOST_SETS: Final = 5
MOST_STEPS: Final = 60_000_000  # all sets of three of about 5,000 rows with distinct amounts
_LESS_LIKELY: Final = {REVERSING: 1}
_ROWS_PER_AMOUNT: Final = 3  # as many as one set can need
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
        Sums that were looked up.
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
    options = _list_options(moved, flow)
    unread = [(Change(row, READING),) for row, cents in enumerate(moved) if cents is None]
    singles = [(change,) for change in options.get(difference, ())]
    if unread or singles:
        return _choose([*(unread if len(unread) == 1 else ()), *sorted(singles, key=_rank)], len(options))
    kept = {cents: sorted(changes, key=_rank_one)[:_ROWS_PER_AMOUNT] for cents, changes in options.items()}
    crowded = {change for cents, changes in kept.items() if len(options[cents]) > len(changes) for change in changes}
    pairs = [(cents, difference - cents) for cents in kept if cents <= difference - cents]
    sets = [changes for pair in pairs if pair[1] in kept for changes in _list_sets(kept, pair)]
    if sets:
        return _choose(sorted(sets, key=_rank), len(pairs), crowded)
    return _find_triples(kept, difference, most_steps, crowded)


def _list_options(moved: Sequence[int | None], flow: Sequence[int | None]) -> dict[int, list[Change]]:
    """Return the possible changes by the cents that they add to the rows."""
    options: dict[int, list[Change]] = {}
    for row, (cents, amount) in enumerate(zip(moved, flow, strict=True)):
        if max(abs(cents or 0), abs(amount or 0)) > _LARGEST:
            continue
        if cents:
            options.setdefault(-cents, []).append(Change(row, WITHOUT))
            options.setdefault(-2 * cents, []).append(Change(row, REVERSING))
        elif cents == 0 and amount:
            options.setdefault(amount, []).append(Change(row, COUNTING))
    return options


def _find_triples(
    options: Mapping[int, list[Change]], difference: int, most_steps: int, crowded: Collection[Change]
) -> Explanations:
    """Search sets of three: for each amount, look up what all amounts from it on leave of the difference."""
    import numpy as np

    if abs(difference) > 6 * _LARGEST:
        return _choose((), 0)
    values = np.array(sorted(options), np.int64)
    table = np.zeros(_TABLE, np.bool_)
    table[values & (_TABLE - 1)] = True
    sets: list[tuple[Change, ...]] = []
    steps = 0
    at = 0
    while at < len(values) and steps < most_steps and len(sets) < _ENOUGH:
        first = int(values[at])
        rest = (difference - first) - values[at:]
        steps += len(rest)
        for hit in np.flatnonzero(table[rest & (_TABLE - 1)]).tolist():
            second = int(values[at + hit])
            third = difference - first - second
            if third >= second and third in options and len(sets) < _ENOUGH:
                sets += _list_sets(options, (first, second, third))
        at += 1
    explanations = _choose(sorted(sets, key=_rank), steps, crowded)
    if at == len(values):
        return explanations
    return explanations._replace(has_more=bool(sets), is_complete=bool(sets))


def _list_sets(options: Mapping[int, list[Change]], amounts: Collection[int]) -> list[tuple[Change, ...]]:
    """Return the sets of changes of distinct rows that add these amounts."""
    choices = [list(combinations(options[cents], times)) for cents, times in Counter(amounts).items()]
    sets = (tuple(sorted(change for part in parts for change in part)) for parts in product(*choices))
    return [changes for changes in sets if len({change.row for change in changes}) == len(amounts)]


def _rank(changes: tuple[Change, ...]) -> tuple[int, tuple[Change, ...]]:
    return sum(_LESS_LIKELY.get(change.action, 0) for change in changes), changes


def _rank_one(change: Change) -> tuple[int, tuple[Change, ...]]:
    return _rank((change,))


def _choose(sets: Sequence[tuple[Change, ...]], steps: int, crowded: Collection[Change] = ()) -> Explanations:
    """Return the first sets; there are others if a change is of an amount with more rows than were kept."""
    has_more = len(sets) > MOST_SETS or any(change in crowded for changes in sets for change in changes)
    return Explanations(tuple(sets[:MOST_SETS]), has_more, steps, is_complete=True)
