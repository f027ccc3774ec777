"""Parquet files with types that every engine reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet

from p2p_analytics import settings
from p2p_analytics.files import atomic_file, open_table, to_path
from p2p_analytics.frames.arrow import cast_to_file_types, frame_of, table_of
from p2p_analytics.privacy import Mask

if TYPE_CHECKING:
    import os

    import pandas as pd

    from p2p_analytics.settings import Privacy


def to_parquet(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame as a Parquet file with types that every engine reads.

    Text and categoricals become ``string``, whole numbers ``int64``, other numbers ``double``,
    booleans ``bool``, dates ``date32`` and datetimes ``timestamp[us, UTC]``; zstd, no dictionary types, no index.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of text, categoricals, numbers, booleans, dates or aware datetimes. Datetimes without a zone are
        dates, so each has to be a midnight.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.

    Raises
    ------
    SchemaError
        A column cannot be written without loss.
    ConfigurationError
        The file cannot be written.
    """
    table = table_of(frame)
    with atomic_file(path) as file:
        pyarrow.parquet.write_table(table, file, compression="zstd", version="2.6")


def read_parquet(path: str | os.PathLike[str], *, privacy: Privacy | None = None) -> pd.DataFrame:
    """Return the frame of a Parquet file: ``str``, ``Int64``, ``float64``, ``boolean``, ``datetime64[us, UTC]``.

    Categoricals become text; dates become ``datetime64[us]``. ``privacy`` is as in `read_csv`.

    Raises
    ------
    SchemaError
        The file is not a Parquet file, or a column has another type.
    ConfigurationError
        The file cannot be read.
    """
    private = settings.privacy(privacy)
    path = to_path(path)
    with open_table(path, private=bool(private)) as file:  # a single file; folders are read as archives
        table = pyarrow.parquet.read_table(file)
    frame = frame_of(cast_to_file_types(table))
    return Mask(strict=private == settings.STRICT).frame(frame) if private else frame
