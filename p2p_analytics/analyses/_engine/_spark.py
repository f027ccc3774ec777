"""PySpark DataFrames: results are DataFrames of the same session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.dtypes import DType
from pyspark.sql import DataFrame, functions

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._kinds import Kind, Selection, Usual
from p2p_analytics.analyses._engine._ranks import count_ranked
from p2p_analytics.errors import SchemaError

_DATES: Final = frozenset({"timestamp", "timestamp_ntz", "date"})
_SQL_TYPES: Final = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean"}

find_ranked = count_ranked  # Spark's percentiles keep all rows of a group in memory


def check(native: DataFrame, what: str) -> None:
    """Raise a SchemaError if the session is in another zone than UTC: it would move dates without a zone."""
    zone = native.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone not in {"UTC", "Etc/UTC"}:
        raise SchemaError(
            f"{what}: the Spark session is in the time zone {zone}, which would move dates without a zone: "
            'run spark.conf.set("spark.sql.session.timeZone", "UTC") first.'
        )


def list_names(native: DataFrame) -> list[str]:
    """Return the names of the columns."""
    return list(native.columns)


def is_text_column(native: DataFrame, name: str) -> bool:
    """Return whether a column is text, or has only nulls."""
    return native.schema[name].dataType.typeName() in {"string", "varchar", "char", "void"}


def read(native: DataFrame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
    """Return columns without a change."""
    if native.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        for name in selection.names:
            if others := [other for other in native.columns if other != name and other.lower() == name.lower()]:
                raise SchemaError(
                    f"{what} needs a frame with distinct column names, not two columns {name} and {others[0]}, between "
                    "which Spark sees no difference; rename or drop one."
                )
    frame: nw.LazyFrame[Any] = nw.from_native(native.select(*map(_quote, selection.names)))
    return frame


def list_dtypes(frame: nw.LazyFrame[Any]) -> Mapping[str, DType]:
    """Return the dtype of each column."""
    return frame.collect_schema()


def convert_instants(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
    """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC.

    Functions of Spark make the numbers, because it reads the parts of dates in the zone of the session.
    """
    native: DataFrame = frame.to_native()
    columns = []
    for field in native.schema.fields:
        name, dtype = field.name, field.dataType.typeName()
        column = functions.col(_quote(name))
        if dtype != "void" and _kinds.is_instant(name, dtype, is_date=dtype in _DATES, what=what):
            column = functions.unix_micros(column.cast("timestamp"))
        columns.append(column.alias(name))
    found: nw.LazyFrame[Any] = nw.from_native(native.select(*columns))
    return found


def add_quotient(frame: nw.LazyFrame[Any], name: str, dividend: nw.Expr, divisor: int) -> nw.LazyFrame[Any]:
    """Return a frame with one more column: whole numbers divided by a number above 0, rounded down."""
    return frame.with_columns((dividend // divisor).alias(name))


def find_unusual(frame: nw.LazyFrame[Any], usual: Mapping[str, Usual], what: str) -> tuple[int, set[str]]:
    """Return the number of rows, and the columns with an unusual value; the session is checked, too."""
    native: DataFrame = frame.to_native()
    check(native, what)
    counts = {"": functions.count("*").alias("rows")}
    for name, (first, last, with_null) in usual.items():
        column = functions.col(_quote(name))
        outside = (column < first) | (column > last)
        outside = outside if with_null else outside | column.isNull()
        counts[name] = functions.count_if(outside).alias(name)
    rows, *found = native.agg(*counts.values()).toArrow().to_pylist()[0].values()
    return rows, {name for name, number in zip(usual, found, strict=True) if number}


def cut(frame: nw.LazyFrame[Any], by: Sequence[str], parts: int) -> list[nw.LazyFrame[Any]]:  # noqa: ARG001 - as in each engine
    """Return the whole frame: Spark distributes large queries itself."""
    return [frame]


def load_table(native: DataFrame, table: pa.Table) -> nw.LazyFrame[Any]:
    """Return rows in Arrow as a DataFrame of the caller's session; executors would need Python to read others."""
    frame: nw.LazyFrame[Any] = nw.from_native(native.sparkSession.createDataFrame(table))
    return frame


def to_result(frame: nw.LazyFrame[Any], native: DataFrame, schema: Mapping[str, Kind]) -> DataFrame:  # noqa: ARG001 - as in each engine
    """Return a result, which is not computed yet."""
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


def _quote(name: str) -> str:
    """Return a name as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"
