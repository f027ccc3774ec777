"""Results as PySpark DataFrames of the caller's session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from pyspark.sql import functions

from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._spark.frames import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from p2p_analytics.analyses._engine._kinds import Kind

ON_POLARS: Final = False
_SQL_TYPES: Final = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean"}


def load_table(native: DataFrame, table: pa.Table) -> nw.LazyFrame[Any]:
    """Return rows in Arrow as a DataFrame of the caller's session; executors would need Python to read others."""
    frame: nw.LazyFrame[Any] = nw.from_native(native.sparkSession.createDataFrame(table))
    return frame


def to_result(frame: nw.LazyFrame[Any], native: DataFrame, schema: Mapping[str, Kind]) -> DataFrame:
    """Return a result, which is not computed yet."""
    _ = native
    columns = []
    for name, kind in schema.items():
        column = functions.col(quote(kind.column or name)).cast(_SQL_TYPES[kind.arrow])
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
