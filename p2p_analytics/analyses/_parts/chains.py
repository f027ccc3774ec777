"""Chains of payments: the series among the payments to one person, or from one, found by their dates and amounts.

The payments of one amount, of about one amount, of one note, and all are searched for chains: payments one period
apart, or a few periods where dates have none. What speaks for a chain, its gain, is the logarithm of how much more
likely its dates, amounts and notes are for a series than for as many payments at random. The best chain of all is a
series if its gain is large enough; then the search goes on without its payments.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.analyses._parts.cadence import CADENCES, Cadence, add_periods, add_to_each, find_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

FEWEST: Final = 3  # payments of a series
_ENOUGH: Final = 5.0  # gain of a series
_STEADY: Final = math.log(0.9)  # the share of a series' steps that are one period long
_SKIPPED: Final = math.log(0.06)  # two periods
_LONGER: Final = 0.6  # less for each further one
_STRAY: Final = 0.1  # share of a series' dates that are on any day within the tolerance
_FEWEST_OF_SLOTS: Final = 0.62  # share of a series' dates that have a payment
_FEWEST_OF_VIEW: Final = 0.45  # of the payments during a chain; two series may have one amount
_FEWEST_OF_ALL: Final = 0.6
_FEWEST_OF_HALF: Final = 0.8
_LONGEST_MONTH: Final = 31
_MOST_HIDDEN: Final = 1.5  # times as many payments as may be among those of a series
_BAND: Final = 1.36  # the largest of amounts that rise, by the smallest
_APART: Final = 1.15  # amounts with no others between them are different ones
# Upper bounds of the larger of two amounts by the smaller, and how much less each says than equal amounts.
_RATIOS: Final = (1.0, 1.03, 1.13, 1.36, 1.87)
_LESS: Final = (0.0, 0.4, 0.6, 0.9, 1.4, math.inf)
_SAME_AMOUNT, _MOST_OF_AMOUNT, _COMMON_AMOUNT = math.log(3), 2.5, 3
_SAME_NOTE, _MOST_OF_NOTE, _COMMON_NOTE = math.log(2), 1.5, 2
_OTHER_NOTE: Final = -0.3
_LONGEST_BREAK: Final = 366  # days, and a period, after which a series is a new one
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


class _View(NamedTuple):
    """Payments in order of time, as events and as arrays; ``texts`` holds a number for each note, -1 for none."""

    events: Sequence[Event]
    days: np.ndarray[Any, Any]
    cents: np.ndarray[Any, Any]
    texts: np.ndarray[Any, Any]

    def select(self, places: Sequence[int]) -> _View:
        """Return some of the payments."""
        some = [*places]
        return _View([self.events[at] for at in some], self.days[some], self.cents[some], self.texts[some])

    def find_density(self, cadence: Cadence) -> float:
        """Return the payments per day."""
        return len(self.events) / (self.events[-1].day - self.events[0].day + cadence.length)


def simplify_note(note: str) -> str:
    """Return the words of a note without numbers and names of months, which change; the note if nothing is left."""
    words = [word for word in _WORDS.findall(note.lower()) if word not in _MONTHS]
    return " ".join(words) or note.strip()


def find_chains(events: Iterable[Event]) -> list[Chain]:
    """Return the series among the payments in one direction between the viewer and one person."""
    remaining = sorted(events)
    found: list[Chain] = []
    while len(remaining) >= FEWEST:
        best = max(_search(_open_view(remaining)), key=lambda chain: chain.gain, default=None)
        if best is None:
            break
        found.append(best)
        for event in best.events:
            remaining.remove(event)
    return _join(found)


def _open_view(events: Sequence[Event]) -> _View:
    import numpy as np

    numbers = {"": -1}
    texts = [numbers.setdefault(event.text, len(numbers)) for event in events]
    return _View(
        events, np.array([event.day for event in events]), np.array([event.cents for event in events]), np.array(texts)
    )


def _search(payments: _View) -> Iterator[Chain]:
    """Yield the best chain of each view and cadence, where its gain is large enough."""
    for places, least in _list_views(payments.events).items():
        view = payments.select(places)
        for cadence in CADENCES:
            chain = _find_chain(view, cadence, least)
            if chain and (gain := _weigh(chain, view, payments, cadence)) >= _ENOUGH:
                yield Chain(cadence, tuple(view.events[at] for at in chain), gain)
        if least < _FEWEST_OF_ALL:
            yield from _search_halves(view, payments)


def _search_halves(view: _View, payments: _View) -> Iterator[Chain]:
    """Yield one of two series that have the same amount or note, with the gain of both."""
    members = {*view.events}
    for halves in _halve(view.events):
        parts = [view.select(half) for half in halves]
        for cadence in CADENCES:
            chains = [_find_chain(part, cadence, _FEWEST_OF_HALF) for part in parts]
            if not all(chains):
                continue
            others = [event for event in payments.events if event not in members]
            gains = [
                _weigh(chain, part, _open_view([*others, *part.events]), cadence)
                for chain, part in zip(chains, parts, strict=True)
            ]
            if min(gains) >= _ENOUGH:
                yield Chain(cadence, tuple(parts[0].events[at] for at in chains[0]), sum(gains))


def _halve(events: Sequence[Event]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the places of two sets of payments of about one size: on the same days, or in two parts of the month."""
    firsts = [at for at, event in enumerate(events) if not at or events[at - 1].day != event.day]
    seconds = [at for at, event in enumerate(events) if at and events[at - 1].day == event.day]
    by_place = sorted((find_place(event.day)[0], at) for at, event in enumerate(events))
    gaps = sorted(
        ((later - day) % _LONGEST_MONTH, at)
        for at, ((day, _), (later, _)) in enumerate(zip(by_place, [*by_place[1:], by_place[0]], strict=True))
    )[-2:]
    first, second = sorted(at + 1 for _, at in gaps)
    within = sorted(at for _, at in by_place[first:second])
    outside = sorted(at for _, at in (*by_place[:first], *by_place[second:]))
    for one, other in ((firsts, seconds), (within, outside)):
        if min(len(one), len(other)) >= max(FEWEST, _FEWEST_OF_HALF * max(len(one), len(other))):
            yield one, other


