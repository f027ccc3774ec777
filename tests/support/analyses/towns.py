"""Payments of a town as one of its people sees them, without a server; and found series against the planted ones."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from p2p_analytics.analyses.series import recurring
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town.planted import PlantedSeries, describe_series
from support.analyses.containers import make_table, to_pandas
from support.analyses.records import view_records

FEWEST = 3
NEAR = 0.12  # of the amount


class Score(NamedTuple):
    """How many series a town planted and how many of them were found right; how many were found, and are planted."""

    planted: int
    right: int
    found: int
    true: int
    errors: tuple[str, ...]


def view_payments(town: build.Town, place: int = 0) -> pd.DataFrame:
    """Return the payments of a town's person, by their place in it, with amounts without sign."""
    records = [record | {"amount_cents": abs(record["amount_cents"])} for record in view_records(town, place)]
    return to_pandas(make_table(records, {}))


def judge_town(town: build.Town, place: int = 0) -> Score:
    """Return how well `recurring` finds the series of a person with three payments or more.

    A series is found if a row has its person, direction, cadence, about its amount, and some of its time; it is right
    with the state too. Each row stands for one series.
    """
    found = recurring(view_payments(town, place), as_of=town.now).to_dict("records")
    every = describe_series(town.series, town.people[place].user_id, town.now.date())
    planted = [series for series in every if len(series.dates) >= FEWEST]
    free, errors, right = [*found], [], 0
    for series in sorted(planted, key=lambda series: -len(series.dates)):
        row = min((row for row in free if _is_alike(row, series)), key=lambda row: _distance(row, series), default=None)
        if row is not None:
            free.remove(row)
            right += row["state"] == series.state
        if row is None or row["state"] != series.state:
            errors.append(f"missed: {series.note} {series.cadence} {series.state}, {len(series.dates)} payments")
    errors += [f"not planted: {row['note']} {row['cadence']}, {row['payments']} payments" for row in free]
    return Score(len(planted), right, len(found), len(found) - len(free), tuple(errors))


def _is_alike(row: Mapping[str, Any], series: PlantedSeries) -> bool:
    texts = (row["counterparty_id"], row["direction"], row["cadence"])
    return (
        texts == (series.person, series.direction, series.cadence)
        and abs(row["amount"] * 100 - series.amount_cents) <= NEAR * series.amount_cents
        and row["first_date"].date() <= series.dates[-1]
        and row["last_date"].date() >= series.dates[0]
    )


def _distance(row: Mapping[str, Any], series: PlantedSeries) -> int:
    return abs(row["payments"] - len(series.dates))
