"""Builders of frames from literal rows, and a reader of results, for every kind of frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS
from p2p_analytics.times import parse_instant
from support.frames import frame_from_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each town that `recurring` was judged by."""
    lines = dict.fromkeys(
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for name, value in report.user_properties
        if name == "recurring"
    )
    if lines:
        terminalreporter.section("planted series")
        for line in lines:
            terminalreporter.write_line(line)


def payments_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a PAYMENTS frame of literal rows; ``created`` and ``completed`` are datetime texts."""
    filled = []
    for number, row in enumerate(rows):
        full = {"payment_id": f"{number:03d}", "status": "settled", "action": "pay", **row}
        for name in ("created", "completed"):
            full[f"date_{name}"] = parse_instant(full[name]) if full.get(name) else None
        if "amount_cents" not in full and full.get("flow_cents") is not None:
            full["amount_cents"] = abs(full["flow_cents"])
        filled.append(full)
    return frame_from_rows(filled, PAYMENTS)


def friends_frame(ids: list[str]) -> pd.DataFrame:
    """Return a FRIENDS frame with these ids."""
    return frame_from_rows([{"user_id": identifier} for identifier in ids], FRIENDS)


def as_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every column as Python objects, and None for null."""
    return frame.astype(object).where(frame.notna(), None)


def as_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every column in its pyarrow-backed dtype."""
    return frame.convert_dtypes(dtype_backend="pyarrow")


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every text column as a categorical."""
    return frame.astype({name: "category" for name, dtype in frame.dtypes.items() if dtype == "str"})


def connect(zone: str = "UTC") -> duckdb.DuckDBPyConnection:
    """Return a connection of DuckDB in a time zone."""
    return duckdb.connect().execute(f"SET TimeZone = '{zone}'")


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas objects": as_objects,
    "pandas pyarrow": as_arrow,
    "pandas categories": as_categories,
    "pandas odd index": lambda frame: frame.set_axis([7] * len(frame)),
    "polars": pl.from_pandas,
    "polars categories": lambda frame: pl.from_pandas(as_categories(frame)),
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: connect().from_arrow(table_of(frame)),
}


def read_rows(table: pd.DataFrame | pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    """Return a result table as plain rows with None for every null."""
    if isinstance(table, duckdb.DuckDBPyRelation):
        table = table.pl()
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return table.to_dicts()
    rows: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return rows


# The other kinds are other dtypes of these; `make test-all` runs them.
USUAL = {"pandas", "polars", "polars lazy", "duckdb"}
PARAMS = [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.all_frames) for kind in KINDS]


@pytest.fixture(params=PARAMS)
def convert(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """Return a function that converts a pandas frame; parametrized over the kinds of frames."""
    return KINDS[request.param]


@pytest.fixture
def payments(convert: Callable[[pd.DataFrame], Any]) -> Callable[..., Any]:
    """Return a function that builds a payments frame from literal rows."""
    return lambda *rows: convert(payments_frame(list(rows)))


@pytest.fixture
def friends(convert: Callable[[pd.DataFrame], Any]) -> Callable[..., Any]:
    """Return a function that builds a friends frame from ids."""
    return lambda *ids: convert(friends_frame(list(ids)))


@pytest.fixture
def rows_of() -> Callable[[Any], list[dict[str, Any]]]:
    """Return a function that reads a result table as plain rows."""
    return read_rows


@pytest.fixture
def build() -> Callable[[list[dict[str, Any]]], pd.DataFrame]:
    """Return a function that builds a pandas payments frame from literal rows."""
    return payments_frame
