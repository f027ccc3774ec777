"""Attacks on privacy mode by strangers who know how it works, but not the key.

Amounts: the attacker looks for the secret factor and then for the amounts. Three attacks are run: arithmetic on single
amounts; the likelihood of all amounts under the exact distribution that they were drawn from and the exact distribution
of the noise; and the same jointly with the scale of the person's spending, which is the strongest. The attackers by
likelihood also know which payments repeat one amount, and average them.

Dates: the attacker has the public payments of the same user, with names, and matches them with the masked ones, row by
row and by how many payments each person has in each period.

Everything is drawn from fixed seeds, so the figures are the same in each run.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import comb, log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from p2p_analytics.privacy import Mask, _pseudonyms
from p2p_analytics.privacy._pseudonyms import Pseudonyms

TRIALS = {15: 48, 50: 48, 150: 24, 500: 12}  # by the number of rows
JOINT_SCALES = 13
LIMITS_WHOLE = {0.65: 0.14, 0.75: 0.18}
# The share of sums of ten payments that are within 5 %, by the range of the payments in units, as the README states.
SUMS_OF_TEN = {(3, 8): 0.3, (10, 30): 0.3, (30, 100): 0.6, (100, 300): 0.94, (500, 1500): 1.0}
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


def masked_cents(cents, key: bytes) -> Any:
    """Return amounts as the payments of a masked history show them."""
    frame = pd.DataFrame({"payment_id": [f"{place}" for place in range(len(cents))], "amount_cents": cents})
    masked = Mask(key).frame(frame).set_index("payment_id")["amount_cents"]
    return masked[[Pseudonyms(key).identifier(text) for text in frame["payment_id"]]].to_numpy()


def old_scheme(cents, rng) -> tuple[Any, float]:
    """Return amounts as they were masked before there was noise, and the factor: kept here so that attacks succeed."""
    low, high = ((0.6, 0.85), (1.2, 1.7))[int(rng.integers(2))]
    factor = rng.uniform(low, high)
    return np.round(cents * factor).astype(int), factor


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
        return np.maximum(0, np.minimum(off + shared, own) - np.maximum(off - shared, -own)) / (4 * shared * own)
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
        everybody = np.array([population(whole, None if at is None else float(np.exp(at))) for at in logs])
        self.prior = np.exp(-0.5 * np.linspace(-2.5, 2.5, scales) ** 2) if scales > 1 else np.ones(1)
        chance = self.prior @ everybody / self.prior.sum()
        self.amounts = np.flatnonzero(chance > 2e-5)  # rarer ones are never the best guess
        self.chances, self.logs = everybody[:, self.amounts], np.log(self.amounts)
        self.grid = np.arange(np.log(_pseudonyms._FACTORS[0][0]), np.log(_pseudonyms._FACTORS[1][1]), _STEP)
        gap = np.log([_pseudonyms._FACTORS[0][1], _pseudonyms._FACTORS[1][0]])
        self.grid = self.grid[(self.grid < gap[0]) | (self.grid > gap[1])]
        cells = (np.log(np.arange(1, _LARGEST)) / _STEP).astype(int)
        masses = np.array([np.bincount(cells, chances[1:], _CELLS) for chances in everybody])
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
        near = slice(*np.searchsorted(self.logs, [mean - factors.max() - 0.6, mean - factors.min() + 1.1]))
        moved = np.exp(mean - factors[:, None] - self.logs[near])
        weights = (chances[:, near] * moved * noise(moved - 1, self.amounts[near], count)).sum(axis=0)
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


@cache
def joint_attack() -> Likelihood:
    """Return the strongest attacker, who estimates the factor and the scale of spending together."""
    return Likelihood(scales=JOINT_SCALES)


def is_found(guess: float, factor: float) -> bool:
    """Return whether a guess is close enough to turn masked amounts back."""
    return abs(log(guess / factor)) < FOUND


def key_of(rng) -> bytes:
    """Return a random key."""
    return rng.bytes(32)


# ---- amounts


def test_arithmetic_finds_the_factor_of_amounts_without_noise(record_property) -> None:
    """So the attack is a real one: 15 rows are enough for it, as they were before there was noise."""
    found, shares = 0, []
    for trial in range(TRIALS[15]):
        rng = np.random.default_rng(1000 + trial)
        payments = person(rng, 15)
        masked, factor = old_scheme(payments.cents, rng)
        guess, amounts = by_arithmetic(masked, (0.6, 1.7))
        found += is_found(guess, factor)
        shares.append((amounts == payments.cents).mean())
    record_property(
        "privacy",
        f"amounts 0  one factor without noise, arithmetic, {15:>3} rows: "
        f"factor found in {found} of {TRIALS[15]} trials, {np.mean(shares):.0%} of amounts to the cent",
    )
    assert found > 0.7 * TRIALS[15]
    assert np.mean(shares) > 0.6


def attack_histories(likelihood: Likelihood | None, size: int, trials: int, whole: float = WHOLE) -> tuple[int, Any]:
    """Return in how many histories the factor was found, and for each the share of amounts recovered to the cent."""
    found, shares = 0, []
    for trial in range(trials):
        rng = np.random.default_rng([size, trial])
        payments, key = person(rng, size, whole), key_of(rng)
        masked = masked_cents(payments.cents, key)
        if likelihood:
            guess, share = likelihood.attack(payments, masked)
        else:
            guess, amounts = by_arithmetic(masked, (_pseudonyms._FACTORS[0][0], _pseudonyms._FACTORS[1][1]))
            share = (amounts == payments.cents).mean()
        found += is_found(guess, Pseudonyms(key)._factor)
        shares.append(share)
    return found, np.array(shares)


def standard_error(shares) -> float:
    """Return the standard error of a mean over histories."""
    return float(shares.std(ddof=1) / np.sqrt(len(shares)))


@pytest.mark.parametrize(("attack", "sizes"), [("arithmetic", [15, 50]), ("joint", TRIALS)])
def test_the_factor_is_not_found(attack: str, sizes, record_property) -> None:
    """In fewer than 5 % of trials, and fewer than 10 % of amounts are recovered to the cent.

    Both hold with two standard errors to spare, so that they do not depend on the seeds. For no number of rows is the
    share of amounts above 10 % by more than its standard error.
    """
    likelihood = None if attack == "arithmetic" else joint_attack()
    found, shares = 0, []
    for size in sizes:
        trials = TRIALS[size]
        found_here, shares_here = attack_histories(likelihood, size, trials)
        record_property(
            "privacy",
            f"amounts 1  masked, {attack:<10}, {size:>3} rows: factor found in {found_here} of {trials} trials, "
            f"{shares_here.mean():.1%} of amounts to the cent (standard error {standard_error(shares_here):.1%})",
        )
        assert shares_here.mean() - standard_error(shares_here) < 0.10
        found += found_here
        shares.append(shares_here)
    pooled = np.concatenate(shares)
    rate = found / len(pooled)
    record_property(
        "privacy",
        f"amounts 1  masked, {attack:<10}, all      : factor found in {rate:.1%} of trials, "
        f"{pooled.mean():.1%} of amounts to the cent (standard error {standard_error(pooled):.1%})",
    )
    assert rate + 2 * np.sqrt(max(rate, 0.01) * (1 - rate) / len(pooled)) < 0.05
    assert pooled.mean() + 2 * standard_error(pooled) < 0.10


def test_the_joint_attack_is_the_stronger_one(record_property, monkeypatch) -> None:
    """With weak noise it recovers more amounts of the same histories than the attack on single amounts does."""
    monkeypatch.setattr(_pseudonyms, "_NOISE_OF_PAYMENT", 0.1)
    shares = {scales: attack_histories(Likelihood(scales=scales), 50, 12)[1] for scales in (1, JOINT_SCALES)}
    gain = shares[JOINT_SCALES] - shares[1]
    record_property(
        "privacy",
        f"amounts 0  with weak noise,  50 rows: likelihood {shares[1].mean():.0%} of amounts to the cent, "
        f"joint {shares[JOINT_SCALES].mean():.0%}",
    )
    assert shares[1].mean() > 0.15
    assert gain.mean() > 0


@pytest.mark.parametrize("whole", [0.65, 0.75])
def test_amounts_of_people_who_like_whole_units_are_guessed_more(whole: float, record_property) -> None:
    """Where people choose more whole units, more amounts are guessed: the limit of 10 % is not claimed for them."""
    likelihood = Likelihood(whole, JOINT_SCALES)
    found, shares = attack_histories(likelihood, 50, TRIALS[50], whole)
    record_property(
        "privacy",
        f"amounts 3  masked, joint     ,  50 rows, people with {whole:.0%} whole units: factor found in {found} of "
        f"{len(shares)} trials, {shares.mean():.1%} of amounts to the cent (standard error "
        f"{standard_error(shares):.1%}); the commonest amount is {population(whole).max():.1%}",
    )
    assert population(whole).max() < shares.mean() < LIMITS_WHOLE[whole]


def test_what_is_known_helps_only_so_far(record_property) -> None:
    """Known payments, and even the factor itself, leave most amounts unknown to the cent."""
    likelihood = joint_attack()
    shares: dict[str, list[float]] = {"one payment": [], "ten payments": [], "the factor": []}
    for trial in range(TRIALS[150]):
        rng = np.random.default_rng(77_000 + trial)
        payments, key = person(rng, 150), key_of(rng)
        masked = masked_cents(payments.cents, key)
        for name, known, factor in (
            ("one payment", 1, 0),
            ("ten payments", 10, 0),
            ("the factor", 0, Pseudonyms(key)._factor),
        ):
            shares[name].append(likelihood.attack(payments, masked, known, factor)[1])
    for name, found in shares.items():
        record_property(
            "privacy", f"amounts 2  masked, joint     , 150 rows, {name} known: {np.mean(found):.0%} to the cent"
        )
    assert np.mean(shares["one payment"]) < np.mean(shares["the factor"]) < 0.35


@pytest.mark.parametrize(("low", "high"), SUMS_OF_TEN)
def test_how_near_sums_of_ten_payments_are(low: int, high: int, record_property) -> None:
    """Ten payments of $100 or more are within 5 % of the real sum times the factor; smaller ones by the stated rate."""
    off = []
    for trial in range(400):
        rng = np.random.default_rng([low, trial])
        cents, kinds = rng.integers(100 * low, 100 * high + 1, 10), Pseudonyms(key_of(rng))
        masked = sum(kinds.cents(int(amount), f"{place}") for place, amount in enumerate(cents))
        off.append(abs(masked / (cents.sum() * kinds._factor) - 1))
    within, expected = np.mean(np.array(off) < 0.05), SUMS_OF_TEN[low, high]
    record_property(
        "privacy",
        f"sums 1     of ten payments of ${low:>3} to ${high:>5,}: {within:.0%} within 5 %, half within "
        f"{np.quantile(off, 0.5):.1%}, 95 % within {np.quantile(off, 0.95):.0%}, all within {max(off):.0%}",
    )
    assert abs(within - expected) < 0.06


def test_how_near_sums_of_a_history_are(record_property) -> None:
    """By person and by stretches of time: most sums of a hundred payments or more are within 5 %."""
    off: dict[int, list[float]] = {10: [], 30: [], 100: []}
    for trial in range(60):
        rng = np.random.default_rng(500 + trial)
        payments, key = person(rng, 300), key_of(rng)
        masked = masked_cents(payments.cents, key)
        groups = [payments.who == who for who in set(payments.who)]
        groups += [np.arange(300) // length == part for length in (10, 20, 40, 300) for part in range(300 // length)]
        for group in groups:
            size = max((least for least in off if least <= group.sum()), default=0)
            if size:
                real = payments.cents[group].sum() * Pseudonyms(key)._factor
                off[size].append(abs(masked[group].sum() / real - 1))
    for size, here in off.items():
        record_property(
            "privacy",
            f"sums 2     of a history, {size:>3} payments or more: {np.mean(np.array(here) < 0.05):.0%} within 5 %, "
            f"half within {np.quantile(here, 0.5):.1%}, 95 % within {np.quantile(here, 0.95):.0%}, all within "
            f"{max(here):.0%} ({len(here):,} sums)",
        )
    assert np.mean(np.array(off[100]) < 0.05) > 0.9


def test_the_mean_of_many_equal_payments_is_not_their_amount() -> None:
    """A rent that was paid sixty times: its mean times the inverse of the factor is off by up to 4 %, by the key."""
    off = []
    for trial in range(60):
        key = key_of(np.random.default_rng(trial))
        rents = masked_cents(np.full(60, 85_000), key)
        assert len(set(rents)) > 50
        off.append(rents.mean() / (85_000 * Pseudonyms(key)._factor) - 1)
    assert np.mean(np.abs(off) < 0.001) < 0.1
    assert 0.03 < np.max(np.abs(off)) < 0.05


# ---- dates


class Feed(NamedTuple):
    """A user's payments, and what others can read of those that are public."""

    payments: pd.DataFrame
    public: pd.DataFrame


