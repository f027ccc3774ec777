"""How many people an attacker names who knows when the user paid whom, from a public feed."""

from __future__ import annotations

from collections import Counter
from math import comb, log
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from p2p_analytics.privacy import Mask
from support.privacy.attacks import key_of

# ---- dates


class Feed(NamedTuple):
    """A user's payments, and the fields of public payments that others can read."""

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


def name_by_rows(public, masked, unit: str) -> dict[str, str]:
    """Return the names of people, by their id: where one masked payment alone is of a public one's period."""
    candidates = masked if masked["audience"].isna().all() else masked[masked["audience"] == "public"]
    when = Counter(periods(candidates["date_created"], unit))
    ids = dict(zip(periods(candidates["date_created"], unit), candidates["counterparty_id"], strict=True))
    votes: dict[str, Counter[str]] = {}
    for period, name in zip(periods(public["date_created"], unit), public["counterparty_name"], strict=True):
        if when[period] == 1:
            votes.setdefault(ids[period], Counter())[name] += 1
    return {who: names.most_common(1)[0][0] for who, names in votes.items()}


def name_by_profile(public, masked, unit: str) -> dict[str, str]:
    """Return the names of people, by their id: for each the one with the best match of public payments.

    Compared is the number of payments of each kind in each period. If the audience does not show which masked
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


ROWS, PROFILE = name_by_rows, name_by_profile


@pytest.mark.parametrize(
    ("mode", "unit", "attack", "stated"),
    [
        ("real", "us", ROWS, 0.88),
        ("days", "us", ROWS, 0.0),
        ("months", "M", PROFILE, 0.84),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in (
                ("days", "D", ROWS, 0.87), ("days", "D", PROFILE, 0.88), ("days", "all", PROFILE, 0.85),
                ("months", "M", ROWS, 0.0), ("months", "all", PROFILE, 0.31),
            )
        ),
    ],
)  # fmt: skip
def test_how_many_people_a_public_feed_names(mode: str, unit: str, attack, stated: float, record_property) -> None:
    """The rates that docs/privacy.md states: no person by instants, most people by days or months."""
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
    how = "row by row" if attack is ROWS else "by their number of payments"
    record_property("privacy", f"dates      {mode:<6} shown, joined by {by:<7}, {how:<27}: {rate:.0%} of people named")
    assert abs(rate - stated) < 0.01
