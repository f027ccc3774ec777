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
NAMES = ("sent", "received", "net", "payments", "running_net")
UNDATED = (None, 1.0, 0.0, -1.0, 1, 2.2)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (
            "quarter",
            [
                ("2023 Q4", 0.3, 0.0, -0.3, 3, -0.3), ("2024 Q1", 5.0, 8.5, 3.5, 4, 3.2),
                ("2024 Q2", 0.0, 0.0, 0.0, 0, 3.2), UNDATED,
            ],
        ),
        ("year", [("2023", 0.3, 0.0, -0.3, 3, -0.3), ("2024", 5.0, 8.5, 3.5, 4, 3.2), UNDATED]),
        ("month", [tuple(row[name] for name in ("month", *NAMES)) for row in MONTHS]),
    ],
)  # fmt: skip
def test_months_are_added_up(word: str, expected: list[tuple[Any, ...]]) -> None:
    """In any order; sums are exact to the cent, the running net is of the last month, and no date stays apart."""
    table = build_period_table(MONTHS, word)
    assert [tuple(row[name] for name in ("period", *NAMES)) for row in table.rows] == expected
    assert (table.word, table.left_out) == (word, 0)
    assert build_period_table([MONTHS[at] for at in (2, 5, 0, 4, 1, 3)], word) == table


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
