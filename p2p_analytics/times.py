"""Every spelling of a datetime that the service uses, to aware UTC instants and back.

The document states ``YYYY-MM-DDTHH:MM:SSZ``; its samples show datetimes without the ``Z`` and,
after a create, with fractional seconds (document: "What the service does", rule 8). All are UTC.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SPELLING: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


def parse_instant(text: str) -> datetime:
    """Return a datetime text as an aware UTC instant.

    Digits beyond the microsecond are cut off. A text without a zone is UTC.

    Raises
    ------
    ValueError
        The text is no ISO 8601 date and time, or no such instant exists.
    """
    match = _SPELLING.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a datetime like 2024-05-31T18:30:00Z.")
    day, clock, fraction, zone = match.groups()
    micros = (fraction or "").ljust(6, "0")[:6]
    try:
        return datetime.fromisoformat(f"{day}T{clock}.{micros}{zone or 'Z'}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not an instant that exists.") from None


_DIGITS_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_USUAL: Final = frozenset(b"0000-00-00T00:00:00" + ending for ending in (b"", b"Z", b".000000", b".000000Z"))


def parse_instants(texts: Sequence[str]) -> list[datetime]:
    """Return what `parse_instant` returns for each text; quickly where all have the usual spellings."""
    line = " ".join(texts)  # over one text, each step is quick
    shapes = line.encode(errors="replace").translate(_DIGITS_AS_ZEROS).split(b" ")
    if len(shapes) == len(texts) and _USUAL.issuperset(shapes):
        with suppress(ValueError):
            return list(map(datetime.fromisoformat, (line.replace("Z", "").replace(" ", "Z ") + "Z").split(" ")))
    return list(map(parse_instant, texts))


def as_instant(value: datetime | date | str) -> datetime:
    """Return a user's datetime, date or text as an aware UTC instant.

    A date is its first moment, and a value without a zone is taken as UTC.

    Raises
    ------
    ValueError
        The text is neither a date nor a datetime.
    """
    if isinstance(value, datetime):
        if value != value:  # noqa: PLR0124 - pandas' NaT, which equals nothing
            raise ValueError("NaT is no instant.")
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
        return parse_instant(f"{value}T00:00:00Z")
    return parse_instant(value)


def format_instant(instant: datetime) -> str:
    """Return an instant in the document's form, with microseconds only where there are any."""
    moment = instant.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds") + "Z"


def to_microseconds(instant: datetime) -> int:
    """Return an aware instant as whole microseconds since 1970-01-01 UTC."""
    return (instant - EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Return whole microseconds since 1970-01-01 UTC as an aware instant."""
    return EPOCH + timedelta(microseconds=microseconds)
