"""Columns of PySpark DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from pyspark.sql import functions

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from p2p_analytics.analyses._engine._kinds import Selection

_DATES: Final = frozenset({"timestamp", "timestamp_ntz", "date"})


def check(native: DataFrame, what: str) -> None:
    """Raise a SchemaError if the session is in another zone than UTC: it would move dates without a zone."""
    zone = native.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone not in {"UTC", "Etc/UTC"}:
        raise SchemaError(
            f"{what}: the Spark session is in the time zone {zone}, which would move dates without a zone: "
            'run spark.conf.set("spark.sql.session.timeZone", "UTC") first.'
        )


def read_names(native: DataFrame) -> list[str]:
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
    frame: nw.LazyFrame[Any] = nw.from_native(native.select(*map(quote, selection.names)))
    return frame


def convert_instants(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
    """Return a frame with microseconds since 1970 in place of instants; a date without a zone is in UTC.

    Functions of Spark make the numbers, because it reads the parts of dates in the zone of the session.
    """
    native: DataFrame = frame.to_native()
    columns = []
    for field in native.schema.fields:
        name, dtype = field.name, field.dataType.typeName()
        column = functions.col(quote(name))
        if dtype != "void" and _kinds.is_instant(name, dtype, is_date=dtype in _DATES, what=what):
            column = functions.unix_micros(column.cast("timestamp"))
        columns.append(column.alias(name))
    found: nw.LazyFrame[Any] = nw.from_native(native.select(*columns))
    return found


def quote(name: str) -> str:
    """Return a name as Spark's SQL writes it."""
    return "`" + name.replace("`", "``") + "`"
