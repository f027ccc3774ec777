"""Chains of payments: the series among the payments to one person, or from one, found by their dates and amounts.

The payments of one amount, of about one amount, of one note, and all are searched for chains: payments one period
apart, or a few periods where dates have none. The score of a chain is a log-likelihood ratio: how much more likely
its dates, amounts and notes are for a series than for as many payments at random. The best chain of all is a
series if its score is large enough; then the search goes on without its payments, in the sets that they were in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby, pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np

from p2p_analytics.analyses._series.cadence import CADENCES, Cadence, add_to_each
from p2p_analytics.analyses._series.candidate_sets import (
    FEWEST,
    MOST_HIDDEN,
    Array,
    CandidateSets,
    Payments,
    Runs,
    add_up,
    find_order,
    halve,
    join,
    list_candidate_sets,
    list_places,
    take,
)
from p2p_analytics.limits import LIMITS
from p2p_analytics.threads import map_in_threads

Result = TypeVar("Result")

_LONGEST_BREAK: Final = 366  # days, and a period, after which a series is a new one
_WORDS: Final = re.compile(r"[^\W\d_]+")
_MONTHS: Final = frozenset(
    {
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january",
        "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
    }
)  # fmt: skip
_REACH: Final = 6  # a step leads to one of the next payments, this many
_FEWEST_OF_SLOTS: Final = 0.62  # share of a series' dates that have a payment
_CELLS: Final = 2**17  # payments that are searched at once
_FAR: Final = 2**30  # a day after all others
_SCORE: Final = np.float32  # of scores that choose between steps; the scores of chains are computed in 64 bits
_LEAST_SCORE: Final = 5.0  # score of a series
_STEADY: Final = math.log(0.9)  # the share of a series' steps that are one period long
_SKIPPED: Final = math.log(0.06)  # two periods
_LONGER: Final = 0.6  # less for each further one
_STRAY: Final = 0.1  # share of a series' dates that are on any day within the tolerance
# Upper bounds of the larger of two amounts by the smaller, and by how much the score is less than of equal amounts.
_RATIOS: Final = (1.0, 1.03, 1.13, 1.36, 1.87)
_LOSSES: Final = np.array([0.0, 0.4, 0.6, 0.9, 1.4, math.inf])
_NEIGHBOURS: Final = 5  # amounts before one that are compared with it
_SAME_AMOUNT, _MOST_OF_AMOUNT, _COMMON_AMOUNT = math.log(3), 2.5, 3
_SAME_NOTE, _MOST_OF_NOTE, _COMMON_NOTE = math.log(2), 1.5, 2
_OTHER_NOTE: Final = -0.3
_NOTE_SCORES: Final = np.array([0.0, _SAME_NOTE, _OTHER_NOTE])  # of none, the same, and another
# Of each ratio of amounts with each pair of notes; in 32 bits, as they only choose between steps.
_STEP_SCORES: Final = np.add.outer(_SAME_AMOUNT - _LOSSES, _NOTE_SCORES).ravel().astype(np.float32)


class Chain(NamedTuple):
    """Payments of one series in order of time, by their places."""

    cadence: Cadence
    places: tuple[int, ...]


def simplify_note(note: str) -> str:
    """Return the words of a note without numbers and names of months, which change; the note if nothing is left."""
    words = [word for word in _WORDS.findall(note.lower()) if word not in _MONTHS]
    return " ".join(words) or note.strip()


def find_chains(payments: Payments) -> list[Chain]:
    """Return the series among the payments of each person, by person and first payment.

    The payments of some people at a time are searched, because the sets take many times the memory of the payments.
    """
    starts = np.flatnonzero(np.diff(payments.people, prepend=-1))
    groups = starts // LIMITS.series_payments
    bounds = [*starts[np.diff(groups, prepend=-1) != 0].tolist(), len(payments.people)]
    return [
        Chain(chain.cadence, tuple(start + at for at in chain.places))
        for start, end in pairwise(bounds)
        for chain in _search(take(payments, np.arange(start, end)))
    ]


def _search(payments: Payments) -> list[Chain]:
    counts = _RemainingCounts(payments)
    marks = np.random.default_rng(0).integers(0, 2**64, len(payments.days), dtype=np.uint64)
    left, known = np.arange(len(payments.days)), np.array([], dtype=np.uint64)
    parts: list[Candidates] = []
    found: list[Chain] = []
    while len(left):
        sets = list_candidate_sets(take(payments, left))
        sets = sets._replace(members=sets.members._replace(values=left[sets.members.values]))
        # A set of the same payments as one before has the same chains.
        of_set = sets.members.sum(marks[sets.members.values])
        fresh = np.flatnonzero(~np.isin(of_set, known))
        known = of_set
        parts = [take(part, np.flatnonzero(np.isin(part.marks, known))) for part in parts]
        parts += _find_candidates(payments, take(sets, fresh), of_set[fresh])
        if not any(len(part.marks) for part in parts):
            break
        candidates = join(parts)
        parts = [candidates]
        chosen = _choose(candidates, candidates.compute_scores(counts), payments, sets.members)
        found += [Chain(CADENCES[candidates.cadences[at]], tuple(candidates.members.get(at).tolist())) for at in chosen]
        taken = candidates.members.take(chosen).values
        counts.remove(taken)
        left = np.setdiff1d(left[np.isin(payments.people[left], payments.people[taken])], taken)
    return _join_broken_chains(found, payments)


def _choose(candidates: Candidates, scores: Array, payments: Payments, sets: Runs) -> Array:
    """Return the candidates of the largest score, and further ones that have no set in common with them."""
    people = payments.people[candidates.one.lasts]
    good = np.flatnonzero(scores >= _LEAST_SCORE)
    good = good[np.lexsort((-scores[good], people[good]))]
    order = find_order(sets.values)
    places, owners = sets.values[order], sets.owners[order]
    is_blocked = np.zeros(len(payments.days), dtype=bool)
    chosen = []
    for at in good.tolist():
        members = candidates.members.get(at)
        if is_blocked[members].any():
            continue
        chosen.append(at)
        first = np.searchsorted(places, members)
        inside = list_places(first, np.searchsorted(places, members, side="right") - first)
        is_blocked[sets.take(np.unique(owners[inside])).values] = True
    return np.array(chosen, dtype=np.int64)


def _join_broken_chains(chains: Iterable[Chain], payments: Payments) -> list[Chain]:
    """Return the chains with those united that one series makes before and after a break."""
    joined: list[Chain] = []
    by_time = sorted(chains, key=lambda chain: chain.places)
    for _, mine in groupby(by_time, key=lambda chain: payments.people[chain.places[0]]):
        ones: list[Chain] = []
        for chain in mine:
            at = next((at for at, earlier in enumerate(ones) if _continues(earlier, chain, payments)), None)
            if at is None:
                ones.append(chain)
            else:
                ones[at] = Chain(chain.cadence, ones[at].places + chain.places)
        joined += ones
    return joined


def _continues(earlier: Chain, later: Chain, payments: Payments) -> bool:
    """Return whether two chains may belong to one series in spite of the time between them."""
    ends = [earlier.places[-1], later.places[0]]
    last, first = payments.days[ends].tolist()
    if earlier.cadence != later.cadence or not 0 < first - last <= _LONGEST_BREAK + earlier.cadence.length:
        return False
    cents, texts = payments.cents[ends], payments.texts[ends].tolist()
    (loss,) = _LOSSES.take(_count_bounds(cents[:1], cents[1:]))
    is_other = min(texts) >= 0 and texts[0] != texts[1]
    if loss >= _SAME_AMOUNT + (_OTHER_NOTE if is_other else 0):
        return False
    near = payments.cents[[*earlier.places[-_NEIGHBOURS:], *later.places[:_NEIGHBOURS]]]
    return not _has_jump(near, Runs(near, np.array([0, len(near)]))).any()


class _RemainingCounts:
    """Numbers of payments that are left: of each person, and of each person and amount, and person and note."""

    def __init__(self, payments: Payments) -> None:
        self._codes = [payments.people, payments.of_amount, payments.of_note]
        self._counts = [np.bincount(codes) for codes in self._codes]

    def count(self, places: Array) -> Array:
        """Return for payments how many are left with the person, the amount, and the note, as columns."""
        columns = zip(self._codes, self._counts, strict=True)
        return np.stack([counts[codes[places]] for codes, counts in columns], axis=1)

    def remove(self, places: Array) -> None:
        """Take payments away."""
        for codes, counts in zip(self._codes, self._counts, strict=True):
            np.subtract.at(counts, codes[places], 1)


class ScoredChains(NamedTuple):
    """Chains and the inputs of their scores.

    ``lasts`` are their last payments. ``left_out`` counts the payments of the other half of a set, which are not
    compared: of the person, with the amount, and with the note of the last payment.
    """

    inputs: ScoreInputs
    lasts: Array
    left_out: Array

    def compute_scores(self, counts: _RemainingCounts) -> Array:
        """Return the scores among the payments that are left."""
        return self.inputs.compute(*(counts.count(self.lasts) - self.left_out).T)


class Candidates(NamedTuple):
    """Chains: the mark of the set, the number of the cadence, the payments; and the chain in the other half of a set.

    For a set that is not halved, the other chain is the same.
    """

    marks: Array
    cadences: Array
    members: Runs
    one: ScoredChains
    other: ScoredChains
    is_half: Array

    def compute_scores(self, counts: _RemainingCounts) -> Array:
        """Return the scores: of two halves both, if each is large enough."""
        one = self.one.compute_scores(counts)
        other = self.other.compute_scores(counts)
        both = np.where(np.minimum(one, other) >= _LEAST_SCORE, one + other, -np.inf)
        found: Array = np.where(self.is_half, both, one)
        return found


def _find_candidates(payments: Payments, sets: CandidateSets, marks: Array) -> list[Candidates]:
    """Return the candidates in sets, which have a mark each."""

    def choose(found: FoundChains, number: int) -> Candidates:
        scored, members = _measure(payments, sets, found, CADENCES[number])
        chosen = np.flatnonzero(scored.inputs.find_bound() >= _LEAST_SCORE)
        scored = take(scored, chosen)
        return _build(number, marks[found.sets[chosen]], members.take(chosen), scored, scored)

    halves, parents = halve(sets, payments.days)
    of_whole = _search_blocks(payments, sets, choose)
    of_halves = _search_blocks(payments, halves, lambda found, _: found)
    parts = []
    for number in range(len(CADENCES)):
        parts += of_whole[number]
        if any(len(part.sets) for part in of_halves[number]):
            parts.append(_pair(payments, halves, join(of_halves[number]), marks[parents], number))
    return parts


def _search_blocks(
    payments: Payments, sets: CandidateSets, use: Callable[[FoundChains, int], Result]
) -> list[list[Result]]:
    """Return what a function returns for the chains of each cadence, and its number, in each block of sets."""

    def search(block: Block) -> list[Result]:
        return [use(found, number) for number, found in enumerate(_search_block(payments, sets, block))]

    blocks = _list_blocks(payments, sets)
    is_large = len(sets.members.values) >= LIMITS.threaded_payments
    of_blocks = map_in_threads(search, blocks) if is_large else [*map(search, blocks)]
    return [[each[number] for each in of_blocks if number < len(each)] for number in range(len(CADENCES))]


def _build(number: int, marks: Array, members: Runs, one: ScoredChains, other: ScoredChains) -> Candidates:
    return Candidates(marks, np.full(len(marks), number), members, one, other, np.full(len(marks), one is not other))


def _pair(payments: Payments, halves: CandidateSets, found: FoundChains, marks: Array, number: int) -> Candidates:
    """Return the candidates of sets with a chain in both halves."""
    pairs = len(halves.min_share) // 2
    place_of = np.full(2 * pairs, -1)
    place_of[found.sets] = np.arange(len(found.sets))
    both = np.flatnonzero((place_of[:pairs] >= 0) & (place_of[pairs:] >= 0))
    scored_halves = []
    for own, rest in ((both, both + pairs), (both + pairs, both)):
        scored, members = _measure(payments, halves, take(found, place_of[own]), CADENCES[number])
        others = halves.members.take(rest)
        counts = [others.sizes]
        for values in (payments.cents, payments.texts):
            is_like = values[others.values] == values[scored.lasts][others.owners]
            counts.append(others.sum(is_like.astype(np.int64)))
        scored_halves.append((scored._replace(left_out=np.stack(counts, axis=1)), members))
    (one, chains), (other, _) = scored_halves
    bounds = np.minimum(one.inputs.find_bound(), other.inputs.find_bound())
    right = np.flatnonzero(bounds >= _LEAST_SCORE)
    return _build(number, marks[both[right]], chains.take(right), take(one, right), take(other, right))


class Block(NamedTuple):
    """Sets that are searched at once, the longest first, and how many cadences they are not too dense for."""

    sets: Array
    cadences: int


class FoundChains(NamedTuple):
    """Chains: the set of each, its members by their places in it, and the payments per day of the set."""

    sets: Array
    members: Runs
    densities: Array


class _Table(NamedTuple):
    """Days of several sets, a column for each set, with the longest first; the rest of a column is empty.

    ``between`` and ``likeness`` have the days, and the scores of amounts and notes, of the steps to each payment, from
    the farthest earlier payment to the nearest, a table for each. A step that is none has a score of -inf.
    """

    days: Array
    sizes: Array
    between: Array
    likeness: Array

    @property
    def steps(self) -> range:
        """How many payments later a step may lead."""
        return range(1, min(_REACH, len(self.days) - 1) + 1)


def _list_blocks(payments: Payments, sets: CandidateSets) -> list[Block]:
    """Return the sets that are not too dense for some cadence; longer cadences need sets that are less dense."""
    sizes = sets.members.sizes
    number = np.zeros(len(sizes), dtype=np.int64)
    for place, cadence in enumerate(CADENCES):
        fits = _find_densities(payments, sets.members, cadence) * cadence.length * sets.min_share <= MOST_HIDDEN
        number += fits & (number == place)  # a set that is too dense for one is so for all longer ones
    blocks = []
    for cadences in range(1, len(CADENCES) + 1):
        of_one = np.flatnonzero(number == cadences)
        of_one = of_one[np.argsort(-sizes[of_one], kind="stable")]
        while len(of_one):
            many = max(1, _CELLS // int(sizes[of_one[0]]))
            blocks.append(Block(of_one[:many], cadences))
            of_one = of_one[many:]
    return blocks


def _search_block(payments: Payments, sets: CandidateSets, block: Block) -> Iterator[FoundChains]:
    """Yield for each cadence the best chain of each set, if not too many other payments are among its members."""
    members, min_share = sets.members.take(block.sets), sets.min_share[block.sets]
    table = _build_table(payments, members)
    scores = np.full_like(table.likeness, -np.inf)
    for cadence in CADENCES[: block.cadences]:
        densities = _find_densities(payments, members, cadence)
        _score_steps(table, cadence, scores)
        chains = _follow_steps(table, scores, np.log(densities).astype(_SCORE))
        # A column without members has no step.
        first = chains.values[np.minimum(chains.starts[:-1], len(chains.values) - 1)]
        last = chains.values[chains.starts[1:] - 1]
        of_each = np.arange(len(table.sizes))
        slots = np.rint((table.days[last, of_each] - table.days[first, of_each]) / cadence.length) + 1
        fewest = np.maximum(slots * _FEWEST_OF_SLOTS, (last - first + 1) * min_share)
        right = np.flatnonzero(chains.sizes >= np.maximum(FEWEST, fewest))
        has_step = np.zeros(len(right), dtype=bool)  # of one period
        for apart in table.steps:
            rest = np.flatnonzero(~has_step)
            days, between = (part[:, right[rest]] for part in (table.days[:-apart], table.between[-apart, apart:]))
            periods, off = _find_periods(days, between, cadence)
            has_step[rest] = ((periods == 1) & (off <= cadence.most)).any(axis=0)
        right = right[has_step]
        yield FoundChains(block.sets[right], chains.take(right), densities[right])


def _find_densities(payments: Payments, members: Runs, cadence: Cadence) -> Array:
    """Return the payments per day of sets, with one period after the last day."""
    ends = members.values[members.starts[1:] - 1], members.values[members.starts[:-1]]
    densities: Array = members.sizes / (payments.days[ends[0]] - payments.days[ends[1]] + cadence.length)
    return densities


def _build_table(payments: Payments, members: Runs) -> _Table:
    sizes = members.sizes
    shape = (int(sizes[0]), len(sizes))
    rows, columns = list_places(np.zeros_like(sizes), sizes), members.owners
    tables = []
    for values, dtype in ((payments.days, np.int32), (payments.cents, np.int64), (payments.texts, np.int32)):
        table = np.full(shape, _FAR, dtype=dtype)
        table[rows, columns] = values[members.values]
        tables.append(table)
    days, cents, texts = tables
    between, likeness = np.zeros((_REACH, *shape), dtype=np.int32), np.full((_REACH, *shape), -np.inf, dtype=_SCORE)
    found = _Table(days, sizes, between, likeness)
    for apart in found.steps:
        np.subtract(days[apart:], days[:-apart], out=between[-apart, apart:])
        one, other = texts[:-apart], texts[apart:]
        # A payment without a note says nothing by it.
        of_note = ((one >= 0) & (other >= 0)) * np.add(one != other, 1, dtype=np.int8)
        bounds = _count_bounds(cents[:-apart], cents[apart:])
        likeness[-apart, apart:] = _STEP_SCORES.take(bounds * np.int8(len(_NOTE_SCORES)) + of_note)
    return found


def _follow_steps(table: _Table, scores: Array, logarithms: Array) -> Runs:
    """Return the places of the best chain of each set; the logarithms of densities are what each step says less."""
    length, number = table.days.shape
    best = np.zeros((length + _REACH, number), dtype=_SCORE)
    best[:_REACH] = -np.inf
    filled = np.searchsorted(-table.sizes, -np.arange(length))
    for at in range(1, length):
        those = slice(int(filled[at]))
        steps = best[at : at + _REACH, those] + scores[:, at, those]
        np.maximum(steps.max(axis=0) - logarithms[those], 0, out=best[at + _REACH, those])
    back = np.arange(_REACH)
    places, columns = best[_REACH:].argmax(axis=0), np.arange(number)
    found = [(columns, places)]
    while len(columns):
        # The same sums as above: of equal ones, the step from the farthest payment is taken.
        goes_on = best[places + _REACH, columns] > 0
        places, columns = places[goes_on, np.newaxis], columns[goes_on, np.newaxis]
        steps = best[places + back, columns] + scores[back, places, columns]
        places, columns = places[:, 0] - _REACH + steps.argmax(axis=1), columns[:, 0]
        found.append((columns, places))
    columns, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((places, columns))
    return Runs(places[order], add_up(np.bincount(columns, minlength=number)))


def _score_steps(table: _Table, cadence: Cadence, scores: Array) -> None:
    """Write the scores of the steps to each payment, but for the density of the set.

    All are computed, because it takes longer to select those with dates that fit.
    """
    of_dates = _score_dates(cadence)
    of_days = _score_days(cadence) if cadence.days else None
    for apart in table.steps:
        steps = (-apart, slice(apart, None))
        if of_days is not None:
            of_step = of_days.take(table.between[steps], mode="clip")
        else:
            periods, off = _find_periods(table.days[:-apart], table.between[steps], cadence)
            of_step = of_dates.take(periods * len(of_dates[0]) + np.minimum(off, cadence.most + 1))
        np.add(of_step, table.likeness[steps], out=scores[steps])


def _find_periods(days: Array, between: Array, cadence: Cadence) -> tuple[Array, Array]:
    """Return of steps from days how many periods they may take, 0 for none, and how many days they are off."""
    periods = _list_periods(cadence).take(between, mode="clip")
    return periods, np.abs(days + between - add_to_each(days, periods, cadence))


@cache
def _score_dates(cadence: Cadence) -> Array:
    """Return the scores of dates: a row for each number of periods (0 for none), a column for each number of days off.

    The last column is for too many days.
    """
    scores = np.full((cadence.pause + 1, cadence.most + 2), -np.inf, dtype=_SCORE)
    scores[1:, :-1] = _score_pauses(cadence)[1:, np.newaxis] + _score_days_off(cadence)
    return scores


@cache
def _score_days(cadence: Cadence) -> Array:
    """Return the score for each number of days between two dates, of a cadence that is a number of days."""
    periods = _list_periods(cadence)
    off = np.abs(np.arange(len(periods)) - periods * cadence.days)
    scores: Array = _score_dates(cadence)[periods, np.minimum(off, cadence.most + 1)]
    return scores


@cache
def _list_periods(cadence: Cadence) -> Array:
    """Return for each number of days how many periods it may be, 0 for none; more days than these are none."""
    spread = cadence.most + (3 if cadence.months else 0)  # months are up to two days shorter than the mean
    periods_of = np.zeros(int((cadence.pause + 1) * cadence.length) + 1, dtype=np.int64)
    for periods in range(1, cadence.pause + 1):
        near = int(periods * cadence.length)
        periods_of[near - spread : near + spread + 1] = periods
    return periods_of


class ScoreInputs(NamedTuple):
    """What the score of each of several chains is computed from.

    Attributes
    ----------
    dates : array
        The score of its dates, less for other payments of the set among them.
    share : array
        Its share of the set's payments.
    sizes, same, others : array
        Its payments, and its pairs of neighbours with one note, and with two.
    losses : array
        By how much the score of its amounts is less than of equal ones; infinite if some near each other are too far
        apart.
    of_amount, of_note : array
        Its payments with the amount, and with the note, of its last one.
    """

    dates: Array
    share: Array
    sizes: Array
    same: Array
    others: Array
    losses: Array
    of_amount: Array
    of_note: Array

    def compute(self, everyone: Array, same_amount: Array, same_note: Array) -> Array:
        """Return the scores: large if payments are regular, alike, and unlike the others.

        Parameters
        ----------
        everyone, same_amount, same_note : array
            All payments of the person, and those with the amount, and with the note, of the last one.
        """
        rest = everyone - self.sizes
        amount = np.log((rest + _COMMON_AMOUNT) / (same_amount - self.of_amount + 1))
        note = np.log((rest + _COMMON_NOTE) / (same_note - self.of_note + 1))
        return self._sum_up(np.minimum(amount, _MOST_OF_AMOUNT), np.minimum(note, _MOST_OF_NOTE)) - np.log(
            everyone / self.sizes
        )

    def find_bound(self) -> Array:
        """Return the largest scores that the chains may have among any other payments."""
        return self._sum_up(_MOST_OF_AMOUNT, _MOST_OF_NOTE)

    def _sum_up(self, amount: Array | float, note: Array | float) -> Array:
        alike = amount * (self.sizes - 1) - self.losses + note * self.same + _OTHER_NOTE * self.others
        scores: Array = self.dates + alike * self.share
        return scores


def _measure(
    payments: Payments, sets: CandidateSets, found: FoundChains, cadence: Cadence
) -> tuple[ScoredChains, Runs]:
    """Return the inputs of the scores of chains, and the chains as places of payments."""
    owners, sizes = found.members.owners, found.members.sizes
    places = sets.members.values[sets.members.starts[:-1][found.sets][owners] + found.members.values]
    chains = Runs(places, found.members.starts)
    ends = chains.starts[1:] - 1
    lasts = places[ends]
    is_last = np.zeros(len(places), dtype=bool)
    is_last[ends] = True
    one = take(payments, places)
    other = take(payments, np.append(places[1:], places[-1:]))
    periods = np.maximum(np.rint((other.days - one.days) / cadence.length), 1).astype(np.int64)
    periods[is_last] = 1
    off = np.minimum(np.abs(other.days - add_to_each(one.days, periods, cadence)), cadence.most)
    dates = _score_days_off(cadence)[off] + _score_pauses(cadence)[np.minimum(periods, cadence.pause)]
    losses = _LOSSES.take(_count_bounds(one.cents, other.cents))
    has_notes = (one.texts >= 0) & (other.texts >= 0)
    is_same = has_notes & (one.texts == other.texts)
    steps = (np.where(is_last, 0, column) for column in (dates, losses, is_same, has_notes & ~is_same))
    of_dates, of_losses, same, others = (chains.sum(column) for column in steps)
    during = found.members.values[ends] - found.members.values[chains.starts[:-1]] + 1 if len(ends) else ends
    strays = during - sizes  # payments of the set among those of the chain
    of_dates -= (sizes - 1) * np.log(found.densities) + strays * np.log(during / np.maximum(strays, 1))
    inputs = ScoreInputs(
        dates=of_dates,
        share=sizes / sets.members.sizes[found.sets],
        sizes=sizes,
        same=same,
        others=others,
        losses=np.where(_has_jump(one.cents, chains), np.inf, of_losses),
        of_amount=chains.sum((one.cents == payments.cents[lasts][owners]).astype(np.int64)),
        of_note=chains.sum((one.texts == payments.texts[lasts][owners]).astype(np.int64)),
    )
    return ScoredChains(inputs, lasts, np.zeros((len(ends), 3), dtype=np.int64)), chains


def _has_jump(cents: Array, chains: Runs) -> Array:
    """Return for each chain whether one of its amounts is too far from one of those before it, not the last only.

    Small steps in one direction are not a series if they come one after another.
    """
    owners = chains.owners
    most = np.maximum(cents, 1) * _RATIOS[-1]
    jumps = np.zeros(len(cents), dtype=np.int64)
    for apart in range(2, _NEIGHBOURS + 1):
        is_far = (cents[apart:] > most[:-apart]) | (cents[:-apart] > most[apart:])
        jumps[apart:] |= is_far & (owners[:-apart] == owners[apart:])
    found: Array = chains.sum(jumps) > 0
    return found


def _count_bounds(one: Array, other: Array) -> Array:
    """Return how many of the upper bounds the ratios of amounts are above."""
    ratios = np.maximum(one, other) / np.maximum(np.minimum(one, other), 1)
    above = np.zeros(ratios.shape, dtype=np.int8)
    for ratio in _RATIOS:
        above += ratios > ratio
    return above


@cache
def _score_pauses(cadence: Cadence) -> Array:
    """Return the logarithm of the share of a series' steps that take each number of periods."""
    return np.array([0.0, _STEADY, *(_SKIPPED - _LONGER * more for more in range(cadence.pause - 1))])


@cache
def _score_days_off(cadence: Cadence) -> Array:
    """Return the logarithm of the share of a series' dates at each number of days off."""
    ratio = math.exp(-1 / cadence.usual)
    scale = (1 - _STRAY) * (1 - ratio) / (1 + ratio)
    stray = _STRAY / (2 * cadence.most + 1)
    return np.array([math.log(scale * ratio**off + stray) for off in range(cadence.most + 1)])