def feed(rng) -> Feed:
    """Return three years of payments with fifteen people, some often and some once, of which a fifth are public."""
    often = rng.lognormal(0, 1.2, 15)
    rows = 450
    who = np.concatenate([np.arange(15), rng.choice(15, rows - 15, p=often / often.sum())])
    start = pd.Timestamp("2021-01-01", tz="UTC").value // 1000
    created_us = start + rng.integers(0, 3 * 365 * 86_400_000_000, rows)
    notes = np.array(["🍕", "rent", "dinner", "taxi", "thanks", "groceries", "drinks", "tickets"])
    frame = pd.DataFrame(
        {
            "payment_id": [f"{number}" for number in range(rows)],
            "status": "settled",
            "action": rng.choice(["pay", "charge"], rows, p=[0.6, 0.4]),
            "note": rng.choice(notes, rows),
            "audience": rng.choice(["public", "friends", "private"], rows, p=[0.2, 0.5, 0.3]),
            "date_created": pd.to_datetime(created_us, unit="us", utc=True).astype("datetime64[us, UTC]"),
            "direction": rng.choice(["in", "out"], rows),
            "counterparty_id": [f"10000000000000000{number:02d}" for number in who],
            "counterparty_name": [f"Person {number}" for number in who],
            "created_us": pd.array(created_us, "Int64"),
        }
    )
    frame = frame.sort_values("date_created", ascending=False).reset_index(drop=True)
    shown = ["counterparty_name", "date_created", "action", "direction", "note"]
    return Feed(frame, frame.loc[frame["audience"] == "public", shown].reset_index(drop=True))


