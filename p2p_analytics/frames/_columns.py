"""Frames of a fixed schema from columns of Python values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pandas as pd

from p2p_analytics.frames.schema import INSTANT, TEXT
from p2p_analytics.times import to_microseconds


def frame_of_columns(columns: Mapping[str, list[Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with the columns and dtypes of a schema, in its order; null is None."""
    return pd.DataFrame({name: _to_series(columns[name], dtype) for name, dtype in schema.items()})


def _to_series(values: list[Any], dtype: str) -> pd.Series[Any]:
    if dtype == INSTANT:
        return _to_instants(values)
    if dtype == TEXT:
        values = [repair_surrogates(value) for value in values]
    return pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]


def _to_instants(values: list[datetime | None]) -> pd.Series[Any]:
    """Return aware datetimes as a column, by whole microseconds, so that none is rounded."""
    microseconds = [None if value is None else to_microseconds(value) for value in values]
    instants = pd.array(microseconds, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")
    return pd.Series(instants).dt.tz_localize("UTC")


def repair_surrogates(text: str | None) -> str | None:
    """Return a text with each half of a surrogate pair, which a frame cannot hold, as "?"."""
    return text if text is None or text.isascii() else text.encode(errors="replace").decode()
