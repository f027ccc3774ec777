"""The year in review: one year of a history as a self-contained HTML file, made to be shared, or as Markdown."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, SupportsIndex

from p2p_analytics import display
from p2p_analytics.analyses import catalogue
from p2p_analytics.currencies import name_currency
from p2p_analytics.frames.row_currencies import find_currency, is_in_currency
from p2p_analytics.frames.schema import GAP, count_other_kinds, select_payments
from p2p_analytics.history import require_history
from p2p_analytics.report._findings import Limits, list_findings, list_people, list_unclear_months
from p2p_analytics.report._markdown import convert_page
from p2p_analytics.report._page import (
    MARKDOWN,
    build_environment,
    build_months,
    build_people,
    describe_privacy,
    draw_parts,
    limit_gaps,
    measure_amounts,
    name_shown,
    require_kind,
)
from p2p_analytics.report._range import begin_day
from p2p_analytics.report._sections import build_sections, choose_sections, describe_omitted
from p2p_analytics.report._selected_year import select_year
from p2p_analytics.times import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History
    from p2p_analytics.report._findings import Finding
    from p2p_analytics.report._selected_year import SelectedYear
    from p2p_analytics.settings import Privacy

_SECTIONS: Final = ("spend_by_friend", "categories", "monthly_flow", "activity")
_MOST_BUSIEST: Final = 2  # months with the same number of payments, above which none stands out


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
        By default the last one in which a payment settled. A payment belongs to the year in which it completed. Year
        and payments are chosen by their real dates, unless the history is in privacy mode itself: then all payments of
        the day or month of ``as_of`` are counted, and the page says so.
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
        A frame of the history lacks a column, a payment_id is repeated, or payments of the year between people are in
        several currencies.
    """
    require_history(history, what="render_year")
    require_kind(kind)
    return draw_year(select_year(history, year, as_of, tz, privacy), kind=kind)


def draw_year(chosen: SelectedYear, *, kind: Literal["html", "markdown"] = "html") -> str:
    """Return the page of a year; exceptions as for `render_year`."""
    history, zone = chosen.history, chosen.zone
    currency = find_currency(
        history.payments, what="render_year", advice="choose one, like history.select_currency({})"
    )
    money = partial(display.format_money, currency=currency)
    payments, before = select_payments(history.payments), select_payments(chosen.before.payments)
    build = partial(catalogue.build_table, payments=payments, history=history, as_of=chosen.end, tz=zone)
    tables = {name: build(name) for name in ("spend_by_friend", "monthly_flow", "request_outcomes", "time_to_settle")}
    compared = before[is_in_currency(before, currency)]
    flow = build("monthly_flow", payments=compared)
    # Only people are counted in this table, so earlier payments may be in other currencies.
    years = build("people_by_year", payments=before.assign(currency=currency))
    own = build_people(tables["spend_by_friend"], payments) | build_months(tables["monthly_flow"])
    sections = choose_sections(_SECTIONS)
    parts = [part | {"is_folded": True} for part in build_sections(sections, history, payments, build, zone=zone)]
    tables |= {part["name"]: part["table"] for part in parts if not part["template"]}
    unclear = list_unclear_months(compared, build)
    findings = _list_findings(chosen, tables | {"monthly_flow": flow}, payments, unclear, money)
    names = name_shown([*own["people"], *list_people(findings)], history, payments)
    user = history.me.user
    template = build_environment(zone, currency, strict=history.strict).get_template("year.html.jinja")
    page = template.render(
        year=chosen.number,
        name=user.display_name or user.username or user.id,
        strict=history.strict,
        begin=_find_first_moment(chosen),
        end=_find_last_moment(chosen),
        private=describe_privacy(history, currency),
        figures=[*_list_figures(chosen, tables | {"people_by_year": years}, own, money)],
        findings=findings,
        labels=names.labels,
        longest_amount=measure_amounts(
            *(tables["monthly_flow"][name] for name in ("sent", "received", "net", "running_net")), currency=currency
        ),
        parts=draw_parts(parts, tables, history, names, kind=kind),
        empty=chosen.describe_empty(),
        remarks=_list_remarks(chosen, flow),
        other_kinds=display.describe_kinds(count_other_kinds(history.payments)),
        omitted=describe_omitted(sections, history),
        currency=name_currency(currency),
        tz=str(zone),
        **(own | limit_gaps(chosen.gaps)),
    )
    return convert_page(page) if kind == MARKDOWN else page


def _find_start(chosen: SelectedYear) -> datetime | None:
    """Return the beginning of the data, if it is after that of the year; of payments, after January."""
    if chosen.since is not None and chosen.since > chosen.begin:
        return chosen.since
    if chosen.has_earlier:
        return None
    created = select_payments(chosen.before.payments)["date_created"].dropna()
    created = created[created >= EPOCH]
    first: datetime | None = None if created.empty else created.min()
    return first if first and first >= begin_day(date(chosen.number, 2, 1), chosen.zone) else None


