"""Pages of payments to Arrow columns, many rows at a time.

Fast path: the people and amounts of pages that are still undecoded are read here for all rows at once, and each
distinct JSON text of a person is decoded once. Fallback: where a row of a batch fails a check, the records of the
batch become the columns, and their problems are reported. Both give equal columns.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.records._intern import InternTables
from p2p_analytics.records._models import Payment, Problem
from p2p_analytics.records._payment_pages import FastPayment, Payments
from p2p_analytics.records._values import FALLBACK_ERRORS
from p2p_analytics.times import EPOCH, NAIVE_EPOCH, to_microseconds

_BATCH_ROWS: Final = 2_048  # pages become columns and are released after about this number of rows
_LONGEST_AMOUNT: Final = 30
_REPLACEMENT: Final = "\ufffd".encode()
_FIRST: Final = to_microseconds(datetime.min.replace(tzinfo=UTC))
_LAST: Final = to_microseconds(datetime.max.replace(tzinfo=UTC))


def payment_columns(
    pages: Iterable[Payments], tables: InternTables, on_problems: Callable[[Sequence[Problem]], object]
) -> pa.Table:
    """Return the columns of a payment's own values, and codes of its description, actor and target in the tables.

    Pages are released as they are read. ``on_problems`` is called with the problems of a page: at once where the page
    is decoded already, else with its batch.
    """
    chunks = []
    batch: list[Payments] = []
    rows = 0
    for page in pages:
        if page.undecoded is None:
            on_problems(page.problems)
        batch.append(page)
        rows += len(page) + len(page.excluded)
        del page  # the loop variable would keep the page until the next one is fetched
        if rows >= _BATCH_ROWS:
            chunks.append(_read_batch(batch, tables, on_problems))
            batch, rows = [], 0
    chunks.append(_read_batch(batch, tables, on_problems))
    return pa.concat_tables(chunks)


def _read_batch(
    batch: Sequence[Payments], tables: InternTables, on_problems: Callable[[Sequence[Problem]], object]
) -> pa.Table:
    if all(page.undecoded is not None for page in batch) and any(page.rows or page.excluded for page in batch):
        with contextlib.suppress(*FALLBACK_ERRORS):
            rows: list[Any] = list(chain.from_iterable(page.rows for page in batch))
            checked = rows + list(chain.from_iterable(page.excluded for page in batch))
            columns = _shared_columns(checked, tables)
            for name in ("date_created", "date_completed"):
                ends = pc.min_max(columns[name].cast(pa.int64()))
                if ends["min"].is_valid and not _FIRST <= ends["min"].as_py() <= ends["max"].as_py() <= _LAST:
                    raise ValueError
            descriptions = [tables.descriptions.entries[code] for code in pc.unique(columns["description"]).to_pylist()]
            texts = [word.encode() for description in descriptions for word in description if word]
            texts += [bytes(columns[name].buffers()[2] or b"") for name in ("payment_id", "note")]
            if any(not text.isascii() and _REPLACEMENT in text for text in texts):
                raise ValueError
            nulls = pa.nulls(len(checked))
            columns |= {
                "amount_cents": _cents([row.amount for row in checked]),
                "actor": tables.actors.codes(_binary_array([row.actor for row in checked])),
                "target": tables.targets.codes(_binary_array([row.target for row in checked])),
                "fee_cents": nulls.cast(pa.int64()),
                "refund_payment_id": nulls.cast(pa.large_string()),
                "refund_amount_cents": nulls.cast(pa.int64()),
            }
            return pa.table(columns).slice(0, len(rows))
    for page in batch:
        if page.undecoded is not None:
            on_problems(page.problems)
    records = list(chain.from_iterable(batch))
    refunds = [record.refund for record in records]
    columns = {
        **_shared_columns(records, tables),
        "amount_cents": pa.array([record.amount_cents for record in records], pa.int64()),
        "actor": pa.array([tables.actors.add_object(record.actor) for record in records], pa.int64()),
        "target": pa.array([tables.targets.add_object(record.target) for record in records], pa.int64()),
        "fee_cents": pa.array([record.fee_cents for record in records], pa.int64()),
        "refund_payment_id": _text_array([refund.id if refund else None for refund in refunds]),
        "refund_amount_cents": pa.array([refund and refund.amount_cents for refund in refunds], pa.int64()),
    }
    return pa.table(columns)


def _shared_columns(rows: Sequence[FastPayment] | Sequence[Payment], tables: InternTables) -> dict[str, pa.Array]:
    """Return the columns of fields that are identical in the wire form and the record."""
    codes = tables.descriptions
    descriptions = [codes[row.status, row.action, row.audience, row.medium] for row in rows]
    return {
        "payment_id": _text_array([row.id for row in rows]),
        "note": _text_array([row.note for row in rows]),
        "description": pa.array(descriptions, pa.int64()),
        "date_created": _instant_array([row.date_created for row in rows]),
        "date_completed": _instant_array([row.date_completed for row in rows]),
    }


def _binary_array(values: list[bytes]) -> pa.Array:
    """Return an array from one joined buffer: given a list, Arrow would ask each value for its bytes in Python."""
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def _cents(amounts: Sequence[bytes]) -> pa.Array:
    """Return amounts in cents, or raise a ValueError for a fraction of a cent and for an unusual spelling.

    The texts are joined and split again, because Arrow would ask each for its bytes in Python: a number has no comma,
    and the first piece of any other JSON text with commas is not a number.

    A decimal with two places is stored as its number of cents in the lower of two 64-bit words. Arrow reads some
    numbers with very many digits, or with an exponent, as 0; so those are refused.
    """
    joined = b",".join(amounts).decode()
    texts = pc.split_pattern(pa.array([joined], pa.large_string()), ",").values
    if pc.max(pc.binary_length(texts)).as_py() > _LONGEST_AMOUNT or "e" in joined or "E" in joined:
        raise ValueError
    words = np.frombuffer(texts.cast(pa.decimal128(18, 2)).buffers()[1], np.int64)
    return pa.array(words[::2] if sys.byteorder == "little" else words[1::2])


def _text_array(values: Sequence[str | None]) -> pa.Array:
    if values.count(None) == len(values):  # counting takes a tenth of the time of building
        return pa.nulls(len(values), pa.large_string())
    return pa.array(values, pa.large_string())


def _instant_array(instants: list[datetime | None]) -> pa.Array:
    """Return instants in UTC, built from durations since 1970, which takes Arrow a third of the time."""
    since = [instant and instant - (EPOCH if instant.tzinfo else NAIVE_EPOCH) for instant in instants]
    return pa.array(since, pa.duration("us")).cast(pa.int64()).cast(pa.timestamp("us", "UTC"))
