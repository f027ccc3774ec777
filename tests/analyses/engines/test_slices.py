"""Large queries in slices: the same rows, with no slice of more values than planned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.analyses import _engine, series
from p2p_analytics.analyses._series import chains
from p2p_analytics.errors import SchemaError
from support.analyses.containers import make_table
from support.analyses.records import make_record, make_town

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.analyses.records import Record

ANALYSES: dict[str, Callable[[Any], Any]] = {
    "bills": lambda frame: p2p.split_bills(frame, as_of="2025-01-01"),
    "outliers": p2p.unusual,
}
# Ids and names; without an id, the name is the person. Five different texts divide them.
PEOPLE = [
    ("1", ["Ada", "Bo", None]), ("2", ["Ada"]), (None, ["Ada"]), (None, ["Bo"]), ("Bo", ["1"]), (None, ["1"]),
    ("3", [None]),
]  # fmt: skip
SIZES = {"bills": ["_ROWS_AT_ONCE"], "outliers": ["_ROWS_AT_ONCE", "_ROWS_OF_SLICE"]}


def to_duckdb(rows: pl.DataFrame) -> duckdb.DuckDBPyRelation:
    """Return rows as a relation of a connection of their own."""
    return duckdb.connect().from_arrow(rows.to_arrow())


def build_records() -> list[Record]:
    """Return the payments of a town, and two bills and two duplicates more."""
    more = [
        make_record(
            payment_id=f"9{at}", action="charge", direction="in", status=status, note=note,
            counterparty_id=f"{at}", counterparty_name=f"P{at}",
        )
        for at, (note, status) in enumerate(
            [("Taxi", "settled"), ("taxi ", "pending"), ("Pizza", "settled"), ("pizza", "settled")]
        )
    ]  # fmt: skip
    twins = [make_record(payment_id=f"8{at}", counterparty_id=f"{at // 2}", note="Twin") for at in range(4)]
    return [*make_town(3), *more, *twins]


@pytest.mark.parametrize("module", list(ANALYSES))
def test_slices_have_the_rows_of_all(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """The frame is read in parts; no row of the result is in two of them, and it is that of the whole frame."""
    frame = pl.DataFrame(make_table(build_records(), {}))
    analyse, collected = ANALYSES[module], []
    whole = analyse(frame.lazy()).collect()
    collect = pl.LazyFrame.collect

    def keep(query: pl.LazyFrame, *arguments: Any, **options: Any) -> Any:
        found = collect(query, *arguments, **options)
        if options.get("engine") == "streaming":
            collected.append(found)
        return found

    for name in SIZES[module]:
        monkeypatch.setattr(f"p2p_analytics.analyses.{module}.{name}", 10)
    monkeypatch.setattr(pl.LazyFrame, "collect", keep)
    result = analyse(frame.lazy())
    assert isinstance(result, pl.LazyFrame)
    assert len(collected) > 2
    assert result.collect().equals(whole)
    assert len(whole) >= 4 if module == "outliers" else len(whole) >= 2
    tables = [found for found in collected if {"reason", "bill"} & {*found.columns}]
    rows = [len(found) for found in tables if "counterparty_name" not in found.columns]
    assert sum(rows) == len(whole) > max(rows)
    in_order = [len(found) for found in tables if "counterparty_name" in found.columns]  # joined before they are sorted
    assert len(whole) == sum(in_order) > max(in_order) if module == "outliers" else not in_order
    compared = [{*found["person"]} for found in collected if "lower" in found.columns]
    assert len(compared) > 2 if module == "outliers" else not compared
    assert sum(map(len, compared)) == len(set().union(*compared))
    collected.clear()
    assert analyse(frame).equals(whole)
    assert not collected


@pytest.mark.parametrize("slices", [1, 2, 3, 50])
def test_sorting_in_slices(slices: int) -> None:
    """The largest first, ties by the next column, nulls last; equal numbers are in one slice."""
    numbers = [3, None, 2**62, 3, -5, 3, None, 0, -(2**62), 3]
    frame = pl.LazyFrame(
        {"number": numbers, "name": list("jihgfedcba")}, schema={"number": pl.Int64, "name": pl.String}
    )
    table = _engine.sort_in_slices(nw.from_native(frame), frame, ["number", "name"], slices=slices, what="sort")
    assert "".join(table.collect()["name"]) == "haegjcfbdi"


@pytest.mark.parametrize("numbers", [[], [None, None]])
def test_sorting_nothing_in_slices(numbers: list[None]) -> None:
    """Without a number there is nothing to cut."""
    frame = pl.LazyFrame(
        {"number": numbers, "name": ["b", "a"][: len(numbers)]}, schema={"number": pl.Int64, "name": pl.String}
    )
    table = _engine.sort_in_slices(nw.from_native(frame), frame, ["number", "name"], slices=3, what="sort")
    assert list(table.collect()["name"]) == sorted(["b", "a"][: len(numbers)])


@pytest.mark.parametrize(
    ("convert", "rows", "numbers"),
    [
        (pl.DataFrame.lazy, 1, [12 * len(PEOPLE)]),
        (pl.DataFrame.lazy, 20, [5]),
        (pl.DataFrame.lazy, 10**6, [1]),
        (to_duckdb, 1, [5]),
        (to_duckdb, 20, [3, 4, 5]),  # which depends on the order of hashes
        (to_duckdb, 10**6, [1]),
    ],
)
def test_series_are_looked_for_in_slices(
    monkeypatch: pytest.MonkeyPatch, convert: Callable[[pl.DataFrame], Any], rows: int, numbers: list[int]
) -> None:
    """Those of one person in one slice, none in two; as those of the whole frame, in its order."""
    frame = build_rents()
    whole = p2p.recurring(frame, as_of="2025-01-01")
    assert sorted(whole["amount"]) == [500 + person for person in range(len(PEOPLE))]
    assert {*whole["payments"]} == {12}
    slices = []
    describe = series._describe_series

    def keep(events: pl.DataFrame, today: int) -> Any:
        slices.append({*events["person"]})
        return describe(events, today)

    monkeypatch.setattr(series, "_describe_series", keep)
    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_IN_ORDER", rows)
    monkeypatch.setattr(series, "_ROWS_AT_ONCE", rows)
    result = p2p.recurring(convert(frame), as_of="2025-01-01")
    found = result.collect() if isinstance(result, pl.LazyFrame) else result.pl()
    assert found.select(whole.columns).rows() == whole.rows()
    assert len(slices) in numbers
    assert sum(map(len, slices)) == len(set().union(*slices)) == len(PEOPLE)


@pytest.mark.parametrize("rows", [1, 7, 20, 10**6])
def test_payments_that_are_alike_may_be_read_apart(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """DuckDB's rows are counted in each part that is read: two payments of a day are as two of one part."""
    rents = build_rents()
    frame = pl.concat([rents, rents.head(3 * len(PEOPLE)), rents.filter(pl.col("counterparty_id") == "3")])
    whole = p2p.recurring(frame, as_of="2025-01-01")
    # A second rent of all in three months, and a third of one person in all months.
    assert sorted(whole["payments"]) == [*[3] * len(PEOPLE), *[12] * (len(PEOPLE) + 1)]
    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_IN_ORDER", rows)
    found = p2p.recurring(to_duckdb(frame), as_of="2025-01-01")
    assert found.pl().select(whole.columns).rows() == whole.rows()


