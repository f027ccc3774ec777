"""Results as DuckDB relations of the caller's connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import duckdb
import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._duckdb.queries import quote, write_quotient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyRelation

    from p2p_analytics.analyses._engine._kinds import Kind

ON_POLARS: Final = False
_ROWS: Final = "p2p_rows"  # within a query
_TYPES: Final = {  # of Arrow
    "string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}  # fmt: skip


def load_table(native: DuckDBPyRelation, table: pa.Table) -> nw.LazyFrame[Any]:
    """Return rows in Arrow as a relation of the caller's connection."""
    p2p_analytics_rows = table  # noqa: F841 - the query reads it, if no table has this name
    try:
        relation = native.query(_ROWS, "FROM p2p_analytics_rows")
    except duckdb.CatalogException:  # the connection may not read Python's variables
        relation = None
    if relation is None or relation.columns != table.column_names:
        relation = _write_rows(native, table)
    return nw.from_native(relation)


def to_result(frame: nw.LazyFrame[Any], native: DuckDBPyRelation, schema: Mapping[str, Kind]) -> DuckDBPyRelation:
    """Return a result, which is not computed yet."""
    _ = native
    relation: DuckDBPyRelation = frame.to_native()
    return relation.project(", ".join(_write_result(name, kind) for name, kind in schema.items()))


def _write_result(name: str, kind: Kind) -> str:
    column = quote(kind.column or name)
    value = f"CAST({column} AS {_TYPES[kind.arrow]})"
    if kind.has_type(_kinds.DATE):
        value = f"DATE '1970-01-01' + CAST({column} AS INTEGER)"
    elif kind.has_type(_kinds.INSTANT):
        value = f"make_timestamptz({value})"
    elif kind.per > 1:
        value = f"{value} / {kind.per}" if kind.has_type(_kinds.NUMBER) else write_quotient(value, kind.per)
    return f"{value} AS {quote(name)}"


def _write_rows(native: DuckDBPyRelation, table: pa.Table) -> DuckDBPyRelation:
    """Return rows that are written as text in the query."""
    texts, columns = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values, expression = _join_texts(name, column.cast("string").to_pylist())
        texts.append(duckdb.ConstantExpression(values).alias(name))
        columns.append(duckdb.SQLExpression(f"CAST({expression} AS {_TYPES[str(column.type)]})").alias(name))
    one_row = native.limit(0).aggregate("count(*) AS n")  # a row of the same connection that reads no data
    return one_row.select(*texts).select(*columns)


def _join_texts(name: str, values: Sequence[str | None]) -> tuple[str, str]:
    """Return values as one text, and the expression that reads them from a column of that text."""
    texts = ["" if value is None else f"={value}" for value in values]
    separator = "\n"
    while any(separator in text for text in texts):
        separator += "\n="
    # A text that was not null follows an equals sign.
    words = f"string_split({quote(name)}, '{separator}')" if texts else "[]::VARCHAR[]"
    return separator.join(texts), f"unnest(list_transform({words}, lambda word: nullif(word, '')[2:]))"
