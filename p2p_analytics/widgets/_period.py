"""Period of the explorer: the date that it refers to, its first and last day, shortcuts to both, and the zone."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

import ipywidgets
import pandas as pd

from p2p_analytics.display import format_count, format_day, format_month, to_zone
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import require
from p2p_analytics.times import find_zone, from_microseconds, to_microseconds
from p2p_analytics.widgets._style import build_dropdown
from p2p_analytics.widgets._table import name_rows

_LAST_DAY: Final = date(9999, 12, 31)  # datetime has no later year
_MOST_PERIODS: Final = 48
_MONTH_DAYS: Final = 30.4
_DATES: Final = {"created": "date_created", "completed": "date_completed"}
ALL: Final = "all"
CHOSEN: Final = "chosen"
_SHORTCUTS: Final = {
    "all": ALL,
    "this month": "this_month",
    "last month": "last_month",
    "this year": "this_year",
    "last year": "last_year",
    "chosen days": CHOSEN,
}


class Period:
    """Inputs that select payments by a date; the date columns of the payments must come from `read_instants`.

    "This month" and "this year" refer to ``as_of``. In privacy mode UTC is the only zone, and in strict mode a period
    is whole months. ``on_change`` is called once after each change by the user.
    """

    def __init__(self, as_of: datetime, tz: str, *, private: bool, strict: bool, on_change: Callable[[], None]) -> None:
        find_zone(tz)
        self._as_of, self._strict, self._on_change = as_of, strict, on_change
        self._is_setting = False
        self.date = build_dropdown("Date", list(_DATES.items()))
        self.shortcut = build_dropdown("Period", list(_SHORTCUTS.items()))
        self.first_day, self.last_day = (
            ipywidgets.DatePicker(
                description=label, tooltip=f"{which} day of the period; empty for no limit", max=_LAST_DAY
            )
            for label, which in (("From", "First"), ("To", "Last"))
        )
        zones = ["UTC"] if private else [*dict.fromkeys(["UTC", tz, *sorted(available_timezones())])]
        self.zone = build_dropdown("Zone", zones, "UTC" if private else tz)
        for each in (self.date, self.shortcut, self.zone, self.first_day, self.last_day):
            each.observe(self._react, names="value")

    @property
    def tzinfo(self) -> ZoneInfo:
        """The chosen zone."""
        return find_zone(self.zone.value)

    @property
    def end(self) -> datetime | None:
        """The instant at which the period ends; None without a last day."""
        last = self.last_day.value
        if last is None or last == _LAST_DAY:
            return None
        return from_microseconds(self._midnight(last + timedelta(days=1)))

    @property
    def is_inverted(self) -> bool:
        """Whether the last day is before the first."""
        first, last = self.first_day.value, self.last_day.value
        return first is not None and last is not None and last < first

    def select(self, payments: pd.DataFrame) -> pd.DataFrame:
        """Return the payments of the period, both days included; without limits, all of them."""
        first = self.first_day.value
        if first is None and self.last_day.value is None:
            return payments
        moments = payments[self.date.value]
        chosen, microseconds = moments.notna().to_numpy(), moments.astype("int64").to_numpy()
        if first is not None:
            chosen = chosen & (microseconds >= self._midnight(first.replace(day=1) if self._strict else first))
        if self.end is not None:
            chosen = chosen & (microseconds < to_microseconds(self.end))
        period: pd.DataFrame = payments[chosen]
        return period

    def set_dates(self, payments: pd.DataFrame) -> pd.DataFrame:
        """Return the payments with the chosen date as both of their dates, so that an analysis can use no other."""
        return payments.assign(**dict.fromkeys(_DATES.values(), payments[self.date.value]))

    def choose_every(self, payments: pd.DataFrame) -> str:
        """Return the shortest period, "month" to "year", that gives a readable number of bars in the chosen dates."""
        dates = payments[self.date.value].dropna()
        months = (dates.max() - dates.min()).days / _MONTH_DAYS if len(dates) else 0
        return "month" if months <= _MOST_PERIODS else "quarter" if months <= 3 * _MOST_PERIODS else "year"

    def describe(self, chosen: pd.DataFrame, candidates: pd.DataFrame, payments: pd.DataFrame) -> str:
        """Return a sentence about the period, and one about the payments that have no such date.

        The rows are those in the period, the rows it was selected from, and all payments of the history.
        """
        total = format_count(len(payments), *name_rows(payments))
        count = f"All {total}" if len(chosen) == len(payments) else f"{len(chosen):,} of {total}"
        show, first, last = format_month if self._strict else format_day, self.first_day.value, self.last_day.value
        days = [day and show(datetime.combine(day, time(12), tzinfo=self.tzinfo), self.tzinfo) for day in (first, last)]
        limits, when = "", {"date_created": "of creation", "date_completed": "of completion"}[self.date.value]
        if first or last:
            words = "from {} to {}" if first and last else "from {0} on" if first else "up to {1}"
            limits = f"{words.format(*days)}, {self.zone.value} time"
        dates = f", {self.date.label} {limits}" if limits else f", of any date. Dates are those {when}"
        without = int(candidates[self.date.value].isna().sum())
        missing = format_count(without, "payment has", "payments have") + f" no date {when}"
        if limits:
            missing += " and so " + ("is" if without == 1 else "are") + " in no period"
        return f"{count}{dates}. {missing + '. ' if without else ''}Data as of {show(self._as_of, self.tzinfo)}."

    def list_choices(self) -> list[str]:
        """Return the choices as words for a file name; none for the initial ones."""
        limits = (("from", self.first_day.value), ("to", self.last_day.value))
        words = ["by-completed"] if self.date.value == "date_completed" else []
        words += [f"{word}-{day}" for word, day in limits if day]
        return words if self.zone.value == "UTC" else [*words, self.zone.value]

    def _midnight(self, day: date) -> int:
        return to_microseconds(datetime.combine(day, time(), tzinfo=self.tzinfo))

    def _react(self, change: dict[str, Any]) -> None:
        """Make the other inputs agree with a change by the user, and then report one change."""
        if self._is_setting:
            return
        self._is_setting = True
        try:
            if change["owner"] in {self.first_day, self.last_day}:
                is_open = self.first_day.value is None and self.last_day.value is None
                self.shortcut.value = ALL if is_open else CHOSEN
            elif change["owner"] is not self.date and self.shortcut.value != CHOSEN:
                today = to_zone(self._as_of, self.tzinfo).date()
                self.first_day.value, self.last_day.value = find_days(self.shortcut.value, today)
        finally:
            self._is_setting = False
        self._on_change()


def find_days(shortcut: str, today: date) -> tuple[date | None, date | None]:
    """Return the first and last day of a period that is named relative to a day; no days for all dates."""
    year = max(today.year - 1, 1) if shortcut == "last_year" else today.year
    if shortcut in {"this_year", "last_year"}:
        return date(year, 1, 1), date(year, 12, 31)
    if shortcut in {"this_month", "last_month"}:
        first = today.replace(day=1)
        if shortcut == "last_month" and first > date.min:
            first = (first - timedelta(days=1)).replace(day=1)
        last_of_month = calendar.monthrange(first.year, first.month)[1]
        return first, first.replace(day=last_of_month)
    return None, None


def read_instants(payments: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return a date column as aware UTC instants in microseconds; naive dates are UTC, and other values refused."""
    require(payments.columns, [name], what="Explorer")
    try:
        return pd.to_datetime(payments[name], utc=True, format="ISO8601").dt.as_unit("us")
    except (ValueError, TypeError, OverflowError):
        raise SchemaError(f"{name} holds a value that is not a date: use datetimes, as load_history does.") from None
