"""Columns of DuckDB relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._duckdb.queries import ZONE, quote, refuse_other_zone

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from p2p_analytics.analyses._engine._kinds import Selection

_INSTANTS: Final = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_DATES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *_INSTANTS})
_NULL: Final = '"NULL"'


def check(native: DuckDBPyRelation, what: str) -> None:
    """Raise a SchemaError if the connection is in another zone than UTC: it would show the dates of results in it."""
    (zone,) = native.limit(0).aggregate(ZONE).fetchall()[0]
    refuse_other_zone(zone, what)


def read_names(native: DuckDBPyRelation) -> list[str]:
    """Return the names of the columns."""
    return list(native.columns)


def is_text_column(native: DuckDBPyRelation, name: str) -> bool:
    """Return whether a column is text, an enumeration, or has only nulls."""
    dtype = str(native.types[native.columns.index(name)])
    return dtype in {"VARCHAR", _NULL} or dtype.startswith("ENUM")


def read(native: DuckDBPyRelation, selection: Selection, what: str) -> nw.LazyFrame[Any]:
    """Return columns without a change."""
    _ = what
    return nw.from_native(native.select(*map(quote, selection.names)))


def convert_instants(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
    """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC.

    The numbers are made by SQL, because DuckDB shows dates in the zone of the connection.
    """
    relation: DuckDBPyRelation = frame.to_native()
    columns = []
    for name, type_ in zip(relation.columns, relation.types, strict=True):
        dtype, value = str(type_), quote(name)
        if dtype != _NULL and _kinds.is_instant(name, dtype, is_date=dtype in _DATES, what=what):
            # epoch_us accepts no nanoseconds with a zone.
            value = f"CAST({value} AS {_INSTANTS[0]})" if dtype == _INSTANTS[1] else value
            value = f"epoch_us({value})"
        columns.append(f"{value} AS {quote(name)}")
    found: nw.LazyFrame[Any] = nw.from_native(relation.project(", ".join(columns)))
    return found
