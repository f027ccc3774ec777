"""The year in review: one year of a history as a self-contained HTML file, made to be shared, or as Markdown."""

from __future__ import annotations

import operator
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, SupportsIndex, cast

from p2p_analytics import display, settings
from p2p_analytics.analyses import catalogue
from p2p_analytics.currencies import name_currency
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.row_currencies import find_currency
from p2p_analytics.frames.schema import count_other_kinds, select_payments
from p2p_analytics.history import require_history
from p2p_analytics.money import add_units
from p2p_analytics.report._findings import list_findings, list_people
from p2p_analytics.report._markdown import convert_page
from p2p_analytics.report._page import (
    MARKDOWN,
    build_environment,
    build_gaps,
    build_months,
    build_people,
    describe_privacy,
    draw_parts,
    measure_amounts,
    name_shown,
    require_kind,
    to_rows,
)
from p2p_analytics.report._range import begin_day, select_days, select_until
from p2p_analytics.report._sections import build_sections, choose_sections, describe_omitted
from p2p_analytics.times import MICROSECOND, find_zone, parse_as_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History
    from p2p_analytics.report._findings import Finding
    from p2p_analytics.settings import Privacy

_YEARS: Final = range(1970, 2200)  # that monthly_flow counts
_SECTIONS: Final = ("spend_by_friend", "categories", "monthly_flow", "activity")
_MOST_BUSIEST: Final = 2  # months with the same number of payments, above which none stands out


class Year(NamedTuple):
    """One year of a history.

    Attributes
    ----------
    number : int
    history : History
        The payments of the year.
    before : History
        These, all earlier ones, and those without a date.
    end : datetime
        The instant at which the year or, if that is earlier, the data ends.
    is_over : bool
        Whether the data reaches the end of the year.
    years : DataFrame
        The table of `people_by_year` of all payments.
    """

    number: int
    history: History
    before: History
    end: datetime
    is_over: bool
    years: pd.DataFrame


class Figure(NamedTuple):
    """A figure at the head of the page: its name, its value as text, and a few words about it."""

    name: str
    value: str
    words: str


