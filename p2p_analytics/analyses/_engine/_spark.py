"""PySpark DataFrames: results are DataFrames of the same session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pyspark_dataframe

from p2p_analytics.analyses._engine import _columns, _counted, _kinds, _usual
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from narwhals.dtypes import DType
    from pyspark.sql import Column, DataFrame

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.vocabulary import Status

_DATES: Final = frozenset({"timestamp", "timestamp_ntz", "date"})
_SQL_TYPES: Final = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean"}


class Spark:
    """Dates become numbers by functions of Spark, which reads their parts in the zone of the session."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a PySpark DataFrame."""
        return is_pyspark_dataframe(native)

    @staticmethod
    def check(native: DataFrame, what: str) -> None:
        """Refuse a session in another zone than UTC, which would move dates without a zone."""
        zone = native.sparkSession.conf.get("spark.sql.session.timeZone")
        if zone not in {"UTC", "Etc/UTC"}:
            raise SchemaError(
                f"{what}: the Spark session is in the time zone {zone}, which would move dates without a zone: "
                'run spark.conf.set("spark.sql.session.timeZone", "UTC") first.'
            )

    @staticmethod
    def read_names(native: DataFrame) -> list[str]:
        """Return the names of the columns."""
        return list(native.columns)

    @staticmethod
    def is_text_column(native: DataFrame, name: str) -> bool:
        """Return whether a column is text, or of nulls only."""
        return native.schema[name].dataType.typeName() in {"string", "varchar", "char", "void"}

    @staticmethod
    def read(native: DataFrame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
        """Return columns as they are."""
        _refuse_ambiguous_names(native, selection.names, what)
        frame: nw.LazyFrame[Any] = nw.from_native(native.select(*map(_quote, selection.names)))
        return frame

    @staticmethod
    def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
        """Return the dtypes of columns."""
        return _kinds.read_dtypes(frame, names)

    @staticmethod
    def plan_columns(frame: nw.LazyFrame[Any], names: Sequence[str], what: str) -> dict[str, Column]:
        """Return columns with microseconds since 1970 in place of instants; dates without a zone are UTC."""
        from pyspark.sql import functions

        columns = {}
        for name, dtype in _read_types(frame.to_native(), names).items():
            column = functions.col(_quote(name))
            if dtype != "void" and _columns.is_instant(name, dtype, is_date=dtype in _DATES, what=what):
                column = functions.unix_micros(column.cast("timestamp"))
            columns[name] = column
        return columns

    @staticmethod
    def write_null() -> Column:
        """Return a column of text without values."""
        from pyspark.sql import functions

        return functions.lit(None).cast("string")

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], question: _usual.Question, what: str) -> _usual.Unusual:
        """Return the number of rows, and of those with an unusual value."""
        native: DataFrame = frame.to_native()
        Spark.check(native, what)
        conditions = _usual.write_sql(
            _read_types(native, question.names), "timestamp", _quote, currency=question.currency
        )
        if conditions is None:
            return _usual.Unusual(0, 1, is_one_kind=False)
        condition = " OR ".join(f"({each})" for each in conditions.values())
        unusual = native.filter(condition) if conditions else native.limit(0)
        rows = native.count() if question.rows else 0
        return _usual.Unusual(rows, unusual.count(), is_one_kind=False)

    @staticmethod
    def keep_counted(
        frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
    ) -> nw.LazyFrame[Any]:
        """Return the rows that count."""
        return _counted.keep_counted_by_sql(frame, dtypes, status, has_kinds=has_kinds)

    @staticmethod
    def select(frame: nw.LazyFrame[Any], columns: Mapping[str, Column]) -> nw.LazyFrame[Any]:
        """Return planned columns."""
        native: DataFrame = frame.to_native()
        found: nw.LazyFrame[Any] = nw.from_native(native.select(*(each.alias(name) for name, each in columns.items())))
        return found

    @staticmethod
    def load_table(native: DataFrame, table: pa.Table) -> nw.LazyFrame[Any]:
        """Return rows in Arrow as a DataFrame of the caller's session; executors would need Python to read others."""
        frame: nw.LazyFrame[Any] = nw.from_native(native.sparkSession.createDataFrame(table))
        return frame

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: DataFrame, schema: Mapping[str, Kind]) -> DataFrame:
        """Return a result, which is not computed yet."""
        from pyspark.sql import functions

        _ = native
        columns = []
        for name, kind in schema.items():
            column = functions.col(_quote(kind.column or name)).cast(_SQL_TYPES[kind.arrow])
            if kind.has_type(_kinds.INSTANT):
                column = functions.timestamp_micros(column)
            elif kind.has_type(_kinds.DATE):
                column = functions.date_from_unix_date(column.cast("int"))
            elif kind.per > 1:
                is_whole = not kind.has_type(_kinds.NUMBER)
                # Spark divides as floats, which is exact without a remainder.
                quotient = (column - functions.pmod(column, functions.lit(kind.per)) if is_whole else column) / kind.per
                column = quotient.cast(_SQL_TYPES[kind.arrow])
            columns.append(column.alias(name))
        result: DataFrame = frame.to_native().select(*columns)
        return result


def _read_types(native: DataFrame, names: Sequence[str]) -> dict[str, str]:
    fields = {field.name: field.dataType.typeName() for field in native.schema.fields}
    return {name: fields[name] for name in names}


def _refuse_ambiguous_names(native: DataFrame, given: Sequence[str], what: str) -> None:
    if native.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return
    for name in given:
        if others := [other for other in native.columns if other != name and other.lower() == name.lower()]:
            raise SchemaError(
                f"{what} needs a frame with distinct column names, not two columns {name} and {others[0]}, between "
                "which Spark sees no difference; rename or drop one."
            )


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
