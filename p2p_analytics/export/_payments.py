"""The payments of a history, or a frame as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def find_payments(source: Any) -> pd.DataFrame:  # noqa: ANN401 - a History or a frame; the writer refuses others
    """Return the payments of a history; anything else is returned as it is."""
    # A frame may have a column payments, such as the number of them.
    payments: pd.DataFrame = source if hasattr(type(source), "columns") else getattr(source, "payments", source)
    return payments
