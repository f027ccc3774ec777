"""Sets of rows that explain a difference: single rows, and larger sets only where an accident is unlikely.

A file of a month has thousands of pairs and triples, so the sum of one of them equals almost any difference.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

WITHOUT: Final = "without"
COUNTING: Final = "counting"
REVERSING: Final = "reversing"
READING: Final = "reading"
MOST_SETS: Final = 5
_LARGEST_SET: Final = 3
_MOST_CANDIDATES: Final = 5_000  # sets that are tried
_ODDS: Final = 100  # 1 in 100 is the largest chance that some set explains the difference by accident
_TENTH: Final = 10
# People pay round amounts, so a round difference has fewer values that it could be.
_ROUND: Final = (1000, 500, 100, 50, 25, 10, 5)  # cents


class Change(NamedTuple):
    """What to do with one row: leave it out, count it, reverse its sign, or read its amount."""

    row: int
    action: str


class Explanations(NamedTuple):
    """Sets of changes that each explain the whole difference.

    Attributes
    ----------
    sets : tuple of tuple of Change
        The smallest sets, all of one size; likeliest first, then in the order of the rows; at most five.
    has_more : bool
        Whether there are other sets of this size.
    """

    sets: tuple[tuple[Change, ...], ...] = ()
    has_more: bool = False


def find_explanations(moved: Sequence[int | None], flow: Sequence[int | None], difference: int) -> Explanations:
    """Return the smallest sets of one, two or three rows that explain a difference.

    Larger sets change no signs. They are given only if the chance that some set of their size explains the difference
    by accident is below 1 %.

    Parameters
    ----------
    moved : sequence of int or None
        By how many cents each row moved the balance; None where the amount could not be read.
    flow : sequence of int or None
        The amount of each row, whether or not it moved the balance.
    difference : int
        Cents that the closing balance has more than the opening balance and the rows.
    """
    changes: list[tuple[Change, int]] = []
    for row, (cents, amount) in enumerate(zip(moved, flow, strict=True)):
        if cents:
            changes.append((Change(row, WITHOUT), -cents))
        elif cents == 0 and amount:
            changes.append((Change(row, COUNTING), amount))
    unread = [(Change(row, READING),) for row, cents in enumerate(moved) if cents is None]
    singles = [(change,) for change, cents in changes if cents == difference]
    reversed_signs = [
        (Change(row, REVERSING),) for row, cents in enumerate(moved) if cents and -2 * cents == difference
    ]
    if unread or singles or reversed_signs:
        return _choose([*(unread if len(unread) == 1 else ()), *singles, *reversed_signs])
    for size in range(2, _LARGEST_SET + 1):
        found = _find_sets(changes, size, difference)
        if found:
            return _choose(found)
    return Explanations()


def _choose(sets: list[tuple[Change, ...]]) -> Explanations:
    return Explanations(tuple(sets[:MOST_SETS]), len(sets) > MOST_SETS)


def _find_sets(changes: Sequence[tuple[Change, int]], size: int, difference: int) -> list[tuple[Change, ...]]:
    """Return the sets of a size that explain a difference; none if one of them could do so by accident.

    The chance is the number of sets, divided by the number of amounts in the range of their sums. Of the range, a tenth
    at each end is left out, because few large amounts would widen it.
    """
    count = comb(len(changes), size)
    amounts = [cents for _, cents in changes]
    step = next((step for step in _ROUND if difference % step == 0), 1)
    needed = count * step * _ODDS
    if not amounts or count > _MOST_CANDIDATES or needed > size * (max(amounts) - min(amounts)):
        return []
    sets = list(combinations(changes, size))
    sums = [sum(cents for _, cents in each) for each in sets]
    ordered, left_out = sorted(sums), len(sums) // _TENTH
    if not sums or needed > ordered[-1 - left_out] - ordered[left_out]:
        return []
    found = [each for each, cents in zip(sets, sums, strict=True) if cents == difference]
    return [tuple(change for change, _ in each) for each in found]
