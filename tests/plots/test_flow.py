"""Money over time: sums, bars, areas, labels and remarks worked out by hand."""

from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError
from support.plots.axes import assert_labels_apart, list_bars, list_key, list_places, list_texts
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


@pytest.mark.parametrize(("months", "word"), [(48, "month"), (49, "quarter"), (144, "quarter"), (145, "year")])
def test_the_span_decides_the_period(months: int, word: str) -> None:
    """There are at most 48 bars of months or quarters; the numbers of months are from the first of January on."""
    ax = plots.monthly_flow(_months("2000-01", months))
    assert ax.get_title(loc="left") == f"Money received and sent, {word} by {word}"
    assert len(ax.containers[0]) == -(-months // {"month": 1, "quarter": 3, "year": 12}[word])


def test_the_period_can_be_given() -> None:
    """A caller chooses the period, whatever the order of the rows; an unknown one is refused with the known ones."""
    table = _months("2023-11", 6)
    assert list_places(plots.monthly_flow(table, period="quarter")) == ["Q4\n2023", "Q1\n2024", "Q2"]
    turned = plots.monthly_flow(TABLE.iloc[[2, 1, 0]], period="year")
    assert (list_places(turned), turned.get_xlabel()) == (["2023", "2024", "no\ndate"], "2023 from Dec; 2024 up to Jan")
    assert list_bars(turned, "height") == [20.0, 3000.0, 0.0, -100.25, 0.0, -50.0]
    alone = plots.monthly_flow(TABLE[2:], period="year")
    assert (list_places(alone), alone.get_xlim()) == (["no\ndate"], (-3.2, 3.2))  # a single bar is not too wide
    with pytest.raises(ConfigurationError, match="period='week' is not valid: give one of 'month', 'quarter', 'year'"):
        plots.monthly_flow(table, period="week")


@pytest.mark.parametrize("months", [14, 41, 720])
@pytest.mark.parametrize("width", [3.4, 6.4])
def test_labels_never_overlap(width: float, months: int) -> None:
    """Labels next to each other have room on narrow pages too, with a row without a date."""
    ax = Figure((width, 3.4), layout="constrained").subplots()
    assert_labels_apart(plots.monthly_flow(pd.concat([_months("2009-05", months), TABLE[2:]]), ax=ax))


def test_months_are_added_up() -> None:
    """In any order; sums are exact to the cent, the running net is of the last month, and no date stays apart."""
    columns = ["month", "sent", "received", "net", "payments", "running_net"]
    undated = (None, 1.0, 0.0, -1.0, 1, 2.2)
    months = [
        ("2024-03", 0.0, 1.0, 1.0, 1, 3.2), undated, ("2023-12", 0.2, 0.0, -0.2, 2, -0.3),
        ("2023-11", 0.1, 0.0, -0.1, 1, -0.1), ("2024-01", 5.0, 7.5, 2.5, 3, 2.2),
    ]  # fmt: skip
    first, second = (0.3, 0.0, -0.3, 3, -0.3), (5.0, 8.5, 3.5, 4, 3.2)
    for word, names in (("quarter", ("2023 Q4", "2024 Q1")), ("year", ("2023", "2024"))):
        table = plots.build_period_table([dict(zip(columns, month, strict=True)) for month in months], word)
        assert [tuple(row.values()) for row in table.rows] == [(names[0], *first), (names[1], *second), undated]
        assert [*table.rows[0]] == ["period", *columns[1:]]
        assert (table.word, table.left_out) == (word, 0)


@pytest.mark.parametrize(
    ("word", "years", "rows", "left_out"), [("year", 60, 60, 0), ("year", 61, 2, 59), ("quarter", 21, 2, 82)]
)
def test_a_long_table_leaves_out_empty_periods(word: str, years: int, rows: int, left_out: int) -> None:
    """More than 60 years, or 80 quarters, are shown without the empty ones; their number is given."""
    names = [f"{1970 + at // 12}-{at % 12 + 1:02}" for at in range(12 * years)]
    months = [{"month": name, "payments": int(name in {names[0], names[-1]})} for name in names]
    table = plots.build_period_table(months, word)
    assert (len(table.rows), table.left_out) == (rows, left_out)


STARTS = [date(2023, 11, 1), date(2023, 12, 1), date(2024, 1, 1)]


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
    table = _table({"food": [1.0, 0.5, 0.0], "rent": [5.0, 5.0, 5.0]}, STARTS)
    ax = plots.spending_over_time(table)
    assert ax.get_title(loc="left") == "Money sent, month by month, by category"
    assert _layers(ax) == [([0, 0, 0], [5, 5, 5]), ([5, 5, 5], [6, 5.5, 5])]
    assert list_texts(ax) == ["rent\n$15.00", "food\n$1.50"]
    assert list_places(ax) == ["Nov\n2023", "Dec", "Jan\n2024"]
    # A line connects a label with an area at its end; a label without one has a square in its colour alone.
    drawn = {line.get_color(): list(line.get_xdata()) for line in ax.lines}
    rent, food = (to_hex(area.get_facecolor()).upper() for area in ax.patches)
    assert drawn[rent][0] == ax.get_xlim()[1]
    assert [len(drawn[rent]), len(drawn[food])] == [2, 1]
    assert {line.get_color() for line in ax.lines if line.get_marker() == "s"} == {rent, food}
    ax = plots.spending_over_time(_table({"rent": [5.0, 5.0, 5.0]}, STARTS), amount="received")
    assert ax.get_title(loc="left") == "Money received, month by month, by category"
    assert _layers(ax) == [([0, 0, 0], [2.5, 2.5, 2.5])]
    with pytest.raises(ConfigurationError, match=r"amount='net' is not valid: give 'sent' or 'received'\."):
        plots.spending_over_time(table, amount="net")


def test_a_handful_of_values_and_the_others() -> None:
    """Seven values have areas of their own; of more, six, and the others are added up; values without money none."""
    amounts = {f"v{at}": [10.0 - at, 0.1, 0.1] for at in range(7)} | {"nothing": [0.0] * 3}
    ax = plots.spending_over_time(_table(amounts, STARTS))
    assert [text.get_text().split("\n")[0] for text in ax.texts] == [f"v{at}" for at in range(7)]
    amounts |= {"v7": [0.25, 0.0, 0.0], "v8": [0.5, 0.0, 0.0]}
    ax = plots.spending_over_time(_table(amounts, STARTS))
    assert list_texts(ax)[6] == "3 others\n$4.95"
    assert _layers(ax)[-1] == ([45, 0.6, 0.6], [49.75, 0.7, 0.7])


def test_people_are_distinguished() -> None:
    """Two people with one name are two areas, each with the end of the id."""
    table = _table({"31234": [2.0], "35678": [1.0]}, STARTS[:1], by="counterparty_id").assign(counterparty_name="Sam")
    ax = plots.spending_over_time(table)
    assert ax.get_title(loc="left") == "Money sent, by person"
    assert list_texts(ax) == ["Sam (…1234)\n$2", "Sam (…5678)\n$1"]
    assert list_places(ax) == ["from 1 Nov\n2023"]


def test_without_a_grouping_column() -> None:
    """Sent and received are lines, different in their dashes too; payments without a date are the last point."""
    table = pd.DataFrame({"period": [*STARTS, None], "sent": [1.0, 0.0, 3.0, 9.0], "received": [2.0, 4.0, 0.0, 0.0]})
    ax = plots.spending_over_time(table)
    assert ax.get_title(loc="left") == "Money sent and received, month by month"
    assert [list(line.get_ydata()) for line in ax.lines] == [[1, 0, 3, 9], [2, 4, 0, 0]]
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert list_key(ax) == ["sent $13", "received $6"]
    assert list_places(ax)[-1] == "no\ndate"


@pytest.mark.parametrize(
    ("freq", "first", "count", "word", "labels"),
    [
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


def test_labels_on_the_right_are_apart() -> None:
    """The labels of areas that end at one height do not cover each other, nor leave the figure."""
    ax = plots.spending_over_time(_table({f"v{at}": [10.0, 0.0, 0.0] for at in range(9)}, STARTS))
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
