"""Frames of every engine out of raw records, in the dtypes of a load or in others, and the rows of results."""

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

from support.analyses.records import CENTS, COLUMNS, DATES, TEXTS, Record

TYPES = {**dict.fromkeys(TEXTS, pa.string()), **dict.fromkeys(CENTS, pa.int64())}
UTC_TIMES = dict.fromkeys(DATES, pa.timestamp("us", "UTC"))


def make_table(records: Sequence[Record], changes: dict[str, pa.DataType]) -> pa.Table:
    """Return an Arrow table of records; some columns have other types."""
    types = {**TYPES, **UTC_TIMES, **changes}
    columns = {}
    for name in COLUMNS:
        plain = pa.array([record[name] for record in records], {**TYPES, **UTC_TIMES}[name])
        columns[name] = plain.dictionary_encode() if pa.types.is_dictionary(types[name]) else plain.cast(types[name])
    return pa.table(columns)


def change(names: Sequence[str], dtype: pa.DataType) -> Callable[[Sequence[Record]], pa.Table]:
    """Return a function that makes a table in which columns have another type."""
    return lambda records: make_table(records, dict.fromkeys(names, dtype))


def cut(records: Sequence[Record]) -> pa.Table:
    """Return a table of chunks of one, two, three ... rows."""
    table, pieces = make_table(records, {}), []
    while sum(map(len, pieces)) < len(table):
        pieces.append(table.slice(sum(map(len, pieces)), len(pieces) + 1))
    return pa.concat_tables([table[:0], *pieces])


def shuffle(records: Sequence[Record]) -> pa.Table:
    """Return a table of the records in another order."""
    mixed = [*records]
    random.Random(0).shuffle(mixed)  # noqa: S311 - no secret
    return make_table(mixed, {})


LAYOUTS: dict[str, Callable[[Sequence[Record]], pa.Table]] = {
    "as loaded": lambda records: make_table(records, {}),
    "naive dates": change(DATES, pa.timestamp("us")),
    "dates of New York": change(DATES, pa.timestamp("us", "America/New_York")),
    "nanoseconds": change(DATES, pa.timestamp("ns", "UTC")),
    "categories": change([name for name in TEXTS if name != "payment_id"], pa.dictionary(pa.int32(), pa.string())),
    "large text": change(TEXTS, pa.large_string()),
    "chunks": cut,
    "another order": shuffle,
}


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a pandas frame with whole numbers that can be null."""
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def connect(zone: str = "UTC"):
    """Return a connection of DuckDB in a time zone."""
    return duckdb.connect().execute(f"SET TimeZone = '{zone}'")


ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": to_pandas,
    "Polars": pl.from_arrow,
    "LazyFrame": lambda table: pl.from_arrow(table).lazy(),
    "DuckDB": lambda table: connect().from_arrow(table),
}


def read_rows(result: Any) -> list[Record]:
    """Return the rows of a result, with None for every null, and plain dates."""
    if isinstance(result, pd.Series):
        result = result.to_frame()
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, pd.DataFrame):
        rows = result.astype(object).where(result.notna(), None).to_dict("records")
    elif isinstance(result, duckdb.DuckDBPyRelation):
        rows = result.pl().to_dicts()
    else:
        rows = result.to_dicts() if isinstance(result, pl.DataFrame) else result.toArrow().to_pylist()
    return [{name: _to_plain(value) for name, value in row.items()} for row in rows]


def _to_plain(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    # pandas has no dates, only midnights without a zone
    return value.date() if isinstance(value, datetime) and value.tzinfo is None else value
