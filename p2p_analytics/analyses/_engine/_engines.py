"""The engine of a frame: a module with functions of the same names for each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol, cast

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.dtypes import DType
from narwhals.stable.v2.dependencies import (
    is_duckdb_relation,
    is_pandas_dataframe,
    is_polars_dataframe,
    is_polars_lazyframe,
    is_pyspark_dataframe,
)
from narwhals.stable.v2.typing import IntoFrame

from p2p_analytics.analyses._engine._kinds import Kind, Selection, Usual
from p2p_analytics.analyses._engine._ranks import Ranked
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import refuse_failing_query


class Engine(Protocol):
    """What each engine can do; ``native`` is a frame of its kind, ``frame`` a query on one."""

    def check(self, native: Any, what: str) -> None:  # noqa: ANN401 - a frame of this kind
        """Raise a SchemaError if the session could return wrong results."""

    def list_names(self, native: Any) -> list[str]:  # noqa: ANN401 - a frame of this kind
        """Return the names of the columns, without names that are not text, which pandas allows."""

    def is_text_column(self, native: Any, name: str) -> bool:  # noqa: ANN401 - a frame of this kind
        """Return whether a column may hold text, by its dtype."""

    def read(self, native: Any, selection: Selection, what: str) -> nw.LazyFrame[Any]:  # noqa: ANN401 - a frame of this kind
        """Return the columns of a selection without a change."""

    def list_dtypes(self, frame: nw.LazyFrame[Any]) -> Mapping[str, DType]:
        """Return the dtype of each column."""

    def convert_instants(self, frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
        """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC.

        Raises
        ------
        SchemaError
            A column of instants has another type.
        """

    def add_quotient(self, frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
        """Return a frame with one more column: whole numbers divided by a number above 0, rounded down."""

    def find_unusual(self, frame: nw.LazyFrame[Any], usual: Mapping[str, Usual], what: str) -> tuple[int, set[str]]:
        """Return the number of rows, and the columns with an unusual value; check the session as `check` does."""

    def find_ranked(self, frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
        """Return one row per group, with values at ranks."""

    def cut(self, frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:
        """Return a frame in parts; rows with the same first text of columns are in one part."""

    def load_table(self, native: Any, table: pa.Table) -> nw.LazyFrame[Any]:  # noqa: ANN401 - a frame of this kind
        """Return rows in Arrow as a frame that can be joined with queries on ``native``."""

    def to_result(self, frame: nw.LazyFrame[Any], native: Any, schema: Mapping[str, Kind]) -> Any:  # noqa: ANN401 - a frame of this kind
        """Return a frame with exactly the schema's columns as the kind of frame that ``native`` is."""


# What to pass in place of an object that has payments; by name, to import no engine.
_ADVICE: Final = {
    "Archive": 'archive.scan("pandas")',
    "Archives": 'archives.scan("polars")',
    "DuckDBPyConnection": 'connection.table("payments")',
    "Table": "polars.from_arrow(table)",
}


@cache
def _load(name: str) -> Engine:
    """Return the module of an engine, which imports the engine."""
    return cast("Engine", import_module(f"{__package__}.{name}"))


def find_engine(native: object, *, what: str) -> Engine:
    """Return the engine of a frame.

    Raises
    ------
    SchemaError
        The object is not a frame of an engine that works.
    """
    if is_pandas_dataframe(native):
        return _load("_pandas")
    if is_polars_dataframe(native) or is_polars_lazyframe(native):
        return _load("_polars")
    if is_duckdb_relation(native):
        return _load("_duckdb")
    if is_pyspark_dataframe(native):
        return _load("_spark")
    attribute = "friends" if what == "friends" else "payments"
    name = type(native).__name__
    sentence = f"{what} needs a pandas or Polars frame, a DuckDB relation or a PySpark DataFrame, not"
    if hasattr(native, attribute):
        raise SchemaError(f"{sentence} a {name}: pass history.{attribute}.")
    if advice := _ADVICE.get(name):
        raise SchemaError(f"{sentence} {name}: pass {advice}.")
    raise SchemaError(f"{sentence} {name}.")


def find_computing_engine(frame: nw.LazyFrame[Any]) -> Engine:
    """Return the engine that computes a query."""
    if frame.implementation.is_duckdb():
        return _load("_duckdb")
    return _load("_polars" if frame.implementation.is_polars() else "_spark")


def list_names(native: IntoFrame, *, what: str) -> list[str]:
    """Return the names of a frame's columns, without names that are not text.

    Raises
    ------
    SchemaError
        The input is not a frame of an engine that works, or is a lazy frame with a query that fails.
    """
    engine = find_engine(native, what=what)
    with refuse_failing_query(native, what=what):
        return engine.list_names(native)


def is_text_column(native: IntoFrame, name: str) -> bool:
    """Return whether a column may hold text, by its dtype."""
    return find_engine(native, what=name).is_text_column(native, name)
