"""ROWS: one row per row of a statement file, as the account holder sees it, whatever format the file is in.

A format turns its cells into ROWS; everything after it (ids, reconciliation, PAYMENTS) knows ROWS only.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import polars as pl

from p2p_analytics.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from p2p_analytics.statements.problems import Problem

SERVICE: Final = "statement"
"""The service of the API, and of all forms of its personal statements."""

NOTICE: Final = "notice"
UNKNOWN: Final = "unknown"
"""The kinds of rows that are not transactions, and of unknown types."""

TEXT: Final = "text"
WHOLE: Final = "whole"
INSTANT: Final = "instant"

# Every column is always there. Money is in cents of ``currency``; + is to the account holder, - from the holder.
ROWS: Final[Mapping[str, str]] = {
    "file": TEXT,  # as `Table.file`
    "line": WHOLE,  # of the file, from 1, where the row begins
    "account": TEXT,  # the holder's handle or address, where the file names it
    "owner": TEXT,  # the holder's display name, where the row shows it
    "payment_id": TEXT,  # as the file gives it; null where it gives none
    "reference_id": TEXT,  # the row that this one belongs to, such as the payment of a refund
    "date": INSTANT,  # null where it cannot be read, which is a problem
    "start": INSTANT,  # of a row without id: when it began, where the file has no zone in UTC; the date, if null
    "type": TEXT,  # the file's own word
    "kind": TEXT,  # the bin: one of `frames.schema.KINDS`; null for a refund until all files are known
    "status": TEXT,  # a word of `vocabulary.Status`; an unknown word stays as it is
    "action": TEXT,  # "pay", "charge"; null where the kind is not payment
    "direction": TEXT,  # "in", "out"; null where nothing says so
    "note": TEXT,
    "from_name": TEXT,
    "to_name": TEXT,
    "counterparty_name": TEXT,
    "counterparty_username": TEXT,  # where the file names it
    "counterparty_id": TEXT,  # the user id, where the file names it
    "flow_cents": WHOLE,  # the amount of the row, whether or not it moved
    "fee_cents": WHOLE,  # >= 0, inside the amount
    "tip_cents": WHOLE,
    "tax_cents": WHOLE,
    "currency": TEXT,  # ISO 4217
    "funding_source": TEXT,
    "destination": TEXT,
    "moved_cents": WHOLE,  # by how much the row changed the balance: 0 for pending rows and for another funding source
    "opening_cents": WHOLE,  # of a notice: the balance before the rows of the file
    "closing_cents": WHOLE,  # of a notice: the balance after them
    "balance_cents": WHOLE,  # the balance after this row, where the file states it
    "product": TEXT,  # the product or group that the row belongs to, where the service has several
}
# Text with few distinct values, which takes a quarter of the memory as categories.
_REPEATED: Final = (
    "file", "account", "owner", "type", "kind", "status", "action", "direction", "from_name", "to_name",
    "counterparty_name", "counterparty_username", "counterparty_id", "currency", "funding_source", "destination",
    "product",
)  # fmt: skip
LABEL: Final = r"^.*/| \(\d+\)$"
"""What `strip_label` removes from the label of a file."""


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its format, and what it says apart from its rows."""

    file: str  # the name in ROWS
    format: str
    service: str
    account_service: str  # the account if nothing else names it; a service can have several, as for businesses
    account: str | None = None  # that the caller named
    period_start: datetime | None = None  # the first and last instant that the file says it is about
    period_end: datetime | None = None
    product: str = ""  # what the balance is of, such as a product or a group
    snapshot_at: datetime | None = None  # of the export, if the file holds all rows of a group as they were then
    is_broken: bool = False  # rows have too many or too few cells, so the file never reconciles
    repeats_ids: bool = False  # rows with one id and different amounts are different transactions
    digest: str = ""  # of the file's bytes, and the part of the file


class Collected(NamedTuple):
    """ROWS of files as they are read, one `FileInfo` per file, and the problems of files and rows."""

    rows: pl.DataFrame
    files: tuple[FileInfo, ...]
    problems: tuple[Problem, ...]


def strip_label(file: str) -> str:
    """Return the name of a file without its folder and number, which depend on the other files of a call."""
    return re.sub(LABEL, "", file)


def polars_schema() -> dict[str, pl.DataType]:
    """Return the schema of ROWS as Polars types."""
    types = {TEXT: pl.String(), WHOLE: pl.Int64(), INSTANT: pl.Datetime("us", "UTC")}
    return {name: types[kind] for name, kind in ROWS.items()}


def complete_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with exactly the columns and types of ROWS; missing columns are null."""
    given = frame.schema
    return frame.select(
        name if given.get(name) == dtype else (pl.col(name) if name in given else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in polars_schema().items()
    )


def encode_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with categories in place of repeated text."""
    return rows.with_columns(pl.col(_REPEATED).cast(pl.Categorical))


def slice_by_files(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield ROWS in slices of whole files, at least one, so that intermediate columns take less memory."""
    runs = rows["file"].rle().struct.unnest()
    start = size = 0
    if runs["value"].n_unique() == len(runs):
        for length in runs["len"].to_list():
            if size and size + length > LIMITS.reconciled_rows:
                yield rows.slice(start, size)
                start, size = start + size, 0
            size += length
    yield rows.slice(start)
