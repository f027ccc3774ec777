"""The tables of an archive: the columns of each kind of file and their types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pyarrow.parquet as pq

from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, arrow_type, table_of, with_microseconds
from p2p_analytics.frames.merge import FETCHED_AT
from p2p_analytics.statements import RECONCILIATION
from p2p_analytics.statements import rows as stored

MATCHED: Final = "counterparty_matched"  # in histories: how a name in a statement became a person
_DTYPES: Final = {stored.TEXT: schema.TEXT, stored.WHOLE: schema.WHOLE, stored.INSTANT: schema.INSTANT}
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {**schema.PAYMENTS, **MICROSECONDS, FETCHED_AT: schema.INSTANT},
    "people": schema.PEOPLE,
    "friends": schema.FRIENDS,
    "problems": schema.PROBLEMS,
    "rows": {name: _DTYPES[kind] for name, kind in stored.ROWS.items()},
    "edits": {**schema.PAYMENTS, **schema.STATEMENT},
    "view_payments": {**schema.PAYMENTS, **schema.STATEMENT, MATCHED: schema.TEXT, **MICROSECONDS},
    "view_outline": {"payment_id": schema.TEXT, "digest": schema.WHOLE},
    "view_problems": schema.PROBLEMS,
    "view_people": schema.PEOPLE,
    "view_reconciliation": RECONCILIATION,
}
_OWN_TEXTS: Final = {"payment_id", "note", "refund_payment_id"}  # the other texts repeat
_INSTANTS: Final = {"date_created", "date_completed", "created_us", "completed_us"}  # neighbours differ little


def arrow_schema(kind: str) -> pa.Schema:
    """Return the schema of all files of a kind: text, integers and UTC microseconds, which every engine reads."""
    return pa.schema([(name, arrow_type(dtype)) for name, dtype in SCHEMAS[kind].items()])


def empty_frame(dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame without rows, with columns of these dtypes."""
    return pd.DataFrame({name: pd.array([], dtype=schema.parse_dtype(dtype)) for name, dtype in dtypes.items()})


def tabulate(kind: str, frame: pd.DataFrame) -> pa.Table:
    """Return a frame as rows of a kind of file; the columns of microseconds are computed."""
    columns = arrow_schema(kind)
    table = table_of(frame[[name for name in columns.names if name not in MICROSECONDS]])
    table = with_microseconds(table) if MICROSECONDS.keys() <= {*columns.names} else table
    return table.select(columns.names).cast(columns)


def encode_parquet(kind: str, table: pa.Table, metadata: Mapping[bytes, bytes]) -> pa.Buffer:
    """Return rows as the content of a file of a kind."""
    columns = arrow_schema(kind)
    instants = [name for name in columns.names if name in _INSTANTS]
    sink = pyarrow.BufferOutputStream()
    with pyarrow.parquet.ParquetWriter(
        sink,
        columns,
        compression="zstd",
        version="2.6",
        store_schema=False,
        use_dictionary=[name for name in columns.names if name not in _INSTANTS | _OWN_TEXTS],
        column_encoding=dict.fromkeys(instants, "DELTA_BINARY_PACKED"),
    ) as writer:
        writer.write_table(table.cast(columns))
        writer.add_key_value_metadata(dict(metadata))
    return sink.getvalue()


def open_parquet(body: bytes) -> pq.ParquetFile:
    """Return a Parquet file of its bytes."""
    return pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body))


def metadata_of(file: pq.ParquetFile) -> dict[bytes, bytes]:
    """Return what a file states beside its rows."""
    return file.metadata.metadata or {}


def read_constants(file: pq.ParquetFile, names: Collection[str]) -> dict[str, str | None]:
    """Return the value of each text column that has the same value, or none, in all rows; it need not be decoded."""
    if file.num_row_groups != 1:
        return {}
    group = file.metadata.row_group(0)
    constants: dict[str, str | None] = {}
    for place, field in enumerate(file.schema_arrow):
        if field.name not in names or field.type != pa.string():
            continue
        found = group.column(place).statistics
        if found is None or found.null_count is None:
            continue
        if found.null_count == group.num_rows:
            constants[field.name] = None
        elif not found.null_count and found.has_min_max and found.min == found.max:
            constants[field.name] = found.min
    return constants
