"""Checks of a client's arguments, before any request is sent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from p2p_analytics.client.window import BEGINNING, END
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import as_instant
from p2p_analytics.vocabulary import PAGE_SIZE_MAXIMUM

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from p2p_analytics.vocabulary import Action, Endpoint, Status


def check_settings(timeout: tuple[float, float], **counts: int) -> None:
    """Raise a ConfigurationError if a client cannot use a setting."""
    for name, number in counts.items():
        if not isinstance(number, int) or number < 1:
            raise ConfigurationError(f"{name} must be a whole number from 1, not {number!r}.")
    if not (isinstance(timeout, tuple) and len(timeout) == len(("connect", "total")) and min(timeout) > 0):
        raise ConfigurationError(f"timeout must be two positive numbers of seconds, not {timeout!r}.")


def build_path(endpoint: Endpoint, record_id: str) -> str:
    """Return the path of an endpoint for the id of a user or payment."""
    if not isinstance(record_id, str) or not record_id.strip(".") or not record_id.isprintable():
        raise ConfigurationError(f"An id is text like '1322585332520059420', not {record_id!r}.")
    return endpoint.at(quote(record_id, safe=""))


def join_filter_values(
    name: str, value: str | Iterable[str] | None, allowed: type[Action | Status] | None = None
) -> str:
    """Return the values of a filter, separated by commas; the service would ignore or refuse an unknown value."""
    values = [] if value is None else [value] if isinstance(value, str) else list(value)
    if value is not None and not values:
        raise ConfigurationError(f"{name} is an empty list, which matches nothing: leave it out to list everything.")
    for each in values:
        if not isinstance(each, str):
            raise ConfigurationError(f"{name} must be text, or several texts, not {each!r}.")
        if allowed is not None and each not in set(allowed):
            raise ConfigurationError(f"{name} can be {', '.join(allowed)}, not {each!r}.")
        if not each.strip() or "," in each:
            raise ConfigurationError(f"{name} cannot be {each!r}: give one value, without commas, per text.")
    return ",".join(str(each) for each in values)


def parse_bounds(
    after: datetime | date | str | None, before: datetime | date | str | None
) -> tuple[datetime, datetime]:
    """Return two bounds as instants, ``BEGINNING`` and ``END`` where there is none."""
    start = BEGINNING if after is None else _parse_instant("after", after)
    return start, END if before is None else _parse_instant("before", before)


def _parse_instant(name: str, value: datetime | date | str) -> datetime:
    with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError):
        return as_instant(value)
    raise ConfigurationError(f"{name}: {str(value)[:40]!r} is no date or datetime like 2024-05-31T18:30:00Z.")


def check_page_size(size: int) -> int:
    """Return the size of a page, or raise a ConfigurationError (document: "Limits")."""
    if not isinstance(size, int) or not 1 <= size <= PAGE_SIZE_MAXIMUM:
        raise ConfigurationError(f"page_size must be 1 to {PAGE_SIZE_MAXIMUM}, not {size}.")
    return size