def _list_views(events: Sequence[Event]) -> dict[tuple[int, ...], float]:
    """Return sets of payments by their places, and the share of a set's payments that a chain in it must have."""
    by_amount, by_note = defaultdict(list), defaultdict(list)
    for at, event in enumerate(events):
        by_amount[event.cents].append(at)
        if event.text:
            by_note[event.text].append(at)
    views = dict.fromkeys(map(tuple, (*by_amount.values(), *by_note.values())), _FEWEST_OF_VIEW)
    amounts = sorted(by_amount)
    bands = [(cents / _BAND, cents * _BAND) for cents in amounts if len(by_amount[cents]) >= FEWEST]
    gaps = [at for at, (low, high) in enumerate(pairwise(amounts), 1) if high > low * _APART]
    bands += [(amounts[first], amounts[end - 1]) for first, end in pairwise([0, *gaps, len(amounts)])]
    for low, high in bands:
        views.setdefault(tuple(at for at, event in enumerate(events) if low <= event.cents <= high), _FEWEST_OF_ALL)
    views.setdefault(tuple(range(len(events))), _FEWEST_OF_ALL)
    return {places: least for places, least in views.items() if len(places) >= FEWEST}


def _find_chain(view: _View, cadence: Cadence, least: float) -> list[int]:
    """Return the places of the best chain of a cadence, none if too many other payments are among them."""
    density = view.find_density(cadence)
    if density * cadence.length * least > _MOST_HIDDEN:
        return []
    best, before = [0.0] * len(view.events), [-1] * len(view.events)
    for one, other, gain in _list_steps(view, cadence, density):
        if best[one] + gain > best[other]:
            best[other], before[other] = best[one] + gain, one
    at = max(range(len(best)), key=best.__getitem__)
    chain = [at]
    while (at := before[at]) >= 0:
        chain.append(at)
    first, last = view.events[chain[-1]].day, view.events[chain[0]].day
    slots = round((last - first) / cadence.length) + 1
    during = chain[0] - chain[-1] + 1
    is_chain = len(chain) >= max(FEWEST, slots * _FEWEST_OF_SLOTS, during * least)
    return chain[::-1] if is_chain else []


