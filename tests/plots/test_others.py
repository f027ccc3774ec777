"""Sums of the rows that a plot or table does not show one by one, worked out by hand."""

from inspect import signature
from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError, SchemaError
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
    assert plots.sum_other_people(make(PEOPLE), 1)._asdict() == {
        "people": 3, "payments": 6, "sent": 0.3, "received": 0.8, "net": 0.5, "share_of_sent": 0.006,
    }  # fmt: skip
    assert plots.sum_other_requests(make(REQUESTS), 1)._asdict() == {
        "requests": 4, "to_receive": 0.3, "to_pay": 8.0, "without_amount": 1,
    }  # fmt: skip


def test_no_others_and_a_table_without_counts() -> None:
    """If every row is shown, the sums are zeros; a table by hand needs only the columns of the bars."""
    assert (
        plots.sum_other_people(PEOPLE, 4) == plots.sum_other_people(PEOPLE.iloc[:0], 15) == (0, 0, 0.0, 0.0, 0.0, 0.0)
    )
    assert plots.sum_other_requests(REQUESTS, 9) == (0, 0.0, 0.0, 0)
    assert plots.sum_other_people(PEOPLE[["sent", "received"]], 2) == (2, 0, 0.2, 0.8, 0.6, 0.0)
    with pytest.raises(SchemaError, match="sum_other_requests needs the columns"):
        plots.sum_other_requests(PEOPLE, 1)


LIMITED = [name for name in TABLES if "top" in signature(getattr(plots, name)).parameters]


@pytest.mark.parametrize("name", LIMITED)
def test_the_number_of_rows(name: str) -> None:
    """Of one row more than asked for, all are drawn; of two more, the last says "other"; no other number is valid."""
    table, draw = TABLES[name], getattr(plots, name)
    assert not [label for label in list_rows(draw(table, top=len(table) - 1)) if "other" in label]
    assert "2 other" in list_rows(draw(table, top=len(table) - 2))[-1]
    for top in (0, True, "3"):
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
    table = REQUESTS.assign(
        counterparty_name=[*"ABCDE"],
        amount=[1.0, 2.0, 0.1, 20.0, None],
        age_days=pd.array([9, 8, 7, 6, None], dtype="Int64"),
        direction=["in", "out", "in", "out", "in"],
    )
    ax = plots.pending_requests(table, top=2)
    assert list_rows(ax) == ["A, $1.00", "B, $2.00", "3 other requests"]
    assert list_texts(ax) == ["9 days", "8 days", "$0.10 to receive,\n$20.00 to pay,\n1 without amount"]
    assert list_bars(ax) == [9.0, 8.0]
    assert list_texts(plots.pending_requests(table.assign(amount=None), top=3))[-1] == "2 without amount"
    assert list_texts(plots.pending_requests(table.assign(amount=0.0, age_days=1), top=3))[::3] == ["1 day", "$0"]


def test_other_values_of_a_status_mix_share_a_bar() -> None:
    """The values after the thirtieth share the last bar, with the shares of all their payments."""
    rows = [(f"v{at:02d}", "settled", 5, 1.0) for at in range(30)]
    rows += [("v30", "settled", 6, 1.0), ("v31", "settled", 1, 0.5), ("v31", "failed", 1, 0.5)]
    table = pd.DataFrame(rows, columns=["medium", "status", "payments", "share"])
    ax = plots.status_mix(table.assign(amount=1.0, share_of_amount=1.0))
    assert list_rows(ax)[30:] == ["2 other values\n8 payments"]
    assert sorted(list_bars(ax))[:2] == [0.12, 0.88]
    assert {"12%", "88%"} < {*list_texts(ax)}
