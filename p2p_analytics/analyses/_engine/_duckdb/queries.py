"""Steps of a query in SQL of DuckDB."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine._ranks import LARGEST, find_share
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyRelation

    from p2p_analytics.analyses._engine._kinds import Usual
    from p2p_analytics.analyses._engine._ranks import Ranked

ZONE: Final = "if(count(*) >= 0, current_setting('TimeZone'), '') AS zone"  # also without rows


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: whole numbers divided by a number above 0, rounded down.

    The quotient of narwhals, with a case for each kind of number, takes as long as a sort of the rows.
    """
    column = quote(name)
    relation = frame.with_columns(dividend.alias(name)).to_native()
    divided = relation.project(f"* REPLACE ({write_quotient(column, divisor)} AS {column})")
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
        column, dtype = quote(name), "TIMESTAMPTZ " if isinstance(first, datetime) else ""
        outside = f"{column} < {dtype}'{first}' OR {column} > {dtype}'{last}'"
        outside += "" if with_null else f" OR {column} IS NULL"
        if name != "kind":
            parts.append(relation.filter(outside))
    number = reduce(type(relation).union, parts or [relation.limit(0)]).aggregate(f"{ZONE}, count(*) AS number")
    zone, found, rows = number.cross(relation.aggregate("count(*) AS every")).fetchall()[0]
    refuse_other_zone(zone, what)
    return rows, {*usual} if found else {*usual} & {"kind"}


def refuse_other_zone(zone: str, what: str) -> None:
    """Raise a SchemaError if a connection is in another zone than UTC: it would show the dates of results in it."""
    if zone not in {"UTC", "Etc/UTC"}:
        raise SchemaError(
            f"{what}: DuckDB's connection is in the time zone {zone}, in which dates would be shown shifted: "
            """run connection.execute("SET TimeZone = 'UTC'") first (duckdb.execute, without a connection)."""
        )


def find_ranked(frame: nw.LazyFrame[Any], wanted: Ranked) -> nw.LazyFrame[Any]:
    """Return one row per group."""
    keys, value, ranks, sums, last = wanted
    column, groups = quote(value), [quote(key) for key in keys]
    found = [f"count({column}) AS values"]
    found += [f"{function}({each}) AS {each}" for function, names in (("sum", sums), ("max", last)) for each in names]
    found += [f"max({column}) AS {quote(name)}" for name, rank in ranks.items() if rank == LARGEST]
    listed = {name: rank for name, rank in ranks.items() if rank != LARGEST}
    shares = ", ".join(f"{find_share(rank):.13f}" for rank in listed.values())
    # One list of ranks: with a second aggregate that keeps all values, DuckDB fills the disk when memory is short.
    found += [f"quantile_disc({column}, [{shares}])[{at}] AS {quote(name)}" for at, name in enumerate(listed, start=1)]
    relation = frame.to_native().aggregate(", ".join([*groups, *found]), ", ".join(groups))
    table: nw.LazyFrame[Any] = nw.from_native(relation)
    return table


def cut(frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:
    """Return a frame in parts; rows with the same first text of columns are in one part."""
    texts = ", ".join(map(quote, by))
    number = f"hash(coalesce({texts}, '')) % {parts}"
    return [nw.from_native(frame.to_native().filter(f"{number} = {part}")) for part in range(parts)]


def quote(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def write_quotient(number: str, divisor: int) -> str:
    """Return a whole number divided by a number above 0, rounded down, in SQL."""
    remainder = f"(({number} % {divisor} + {divisor}) % {divisor})"  # at least 0, also for a number below 0
    return f"({number} - {remainder}) // {divisor}"
