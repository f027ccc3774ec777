"""Months added up to quarters and years; expected rows are worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from p2p_analytics.plots._parts.periods import build_period_table


def month(label: str | None, sent: float, received: float, payments: int, running_net: float) -> dict[str, Any]:
    """Return a row of monthly_flow."""
    return {
        "month": label, "sent": sent, "received": received, "net": round(received - sent, 2), "payments": payments,
        "running_net": running_net,
    }  # fmt: skip


MONTHS = [
    month("2023-11", 0.1, 0.0, 1, -0.1),
    month("2023-12", 0.2, 0.0, 2, -0.3),
    month("2024-01", 5.0, 7.5, 3, 2.2),
    month("2024-03", 0.0, 1.0, 1, 3.2),
    month("2024-04", 0.0, 0.0, 0, 3.2),
    month(None, 1.0, 0.0, 1, 2.2),
]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (
            "quarter",
            [
                ("2023 Q4", 0.3, 0.0, -0.3, 3, -0.3),
                ("2024 Q1", 5.0, 8.5, 3.5, 4, 3.2),
                ("2024 Q2", 0.0, 0.0, 0.0, 0, 3.2),
                (None, 1.0, 0.0, -1.0, 1, 2.2),
            ],
        ),
        ("year", [("2023", 0.3, 0.0, -0.3, 3, -0.3), ("2024", 5.0, 8.5, 3.5, 4, 3.2), (None, 1.0, 0.0, -1.0, 1, 2.2)]),
    ],
)
def test_months_are_added_up(word: str, expected: list[tuple[Any, ...]]) -> None:
    """Sums are exact to the cent, and the running net is that of the last month; no date stays apart."""
    table = build_period_table(MONTHS, word)
    assert [tuple(row.values()) for row in table.rows] == expected
    assert (table.word, table.left_out) == (word, 0)


@pytest.mark.parametrize("word", ["month", "quarter", "year"])
def test_the_order_of_the_months_does_not_matter(word: str) -> None:
    """Mixed months give the same periods in order of time, no date last, and the running net of a period's end."""
    mixed = [MONTHS[at] for at in (2, 5, 0, 4, 1, 3)]
    assert build_period_table(mixed, word) == build_period_table(MONTHS, word)
    assert [row["running_net"] for row in build_period_table(mixed, "year").rows] == [-0.3, 3.2, 2.2]


def test_months_stay_as_they_are() -> None:
    """By month, each row of monthly_flow is a row."""
    table = build_period_table(MONTHS, "month")
    assert [(row["period"], row["sent"]) for row in table.rows] == [(row["month"], row["sent"]) for row in MONTHS]


@pytest.mark.parametrize(
    ("word", "years", "rows", "left_out"), [("year", 60, 60, 0), ("year", 61, 2, 59), ("quarter", 21, 2, 82)]
)
def test_a_long_table_leaves_out_empty_periods(word: str, years: int, rows: int, left_out: int) -> None:
    """More than 60 years, or 80 quarters, are shown without the empty ones; their number is given."""
    months = [
        month(f"{1970 + at // 12}-{at % 12 + 1:02}", 1.0, 0.0, int(at in {0, 12 * years - 1}), 0.0)
        for at in range(12 * years)
    ]
    table = build_period_table(months, word)
    assert (len(table.rows), table.left_out) == (rows, left_out)
