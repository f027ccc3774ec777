"""The year in review: one year of a history as a self-contained HTML file, made to be shared, or as Markdown."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, SupportsIndex

from p2p_analytics import display
from p2p_analytics.analyses.build import build_table
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.currencies import name_currency
from p2p_analytics.frames.row_currencies import find_currency, is_in_currency
from p2p_analytics.frames.schema import GAP, count_other_kinds, select_payments
from p2p_analytics.history import require_history
from p2p_analytics.report._cells import CellWriter, name_people
from p2p_analytics.report._findings import Limits, list_findings, list_people, list_unclear_months, write_finding
from p2p_analytics.report._page import Figure, Page, Paragraph, Span, require_kind, write_page
from p2p_analytics.report._range import begin_day
from p2p_analytics.report._sections import (
    MONTHS,
    PEOPLE,
    SectionBuilder,
    choose_sections,
    describe_gaps,
    describe_omitted,
    describe_privacy,
    list_shown,
    select_rows,
    sum_people,
)
from p2p_analytics.report._selected_year import select_year
from p2p_analytics.times import EPOCH, MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History
    from p2p_analytics.report._selected_year import SelectedYear
    from p2p_analytics.settings import Privacy

_SECTIONS: Final = ("spend_by_friend", "categories", "monthly_flow", "activity")
_MOST_BUSIEST: Final = 2  # months with the same number of payments, above which none stands out


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
        ``history`` is not a History, ``as_of`` is not an instant, the zone, the year, the kind or the privacy mode does
        not exist, or the key of privacy mode cannot be read.
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
    payments, before = select_payments(history.payments), select_payments(chosen.before.payments)
    build = partial(build_table, payments=payments, history=history, as_of=chosen.end, tz=zone)
    analyses = choose_sections(_SECTIONS)
    shown = list_shown(analyses, history)
    names = {*(analysis.name for analysis in shown), "request_outcomes", "time_to_settle"}
    tables = {name: build(name) for name in sorted(names)}
    compared = before[is_in_currency(before, currency)]
    flow = build(MONTHS, payments=compared)
    # Only people are counted in this table, so earlier payments may be in other currencies.
    years = build("people_by_year", payments=before.assign(currency=currency))
    rows = {name: select_rows(ANALYSES[name], table, payments) for name, table in tables.items()}
    sums = sum_people(tables[PEOPLE], payments)
    money = partial(display.format_money, currency=currency)
    until = datetime(chosen.number + 1, 1, 1, tzinfo=zone) if chosen.is_over else display.to_zone(chosen.end, zone)
    is_comparable = until > datetime(chosen.number, 2, 1, tzinfo=zone) and chosen.is_whole
    findings = list_findings(
        {name: table for name, table in {**tables, MONTHS: flow}.items() if name in _SECTIONS},
        payments,
        Limits(chosen.since, until if is_comparable else None, list_unclear_months(compared, build)),
        money,
    )
    people = name_people([*rows[PEOPLE].rows, *list_people(findings)], history, payments)
    writer = CellWriter(zone, currency, people.labels, strict=history.strict)
    builder = SectionBuilder(
        history, payments, rows, writer, people.figures, kind, chosen.end, chosen.gaps, is_folded=True
    )
    figures = [*_list_figures(chosen, tables | {"people_by_year": years}, sums, money)]
    user = history.me.user
    name = user.display_name or user.username or user.id
    mode, *privacy = describe_privacy(history, currency) or ["Names and amounts are real"]
    empty = chosen.describe_empty()
    kinds = display.describe_kinds(count_other_kinds(history.payments))
    notes = [
        (
            f"Settled payments with others are counted, in {name_currency(currency)}, in the month in which they "
            f"completed; months are in the zone {zone}."
        ),
        *_list_remarks(chosen, flow),
        f"Not counted here, because they are not payments between people: {display.clean_text(kinds)}."
        if kinds
        else "",
        *privacy,
        describe_omitted(analyses, history),
    ]
    page = Page(
        template="year.html.jinja",
        title=f"{chosen.number} in payments: {display.clean_line(display.clean_text(name))}",
        heading=(f"{chosen.number} in payments",),
        introduction=[
            Paragraph((Span(display.clean_text(name)), _describe_days(chosen)), "owner"),
            Paragraph((f"{mode}.",), "quiet"),
        ],
        figures=figures,
        remarks=[
            *([Paragraph((empty,))] if empty else []),
            *describe_gaps("The payments" if empty else "These sums and the shares below", chosen.gaps),
        ],
        findings=[] if empty else [(finding.section, write_finding(finding, writer)) for finding in findings],
        notes=[(note,) for note in notes if note],
        sections=[] if empty else [builder.build(analysis) for analysis in shown],
        longest_amount=writer.measure(
            amount for name in ("sent", "received", "net", "running_net") for amount in tables[MONTHS][name]
        ),
        longest_figure=max((len(figure.value) for figure in figures), default=1),
        has_notes_last=True,
    )
    return write_page(page, kind)


def _describe_days(chosen: SelectedYear) -> str:
    """Return the first and the last day of the data, as far as they are within the year."""
    first, last = _find_start(chosen), chosen.end - MICROSECOND
    begin = chosen.format_day(first) if first and first < chosen.end else ""
    end = "" if chosen.is_over or last < chosen.begin else chosen.format_day(last)
    if begin and begin == end:
        return f", {'in' if chosen.history.strict else 'on'} {end}"
    days = [f"{word} {day}" for word, day in (("from", begin), ("until", end)) if day]
    return f", {' '.join(days)}" if days else ""


def _find_start(chosen: SelectedYear) -> datetime | None:
    """Return the beginning of the data, if the data begins after the year does; of payments, after January."""
    if chosen.since is not None and chosen.since > chosen.begin:
        return chosen.since
    if chosen.has_earlier:
        return None
    created = select_payments(chosen.before.payments)["date_created"].dropna()
    created = created[created >= EPOCH]
    first: datetime | None = None if created.empty else created.min()
    return first if first and first >= begin_day(date(chosen.number, 2, 1), chosen.zone) else None


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
    """Return a sentence about the beginning of the data, if the data begins after the year does."""
    first = _find_start(chosen)
    if first is None:
        return ""
    if first != chosen.since:
        return f"The payments begin with {chosen.format_day(first)}; the data has no earlier ones."
    if chosen.history.strict and chosen.since != chosen.history.since:
        return f"Payments made before some day of {chosen.format_day(first)} are not loaded."
    return chosen.history.describe_start()
