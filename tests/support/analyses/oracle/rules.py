"""Rules that several analyses share: which records count, who a person is, how values are ordered and compared."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from zoneinfo import ZoneInfo

    Record = dict[str, Any]

FIRST, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class SeveralCurrenciesError(Exception):
    """The payments that count are in several currencies."""


def select_payments(records: Iterable[Record]) -> list[Record]:
    """Return the records of payments; without a kind they are payments."""
    return [record for record in records if record["kind"] in {"payment", None}]


def select(records: Iterable[Record], status: str) -> list[Record]:
    """Return the records with a status and a direction."""
    return [record for record in records if record["status"] == status and record["direction"] in {"in", "out"}]


def to_utc(moment: datetime | None) -> datetime | None:
    """Return an instant; one without a zone is in UTC."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def within_calendar(moment: datetime | None) -> datetime | None:
    """Return an instant of 1970 to 2199, else None."""
    return moment if moment is not None and FIRST <= moment < END else None


def find_moved(record: Record) -> datetime | None:
    """Return the instant at which a settled payment moved money."""
    completed = to_utc(record["date_completed"])
    return within_calendar(to_utc(record["date_created"]) if completed is None else completed)


def find_day(moment: datetime | None, zone: ZoneInfo) -> date | None:
    """Return the day of an instant on the clocks of a zone."""
    return None if moment is None else moment.astimezone(zone).date()


def cents(record: Record) -> int:
    """Return the amount without sign; an unknown one is 0."""
    return abs(record["amount_cents"] or 0)


def sum_cents(records: Iterable[Record], name: str | None = None, *values: str) -> int:
    """Return the sum of amounts of the records with one of some values in a column."""
    return sum(cents(record) for record in records if name is None or record[name] in values)


def sent_received(records: Sequence[Record]) -> dict[str, float]:
    """Return the columns sent, received and net."""
    sent, received = sum_cents(records, "direction", "out"), sum_cents(records, "direction", "in")
    return {"sent": sent / 100, "received": received / 100, "net": (received - sent) / 100}


def share(part: int, whole: int) -> float:
    """Return a fraction, 0 of nothing."""
    return part / whole if whole else 0.0


def find_person(record: Record) -> tuple[str | None, str | None]:
    """Return the id of the other person, or without one the name."""
    identifier = record["counterparty_id"]
    return (identifier, None) if identifier is not None else (None, record["counterparty_name"])


def latest(records: Iterable[Record], name: str) -> str | None:
    """Return the last value of a text column in the alphabet."""
    return max((record[name] for record in records if record[name] is not None), default=None)


def group(records: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Return the records by a key."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def nulls_last(value: Any) -> tuple[bool, Any]:
    """Return a sorting key."""
    return (value is None, 0 if value is None else value)


def in_order(record: Record) -> tuple[Any, ...]:
    """Return a sorting key of records with a date of creation: by date, then id, then note."""
    named = ((record[name] is not None, record[name] or "") for name in ("payment_id", "note"))
    return (to_utc(record["date_created"]), *named)


def newest_first(moment: datetime | None) -> tuple[bool, float]:
    """Return a sorting key in microseconds; without a date, last."""
    return (moment is None, 0 if moment is None else -((moment - FIRST) // (datetime.resolution)))


def normalise(text: str | None) -> str:
    """Return a text in lower case, with one space for any white space, and none at the ends; sigma has one form."""
    return " ".join((text or "").split()).lower().replace("\u03c2", "\u03c3")


def nearest_rank(values: Iterable[Any], percent: int) -> Any:
    """Return the value at rank ceil(percent / 100 * n), None without values."""
    ordered = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None


def median(values: Iterable[int]) -> float:
    """Return the middle value, or the mean of the middle two."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
