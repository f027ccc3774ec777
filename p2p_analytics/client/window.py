"""Time windows, and the bounds of all time. All times are aware UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
END: Final = datetime.max.replace(tzinfo=UTC)
GRACE: Final = timedelta(hours=1)  # the service may list a payment this much later than its date


class Window(NamedTuple):
    """Half-open time interval: it includes its start and excludes its end."""

    start: datetime
    end: datetime
