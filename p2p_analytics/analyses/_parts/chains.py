"""Chains of payments: the series among the payments to one person, or from one, found by their dates and amounts.

Each set of payments with one amount, with one note, and of all, is searched for chains: payments one period, or after
dates without payment a few periods, apart. A chain is as good as its payments are unlikely at random days: each step
adds the logarithm of how much more often a series has such a step than random payments of the same frequency have. The
best chain of all is a series; the search goes on without its payments.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.analyses._parts.cadence import CADENCES, Cadence, add_periods

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FEWEST: Final = 3  # payments of a series
_STEADY: Final = math.log(0.9)  # the share of a series' steps that are one period long
_SKIPPED: Final = math.log(0.06)  # two periods
_LONGER: Final = 0.6  # less for each further one
_STRAY: Final = 0.1  # of the dates of a series: on any day within the tolerance
_FEWEST_OF_SLOTS: Final = 0.62  # of the dates of a series that have a payment
_FEWEST_OF_VIEW: Final = 0.45  # of the payments during a chain; two series may have one amount
_FEWEST_OF_ALL: Final = 0.6
_MOST_A_PERIOD: Final = 4  # payments; more hide any series
_ENOUGH: Final = 4.0
_SAME_AMOUNT: Final = 1.0
_SAME_NOTE: Final = 0.7
_AMOUNTS: Final = ((1.0, 1.0), (1.03, 0.7), (1.13, 0.5), (1.36, 0.2), (1.87, -0.3))  # larger / smaller, and its gain
_WORDS: Final = re.compile(r"[^\W\d_]+")
_MONTHS: Final = frozenset(
    {
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january",
        "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
    }
)  # fmt: skip


class Event(NamedTuple):
    """One payment: its local day since 1970-01-01, amount, note, and the part of the note that stays."""

    day: int
    cents: int
    note: str
    text: str


class Chain(NamedTuple):
    """Payments of one series in order of time."""

    cadence: Cadence
    events: tuple[Event, ...]
    gain: float


def simplify_note(note: str) -> str:
    """Return the words of a note without numbers and names of months, which change; the note if nothing is left."""
    words = [word for word in _WORDS.findall(note.lower()) if word not in _MONTHS]
    return " ".join(words) or note.strip()


def find_chains(events: Iterable[Event]) -> list[Chain]:
    """Return the series among the payments in one direction between the viewer and one person."""
    remaining = sorted(events)
    found: list[Chain] = []
    while len(remaining) >= FEWEST:
        best = max(_search(remaining), key=lambda chain: chain.gain, default=None)
        if best is None:
            break
        found.append(best)
        for event in best.events:
            remaining.remove(event)
    return _join(found)


def _search(events: Sequence[Event]) -> Iterator[Chain]:
    by_amount, by_note = defaultdict(list), defaultdict(list)
    for event in events:
        by_amount[event.cents].append(event)
        if event.text:
            by_note[event.text].append(event)
    for views, least in ((by_amount, _FEWEST_OF_VIEW), (by_note, _FEWEST_OF_VIEW), ({0: events}, _FEWEST_OF_ALL)):
        for view in views.values():
            if len(view) >= FEWEST:
                for cadence in CADENCES:
                    chain = _find_chain(view, cadence, least)
                    if chain is not None:
                        yield chain


def _find_chain(events: Sequence[Event], cadence: Cadence, least: float) -> Chain | None:
    """Return the best chain of a cadence if it is good enough."""
    days = [event.day for event in events]
    if len(events) * cadence.length > (days[-1] - days[0] + cadence.length) * _MOST_A_PERIOD:
        return None
    rate = math.log(len(events) / (days[-1] - days[0] + cadence.length))
    steps = _gains(cadence)
    best, before = [0.0] * len(events), [-1] * len(events)
    for at, event in enumerate(events):
        for periods in range(1, cadence.pause + 1):
            due = add_periods(event.day, periods, cadence)
            first = bisect_left(days, due - cadence.most, at + 1)
            for to in range(first, bisect_right(days, due + cadence.most, first)):
                alike = _compare(event, events[to])
                if alike is None:
                    continue
                gain = best[at] + steps[abs(days[to] - due)] - rate + _gain_of_pause(periods) + alike
                if gain > best[to]:
                    best[to], before[to] = gain, at
    at = max(range(len(events)), key=best.__getitem__)
    chain = [at]
    while (at := before[at]) >= 0:
        chain.append(at)
    return _judge(events, [*reversed(chain)], cadence, best[chain[0]], least)


def _judge(events: Sequence[Event], chain: Sequence[int], cadence: Cadence, gain: float, least: float) -> Chain | None:
    if len(chain) < FEWEST:
        return None
    members = [events[at] for at in chain]
    alike = sum(_compare(one, other) or 0.0 for one, other in pairwise(members))
    during = chain[-1] - chain[0] + 1
    others = during - len(chain)
    slots = round((members[-1].day - members[0].day) / cadence.length) + 1
    if len(chain) < during * least or len(chain) < slots * _FEWEST_OF_SLOTS:
        return None
    time = gain - alike - (others * math.log(during / others) if others else 0)
    share = len(chain) / len(events)
    gain = time + alike * share + math.log(share)
    return Chain(cadence, tuple(members), gain) if gain >= _ENOUGH else None


def _gain_of_pause(periods: int) -> float:
    """Return the logarithm of the share of a series' steps that take some periods."""
    return _STEADY if periods == 1 else _SKIPPED - _LONGER * (periods - 2)


def _compare(one: Event, other: Event) -> float | None:
    low, high = sorted((one.cents, other.cents))
    note = _SAME_NOTE if one.text and one.text == other.text else 0.0 if not (one.text and other.text) else -0.3
    for most, gain in _AMOUNTS:
        if high <= low * most:
            return gain + note
    return None


def _gains(cadence: Cadence) -> list[float]:
    """Return the logarithm of the share of a series' dates at each number of days off."""
    ratio = math.exp(-1 / cadence.usual)
    scale = (1 - _STRAY) * (1 - ratio) / (1 + ratio)
    stray = _STRAY / (2 * cadence.most + 1)
    return [math.log(scale * ratio**off + stray) for off in range(cadence.most + 1)]


def _join(chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains with those united that one series makes before and after a break."""
    joined: list[Chain] = []
    for chain in sorted(chains, key=lambda chain: chain.events[0].day):
        for at, earlier in enumerate(joined):
            if _continues(earlier, chain):
                joined[at] = Chain(chain.cadence, earlier.events + chain.events, earlier.gain + chain.gain)
                break
        else:
            joined.append(chain)
    return joined


def _continues(earlier: Chain, later: Chain) -> bool:
    last, first = earlier.events[-1], later.events[0]
    if earlier.cadence != later.cadence or not 0 < first.day - last.day <= 366 + earlier.cadence.length:
        return False
    alike = _compare(last, first)
    return alike is not None and alike > 0
