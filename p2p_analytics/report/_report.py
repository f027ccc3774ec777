"""The report: a history as one self-contained HTML file, to read on a phone, print or send, or as Markdown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from p2p_analytics import display, plots
from p2p_analytics.analyses import catalogue
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
from p2p_analytics.messages import write_reminders
from p2p_analytics.money import add_units
from p2p_analytics.report._findings import Limits, list_findings, list_people, list_unclear_months
from p2p_analytics.report._markdown import convert_page
from p2p_analytics.report._page import (
    MARKDOWN,
    build_environment,
    build_gaps,
    build_months,
    build_people,
    describe_privacy,
    draw_parts,
    format_days,
    is_sum_unknown,
    measure_amounts,
    name_shown,
    require_kind,
    to_rows,
)
from p2p_analytics.report._range import select_days
from p2p_analytics.report._sections import build_sections, choose_sections, describe_omitted
from p2p_analytics.times import END_US, FIRST_US, as_instant, find_zone, from_microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History

_MOST_REQUESTS: Final = 50
_MOST_PROBLEMS: Final = 20
_AMOUNT_COLUMNS: Final = (
    *("sent", "received", "net", "running_net", "amount"),
    *("asked", "collected", "still_open", "declined", "usual"),
)
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
        ``history`` is no History, ``as_of`` is no instant, the zone, an analysis or the kind does not exist, or
        ``since`` and ``until`` are no days in this order.
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
    build = partial(catalogue.build_table, payments=payments, history=history, as_of=as_of, tz=zone, end=end)
    people, flow, ages, requests = map(build, ("spend_by_friend", "monthly_flow", "pending_ageing", "pending_requests"))
    own = (
        _build_header(history, payments, as_instant(as_of))
        | build_people(people, payments)
        | build_months(flow)
        | _build_requests(ages, requests)
        | _build_reminders(requests, history, zone, as_instant(as_of))
        | _build_problems(history.problems, strict=history.strict)
        | build_gaps(history.problems, strict=history.strict)
    )
    options = {"spending_over_time": {"by": "category", "every": own["period"]}}
    parts = build_sections(chosen, history, payments, lambda name: build(name, **options.get(name, {})), zone=zone)
    tables = {"spend_by_friend": people, "monthly_flow": flow, "pending_ageing": ages}
    tables |= {part["name"]: part["table"] for part in parts if not part["template"]}
    until = None if history.describe_wrong_files() else display.to_zone(end, zone)
    findings = list_findings(
        tables if history.strict else tables | {"pending_requests": requests},  # the age in months is too high
        payments,
        Limits(history.since, until, list_unclear_months(payments, build)),
        partial(display.format_money, currency=currency),
    )
    named = [row for part in parts for row in part.get("rows", []) if "counterparty_id" in row]
    shown = [*own["people"], *own["requests"], *named, *list_people(findings)]
    names = name_shown(shown, history, payments)
    template = build_environment(zone, currency, strict=history.strict).get_template("report.html.jinja")
    page = template.render(
        private=describe_privacy(history, currency),
        currency=name_currency(currency),
        unit=_SMALLEST_UNITS.get(currency),
        strict=history.strict,
        tz=str(zone),
        as_of=as_instant(as_of),
        labels=names.labels,
        longest_amount=measure_amounts(
            *(table[name].dropna() for table in tables.values() for name in _AMOUNT_COLUMNS if name in table),
            currency=currency,
        ),
        longest_figure=measure_amounts([own[name] for name in ("sent", "received", "net")], currency=currency),
        parts=draw_parts(parts, tables, history, names, kind=kind),
        omitted=describe_omitted(chosen, history),
        range_sentence=range_sentence,
        from_statements=from_statements,
        findings=[finding for finding in findings if finding.section in {part["name"] for part in parts}],
        **own,
    )
    return convert_page(page) if kind == MARKDOWN else page


# Each of the following functions returns the template's variables for one section.


def _build_header(history: History, payments: pd.DataFrame, as_of: datetime) -> dict[str, Any]:
    user = history.me.user
    created = _keep_plausible(payments["date_created"])
    about_sums = (history.describe_missing_amounts(), history.describe_wrong_files())
    return {
        "name": user.display_name or user.username or user.id,
        "handle": user.username if user.username != user.display_name else None,
        "balance": None if history.me.balance_cents is None else history.me.balance_cents / 100,
        "fetched_at": history.fetched_at,
        "remarks": [*filter(None, (history.describe_start(), *about_sums, _describe_later(payments, as_of)))],
        "created": [created.min(), created.max()] if len(created) else [],
        "payment_count": len(payments),
        "friend_count": len(history.friends),
        "other_kinds": display.describe_kinds(count_other_kinds(history.payments)),
        "outside_count": int((payments["direction"].isna() & payments["status"].isin(["settled", "pending"])).sum()),
    }


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


def _build_requests(ages: pd.DataFrame, requests: pd.DataFrame) -> dict[str, Any]:
    most = plots.count_shown(len(requests), _MOST_REQUESTS)
    return {
        "open": {side: _sum_open(requests, side) for side in ("in", "out")},
        "ages": to_rows(ages),
        "requests": to_rows(requests.head(most)),
        "request_count": len(requests),
        "other_requests": plots.sum_other_requests(requests, most),
    }


def _build_reminders(requests: pd.DataFrame, history: History, zone: ZoneInfo, as_of: datetime) -> dict[str, Any]:
    """Return the reminders of the requests that are listed."""
    listed = requests.head(plots.count_shown(len(requests), _MOST_REQUESTS))
    return {"reminders": write_reminders(listed, history, zone, as_of)["text"].tolist()}


def _build_problems(problems: pd.DataFrame, *, strict: bool) -> dict[str, Any]:
    first = [DOES_NOT_ADD_UP, GAP]
    shown = problems.sort_values("code", key=lambda codes: ~codes.isin(first), kind="stable")
    shown = shown.head(plots.count_shown(len(shown), _MOST_PROBLEMS))
    return {
        "problems": to_rows(shown.assign(days=format_days(shown, strict=strict))),
        "have_places": bool(shown["file"].notna().any()),
        "problem_count": len(problems),
        "problem_record_count": int(problems["payment_id"].nunique(dropna=False)),
    }


def _sum_open(requests: pd.DataFrame, side: str) -> dict[str, float | None]:
    amounts = requests.loc[requests["direction"] == side, "amount"]
    return {"amount": None if is_sum_unknown(amounts) else add_units(amounts.dropna()), "payments": len(amounts)}


def _keep_plausible(instants: pd.Series[Any]) -> pd.Series[Any]:
    """Return the plausible dates: the years that monthly_flow counts."""
    known = instants.dropna()
    return known[(known >= from_microseconds(FIRST_US)) & (known < from_microseconds(END_US))]
