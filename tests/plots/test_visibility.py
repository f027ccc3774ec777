"""Exposure and sensitive notes: bars and labels worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from p2p_analytics import plots
from support.plots.axes import assert_labels_apart, list_bars, list_key, list_places, list_rows, list_texts
from support.plots.tables import TABLES


def _months(count: int, **columns: int) -> pd.DataFrame:
    """Return months from January 2010 on, each with the same counts."""
    months = [f"{2010 + at // 12}-{at % 12 + 1:02}" for at in range(count)]
    return pd.DataFrame({"month": months, **{"payments": 5, "public": 2, "friends": 1, "private": 1} | columns})


def test_audiences_on_top_of_each_other() -> None:
    """Public ones with a sensitive note, other public ones, friends, private and unknown, with their sums."""
    ax = plots.exposure(TABLES["exposure"])
    assert [[(bar.get_y(), bar.get_height()) for bar in box] for box in ax.containers] == [
        [(0, 1), (0, 0), (0, 1)],
        [(1, 3), (0, 0), (1, 0)],
        [(4, 3), (0, 0), (1, 0)],
        [(7, 2), (0, 0), (1, 1)],
        [(9, 1), (0, 0), (2, 1)],
    ]
    assert len({to_hex(box[0].get_facecolor()) for box in ax.containers}) == 5
    assert list_key(ax) == ["public, sensitive 2", "public 3", "friends 3", "private 3", "not known 2"]
    assert list_places(ax) == ["Dec\n2023", "Jan\n2024", "no\ndate"]
    some = plots.exposure(_months(1, payments=4, sensitive_public=0))
    assert list_key(some) == ["public 2", "friends 1", "private 1"]  # the parts that have payments


@pytest.mark.parametrize(("count", "word", "bars"), [(144, "quarter", 48), (178, "year", 15)])
def test_months_quarters_and_years(count: int, word: str, bars: int) -> None:
    """Twelve years are quarters, fifteen are years; no labels overlap, and no payment is lost."""
    ax = plots.exposure(_months(count, sensitive_public=1))
    assert ax.get_title(loc="left") == f"Who can see payments, {word} by {word}"
    assert {len(box) for box in ax.containers} == {bars}
    assert sum(list_bars(ax, "height")) == 5 * count
    assert_labels_apart(ax, 4)
    assert ax.get_xlabel() == ("2024 up to Oct" if word == "year" else "")


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
    assert list_rows(ax) == ["health", "adult", "location"]
    assert list_texts(ax) == ["2, last on 2 Mar 2024", "1", "1, last on 2 Mar 2024"]
    assert list_bars(ax) == [2, 1, 1]
    many = plots.sensitive_notes(pd.DataFrame({"date_created": None, "reasons": [f"{at:02}" for at in range(33)]}))
    assert (list_rows(many)[30:], list_texts(many)[-1]) == (["3 other reasons"], "3")
