"""Dates of the payments on a page, seconds as time cursors, and the sort key of the list (newest first)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from p2p_analytics.client.window import BEGINNING, END

if TYPE_CHECKING:
    from p2p_analytics.records import Payment, PaymentPage, Payments

MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)
_LAST_SECOND: Final = datetime.max.replace(microsecond=0, tzinfo=UTC)


def get_sort_key(payment: Payment) -> tuple[datetime, int, str]:
    """Return the sort key of a payment; the list is in descending order of it."""
    return payment.date_created or _LAST_SECOND, len(payment.id), payment.id


def get_dates(items: Payments) -> list[datetime]:
    """Return the dates of payments, without missing ones."""
    return [date for date in items.created if date is not None]


def get_oldest_date(page: PaymentPage) -> datetime | None:
    """Return the date of a page's oldest payment, None if no payment has a date."""
    return min(get_dates(page.items), default=None)


def is_between(date: datetime, after: datetime, before: datetime) -> bool:
    """Return whether a date lies between two exclusive bounds; ``BEGINNING`` and ``END`` exclude nothing."""
    return (after < date or after == BEGINNING) and (date < before or before == END)


def floor_to_second(instant: datetime) -> datetime:
    """Return the start of the second that an instant lies in."""
    return instant.replace(microsecond=0)


def get_end_of_second(instant: datetime) -> datetime:
    """Return the start of the next second, ``END`` for the last second of the calendar."""
    second = floor_to_second(instant)
    return second + _SECOND if second < _LAST_SECOND else END
