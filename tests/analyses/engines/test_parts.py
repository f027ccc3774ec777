"""Large queries in parts: the same rows as in one query, and each person in one part."""

from datetime import UTC, datetime

import polars as pl
import pytest
from analyses.conftest import connect

import p2p_analytics as p2p
from p2p_analytics.analyses import series
from p2p_analytics.analyses._series import chains
from p2p_analytics.errors import SchemaError
from support.analyses.containers import make_table
from support.analyses.records import make_record, make_town

ANALYSES = {
    "bills": lambda frame: p2p.split_bills(frame, as_of="2025-01-01"),
    "outliers": p2p.unusual,
}
# Ids and names; without an id, the name is the person. Five different texts divide them.
PEOPLE = [
    ("1", ["Ada", "Bo", None]), ("2", ["Ada"]), (None, ["Ada"]), (None, ["Bo"]), ("Bo", ["1"]), (None, ["1"]),
    ("3", [None]),
]  # fmt: skip


@pytest.fixture(scope="module")
def town():
    """Return the payments of a town, and two bills and two duplicates more."""
    notes = [("Taxi", "settled"), ("taxi ", "pending"), ("Pizza", "settled"), ("pizza", "settled")]
    more = [
        make_record(
            payment_id=f"9{at}", action="charge", direction="in", status=status, note=note,
            counterparty_id=f"{at}", counterparty_name=f"P{at}",
        )
        for at, (note, status) in enumerate(notes)
    ]  # fmt: skip
    twins = [make_record(payment_id=f"8{at}", counterparty_id=f"{at // 2}", note="Twin") for at in range(4)]
    return pl.DataFrame(make_table([*make_town(3), *more, *twins], {}))


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
def test_parts_have_the_rows_of_all(monkeypatch, town, module):
    """A lazy frame of many rows gives the table of the whole frame; rows that belong together are in one part."""
    whole = ANALYSES[module](town)
    assert len(whole) >= {"bills": 2, "outliers": 4}[module]
    monkeypatch.setattr(f"p2p_analytics.analyses.{module}._ROWS_AT_ONCE", 10)
    result = ANALYSES[module](town.lazy())
    assert isinstance(result, pl.LazyFrame)
    assert result.collect().equals(whole)


def test_a_query_that_fails_in_a_part_is_named(monkeypatch, town):
    """As a query that fails for all rows is."""
    monkeypatch.setattr("p2p_analytics.analyses.outliers._ROWS_AT_ONCE", 1)
    broken = town.lazy().with_columns(note=pl.col("note").str.to_integer(strict=True).cast(pl.String))
    with pytest.raises(SchemaError, match="unusual"):
        p2p.unusual(broken)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(("rows", "parts"), [(20, 5), (10**6, 1)])
def test_series_are_looked_for_in_parts(monkeypatch, rents, engine, rows, parts):
    """Each person is in one part; the series are those of the whole frame, in its order."""
    whole = p2p.recurring(rents, as_of="2025-01-01")
    assert sorted(whole["amount"]) == [500 + person for person in range(len(PEOPLE))]
    assert {*whole["payments"]} == {12}
    found: list[set[str]] = []
    describe = series._describe_series

    def keep(events, today):
        found.append({*events["person"]})
        return describe(events, today)

    monkeypatch.setattr(series, "_describe_series", keep)
    monkeypatch.setattr(series, "_ROWS_AT_ONCE", rows)
    result = p2p.recurring(
        rents.lazy() if engine == "polars" else connect().from_arrow(rents.to_arrow()), as_of="2025-01-01"
    )
    table = result.collect() if isinstance(result, pl.LazyFrame) else result.pl()
    assert table.select(whole.columns).rows() == whole.rows()
    assert len(found) == parts
    assert sum(map(len, found)) == len(set().union(*found)) == len(PEOPLE)


@pytest.mark.parametrize("payments", [1, 25, 10**6])
def test_some_people_are_searched_at_a_time(monkeypatch, rents, payments):
    """With the same series as in the payments of all."""
    monkeypatch.setattr(chains, "_PAYMENTS_AT_ONCE", payments)
    found = p2p.recurring(rents, as_of="2025-01-01")
    assert found.select("amount", "payments", "counterparty_id", "note").rows() == [
        (500 + person, 12, user_id, "rent" if person % 3 == 0 else None)
        for person, (user_id, _) in reversed([*enumerate(PEOPLE)])
    ]
