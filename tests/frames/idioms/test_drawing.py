"""seaborn and matplotlib on a frame as loaded, on one in currency units, and on tables of the analyses.

The drawn bars, lines and cells are compared with the plain rows.
"""

from __future__ import annotations

from collections import Counter

import pytest

import p2p_analytics as p2p

pytestmark = pytest.mark.usefixtures("_figures")


@pytest.fixture
def sns():
    """Return seaborn, which takes a second to import."""
    return pytest.importorskip("seaborn")


def bar_heights(axes) -> list[float]:
    """Return the heights of the bars."""
    return [bar.get_height() for bar in axes.patches]


def bar_labels(axes) -> list[str]:
    """Return the labels of the ticks below the bars."""
    return [label.get_text() for label in axes.get_xticklabels()]


def test_seaborn_counts_only_people_in_the_rows(payments, rows, sns) -> None:
    """A count plot of a subset has a bar for each of its people, and no bar of height 0."""
    some = payments[payments["status"] == "pending"]
    axes = sns.countplot(some, x="counterparty_id")
    expected = Counter(row["counterparty_id"] for row in rows if row["status"] == "pending")
    assert dict(zip(bar_labels(axes), bar_heights(axes), strict=True)) == expected
    assert len(expected) < payments["counterparty_id"].nunique()


def test_seaborn_barplot_of_units_with_hue(payments, rows, sns) -> None:
    """The sum of amounts in currency units, by action and direction."""
    axes = sns.barplot(p2p.units(payments), x="action", y="flow", hue="direction", estimator="sum", errorbar=None)
    sums: Counter[tuple[str, str]] = Counter()
    for row in rows:
        sums[row["action"], row["direction"]] += row["flow_cents"]
    heights = sorted(round(bar.get_height() * 100) for bar in axes.patches if bar.get_height())
    assert heights == sorted(sums.values())


def test_seaborn_lineplot(payments, rows, sns) -> None:
    """The running balance over time."""
    running = payments.sort_values("date_created").assign(balance=lambda frame: frame["flow_cents"].cumsum())
    axes = sns.lineplot(running, x="date_created", y="balance", estimator=None)
    heights = axes.lines[0].get_ydata()
    assert len(heights) == len(rows)
    assert heights[-1] == sum(row["flow_cents"] for row in rows)


def test_tables_of_the_analyses_are_plotted(payments, rows, sns) -> None:
    """A finished table draws one bar per person or month, in currency units."""
    some = [row for row in rows if row["status"] == "settled"]
    spend = p2p.spend_by_friend(payments)
    axes = spend.plot.barh(x="counterparty_id", y="net", legend=False)
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(sum(row["flow_cents"] for row in some) / 100)
    axes.figure.clear()
    monthly = p2p.monthly_flow(payments)
    bars = sns.barplot(monthly, x="month", y="net", errorbar=None)
    assert bar_labels(bars) == monthly["month"].astype("str").tolist()
    assert sum(bar_heights(bars)) == pytest.approx(sum(row["flow_cents"] for row in some) / 100)
