"""DuckDB relations: results are relations of the same connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, Final

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
from duckdb import DuckDBPyRelation
from narwhals.dtypes import DType

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._kinds import Kind, Selection, Usual
from p2p_analytics.analyses._engine._ranks import LARGEST, Ranked, find_share
from p2p_analytics.errors import SchemaError

_ZONE: Final = "if(count(*) >= 0, current_setting('TimeZone'), '') AS zone"  # also without rows
_INSTANTS: Final = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_DATES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *_INSTANTS})
_NULL: Final = '"NULL"'
_DTYPES: Final = {
    "VARCHAR": nw.String(), "BIGINT": nw.Int64(), "BOOLEAN": nw.Boolean(), _INSTANTS[0]: nw.Datetime("us", "UTC"),
}  # fmt: skip
_ROWS: Final = "p2p_rows"  # within a query
_TYPES: Final = {  # of Arrow
    "string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}  # fmt: skip


def check(native: DuckDBPyRelation, what: str) -> None:
    """Raise a SchemaError if the connection is in another zone than UTC: it would show the dates of results in it."""
    (zone,) = native.limit(0).aggregate(_ZONE).fetchall()[0]
    _refuse_other_zone(zone, what)


def list_names(native: DuckDBPyRelation) -> list[str]:
    """Return the names of the columns."""
    return list(native.columns)


def is_text_column(native: DuckDBPyRelation, name: str) -> bool:
    """Return whether a column is text, an enumeration, or has only nulls."""
    dtype = str(native.types[native.columns.index(name)])
    return dtype in {"VARCHAR", _NULL} or dtype.startswith("ENUM")


def read(native: DuckDBPyRelation, selection: Selection, what: str) -> nw.LazyFrame[Any]:  # noqa: ARG001 - as in each engine
    """Return columns without a change."""
    return nw.from_native(native.select(*map(_quote, selection.names)))


def list_dtypes(frame: nw.LazyFrame[Any]) -> Mapping[str, DType]:
    """Return the dtype of each column; of dates with a zone, narwhals would query the connection's zone first."""
    relation: DuckDBPyRelation = frame.to_native()
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if _DTYPES.keys() >= {*types.values()}:
        return {name: _DTYPES[dtype] for name, dtype in types.items()}
    return frame.collect_schema()


