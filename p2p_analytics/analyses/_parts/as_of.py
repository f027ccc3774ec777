"""The argument ``as_of``: the instant at which ages end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import as_instant, to_microseconds

if TYPE_CHECKING:
    from datetime import date, datetime

    import numpy as np


def parse_as_of(as_of: datetime | date | str | np.datetime64) -> int:
    """Return an instant from the user as microseconds since 1970.

    Raises
    ------
    ConfigurationError
        It is not an instant.
    """
    try:
        return int(to_microseconds(as_instant(as_of)))
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"as_of={as_of!r} is not an instant: give a datetime, a date or text like 2024-05-31T18:30:00Z."
        ) from None
