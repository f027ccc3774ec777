"""Plots of payments that others can see, and of the reasons for which their notes are sensitive."""

from __future__ import annotations

__all__ = ["exposure", "sensitive_notes"]

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from matplotlib.ticker import MaxNLocator

from p2p_analytics.display import format_count, format_day
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.periods import build_period_table, choose_period, label_periods
from p2p_analytics.plots._parts.text import to_drawable
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_SENSITIVE: Final = "#882255"
# From the bottom: dark to light, so that neighbours differ in greyscale too.
_PARTS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], int]]]] = {
    "public, sensitive": (_SENSITIVE, lambda row: row["sensitive_public"]),
    "public": (colours.OUT, lambda row: row["public"] - row["sensitive_public"]),
    "friends": ("#56B4E9", lambda row: row["friends"]),
    "private": (colours.IN, lambda row: row["private"]),
    "not known": ("#DDDDDD", lambda row: row["payments"] - row["public"] - row["friends"] - row["private"]),
}
_EXPOSURE: Final = ("month", "payments", "public", "friends", "private", "sensitive_public")
_LONGEST_REASON: Final = 30


def exposure(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the payments of each month, quarter or year by the audience that can see them.

    Each period has a bar divided into public payments with a sensitive note, other public ones, those for friends,
    private ones, and payments to an unknown audience; the legend has their sums. The bars are months up to four years,
    quarters up to twelve, and years from then on; the title says which. Payments without a date have the last bar. Of
    more than 240 months, 80 quarters or 60 years, only those with payments are drawn, and the axis label says so. A
    table without rows, or without a known audience, gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.exposure`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, _EXPOSURE, what="plots.exposure")
    months = data.list_rows()
    periods = build_period_table(months, choose_period(months))
    ax = style.prepare_axes(ax, height=3.8)
    title = f"Who can see payments, {periods.word} by {periods.word}"
    if not months:
        return style.draw_empty(ax, title, "No payments")
    if not any(row[audience] for row in months for audience in ("public", "friends", "private")):
        return style.draw_empty(ax, title, "The audience of no payment is known")
    at = range(len(periods.rows))
    ends = [0] * len(periods.rows)
    key: list[tuple[str, Any]] = []
    for label, (colour, count) in _PARTS.items():
        counts = [count(row) for row in periods.rows]
        if any(counts):
            bars = ax.bar(at, counts, bottom=ends, width=0.8, color=colour)
            key.append((f"{label} {sum(counts):,}", bars))
            ends = [sum(pair) for pair in zip(ends, counts, strict=True)]
    label_periods(ax, periods, data["month"])
    style.style_value_axis(ax, ax.yaxis, "Payments", style.format_whole)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    style.set_title(ax, title, key)
    return ax


def sensitive_notes(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the number of public payments for each reason why their notes are sensitive.

    Each reason has a bar, the most frequent first, labelled with the number of payments and the date of the last; a
    payment with several reasons counts in each. The plot shows no note. A table without rows gives empty axes with a
    message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.sensitive_notes`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, ["date_created", "reasons"], what="plots.sensitive_notes")
    counts: Counter[str] = Counter()
    last: dict[str, Any] = {}
    for created, reasons in zip(data["date_created"], data["reasons"], strict=True):
        for reason in filter(None, (reasons or "").split(",")):
            counts[reason] += 1
            if created is not None:
                last[reason] = max(created, last.get(reason, created))
    ranked = sorted(counts, key=lambda reason: (-counts[reason], reason))
    rows = count_shown(len(ranked), style.MOST_ROWS)
    shown, rest = ranked[:rows], ranked[rows:]
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(shown) + bool(rest), 3)))
    title = "Public payments with a sensitive note"
    if not shown:
        return style.draw_empty(ax, title, "No sensitive notes")
    names = [to_drawable(reason, longest=_LONGEST_REASON) for reason in shown]
    numbers = [counts[reason] for reason in shown]
    utc = find_zone("UTC")
    labels = [
        f"{counts[reason]:,}" + (f", last on {format_day(last[reason], utc)}" if reason in last else "")
        for reason in shown
    ]
    if rest:
        names.append(format_count(len(rest), "other reason", "other reasons"))
        numbers.append(sum(counts[reason] for reason in rest))
        labels.append(f"{numbers[-1]:,}")
    ax.barh(range(len(names)), numbers, height=0.6, color=_SENSITIVE)
    for row, (number, label) in enumerate(zip(numbers, labels, strict=True)):
        style.label_bar(ax, number, row, label)
    ax.set_xlim(0, style.make_room(ax, numbers, labels, names))
    style.label_rows(ax, names, others=bool(rest))
    style.style_value_axis(ax, ax.xaxis, "Payments; one with several reasons counts in each", style.format_whole)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    style.set_title(ax, title)
    return ax
