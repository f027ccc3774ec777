"""Retry rule: which failed requests are retried, how many times, and after which delay."""

from __future__ import annotations

import email.utils
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from p2p_analytics.errors import ServiceError, TransportError

MAX_RETRY_AFTER: Final = 60.0  # the caller gets the error of a longer Retry-After
_FIRST_BACKOFF: Final = 0.5
_MAX_BACKOFF: Final = 5.0


def is_retryable(method: str, failure: ServiceError) -> bool:
    """Return whether a failed request may be sent again: a transient failure, and for a write, if nothing was sent."""
    # For a write, only a TransportError means that nothing was sent.
    return failure.retryable and (method == "GET" or isinstance(failure, TransportError))


def compute_pause(
    attempt: int, failure: ServiceError, jitter: Callable[[], float], *, max_attempts: int
) -> float | None:
    """Return the seconds before the next attempt: Retry-After, else exponential backoff.

    None if all attempts are used or the Retry-After is too long. ``attempt`` counts from 0;
    ``jitter`` returns random numbers from 0 to 1.
    """
    if attempt >= max_attempts - 1:
        return None
    if failure.retry_after is not None:
        return None if failure.retry_after > MAX_RETRY_AFTER else failure.retry_after + jitter()
    return float(min(_FIRST_BACKOFF * 2**attempt, _MAX_BACKOFF)) * (0.5 + jitter() / 2)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait; None if the header is neither a whole number of seconds nor a date."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
