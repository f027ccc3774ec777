"""DuckDB relations: results are relations of the same connection."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_duckdb_relation

from p2p_analytics.analyses._engine import _columns, _counted, _kinds, _usual
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyRelation, Expression
    from narwhals.dtypes import DType

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.vocabulary import Status

_INSTANTS: Final = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_DATES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *_INSTANTS})
_NULL: Final = '"NULL"'
_ROWS: Final = "p2p_rows"  # within a query
_ZONE: Final = "if(count(*) >= 0, current_setting('TimeZone'), '') AS zone"  # of no rows, too
_TYPES: Final = {  # of Arrow
    "string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN", "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
}  # fmt: skip
_DTYPES: Final[Mapping[str, DType]] = {
    "VARCHAR": nw.String(),
    "BIGINT": nw.Int64(),
    "BOOLEAN": nw.Boolean(),
    _INSTANTS[0]: nw.Datetime("us", "UTC"),
}


class DuckDB:
    """Dates become numbers by SQL, because DuckDB shows them in the zone of the connection."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a relation of DuckDB."""
        return is_duckdb_relation(native)

    @staticmethod
    def check(native: DuckDBPyRelation, what: str) -> None:
        """Refuse a connection in another zone than UTC, in which the dates of results would be shown."""
        (zone,) = native.limit(0).aggregate(_ZONE).fetchall()[0]
        _refuse_other_zone(zone, what)

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
    def read(native: DuckDBPyRelation, selection: Selection, what: str) -> nw.LazyFrame[Any]:
        """Return all columns as they are: a relation of the selected ones would be one more to bind."""
        _ = selection, what
        return nw.from_native(native)

    @staticmethod
    def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
        """Return the dtypes of columns; narwhals would query the zone of instants."""
        relation: DuckDBPyRelation = frame.to_native()
        types = _read_types(relation, names)
        others = [name for name in names if types[name] not in _DTYPES]
        found = nw.from_native(relation.select(*map(quote, others))).collect_schema() if others else {}
        return {name: found[name] if name in found else _DTYPES[types[name]] for name in names}

    @staticmethod
    def plan_columns(frame: nw.LazyFrame[Any], names: Sequence[str], what: str) -> dict[str, str]:
        """Return columns with microseconds since 1970 in place of instants; dates without a zone are UTC."""
        columns = {}
        for name, dtype in _read_types(frame.to_native(), names).items():
            is_instant = dtype != _NULL and _columns.is_instant(name, dtype, is_date=dtype in _DATES, what=what)
            # epoch_us takes no nanoseconds with a zone.
            value = f"CAST({quote(name)} AS {_INSTANTS[0]})" if dtype == _INSTANTS[1] else quote(name)
            columns[name] = f"epoch_us({value})" if is_instant else value
        return columns

    @staticmethod
    def write_null() -> str:
        """Return a column of text without values."""
        return "CAST(NULL AS VARCHAR)"

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], question: _usual.Question, what: str) -> _usual.Unusual:
        """Return the number of rows, and of unusual values; the zone is checked by the same query.

        Columns are looked at apart from each other: DuckDB does not compare conditions on several with the statistics
        of Parquet files.
        """
        relation: DuckDBPyRelation = frame.to_native()
        types = _read_types(relation, question.names)
        conditions = _usual.write_sql(types, _INSTANTS[0], quote, currency=question.currency)
        if not conditions:
            DuckDB.check(relation, what)
            return _usual.Unusual(0, int(conditions is None), is_one_kind=False)
        looked_at = relation.select(*map(quote, conditions))
        parts = [looked_at.filter(each) for each in conditions.values()]
        found = reduce(type(relation).union, parts).aggregate(f"{_ZONE}, count(*) AS unusual")
        if question.rows and _usual.list_amounts(types):
            found = found.cross(looked_at.aggregate("count(*) AS every"))
        zone, others, *rows = found.fetchall()[0]
        _refuse_other_zone(zone, what)
        return _usual.Unusual(sum(rows), others, is_one_kind=False)

    @staticmethod
    def keep_counted(
        frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
    ) -> nw.LazyFrame[Any]:
        """Return the rows that count."""
        return _counted.keep_counted_by_sql(frame, dtypes, status, has_kinds=has_kinds)

    @staticmethod
    def select(frame: nw.LazyFrame[Any], columns: Mapping[str, str]) -> nw.LazyFrame[Any]:
        """Return planned columns."""
        texts = (f"{column} AS {quote(name)}" for name, column in columns.items())
        found: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(", ".join(texts)))
        return found

    @staticmethod
    def load_table(native: DuckDBPyRelation, table: pa.Table) -> nw.LazyFrame[Any]:
        """Return rows in Arrow as a relation of the caller's connection."""
        import duckdb

        p2p_analytics_rows = table  # noqa: F841 - read by the query, if no table has this name
        try:
            relation = native.query(_ROWS, "FROM p2p_analytics_rows")
        except duckdb.CatalogException:  # the connection may not read Python's variables
            relation = None
        if relation is None or relation.columns != table.column_names:
            relation = _write_rows(native, table)
        return nw.from_native(relation)

    @staticmethod
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


def _read_types(relation: DuckDBPyRelation, names: Sequence[str]) -> dict[str, str]:
    types = dict(zip(relation.columns, relation.types, strict=True))
    return {name: str(types[name]) for name in names}


def _refuse_other_zone(zone: str, what: str) -> None:
    if zone not in {"UTC", "Etc/UTC"}:
        raise SchemaError(
            f"{what}: DuckDB's connection is in the time zone {zone}, in which dates would be shown shifted: "
            """run connection.execute("SET TimeZone = 'UTC'") first (duckdb.execute, without a connection)."""
        )


def _write_rows(native: DuckDBPyRelation, table: pa.Table) -> DuckDBPyRelation:
    """Return rows that are written as text in the query."""
    import duckdb

    texts, columns = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values, expression = _join_texts(name, column.cast("string").to_pylist())
        texts.append(duckdb.ConstantExpression(values).alias(name))
        columns.append(_sql(f"CAST({expression} AS {_TYPES[str(column.type)]})").alias(name))
    one_row = native.limit(0).aggregate("count(*) AS n")  # which belongs to the same connection and reads no data
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


def quote(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def write_quotient(number: str, divisor: int) -> str:
    """Return a whole number divided by one above 0, rounded down, in SQL.

    What narwhals writes for it, with a case for each kind of number, takes as long as a sort of the rows.
    """
    remainder = f"(({number} % {divisor} + {divisor}) % {divisor})"  # at least 0, also for a number below 0
    return f"({number} - {remainder}) // {divisor}"


def _sql(text: str) -> Expression:
    import duckdb

    return duckdb.SQLExpression(text)
