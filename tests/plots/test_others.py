"""Sums of the rows that a plot or table does not show one by one, worked out by hand."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.plots._parts.others import (
    OtherPeople,
    OtherRequests,
    count_shown,
    sum_other_people,
    sum_other_requests,
)
from support.plots.axes import list_bars, list_rows, list_texts
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
def test_the_sums_of_others(make: Any) -> None:
    """All rows after the first are added up exactly (0.1 + 0.2 is 0.3); requests by direction, unknown ones counted."""
    people = OtherPeople(people=3, payments=6, sent=0.3, received=0.8, net=0.5, share_of_sent=0.006)
    assert sum_other_people(make(PEOPLE), 1) == people
    requests = OtherRequests(requests=4, to_receive=0.3, to_pay=8.0, without_amount=1)
    assert sum_other_requests(make(REQUESTS), 1) == requests


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


LIMITED = [name for name in TABLES if "top" in signature(getattr(plots, name)).parameters]


@pytest.mark.parametrize("name", LIMITED)
def test_the_number_of_rows(name: str) -> None:
    """Of one row more than asked for, all are drawn; of two more, the last says "other"; no other number is valid."""
    table, draw = TABLES[name], getattr(plots, name)
    assert not [label for label in list_rows(draw(table, top=len(table) - 1)) if "other" in label]
    assert "2 other" in list_rows(draw(table, top=len(table) - 2))[-1]
    for top in (0, True, 1.5, "3", None):
        with pytest.raises(ConfigurationError, match=r"top=.* is not valid: give the number of rows, 1 or more"):
            draw(table, top=top)


def test_others_make_the_people_add_up() -> None:
    """Of more than thirty people the others share the last bars, with exact sums."""
    table = pd.DataFrame({"counterparty_name": [f"P{n}" for n in range(33)], "sent": 1.1, "received": 0.1})
    ax = plots.spend_by_friend(table)
    assert list_rows(ax)[29:] == ["P29", "3 other people"]
    assert list_bars(ax) == [*[1.1] * 30, 3.3, *[0.1] * 30, 0.3]
    assert [text for text in list_texts(ax) if text not in {"$1.10", "$0.10"}] == ["$3.30", "$0.30"]


def test_many_others_do_not_flatten_the_people() -> None:
    """Bars more than four times as long as any person's are shortened alike, hatched and labelled."""
    table = pd.DataFrame({"counterparty_name": [f"P{n}" for n in range(100)], "sent": 2.0, "received": 1.0})
    ax = plots.spend_by_friend(table, top=10)
    assert list_rows(ax)[-1] == "90 other people,\nbars not to scale"
    assert list_bars(ax) == [*[2.0] * 10, 2.5, *[1.0] * 10, 1.25]
    assert [text for text in list_texts(ax) if text not in {"$2", "$1"}] == ["$180", "$90"]  # the exact amounts
    assert [bar.get_hatch() for box in ax.containers for bar in box] == [*[None] * 10, "////"] * 2
    kept = plots.spend_by_friend(table.head(14), top=10)
    assert list_rows(kept)[-1] == "4 other people"
    assert list_bars(kept)[10] == 8.0
    nothing = table.assign(sent=0.0, received=0.0)
    nothing.loc[99, "sent"] = 5.0
    assert list_bars(plots.spend_by_friend(nothing, top=10))[10] == 5.0


def test_negative_amounts_are_within_the_axes() -> None:
    """An odd negative amount has a bar to the left of zero, and its label on the right of it."""
    table = pd.DataFrame({"counterparty_name": ["Ada", "Ben"], "sent": [10.0, -4.0], "received": 0.0})
    ax = plots.spend_by_friend(table)
    assert ax.get_xlim()[0] == -4
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [("$10", 10), ("−$4", 0)]  # noqa: RUF001 - a minus


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
    assert list_rows(ax) == ["A, $1.00", "B, $2.00", "3 other requests"]
    assert list_texts(ax) == ["9 days", "8 days", "$0.10 to receive,\n$20.00 to pay,\n1 without amount"]
    assert list_bars(ax) == [9.0, 8.0]
    assert list_texts(plots.pending_requests(table.assign(amount=None), top=3))[-1] == "2 without amount"
    assert list_texts(plots.pending_requests(table.assign(amount=0.0, age_days=1), top=3))[::3] == ["1 day", "$0"]


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
    assert list_rows(ax)[30:] == ["2 other values\n8 payments"]
    assert sorted(list_bars(ax))[:2] == [0.12, 0.88]
    assert {"12%", "88%"} < {*list_texts(ax)}
