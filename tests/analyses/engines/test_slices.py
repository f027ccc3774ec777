"""Large queries in slices: the same rows, with no slice of more values than planned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.analyses import _engine
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
RENTS = 7
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
    ("convert", "rows", "number"),
    [
        (pl.DataFrame.lazy, 1, 12 * RENTS),
        (pl.DataFrame.lazy, 20, 5),
        (pl.DataFrame.lazy, 10**6, 1),
        (to_duckdb, 1, RENTS),
        (to_duckdb, 20, 4),  # of three people, one, two and one: batches of 20 end in the twelve rows of a person
        (to_duckdb, 10**6, 1),
    ],
)
def test_series_are_looked_for_in_slices(
    monkeypatch: pytest.MonkeyPatch, convert: Callable[[pl.DataFrame], Any], rows: int, number: int
) -> None:
    """Those of one person in one slice, none in two; as those of the whole frame, in its order."""
    frame = build_rents()
    whole = p2p.recurring(frame, as_of="2025-01-01")
    assert len(whole) == RENTS
    slices = []
    read = _engine.collect_here

    def keep(query: Any, *arguments: Any, **options: Any) -> Any:
        found = read(query, *arguments, **options)
        slices.append({*found.collect()["person"]})
        return found

    monkeypatch.setattr("p2p_analytics.analyses._engine._slices.collect_here", keep)
    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_IN_ORDER", rows)
    monkeypatch.setattr("p2p_analytics.analyses.series._ROWS_AT_ONCE", rows)
    native = convert(frame)
    result = p2p.recurring(native, as_of="2025-01-01")
    found = result.collect() if isinstance(result, pl.LazyFrame) else result.pl()
    assert found.select(whole.columns).rows() == whole.rows()
    assert len(slices) == number
    assert sum(map(len, slices)) == len(set().union(*slices)) == RENTS


def test_a_connection_answers_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is half read is closed, though the traceback still has the frame that reads it."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_IN_ORDER", 5)
    monkeypatch.setattr("p2p_analytics.analyses.series._ROWS_AT_ONCE", 1)
    monkeypatch.setattr("p2p_analytics.analyses.series._describe_series", stop)
    relation = to_duckdb(build_rents())
    with pytest.raises(KeyboardInterrupt) as caught:
        p2p.recurring(relation, as_of="2025-01-01")
    assert relation.aggregate("count(*)").fetchall() == [(12 * RENTS,)]
    assert caught.traceback


def build_rents() -> pl.DataFrame:
    """Return rent of a year to some people, of whom one has no id."""
    return pl.DataFrame(
        {
            "status": "settled",
            "direction": "out",
            "amount_cents": 50_000 + person,
            "date_created": datetime(2024, month, 1, tzinfo=UTC),
            "note": None if person % 3 else "rent",
            "counterparty_id": f"{person}" if person else None,
            "counterparty_name": f"P{person}",
        }
        for month in range(1, 13)
        for person in range(RENTS)
    )


def test_a_query_that_fails_in_a_slice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that fails for all rows is."""
    for name in SIZES["outliers"]:
        monkeypatch.setattr(f"p2p_analytics.analyses.outliers.{name}", 1)
    frame = pl.DataFrame(make_table(build_records(), {}))
    broken = frame.lazy().with_columns(note=pl.col("note").str.to_integer(strict=True).cast(pl.String))
    with pytest.raises(SchemaError, match="unusual"):
        p2p.unusual(broken)
