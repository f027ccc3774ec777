"""Statement files of a town, in the forms of all generations."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.statements.account import read_account, town_period_us
from p2p_analytics.sandbox.statements.generations import CSV_FORMS
from p2p_analytics.sandbox.statements.json_history import write_json
from p2p_analytics.sandbox.statements.lines import Statement
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town.timeline import from_microseconds

JSON: Final = "JSON"
GENERATIONS: Final = (*CSV_FORMS, JSON)
_MOST_DAYS: Final = 90
_OVERLAP_DAYS: Final = 7


def write_statement(store: Store, user: Person, start: date | str, end: date | str, generation: str) -> str:
    """Return the text of one file.

    Raises
    ------
    SettingError
        The generation is unknown, one of the days is not a date, the end is before the start, or they are more than 90
        days.
    """
    if generation not in GENERATIONS:
        raise SettingError(
            f"There is no statement generation {generation!r}: choose {', '.join(GENERATIONS[:-1])} or {JSON}."
        )
    first, last = _read_day(start), _read_day(end)
    days = (last - first).days + 1
    if days < 1:
        raise SettingError(f"A statement cannot end on {last}, before its start on {first}: exchange the two.")
    if days > _MOST_DAYS:
        raise SettingError(
            f"A statement covers at most {_MOST_DAYS} days, and {first} to {last} are {days}: ask for several of them."
        )
    account = read_account(store, user)
    dated = [(from_microseconds(line.when_us).date(), line) for line in account.lines]
    within = [line for day, line in dated if first <= day <= last]
    opening = account.opening_cents + sum(line.moved_cents for day, line in dated if day < first)
    statement = Statement(
        user=user,
        people=account.people,
        start=first,
        end=last,
        lines=within,
        opening_cents=opening,
        closing_cents=opening + sum(line.moved_cents for line in within),
        period_fee_cents=sum(line.charged_fee_cents for line in within),
        year_fee_cents=sum(line.charged_fee_cents for day, line in dated if day.year == last.year and day <= last),
    )
    return write_json(statement) if generation == JSON else CSV_FORMS[generation].write(statement)


def _read_day(value: date | str) -> date:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise SettingError(f"{value[:40]!r} is no date: write it like 2024-05-31.") from None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise SettingError(f"A statement begins and ends on whole days in UTC: give a date, not {value!r}.")
    return value


def list_statement_periods(store: Store) -> list[tuple[date, date]]:
    """Return the periods of the files that cover the history of a town up to its clock, with overlaps of a week."""
    start_us, _ = town_period_us(store.settings())
    start, last = from_microseconds(start_us).date(), from_microseconds(store.now_us()).date()
    periods = [(start, min(start + timedelta(days=_MOST_DAYS - 1), last))]
    while (end := periods[-1][1]) < last:
        start = end - timedelta(days=_OVERLAP_DAYS - 1)
        periods.append((start, min(start + timedelta(days=_MOST_DAYS - 1), last)))
    return periods
