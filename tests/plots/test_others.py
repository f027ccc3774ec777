"""Sums of the rows that a plot or table does not show one by one, worked out by hand."""

from __future__ import annotations

import io
import re
from inspect import signature
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from PIL import Image

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.plots._parts.others import (
    OtherPeople,
    OtherRequests,
    count_shown,
    sum_other_people,
    sum_other_requests,
)
from support.plots.tables import TABLES

PEOPLE = pd.DataFrame(
    {
        "counterparty_name": ["Ada", "Ben", "Cyd", "Dan"],
        "sent": [50.0, 0.1, 0.2, 0.0],
        "received": [1.0, 0.0, 0.7, 0.1],
        "payments": [9, 1, 2, 3],
        "share_of_sent": [0.994, 0.002, 0.004, 0.0],
    }
)
REQUESTS = pd.DataFrame({"direction": ["in", "out", "in", "in", "out"], "amount": [9.0, 8.0, 0.1, 0.2, None]})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, lambda table: pl.from_pandas(table).lazy()])
def test_other_people(make: Any) -> None:
    """All people after the first are added up exactly: 0.1 + 0.2 is 0.3, not 0.30000000000000004."""
    assert sum_other_people(make(PEOPLE), 1) == OtherPeople(
        people=3, payments=6, sent=0.3, received=0.8, net=0.5, share_of_sent=0.006
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_other_requests(make: Any) -> None:
    """Requests are added up by direction, and those without an amount are counted."""
    assert sum_other_requests(make(REQUESTS), 1) == OtherRequests(
        requests=4, to_receive=0.3, to_pay=8.0, without_amount=1
    )


def test_no_others() -> None:
    """If every row is shown, the sums are zeros."""
    assert sum_other_people(PEOPLE, 4) == OtherPeople(0, 0, 0.0, 0.0, 0.0, 0.0)
    assert sum_other_people(PEOPLE.iloc[:0], 15) == OtherPeople(0, 0, 0.0, 0.0, 0.0, 0.0)
    assert sum_other_requests(REQUESTS, 9) == OtherRequests(0, 0.0, 0.0, 0)


def test_a_table_without_counts() -> None:
    """A table by hand needs only the columns of the bars; another table is refused by name."""
    others = sum_other_people(PEOPLE[["sent", "received"]], 2)
    assert others == OtherPeople(people=2, payments=0, sent=0.2, received=0.8, net=0.6, share_of_sent=0.0)
    with pytest.raises(SchemaError, match="sum_other_requests needs the columns"):
        sum_other_requests(PEOPLE, 1)


def test_a_single_other_keeps_its_name() -> None:
    """A row is not named "1 other ..." where its own name has the same room: two others are the fewest."""
    assert [count_shown(total, 12) for total in (0, 1, 12, 13, 14, 300)] == [0, 1, 12, 13, 12, 12]


@pytest.mark.parametrize("name", [name for name in TABLES if "top" in signature(getattr(plots, name)).parameters])
def test_plots_draw_a_single_other_as_itself(name: str) -> None:
    """Of a table with one row more than asked for, a plot has the rows that it has of the whole table."""
    table, draw = pd.concat([TABLES[name]] * 2, ignore_index=True), getattr(plots, name)
    whole = [label.get_text() for label in draw(table).get_yticklabels()]
    assert [label.get_text() for label in draw(table, top=len(table) - 1).get_yticklabels()] == whole
    assert not [label for label in whole if "other" in label]


def _texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def _bars(ax: Axes) -> list[float]:
    return [round(float(bar.get_width()), 2) for box in ax.containers for bar in box]


def test_others_make_the_people_add_up() -> None:
    """Of more than thirty people the others share the last bars, with exact sums."""
    table = pd.DataFrame({"counterparty_name": [f"P{n}" for n in range(33)], "sent": 1.1, "received": 0.1})
    ax = plots.spend_by_friend(table)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert (len(labels), labels[29:]) == (31, ["P29", "3 other people"])
    assert _bars(ax) == [*[1.1] * 30, 3.3, *[0.1] * 30, 0.3]
    assert [text for text in _texts(ax) if text not in {"$1.10", "$0.10"}] == ["$3.30", "$0.30"]
    assert len(plots.spend_by_friend(table.head(30)).get_yticklabels()) == 30
    few = plots.spend_by_friend(table.head(4), top=2)
    assert [label.get_text() for label in few.get_yticklabels()] == ["P0", "P1", "2 other people"]


def test_many_others_do_not_flatten_the_people() -> None:
    """Bars more than four times as long as any person's are shortened alike, hatched and labelled."""
    table = pd.DataFrame({"counterparty_name": [f"P{n}" for n in range(100)], "sent": 2.0, "received": 1.0})
    ax = plots.spend_by_friend(table, top=10)
    assert ax.get_yticklabels()[-1].get_text() == "90 other people,\nbars not to scale"
    assert _bars(ax) == [*[2.0] * 10, 2.5, *[1.0] * 10, 1.25]
    assert [text for text in _texts(ax) if text not in {"$2", "$1"}] == ["$180", "$90"]  # the exact amounts
    assert [bar.get_hatch() for box in ax.containers for bar in box] == [*[None] * 10, "////"] * 2
    kept = plots.spend_by_friend(table.head(14), top=10)
    assert kept.get_yticklabels()[-1].get_text() == "4 other people"
    assert _bars(kept)[10] == 8.0
    nothing = table.assign(sent=0.0, received=0.0)
    nothing.loc[99, "sent"] = 5.0
    assert _bars(plots.spend_by_friend(nothing, top=10))[10] == 5.0


def test_negative_amounts_are_within_the_axes() -> None:
    """An odd negative amount has a bar to the left of zero, and its label on the right of it."""
    table = pd.DataFrame({"counterparty_name": ["Ada", "Ben"], "sent": [10.0, -4.0], "received": 0.0})
    ax = plots.spend_by_friend(table)
    assert ax.get_xlim()[0] == -4
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [("$10", 10), ("−$4", 0)]  # noqa: RUF001 - a minus


@pytest.mark.parametrize("name", ["spend_by_friend", "pending_requests"])
@pytest.mark.parametrize("top", [0, -1, True, 1.5, "3", None])
def test_an_invalid_number_of_rows_is_refused(name: str, top: Any) -> None:
    """The message shows the value and the valid ones."""
    with pytest.raises(ConfigurationError, match=r"top=.* is not valid: give the number of rows, 1 or more"):
        getattr(plots, name)(PEOPLE, top=top)


def test_other_requests_are_added_up() -> None:
    """The requests without a bar are one row with their number, their sums by direction and the unknown amounts."""
    table = pd.DataFrame(
        {
            "direction": ["in", "out", "in", "out", "in"],
            "counterparty_name": [*"ABCDE"],
            "amount": [1.0, 2.0, 0.1, 20.0, None],
            "age_days": pd.array([9, 8, 7, 6, None], dtype="Int64"),
        }
    )
    ax = plots.pending_requests(table, top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["A, $1.00", "B, $2.00", "3 other requests"]
    assert _texts(ax) == ["9 days", "8 days", "$0.10 to receive,\n$20.00 to pay,\n1 without amount"]
    assert _bars(ax) == [9.0, 8.0]
    unknown = table.assign(amount=None)
    assert _texts(plots.pending_requests(unknown, top=3)) == ["9 days", "8 days", "7 days", "2 without amount"]
    assert _texts(plots.pending_requests(table.assign(amount=0.0), top=3))[-1] == "$0"


@pytest.mark.parametrize("name", ["spend_by_friend", "pending_requests"])
def test_others_fit_a_narrow_page(name: str) -> None:
    """Long labels leave room for the bars; matplotlib warns otherwise (the tests turn warnings into errors)."""
    table = pd.DataFrame(
        {
            "direction": ["in", "out", "out"] * 20,
            "counterparty_name": "a name that never seems to come to any end",
            "amount": [12345.67, 23456.78, None] * 20,
            "age_days": 1234,
            "sent": 12345.67,
            "received": 12345.67,
        }
    )
    assert plots.to_image(getattr(plots, name), table, "png", size=(5.2, None))


@pytest.mark.parametrize("size", [None, (5.2, None), (7, 4)])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_an_image_is_drawn_once(
    size: tuple[float, float | None] | None, kind: Literal["png", "svg"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the layout of a figure is computed before it is drawn."""
    drawings: list[object] = []
    draw = Axes.draw
    monkeypatch.setattr(Axes, "draw", lambda axes, renderer: drawings.append(axes) or draw(axes, renderer))
    plots.to_image(plots.spend_by_friend, TABLES["spend_by_friend"], kind, size=size)
    assert len(drawings) == 1


@pytest.mark.parametrize(("kind", "dots"), [("png", 150), ("svg", 72)])
def test_an_image_has_the_size_that_is_asked_for(kind: Literal["png", "svg"], dots: int) -> None:
    """Width and height are in inches; a height of None is left to the plot, and all is drawn within the image."""
    whole = measure_image(plots.to_image(plots.monthly_flow, TABLES["monthly_flow"], kind, size=(7, 4)))
    assert whole == (7 * dots, 4 * dots)
    narrow, wide = (
        measure_image(plots.to_image(plots.spend_by_friend, TABLES["spend_by_friend"], kind, size=(width, None)))
        for width in (5.2, 9.0)
    )
    assert narrow[0] == pytest.approx(5.2 * dots, rel=0.06)  # the margins around a figure that chooses its height
    assert wide[0] == pytest.approx(9.0 * dots, rel=0.06)
    assert narrow[1] == pytest.approx(wide[1], rel=0.02)


def measure_image(image: bytes) -> tuple[float, float]:
    """Return width and height of an image in its own units."""
    if image.startswith(b"\x89PNG"):
        return Image.open(io.BytesIO(image)).size
    width, height = re.search(rb'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', image).groups()
    return float(width), float(height)


def test_other_values_of_a_status_mix_share_a_bar() -> None:
    """The values after the thirtieth share the last bar, with the shares of all their payments."""
    values = [f"v{n:02d}" for n in range(32)]
    table = pd.DataFrame(
        {
            "medium": [*values, "v31"],
            "status": ["settled"] * 32 + ["failed"],
            "payments": [5] * 30 + [6, 1, 1],
            "share": [1.0] * 31 + [0.5, 0.5],
            "amount": 1.0,
            "share_of_amount": 1.0,
        }
    )
    ax = plots.status_mix(table)
    assert ax.get_yticklabels()[-1].get_text() == "2 other values\n8 payments"
    assert len(ax.get_yticklabels()) == 31
    assert sorted(_bars(ax))[:2] == [0.12, 0.88]
    assert "12%" in _texts(ax)
    assert "88%" in _texts(ax)
