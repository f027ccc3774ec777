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
from functools import cache
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
_MOST_HIDDEN: Final = 1.5  # times as many payments as may be among those of a series
_ENOUGH: Final = 4.0
_SAME_NOTE, _OTHER_NOTE = 0.7, -0.3
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
                    members = _find_chain(view, cadence, least)
                    if members and (gain := _judge(members, view, events, cadence)) >= _ENOUGH:
                        yield Chain(cadence, tuple(members), gain)


def _find_chain(events: Sequence[Event], cadence: Cadence, least: float) -> list[Event]:
    """Return the best chain of a cadence among sorted payments, none if others hide it."""
    days = [event.day for event in events]
    density = len(events) / (days[-1] - days[0] + cadence.length)
    if density * cadence.length * least > _MOST_HIDDEN or not _has_step(days, cadence):
        return []
    steps = [gain - math.log(density) for gain in _gains(cadence)]
    best, before = [0.0] * len(events), [-1] * len(events)
    for at, event in enumerate(events):
        for periods in range(1, cadence.pause + 1):
            due = add_periods(event.day, periods, cadence)
            first = bisect_left(days, due - cadence.most, at + 1)
            for to in range(first, bisect_right(days, due + cadence.most, first)):
                alike = _compare(event, events[to])
                if alike is None:
                    continue
                gain = best[at] + steps[abs(days[to] - due)] + _gain_of_pause(periods) + sum(alike)
                if gain > best[to]:
                    best[to], before[to] = gain, at
    at = max(range(len(events)), key=best.__getitem__)
    chain = [at]
    while (at := before[at]) >= 0:
        chain.append(at)
    members = [events[at] for at in reversed(chain)]
    slots = round((members[-1].day - members[0].day) / cadence.length) + 1
    is_chain = len(chain) >= max(FEWEST, slots * _FEWEST_OF_SLOTS, (chain[0] - chain[-1] + 1) * least)
    return members if is_chain else []


def _has_step(days: Sequence[int], cadence: Cadence) -> bool:
    """Return whether two payments are one period apart, with at most two others between them."""
    low, high = cadence.length - cadence.most - 2, cadence.length + cadence.most + 2  # months differ from their mean
    return any(
        low <= later - day <= high for apart in (1, 2, 3) for day, later in zip(days, days[apart:], strict=False)
    )


def _judge(members: Sequence[Event], view: Sequence[Event], events: Sequence[Event], cadence: Cadence) -> float:
    """Return how much more likely a chain is that of a series than chance, as a logarithm.

    Equal amounts and notes say less where other payments to the person have them too.
    """
    during = [event for event in view if members[0].day <= event.day <= members[-1].day]
    density = len(view) / (view[-1].day - view[0].day + cadence.length)
    steps = _gains(cadence)
    time = amounts = notes = 0.0
    for one, other in pairwise(members):
        periods = max(1, round((other.day - one.day) / cadence.length))
        off = abs(other.day - add_periods(one.day, periods, cadence))
        time += steps[min(off, cadence.most)] - math.log(density) + _gain_of_pause(periods)
        amount, note = _compare(one, other) or (0.0, 0.0)
        amounts, notes = amounts + amount, notes + note
    strays = len(during) - len(members)
    time -= strays * math.log(len(during) / strays) if strays > 0 else 0
    others = len(events) - len(members)
    usual, text = members[-1].cents, members[-1].text
    same_amount = sum(event.cents == usual for event in events) - sum(event.cents == usual for event in members)
    same_note = sum(event.text == text for event in events) - sum(event.text == text for event in members)
    alike = amounts * (1 - same_amount / (others or 1)) + notes * (1 - same_note / (others or 1))
    return time + alike * len(members) / len(view) - math.log(len(events) / len(members))


def _gain_of_pause(periods: int) -> float:
    """Return the logarithm of the share of a series' steps that take some periods."""
    return _STEADY if periods == 1 else _SKIPPED - _LONGER * (periods - 2)


def _compare(one: Event, other: Event) -> tuple[float, float] | None:
    """Return how much likeness of amounts, and of notes, speaks for a series; None if the amounts are too different."""
    low, high = (one.cents, other.cents) if one.cents < other.cents else (other.cents, one.cents)
    for most, gain in _AMOUNTS:
        if high <= low * most:
            note = _SAME_NOTE if one.text == other.text else _OTHER_NOTE
            return gain, note if one.text and other.text else 0.0
    return None


@cache
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
    return alike is not None and sum(alike) > 0
