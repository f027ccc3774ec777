"""People by year, hours of the week, unusual payments, exposure and sensitive notes, worked out by hand."""

from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

import p2p_analytics as p2p
from p2p_analytics import plots
from support.plots.axes import assert_labels_apart, list_bars, list_key, list_places, list_rows, list_texts
from support.plots.tables import TABLES

YEARS = pd.DataFrame(
    {
        "year": [2023, 2022, 2024],
        "people": [0, 7, 3],
        "new": [0, 7, 2],
        "lost": [7, 0, 0],
        "top_5_share": [0.0, 0.905, 1.0],
    }
)


def test_people_of_each_year() -> None:
    """In order of time: those there before, the new ones on top, those gone below; the share of five under the year."""
    ax = plots.people_by_year(YEARS)
    assert [[(bar.get_y(), bar.get_height()) for bar in box] for box in ax.containers] == [
        [(0, 0), (0, 0), (0, 1)], [(0, 7), (0, 0), (1, 2)], [(0, 0), (0, -7), (0, 0)],
    ]  # fmt: skip
    assert list_texts(ax) == ["7", "3"]
    assert list_places(ax) == ["2022\n90%", "2023\n", "2024\n100%"]
    assert ax.get_xlabel() == "Below each year, the share of the money of the five people with the most"
    assert list_key(ax) == ["there before", "new", "gone"]
    assert list_key(plots.people_by_year(YEARS.assign(lost=0))) == ["there before", "new"]


def test_many_years() -> None:
    """Fifteen years are all drawn, and labelled where there is room; of 61, mostly empty, those with people are."""
    years = pd.DataFrame({"year": range(2010, 2025), "people": 200, "new": 1, "lost": 1, "top_5_share": 0.5})
    assert_labels_apart(plots.people_by_year(years), 7)
    late = {"year": range(1970, 2031), "people": [1, *[0] * 59, 2], "new": 0, "lost": 0, "top_5_share": 1.0}
    ax = plots.people_by_year(pd.DataFrame(late))
    assert list_places(ax) == ["1970\n100%", "2030\n100%"]
    assert ax.get_xlabel().endswith("; years without payments are left out")


def _week(**payments: int) -> pd.DataFrame:
    """Return the table with payments at weekday and hour, as in ``d1h14=3``."""
    table = pd.DataFrame({"weekday": [at // 24 for at in range(168)], "hour": [*range(24)] * 7, "payments": 0})
    for name, number in payments.items():
        day, hour = name[1:].split("h")
        table.loc[int(day) * 24 + int(hour), "payments"] = number
    return table


def _list_cells(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    """Return hour and weekday of the cells of each colour."""
    return {
        to_hex(cells.get_facecolor()[0]): [
            (path.vertices[0][0] + 0.5, path.vertices[0][1] + 0.5) for path in cells.get_paths()
        ]
        for cells in ax.collections
    }


def test_hours_of_the_week() -> None:
    """A cell for each hour with payments, in the colour that the legend has for the number; totals of the days."""
    ax = plots.activity(_week(d0h0=1, d0h23=3, d6h12=2))
    one, two, three = (to_hex(patch.get_facecolor()) for patch in ax.get_legend().get_patches())
    assert list_key(ax) == ["1", "2", "3"]
    assert _list_cells(ax) == {one: [(0, 0)], two: [(12, 6)], three: [(23, 0)]}
    assert list_texts(ax) == ["4", "0", "0", "0", "0", "0", "2"]
    many = plots.activity(_week(d0h0=1234, d1h1=1))
    assert list_key(many) == ["1 to 246", "247 to 493", "494 to 740", "741 to 987", "988 to 1,234"]
    brightness = [sum(to_rgb(patch.get_facecolor())) for patch in many.get_legend().get_patches()]
    assert brightness == sorted({*brightness}, reverse=True)  # more payments are darker, in greyscale too


def test_the_hours_name_their_zone() -> None:
    """The axis names the zone that is given, and none without; an unknown one is refused."""
    table = _week(d0h9=1)
    for zone, words in ((None, ""), ("UTC", " in UTC"), (ZoneInfo("Asia/Tokyo"), " in Asia/Tokyo")):
        label = plots.activity(table, tz=zone).get_xlabel()
        assert label == f"Hour of the day{words}; total of each weekday on the right"
    with pytest.raises(p2p.errors.ConfigurationError, match="Atlantis"):
        plots.activity(table, tz="Atlantis")


UNUSUAL = pd.DataFrame(
    {
        "reason": ["large", "duplicate", "large"],
        "amount": [500.0, 20.0, 60.0],
        "usual": [12.5, None, 10.0],
        "counterparty_name": ["Ada", "Ben", "Ada"],
        "date_created": pd.to_datetime(["2024-05-01T10:00Z", None, "2023-05-01T10:00Z"]),
    }
)


def test_unusual_payments() -> None:
    """A bar of the amount in the colour of the reason, and a line at the usual amount; others are counted by reason."""
    ax = plots.unusual(UNUSUAL)
    assert list_rows(ax) == ["Ada, 1 May 2024", "Ben, no date", "Ada, 1 May 2023"]
    bars = [[(round(bar.get_y() + 0.3), bar.get_width()) for bar in box] for box in ax.containers]
    assert dict(zip(list_key(ax), bars, strict=True)) == {
        "probable duplicate": [(1, 20)], "far above the usual": [(0, 500), (2, 60)],
    }  # fmt: skip
    colours = {to_hex(bar.get_facecolor()) for box in ax.containers for bar in box}
    assert colours.isdisjoint({"#0072b2", "#d55e00"})  # those of received and sent
    assert [list(line.get_xdata()) for line in ax.lines] == [[12.5, 12.5], [10, 10]]
    assert list_texts(ax) == ["$500.00, usually $12.50", "$20.00", "$60.00, usually $10.00"]
    for rows, words in (([0, 1, 2], "1 probable duplicate,\n1 large one"), ([0, 2, 2], "2 large ones")):
        ax = plots.unusual(UNUSUAL.iloc[rows], top=1)
        assert (list_rows(ax)[-1], list_texts(ax)[-1], len(list_bars(ax))) == ("2 other payments", words, 1)


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
    years = plots.exposure(_months(178, sensitive_public=1))
    assert years.get_title(loc="left") == "Who can see payments, year by year"
    assert ({len(box) for box in years.containers}, sum(list_bars(years, "height"))) == ({15}, 5 * 178)
    assert years.get_xlabel() == "2024 up to Oct"
    assert_labels_apart(years, 4)


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