def convert_instants(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
    """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC.

    The numbers are made by SQL, because DuckDB shows dates in the zone of the connection.
    """
    relation: DuckDBPyRelation = frame.to_native()
    columns = []
    for name, type_ in zip(relation.columns, relation.types, strict=True):
        dtype, value = str(type_), _quote(name)
        if dtype != _NULL and _kinds.is_instant(name, dtype, is_date=dtype in _DATES, what=what):
            # epoch_us accepts no nanoseconds with a zone.
            value = f"CAST({value} AS {_INSTANTS[0]})" if dtype == _INSTANTS[1] else value
            value = f"epoch_us({value})"
        columns.append(f"{value} AS {_quote(name)}")
    found: nw.LazyFrame[Any] = nw.from_native(relation.project(", ".join(columns)))
    return found


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: whole numbers divided by a number above 0, rounded down.

    The quotient of narwhals, with a case for each kind of number, takes as long as a sort of the rows.
    """
    column = _quote(name)
    relation = frame.with_columns(dividend.alias(name)).to_native()
    divided = relation.project(f"* REPLACE ({_write_quotient(column, divisor)} AS {column})")
    found: nw.LazyFrame[Any] = nw.from_native(divided)
    return found


def find_unusual(frame: nw.LazyFrame[Any], usual: Mapping[str, Usual], what: str) -> tuple[int, set[str]]:
    """Return the number of rows, and all columns if one has an unusual value; the session is checked by the same query.

    Kinds are always unusual here, because to filter by them is quicker than to look at them. Each other column has a
    filter: DuckDB does not compare conditions on several columns with statistics. A step of a relation takes up to a
    millisecond, so there are as few as possible.
    """
    relation: DuckDBPyRelation = frame.to_native()
    parts = []
    for name, (first, last, with_null) in usual.items():
        column, dtype = _quote(name), "TIMESTAMPTZ " if isinstance(first, datetime) else ""
        outside = f"{column} < {dtype}'{first}' OR {column} > {dtype}'{last}'"
        outside += "" if with_null else f" OR {column} IS NULL"
        if name != "kind":
            parts.append(relation.filter(outside))
    number = reduce(DuckDBPyRelation.union, parts or [relation.limit(0)]).aggregate(f"{_ZONE}, count(*) AS number")
    zone, found, rows = number.cross(relation.aggregate("count(*) AS every")).fetchall()[0]
    _refuse_other_zone(zone, what)
    return rows, {*usual} if found else {*usual} & {"kind"}


def _refuse_other_zone(zone: str, what: str) -> None:
    if zone not in {"UTC", "Etc/UTC"}:
        raise SchemaError(
            f"{what}: DuckDB's connection is in the time zone {zone}, in which dates would be shown shifted: "
            """run connection.execute("SET TimeZone = 'UTC'") first (duckdb.execute, without a connection)."""
        )


def find_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group."""
    keys, value, ranks, sums, last = wanted
    column, groups = _quote(value), [_quote(key) for key in keys]
    found = [f"count({column}) AS values"]
    found += [f"{function}({each}) AS {each}" for function, names in (("sum", sums), ("max", last)) for each in names]
    found += [f"max({column}) AS {_quote(name)}" for name, rank in ranks.items() if rank == LARGEST]
    listed = {name: rank for name, rank in ranks.items() if rank != LARGEST}
    shares = ", ".join(f"{find_share(rank):.13f}" for rank in listed.values())
    # One list of ranks: with a second aggregate that keeps all values, DuckDB fills the disk when memory is short.
    found += [f"quantile_disc({column}, [{shares}])[{at}] AS {_quote(name)}" for at, name in enumerate(listed, start=1)]
    relation = frame.to_native().aggregate(", ".join([*groups, *found]), ", ".join(groups))
    table: nw.LazyFrame[Any] = nw.from_native(relation)
    return table


def cut(frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:
    """Return a frame in parts; rows with the same first text of columns are in one part."""
    texts = ", ".join(map(_quote, by))
    number = f"hash(coalesce({texts}, '')) % {parts}"
    return [nw.from_native(frame.to_native().filter(f"{number} = {part}")) for part in range(parts)]


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


def _write_rows(native: DuckDBPyRelation, table: pa.Table) -> DuckDBPyRelation:
    """Return rows that are written in the query, each column as one text: a text that is not null follows "="."""
    texts, columns = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = ["" if value is None else f"={value}" for value in column.cast("string").to_pylist()]
        separator = "\n"
        while any(separator in value for value in values):
            separator += "\n="
        words = f"string_split({_quote(name)}, '{separator}')" if values else "[]::VARCHAR[]"
        rows = f"unnest(list_transform({words}, lambda word: nullif(word, '')[2:]))"
        texts.append(duckdb.ConstantExpression(separator.join(values)).alias(name))
        columns.append(duckdb.SQLExpression(f"CAST({rows} AS {_TYPES[str(column.type)]})").alias(name))
    one_row = native.limit(0).aggregate("count(*) AS n")  # a row of the same connection that reads no data
    return one_row.select(*texts).select(*columns)


def to_result(frame: nw.LazyFrame[Any], native: DuckDBPyRelation, schema: Mapping[str, Kind]) -> DuckDBPyRelation:  # noqa: ARG001 - as in each engine
    """Return a result, which is not computed yet."""
    columns = []
    for name, kind in schema.items():
        column = _quote(kind.column or name)
        value = f"CAST({column} AS {_TYPES[kind.arrow]})"
        if kind.has_type(_kinds.DATE):
            value = f"DATE '1970-01-01' + CAST({column} AS INTEGER)"
        elif kind.has_type(_kinds.INSTANT):
            value = f"make_timestamptz({value})"
        elif kind.per > 1:
            value = f"{value} / {kind.per}" if kind.has_type(_kinds.NUMBER) else _write_quotient(value, kind.per)
        columns.append(f"{value} AS {_quote(name)}")
    relation: DuckDBPyRelation = frame.to_native()
    return relation.project(", ".join(columns))


def _write_quotient(number: str, divisor: int) -> str:
    """Return a whole number divided by a number above 0, rounded down, in SQL."""
    remainder = f"(({number} % {divisor} + {divisor}) % {divisor})"  # at least 0, also for a number below 0
    return f"({number} - {remainder}) // {divisor}"


def _quote(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
