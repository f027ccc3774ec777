"""The work of `recurring` grows as the number of payments, not faster, however they are spread."""

import numpy as np
import pandas as pd
import pytest

from p2p_analytics.analyses._series import chains
from p2p_analytics.analyses.series import recurring

DAY_US, FIRST_US = 86_400_000_000, 1_300_000_000_000_000
YEARS_15 = 15 * 365
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def build(days, cents, note="x", person="1"):
    """Return settled payments on some days, with a number of the person and of the note."""
    number = len(days)
    return pd.DataFrame(
        {
            "status": "settled",
            "direction": "out",
            "amount_cents": np.broadcast_to(cents, number),
            "date_created": pd.to_datetime(FIRST_US + np.asarray(days) * DAY_US, unit="us", utc=True),
            "note": note,
            "counterparty_id": np.broadcast_to(np.asarray(person).astype(str), number),
            "counterparty_name": None,
        }
    )


def draw_words(number, words, chance):
    """Return notes of three letters, each of which occurs again and again."""
    at = chance.integers(0, words, number)
    return LETTERS[at % 26].astype(object) + LETTERS[at // 26 % 26].astype(object) + LETTERS[at // 676].astype(object)


def build_shape(shape, number):
    """Return payments that are spread in one of several ways."""
    chance, places = np.random.default_rng(1), np.arange(number)
    if shape == "of all amounts on one day, and one fifteen years before":
        days = np.append(np.full(number - 1, YEARS_15), 0)
        return build(days, chance.integers(1, 10**6, number), draw_words(number, number // 500, chance))
    if shape == "of one amount on each day of fifteen years, to many people":
        return build(places % YEARS_15, 500, person=places // YEARS_15)
    if shape == "of round amounts to one person on days at random":
        days, amounts = chance.integers(0, YEARS_15, number), chance.integers(1, 400, number) * 500
        return build(days, amounts, draw_words(number, 500, chance))
    if shape == "of weekly series with one person, each of 100 payments and another amount":
        weeks, series = places % 100, places // 100
        return build(weeks * 7 + series % 7, 1000 + 50 * series, draw_words(number, 40, chance))
    # Three weekly payments of one amount, and after half a year the next three, to many people.
    of_person = places % 90
    return build(of_person // 3 * 180 + of_person % 3 * 7, 500, person=places // 90)


SHAPES = (
    "of all amounts on one day, and one fifteen years before",
    "of one amount on each day of fifteen years, to many people",
    "of round amounts to one person on days at random",
    "of weekly series with one person, each of 100 payments and another amount",
    "in bursts",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_is_linear(monkeypatch, shape):
    """Four times the payments are at most five times the compared steps; a payment has at most some hundred."""
    work: dict[str, int] = {}
    follow, list_sets = chains._follow_steps, chains.list_candidate_sets

    def count_steps(table, *args):
        work["steps"] += int(table.sizes.sum()) * chains._REACH
        return follow(table, *args)

    def count_payments(payments):
        work["payments"] += len(payments.days)
        return list_sets(payments)

    monkeypatch.setattr(chains, "_follow_steps", count_steps)
    monkeypatch.setattr(chains, "list_candidate_sets", count_payments)
    done = []
    for number in (4_500, 18_000):
        work |= {"steps": 0, "payments": 0}
        recurring(build_shape(shape, number), as_of="2030-01-01")
        done.append((number, work["steps"], work["payments"]))
    (_, few_steps, _), (_, many_steps, _) = done
    assert many_steps <= 5 * few_steps
    assert all(number <= payments <= 30 * number and steps <= 600 * number for number, steps, payments in done)
