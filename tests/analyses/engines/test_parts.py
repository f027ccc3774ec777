"""Large queries in parts: the same rows as in one query, and each person in one part."""

from datetime import UTC, datetime

import polars as pl
import pytest
from analyses.conftest import connect, read_values

import p2p_analytics as p2p
from support.analyses.containers import make_table
from support.analyses.records import HOSTILE, make_town

ANALYSES = {
    "bills": lambda frame: p2p.split_bills(frame, as_of="2025-01-01"),
    "outliers": p2p.unusual,
    "series": lambda frame: p2p.recurring(frame, as_of="2025-01-01"),
}
# Ids and names; without an id, the name is the person. Five different texts divide them.
PEOPLE = [
    ("1", ["Ada", "Bo", None]), ("2", ["Ada"]), (None, ["Ada"]), (None, ["Bo"]), ("Bo", ["1"]), (None, ["1"]),
    ("3", [None]),
]  # fmt: skip


@pytest.fixture(scope="module")
def town():
    """Return the payments of a town, and many of one note and amount at about one time."""
    return pl.DataFrame(make_table([*make_town(3), *HOSTILE["bursts"]()], {}))


@pytest.fixture
def rents():
    """Return a year's rent of each person, who has another of some names each month."""
    return pl.DataFrame(
        {
            "status": "settled",
            "direction": "out",
            "amount_cents": 50_000 + 100 * person,
            "date_created": datetime(2024, month, 1, tzinfo=UTC),
            "note": None if person % 3 else "rent",
            "counterparty_id": user_id,
            "counterparty_name": names[month % len(names)],
        }
        for month in range(1, 13)
        for person, (user_id, names) in enumerate(PEOPLE)
    )


@pytest.mark.parametrize("module", list(ANALYSES))
def test_parts_have_the_rows_of_all(set_limit, town, module):
    """A lazy frame of many rows is read once more for each part, and gives the table of the whole frame."""
    whole = ANALYSES[module](town)
    assert len(whole) >= {"bills": 2, "outliers": 4, "series": 1}[module]
    reads: list[int] = []
    lazy = town.lazy().map_batches(lambda rows: (reads.append(len(rows)), rows)[1])
    assert ANALYSES[module](lazy).collect().equals(whole)
    in_one = len(reads)
    set_limit({"bills": "bill_requests", "outliers": "unusual_payments", "series": "recurring_payments"}[module], 20)
    assert ANALYSES[module](lazy).collect().equals(whole)
    assert len(reads) > 2 * in_one + 3


@pytest.mark.parametrize("convert", [pl.DataFrame.lazy, lambda rents: connect().from_arrow(rents.to_arrow())])
def test_series_are_looked_for_in_parts(set_limit, rents, convert):
    """Of each person, all payments are in one part; the series are in the order of the whole frame."""
    set_limit("recurring_payments", 20)
    expected = [
        (500 + person, 12, user_id, max(names, key=lambda name: name or ""), "rent" if person % 3 == 0 else None)
        for person, (user_id, names) in reversed([*enumerate(PEOPLE)])
    ]
    names = ("amount", "payments", "counterparty_id", "counterparty_name", "note")
    assert read_values(p2p.recurring(convert(rents), as_of="2025-01-01"), *names) == expected


@pytest.mark.parametrize("payments", [1, 25])
def test_some_people_are_searched_at_a_time(set_limit, rents, payments):
    """With the same series as in the payments of all."""
    whole = p2p.recurring(rents, as_of="2025-01-01")
    assert len(whole) == len(PEOPLE)
    set_limit("series_payments", payments)
    assert p2p.recurring(rents, as_of="2025-01-01").equals(whole)
