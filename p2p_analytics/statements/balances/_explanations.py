"""The smallest sets of rows that explain a difference, by hashing sums of pairs instead of trying all sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

WITHOUT: Final = "without"
COUNTED: Final = "counted"
REVERSED: Final = "reversed"
UNREAD: Final = "unread"
MOST_SETS: Final = 5
MOST_STEPS: Final = 60_000_000  # all sets of three of about 5,000 rows with distinct amounts
_LESS_LIKELY: Final = {REVERSED: 1}
_ROWS_PER_VALUE: Final = 3  # of one amount, in the order of the file
_MOST_COMBINATIONS: Final = 64  # of amounts; then the likeliest sets are chosen
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
    unread = [(Change(row, UNREAD),) for row, cents in enumerate(moved) if cents is None]
    singles = [(change,) for change in options.get(difference, ())]
    if unread or singles:
        return _choose([*(unread if len(unread) == 1 else ()), *sorted(singles, key=_rank)], len(options))
    distinct = {cents: _keep_first(changes) for cents, changes in options.items()}
    pairs = [(cents, difference - cents) for cents in distinct if cents <= difference - cents]
    if sets := list(_expand(distinct, (pair for pair in pairs if pair[1] in distinct))):
        return _choose(sorted(sets, key=_rank), 2 * len(distinct))
    return _find_triples(distinct, difference, most_steps)


def _list_options(moved: Sequence[int | None], flow: Sequence[int | None]) -> dict[int, list[Change]]:
    """Return the possible changes by the cents that they add to the rows."""
    options: dict[int, list[Change]] = {}
    for row, (cents, amount) in enumerate(zip(moved, flow, strict=True)):
        if max(abs(cents or 0), abs(amount or 0)) > _LARGEST:
            continue
        if cents:
            options.setdefault(-cents, []).append(Change(row, WITHOUT))
            options.setdefault(-2 * cents, []).append(Change(row, REVERSED))
        elif cents == 0 and amount:
            options.setdefault(amount, []).append(Change(row, COUNTED))
    return options


def _keep_first(changes: list[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: _rank((change,)))[:_ROWS_PER_VALUE]


def _find_triples(options: Mapping[int, list[Change]], difference: int, most_steps: int) -> Explanations:
    """Search sets of three: for each amount, look up what all amounts from it on leave of the difference."""
    import numpy as np

    if abs(difference) > 6 * _LARGEST:
        return _choose((), 0)
    values = np.array(sorted(options), np.int64)
    table = np.zeros(_TABLE, np.bool_)
    table[values & (_TABLE - 1)] = True
    found: list[tuple[int, int, int]] = []
    steps = 0
    at = 0
    while at < len(values) and steps < most_steps and len(found) < _MOST_COMBINATIONS:
        first = int(values[at])
        rest = (difference - first) - values[at:]
        steps += len(rest)
        for hit in np.flatnonzero(table[rest & (_TABLE - 1)]).tolist():
            second = int(values[at + hit])
            third = difference - first - second
            if third >= second and third in options:
                found.append((first, second, third))
        at += 1
    sets = sorted(_expand(options, found), key=_rank)
    return _choose(sets, steps, has_more=at < len(values) and bool(sets), is_complete=bool(sets) or at == len(values))


def _expand(options: Mapping[int, list[Change]], found: Iterable[tuple[int, ...]]) -> Iterator[tuple[Change, ...]]:
    """Yield the sets of changes of distinct rows for combinations of amounts in ascending order."""
    for amounts in found:
        choices = [list(combinations(options[cents], times)) for cents, times in Counter(amounts).items()]
        for parts in product(*choices):
            changes = sorted(change for part in parts for change in part)
            if len({change.row for change in changes}) == len(amounts):
                yield tuple(changes)


def _rank(changes: tuple[Change, ...]) -> tuple[int, tuple[Change, ...]]:
    return sum(_LESS_LIKELY.get(change.action, 0) for change in changes), changes


def _choose(
    sets: Iterable[tuple[Change, ...]], steps: int, *, has_more: bool = False, is_complete: bool = True
) -> Explanations:
    several = list(sets)
    return Explanations(
        tuple(islice(several, MOST_SETS)), has_more or len(several) > MOST_SETS, steps, is_complete=is_complete
    )
