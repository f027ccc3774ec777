"""Time zones, calendar bounds, and every datetime spelling of the service as aware UTC instants.

The document states ``YYYY-MM-DDTHH:MM:SSZ``; its samples show datetimes without the ``Z`` and,
after a create, with fractional seconds (document: "What the service does", rule 8). All are UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np  # heavy, and needed by no command line

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NAIVE_EPOCH: Final = EPOCH.replace(tzinfo=None)
MICROSECOND: Final = timedelta(microseconds=1)
BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
END: Final = datetime.max.replace(tzinfo=UTC)
GRACE: Final = timedelta(hours=1)  # the service may list a payment this much later than its date
DAY_US: Final = timedelta(days=1) // MICROSECOND
_LONGEST_SHOWN: Final = 60  # characters of a wrong argument

# A date outside these years is an error in the data; a series of months up to it would have thousands of empty rows.
FIRST_US: Final = 0
END_US: Final = (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND


class Window(NamedTuple):
    """Half-open time interval: it includes its start and excludes its end."""

    start: datetime
    end: datetime


def parse_instant(text: str) -> datetime:
    """Return a datetime in text form (RFC 3339) as an aware UTC instant, to the nearest microsecond.

    Text without a zone is UTC.

    Raises
    ------
    ValueError
        The text does not have that form, or the instant does not exist.
    """
    try:
        return in_utc(msgspec.convert(text, datetime))
    except (msgspec.ValidationError, UnicodeEncodeError):
        raise ValueError(f"{text[:40]!r} is not a datetime like 2024-05-31T18:30:00Z.") from None
    except OverflowError:
        raise ValueError(f"{text!r} is outside the range of datetimes.") from None


def in_utc(moment: datetime) -> datetime:
    """Return a datetime as an aware UTC instant; a naive one is UTC."""
    if moment.tzinfo is None:
        return EPOCH + (moment - NAIVE_EPOCH)  # takes a tenth of the time of replace()
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def as_instant(value: datetime | date | str | np.datetime64) -> datetime:
    """Return a datetime, date or text from the user as an aware UTC instant.

    Text is in any form of ISO 8601 that Python reads, such as ``2024-05-31 18:30`` or ``2024-W22-5``. A Timestamp of
    pandas or datetime64 of NumPy is a datetime too. A date means its first moment; a value without a zone is UTC.

    Raises
    ------
    TypeError
        The value is of another type.
    ValueError
        The text is neither a date nor a datetime, or the instant does not exist.
    """
    if type(value).__name__ == "datetime64":  # of NumPy, which is not imported for this
        seconds = value.astype("datetime64[s]").item()  # type: ignore[union-attr]
        # An instant out of range is a number here; as microseconds it would have another value, without an error.
        value = value.astype("datetime64[us]").item() if isinstance(seconds, date) else seconds  # type: ignore[union-attr]
    if isinstance(value, datetime):
        if value != value:  # noqa: PLR0124 - pandas' NaT, which equals nothing
            raise ValueError("NaT is not an instant.")
        return in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is neither a datetime nor text.")
    try:
        return parse_instant(value)
    except ValueError:
        if not re.fullmatch(r"\d{4}(-?\d\d-?\d\d|-?W\d\d(-?\d)?)([Tt ][-+:.,\dZz]+)?", value, re.ASCII):
            raise
    try:
        return in_utc(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise ValueError(f"{value[:40]!r} is not a date or datetime, like 2024-05-31T18:30:00Z.") from None


def parse_as_of(as_of: datetime | date | str | np.datetime64, *, name: str = "as_of") -> datetime:
    """Return an argument such as ``as_of`` as an aware UTC instant.

    Raises
    ------
    ConfigurationError
        It is not an instant.
    """
    try:
        return as_instant(as_of)
    except (TypeError, ValueError, OverflowError):
        given = repr(as_of)
        if len(given) > _LONGEST_SHOWN:  # such as a frame, which has names and amounts
            given = f"{type(as_of).__name__}(...)"
        raise ConfigurationError(
            f"{name}={given} is not an instant: give a datetime, a date or text like 2024-05-31T18:30:00Z."
        ) from None


def format_instant(instant: datetime) -> str:
    """Return an instant in the document's form, with microseconds unless they are zero."""
    moment = instant.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds") + "Z"


def to_microseconds(instant: datetime) -> int:
    """Return an aware instant as whole microseconds since 1970-01-01 UTC."""
    return (instant - EPOCH) // MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Return whole microseconds since 1970-01-01 UTC as an aware instant."""
    return EPOCH + timedelta(microseconds=microseconds)


def find_zone(name: str | ZoneInfo) -> ZoneInfo:
    """Return the time zone with an IANA name such as ``America/New_York``; a ZoneInfo is returned unchanged.

    Raises
    ------
    ConfigurationError
        The zone is unknown.
    """
    if isinstance(name, ZoneInfo):
        return name
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError):
        raise ConfigurationError(f"tz must be a zone name like 'America/New_York' or 'UTC', not {name!r}.") from None
