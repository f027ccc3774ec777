"""Requests, split bills and recurring payments as bars, and the time that requests took, worked out by hand."""

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from p2p_analytics import plots
from p2p_analytics.errors import SchemaError
from support.plots.axes import assert_labels_apart, list_key, list_places, list_rows, list_texts

OUTCOMES = pd.DataFrame(
    {
        "counterparty_name": ["Ada", "Ben", "Cy", "Di"],
        "direction": ["in", "out", "in", "in"],
        "requests": [4, 2, 1, 1],
        "settled": [2, 1, 0, 1],
        "asked": [10.0, 6.0, 0.2, 0.1],
        "collected": [5.0, 6.0, 0.0, 0.1],
        "still_open": [3.0, 0.0, 0.2, 0.0],
    }
)
BILLS = pd.DataFrame(
    {
        "date": pd.to_datetime(["2024-03-02T23:59Z", "2024-02-01T00:00Z", None]),
        "note": ["Pizza 🍕", None, "Taxi"],
        "people": [3, 2, 2],
        "asked": [30.0, 8.0, 4.5],
        "collected": [10.0, 8.0, 0.0],
        "still_open": [15.0, 0.0, 0.0],
        "declined": [5.0, 0.0, 4.5],
        "oldest_open_days": [1.9, None, None],
    }
)
TIMES = pd.DataFrame(
    {
        "direction": ["in", "out", None],
        "payments": [3, 1, 2],
        "days_p50": [2.4, 0.0, 1 / 24],
        "days_p90": [5.0, 0.0, 1.0],
        "days_p99": [5.0, 0.0, 1.0],
        "days_max": [30.0, 0.0, 3.0],
    }
)


