"""ROWS: one row per row of a statement file, as the account holder sees it, whatever format the file is in.

A format turns its cells into ROWS; everything after it (ids, reconciliation, PAYMENTS) knows ROWS only.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

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
}
# Text with few distinct values, which takes a quarter of the memory as categories.
_REPEATED: Final = (
    "file", "account", "owner", "type", "kind", "status", "action", "direction", "from_name", "to_name",
    "counterparty_name", "counterparty_username", "counterparty_id", "currency", "funding_source", "destination",
)  # fmt: skip
_SLICE_ROWS: Final = 50_000
SEPARATOR: Final = "\x1f"  # of the parts of a content
_ID_DIGITS: Final = 16


def polars_schema() -> dict[str, pl.DataType]:
    """Return the schema of ROWS as Polars types."""
    import polars as pl

    types = {TEXT: pl.String(), WHOLE: pl.Int64(), INSTANT: pl.Datetime("us", "UTC")}
    return {name: types[kind] for name, kind in ROWS.items()}


def complete_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with exactly the columns and types of ROWS; missing columns are null."""
    import polars as pl

    schema = polars_schema()
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    )


def encode_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with categories in place of repeated text."""
    import polars as pl

    return rows.with_columns(pl.col(_REPEATED).cast(pl.Categorical))


def make_ids(places: pl.DataFrame, service: str, contents: pl.Series) -> pl.Series:
    """Return ids for rows without one: service, hash of the content, number among the equal rows of the file.

    So the same row of another file gets the same id, and look-alikes get different ones. The content must not depend
    on how the file is read, such as the account or the zone that the caller names.
    """
    import polars as pl

    frame = places.select("file", "line", hash=hash_contents(contents, _ID_DIGITS))
    number = pl.int_range(1, pl.len() + 1).over("file", "hash", order_by="line")
    return frame.select(pl.concat_str(pl.lit(service), "hash", number, separator="-").alias("payment_id")).to_series()


def hash_contents(contents: pl.Series, digits: int = 8) -> pl.Series:
    """Return hexadecimal digits of the hash of each text; null for null."""
    import polars as pl

    hashes = [text and hashlib.sha256(text.encode()).hexdigest()[:digits] for text in contents.to_list()]
    return pl.Series("hash", hashes, pl.String)


def slice_by_files(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield ROWS in slices of whole files, in their order, so that intermediate columns take less memory.

    It is one slice if the rows of a file do not follow each other. There is always one, also of no rows.
    """
    runs = rows["file"].rle().struct.unnest()
    start = size = 0
    if runs["value"].n_unique() == len(runs):
        for length in runs["len"].to_list():
            if size and size + length > _SLICE_ROWS:
                yield rows.slice(start, size)
                start, size = start + size, 0
            size += length
    yield rows.slice(start)
