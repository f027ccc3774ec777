"""The report: a history as one self-contained HTML file, to read on a phone, print or send, or as Markdown."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from p2p_analytics import display, plots
from p2p_analytics.analyses import catalogue
from p2p_analytics.currencies import name_currency
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.row_currencies import find_currency
from p2p_analytics.frames.schema import (
    DOES_NOT_ADD_UP,
    FOLLOWS_A_GAP,
    count_other_kinds,
    is_from_statements,
    select_payments,
)
from p2p_analytics.history import require_history
from p2p_analytics.messages import write_reminders
from p2p_analytics.money import add_units
from p2p_analytics.report._findings import list_findings, list_people
from p2p_analytics.report._markdown import convert_page
from p2p_analytics.report._people import label_people, name_in_figures
from p2p_analytics.report._range import select_days
from p2p_analytics.report._sections import build_sections, choose_sections, describe_omitted
from p2p_analytics.times import END_US, FIRST_US, as_instant, find_zone, from_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import pandas as pd
    from jinja2 import Environment
    from matplotlib.axes import Axes

    from p2p_analytics.history import History

_KINDS: Final = ("html", "markdown")
_MOST_PEOPLE: Final = 15
_MOST_REQUESTS: Final = 50
_MOST_GAPS: Final = 5
_MOST_PROBLEMS: Final = 20
_LONGEST_TEXT: Final = 200  # characters of a note
_AMOUNT_COLUMNS: Final = (
    *("sent", "received", "net", "running_net", "amount"),
    *("asked", "collected", "still_open", "declined", "usual"),
)
_TEXTS: Final = frozenset({"person", "note", "text", "side", "month"})  # the kinds of columns that are sorted as text
_WIDTH: Final = 5.2  # inches; still readable at two thirds, as on a phone
_AMOUNTS: Final = (
    "All amounts are multiplied by one secret factor and changed by secret noise: up to {0} by at most 74 %, "
    "{1} by 27 %, {2} by 9 %. Sums of ten payments of {1} or more are mostly within 5 % of the true proportions; "
    "sums of ten smaller ones are often not: of {3} to {4}, half are off by 8 % or more. "
    "Counts and statuses are real."
)
_SIZES: Final = (20, 100, 1000, 3, 30)  # currency units in these words
_PRIVATE: Final = "Dates are real days, in UTC."
_STRICT: Final = (
    "Months are real, in UTC. Only the month of a payment is known, so it is counted as made on the first day of the "
    "month, and ages are up to a month too high."
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
    if kind not in _KINDS:
        raise ConfigurationError(f"kind is 'html' or 'markdown', not {kind!r}.")
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
    build = partial(catalogue.build_table, payments=payments, history=history, as_of=as_of, tz=zone)
    people, flow = build("spend_by_friend"), build("monthly_flow")
    ages, requests = build("pending_ageing"), build("pending_requests")
    own = (
        _build_header(history, payments, as_instant(as_of))
        | _build_people(people)
        | _build_months(flow)
        | _build_requests(ages, requests)
        | _build_reminders(requests, history, zone, as_instant(as_of))
        | _build_problems(history.problems, private=history.private)
    )
    options = {"spending_over_time": {"by": "category", "every": own["period"]}}
    parts = build_sections(chosen, history, payments, lambda name: build(name, **options.get(name, {})), _to_rows)
    tables = {"spend_by_friend": people, "monthly_flow": flow, "pending_ageing": ages}
    tables |= {part["name"]: part["table"] for part in parts if not part["template"]}
    findings = list_findings(
        tables if history.strict else tables | {"pending_requests": requests},  # the age in months is too high
        payments,
        until=None if history.describe_wrong_files() else display.to_zone(end, zone),
        money=partial(display.format_money, currency=currency),
    )
    named = [row for part in parts for row in part.get("rows", []) if "counterparty_id" in row]
    shown = [*own["people"], *own["requests"], *named, *list_people(findings)]
    profiles = _to_rows(history.people[history.people["user_id"].isin([row["counterparty_id"] for row in shown])])
    draw: Callable[..., str] = partial(_draw_figure, history=history, names=name_in_figures(shown, profiles))
    template = _build_environment(zone, currency, strict=history.strict).get_template("report.html.jinja")
    page = template.render(
        private=_describe_privacy(history, currency),
        currency=name_currency(currency),
        unit=_SMALLEST_UNITS.get(currency),
        strict=history.strict,
        tz=str(zone),
        as_of=as_instant(as_of),
        labels=label_people(shown, profiles, _list_phones(payments)),
        longest_amount=_measure_amounts(
            *(table[name].dropna() for table in tables.values() for name in _AMOUNT_COLUMNS if name in table),
            currency=currency,
        ),
        longest_figure=_measure_amounts([own[name] for name in ("sent", "received", "net")], currency=currency),
        parts=_draw_parts(parts, tables, draw if kind == "html" else lambda *_: ""),
        omitted=describe_omitted(chosen, history),
        range_sentence=range_sentence,
        from_statements=from_statements,
        findings=[finding for finding in findings if finding.section in {part["name"] for part in parts}],
        **own,
    )
    return page if kind == "html" else convert_page(page)


@lru_cache(maxsize=8)  # to compile the templates takes as long as a plot
def _build_environment(zone: ZoneInfo, currency: str, *, strict: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("p2p_analytics.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "money": partial(display.format_money, currency=currency),
        "share": display.format_share,
        "text": display.clean_text,
        "shorten": _shorten,
        "note": lambda text: _shorten(display.clean_text(text)) if display.clean_line(text) else "no note",
        "day": lambda instant: (display.format_month if strict else display.format_day)(instant, zone),
        "date": lambda date: f"{date.day} {display.MONTH_NAMES[date.month - 1]} {date.year}",
        "key": _find_key,
        "digest": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii"),
        "moment": partial(display.format_moment, zone=zone),
    }
    return environment


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


def _build_people(people: pd.DataFrame) -> dict[str, Any]:
    most = plots.count_shown(len(people), _MOST_PEOPLE)
    return {
        "settled_count": int(people["payments"].sum()),
        "sent": add_units(people["sent"]),
        "received": add_units(people["received"]),
        "net": add_units(people["net"]),
        "people": _to_rows(people.head(most)),
        "people_count": len(people),
        "other_people": plots.sum_other_people(people, most),
    }


def _build_months(flow: pd.DataFrame) -> dict[str, Any]:
    months = _to_rows(flow)
    words = dict.fromkeys([plots.choose_period(months), "month"])  # the bars of the figure, and the months themselves
    return {
        "period": plots.choose_period(months),
        "periods": [plots.build_period_table(months, word) for word in words] if months else [],
        "undated_count": int(flow.loc[flow["month"].isna(), "payments"].sum()),
    }


def _build_requests(ages: pd.DataFrame, requests: pd.DataFrame) -> dict[str, Any]:
    most = plots.count_shown(len(requests), _MOST_REQUESTS)
    return {
        "open": {side: _sum_open(ages, side) for side in ("in", "out")},
        "ages": _to_rows(ages),
        "requests": _to_rows(requests.head(most)),
        "request_count": len(requests),
        "other_requests": plots.sum_other_requests(requests, most),
    }


def _build_reminders(requests: pd.DataFrame, history: History, zone: ZoneInfo, as_of: datetime) -> dict[str, Any]:
    """Return the reminders of the requests that are listed."""
    listed = requests.head(plots.count_shown(len(requests), _MOST_REQUESTS))
    return {"reminders": write_reminders(listed, history, zone, as_of)["text"].tolist()}


def _build_problems(problems: pd.DataFrame, *, private: bool) -> dict[str, Any]:
    first = [DOES_NOT_ADD_UP, FOLLOWS_A_GAP]
    gaps = problems[problems["problem"] == FOLLOWS_A_GAP]
    places = [] if gaps.empty else [*zip(gaps["file"], gaps["value"], strict=True)]
    shown = problems.sort_values("problem", key=lambda texts: ~texts.isin(first), kind="stable")
    shown = shown.head(plots.count_shown(len(shown), _MOST_PROBLEMS))
    return {
        "problems": _to_rows(shown),
        "have_places": "file" in shown and bool(shown["file"].notna().any()),
        "problem_count": len(problems),
        "gaps": [f"before {file}" if private else f"before {file}, {days}" for file, days in places[:_MOST_GAPS]],
        "other_gaps": len(places[_MOST_GAPS:]),
        "problem_record_count": int(problems["payment_id"].nunique(dropna=False)),
    }


def _list_phones(payments: pd.DataFrame) -> frozenset[str]:
    """Return the phone numbers of people; statements have one as the name of a person without an account."""
    nameless = payments.loc[payments["counterparty_id"].isna(), "counterparty_name"].dropna().unique()
    return frozenset(payments["target_phone"].dropna()) | {name for name in nameless if display.is_phone(name)}


def _draw_parts(
    parts: Collection[dict[str, Any]], tables: Mapping[str, pd.DataFrame], draw: Callable[..., str]
) -> list[dict[str, Any]]:
    """Return the sections with the figure of each, empty for one without a figure."""
    people, ages = tables["spend_by_friend"], tables["pending_ageing"]
    people_height = 1.2 + 0.34 * min(len(people), _MOST_PEOPLE + 1)
    figures: dict[str, tuple[Any, ...]] = {
        "spend_by_friend": (partial(plots.spend_by_friend, top=_MOST_PEOPLE), people, people_height),
        "monthly_flow": (plots.monthly_flow, tables["monthly_flow"], 3.4),
        "pending_requests": (plots.pending_ageing, ages, 1.2 + 0.4 * ages["band"].nunique()),
    }
    figures |= {part["name"]: (part["plot"], part["table"]) for part in parts if part.get("plot")}
    return [part | {"figure": draw(*figures[part["name"]]) if part["name"] in figures else ""} for part in parts]


def _draw_figure(
    plot: Callable[..., Axes],
    table: pd.DataFrame,
    height: float | None = None,
    *,
    history: History,
    names: Mapping[tuple[str | None, str | None], str],
) -> str:
    """Return the plot of a table as an SVG in a data address; without a height, the plot chooses it."""
    size = (_WIDTH, height and max(height, 2.0))
    image = plots.to_image(plot, table, "svg", size=size, names=names, private=history.private, strict=history.strict)
    return "data:image/svg+xml;base64," + base64.b64encode(image).decode("ascii")


def _describe_privacy(history: History, currency: str) -> tuple[str, str] | None:
    """Return the name of the privacy mode, and its effects for readers of the report."""
    if not history.private:
        return None
    sizes = [display.format_money(units, currency=currency, decimals=0) for units in _SIZES]
    amounts = _AMOUNTS.format(*sizes)
    return (display.STRICT, f"{_STRICT} {amounts}") if history.strict else (display.PRIVATE, f"{_PRIVATE} {amounts}")


def _to_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows, with None for each null."""
    plain = table.astype(object).where(table.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]


