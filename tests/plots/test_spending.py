"""Money over time: the layers of the areas, their labels, and the labels of the periods, worked out by hand."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError
from support.plots.axes import assert_labels_apart, list_key, list_places, list_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MONTHS = [date(2023, 11, 1), date(2023, 12, 1), date(2024, 1, 1)]


def _table(amounts: dict[str, list[float]], periods: list[Any], by: str = "category") -> pd.DataFrame:
    rows = [
        {"period": day, by: value, "sent": units, "received": units / 2}
        for value, sent in amounts.items()
        for day, units in zip(periods, sent, strict=True)
    ]
    return pd.DataFrame(rows)


def _layers(ax: Axes) -> list[tuple[list[float], list[float]]]:
    """Return the lower and upper edges of each area."""
    return [
        ([round(each, 2) for each in baseline], [round(each, 2) for each in tops])
        for tops, _, baseline in (step.get_data() for step in ax.patches)
    ]


def test_values_are_stacked() -> None:
    """The value with the most money is at the bottom; each area begins where the one below ends, and is labelled."""
    ax = plots.spending_over_time(_table({"food": [1.0, 0.5, 0.0], "rent": [5.0, 5.0, 5.0]}, MONTHS))
    assert ax.get_title(loc="left") == "Money sent, month by month, by category"
    assert _layers(ax) == [([0, 0, 0], [5, 5, 5]), ([5, 5, 5], [6, 5.5, 5])]
    assert list_texts(ax) == ["rent\n$15.00", "food\n$1.50"]
    assert list_places(ax) == ["Nov\n2023", "Dec", "Jan\n2024"]
    ax = plots.spending_over_time(_table({"rent": [5.0, 5.0, 5.0]}, MONTHS), amount="received")
    assert ax.get_title(loc="left") == "Money received, month by month, by category"
    assert _layers(ax) == [([0, 0, 0], [2.5, 2.5, 2.5])]


def test_a_handful_of_values_and_the_others() -> None:
    """Seven values have areas of their own; of more, six, and the others are added up; values without money none."""
    amounts = {f"v{at}": [10.0 - at, 0.1, 0.1] for at in range(7)} | {"nothing": [0.0] * 3}
    ax = plots.spending_over_time(_table(amounts, MONTHS))
    assert [text.get_text().split("\n")[0] for text in ax.texts] == [f"v{at}" for at in range(7)]
    amounts |= {"v7": [0.25, 0.0, 0.0], "v8": [0.5, 0.0, 0.0]}
    ax = plots.spending_over_time(_table(amounts, MONTHS))
    assert list_texts(ax)[6] == "3 others\n$4.95"
    assert _layers(ax)[-1] == ([45, 0.6, 0.6], [49.75, 0.7, 0.7])


def test_people_are_distinguished() -> None:
    """Two people with one name are two areas, each with the end of the id."""
    table = _table({"31234": [2.0], "35678": [1.0]}, MONTHS[:1], by="counterparty_id").assign(counterparty_name="Sam")
    ax = plots.spending_over_time(table)
    assert ax.get_title(loc="left") == "Money sent, by person"
    assert list_texts(ax) == ["Sam (…1234)\n$2", "Sam (…5678)\n$1"]
    assert list_places(ax) == ["from 1 Nov\n2023"]


def test_without_a_grouping_column() -> None:
    """Sent and received are lines, different in their dashes too; payments without a date are the last point."""
    table = pd.DataFrame({"period": [*MONTHS, None], "sent": [1.0, 0.0, 3.0, 9.0], "received": [2.0, 4.0, 0.0, 0.0]})
    ax = plots.spending_over_time(table)
    assert ax.get_title(loc="left") == "Money sent and received, month by month"
    assert [list(line.get_ydata()) for line in ax.lines] == [[1, 0, 3, 9], [2, 4, 0, 0]]
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert list_key(ax) == ["sent $13", "received $6"]
    assert list_places(ax)[-1] == "no\ndate"


@pytest.mark.parametrize(
    ("freq", "first", "count", "word", "labels"),
    [
        ("D", "2024-05-30", 4, "day", ["30 May\n2024", "31 May", "1 Jun", "2 Jun"]),
        ("D", "2024-05-30", 12, "day", ["30 May\n2024", "1 Jun", "3 Jun", "5 Jun", "7 Jun", "9 Jun"]),
        ("W-MON", "2023-12-25", 52, "week", ["Jan\n2024", "Apr", "Jul", "Oct"]),
        ("MS", "2022-11-01", 20, "month", ["Jan\n2023", "Apr", "Jul", "Oct", "Jan\n2024", "Apr"]),
        ("MS", "2009-05-01", 180, "month", ["2010", "2012", "2014", "2016", "2018", "2020", "2022", "2024"]),
        ("QS", "2023-10-01", 3, "quarter", ["Q4\n2023", "Q1\n2024", "Q2"]),
        ("YS", "2010-01-01", 3, "year", ["2010", "2011", "2012"]),
    ],
)  # fmt: skip
def test_labels_of_periods(freq: str, first: str, count: int, word: str, labels: list[str]) -> None:
    """The title names the period; as many periods are labelled as have room, in whole months or years."""
    periods = [each.date() for each in pd.date_range(first, periods=count, freq=freq)]
    ax = plots.spending_over_time(_table({"a": [1.0] * count}, periods))
    assert f"{word} by {word}" in ax.get_title(loc="left")
    assert list_places(ax) == labels
    assert_labels_apart(ax)


def test_only_areas_of_the_last_period_are_connected() -> None:
    """A line from a label to an area begins at the area's end; a label without one has a square in its colour alone."""
    ax = plots.spending_over_time(_table({"food": [1.0, 0.5, 0.0], "rent": [5.0, 5.0, 5.0]}, MONTHS))
    drawn = {line.get_color(): list(line.get_xdata()) for line in ax.lines}
    rent, food = (to_hex(area.get_facecolor()).upper() for area in ax.patches)
    assert drawn[rent][0] == ax.get_xlim()[1]
    assert [len(drawn[rent]), len(drawn[food])] == [2, 1]
    assert {line.get_marker() for line in ax.lines} == {"s"}


def test_labels_on_the_right_are_apart() -> None:
    """The labels of areas that end at one height do not cover each other, nor leave the figure."""
    ax = plots.spending_over_time(_table({f"v{at}": [10.0, 0.0, 0.0] for at in range(9)}, MONTHS))
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # that of an annotation includes its line
    assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.x1


def test_an_outlier_date_does_not_lengthen_the_plot() -> None:
    """Of more than 20 years, mostly empty, only the periods with money are drawn, and the axis says so."""
    weeks = [date(2001, 1, 1) + timedelta(7 * at) for at in range(1150)]  # up to January 2023
    ax = plots.spending_over_time(_table({"a": [3.0, *[0.0] * 1148, 4.0]}, weeks))
    assert _layers(ax) == [([0, 0], [3, 4])]
    assert ax.get_xlabel() == "Periods without payments are left out"
    for amounts in ([1.0] * 1150, [1.0, 0.0] * 575, [3.0, *[0.0] * 1042]):
        ax = plots.spending_over_time(_table({"a": amounts}, weeks[: len(amounts)]))
        assert len(_layers(ax)[0][0]) == len(amounts)
        assert ax.get_xlabel() == ""


def test_invalid_amount() -> None:
    """The message shows the valid ones."""
    with pytest.raises(ConfigurationError, match=r"amount='net' is not valid: give 'sent' or 'received'\."):
        plots.spending_over_time(_table({"a": [1.0]}, MONTHS[:1]), amount="net")
