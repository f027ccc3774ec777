"""Attacks on privacy mode by strangers who know how it works, but not the key.

Amounts: the attacker looks for the secret factor and then for the amounts. Two attacks are run, arithmetic on single
amounts, and the likelihood of all amounts under the exact distribution that they were drawn from and the exact
distribution of the noise. The second attacker also knows which payments repeat one amount, and averages them.

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

from p2p_analytics import pseudonyms
from p2p_analytics.privacy import Mask
from p2p_analytics.pseudonyms import Pseudonyms

TRIALS = {15: 48, 50: 48, 150: 24, 500: 12}  # by the number of rows
FOUND = 0.005  # a factor this close turns a masked $100 into the right whole unit


# ---- people


class Person(NamedTuple):
    """The payments of one person: amounts in cents, with whom, and which of them repeat one another."""

    cents: Any
    who: Any
    repeats: Any


WHOLE = 0.5  # the share of amounts that are whole units because people choose them so


def one_amount(rng, scale: float, whole: float) -> int:
    """Return one amount as people pay them: more than half are whole units, many are a bill split by 2, 3 or 4."""
    if rng.random() < 0.015:  # jokes
        return int(rng.choice([1, 1, 10, 25, 50, 69, int(rng.integers(1, 100))]))
    kind, units = rng.random(), max(rng.lognormal(np.log(24 * scale), 1.1), 1)
    if kind < whole:
        any_unit = rng.random() < 0.35 or units < 8
        step = 1 if any_unit else 5 if units < 60 else 10 if units < 150 else 25
        return max(1, round(units / step)) * step * 100
    kind = (kind - whole) / (1 - whole)
    if kind < 0.14:
        return max(1, round(units)) * 100 + 50
    if kind < 0.30:
        return max(1, round(units)) * 100 - int(rng.choice([1, 1, 5, 51]))
    if kind < 0.80:
        bill = int(rng.lognormal(np.log(6500 * scale), 0.7))
        bill = round(bill / 100) * 100 if rng.random() < 0.3 else bill
        return max(100, round(bill / int(rng.choice([2, 2, 2, 3, 3, 4]))))
    return round(units * 100)


def person(rng, payments: int, whole: float = WHOLE) -> Person:
    """Return a person who pays a rent to one, six recurring amounts to some, and single amounts to a few or many."""
    scale, step = rng.lognormal(0, 0.5), int(rng.choice([1, 25, 50])) * 100
    rent = max(1, round(rng.lognormal(np.log(70_000), 0.35) / step)) * step
    recurring = [one_amount(rng, scale, whole) for _ in range(6)]
    rows = []
    for place in range(payments):
        kind, which = rng.random(), int(rng.integers(6))
        if kind < 0.05:
            rows.append((rent, 0, 0))
        elif kind < 0.25:
            rows.append((recurring[which], 1 + which % 5, 1 + which))
        else:
            rows.append((one_amount(rng, scale, whole), int(1 + min(11, rng.geometric(0.18))), 100 + place))
    return Person(*map(np.array, zip(*rows, strict=True)))


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


@cache
def population(whole: float = WHOLE) -> tuple[Any, Any]:
    """Return the amounts that people pay, and how likely each is, from people of whom none is attacked."""
    rng = np.random.default_rng(1)
    amounts, counts = np.unique(np.concatenate([person(rng, 40, whole).cents for _ in range(4000)]), return_counts=True)
    often = counts > 2
    return amounts[often], counts[often] / counts[often].sum()


def by_arithmetic(masked, factors: tuple[float, float]) -> tuple[float, Any]:
    """Return the factor under which the masked amounts come from the likeliest ones, and these: no noise is expected.

    Candidates are the factors that make some amount a whole number of units.
    """
    amounts, chances = population()
    likely = np.full(amounts.max() + 2, -14.0)
    likely[amounts] = np.log(chances)
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


_STEP = 0.002  # of the logarithms that candidates and amounts are compared in
_LOW, _HIGH = np.log(1), np.log(5e6)
_DRAWS = 60


class Likelihood:
    """An attacker who knows the distributions of amounts and noise, and averages payments that repeat one amount."""

    def __init__(self, whole: float = WHOLE) -> None:
        self.amounts, self.chances = population(whole)
        self.logs = np.log(self.amounts)
        self.reach = pseudonyms._NOISE_OF_PAYMENT * np.minimum(
            1, (pseudonyms._SMALL_CENTS / self.amounts) ** pseudonyms._FALL
        )
        self.grid = np.arange(np.log(pseudonyms._FACTORS[0][0]), np.log(pseudonyms._FACTORS[1][1]), _STEP)
        self.grid = self.grid[(self.grid < np.log(pseudonyms._FACTORS[0][1])) | (self.grid > np.log(1.25))]
        self.densities = {count: self._density(count) for count in (1, 2, 4, 10, 30)}

    def _density(self, count: int) -> Any:
        """Return the logarithm of the density of the logarithm of masked amounts that are the mean of so many."""
        rng = np.random.default_rng(3)
        cells = np.zeros(int((_HIGH - _LOW) / _STEP))
        for shared, own in zip(
            rng.uniform(-1, 1, _DRAWS), rng.uniform(-1, 1, (count, _DRAWS)).mean(axis=0), strict=True
        ):
            moved = self.logs + np.log1p(pseudonyms._NOISE_OF_AMOUNT * shared + self.reach * own)
            np.add.at(cells, ((moved - _LOW) / _STEP).astype(int).clip(0, len(cells) - 1), self.chances / _DRAWS)
        smooth = np.convolve(cells, np.ones(3) / 3, "same")
        return np.log(0.97 * smooth / _STEP + 0.03 / (_HIGH - _LOW))

    def factor(self, means, counts) -> Any:
        """Return how likely each candidate factor is."""
        total = np.zeros(len(self.grid))
        for count in set(counts):
            density = self.densities[count]
            cells = ((means[counts == count][:, None] - self.grid - _LOW) / _STEP).astype(int)
            total += density[cells.clip(0, len(density) - 1)].sum(axis=0)
        chances = np.exp(total - total.max())
        return chances / chances.sum()

    def amount(self, mean: float, count: int, factors) -> int:
        """Return the likeliest amount behind a masked one, over some factors and how likely each is."""
        weights = np.zeros(len(self.amounts))
        for factor, chance in factors:
            near = slice(*np.searchsorted(self.logs, [mean - factor - 0.5, mean - factor + 0.9]))
            off = np.expm1(mean - factor - self.logs[near])
            spread = np.sqrt((pseudonyms._NOISE_OF_AMOUNT**2 + self.reach[near] ** 2 / count) / 3)
            possible = np.abs(off) < pseudonyms._NOISE_OF_AMOUNT + self.reach[near] + 0.01
            weights[near] += chance * self.chances[near] / spread * np.exp(-0.5 * (off / spread) ** 2) * possible
        return int(self.amounts[weights.argmax()]) if weights.max() else 0

    def noise(self, cents, masked) -> Any:
        """Return how well each candidate factor explains what is masked of an amount that is known."""
        off = np.expm1(np.log(masked / cents) - self.grid)
        reach = pseudonyms._NOISE_OF_PAYMENT * min(1, (pseudonyms._SMALL_CENTS / cents) ** pseudonyms._FALL)
        spread = np.sqrt((pseudonyms._NOISE_OF_AMOUNT**2 + reach**2) / 3)
        possible = np.abs(off) < pseudonyms._NOISE_OF_AMOUNT + reach + 1 / cents
        return np.where(possible, np.exp(-0.5 * (off / spread) ** 2), 1e-9)

    def attack(self, payments: Person, masked, known: int = 0, factor: float = 0) -> tuple[float, float]:
        """Return the likeliest factor and the share of amounts recovered, where some payments or the factor are known.

        Payments that are known count neither way.
        """
        _, first, which, size = np.unique(payments.repeats, return_index=True, return_inverse=True, return_counts=True)
        means = np.log(np.bincount(which, masked) / size)
        counts = np.array([max(count for count in self.densities if count <= many) for many in size])
        if not factor:
            chances = self.factor(means, counts)
            for place in range(known):
                chances = chances * self.noise(payments.cents[place], masked[place])
            chances /= chances.sum()
            best = float(np.exp(self.grid[chances.argmax()]))
            parts = np.array_split(np.arange(len(self.grid)), len(self.grid) // 8)
            together = [(float(self.grid[part].mean()), float(chances[part].sum())) for part in parts]
            factors = sorted(together, key=lambda pair: -pair[1])[:12]
        else:
            best, factors = factor, [(float(np.log(factor)), 1.0)]
        guesses = [self.amount(mean, count, factors) for mean, count in zip(means, counts, strict=True)]
        right = (np.array(guesses) == payments.cents[first])[which]
        return best, float(right[known:].mean())


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


@pytest.mark.parametrize("attack", ["arithmetic", "likelihood"])
def test_the_factor_is_not_found(attack: str, record_property) -> None:
    """In fewer than 5 % of trials, and fewer than 10 % of amounts are recovered to the cent."""
    likelihood = Likelihood()
    found, shares = 0, []
    for size, trials in TRIALS.items():
        found_here, shares_here = 0, []
        for trial in range(trials):
            rng = np.random.default_rng(10_000 * size + trial)
            payments, key = person(rng, size), key_of(rng)
            masked = masked_cents(payments.cents, key)
            if attack == "arithmetic":
                guess, amounts = by_arithmetic(masked, (pseudonyms._FACTORS[0][0], pseudonyms._FACTORS[1][1]))
                share = (amounts == payments.cents).mean()
            else:
                guess, share = likelihood.attack(payments, masked)
            found_here += is_found(guess, Pseudonyms(key)._factor)
            shares_here.append(share)
        record_property(
            "privacy",
            f"amounts 1  masked, {attack:<10}, {size:>3} rows: factor found in {found_here} of {trials} trials, "
            f"{np.mean(shares_here):.1%} of amounts to the cent",
        )
        found += found_here
        shares += shares_here
    assert found < 0.05 * sum(TRIALS.values())
    assert np.mean(shares) < 0.10


def test_amounts_of_people_who_like_whole_units_are_guessed_more(record_property) -> None:
    """Where people choose a whole unit for three amounts in four, more of them are guessed: the factor is not found."""
    likelihood = Likelihood(whole=0.75)
    found, shares = 0, []
    for trial in range(TRIALS[50]):
        rng = np.random.default_rng(55_000 + trial)
        payments, key = person(rng, 50, whole=0.75), key_of(rng)
        guess, share = likelihood.attack(payments, masked_cents(payments.cents, key))
        found += is_found(guess, Pseudonyms(key)._factor)
        shares.append(share)
    common = likelihood.chances.max()
    record_property(
        "privacy",
        f"amounts 3  masked, likelihood,  50 rows, people with 75 % whole units: factor found in {found} of "
        f"{TRIALS[50]} trials, {np.mean(shares):.0%} to the cent; the commonest amount is {common:.0%}",
    )
    assert found < 0.05 * TRIALS[50]
    assert np.mean(shares) < 0.20


def test_what_is_known_helps_only_so_far(record_property) -> None:
    """Known payments, and even the factor itself, leave most amounts unknown to the cent."""
    likelihood = Likelihood()
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
            "privacy", f"amounts 2  masked, likelihood, 150 rows, {name} known: {np.mean(found):.0%} to the cent"
        )
    assert np.mean(shares["one payment"]) < np.mean(shares["the factor"]) < 0.35


def test_sums_of_ten_payments_or_more_keep_their_proportions(record_property) -> None:
    """By person and by stretches of time, 95 % of them are within 5 % of the real sum times the factor."""
    off = []
    for trial in range(60):
        rng = np.random.default_rng(500 + trial)
        payments, key = person(rng, 300), key_of(rng)
        masked = masked_cents(payments.cents, key)
        groups = [payments.who == who for who in set(payments.who)]
        groups += [np.arange(300) // length == part for length in (10, 20, 40, 300) for part in range(300 // length)]
        off += [
            abs(masked[group].sum() / (payments.cents[group].sum() * Pseudonyms(key)._factor) - 1)
            for group in groups
            if group.sum() >= 10
        ]
    within = np.mean(np.array(off) < 0.05)
    record_property(
        "privacy",
        f"sums       of ten payments or more: {within:.1%} within 5 %, "
        f"99 % within {np.quantile(off, 0.99):.1%}, all within {max(off):.0%} ({len(off):,} sums)",
    )
    assert within > 0.95
    assert np.quantile(off, 0.5) < 0.02


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
