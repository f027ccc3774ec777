"""Large queries of Polars in slices: the same rows, with no slice of more values than planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import p2p_analytics as p2p
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
SIZES = {"bills": ["_ROWS_AT_ONCE"], "outliers": ["_ROWS_AT_ONCE", "_ROWS_OF_SLICE"]}


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
    rows = [len(found) for found in collected if {"reason", "bill"} & {*found.columns}]
    assert sum(rows) == len(whole) > max(rows)
    compared = [{*found["person"]} for found in collected if "lower" in found.columns]
    assert len(compared) > 2 if module == "outliers" else not compared
    assert sum(map(len, compared)) == len(set().union(*compared))
    collected.clear()
    assert analyse(frame).equals(whole)
    assert not collected


def test_a_query_that_fails_in_a_slice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that fails for all rows is."""
    for name in SIZES["outliers"]:
        monkeypatch.setattr(f"p2p_analytics.analyses.outliers.{name}", 1)
    frame = pl.DataFrame(make_table(build_records(), {}))
    broken = frame.lazy().with_columns(note=pl.col("note").str.to_integer(strict=True).cast(pl.String))
    with pytest.raises(SchemaError, match="unusual"):
        p2p.unusual(broken)
