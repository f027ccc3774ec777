"""Plots of requests: what became of them, and how long they took."""

from __future__ import annotations

__all__ = ["request_outcomes", "time_to_settle"]

import math
from typing import TYPE_CHECKING, Final

from matplotlib.ticker import NullFormatter, NullLocator

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count, format_duration
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.bars import Others, Part, draw_parts
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import join_words, to_drawable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_AMOUNTS: Final = ("asked", "collected", "still_open")
_SIDES: Final = {"in": "asked of", "out": "asked by"}
_DAYS: Final = ("days_p50", "days_p90", "days_p99", "days_max")
_NEEDED: Final = ("payments", *_DAYS)
_BY: Final = {"counterparty_name": "person", "counterparty_id": "person"}
_SHORTEST: Final = 1 / 1440  # days; shorter times are drawn as one minute, because the axis is logarithmic
_TICKS: Final = {
    _SHORTEST: "1 minute", 1 / 24: "1 hour", 1: "1 day", 7: "1 week", 30: "1 month", 365: "1 year", 3650: "10 years",
    36500: "100 years",
}  # fmt: skip
_MARKS: Final = (
    ("half of them", "o", colours.IN),
    ("9 of 10", "s", colours.STATUS["cancelled"]),
    ("99 of 100", "D", colours.STATUS["pending"]),
    ("all", "|", colours.OUT),
)
_ROOM_FOR_WORDS: Final = 0.4
_LABEL: Final = 0.53  # width in inches of a label on the axis of times, with the gap to the next


def request_outcomes(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw what was requested of each person and by each person, and what became of it.

    Each row of the table, in its order, has a bar of the requested amount, divided into the parts collected, still
    open, and not paid; it is labelled with the amount and the number of settled requests. The rows after
    the first ``top``, if they are several, share the last bar. If that would be more than four times as long as all
    others, it is drawn shorter, hatched, and labelled as not to scale. A table without rows gives empty axes with a
    message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.request_outcomes`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of rows shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    needed = ["counterparty_name", "direction", "requests", "settled", *_AMOUNTS]
    data = style.read_columns(table, needed, what="plots.request_outcomes")
    rows = count_shown(len(data["asked"]), most)
    currency = style.find_currency(data, what="plots.request_outcomes")
    names = [
        join_words(_SIDES.get(side, to_drawable(side)), name)
        for side, name in zip(data["direction"], style.read_names(data, rows), strict=False)
    ]
    rest = len(data["asked"]) - len(names)
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(names) + (rest > 0), 3)))
    title = "What became of requests"
    if not names:
        return style.draw_empty(ax, title, "No requests")
    groups = [*([row] for row in range(len(names))), *([range(rows, rows + rest)] if rest else [])]
    sums = {name: [add_units(data[name][row] for row in group) for group in groups] for name in _AMOUNTS}
    unpaid = [
        add_units([asked, -collected, -still])
        for asked, collected, still in zip(*(sums[name] for name in _AMOUNTS), strict=True)
    ]
    money = style.money_format(sums["asked"], currency)
    labels = [
        f"{money(asked)}, {sum(data['settled'][row] for row in group):,}"
        f" of {sum(data['requests'][row] for row in group):,} settled"
        for asked, group in zip(sums["asked"], groups, strict=True)
    ]
    amounts = (sums["collected"], sums["still_open"], unpaid)
    parts = [
        Part(label, colour, values[: len(names)])
        for (label, colour), values in zip(colours.PARTS, amounts, strict=True)
    ]
    others = None
    if rest:
        others = Others(format_count(rest, "other row", "other rows"), [values[-1] for values in amounts])
    key = draw_parts(ax, names, parts, labels, others)
    style.style_money_axis(ax, ax.xaxis, "Requests", currency)
    style.set_title(ax, title, key)
    return ax


def time_to_settle(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw how long settled requests took.

    Each row of the table, in its order, has marks for the time within which half, nine of ten, 99 of 100 and all of the
    requests were paid, on an axis from a minute to years; it is labelled with the first of these. If there are more
    than ``top`` rows and one, those with the most payments are drawn; the last row has the number of the others. A
    table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.time_to_settle`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of rows with marks; one more if it would be the only other.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column.
    """
    most = check_top(top)
    data = style.read_columns(table, _NEEDED, what="plots.time_to_settle")
    rows = count_shown(len(data["payments"]), most)
    by = next((name for name in data if name not in _NEEDED), "direction")
    groups = data.get(by, [None] * len(data["payments"]))
    ranked = sorted(range(len(groups)), key=lambda row: -data["payments"][row])
    shown, others = sorted(ranked[:rows]), ranked[rows:]
    known = {"in": "to receive", "out": "to pay"} if by == "direction" else {}
    names = [
        "not known" if groups[row] is None else known.get(groups[row]) or to_drawable(groups[row]) for row in shown
    ]
    names = [f"{name}\n{_count_payments(data['payments'][row])}" for name, row in zip(names, shown, strict=True)]
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(round(1.4 * (len(names) + bool(others))), 3)))
    title = f"Time until requests were paid, by {_BY.get(by) or to_drawable(by)}"
    if not names:
        return style.draw_empty(ax, title, "No settled requests with both dates")
    times = [[max(data[name][row], _SHORTEST) for row in shown] for name in _DAYS]
    ax.set_xscale("log")
    for row, ends in enumerate(zip(*times, strict=True)):
        ax.plot([min(ends), max(ends)], [row, row], color=colours.QUIET, linewidth=1, zorder=1)
    key = []
    for (label, marker, colour), values in reversed([*zip(_MARKS, times, strict=True)]):
        marks = ax.scatter(values, range(len(shown)), marker=marker, s=36, color=colour, zorder=2)
        key.append((label, marks))
    for row, at in enumerate(shown):
        words = f"half in {format_duration(data['days_p50'][at])}"
        style.label_bar(ax, max(ends[row] for ends in times), row, f"  {words}")
    if others:
        payments = sum(data["payments"][row] for row in others)
        names.append(f"{format_count(len(others), 'other value', 'other values')}\n{_count_payments(payments)}")
    style.label_rows(ax, names, others=bool(others))
    _set_time_axis(ax, [time for values in times for time in values], style.measure_axis(ax, names))
    style.set_title(ax, title, key[::-1])
    return ax


def _count_payments(payments: int) -> str:
    return format_count(payments, "payment", "payments")


def _set_time_axis(ax: Axes, times: Sequence[float], width: float) -> None:
    """Label as many times as an axis of that width in inches has room for."""
    lowest = max((tick for tick in _TICKS if tick <= min(times)), default=min(_TICKS))
    highest = min((tick for tick in _TICKS if tick >= max(times)), default=max(times))
    highest = max(highest, lowest * 24)
    ax.set_xlim(lowest * 0.8, highest * (highest / lowest) ** _ROOM_FOR_WORDS)
    begin, end = (math.log10(limit) for limit in ax.get_xlim())
    apart = (end - begin) * _LABEL / width
    ticks: list[float] = []
    for tick in _TICKS:
        if lowest <= tick <= highest and (not ticks or math.log10(tick / ticks[-1]) >= apart):
            ticks.append(tick)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    style.label_places(ax, {tick: _TICKS[tick] for tick in ticks})
    ax.set_xlabel("Time from request to payment", **style.QUIET_TEXT)
    style.draw_grid(ax, ax.xaxis)
