"""Range of a report: the payments of some days of its zone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from p2p_analytics import display
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History

_YEARS: Final = range(1900, 2200)


class Range(NamedTuple):
    """The history of the payments of a range, a sentence about it, and the instant at which its months end."""

    history: History
    sentence: str
    end: datetime


def select_days(history: History, since: date | str | None, until: date | str | None, zone: ZoneInfo) -> Range:
    """Select the payments of the days from ``since`` to ``until``; without bounds all of them, and no sentence.

    A settled payment is of the day on which it completed or, where that is not known, of the one on which it was
    created, as in `monthly_flow`; any other is of the day on which it was created. One without a date is left out.
    Without its last days a history has no balance.

    Raises
    ------
    ConfigurationError
        A value is not a day, as a date or text like ``2024-05-31``, or the last day is before the first.
    """
    first, last = _parse_day("since", since), _parse_day("until", until)
    if not first and not last:
        return Range(history, "", history.fetched_at)
    if first and last and last < first:
        raise ConfigurationError(f"The last day, {last}, is before the first, {first}: exchange them.")
    moments = find_moments(history.payments)
    is_wanted, end = moments.notna(), history.fetched_at
    if first:
        is_wanted &= moments >= begin_day(first, zone)
    if last:
        after = begin_day(last + timedelta(days=1), zone)
        is_wanted, end = is_wanted & (moments < after), min(end, after)
    days = f"from {first} to {last}" if first and last else f"from {first} on" if first else f"until {last}"
    counted = "are counted, each as of the first day of its month" if history.strict else "are counted"
    sentence = f"Only payments {days} {counted}: {int(is_wanted.sum()):,} of {len(moments):,} transactions."
    chosen = _select_payments(history, is_wanted)
    if end < history.fetched_at:  # the balance is from the time of the data
        chosen = replace(chosen, me=msgspec.structs.replace(chosen.me, balance_cents=None))
    return Range(chosen, sentence, end)


def select_until(history: History, moment: datetime) -> History:
    """Return the payments up to a moment, each at the time that counts for `select_days`, and those without a date.

    In privacy mode the payments of a day or month have its first instant: of one that begins at the moment none are
    wanted, unless the data ends there.
    """
    moments = find_moments(history.payments)
    is_later = moments >= moment if history.private and moment < history.fetched_at else moments > moment
    return _select_payments(history, ~is_later)


def format_days(problems: pd.DataFrame, *, strict: bool) -> list[str]:
    """Return the first and last day of each problem as text, in strict privacy mode the months; empty if unknown."""
    format_day = display.format_month if strict else display.format_day
    utc = find_zone("UTC")
    days = problems[["first_day", "last_day"]].itertuples(index=False, name=None)
    known = [dict.fromkeys(format_day(day, utc) for day in pair if day == day) for pair in days]  # noqa: PLR0124 - NaT
    return [" to ".join(each) for each in known]


def begin_day(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of a day."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def find_moments(payments: pd.DataFrame) -> pd.Series[Any]:
    """Return the time that counts for each payment: of completion if it settled and that is known, else of creation."""
    is_settled = payments["status"] == Status.SETTLED.value
    return payments["date_completed"].where(is_settled).fillna(payments["date_created"])


def _select_payments(history: History, is_wanted: pd.Series[Any]) -> History:
    payments = history.payments[is_wanted].reset_index(drop=True)
    ids = history.problems["payment_id"]
    known = payments.loc[payments["payment_id"].isin(ids.dropna()), "payment_id"]
    problems = history.problems[ids.isna() | ids.isin(known)].reset_index(drop=True)
    return replace(history, payments=payments, problems=problems)


def _parse_day(name: str, value: date | str | None) -> date | None:
    if value is None or (type(value) is date and value.year in _YEARS):
        return value
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        day = None
    if day is None or day.year not in _YEARS:
        raise ConfigurationError(f"{name} is a day such as 2024-05-31, not {value!r}.")
    return day
