"""Chains of payments: the series among the payments to one person, or from one, found by their dates and amounts.

The payments of one amount, of about one amount, of one note, and all are searched for chains: payments one period
apart, or a few periods where dates have none. What speaks for a chain, its gain, is the logarithm of how much more
likely its dates, amounts and notes are for a series than for as many payments at random. The best chain of all is a
series if its gain is large enough; then the search goes on without its payments, in the sets that they were in.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from p2p_analytics.analyses._series import _candidates, _columns, _gains, _views
from p2p_analytics.analyses._series._columns import Payments, number_payments
from p2p_analytics.analyses._series.cadence import CADENCES, Cadence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.analyses._series._candidates import Candidates
    from p2p_analytics.analyses._series._columns import Array, Runs

__all__ = ["Chain", "find_chains", "number_payments", "simplify_note"]

_PAYMENTS_AT_ONCE: Final = 150_000  # of which the sets take 0.1 GB; fewer take longer
_LONGEST_BREAK: Final = 366  # days, and a period, after which a series is a new one
_WORDS: Final = re.compile(r"[^\W\d_]+")
_MONTHS: Final = frozenset(
    {
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january",
        "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
    }
)  # fmt: skip


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
    groups = starts // _PAYMENTS_AT_ONCE
    bounds = [*starts[np.diff(groups, prepend=-1) != 0].tolist(), len(payments.people)]
    found: list[Chain] = []
    for start, end in pairwise(bounds):
        places = np.arange(start, end)
        found += [
            Chain(chain.cadence, tuple(start + at for at in chain.places))
            for chain in _find_chains(payments.select(places))
        ]
    return found


def _find_chains(payments: Payments) -> list[Chain]:
    tallies = _candidates.Tallies(payments)
    marks = np.random.default_rng(0).integers(0, 2**64, len(payments.days), dtype=np.uint64)
    left, known = np.arange(len(payments.days)), np.array([], dtype=np.uint64)
    candidates: Candidates | None = None
    found: list[Chain] = []
    while len(left):
        views = _views.list_views(payments.select(left))
        views = views._replace(members=views.members._replace(values=left[views.members.values]))
        # A set of the same payments as one before has the same chains.
        of_view = views.members.sum(marks[views.members.values])
        fresh = np.flatnonzero(~np.isin(of_view, known))
        known = of_view
        new = _candidates.find_candidates(payments, views.take(fresh), of_view[fresh])
        old = candidates.take(np.flatnonzero(np.isin(candidates.marks, known))) if candidates else None
        candidates = _candidates.join([part for part in (old, new) if part])
        if candidates is None:
            break
        chosen = _choose(candidates, candidates.weigh(tallies), payments, views.members)
        found += [Chain(CADENCES[candidates.cadences[at]], tuple(candidates.members.get(at).tolist())) for at in chosen]
        taken = candidates.members.take(chosen).values
        tallies.remove(taken)
        left = np.setdiff1d(left[np.isin(payments.people[left], payments.people[taken])], taken)
    return _join(found, payments)


def _choose(candidates: Candidates, gains: Array, payments: Payments, views: Runs) -> Array:
    """Return the candidates of the largest gain, and further ones that have no set in common with them."""
    people = payments.people[candidates.one.lasts]
    good = np.flatnonzero(gains >= _gains.ENOUGH)
    good = good[np.lexsort((-gains[good], people[good]))]
    order = _columns.find_order(views.values)
    places, owners = views.values[order], views.owners[order]
    is_near = np.zeros(len(payments.days), dtype=bool)
    chosen = []
    for at in good.tolist():
        members = candidates.members.get(at)
        if is_near[members].any():
            continue
        chosen.append(at)
        first = np.searchsorted(places, members)
        inside = _columns.list_places(first, np.searchsorted(places, members, side="right") - first)
        is_near[views.take(np.unique(owners[inside])).values] = True
    return np.array(chosen, dtype=np.int64)


def _join(chains: Iterable[Chain], payments: Payments) -> list[Chain]:
    """Return the chains with those united that one series makes before and after a break."""
    joined: list[Chain] = []
    by_time = sorted(chains, key=lambda chain: chain.places)
    for _, mine in groupby(by_time, key=lambda chain: payments.people[chain.places[0]]):
        ones: list[Chain] = []
        for chain in mine:
            for at, earlier in enumerate(ones):
                if _continues(earlier, chain, payments):
                    ones[at] = Chain(chain.cadence, earlier.places + chain.places)
                    break
            else:
                ones.append(chain)
        joined += ones
    return joined


def _continues(earlier: Chain, later: Chain, payments: Payments) -> bool:
    ends = [earlier.places[-1], later.places[0]]
    last, first = payments.days[ends].tolist()
    if earlier.cadence != later.cadence or not 0 < first - last <= _LONGEST_BREAK + earlier.cadence.length:
        return False
    if not _gains.continues(payments.cents[ends].tolist(), payments.texts[ends].tolist()):
        return False
    near = payments.cents[[*earlier.places[-_gains.NEIGHBOURS :], *later.places[: _gains.NEIGHBOURS]]]
    return not _gains.has_jump(near, _columns.Runs(near, np.array([0, len(near)]))).any()
