"""The tables of an archive: the columns of each kind of file and their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, arrow_type
from p2p_analytics.frames.merge import FETCHED_AT
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH: Final = "batch"  # the number of the import that wrote a row of a statement
MATCHED: Final = "counterparty_matched"  # in histories: how a name in a statement became a person
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {**schema.PAYMENTS, **MICROSECONDS, FETCHED_AT: schema.INSTANT},
    "people": schema.PEOPLE,
    "friends": schema.FRIENDS,
    "problems": schema.PROBLEMS,
    "statements": {**schema.PAYMENTS, **schema.STATEMENT, BATCH: schema.WHOLE},
    "statement_problems": {**schema.PROBLEMS, "file": schema.TEXT, "line": schema.WHOLE, BATCH: schema.WHOLE},
}
OWN_TEXTS: Final = {"payment_id", "note", "refund_payment_id"}  # the other texts repeat
INSTANTS: Final = {"date_created", "date_completed", "created_us", "completed_us"}  # neighbours differ little


def arrow_schema(kind: str) -> pa.Schema:
    """Return the schema of all files of a kind: text, integers and UTC microseconds, which every engine reads."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(dtype)) for name, dtype in SCHEMAS[kind].items()])


def read_constants(file: pq.ParquetFile, names: Collection[str]) -> dict[str, str | None]:
    """Return the value of each text column that has the same value, or none, in all rows; it need not be decoded."""
    import pyarrow as pa

    if file.num_row_groups != 1:
        return {}
    group, constants = file.metadata.row_group(0), {}
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


def pending_ids(payments: pa.Table) -> tuple[str, ...]:
    """Return the ids of pending payments, which can still change."""
    import pyarrow.compute as pc

    return tuple(payments.filter(pc.equal(payments["status"], Status.PENDING.value))["payment_id"].to_pylist())
