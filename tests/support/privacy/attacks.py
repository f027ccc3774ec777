"""People with invented amounts, and attackers that estimate the secret factor of masked amounts."""

from functools import cache
from math import log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from p2p_analytics.privacy import Mask, _pseudonyms
from p2p_analytics.privacy._pseudonyms import Pseudonyms

FOUND = 0.005  # a factor this close turns a masked $100 into the right whole unit


# ---- people


class Person(NamedTuple):
    """The payments of one person: amounts in cents, with whom, and which of them repeat one another."""

    cents: Any
    who: Any
    repeats: Any


WHOLE = 0.5  # the share of amounts that are whole units because people choose them so
RENTS = 0.05  # the share of payments that are a rent
SCALES = 0.5  # the standard deviation of the logarithm of how much a person spends


def amounts_of(rng, scale, whole: float, size: int) -> Any:
    """Return amounts as people pay them: more than half are whole units, many are a bill split by 2, 3 or 4."""
    units = np.maximum(rng.lognormal(np.log(24 * scale), 1.1, size), 1)
    any_unit = (rng.random(size) < 0.35) | (units < 8)
    step = np.select([any_unit, units < 60, units < 150], [1, 5, 10], 25)
    chosen = np.maximum(1, np.round(units / step)) * step * 100
    near = np.maximum(1, np.round(units)) * 100
    bill = np.floor(rng.lognormal(np.log(6500 * scale), 0.7, size))
    bill = np.where(rng.random(size) < 0.3, np.round(bill / 100) * 100, bill)
    split = np.maximum(100, np.round(bill / rng.choice([2, 2, 2, 3, 3, 4], size)))
    jokes = np.where(rng.random(size) < 1 / 7, rng.integers(1, 100, size), rng.choice([1, 1, 10, 25, 50, 69], size))
    kind = (rng.random(size) - whole) / (1 - whole)
    paid = np.select(
        [kind < 0, kind < 0.14, kind < 0.30, kind < 0.80],
        [chosen, near + 50, near - rng.choice([1, 1, 5, 51], size), split],
        np.round(units * 100),
    )
    return np.where(rng.random(size) < 0.015, jokes, paid).astype(int)


def rents_of(rng, step, size: int) -> Any:
    """Return rents in whole steps."""
    return (np.maximum(1, np.round(rng.lognormal(np.log(70_000), 0.35, size) / step)) * step).astype(int)


def person(rng, payments: int, whole: float = WHOLE) -> Person:
    """Return a person who pays a rent to one, six recurring amounts to some, and single amounts to a few or many."""
    scale, step = rng.lognormal(0, SCALES), int(rng.choice([1, 25, 50])) * 100
    rent, recurring = rents_of(rng, step, 1)[0], amounts_of(rng, scale, whole, 6)
    kind, which = rng.random(payments), rng.integers(6, size=payments)
    is_rent, recurs = kind < RENTS, kind < 0.25
    return Person(
        cents=np.select([is_rent, recurs], [rent, recurring[which]], amounts_of(rng, scale, whole, payments)),
        who=np.select([is_rent, recurs], [0, 1 + which % 5], 1 + np.minimum(11, rng.geometric(0.18, payments))),
        repeats=np.select([is_rent, recurs], [0, 1 + which], 100 + np.arange(payments)),
    )


def mask_cents(cents, key: bytes) -> Any:
    """Return amounts as the payments of a masked history show them."""
    frame = pd.DataFrame({"payment_id": [f"{place}" for place in range(len(cents))], "amount_cents": cents})
    masked = Mask(key).frame(frame).set_index("payment_id")["amount_cents"]
    return masked[[Pseudonyms(key).identifier(text) for text in frame["payment_id"]]].to_numpy()


# ---- attackers

_LARGEST = 2_000_000  # cents, of which an attacker knows how likely they are