def _find_first_moment(chosen: SelectedYear) -> datetime | None:
    """Return the first moment of the data, if it begins within the year."""
    first = _find_start(chosen)
    return first if first and first < chosen.end else None


def _find_last_moment(chosen: SelectedYear) -> datetime | None:
    """Return the last moment of the data, if it ends within the year."""
    last = chosen.end - MICROSECOND
    return None if chosen.is_over or last < chosen.begin else last


def _list_findings(
    chosen: SelectedYear,
    tables: dict[str, pd.DataFrame],
    payments: pd.DataFrame,
    unclear: frozenset[str],
    money: Callable[[float], str],
) -> list[Finding]:
    """Return the findings about the sections of the page, by the rules of the report."""
    zone = chosen.zone
    until = datetime(chosen.number + 1, 1, 1, tzinfo=zone) if chosen.is_over else display.to_zone(chosen.end, zone)
    is_comparable = until > datetime(chosen.number, 2, 1, tzinfo=zone) and chosen.is_whole
    shown = {name: table for name, table in tables.items() if name in _SECTIONS}
    return list_findings(shown, payments, Limits(chosen.since, until if is_comparable else None, unclear), money)


def _list_figures(
    chosen: SelectedYear, tables: dict[str, pd.DataFrame], sums: dict[str, Any], money: Callable[[float], str]
) -> Iterator[Figure]:
    """Yield the figures of a year with settled payments; those about requests only if there are some."""
    people, flow, years = (tables[name] for name in ("spend_by_friend", "monthly_flow", "people_by_year"))
    if not chosen.settled_count:
        return
    yield Figure("Payments", f"{chosen.settled_count:,}", "settled, sent or received")
    new = int(years.loc[years["year"] == chosen.number, "new"].sum())
    has_earlier = any(year < chosen.number for year in chosen.years)
    words = f"{f'{new:,}' if new else 'none'} for the first time" if has_earlier else "with payments"
    yield Figure("People", f"{len(people):,}", words)
    most = flow["payments"].max()
    busiest = [int(month[-2:]) for month in flow.loc[flow["payments"] == most, "month"]]
    if len(flow) > 1 and len(busiest) <= _MOST_BUSIEST:
        months = " and ".join(display.MONTH_NAMES[month - 1] for month in busiest)
        words = display.format_count(int(most), "payment", "payments") + " each" * (len(busiest) > 1)
        yield Figure("Busiest month" if len(busiest) == 1 else "Busiest months", months, words)
    for name, words in (("sent", "to others"), ("received", "from others"), ("net", "received less sent")):
        yield Figure(name.capitalize(), money(sums[name]), words)
    own = tables["request_outcomes"]
    own = own[own["direction"] == "in"]
    ended = int((own["requests"] - own["pending"]).sum())
    if ended:
        words = "of your requests that are not open any more"
        yield Figure("Requests paid", f"{int(own['settled'].sum()):,} of {ended:,}", words)
    times = tables["time_to_settle"]
    days = times.loc[times["direction"] == "in", "days_p50"]
    if len(days) and not chosen.history.private:  # it has no times of day
        yield Figure("Half of them paid within", f"{display.format_days(days.iloc[0])} days", "from request to payment")


def _list_remarks(chosen: SelectedYear, flow: pd.DataFrame) -> list[str]:
    """Return sentences about payments that are missing in the figures, or may be."""
    history = chosen.history
    undated = int(flow.loc[flow["month"].isna(), "payments"].sum())
    count = display.format_count(undated, "settled payment is", "settled payments are")
    without_year = f"{count} in no year: without a date, or with one before 1970." if undated else ""
    is_gap = history.problems["code"] == GAP  # the page says their days
    files = replace(history, problems=history.problems[~is_gap]).describe_wrong_files()
    undecided = ""
    if chosen.undecided is not None:
        day = chosen.format_day(chosen.undecided)
        undecided = f"All payments of {day} are counted, because privacy mode hides which of them were later."
    sentences = (_describe_start(chosen), history.describe_missing_amounts(), files, without_year, undecided)
    return [*filter(None, sentences)]


def _describe_start(chosen: SelectedYear) -> str:
    """Return a sentence about the beginning of the data, if it is after that of the year."""
    first = _find_start(chosen)
    if first is None:
        return ""
    if first != chosen.since:
        return f"The payments begin with {chosen.format_day(first)}; the data has no earlier ones."
    if chosen.history.strict and chosen.since != chosen.history.since:
        return f"Payments made before some day of {chosen.format_day(first)} are not loaded."
    return chosen.history.describe_start()
