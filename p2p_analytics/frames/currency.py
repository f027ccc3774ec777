"""Copies of frames with money in currency units instead of cents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

_CENTS: Final = "_cents"


def units(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a frame with its money in currency units, to plot it.

    Sums of currency units are inexact, because they are floats; sums of cents are exact.

    Parameters
    ----------
    frame : DataFrame
        For example PAYMENTS. Columns with names that end in ``_cents`` hold whole numbers.

    Returns
    -------
    DataFrame
        The same rows and columns; ``amount_cents`` is replaced by ``amount``, ``flow_cents`` by ``flow``, ``fee_cents``
        by ``fee`` and so on, as float64; null is NaN.

    Raises
    ------
    SchemaError
        ``frame`` is no pandas frame, a column of cents holds no whole numbers, or the name without ``_cents`` is taken.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "assign"):
        instead = "history.payments" if hasattr(frame, "payments") else "a pandas frame"
        raise SchemaError(f"units needs a pandas frame, not {type(frame).__name__}: pass {instead}.")
    named = {name: name.removesuffix(_CENTS) for name in frame.columns if str(name).endswith(_CENTS)}
    for name, new in named.items():
        if new in frame.columns:
            raise SchemaError(f"The frame has a column {new!r} as well as {name!r}: drop or rename one of them first.")
    converted = {name: _to_units(frame[name]) for name in named}
    return frame.assign(**converted).rename(columns=named)


def _to_units(cents: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    if not pd.api.types.is_integer_dtype(cents.dtype):
        raise SchemaError(
            f"The column {cents.name!r} holds {cents.dtype}, not whole numbers of cents: convert it first."
        )
    return cents.astype("float64") / 100
