"""Assignment of transfers to bank rows of the same amount, each at most once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SKIP_TRANSFER = 1
_SKIP_ROW = 2
_PAIR = 3


class Row(NamedTuple):
    """A bank row: its day, and whether its description names a payment service."""

    day: int
    is_named: bool


def assign(transfers: Sequence[int], rows: Sequence[Row], most_days: int) -> list[tuple[int, int]]:
    """Return the positions of the pairs of transfers and bank rows that are at most some days apart.

    The pairs are as many as possible; of these assignments, those with most rows that name a payment service; of
    these, the one with the fewest days between the two of each pair, all added up. So a transfer does not always get
    the closest row: that could leave another transfer without one.

    Parameters
    ----------
    transfers : sequence of int
        Day of each transfer, ascending.
    rows : sequence of Row
        In ascending order of their days.
    most_days : int
        Maximum number of days between the two of a pair.
    """
    pairs = []
    for some, others in _split(transfers, rows, most_days):
        days, near = [transfers[at] for at in some], [rows[at] for at in others]
        pairs += [(some[one], others[other]) for one, other in _assign_near(days, near, most_days)]
    return pairs


def _split(transfers: Sequence[int], rows: Sequence[Row], most_days: int) -> list[tuple[list[int], list[int]]]:
    """Return groups of transfers and rows that are too far from all other groups for a pair."""
    events = sorted(
        [(day, 0, at) for at, day in enumerate(transfers)] + [(row.day, 1, at) for at, row in enumerate(rows)]
    )
    groups: list[tuple[list[int], list[int]]] = [([], [])]
    for (before, *_), (day, side, at) in pairwise([(events[0][0] if events else 0, 0, 0), *events]):
        if day - before > most_days:
            groups.append(([], []))
        groups[-1][side].append(at)
    return [group for group in groups if all(group)]


def _assign_near(transfers: Sequence[int], rows: Sequence[Row], most_days: int) -> list[tuple[int, int]]:
    """Return the best assignment, one in which no two pairs cross: to uncross two pairs never makes them longer.

    For each transfer only the rows in its reach are compared: earlier rows are out of reach of all later transfers, and
    later rows were out of reach of all transfers before.
    """
    scores: list[tuple[int, int, int]] = [(0, 0, 0)]  # of the transfers so far, with the rows up to each one in reach
    begin = 0
    steps = []
    for day in transfers:
        first = bisect_left(rows, day - most_days, key=attrgetter("day"))
        end = bisect_right(rows, day + most_days, key=attrgetter("day"))
        above = scores[first - begin :] or scores[-1:]
        above += above[-1:] * (end - first + 1 - len(above))
        scores, begin = above[:1], first
        choice = bytearray([_SKIP_TRANSFER])
        for at, row in enumerate(rows[first:end], start=1):
            count, named, nearness = above[at - 1]
            pair = (count + 1, named + row.is_named, nearness - abs(row.day - day))
            best, chosen = max((above[at], _SKIP_TRANSFER), (scores[-1], _SKIP_ROW), (pair, _PAIR))
            scores.append(best)
            choice.append(chosen)
        steps.append((first, choice))
    return _trace(steps, len(rows))


def _trace(steps: list[tuple[int, bytearray]], rows: int) -> list[tuple[int, int]]:
    """Return the pairs of the best assignment from the choices of each transfer, for its rows from the first one on."""
    pairs = []
    other = rows
    for one in range(len(steps) - 1, -1, -1):
        first, choice = steps[one]
        other = min(other, first + len(choice) - 1)
        while other > first and choice[other - first] == _SKIP_ROW:
            other -= 1
        if other > first and choice[other - first] == _PAIR:
            other -= 1
            pairs.append((one, other))
    return pairs[::-1]