def _list_steps(view: _View, cadence: Cadence, density: float) -> Iterable[tuple[int, int, float]]:
    """Return pairs of payments some periods apart, by the earlier one, with the gain of the step."""
    import numpy as np

    gains = np.array(_list_gains(cadence)) - math.log(density)
    every, found = np.arange(len(view.days)), []
    for periods in range(1, cadence.pause + 1):
        due = add_to_each(view.days, periods, cadence)
        first = np.maximum(np.searchsorted(view.days, due - cadence.most), every + 1)
        counts = np.maximum(np.searchsorted(view.days, due + cadence.most, side="right") - first, 0)
        if periods == 1 and counts.sum() == 0:  # longer steps alone make no chain
            return ()
        ones = every.repeat(counts)
        others = np.arange(len(ones)) + (first - counts.cumsum() + counts).repeat(counts)
        gain = gains[np.abs(view.days[others] - due[ones])] + _find_gain_of_pause(periods)
        found.append((ones, others, gain))
    ones, others, gain = map(np.concatenate, zip(*found, strict=True))
    one, other = view.cents[ones], view.cents[others]
    ratios = np.maximum(one, other) / np.maximum(np.minimum(one, other), 1)
    gain += _SAME_AMOUNT - np.array(_LESS)[np.searchsorted(_RATIOS, ratios)]
    one, other = view.texts[ones], view.texts[others]
    gain += np.where((one < 0) | (other < 0), 0.0, np.where(one == other, _SAME_NOTE, _OTHER_NOTE))
    order = np.argsort(ones, kind="stable")
    order = order[np.isfinite(gain[order])]
    return zip(ones[order].tolist(), others[order].tolist(), gain[order].tolist(), strict=True)


def _weigh(chain: Sequence[int], view: _View, payments: _View, cadence: Cadence) -> float:
    """Return the gain of a chain: large if its payments are regular, alike, and unlike the others."""
    density = math.log(view.find_density(cadence))
    members = [view.events[at] for at in chain]
    dates = alike = 0.0
    amount, note = _find_gains_of_likeness(members[-1], members, payments.events)
    for one, other in pairwise(members):
        periods = max(1, round((other.day - one.day) / cadence.length))
        off = abs(other.day - add_periods(one.day, periods, cadence))
        dates += _list_gains(cadence)[min(off, cadence.most)] - density + _find_gain_of_pause(periods)
        alike += amount - _find_loss(one.cents, other.cents)
        if one.text and other.text:
            alike += note if one.text == other.text else _OTHER_NOTE
    during = chain[-1] - chain[0] + 1
    strays = during - len(chain)
    dates -= strays * math.log(during / strays) if strays else 0
    return dates + alike * len(chain) / len(view.events) - math.log(len(payments.events) / len(chain))


def _find_gains_of_likeness(last: Event, members: Sequence[Event], events: Sequence[Event]) -> tuple[float, float]:
    """Return the gains of a step with the same amount, and with the same note: small where others have them too."""
    others = len(events) - len(members)
    same_amount = sum(event.cents == last.cents for event in events) - sum(e.cents == last.cents for e in members)
    same_note = sum(event.text == last.text for event in events) - sum(e.text == last.text for e in members)
    amount = math.log((others + _COMMON_AMOUNT) / (same_amount + 1))
    note = math.log((others + _COMMON_NOTE) / (same_note + 1))
    return min(amount, _MOST_OF_AMOUNT), min(note, _MOST_OF_NOTE)


def _find_loss(one: int, other: int) -> float:
    ratio = max(one, other) / max(min(one, other), 1)
    return next((less for most, less in zip(_RATIOS, _LESS, strict=False) if ratio <= most), _LESS[-1])


def _find_gain_of_pause(periods: int) -> float:
    """Return the logarithm of the share of a series' steps that take some periods."""
    return _STEADY if periods == 1 else _SKIPPED - _LONGER * (periods - 2)


@cache
def _list_gains(cadence: Cadence) -> list[float]:
    """Return the logarithm of the share of a series' dates at each number of days off."""
    ratio = math.exp(-1 / cadence.usual)
    scale = (1 - _STRAY) * (1 - ratio) / (1 + ratio)
    stray = _STRAY / (2 * cadence.most + 1)
    return [math.log(scale * ratio**off + stray) for off in range(cadence.most + 1)]


def _join(chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains with those united that one series makes before and after a break."""
    joined: list[Chain] = []
    for chain in sorted(chains, key=lambda chain: chain.events):
        for at, earlier in enumerate(joined):
            if _continues(earlier, chain):
                joined[at] = Chain(chain.cadence, earlier.events + chain.events, earlier.gain + chain.gain)
                break
        else:
            joined.append(chain)
    return joined


def _continues(earlier: Chain, later: Chain) -> bool:
    last, first = earlier.events[-1], later.events[0]
    if earlier.cadence != later.cadence or not 0 < first.day - last.day <= _LONGEST_BREAK + earlier.cadence.length:
        return False
    is_other = last.text and first.text and last.text != first.text
    return _find_loss(last.cents, first.cents) < (_SAME_AMOUNT + _OTHER_NOTE if is_other else _SAME_AMOUNT)
