"""Plot of recurring payments: bars of their time, marks of the next date, sums of the others, worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from p2p_analytics import plots
from p2p_analytics.errors import SchemaError
from p2p_analytics.plots._parts import style
from support.plots.axes import assert_labels_apart, list_key, list_rows, list_texts

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
    assert colours == {0: style.OUT, 1: style.IN, 2: "#F2CFB2", 3: style.OUT}  # 70 % white
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
