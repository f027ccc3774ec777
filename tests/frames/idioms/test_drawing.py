"""seaborn and matplotlib on a frame as loaded, on one in currency units, and on tables of the analyses.

The drawn bars, lines and cells are compared with the plain rows.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean

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


def test_seaborn_barplot(payments, rows, sns) -> None:
    """Mean flow by status."""
    axes = sns.barplot(payments, x="status", y="flow_cents", errorbar=None)
    expected = {
        status: fmean(row["flow_cents"] for row in rows if row["status"] == status)
        for status in dict.fromkeys(row["status"] for row in rows)
    }
    assert dict(zip(bar_labels(axes), bar_heights(axes), strict=True)) == pytest.approx(expected)


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


def test_seaborn_histplot(payments, rows, sns) -> None:
    """The counts of the bins add up, for cents and for dates."""
    for name in ("amount_cents", "date_created"):
        axes = sns.histplot(payments, x=name, bins=12)
        assert sum(bar_heights(axes)) == len(rows)
        axes.figure.clear()


def test_seaborn_heatmap(payments, rows, sns) -> None:
    """Payments by weekday and hour as cells."""
    when = payments["date_created"].dt
    table = payments.groupby([when.day_of_week.rename("day"), when.hour.rename("hour")]).size().unstack(fill_value=0)
    axes = sns.heatmap(table)
    assert axes.collections[0].get_array().sum() == len(rows)


@pytest.mark.filterwarnings("ignore:vert. bool was deprecated")  # by seaborn's own call of matplotlib
def test_seaborn_boxplot_and_scatterplot(payments, rows, sns) -> None:
    """Boxes by word; a point for each payment, coloured by direction."""
    boxes = sns.boxplot(payments, x="direction", y="amount_cents")
    assert sorted(bar_labels(boxes)) == ["in", "out"]
    boxes.figure.clear()
    points = sns.scatterplot(payments, x="date_created", y="flow_cents", hue="direction")
    assert len(points.collections[0].get_offsets()) == len(rows)
    assert sorted(text.get_text() for text in points.get_legend().get_texts()) == ["in", "out"]


def test_seaborn_facets(payments, rows, sns) -> None:
    """One panel for each word of a column that the rows hold."""
    grid = sns.displot(payments, x="flow_cents", col="direction", bins=5)
    assert sorted(grid.axes_dict) == ["in", "out"]
    assert sum(bar_heights(grid.axes_dict["in"])) == sum(row["direction"] == "in" for row in rows)


def test_pandas_bar_plot_of_groups(payments, rows) -> None:
    """`plot.bar` of sums by person."""
    axes = payments.groupby("counterparty_id")["flow_cents"].sum().plot.bar()
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["counterparty_id"]] += row["flow_cents"]
    assert dict(zip(bar_labels(axes), bar_heights(axes), strict=True)) == sums


def test_pandas_line_and_histogram(payments, rows) -> None:
    """`plot` over dates, `plot.hist`, and `plot.scatter` of units."""
    oldest_first = payments.set_index("date_created").sort_index()
    line = oldest_first["flow_cents"].cumsum().plot()
    assert line.lines[0].get_ydata()[-1] == sum(row["flow_cents"] for row in rows)
    line.figure.clear()
    histogram = payments["flow_cents"].plot.hist(bins=7)
    assert sum(bar_heights(histogram)) == len(rows)
    histogram.figure.clear()
    points = p2p.units(payments).plot.scatter(x="amount", y="flow")
    assert points.collections[0].get_offsets()[:, 1].sum() == pytest.approx(
        sum(row["flow_cents"] for row in rows) / 100
    )


def test_pandas_pie_and_stacked_bars(payments, rows) -> None:
    """A pie of statuses, and stacked bars of a pivot table."""
    pie = payments["status"].value_counts().plot.pie()
    assert len(pie.patches) == len({row["status"] for row in rows})
    pie.figure.clear()
    table = payments.assign(year=payments["date_created"].dt.year)
    axes = table.pivot_table(index="year", columns="direction", values="payment_id", aggfunc="count").plot.bar(
        stacked=True
    )
    assert sum(bar_heights(axes)) == len(rows)


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
