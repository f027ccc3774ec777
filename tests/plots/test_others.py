"""Sums of the rows that a plot or table does not show one by one, worked out by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from p2p_analytics.errors import SchemaError
from p2p_analytics.plots._others import OtherPeople, OtherRequests, sum_other_people, sum_other_requests

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