def periods(dates, unit: str) -> Any:
    """Return dates to the microsecond, the day or the month, or one period for all."""
    if unit == "all":
        return np.full(len(dates), "all")
    return dates.dt.tz_localize(None).to_numpy().astype(f"datetime64[{unit}]").astype(str)


def named_by_rows(public, masked, unit: str) -> dict[str, str]:
    """Return the names of people, by their id: where one masked payment alone is of a public one's period."""
    candidates = masked if masked["audience"].isna().all() else masked[masked["audience"] == "public"]
    when = Counter(periods(candidates["date_created"], unit))
    ids = dict(zip(periods(candidates["date_created"], unit), candidates["counterparty_id"], strict=True))
    votes: dict[str, Counter[str]] = {}
    for period, name in zip(periods(public["date_created"], unit), public["counterparty_name"], strict=True):
        if when[period] == 1:
            votes.setdefault(ids[period], Counter())[name] += 1
    return {who: names.most_common(1)[0][0] for who, names in votes.items()}


def named_by_profile(public, masked, unit: str) -> dict[str, str]:
    """Return the names of people, by their id: each the one whose public payments fit best.

    Compared is the number of payments of each kind in each period. Where the audience does not tell which masked
    payments are public, each of them is with the same chance.
    """
    hidden = masked["audience"].isna().all()
    candidates = masked if hidden else masked[masked["audience"] == "public"]
    chance = min(0.99, len(public) / len(candidates))

    def counts(frame, column: str) -> dict[str, Counter[Any]]:
        found: dict[str, Counter[Any]] = {}
        kinds = zip(periods(frame["date_created"], unit), frame["action"], frame["direction"], strict=True)
        for who, kind in zip(frame[column], kinds, strict=True):
            found.setdefault(who, Counter())[kind] += 1
        return found

    people, names = counts(candidates, "counterparty_id"), counts(public, "counterparty_name")

    def fit(person: Counter[Any], name: Counter[Any]) -> float:
        total = 0.0
        for kind in {*person, *name}:
            has, shows = person[kind], name[kind]
            possible = shows <= has
            total += log(comb(has, shows) * chance**shows * (1 - chance) ** (has - shows)) if possible else -10.0
        return total

    # The best pair first; each name and each person once.
    fits = sorted(((fit(people[who], names[name]), who, name) for who in people for name in names), reverse=True)
    given: dict[str, str] = {}
    for _, who, name in fits:
        if who not in given and name not in given.values():
            given[who] = name
    return given


