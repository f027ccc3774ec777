"""The report: a history as one self-contained HTML file, to read on a phone, print or send, or as Markdown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from p2p_analytics import catalogue, display, plots
from p2p_analytics.analyses.build import build_table
from p2p_analytics.currencies import name_currency
from p2p_analytics.frames.row_currencies import find_currency
from p2p_analytics.frames.schema import (
    DOES_NOT_ADD_UP,
    GAP,
    count_other_kinds,
    is_from_statements,
    select_payments,
)
from p2p_analytics.history import require_history
from p2p_analytics.money import add_units
from p2p_analytics.report._cells import SIDES, CellWriter, isolate, name_people, to_rows
from p2p_analytics.report._findings import Limits, list_findings, list_people, list_unclear_months, write_finding
from p2p_analytics.report._page import (
    Cell,
    Figure,
    Page,
    Paragraph,
    Section,
    Small,
    Span,
    Table,
    require_kind,
    write_page,
)
from p2p_analytics.report._range import format_days, select_days
from p2p_analytics.report._sections import (
    AGES,
    MONTHS,
    PEOPLE,
    REQUESTS,
    SectionBuilder,
    choose_sections,
    describe_gaps,
    describe_omitted,
    describe_privacy,
    is_sum_unknown,
    list_shown,
    select_rows,
    sum_people,
)
from p2p_analytics.threads import map_in_threads
from p2p_analytics.times import END_US, FIRST_US, as_instant, find_zone, from_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.catalogue import Analysis
    from p2p_analytics.history import History
    from p2p_analytics.report._page import Line

_MOST_PROBLEMS: Final = 20
_TABLES_AT_ONCE: Final = 2  # more would take more memory
_LONGEST_ID: Final = 24  # characters of an id that fits on a line
_SMALLEST_UNITS: Final = {"USD": "cent", "EUR": "cent", "GBP": "penny", "JPY": "yen"}


def render_report(  # noqa: PLR0913 - a history, and the parts of it to show
    history: History,
    *,
    as_of: datetime | date | str,
    tz: str | ZoneInfo = "UTC",
    only: Sequence[str] | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    kind: Literal["html", "markdown"] = "html",
) -> str:
    """Return a history's report as the text of one self-contained HTML file, or of a Markdown file.

    It shows the user and the time of the data, the headline figures, what stands out in the tables, a section for each
    analysis, and problems in records. In privacy mode, analyses of the parts of payments that it hides are left out.
    Figures are embedded, and nothing is loaded from outside. The same history gives the same text.

    Parameters
    ----------
    history : History
        For example the result of `p2p_analytics.load_history`.
    as_of : datetime, date or str
        The moment to which the ages of open requests are counted; without a zone it is UTC.
    tz : str or ZoneInfo
        The zone for months and dates, such as ``America/New_York``. A history in privacy mode has no times
        of day, so its months and dates are always in UTC.
    only : sequence of str, optional
        The analyses to show, such as ``["spend_by_friend", "recurring"]``; by default all.
    since, until : date or str, optional
        The first and last day of the payments to show, both included, such as ``2024-12-31``, in the zone. A settled
        payment is of the day on which it completed, any other of the day on which it was created.
    kind : {"html", "markdown"}
        Markdown has the same texts and tables, without figures.

    Raises
    ------
    ConfigurationError
        ``history`` is not a History, ``as_of`` is not an instant, or the zone, an analysis or the kind does not exist;
        or ``since`` and ``until`` are not days in this order.
    SchemaError
        A frame of the history lacks a column, a payment_id is repeated, or payments between people are in several
        currencies.
    """
    require_history(history, what="render_report")
    require_kind(kind)
    zone = find_zone(tz)
    if history.private:
        zone = find_zone("UTC")
    chosen = choose_sections(only)
    from_statements = is_from_statements(history.payments)
    history, range_sentence, end = select_days(history, since, until, zone)
    payments = select_payments(history.payments)
    currency = find_currency(
        history.payments, what="render_report", advice="choose one, like history.select_currency({})"
    )
    build = partial(build_table, payments=payments, history=history, as_of=as_of, tz=zone, end=end)
    shown = list_shown(chosen, history)
    tables = _build_tables(build, shown)
    rows = {name: select_rows(catalogue.ANALYSES[name], table, payments) for name, table in tables.items()}
    findings = list_findings(
        # In months, the age of a request is too high.
        {name: table for name, table in tables.items() if name != REQUESTS or not history.strict},
        payments,
        Limits(
            history.since,
            None if history.describe_wrong_files() else display.to_zone(end, zone),
            list_unclear_months(payments, build),
        ),
        partial(display.format_money, currency=currency),
    )
    findings = [finding for finding in findings if finding.section in {analysis.name for analysis in shown}]
    named = [row for each in rows.values() for row in each.rows if "counterparty_id" in row]
    people = name_people([*named, *list_people(findings)], history, payments)
    writer = CellWriter(zone, currency, people.labels, strict=history.strict)
    between = history.problems[history.problems["code"] == GAP]
    days = format_days(between, strict=history.strict)
    gaps = [", ".join(filter(None, (f"before {file}", day))) for file, day in zip(between["file"], days, strict=True)]
    moment = as_instant(as_of)
    builder = SectionBuilder(history, payments, rows, writer, people.figures, kind, moment, gaps)
    sections = [builder.build(analysis) for analysis in shown]
    if len(history.problems):
        sections.append(_build_problems(history, from_statements=from_statements))
    sums = sum_people(tables[PEOPLE], payments)
    name = history.me.user.display_name or history.me.user.username or history.me.user.id
    remarks = [
        range_sentence,
        history.describe_start(),
        history.describe_missing_amounts(),
        history.describe_wrong_files(),
        _describe_later(payments, moment),
        ". ".join(describe_privacy(history, currency)),
        describe_omitted(chosen, history),
    ]
    page = Page(
        template="report.html.jinja",
        title=f"Payments of {display.clean_line(display.clean_text(name))}",
        heading=("Payments of ", Span(display.clean_text(name))),
        introduction=[
            *_introduce(history, payments, writer, moment, from_statements=from_statements),
            *(Paragraph((remark,), "quiet") for remark in remarks if remark),
        ],
        figures=[*_list_figures(tables, sums, writer)],
        remarks=describe_gaps("These sums and the shares below", gaps),
        findings=[(finding.section, write_finding(finding, writer)) for finding in findings],
        notes=[(note,) for note in _list_notes(history, payments, currency, zone, from_statements=from_statements)],
        sections=sections,
        longest_amount=writer.measure(
            amount
            for name, table in tables.items()
            for column in catalogue.ANALYSES[name].columns
            if column.kind == catalogue.MONEY
            for amount in table[column.name].dropna()
        ),
        longest_figure=writer.measure(sums.values()),
    )
    return write_page(page, kind)


def _build_tables(build: Callable[..., pd.DataFrame], shown: Sequence[Analysis]) -> dict[str, pd.DataFrame]:
    """Return the tables of the analyses, and the ones that the head of the page needs."""
    tables = {name: build(name) for name in (PEOPLE, MONTHS, AGES, REQUESTS)}
    period = plots.choose_period(to_rows(tables[MONTHS]))
    options: dict[str, dict[str, Any]] = {"spending_over_time": {"by": "category", "every": period}}
    further = [analysis.name for analysis in shown if analysis.name not in tables]
    built = map_in_threads(lambda name: build(name, **options.get(name, {})), further, most=_TABLES_AT_ONCE)
    return tables | dict(zip(further, built, strict=True))


def _introduce(
    history: History, payments: pd.DataFrame, writer: CellWriter, as_of: datetime, *, from_statements: bool
) -> Iterator[Paragraph]:
    """Yield what the page shows, and the time of the data."""
    created = payments["date_created"].dropna()
    # A date outside of the years that monthly_flow counts is wrong.
    created = created[(created >= from_microseconds(FIRST_US)) & (created < from_microseconds(END_US))]
    words = display.format_count(len(payments), "payment", "payments")
    if len(created):
        first, last = writer.day(created.min()), writer.day(created.max())
        words += f" of {last}" if first == last else f" from {first} to {last}"
    friends = display.format_count(len(history.friends), "friend", "friends")
    yield Paragraph(
        (f"{words}, {friends if len(history.friends) or not from_statements else 'from statement files'}.",)
    )
    user = history.me.user
    line: list[str | Span] = []
    if user.username is not None and user.username != user.display_name:
        line = ["@", Span(display.clean_text(user.username)), " · "]
    line.append(
        f"{'Statements until' if from_statements else 'Loaded'} {writer.moment(history.fetched_at)}; requests counted "
        f"as of {writer.moment(as_of)}"
    )
    if history.me.balance_cents is not None:
        line.append(f" · balance {writer.money(history.me.balance_cents / 100)}")
    yield Paragraph((*line,), "quiet")


def _describe_later(payments: pd.DataFrame, as_of: datetime) -> str:
    """Return a sentence about the open payments after the moment to which ages are counted; empty without any."""
    later = int((payments["status"].eq("pending") & payments["date_created"].gt(as_of)).sum())
    if not later:
        return ""
    verb = "is" if later == 1 else "are"
    return (
        f"{display.format_count(later, 'pending payment', 'pending payments')} {verb} later than "
        f"{as_of:%Y-%m-%d %H:%M} UTC, to which ages are counted, and {verb} shown as new: choose a later as_of "
        "(--as-of)."
    )


def _list_figures(
    tables: Mapping[str, pd.DataFrame], sums: Mapping[str, float | None], writer: CellWriter
) -> Iterator[Figure]:
    """Yield the figures at the head of the page."""
    settled = display.format_count(int(tables[PEOPLE]["payments"].sum()), "settled payment", "settled payments")
    yield Figure("Sent", writer.money(sums["sent"]), "to others")
    yield Figure("Received", writer.money(sums["received"]), "from others")
    yield Figure("Net", writer.money(sums["net"]), f"in {settled}")
    requests = tables[REQUESTS]
    for side, words in SIDES.items():
        amounts = requests.loc[requests["direction"] == side, "amount"]
        total = None if is_sum_unknown(amounts) else add_units(amounts.dropna())
        count = display.format_count(len(amounts), "pending payment", "pending payments")
        yield Figure(f"Still open, {words}", writer.money(total), f"in {count}")


def _list_notes(
    history: History, payments: pd.DataFrame, currency: str, zone: ZoneInfo, *, from_statements: bool
) -> Iterator[str]:
    """Yield sentences about what the page counts."""
    unit = _SMALLEST_UNITS.get(currency)
    exact = "" if history.private else ", exact" + (f" to the {unit}" if unit else "")
    yield (
        f"Sent, received and net count settled payments only, in {name_currency(currency)}{exact}. A payment belongs "
        f"to the month in which it completed. Months and dates are in the zone {zone}. Open amounts are pending "
        "payments: unanswered requests, and payments to someone who has not joined yet."
    )
    if from_statements:
        yield (
            "A pending payment is shown as its statement file shows it, until a later file has another state of it. "
            "Statements name people, but have no ids of them: people with one name are shown as one."
        )
    if others := display.describe_kinds(count_other_kinds(history.payments)):
        yield f"Not counted here, because they are not payments between people: {display.clean_text(others)}."
    is_outside = payments["direction"].isna() & payments["status"].isin(["settled", "pending"])
    if outside := int(is_outside.sum()):
        payments_have, are = ("payment has", "is") if outside == 1 else ("payments have", "are")
        yield (
            f"{outside:,} settled or pending {payments_have} no known direction, and {are} counted under “What became "
            "of it” only."
        )


def _build_problems(history: History, *, from_statements: bool) -> Section:
    """Return the section of the problems in records or statement files, the ones about whole files first."""
    problems = history.problems
    first = [DOES_NOT_ADD_UP, GAP]
    shown = problems.sort_values("code", key=lambda codes: ~codes.isin(first), kind="stable")
    shown = shown.head(plots.count_shown(len(shown), _MOST_PROBLEMS))
    rows = to_rows(shown.assign(days=format_days(shown, strict=history.strict)))
    have_places = bool(shown["file"].notna().any())
    is_short = all(len(display.clean_text(row["payment_id"])) <= _LONGEST_ID for row in rows)
    id_style = "id" if is_short else "text"
    if from_statements:
        count = display.format_count(len(problems), "problem", "problems")
        words = f"{count} in the statement files. Their rows are kept; unreadable values are left empty above."
    else:
        count = display.format_count(int(problems["payment_id"].nunique(dropna=False)), "record", "records")
        words = f"{count} could not be read fully; unreadable values are left empty above."
    headings = [("File", "")] * have_places + [
        ("Payment", id_style if have_places else ""), ("Field", "text field"), ("Value", "text"), ("Problem", "text"),
    ]  # fmt: skip
    cells = []
    for row in rows:
        payment = display.clean_text(row["payment_id"])
        start: list[Line] = [(Span(payment, "span", id_style),)]
        if have_places:
            place: Line = (isolate(row["file"]) if row["file"] else "from the service",)
            if row["line"]:
                place += (Small((f"line {row['line']:,}",)),)
            start = [place, (payment if row["payment_id"] else "",)]
        value = isolate(row["value"]) if row["value"] or not have_places else row["days"]
        field, problem = (display.clean_text(row[name]) for name in ("field", "problem"))
        cells.append([Cell(line) for line in (*start, (field,), (value,), (problem,))])
    note = f": the first {len(rows)} of {len(problems):,}" if len(problems) > len(rows) else ""
    table = Table("Problems found", headings, cells, note=note, style="places" if have_places else "")
    return Section("problems", "Problems", [Paragraph((words,)), table])
