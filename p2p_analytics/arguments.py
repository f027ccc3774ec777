"""Checks of arguments that analyses and plots share."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import SupportsIndex


def check_top(top: SupportsIndex) -> int:
    """Return the maximum number of rows that are returned or drawn one by one.

    Raises
    ------
    ConfigurationError
        It is not a whole number from 1.
    """
    try:
        rows = 0 if isinstance(top, bool) else operator.index(top)
    except TypeError:
        rows = 0
    if rows < 1:
        raise ConfigurationError(f"top={top!r} is not valid: give the number of rows, 1 or more.")
    return rows
