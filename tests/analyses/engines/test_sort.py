"""The order of rows by several columns, against the order of Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest

from p2p_analytics.analyses import _engine

if TYPE_CHECKING:
    from collections.abc import Callable

BUILDERS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda rows: rows,
    "lazy": lambda rows: rows.lazy(),
    "duckdb": lambda rows: duckdb.connect().from_arrow(rows.to_arrow()),
}
NAMES = ["at", "id", "note"]
# More than the rows of a test, so that a sort is part of the plan, or fewer, so that it is not.
ROWS_OF_PLAN = pytest.mark.parametrize("rows_of_plan", [10**6, 0], ids=["in the plan", "as a whole"])
SCHEMA = {"at": pl.Int64, "id": pl.String, "note": pl.String, "number": pl.Int64}


@pytest.mark.parametrize("builder", list(BUILDERS))
@pytest.mark.parametrize("values", [1, 3, 40, 10**6], ids=["all alike", "few", "some", "hardly any alike"])
@pytest.mark.parametrize("rows", [0, 1, 2, 60])
@pytest.mark.parametrize("columns", [1, 3])
def test_order_of_rows(builder: str, values: int, rows: int, columns: int) -> None:
    """By the first column, then the others; nulls last in each; no row is lost, and no column added."""
    chance = random.Random(7 * values + rows)  # noqa: S311 - no secret
    table = [
        (
            chance.choice([None, *(chance.randrange(values) for _ in range(4))]),
            chance.choice([None, "1", "10", "9"]),
            chance.choice([None, "", "Ramen", "ramen", "\U0001f35c", "z"]),
            number,
        )
        for number in range(rows)
    ]
    frame = pl.DataFrame(table, schema=SCHEMA, orient="row")
    native = BUILDERS[builder](frame)
    found = _engine.sort(nw.from_native(native).lazy(), native, NAMES[:columns], what="sort").collect()
    assert found.columns == [*SCHEMA]
    in_order = sorted((row[:columns] for row in table), key=nulls_last)
    assert [row[:columns] for row in found.iter_rows()] == in_order  # rows alike in these may be in any order
    assert sorted(row[3] for row in found.iter_rows()) == list(range(rows))
    assert all(table[row[3]] == row for row in found.iter_rows())


def nulls_last(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """Return a key with nulls after all values; UTF-8 has the order of code points."""
    return [(value is None, 0 if value is None else value) for value in row]


@ROWS_OF_PLAN
def test_a_query_is_computed_once(monkeypatch: pytest.MonkeyPatch, rows_of_plan: int) -> None:
    """One that gives other rows each time loses none, and repeats none."""
    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_OF_PLAN", rows_of_plan)
    rows = pl.DataFrame({"at": range(2000), "id": [f"{at}" for at in range(2000)], "note": None})
    shuffled = rows.lazy().with_columns(pl.col("at").shuffle())
    for flags in (pl.QueryOptFlags(), pl.QueryOptFlags.none()):
        query = _engine.sort(nw.from_native(shuffled), shuffled, NAMES, what="sort").to_native()
        found = query.collect(optimizations=flags)
        assert sorted(found["id"], key=int) == rows["id"].to_list()


STEPS: dict[str, Callable[[Any], Any]] = {
    "head": lambda rows: rows.head(5),
    "tail": lambda rows: rows.tail(5),
    "slice": lambda rows: rows.slice(7, 4),
    "select": lambda rows: rows.select("number"),
    "drop": lambda rows: rows.drop("at", "id"),
    "filter": lambda rows: rows.filter(pl.col("number") > 30),
    "filter, head": lambda rows: rows.filter(pl.col("id") == "9").head(3),
    "length": lambda rows: rows.select(pl.len()),
    "groups": lambda rows: rows.group_by("id", maintain_order=True).agg(pl.col("number").first()),
}


@ROWS_OF_PLAN
@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_steps_after_a_sort(monkeypatch: pytest.MonkeyPatch, rows_of_plan: int, step: str, engine: Any) -> None:
    """What a caller adds to a query is computed from sorted rows, as it is of those in memory."""
    monkeypatch.setattr("p2p_analytics.analyses._engine._slices._ROWS_OF_PLAN", rows_of_plan)
    numbers = [(37 * at) % 60 for at in range(60)]
    frame = pl.DataFrame({"at": [number // 4 for number in numbers], "id": [f"{n % 10}" for n in numbers]})
    frame = frame.with_columns(note=pl.lit("Ramen"), number=pl.Series(numbers))
    in_order = frame.sort(*NAMES, nulls_last=True)
    query = _engine.sort(nw.from_native(frame.lazy()), frame.lazy(), NAMES, what="sort").to_native()
    assert STEPS[step](query).collect(engine=engine).equals(STEPS[step](in_order))
