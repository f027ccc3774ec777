"""Results as the caller's kind of frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.stable.v2.dependencies import is_duckdb_relation, is_pyspark_dataframe
from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

from p2p_analytics.analyses._engine._engines import find_engine
from p2p_analytics.analyses._engine._kinds import TEXT, Kind
from p2p_analytics.analyses._engine._polars import set_types
from p2p_analytics.currencies import US_DOLLARS


def build_rows(
    native: IntoFrame, rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
) -> nw.LazyFrame[Any]:
    """Return literal rows as a frame of the caller's engine, for a join."""
    columns = {name: pa.array(rows[name], kind.arrow) for name, kind in schema.items()}
    return find_engine(native, what="rows").load_table(native, pa.table(columns))


def build_result(
    like: IntoFrameT, rows: Sequence[Mapping[str, object]], schema: Mapping[str, Kind], currency: str = US_DOLLARS
) -> IntoFrameT:
    """Return rows that Python made as a result, from the computed columns of its kinds; see `to_result`."""
    columns = {}
    for result, kind in schema.items():
        name = kind.column or result
        columns[name] = pa.array([row[name] for row in rows], kind.arrow if kind.per == 1 else "int64")
    return to_result(find_engine(like, what="result").load_table(like, pa.table(columns)), like, schema, currency)


def to_result(
    frame: nw.LazyFrame[Any], like: IntoFrameT, schema: Mapping[str, Kind], currency: str = US_DOLLARS
) -> IntoFrameT:
    """Return a result, computed by the caller's engine or here, as the caller's kind of frame.

    It has exactly the schema's columns and dtypes; amounts in another currency than US dollars have it in one more
    column, the last.
    """
    if currency != US_DOLLARS and "currency" not in schema:
        frame, schema = frame.with_columns(currency=nw.lit(currency)), {**schema, "currency": TEXT}
    engine = find_engine(like, what="result")
    result: IntoFrameT
    if frame.implementation.is_polars() and (is_duckdb_relation(like) or is_pyspark_dataframe(like)):
        found = set_types(frame, schema).collect()
        columns = {name: found.get_column(name).to_arrow() for name in schema}
        texts = {name: columns[name].cast("string") for name, kind in schema.items() if kind.has_type(TEXT)}
        result = engine.load_table(like, pa.table(columns | texts)).to_native()
    else:
        result = engine.to_result(frame, like, schema)
    return result
