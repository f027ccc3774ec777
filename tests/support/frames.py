"""Frames with the columns and dtypes of a schema."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from p2p_analytics.frames.schema import PROBLEMS


def frame_from_columns(columns: Mapping[str, Sequence[Any]], schema: Mapping[str, str], length: int) -> pd.DataFrame:
    """Return a frame of a schema with these columns, each of `length` values; the other columns are null."""
    return pd.DataFrame(
        {name: pd.Series(columns.get(name, [None] * length), dtype=dtype) for name, dtype in schema.items()}
    )


def frame_from_rows(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame of a schema from literal rows; missing values are null."""
    return frame_from_columns({name: [row.get(name) for row in rows] for name in schema}, schema, len(rows))


def problem_rows(problems: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the payment, field, value and sentence of each problem; the columns are those of PROBLEMS."""
    assert {name: str(dtype) for name, dtype in problems.dtypes.items()} == dict(PROBLEMS)
    return list_rows(problems, "payment_id", "field", "value", "problem")


def list_rows(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return these columns, or all, as rows of plain values; every kind of null is None."""
    return list(zip(*(list_values(frame[name]) for name in names or frame.columns), strict=True))


def list_values(column: pd.Series) -> list[Any]:
    """Return a column as a list of plain values; every kind of null is None."""
    return [None if pd.isna(value) else value for value in column.tolist()]
