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
    frame = {}
    for name, dtype in schema.items():
        values = columns[name]
        if dtype == INSTANT:
            frame[name] = _to_instants(values)
            continue
        if dtype == TEXT:
            values = [repair_surrogates(value) for value in values]
        frame[name] = pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]
    return pd.DataFrame(frame)


def _to_instants(values: list[datetime | None]) -> pd.Series[Any]:
    """Return aware datetimes as a column, by whole microseconds, so that none is rounded."""
    microseconds = [None if value is None else to_microseconds(value) for value in values]
    instants = pd.array(microseconds, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")
    return pd.Series(instants).dt.tz_localize("UTC")


def repair_surrogates(text: str | None) -> str | None:
    """Return a text with each half of a surrogate pair, which a frame cannot hold, as "?"."""
    return text if text is None or text.isascii() else text.encode(errors="replace").decode()
