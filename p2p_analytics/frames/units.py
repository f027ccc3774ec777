"""Copies of frames with money in currency units instead of cents."""

from __future__ import annotations

from typing import Final

import pandas as pd

from p2p_analytics.errors import SchemaError, name_type
from p2p_analytics.frames.schema import advise_pandas

_CENTS: Final = "_cents"


def units(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a frame with its money in currency units, to plot it.

    Sums of currency units are inexact, because they are floats; sums of cents are exact.

    Parameters
    ----------
    frame : DataFrame
        For example PAYMENTS. Columns with names that end in ``_cents`` hold whole numbers, or floats that are
        whole, as pandas.read_csv makes them beside an empty cell.

    Returns
    -------
    DataFrame
        The same rows and columns; ``amount_cents`` is replaced by ``amount``, ``flow_cents`` by ``flow``, ``fee_cents``
        by ``fee`` and so on, as float64; null is NaN.

    Raises
    ------
    SchemaError
        ``frame`` is not a pandas frame, a column of cents holds no whole numbers or is there twice, or the name without
        ``_cents`` is taken.
    """
    if not isinstance(frame, pd.DataFrame):
        raise SchemaError(f"units needs a pandas frame, not {name_type(frame)}: pass {advise_pandas(frame)}.")
    cents_names = [name for name in frame.columns if isinstance(name, str) and name.endswith(_CENTS)]
    named = {name: name.removesuffix(_CENTS) for name in cents_names}
    for name, new in named.items():
        if cents_names.count(name) > 1:
            raise SchemaError(f"The frame has several columns {name!r}: drop or rename all of them but one.")
        if new in frame.columns:
            raise SchemaError(f"The frame has a column {new!r} as well as {name!r}: drop or rename one of them first.")
    converted = {}
    for name in named:
        dtype = frame[name].dtype
        is_number = pd.api.types.is_float_dtype(dtype) or pd.api.types.is_integer_dtype(dtype)
        cents = frame[name].astype("float64") if is_number else frame[name]
        if not is_number or (cents.dropna() % 1 != 0).any():  # also of infinity
            found = "fractions or infinity" if is_number else str(dtype)
            raise SchemaError(
                f"The column {name!r} holds {found}, not whole numbers of cents: read its file with p2p.read_csv, or "
                "convert it first."
            )
        converted[name] = cents / 100
    return frame.assign(**converted).rename(columns=named)
