"""Labels of the axis of the numbers have room."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pandas as pd
import pytest
from matplotlib.figure import Figure

from p2p_analytics import plots


def draw_people(largest: float, width: float) -> Figure:
    """Return the drawn plot of three people with some money each."""
    table = pd.DataFrame(
        {"counterparty_name": ["Ada", "Ben", "Cleo"], "sent": [largest, largest / 2, 0.0], "received": [0.0, 1.0, 2.5]}
    )
    figure = Figure(figsize=(width, 3), layout="constrained")
    plots.spend_by_friend(table, ax=figure.subplots())
    figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("width", [3.2, 6.4, 12])
@pytest.mark.parametrize("largest", [0.05, 7.5, 1234.56, 25_000, 999_999, 123_456_789.01])
def test_labels_do_not_touch(largest: float, width: float) -> None:
    """There are two or more, and the space of a letter between them, whatever the amounts and the width."""
    figure = draw_people(largest, width)
    axes = figure.axes[0]
    low, high = axes.get_xlim()
    ticks = [
        label
        for label, at in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
        if low <= at <= high and label.get_text()
    ]
    boxes = [label.get_window_extent() for label in ticks]
    assert 2 <= len(boxes) <= 7
    letter = boxes[0].height / 2
    assert all(right.x0 - left.x1 >= letter for left, right in pairwise(boxes))


def test_ticks_follow_the_width() -> None:
    """A figure that is made larger has more of them, also after it was pickled."""
    figure = pickle.loads(pickle.dumps(draw_people(237_654.32, 4)))  # noqa: S301 - made above
    few = len(figure.axes[0].get_xticks())
    figure.set_size_inches(12, 3)
    figure.draw_without_rendering()
    assert len(figure.axes[0].get_xticks()) > few


def test_half_a_yen_is_labelled_with_decimals() -> None:
    """Also in a currency without them, else two ticks would have the same label; a whole amount has none."""
    table = pd.DataFrame({"counterparty_name": ["Ada"], "sent": [1.0], "received": [0.5], "currency": "JPY"})
    axes = plots.spend_by_friend(table, ax=Figure(figsize=(6, 3)).subplots())
    form = axes.xaxis.get_major_formatter()
    assert [form(amount) for amount in (0.5, 1.0, 1500.0)] == ["¥0.50", "¥1", "¥1,500"]