@pytest.mark.parametrize("payments", [1, 25, 10**6])
def test_some_people_are_searched_at_a_time(monkeypatch: pytest.MonkeyPatch, payments: int) -> None:
    """With the same series as in the payments of all."""
    monkeypatch.setattr(chains, "_PAYMENTS_AT_ONCE", payments)
    found = p2p.recurring(build_rents(), as_of="2025-01-01")
    assert found.select("amount", "payments", "counterparty_id", "note").rows() == [
        (500 + person, 12, user_id, "rent" if person % 3 == 0 else None)
        for person, (user_id, _) in reversed([*enumerate(PEOPLE)])
    ]


@pytest.mark.parametrize("place", ["p2p_analytics.analyses.series._describe_series", "polars.concat"])
def test_a_connection_answers_after_an_interrupt(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """A result that is half read is closed, though the error has the frames that read it."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_IN_ORDER", 5)
    monkeypatch.setattr(place, stop)
    relation = to_duckdb(build_rents())
    with pytest.raises(KeyboardInterrupt) as caught:
        p2p.recurring(relation, as_of="2025-01-01")
    assert relation.aggregate("count(*)").fetchall() == [(12 * len(PEOPLE),)]
    del caught


def build_rents() -> pl.DataFrame:
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


def test_a_query_that_fails_in_a_slice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that fails for all rows is."""
    for name in SIZES["outliers"]:
        monkeypatch.setattr(f"p2p_analytics.analyses.outliers.{name}", 1)
    frame = pl.DataFrame(make_table(build_records(), {}))
    broken = frame.lazy().with_columns(note=pl.col("note").str.to_integer(strict=True).cast(pl.String))
    with pytest.raises(SchemaError, match="unusual"):
        p2p.unusual(broken)
