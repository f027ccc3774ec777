"""Frames to JSON Lines: one object per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.errors import SchemaError
from p2p_analytics.export._payments import find_payments
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.arrow import table_of

if TYPE_CHECKING:
    import os

    import pandas as pd

    from p2p_analytics.history import History

_ROWS_AT_ONCE: Final = 8_192


def to_jsonl(source: History | pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write payments, or another frame, as JSON Lines: one object per row and line, UTF-8.

    The keys are the columns in their order, also where the value is null. Ids are text, cents are whole numbers,
    instants are text in UTC, such as ``"2024-05-31T18:30:00Z"``, with six decimals of a second where it has fractions.
    A frame without rows gives an empty file.

    Parameters
    ----------
    source : History or pandas.DataFrame
        Of a history, the payments. Columns of text, categoricals, numbers, booleans or aware datetimes.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.

    Raises
    ------
    SchemaError
        A column cannot be written without loss.
    ConfigurationError
        The file cannot be written.
    """
    table = table_of(find_payments(source))
    for name in table.column_names:
        column = table[name]
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
            raise SchemaError(f"The column {name!r} holds infinity, which JSON cannot: replace it first.")
    encoder = msgspec.json.Encoder()
    with atomic_file(path) as file:
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            file.write(encoder.encode_lines(batch.to_pylist()))
