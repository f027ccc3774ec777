"""Days of problems of statement files, read from the values of these problems."""

from __future__ import annotations

from datetime import date

import pytest

from p2p_analytics.frames.problem_days import ProblemDays, parse_days
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, FOLLOWS_A_GAP

START, END = date(2024, 1, 31), date(2024, 3, 1)
DAYS = "2024-01-31 to 2024-03-01"


@pytest.mark.parametrize(
    ("problem", "value", "days"),
    [
        (FOLLOWS_A_GAP, f"after 'a.csv', USD, {DAYS}: 1 day is in no file", (START, END, "1 day is in no file")),
        # The name of the file before the gap looks like days.
        (FOLLOWS_A_GAP, f"after 'x, 2023-01-01 to 2023-12-31: .csv', USD, {DAYS}: {{}}", (START, END, "{}")),
        (FOLLOWS_A_GAP, f"after 'a\nb.csv', USD, {DAYS}: two\nlines", (START, END, "two\nlines")),
        (FOLLOWS_A_GAP, "after 'a.csv', USD, 2024-01-31: 1 day is in no file", None),
        (FOLLOWS_A_GAP, "after 'a.csv', USD, 2024-01-99 to 2024-03-01: 1 day is in no file", None),
        (
            DOES_NOT_ADD_UP,
            f"venmo_csv, USD, {DAYS}: differ by $1.00",
            (START, END, "differ by $1.00", "venmo_csv", "USD"),
        ),
        (DOES_NOT_ADD_UP, "venmo_csv, USD, 2024-01-31: x", (START, START, "x", "venmo_csv", "USD")),
        (DOES_NOT_ADD_UP, "venmo_csv, USD, no dates: differ by $1.00", None),
        (DOES_NOT_ADD_UP, f"after 'a.csv', USD, {DAYS}", None),
        ("strange", f"after 'a.csv', USD, {DAYS}: 1 day is in no file", None),
        (None, None, None),
        (FOLLOWS_A_GAP, float("nan"), None),
    ],
)
def test_the_days_of_a_problem(problem: object, value: object, days: tuple[object, ...] | None) -> None:
    """The last days of a gap count, a single day is both, and a value without days has none."""
    assert parse_days(problem, value) == (None if days is None else ProblemDays(*days))
