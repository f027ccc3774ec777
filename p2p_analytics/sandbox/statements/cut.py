"""The cut of an account's history that one file shows: its lines, and what stands before and after them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.statements.cells import to_datetime
from p2p_analytics.sandbox.statements.lines import Account, Line
from p2p_analytics.sandbox.storage.rows import Person

MOST_DAYS: Final = 90
OVERLAP_DAYS: Final = 7


class Statement(NamedTuple):
    """One file: both days are included, the balances are those before the first day and after the last one."""

    user: Person
    people: dict[int, Person]
    start: date
    end: date
    lines: list[Line]
    opening_cents: int
    closing_cents: int
    period_fee_cents: int
    year_fee_cents: int


def cut_statement(account: Account, start: date, end: date) -> Statement:
    """Return the statement of a period of at most 90 days."""
    dated = [(to_datetime(line.when_us).date(), line) for line in account.lines]
    within = [line for day, line in dated if start <= day <= end]
    opening = account.opening_cents + sum(line.moved_cents for day, line in dated if day < start)
    return Statement(
        user=account.user,
        people=account.people,
        start=start,
        end=end,
        lines=within,
        opening_cents=opening,
        closing_cents=opening + sum(line.moved_cents for line in within),
        period_fee_cents=sum(line.charged_fee_cents for line in within),
        year_fee_cents=sum(line.charged_fee_cents for day, line in dated if day.year == end.year and day <= end),
    )


def read_period(start: date | str, end: date | str) -> tuple[date, date]:
    """Return the two days of a period.

    Raises
    ------
    SettingError
        One of them is not a date, the end is before the start, or they are more than 90 days.
    """
    first, last = _read_day(start), _read_day(end)
    days = (last - first).days + 1
    if days < 1:
        raise SettingError(f"A statement cannot end on {last}, before its start on {first}: exchange the two.")
    if days > MOST_DAYS:
        raise SettingError(
            f"A statement covers at most {MOST_DAYS} days, and {first} to {last} are {days}: ask for several of them."
        )
    return first, last


def _read_day(value: date | str) -> date:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise SettingError(f"{value[:40]!r} is no date: write it like 2024-05-31.") from None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise SettingError(f"A statement begins and ends on whole days in UTC: give a date, not {value!r}.")
    return value


def list_periods(first: date, last: date) -> list[tuple[date, date]]:
    """Return periods of at most 90 days that cover all days; each begins a week before the previous one ends."""
    periods = [(first, min(first + timedelta(days=MOST_DAYS - 1), last))]
    while (end := periods[-1][1]) < last:
        start = end - timedelta(days=OVERLAP_DAYS - 1)
        periods.append((start, min(start + timedelta(days=MOST_DAYS - 1), last)))
    return periods