def render_year(  # noqa: PLR0913 - a history, and what to show of it
    history: History,
    *,
    as_of: datetime | date | str,
    year: SupportsIndex | None = None,
    tz: str | ZoneInfo = "UTC",
    privacy: Privacy | None = None,
    kind: Literal["html", "markdown"] = "html",
) -> str:
    """Return the review of one year as the text of one self-contained HTML file, or of a Markdown file.

    It is made to be shared: names and amounts are invented unless ``privacy`` is False. It shows the number of payments
    and people, the money sent and received, what stands out, and the money by person and month; without privacy mode
    also by category, and the payments by hour of the week. Open requests and problems are in `render_report`. Nothing
    is loaded from outside. The same history gives the same text.

    Parameters
    ----------
    history : History
        For example the result of `p2p_analytics.load_history`.
    as_of : datetime, date or str
        Later payments are left out; without a zone it is UTC.
    year : int, optional
        By default the last one in which a payment settled. A payment belongs to the year in which it completed.
    tz : str or ZoneInfo
        The zone of the year, its months and dates, such as ``America/New_York``. In privacy mode it is UTC.
    privacy : bool or "strict", optional
        By default the page is in privacy mode, which is strict if ``P2P_PRIVACY`` is. False shows real names and
        amounts, unless the history is in privacy mode itself.
    kind : {"html", "markdown"}
        Markdown has the same texts and tables, without figures.

    Raises
    ------
    ConfigurationError
        ``history`` is no History, ``as_of`` is no instant, the zone, the year, the kind or the privacy mode does not
        exist, or the key of privacy mode cannot be read.
    SchemaError
        A frame of the history lacks a column, a payment_id is repeated, or payments between people are in several
        currencies.
    """
    require_history(history, what="render_year")
    require_kind(kind)
    mode = choose_privacy(privacy)
    history = history.masked(strict=mode == settings.STRICT) if mode else history
    zone = find_zone("UTC") if history.private else find_zone(tz)
    currency = find_currency(
        history.payments, what="render_year", advice="choose one, like history.select_currency({})"
    )
    chosen = select_year(history, year, as_of, zone)
    payments = select_payments(chosen.history.payments)
    build = partial(catalogue.build_table, payments=payments, history=chosen.history, as_of=as_of, tz=zone)
    tables = {name: build(name) for name in ("spend_by_friend", "monthly_flow", "request_outcomes", "time_to_settle")}
    before = select_payments(chosen.before.payments)
    flow = catalogue.build_table("monthly_flow", before, chosen.before, as_of=as_of, tz=zone)
    own = build_people(tables["spend_by_friend"]) | build_months(tables["monthly_flow"])
    sections = choose_sections(_SECTIONS)
    parts = [part | {"is_folded": True} for part in build_sections(sections, chosen.history, payments, build, to_rows)]
    tables |= {part["name"]: part["table"] for part in parts if not part["template"]}
    money = partial(display.format_money, currency=currency)
    findings = _list_findings(chosen, tables | {"monthly_flow": flow}, payments, zone, money)
    names = name_shown([*own["people"], *list_people(findings)], chosen.history, payments)
    user = history.me.user
    template = build_environment(zone, currency, strict=history.strict).get_template("year.html.jinja")
    page = template.render(
        year=chosen.number,
        name=user.display_name or user.username or user.id,
        end=_find_last_moment(chosen, zone),
        private=describe_privacy(history, currency),
        figures=[*_list_figures(chosen, tables, money)],
        findings=findings,
        labels=names.labels,
        longest_amount=measure_amounts(
            *(tables["monthly_flow"][name] for name in ("sent", "received", "net", "running_net")), currency=currency
        ),
        parts=draw_parts(parts, tables, chosen.history, names, kind=kind),
        others=_describe_other_years(chosen.years),
        remarks=_list_remarks(chosen, flow, zone),
        other_kinds=display.describe_kinds(count_other_kinds(chosen.history.payments)),
        omitted=describe_omitted(sections, history),
        currency=name_currency(currency),
        tz=str(zone),
        **(own | build_gaps(chosen.history.problems, private=history.private)),
    )
    return convert_page(page) if kind == MARKDOWN else page


def choose_privacy(privacy: Privacy | None = None) -> Privacy:
    """Return the privacy mode of a year in review: the argument, else the strict one of ``P2P_PRIVACY``, else on."""
    return settings.privacy() or True if privacy is None else settings.privacy(privacy)


def select_year(history: History, year: SupportsIndex | None, as_of: datetime | date | str, zone: ZoneInfo) -> Year:
    """Return one year of a history; by default the last one in which a payment settled, up to ``as_of``.

    Without settled payments it is the year of ``as_of``.

    Raises
    ------
    ConfigurationError
        ``as_of`` is no instant, or there is no such year.
    """
    moment = parse_as_of(as_of)
    before = select_until(history, moment)
    years = catalogue.build_table("people_by_year", select_payments(before.payments), before, as_of=as_of, tz=zone)
    if year is None:
        year = int(years["year"].iloc[-1]) if len(years) else display.to_zone(moment, zone).year
    year = _check_year(year)
    after = begin_day(date(year + 1, 1, 1), zone)
    end = min(moment, history.fetched_at, after)
    return Year(
        year,
        select_days(before, date(year, 1, 1), date(year, 12, 31), zone).history,
        select_until(before, after - MICROSECOND),
        end,
        is_over=end == after,
        years=years,
    )


def _find_last_moment(chosen: Year, zone: ZoneInfo) -> datetime | None:
    """Return the last moment of the data, if it ends within the year."""
    last = chosen.end - MICROSECOND
    return None if chosen.is_over or last < begin_day(date(chosen.number, 1, 1), zone) else last