def _sum_open(ages: pd.DataFrame, side: str) -> dict[str, float]:
    mine = ages[ages["direction"] == side]
    return {"amount": add_units(mine["amount"]), "payments": int(mine["payments"].sum())}


def _measure_amounts(*amounts: Iterable[float | None], currency: str) -> int:
    """Return the length of the longest amount as displayed."""
    known = [amount for some in amounts for amount in some if amount is not None]
    ends = (min(known, default=0), max(known, default=0))
    return max(len(display.format_money(amount, currency=currency)) for amount in ends)


def _shorten(text: str) -> str:
    """Return the text, or its beginning and the length of the whole."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT].rstrip()}… ({len(text):,} characters)"


def _find_key(value: Any, kind: str = "money") -> Any:  # noqa: ANN401 - a value of a table
    """Return the value by which a table is sorted: cents, seconds, days or a number.

    It is None for values that are sorted as the text that is shown, and empty for a missing value, which is the last.
    """
    if value is None:
        return ""
    if kind in _TEXTS:
        return None
    if kind == "money":
        return round(value * 100)
    return int(value.timestamp()) if kind == "instant" else value.toordinal() if kind == "date" else value


def _keep_plausible(instants: pd.Series[Any]) -> pd.Series[Any]:
    """Return the plausible dates: the years that monthly_flow counts."""
    known = instants.dropna()
    return known[(known >= from_microseconds(FIRST_US)) & (known < from_microseconds(END_US))]
