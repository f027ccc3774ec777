"""Assignment of transfers to bank rows of the same amount, each at most once."""

from __future__ import annotations

from itertools import pairwise
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
    """Return the best assignment, one in which no two pairs cross: to uncross two pairs never makes them longer."""
    scores = [(0, 0, 0)] * (len(rows) + 1)
    choices = []
    for day in transfers:
        above, scores = scores, [(0, 0, 0)]
        choice = bytearray(len(rows) + 1)
        for at, row in enumerate(rows, start=1):
            best, choice[at] = max((above[at], _SKIP_TRANSFER), (scores[at - 1], _SKIP_ROW))
            if (apart := abs(row.day - day)) <= most_days:
                count, named, nearness = above[at - 1]
                best, choice[at] = max((best, choice[at]), ((count + 1, named + row.is_named, nearness - apart), _PAIR))
            scores.append(best)
        choices.append(choice)
    pairs = []
    one, other = len(transfers), len(rows)
    while one and other:
        choice = choices[one - 1]
        if choice[other] == _PAIR:
            pairs.append((one - 1, other - 1))
        one -= choice[other] != _SKIP_ROW
        other -= choice[other] != _SKIP_TRANSFER
    return pairs[::-1]
