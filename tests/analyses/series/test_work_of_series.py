"""The work of `recurring` grows as the number of payments, not faster, however they are spread."""

import numpy as np
import pandas as pd
import pytest

from p2p_analytics.analyses._series import chains
from p2p_analytics.analyses.series import recurring
from p2p_analytics.sandbox.town import build as town
from support.analyses.towns import FEWEST, view_payments

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
    """Return notes of three letters; each occurs again and again."""
    at = chance.integers(0, words, number)
    return LETTERS[at % 26].astype(object) + LETTERS[at // 26 % 26].astype(object) + LETTERS[at // 676].astype(object)


# Payments of a number, with numbers by chance.
SHAPES = {
    "of all amounts on one day, and one fifteen years before": lambda number, chance: build(
        np.append(np.full(number - 1, YEARS_15), 0),
        chance.integers(1, 10**6, number),
        draw_words(number, number // 500, chance),
    ),
    "of one amount on each day of fifteen years, to many people": lambda number, _: build(
        np.arange(number) % YEARS_15, 500, person=np.arange(number) // YEARS_15
    ),
    "of round amounts to one person on days at random": lambda number, chance: build(
        chance.integers(0, YEARS_15, number), chance.integers(1, 400, number) * 500, draw_words(number, 500, chance)
    ),
    "of weekly series with one person, each of 100 payments and another amount": lambda number, chance: build(
        np.arange(number) % 100 * 7 + np.arange(number) // 100 % 7,
        1000 + 50 * (np.arange(number) // 100),
        draw_words(number, 40, chance),
    ),
    "of three weeks, and after half a year of the next three, to many people": lambda number, _: build(
        np.arange(number) % 90 // 3 * 180 + np.arange(number) % 3 * 7, 500, person=np.arange(number) // 90
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_is_linear(monkeypatch, shape):
    """Four times the payments are at most five times the compared steps; each payment is in six sets at most."""
    work: dict[str, int] = {}
    follow, list_sets = chains._follow_steps, chains.list_candidate_sets

    def count_steps(table, *args):
        work["steps"] += int(table.sizes.sum()) * chains._REACH
        return follow(table, *args)

    def count_payments(payments):
        found = list_sets(payments)
        work["payments"] += len(payments.days)
        work["members"] += len(found.members.values)
        return found

    monkeypatch.setattr(chains, "_follow_steps", count_steps)
    monkeypatch.setattr(chains, "list_candidate_sets", count_payments)
    done = []
    for number in (4_500, 18_000):
        work |= {"steps": 0, "payments": 0, "members": 0}
        recurring(SHAPES[shape](number, np.random.default_rng(1)), as_of="2030-01-01")
        assert work["members"] <= 6 * work["payments"]
        done.append((number, work["steps"], work["payments"]))
    (_, few_steps, _), (_, many_steps, _) = done
    assert many_steps <= 5 * few_steps
    assert all(number <= payments <= 30 * number and steps <= 600 * number for number, steps, payments in done)


def test_threads_and_the_order_of_rows_change_nothing(set_limit):
    """The series of a town, searched one cadence after another, in threads, and with the rows mixed."""
    payments = view_payments(town.build(4, series=True))
    one_by_one = recurring(payments, as_of="2026-01-01")
    assert len(one_by_one) > FEWEST
    mixed = payments.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(recurring(mixed, as_of="2026-01-01"), one_by_one)
    set_limit("threaded_payments", 0)
    pd.testing.assert_frame_equal(recurring(payments, as_of="2026-01-01"), one_by_one)
