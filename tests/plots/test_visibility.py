"""Exposure and sensitive notes: bars and labels worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
from matplotlib.colors import to_hex

from p2p_analytics import plots
from support.plots.tables import TABLES


def _months(count: int, **columns: int) -> pd.DataFrame:
    """Return months from January 2010 on, each with the same counts."""
    months = [f"{2010 + at // 12}-{at % 12 + 1:02}" for at in range(count)]
    return pd.DataFrame({"month": months, **{"payments": 5, "public": 2, "friends": 1, "private": 1} | columns})


def test_audiences_on_top_of_each_other() -> None:
    """Public ones with a sensitive note, other public ones, friends, private and unknown, with their sums."""
    ax = plots.exposure(TABLES["exposure"])
    boxes = [[(bar.get_y(), bar.get_height()) for bar in box] for box in ax.containers]
    assert boxes == [
        [(0, 1), (0, 0), (0, 1)],
        [(1, 3), (0, 0), (1, 0)],
        [(4, 3), (0, 0), (1, 0)],
        [(7, 2), (0, 0), (1, 1)],
        [(9, 1), (0, 0), (2, 1)],
    ]
    assert len({to_hex(box[0].get_facecolor()) for box in ax.containers}) == 5
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "public, sensitive 2", "public 3", "friends 3", "private 3", "not known 2",
    ]  # fmt: skip
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Dec\n2023", "Jan\n2024", "no\ndate"]


def test_parts_without_payments() -> None:
    """A part that has no payment is not in the legend."""
    ax = plots.exposure(_months(1, payments=4, sensitive_public=0))
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["public 2", "friends 1", "private 1"]


def test_months_quarters_and_years() -> None:
    """Four years are months, twelve are quarters, fifteen are years; no labels overlap, and no payment is lost."""
    for count, word, bars in ((48, "month", 48), (144, "quarter", 48), (178, "year", 15)):
        ax = plots.exposure(_months(count, sensitive_public=1))
        assert ax.get_title(loc="left") == f"Who can see payments, {word} by {word}"
        assert {len(box) for box in ax.containers} == {bars}
        assert sum(bar.get_height() for box in ax.containers for bar in box) == 5 * count
        ax.figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert len(boxes) >= 4
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert ax.get_xlabel() == "2024 up to Oct"


def test_reasons() -> None:
    """Each reason with its number and last date, the most frequent first, then by name; no note is drawn."""
    table = pd.DataFrame(
        {
            "date_created": pd.to_datetime(["2024-03-02T23:59Z", "2024-02-01T00:00Z", None, None]),
            "note": ["secret"] * 4,
            "reasons": ["health,location", "health", "adult", None],
        }
    )
    ax = plots.sensitive_notes(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["health", "adult", "location"]
    assert [text.get_text() for text in ax.texts] == ["2, last on 2 Mar 2024", "1", "1, last on 2 Mar 2024"]
    assert [bar.get_width() for bar in ax.containers[0]] == [2, 1, 1]


def test_more_reasons_than_rows() -> None:
    """The reasons after the first 30 share one row."""
    ax = plots.sensitive_notes(pd.DataFrame({"date_created": None, "reasons": [f"{at:02}" for at in range(33)]}))
    assert ax.get_yticklabels()[-1].get_text() == "3 other reasons"
    assert [text.get_text() for text in ax.texts][-1] == "3"
