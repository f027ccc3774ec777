"""Columns of a table as plots read them, and labels of the axis of the numbers, which have room."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from matplotlib.figure import Figure

from p2p_analytics import plots
from p2p_analytics.plots._parts.style import read_columns
from support.plots.axes import assert_labels_apart


def test_the_columns_of_a_table() -> None:
    """They are lists with None for nulls, in their order."""
    table = pd.DataFrame({"name": ["Ada", None, "Ben"], "amount": [1.5, 2.0, float("nan")]})
    columns = read_columns(table, ["name"], what="a plot")
    assert [*columns.items()] == [("name", ["Ada", None, "Ben"]), ("amount", [1.5, 2.0, None])]
    assert (len(columns), "note" in columns, columns.get("note", [])) == (2, False, [])
    assert columns.list_rows()[1:] == [{"name": None, "amount": 2.0}, {"name": "Ben", "amount": None}]


def draw_people(largest: float, width: float) -> Figure:
    """Return the plot of three people with some money each."""
    table = pd.DataFrame(
        {"counterparty_name": ["Ada", "Ben", "Cleo"], "sent": [largest, largest / 2, 0.0], "received": [0.0, 1.0, 2.5]}
    )
    figure = Figure(figsize=(width, 3), layout="constrained")
    plots.spend_by_friend(table, ax=figure.subplots())
    return figure


@pytest.mark.parametrize("width", [3.2, 12])
@pytest.mark.parametrize("largest", [0.05, 7.5, 1234.56, 999_999, 123_456_789.01])
def test_labels_do_not_touch(largest: float, width: float) -> None:
    """There are two or more, and the space of a letter between them, whatever the amounts and the width."""
    (axes,) = draw_people(largest, width).axes
    assert_labels_apart(axes, gap=axes.get_xticklabels()[0].get_window_extent().height / 2)
    assert len(axes.get_xticks()) <= 8  # one may lie outside


def test_ticks_follow_the_width() -> None:
    """A figure that is made larger has more of them, also after it was pickled."""
    figure = draw_people(237_654.32, 4)
    figure.draw_without_rendering()
    figure = pickle.loads(pickle.dumps(figure))  # noqa: S301 - made above
    few = len(figure.axes[0].get_xticks())
    figure.set_size_inches(12, 3)
    figure.draw_without_rendering()
    assert len(figure.axes[0].get_xticks()) > few


def test_half_a_yen_is_labelled_with_decimals() -> None:
    """Also in a currency without them, else two ticks would have the same label; a whole amount has none."""
    table = pd.DataFrame({"counterparty_name": ["Ada"], "sent": [1.0], "received": [0.5], "currency": "JPY"})
    form = plots.spend_by_friend(table).xaxis.get_major_formatter()
    assert [form(amount) for amount in (0.5, 1.0, 1500.0)] == ["¥0.50", "¥1", "¥1,500"]