@cache
def population(whole: float = WHOLE, scale: float | None = None) -> Any:
    """Return how likely each number of cents is among people of one scale, or of any."""
    rng = np.random.default_rng(1)
    size = 150_000
    scales = rng.lognormal(0, SCALES, size) if scale is None else scale
    cents = amounts_of(rng, scales, whole, size)
    rents = rents_of(rng, rng.choice([1, 25, 50], size) * 100, size)
    paid = np.where(rng.random(size) < RENTS, rents, cents)
    return np.bincount(paid[paid < _LARGEST], minlength=_LARGEST) / size


def by_arithmetic(masked, factors: tuple[float, float]) -> tuple[float, Any]:
    """Return the factor under which the masked amounts come from the likeliest ones, and these: no noise is expected.

    Candidates are the factors that make some amount a whole number of units.
    """
    likely = np.log(np.maximum(population(), np.exp(-14)))
    few = np.unique(masked)[:40]
    candidates = (few[:, None] / (100.0 * np.arange(1, 151))).ravel()
    candidates = np.unique(candidates[(candidates > factors[0]) & (candidates < factors[1])])
    best, factor = -np.inf, 1.0
    for part in np.array_split(candidates, max(1, len(candidates) // 500)):
        guesses = np.round(masked[:, None] / part).astype(int)
        exact = np.round(guesses * part) == masked[:, None]
        scores = np.where(exact, likely[np.minimum(guesses, len(likely) - 1)], -14.0).sum(axis=0)
        if len(part) and scores.max() > best:
            best, factor = scores.max(), float(part[scores.argmax()])
    return factor, np.round(masked / factor).astype(int)


_STEP = 0.002  # of the logarithms in which candidates and amounts are compared
_CELLS = int(np.log(_LARGEST * 3) / _STEP)
_OFFSETS = np.arange(int(np.log(0.3) / _STEP), int(np.log(1.9) / _STEP))  # further away no noise moves an amount
_COUNTS = (1, 2, 3, 4, 6, 10, 15, 30)
_TOGETHER = 8  # candidates for the factor that are one where amounts are guessed


def reach(cents) -> Any:
    """Return the largest noise of a payment, as a fraction of its amount."""
    return _pseudonyms._NOISE_OF_PAYMENT * np.minimum(1, (_pseudonyms._SMALL_CENTS / cents) ** _pseudonyms._FALL)


def noise(off, cents, count: int = 1) -> Any:
    """Return the density of the mean noise of payments of one amount: exact for one, normal for more."""
    shared, own = _pseudonyms._NOISE_OF_AMOUNT, reach(cents)
    if count == 1:
        density = np.minimum(off + shared, own) - np.maximum(off - shared, -own)
        np.maximum(0, density, out=density)
        density /= 4 * shared * own
        return density
    spread = own / np.sqrt(3 * count) / 1.702  # the logistic function with this constant is near the normal one
    below, above = (1 / (1 + np.exp(np.clip((off + end) / spread, -50, 50))) for end in (-shared, shared))
    return (below - above) / (2 * shared)


class Likelihood:
    """An attacker who knows the distributions of amounts and noise, and averages payments that repeat one amount.

    With ``scales`` he also estimates how much the person spends, together with the factor ("joint"): all of a person's
    amounts have that in common. Without, each amount is one of any person.
    """

    def __init__(self, whole: float = WHOLE, scales: int = 1) -> None:
        logs = np.linspace(-2.5, 2.5, scales) * SCALES if scales > 1 else [None]
        everyone = np.array([population(whole, None if at is None else float(np.exp(at))) for at in logs])
        self.prior = np.exp(-0.5 * np.linspace(-2.5, 2.5, scales) ** 2) if scales > 1 else np.ones(1)
        chance = self.prior @ everyone / self.prior.sum()
        self.amounts = np.flatnonzero(chance > 2e-5)  # rarer ones are never the best guess
        self.chances, self.logs = everyone[:, self.amounts], np.log(self.amounts)
        self.grid = np.arange(np.log(_pseudonyms._FACTORS[0][0]), np.log(_pseudonyms._FACTORS[1][1]), _STEP)
        gap = np.log([_pseudonyms._FACTORS[0][1], _pseudonyms._FACTORS[1][0]])
        self.grid = self.grid[(self.grid < gap[0]) | (self.grid > gap[1])]
        cells = (np.log(np.arange(1, _LARGEST)) / _STEP).astype(int)
        masses = np.array([np.bincount(cells, chances[1:], _CELLS) for chances in everyone])
        self.densities = {count: self._density(masses, count) for count in _COUNTS}

    def _density(self, masses, count: int) -> Any:
        """Return the logarithm of the density of the logarithm of means of masked amounts, for each scale."""
        cents, padding = np.exp(np.arange(_CELLS) * _STEP), -_OFFSETS[0]
        density = np.zeros((len(masses), _CELLS + len(_OFFSETS)))
        for at, offset in enumerate(_OFFSETS):
            moved = np.exp(offset * _STEP)
            density[:, at : at + _CELLS] += masses * (moved * noise(moved - 1, cents, count))
        return np.log(0.99 * density[:, padding : padding + _CELLS] + 0.01 / (_CELLS * _STEP))

    def factor(self, means, counts) -> Any:
        """Return how likely each scale with each candidate factor is."""
        total = np.log(self.prior)[:, None] + np.zeros(len(self.grid))
        for count in set(counts):
            cells = ((means[counts == count][:, None] - self.grid) / _STEP).astype(int).clip(0, _CELLS - 1)
            total += self.densities[count][:, cells].sum(axis=1)
        chances = np.exp(total - total.max())
        return chances / chances.sum()

    def amount(self, mean: float, count: int, factors, chances) -> int:
        """Return the likeliest amount behind a masked one, over factors and how likely each amount is under each."""
        below, above = 0.6, 1.1
        if count == 1:  # beyond the largest noise of the smallest amount the density is exactly 0
            largest = _pseudonyms._NOISE_OF_AMOUNT + reach(np.exp(mean - factors.max() - below))
            below, above = min(below, np.log1p(largest)), min(above, -np.log1p(-largest))
        near = slice(*np.searchsorted(self.logs, [mean - factors.max() - below, mean - factors.min() + above]))
        moved = np.exp(mean - factors[:, None] - self.logs[near])
        weights = np.einsum("ij,ij,ij->j", chances[:, near], moved, noise(moved - 1, self.amounts[near], count))
        return int(self.amounts[near][weights.argmax()]) if len(weights) else 0

    def attack(self, payments: Person, masked, known: int = 0, factor: float = 0) -> tuple[float, float]:
        """Return the likeliest factor and the share of amounts recovered, where some payments or the factor are known.

        Payments that are known count neither way.
        """
        _, first, which, size = np.unique(payments.repeats, return_index=True, return_inverse=True, return_counts=True)
        means = np.log(np.bincount(which, masked) / size)
        counts = np.array([max(count for count in _COUNTS if count <= many) for many in size])
        chances = self.factor(means, counts)
        for place in range(known):
            off = masked[place] / payments.cents[place] / np.exp(self.grid) - 1
            chances = chances * np.maximum(noise(off, payments.cents[place]), 1e-9)
        if factor:
            chances = chances * (np.abs(self.grid - np.log(factor)) < _STEP)
        chances /= chances.sum()
        best = factor or float(np.exp(self.grid[chances.sum(axis=0).argmax()]))
        starts = np.arange(0, len(self.grid), _TOGETHER)
        together = np.add.reduceat(chances, starts, axis=1)
        factors = np.add.reduceat(chances.sum(axis=0) * self.grid, starts) / np.maximum(together.sum(axis=0), 1e-300)
        likely = np.argsort(-together.sum(axis=0))[:32]
        likely = likely[together.sum(axis=0)[likely] > 1e-3]
        amounts = together[:, likely].T @ self.chances
        guesses = [
            self.amount(mean, count, factors[likely], amounts) for mean, count in zip(means, counts, strict=True)
        ]
        right = (np.array(guesses) == payments.cents[first])[which]
        return best, float(right[known:].mean())


def is_found(guess: float, factor: float) -> bool:
    """Return whether a guess is close enough to turn masked amounts back."""
    return abs(log(guess / factor)) < FOUND


def key_of(rng) -> bytes:
    """Return a random key."""
    return rng.bytes(32)
