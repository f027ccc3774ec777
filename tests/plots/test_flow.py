"""Money received and sent by month, quarter and year: bars, labels and remarks worked out by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError
from support.plots.axes import assert_labels_apart, list_bars, list_places
from support.plots.tables import TABLES

TABLE = TABLES["monthly_flow"]


def _months(first: str, months: int, **columns: Any) -> pd.DataFrame:
    names = pd.period_range(first, periods=months, freq="M").astype(str)
    return pd.DataFrame({"month": names, "sent": 0.1, "received": 0.3, "net": 0.2, **columns})


def test_monthly_flow_around_zero() -> None:
    """Bars of received money go up and of sent money down, the net is a line; an unknown month is labelled so."""
    ax = plots.monthly_flow(TABLE)
    assert list_bars(ax, "height") == [20.0, 3000.0, 0.0, -100.25, 0.0, -50.0]
    assert list(ax.lines[0].get_ydata()) == [-80.25, 3000.0, -50.0]
    assert list_places(ax) == ["Dec\n2023", "Jan\n2024", "no\ndate"]


def test_the_order_of_the_rows_does_not_matter() -> None:
    """A table in another order is drawn in order of time, with the same years and remark."""
    ax = plots.monthly_flow(TABLE.iloc[[2, 1, 0]], period="year")
    assert list_places(ax) == ["2023", "2024", "no\ndate"]
    assert list_bars(ax, "height") == [20.0, 3000.0, 0.0, -100.25, 0.0, -50.0]
    assert ax.get_xlabel() == "2023 from Dec; 2024 up to Jan"


def test_an_outlier_month_does_not_lengthen_the_plot() -> None:
    """If the range of months is very long, only months with money are drawn, and the axis says so."""
    table = pd.concat([_months("1970-01", 2760, sent=0.0, received=0.0, net=0.0), TABLE[2:].assign(sent=5.0)])
    table.iloc[[0, 600, 601, 612], 1] = 5.0
    ax = plots.monthly_flow(table)
    assert list_bars(ax, "height") == [0.0] * 5 + [-5.0] * 5
    assert ax.get_xlabel() == "Months without payments are left out"
    assert list_places(ax) == ["1970", "2020", "2021", "no\ndate"]


def test_the_line_does_not_cross_years_without_payments() -> None:
    """Of eleven empty months there are points at 0, of twelve none; the only point after these has a marker."""
    flows = [5.0, *[0.0] * 11, 5.0, *[0.0] * 12, 5.0]
    line = plots.monthly_flow(_months("2020-01", len(flows), sent=0.0, received=flows, net=flows)).lines[0]
    assert [None if y != y else y for y in line.get_ydata()] == [*flows[:13], *[None] * 12, 5.0]  # noqa: PLR0124
    assert (line.get_marker(), line.get_markevery()) == (".", [25])


@pytest.mark.parametrize(
    ("months", "labels"),
    [
        (14, "May+2019 Jun Jul Aug Sep Oct Nov Dec Jan+2020 Feb Mar Apr May Jun"),
        (18, "Jul+2019 Oct Jan+2020 Apr Jul Oct"),
        (48, "2020 2021 2022 2023"),
    ],
)
def test_month_labels_have_room(months: int, labels: str) -> None:
    """Few months are all labelled, more of them by quarter, many by year."""
    assert list_places(plots.monthly_flow(_months("2019-05", months))) == labels.replace("+", "\n").split(" ")


def test_years_add_up_their_months() -> None:
    """More than twelve years are drawn by year; the axis says which years are not whole, and no date stays apart."""
    ax = plots.monthly_flow(pd.concat([_months("2009-05", 180), TABLE[2:]]))
    assert ax.get_title(loc="left") == "Money received and sent, year by year"
    assert list_bars(ax, "height") == [2.4, *[3.6] * 14, 1.2, 0.0, -0.8, *[-1.2] * 14, -0.4, -50.0]
    assert ax.get_xlabel() == "2009 from May; 2024 up to Apr"
    assert list_places(ax) == ["2010", "2012", "2014", "2016", "2018", "2020", "2022", "no\ndate"]
    assert plots.monthly_flow(_months("2009-01", 180)).get_xlabel() == ""


@pytest.mark.parametrize(
    ("months", "word"), [(1, "month"), (48, "month"), (49, "quarter"), (144, "quarter"), (145, "year"), (720, "year")]
)
def test_the_span_decides_the_period(months: int, word: str) -> None:
    """There are at most 48 bars of months or quarters; the numbers of months are from the first of January on."""
    ax = plots.monthly_flow(_months("2000-01", months))
    assert ax.get_title(loc="left") == f"Money received and sent, {word} by {word}"
    assert len(ax.containers[0]) == -(-months // {"month": 1, "quarter": 3, "year": 12}[word])


def test_the_period_can_be_given() -> None:
    """A caller chooses the period; an unknown one is refused with the known ones."""
    table = _months("2023-11", 6)
    assert list_places(plots.monthly_flow(table, period="quarter")) == ["Q4\n2023", "Q1\n2024", "Q2"]
    alone = plots.monthly_flow(TABLE[2:], period="year")
    assert (list_places(alone), alone.get_xlim()) == (["no\ndate"], (-3.2, 3.2))  # a single bar is not too wide
    with pytest.raises(ConfigurationError, match="period='week' is not valid: give one of 'month', 'quarter', 'year'"):
        plots.monthly_flow(table, period="week")


@pytest.mark.parametrize("months", [1, 14, 41, 60, 720])
@pytest.mark.parametrize("width", [3.4, 6.4])
def test_labels_never_overlap(width: float, months: int) -> None:
    """Labels next to each other have room on narrow pages too, with a row without a date."""
    ax = Figure((width, 3.4), layout="constrained").subplots()
    assert_labels_apart(plots.monthly_flow(pd.concat([_months("2009-05", months), TABLE[2:]]), ax=ax))