def _check_year(year: object) -> int:
    """Return a year, also one of a table, such as a numpy integer."""
    try:
        number = -1 if isinstance(year, bool) else operator.index(cast("SupportsIndex", year))
    except TypeError:
        number = -1
    if number not in _YEARS:
        raise ConfigurationError(f"year is a whole number from {_YEARS[0]} to {_YEARS[-1]}, not {year!r}.")
    return number


def _list_findings(
    chosen: Year, tables: dict[str, pd.DataFrame], payments: pd.DataFrame, zone: ZoneInfo, money: Callable[[float], str]
) -> list[Finding]:
    """Return the findings about the sections of the page, by the rules of the report."""
    until = datetime(chosen.number + 1, 1, 1, tzinfo=zone) if chosen.is_over else display.to_zone(chosen.end, zone)
    is_comparable = until > datetime(chosen.number, 2, 1, tzinfo=zone) and not chosen.before.describe_wrong_files()
    shown = {name: table for name, table in tables.items() if name in _SECTIONS}
    return list_findings(shown, payments, until=until if is_comparable else None, money=money)


def _list_figures(chosen: Year, tables: dict[str, pd.DataFrame], money: Callable[[float], str]) -> Iterator[Figure]:
    """Yield the figures of a year with settled payments; those about requests only if there are some."""
    people, flow = tables["spend_by_friend"], tables["monthly_flow"]
    count = int(people["payments"].sum())
    if not count:
        return
    yield Figure("Payments", f"{count:,}", "settled, sent or received")
    years = chosen.years
    new = int(years.loc[years["year"] == chosen.number, "new"].sum())
    has_earlier = bool((years["year"] < chosen.number).any())
    words = f"{f'{new:,}' if new else 'none'} for the first time" if has_earlier else "with payments"
    yield Figure("People", f"{len(people):,}", words)
    most = flow["payments"].max()
    busiest = [int(month[-2:]) for month in flow.loc[flow["payments"] == most, "month"]]
    if len(flow) > 1 and len(busiest) <= _MOST_BUSIEST:
        months = " and ".join(display.MONTH_NAMES[month - 1] for month in busiest)
        words = display.format_count(int(most), "payment", "payments") + " each" * (len(busiest) > 1)
        yield Figure("Busiest month" if len(busiest) == 1 else "Busiest months", months, words)
    for name, words in (("sent", "to others"), ("received", "from others"), ("net", "received less sent")):
        yield Figure(name.capitalize(), money(add_units(people[name])), words)
    own = tables["request_outcomes"]
    own = own[own["direction"] == "in"]
    ended = int((own["requests"] - own["pending"]).sum())
    if ended:
        words = "of your requests that are not open any more"
        yield Figure("Requests paid", f"{int(own['settled'].sum()):,} of {ended:,}", words)
    times = tables["time_to_settle"]
    days = times.loc[times["direction"] == "in", "days_p50"]
    if len(days) and not chosen.history.private:  # it has no times of day
        yield Figure("Half of them paid within", f"{days.iloc[0]:,.1f} days", "from request to payment")


def _describe_other_years(years: pd.DataFrame) -> str:
    """Return the years with settled payments in words; empty without any."""
    found = years.loc[years["payments"] > 0, "year"]
    if found.empty:
        return ""
    first, last = int(found.iloc[0]), int(found.iloc[-1])
    return f"{first}" if first == last else f"{first} to {last}"


def _list_remarks(chosen: Year, flow: pd.DataFrame, zone: ZoneInfo) -> list[str]:
    """Return sentences about payments that are missing in the figures, or may be."""
    history = chosen.history
    has_begun = history.since is None or history.since <= begin_day(date(chosen.number, 1, 1), zone)
    start = "" if has_begun else history.describe_start()
    undated = int(flow.loc[flow["month"].isna(), "payments"].sum())
    count = display.format_count(undated, "settled payment is", "settled payments are")
    without_year = f"{count} in no year: without a date, or with one before 1970." if undated else ""
    sentences = (start, history.describe_missing_amounts(), history.describe_wrong_files(), without_year)
    return [*filter(None, sentences)]
