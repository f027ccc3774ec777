"""A history as one HTML file that stands alone: read on a phone, printed, sent to someone."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics import display, plots
from p2p_analytics.analyses import monthly_flow, pending_ageing, pending_requests, spend_by_friend, status_mix
from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES
from p2p_analytics.history import require_history
from p2p_analytics.times import END_US, FIRST_US, as_instant, find_zone, from_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

    import pandas as pd
    from matplotlib.axes import Axes

    from p2p_analytics.history import History

_MOST_PEOPLE: Final = 15
_MOST_REQUESTS: Final = 50
_MOST_PROBLEMS: Final = 20
_WIDTH: Final = 5.2  # inches; on a phone the figures are shown at two thirds of it, and stay readable
_AMOUNTS: Final = (
    "All amounts are multiplied by one secret factor and changed by secret noise: up to $20 by at most 74 %, "
    "$100 by 27 %, $1,000 by 9 %. Sums of ten payments of $100 or more are mostly within 5 % of the true proportions; "
    "sums of ten smaller ones are often not: of $3 to $30, half are off by 8 % or more. "
    "Counts and statuses are real."
)
_PRIVATE: Final = f"Dates are real days, in UTC. {_AMOUNTS}"
_STRICT: Final = (
    f"Months are real, in UTC; of a payment no more than its month is known, so it is counted as made on the first day "
    f"of the month, and ages are up to a month too high. {_AMOUNTS}"
)


def render_report(history: History, *, as_of: datetime | date | str, tz: str = "UTC") -> str:
    """Return a history's report as the text of one self-contained HTML file.

    It shows who and when, the headline figures, where the money went, month by month, what became
    of payments, who still owes whom, and what could not be read. Figures are inside the file and it
    asks for nothing from outside. The same history gives the same text.

    Parameters
    ----------
    history : History
        As `p2p_analytics.load_history` gives it.
    as_of : datetime, date or str
        The moment the ages of open requests are counted to; without a zone it is UTC.
    tz : str
        Name of the zone for months and dates, such as ``America/New_York``. A history in privacy mode has no times
        of day, so its months and dates are those of UTC whatever this says.

    Raises
    ------
    ConfigurationError
        ``history`` is none, ``as_of`` is no instant, or there is no such zone.
    SchemaError
        A frame of the history lacks a column.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    require_history(history, what="render_report")
    zone = find_zone(tz)
    if history.private:
        zone = find_zone(tz := "UTC")
    payments = history.payments
    people = spend_by_friend(payments, history.friends)
    flow = monthly_flow(payments, tz=tz)
    mix = status_mix(payments)
    ages = pending_ageing(payments, as_of=as_of, edges=MONTH_EDGES if history.strict else EDGES)
    requests = pending_requests(payments, as_of=as_of)

    environment = Environment(
        loader=PackageLoader("p2p_analytics.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "money": display.format_money,
        "share": _share,
        "text": display.clean_text,
        "day": lambda instant: (display.format_month if history.strict else display.format_day)(instant, zone),
        "moment": lambda instant: f"{display.format_day(instant, zone)}, {display.to_zone(instant, zone):%H:%M}",
    }
    shown = people.head(_MOST_PEOPLE)
    user = history.me.user
    created = _within_reach(payments["date_created"])
    undated = flow[flow["month"].isna()]
    ends = _ends(people, requests)
    figure = partial(_figure, private=history.private, strict=history.strict)
    return environment.get_template("report.html.jinja").render(
        private=_privacy(history),
        strict=history.strict,
        name=user.display_name or user.username or user.id,
        user=user,
        balance=None if history.me.balance_cents is None else history.me.balance_cents / 100,
        tz=tz,
        fetched_at=history.fetched_at,
        as_of=as_instant(as_of),
        created=[created.min(), created.max()] if len(created) else [],
        payment_count=len(payments),
        friend_count=len(history.friends),
        settled_count=int(people["payments"].sum()),
        outside_count=int((payments["direction"].isna() & payments["status"].isin(["settled", "pending"])).sum()),
        sent=_total(people["sent"]),
        received=_total(people["received"]),
        net=_total(people["net"]),
        open={side: _open(ages, side) for side in ("in", "out")},
        people=_rows(shown),
        people_count=len(people),
        people_figure=figure(plots.spend_by_friend, shown, height=1.2 + 0.4 * len(shown)),
        months=_rows(flow if len(flow) <= display.MOST_MONTHS else flow[flow["payments"] > 0]),
        months_left_out=len(flow) > display.MOST_MONTHS,
        undated_count=int(undated["payments"].sum()),
        ends=ends,
        flow_figure=figure(plots.monthly_flow, flow, height=3.4),
        statuses=_rows(mix),
        status_figure=figure(plots.status_mix, mix, height=1.6 + 0.52 * mix["action"].nunique(dropna=False)),
        ages=_rows(ages),
        ages_figure=figure(plots.pending_ageing, ages, height=1.2 + 0.4 * ages["band"].nunique()),
        requests=_rows(requests.head(_MOST_REQUESTS)),
        request_count=len(requests),
        problems=_rows(history.problems.head(_MOST_PROBLEMS)),
        problem_count=len(history.problems),
        problem_record_count=int(history.problems["payment_id"].nunique(dropna=False)),
    )


def _figure(plot: Callable[..., Axes], table: pd.DataFrame, *, height: float, private: bool, strict: bool) -> str:
    """Return the plot of a table as an SVG in a data address."""
    image = plots.to_image(plot, table, "svg", size=(_WIDTH, max(height, 2.0)), private=private, strict=strict)
    return "data:image/svg+xml;base64," + base64.b64encode(image).decode("ascii")


def _privacy(history: History) -> tuple[str, str] | None:
    """Return the privacy mode in a few words, and what it means for who reads the report."""
    if history.strict:
        return display.STRICT, _STRICT
    return (display.PRIVATE, _PRIVATE) if history.private else None


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows with None for every null."""
    plain = table.astype(object).where(table.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]


def _open(ages: pd.DataFrame, side: str) -> dict[str, float]:
    mine = ages[ages["direction"] == side]
    return {"amount": _total(mine["amount"]), "payments": int(mine["payments"].sum())}


def _total(units: pd.Series[float]) -> float:
    """Add amounts up as whole cents, so that the total is exact."""
    return sum(round(amount * 100) for amount in units) / 100


def _share(fraction: float) -> str:
    return f"{fraction:.1%}"


def _within_reach(instants: pd.Series[Any]) -> pd.Series[Any]:
    """Return the dates that can be meant, those of the years that monthly_flow counts."""
    known = instants.dropna()
    return known[(known >= from_microseconds(FIRST_US)) & (known < from_microseconds(END_US))]


def _ends(*tables: pd.DataFrame) -> dict[tuple[str | None, str | None], str]:
    """Return the end of the id of each person whose name somebody else has too, by id and name."""
    people = sorted(
        {
            (row["counterparty_id"], row["counterparty_name"])
            for table in tables
            for row in _rows(table[["counterparty_id", "counterparty_name"]])
        },
        key=str,
    )
    shown = [" ".join(display.clean_text(name).split()) for _, name in people]
    ends = display.name_suffixes(shown, [identifier for identifier, _ in people])
    return {person: end for person, end in zip(people, ends, strict=True) if end}
