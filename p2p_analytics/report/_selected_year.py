"""The year that a page is about: its rows and the earlier ones, chosen by their real dates and then masked."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex

from p2p_analytics import display, settings
from p2p_analytics.arguments import read_whole_number
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, GAP, select_payments
from p2p_analytics.report._range import begin_day, find_moments, format_days, select_days, select_until
from p2p_analytics.times import END_US, FIRST_US, MICROSECOND, find_zone, from_microseconds, parse_as_of
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History
    from p2p_analytics.settings import Privacy

_YEARS: Final = range(1970, 2200)  # that monthly_flow counts
_OF_FILES: Final = (DOES_NOT_ADD_UP, GAP)
_ONE_DAY: Final = timedelta(days=1)


class SelectedYear(NamedTuple):
    """One year of a history, in the privacy mode of its page."""

    number: int
    history: History  # the payments of the year, and the problems of the files that are about it
    before: History  # these, all earlier ones, and those without a date
    years: list[int]  # with settled payments, in order
    zone: ZoneInfo  # UTC in privacy mode
    end: datetime  # the instant at which the year or, if that is earlier, the data ends
    since: datetime | None  # the date from which the data holds all payments, to the microsecond
    gaps: list[str]  # the days of the year between statement files, as text
    is_whole: bool  # whether no row of the year and of the one before is known to be missing
    # In a history that was given masked, the day or month of `as_of`, if some of its payments may be later: all count.
    undecided: datetime | None
    has_later: bool  # whether payments settled after `as_of`
    has_earlier: bool  # whether a payment that settled after the year was created before all of `before`

    @property
    def begin(self) -> datetime:
        """The first instant of the year."""
        return begin_day(date(self.number, 1, 1), self.zone)

    @property
    def is_over(self) -> bool:
        """Whether the data reaches the end of the year."""
        return self.end == begin_day(date(self.number + 1, 1, 1), self.zone)

    @property
    def settled_count(self) -> int:
        """The number of settled payments of the year."""
        return len(_find_settled(self.history))

    def format_day(self, instant: datetime) -> str:
        """Return the day of an instant as text, in strict privacy mode its month."""
        return (display.format_month if self.history.strict else display.format_day)(instant, self.zone)

    def describe_empty(self) -> str:
        """Return sentences about a year without settled payments: the years that have some, and the end of the data.

        Empty if the year has settled payments.
        """
        if self.settled_count:
            return ""
        empty = f"No payment settled in {self.number}"
        if self.has_later and not self.years:
            return f"{empty}; all payments are later."
        years = " to ".join(map(str, dict.fromkeys((self.years[0], self.years[-1])))) if self.years else ""
        empty = f"{empty}; the payments are from {years}." if years else f"{empty}."
        last = self.end - MICROSECOND
        return empty if last >= self.begin else f"{empty} The data ends with {self.format_day(last)}."


def choose_privacy(privacy: Privacy | None = None) -> Privacy:
    """Return the privacy mode of a year in review: the argument, else the strict one of ``P2P_PRIVACY``, else on."""
    return settings.privacy() or True if privacy is None else settings.privacy(privacy)


def select_year(
    history: History,
    year: SupportsIndex | None,
    as_of: datetime | date | str,
    tz: str | ZoneInfo = "UTC",
    privacy: Privacy | None = None,
) -> SelectedYear:
    """Return one year of a history; by default the last one in which a payment settled, up to ``as_of``.

    Without settled payments it is the year of ``as_of`` or, if that is earlier, of the end of the data. Years and
    payments are chosen by the dates of the history, before privacy mode makes days or months of them.

    Raises
    ------
    ConfigurationError
        ``as_of`` is not an instant, the year, zone or privacy mode does not exist, or the key of privacy mode cannot be
        read.
    """
    mode = choose_privacy(privacy)
    zone = find_zone("UTC") if mode or history.private else find_zone(tz)
    moment = parse_as_of(as_of)
    until = select_until(history, moment)
    years = sorted(map(int, _find_settled(until).dt.tz_convert(zone).dt.year.unique()))
    data_end = min(moment, history.fetched_at)
    if year is not None:
        given = read_whole_number(year)
        if given is None or given not in _YEARS:
            raise ConfigurationError(f"year is a whole number from {_YEARS[0]} to {_YEARS[-1]}, not {year!r}.")
        number = given
    elif years:
        number = years[-1]
    elif (number := display.to_zone(data_end, zone).year) not in _YEARS:
        raise ConfigurationError(
            f"No payment settled up to {data_end.date()}, and a year in review is from {_YEARS[0]} to {_YEARS[-1]}: "
            "choose another as_of (--as-of), or a year (--year)."
        )
    first, after = begin_day(date(number, 1, 1), zone), begin_day(date(number + 1, 1, 1), zone)
    end = min(data_end, after)
    known = select_until(until, after - MICROSECOND)
    compared = _select_overlapping(known.problems, begin_day(date(number - 1, 1, 1), zone), end)
    problems = _select_overlapping(known.problems, first, end)
    before = replace(known, problems=problems)
    before = before.masked(strict=mode == settings.STRICT) if mode else before
    chosen = select_days(before, date(number, 1, 1), date(number, 12, 31), zone).history
    days = format_days(problems[problems["code"] == GAP], strict=before.strict)
    return SelectedYear(
        number,
        chosen,
        before,
        years,
        zone,
        end,
        since=history.since,
        gaps=[*dict.fromkeys(day or "days that are not known" for day in days)],
        is_whole=not bool(compared["code"].isin(_OF_FILES).any()),
        undecided=_find_undecided(chosen, moment) if history.private else None,
        has_later=len(_find_settled(until)) < len(_find_settled(history)),
        has_earlier=bool(_find_first_created(history) < _find_first_created(known)),
    )


def _select_overlapping(problems: pd.DataFrame, first: datetime, after: datetime) -> pd.DataFrame:
    """Return problems, but of those about days of statement files only the ones that overlap a period.

    Problems without days are kept.
    """
    start, end = problems["first_day"], problems["last_day"].fillna(problems["first_day"]) + _ONE_DAY
    is_wanted = ~problems["code"].isin(_OF_FILES) | start.isna() | ((start < after) & (end > first))
    return problems[is_wanted.fillna(value=True).astype(bool)].reset_index(drop=True)


def _find_settled(history: History) -> pd.Series[Any]:
    """Return the instants of the payments that `people_by_year` counts."""
    rows = select_payments(history.payments)
    moments = find_moments(rows[(rows["status"] == Status.SETTLED.value) & rows["direction"].notna()])
    return moments[(moments >= from_microseconds(FIRST_US)) & (moments < from_microseconds(END_US))]


def _find_first_created(history: History) -> pd.Timestamp:
    """Return the first instant at which a payment was created; NaT without one."""
    first: pd.Timestamp = select_payments(history.payments)["date_created"].min()
    return first


def _find_undecided(history: History, moment: datetime) -> datetime | None:
    """Return the day or month of a moment, if privacy mode hides which of its payments are later than the moment.

    None if it has no payments.
    """
    if moment >= history.fetched_at:
        return None
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    day = day.replace(day=1) if history.strict else day
    return day if day < moment and bool((find_moments(history.payments) == day).any()) else None
