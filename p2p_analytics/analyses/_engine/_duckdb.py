"""DuckDB relations: results are relations of the same connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_duckdb_relation

from p2p_analytics.analyses._engine import _columns, _kinds
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyRelation, Expression

    from p2p_analytics.analyses._engine._kinds import Kind
    from p2p_analytics.vocabulary import Status

_INSTANTS: Final = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_DATES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *_INSTANTS})
_NULL: Final = '"NULL"'
_TYPES: Final = {nw.String(): "VARCHAR", nw.Int64(): "BIGINT", nw.Float64(): "DOUBLE", nw.Boolean(): "BOOLEAN"}


class DuckDB:
    """Dates become numbers before narwhals sees them, because DuckDB shows them in the zone of the connection."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a relation of DuckDB."""
        return is_duckdb_relation(native)

    @staticmethod
    def is_lazy(native: DuckDBPyRelation) -> bool:
        """Return whether a frame is a query, which may be large."""
        _ = native
        return True

    @staticmethod
    def check(native: DuckDBPyRelation, what: str) -> None:
        """Refuse a connection in another zone than UTC, in which the dates of results would be shown."""
        (zone,) = _one_row(native).select(_sql("current_setting('TimeZone')")).fetchall()[0]
        if zone not in {"UTC", "Etc/UTC"}:
            raise SchemaError(
                f"{what}: DuckDB's connection is in the time zone {zone}, in which dates would be shown shifted: "
                """run connection.execute("SET TimeZone = 'UTC'") first."""
            )

    @staticmethod
    def read_names(native: DuckDBPyRelation) -> list[str]:
        """Return the names of the columns."""
        return list(native.columns)

    @staticmethod
    def is_text_column(native: DuckDBPyRelation, name: str) -> bool:
        """Return whether a column is text, an enumeration, or of nulls only."""
        dtype = str(native.types[native.columns.index(name)])
        return dtype in {"VARCHAR", _NULL} or dtype.startswith("ENUM")

    @staticmethod
    def read(
        native: DuckDBPyRelation, given: Sequence[str], wanted: Iterable[str], status: Status | None, what: str
    ) -> tuple[nw.LazyFrame[Any], None]:
        """Return columns, with instants as microseconds; dates without a zone are UTC."""
        _ = wanted, status
        types = dict(zip(native.columns, map(str, native.types), strict=True))
        columns = []
        for name in given:
            dtype = types[name]
            is_instant = dtype != _NULL and _columns.is_instant(name, dtype, is_date=dtype in _DATES, what=what)
            # epoch_us takes no nanoseconds with a zone.
            value = f"CAST({quote(name)} AS {_INSTANTS[0]})" if dtype == _INSTANTS[1] else quote(name)
            columns.append(_sql(f"epoch_us({value})" if is_instant else value).alias(name))
        return nw.from_native(native.select(*columns)), None

    @staticmethod
    def build_rows(
        native: DuckDBPyRelation, rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
    ) -> nw.LazyFrame[Any]:
        """Return literal rows as a relation of the caller's connection."""
        import duckdb

        lists, columns = [], []
        for name, kind in schema.items():
            values, expression = (_join_texts if kind.dtype == nw.String() else _join_numbers)(rows[name])
            lists.append(duckdb.ConstantExpression(values).alias(name))
            columns.append(_sql(expression.format(name=quote(name), dtype=_TYPES[kind.dtype])).alias(name))
        return nw.from_native(_one_row(native).select(*lists).select(*columns))

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: DuckDBPyRelation, schema: Mapping[str, Kind]) -> DuckDBPyRelation:
        """Return a result, which is not computed yet."""
        _ = native
        relation: DuckDBPyRelation = frame.to_native()
        spelling = {
            _kinds.INSTANT: "make_timestamptz({})",
            _kinds.DATE: "(DATE '1970-01-01' + CAST({} AS INTEGER))",
        }
        return relation.select(
            *(_sql(spelling.get(kind, "{}").format(quote(name))).alias(name) for name, kind in schema.items())
        )


def _join_numbers(values: Sequence[object]) -> tuple[str, str]:
    """Return values as one text, and the expression that reads it: one constant, which is quicker than a list."""
    return f"[{','.join('NULL' if value is None else repr(value) for value in values)}]", "unnest({name}::{dtype}[])"


def _join_texts(values: Sequence[object]) -> tuple[str, str]:
    texts = ["" if value is None else f"={value}" for value in values]
    separator = "\n"
    while any(separator in text for text in texts):
        separator += "\n="
    # A text that was not null follows an equals sign.
    literal = "'" + separator + "'"
    words = f"string_split({{name}}, {literal})" if texts else "[]::VARCHAR[]"
    return separator.join(texts), f"unnest(list_transform({words}, lambda word: nullif(word, '')[2:]))"


def _one_row(native: DuckDBPyRelation) -> DuckDBPyRelation:
    """Return a relation of one row, which belongs to the same connection and reads no data."""
    return native.limit(0).aggregate("count(*) AS n")


def quote(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _sql(text: str) -> Expression:
    import duckdb

    return duckdb.SQLExpression(text)