@pytest.mark.parametrize(
    ("mode", "unit", "attack"),
    [
        ("real", "us", named_by_rows),
        ("days", "us", named_by_rows),
        ("days", "D", named_by_rows),
        ("days", "D", named_by_profile),
        ("days", "all", named_by_profile),
        ("months", "M", named_by_rows),
        ("months", "M", named_by_profile),
        ("months", "all", named_by_profile),
    ],
)
def test_how_many_people_a_public_feed_names(mode: str, unit: str, attack, record_property) -> None:
    """By instants fewer than a tenth; by day and by month the rates at the end of the run, which the README states."""
    rates = []
    for trial in range(12):
        rng = np.random.default_rng(900 + trial)
        real = feed(rng)
        mask = Mask(key_of(rng), strict=mode == "months")
        masked = real.payments if mode == "real" else mask.frame(real.payments)
        truth = {
            who if mode == "real" else mask._pseudonyms.identifier(who): name
            for who, name in zip(real.payments["counterparty_id"], real.payments["counterparty_name"], strict=True)
        }
        assert len(truth) == 15
        rates.append(sum(truth[who] == name for who, name in attack(real.public, masked, unit).items()) / len(truth))
    rate = np.mean(rates)
    by = {"us": "instant", "D": "day", "M": "month", "all": "nothing"}[unit]
    how = "row by row" if attack is named_by_rows else "by their number of payments"
    record_property("privacy", f"dates      {mode:<6} shown, joined by {by:<7}, {how:<27}: {rate:.0%} of people named")
    if unit == "us":
        assert (rate > 0.6) == (mode == "real")
        assert (rate < 0.1) == (mode != "real")