def _parts(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    """Return the start and length of the bars of each part, by the words of the legend."""
    bars = [[(round(bar.get_x(), 2), round(bar.get_width(), 2)) for bar in box] for box in ax.containers]
    return dict(zip(list_key(ax), bars, strict=True))


def test_what_became_of_requests() -> None:
    """Collected, open and unpaid amounts are parts of what was asked; rows after the first ones share a bar."""
    ax = plots.request_outcomes(OUTCOMES)
    assert list_rows(ax) == ["asked of Ada", "asked by Ben", "asked of Cy", "asked of Di"]
    assert _parts(ax) == {
        "collected": [(0, 5), (0, 6), (0, 0), (0, 0.1)],
        "still open": [(5, 3), (6, 0), (0, 0.2), (0.1, 0)],
        "not paid": [(8, 2), (6, 0), (0.2, 0), (0.1, 0)],
    }
    assert list_texts(ax) == [
        "$10.00, 2 of 4 settled", "$6.00, 1 of 2 settled", "$0.20, 0 of 1 settled", "$0.10, 1 of 1 settled",
    ]  # fmt: skip
    ax = plots.request_outcomes(OUTCOMES, top=2)
    assert list_rows(ax) == ["asked of Ada", "asked by Ben", "2 other rows"]
    assert [bars[2] for bars in _parts(ax).values()] == [(0, 0.1), (0.1, 0.2), (0.3, 0)]
    assert list_texts(ax)[2] == "$0.30, 1 of 2 settled"


def test_a_very_long_bar_of_others_is_shortened() -> None:
    """It is hatched: $100 at a scale of 1.25 * 10 / 100."""
    ax = plots.request_outcomes(pd.concat([OUTCOMES[:1]] * 12), top=2)
    assert list_rows(ax)[2] == "10 other rows,\nbars not to scale"
    assert [bars[2] for bars in _parts(ax).values()] == [(0, 6.25), (6.25, 3.75), (10, 2.5)]
    assert list_texts(ax)[2] == "$100, 20 of 40 settled"
    assert [box[2].get_hatch() for box in ax.containers] == ["////"] * 3


def test_labels_have_room() -> None:
    """The longest names and labels end within the figure; on an axis of times a week and a month are apart."""
    long = OUTCOMES.assign(counterparty_name="Wilhelmina Featherstonehaugh the Third", asked=12345.6)
    times = TIMES.assign(days_p50=0.2, days_p90=27.0, days_p99=54.0, days_max=62.0)
    for width in (4.4, 6.4):
        bars, marks = (Figure((width, 3), layout="constrained").subplots() for _ in range(2))
        assert_labels_apart(plots.request_outcomes(long, ax=bars))
        assert max(text.get_window_extent().x1 for text in bars.texts) <= bars.figure.bbox.x1
        assert_labels_apart(plots.time_to_settle(times, ax=marks), gap=2)


def test_split_bills_by_part() -> None:
    """A bill is called by its note and day, and labelled with its amount, people and the age of the oldest request."""
    ax = plots.split_bills(BILLS)
    assert list_rows(ax) == ["Pizza, 2 Mar 2024", "(no name), 1 Feb 2024", "Taxi, no date"]
    assert _parts(ax) == {
        "collected": [(0, 10), (0, 8), (0, 0)],
        "still open": [(10, 15), (8, 0), (0, 0)],
        "not paid": [(25, 5), (8, 0), (0, 4.5)],
    }
    assert list_texts(ax) == ["$30.00 from 3 people, open 1 day", "$8.00 from 2 people", "$4.50 from 2 people"]
    ax = plots.split_bills(BILLS, top=1)
    assert list_rows(ax) == ["Pizza, 2 Mar 2024", "2 other bills"]
    assert (_parts(ax)["collected"][1], list_texts(ax)[1]) == ((0, 8), "$12.50")


def test_the_time_that_requests_took() -> None:
    """Four marks in each row at the percentiles; less than a minute is drawn as a minute, and named."""
    ax = plots.time_to_settle(TIMES)
    assert ax.get_title(loc="left") == "Time until requests were paid, by direction"
    assert list_rows(ax) == ["to receive\n3 payments", "to pay\n1 payment", "not known\n2 payments"]
    marks = [[round(x * 1440) for x, _ in points.get_offsets()] for points in reversed(ax.collections)]
    assert list_key(ax) == ["half of them", "9 of 10", "99 of 100", "all"]
    assert marks == [[3456, 1, 60], [7200, 1, 1440], [7200, 1, 1440], [43200, 1, 4320]]
    times = ["2 days", "under a minute", "60 minutes"]
    assert [text.strip() for text in list_texts(ax)] == [f"half in {time}" for time in times]
    assert list_places(ax) == ["1 minute", "1 hour", "1 day", "1 week", "1 month"]


def test_the_times_of_the_most_payments_are_drawn() -> None:
    """Of more rows than fit, those with the most payments are drawn, in their order; the others are counted."""
    table = TIMES.rename(columns={"direction": "counterparty_name"}).assign(counterparty_name=["Ada", "Ben", "Cy"])
    ax = plots.time_to_settle(pd.concat([table, table[1:2]]), top=2)
    assert ax.get_title(loc="left") == "Time until requests were paid, by person"
    assert list_rows(ax) == ["Ada\n3 payments", "Cy\n2 payments", "2 other values\n2 payments"]


@pytest.mark.parametrize(("plot", "table"), [(plots.request_outcomes, OUTCOMES), (plots.split_bills, BILLS)])
def test_currencies(plot: Callable[..., Axes], table: pd.DataFrame) -> None:
    """The axis names the currency; several are refused."""
    with pytest.raises(SchemaError, match="needs a table in one currency, not in EUR and USD"):
        plot(table.assign(currency=["EUR"] + ["USD"] * (len(table) - 1)))
    assert plot(table.assign(currency="EUR")).get_xlabel() == "Requests, euros"


TABLE = pd.DataFrame(
    {
        "counterparty_name": ["Ada", "Ada", "Ben", "Cy"],
        "direction": ["out", "in", "out", "out"],
        "cadence": ["monthly", "weekly", "quarterly", "yearly"],
        "amount": [900.0, 20.0, 12.5, 10.0],
        "first_date": pd.to_datetime(["2024-01-01", "2024-03-16", "2023-01-01", "2021-07-01"]),
        "last_date": pd.to_datetime(["2024-04-01", "2024-04-06", "2023-07-01", "2023-07-01"]),
        "next_expected": pd.to_datetime(["2024-05-01", "2024-04-13", "2023-10-01", "2024-07-01"]),
        "state": ["active", "late", "ended", "active"],
        "note": ["Rent", None, "Club", "Domain"],
    }
)


def test_series_one_by_one() -> None:
    """The axis is in months from the first date of all, July 2021; an ended series is pale and without a mark."""
    ax = plots.recurring(TABLE)
    assert list_rows(ax) == ["Ada, Rent", "Ada", "Ben, Club", "Cy, Domain"]
    assert list_texts(ax) == ["$900.00 monthly", "$20.00 weekly, late", "$12.50 quarterly, ended", "$10.00 yearly"]
    bars = {bar.get_y() + 0.25: bar for box in ax.containers for bar in box}
    spans = {row: (round(bar.get_x(), 2), round(bar.get_width(), 2)) for row, bar in bars.items()}
    # March 16th is 15 of 31 days into the month, April 6th 5 of 30.
    assert spans == {0: (30, 3), 1: (32.48, 0.68), 2: (18, 6), 3: (0, 24)}
    colours = {row: to_hex(bar.get_facecolor()).upper() for row, bar in bars.items()}
    assert colours == {0: "#D55E00", 1: "#0072B2", 2: "#F2CFB2", 3: "#D55E00"}  # sent, received, and 70 % white
    marks = [[(round(x, 2), y) for x, y in points.get_offsets()] for points in ax.collections]
    assert marks == [[(34, 0), (36, 3)], [(33.4, 1)]]
    assert list_key(ax) == ["sent", "received", "next date", "missed date"]


def test_other_series_are_added_up() -> None:
    """The last row has what the others that have not ended amount to in a year: 52 times $20, and $10."""
    ax = plots.recurring(TABLE, top=1)
    assert list_rows(ax) == ["Ada, Rent", "3 other series"]
    assert list_texts(ax) == ["$900 monthly", "$10 a year sent\n$1,040 a year received"]
    assert list_texts(plots.recurring(TABLE.assign(state="ended"), top=2))[2] == "ended"


def test_labels_end_within_the_figure() -> None:
    """Thirty series of fifteen years, or one of three weeks, have room for their labels."""
    long = pd.concat([TABLE[3:].assign(first_date=pd.Timestamp("2009-01-01"), amount=12345.6)] * 30)
    for table in (long, TABLE[1:2]):
        ax = plots.recurring(table)
        assert_labels_apart(ax, 1)
        assert max(text.get_window_extent().x1 for text in ax.texts) <= ax.figure.bbox.x1


def test_what_is_refused() -> None:
    """A table of another analysis, and several currencies."""
    with pytest.raises(SchemaError, match="cadence"):
        plots.recurring(TABLE.drop(columns="cadence"))
    with pytest.raises(SchemaError, match="EUR"):
        plots.recurring(TABLE.assign(currency=["USD", "EUR", "USD", "USD"]))
