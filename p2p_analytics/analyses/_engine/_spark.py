"""PySpark DataFrames: results are DataFrames of the same session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pyspark_dataframe

from p2p_analytics.analyses._engine import _columns, _kinds, _usual
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from p2p_analytics.analyses._engine._kinds import Kind, Selection

_DATES: Final = frozenset({"timestamp", "timestamp_ntz", "date"})


class Spark:
    """Dates become numbers by functions of Spark, which reads their parts in the zone of the session."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a PySpark DataFrame."""
        return is_pyspark_dataframe(native)

    @staticmethod
    def is_lazy(native: DataFrame) -> bool:
        """Return whether a frame is a query, which may be large."""
        _ = native
        return True

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
    def count_microseconds(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
        """Return a frame with microseconds since 1970 in place of instants; dates without a zone are UTC."""
        from pyspark.sql import functions

        native: DataFrame = frame.to_native()
        columns = []
        for field in native.schema.fields:
            column, dtype = functions.col(_quote(field.name)), field.dataType.typeName()
            if dtype != "void" and _columns.is_instant(field.name, dtype, is_date=dtype in _DATES, what=what):
                column = functions.unix_micros(column.cast("timestamp"))
            columns.append(column.alias(field.name))
        numbers: nw.LazyFrame[Any] = nw.from_native(native.select(*columns))
        return numbers

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], what: str, *, with_currency: bool) -> _usual.Unusual:
        """Return the number of rows, and of those with an unusual value."""
        native: DataFrame = frame.to_native()
        Spark.check(native, what)
        types = {field.name: field.dataType.typeName() for field in native.schema.fields}
        conditions = _usual.write_sql(types, "timestamp", _quote, with_currency=with_currency)
        if conditions is None:
            return _usual.Unusual(0, 1, is_one_kind=False)
        unusual = native.filter(" OR ".join(f"({each})" for each in conditions)) if conditions else native.limit(0)
        return _usual.Unusual(native.count(), unusual.count(), is_one_kind=False)

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
            column = functions.col(_quote(name))
            if kind == _kinds.INSTANT:
                column = functions.timestamp_micros(column)
            if kind == _kinds.DATE:
                column = functions.date_from_unix_date(column.cast("int"))
            columns.append(column.alias(name))
        result: DataFrame = _kinds.cast(frame, schema).to_native().select(*columns)
        return result


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
