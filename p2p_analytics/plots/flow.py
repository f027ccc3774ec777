"""Plot of the money received and sent in each month, quarter or year."""

from __future__ import annotations

__all__ = ["monthly_flow"]

from itertools import groupby
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from p2p_analytics.errors import ConfigurationError
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.periods import (
    PER_YEAR,
    build_period_table,
    choose_period,
    count_labels,
    has_payments,
    label_periods,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


def monthly_flow(table: IntoFrame, *, ax: Axes | None = None, period: str | None = None) -> Axes:
    """Draw what was received and sent in each month, quarter or year, and the net of the two.

    Each period has a bar up for received, a bar down for sent and a point on the line of the net, which is interrupted
    where a year passes without payments. The bars are months
    up to four years, quarters up to twelve, and years from then on; the title says which, and the axis label which
    years are not whole. Payments without a date have the last bars. Of more than 240 months, 80 quarters or 60 years,
    mostly empty because of a wrong date, only those with payments are drawn, and the axis label says so. A table
    without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.monthly_flow`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    period : {"month", "quarter", "year"}, optional
        The period of a bar; by default it depends on the number of months.

    Raises
    ------
    ConfigurationError
        ``period`` is not one of these.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    if period is not None and period not in PER_YEAR:
        raise ConfigurationError(f"period={period!r} is not valid: give one of {', '.join(map(repr, PER_YEAR))}.")
    data = style.read_columns(table, ["month", "sent", "received", "net"], what="plots.monthly_flow")
    currency = style.find_currency(data, what="plots.monthly_flow")
    months = data.list_rows()
    periods = build_period_table(months, period or choose_period(months))
    ax = style.prepare_axes(ax, height=3.8)
    title = f"Money received and sent, {periods.word} by {periods.word}"
    if not months:
        return style.draw_empty(ax, title, "No settled payments")
    columns = {name: [row[name] for row in periods.rows] for name in ("period", "received", "sent", "net")}
    rows = range(len(periods.rows))
    received = ax.bar(rows, columns["received"], width=0.8, color=colours.IN)
    sent = ax.bar(rows, [-amount for amount in columns["sent"]], width=0.8, color=colours.OUT)
    few = len(rows) <= count_labels(ax)
    properties: dict[str, Any] = {"linewidth": 1.2, "marker": "o", "markersize": 4} if few else {"linewidth": 0.9}
    line: list[float] = []
    for is_filled, group in groupby(periods.rows, has_payments):  # NaN in a year or more without payments
        nets = [row["net"] for row in group]
        line += nets if is_filled or len(nets) < PER_YEAR[periods.word] else [nan] * len(nets)
    if not few:  # a point alone would not be visible
        shown = [False, *(not isnan(net) for net in line), False]
        alone = [at for at in rows if shown[at : at + 3] == [False, True, False]]
        properties |= {"marker": ".", "markersize": 4, "markevery": alone} if alone else {}
    (net,) = ax.plot(rows, line, **style.read_line_style(), **properties)
    ax.axhline(0, color=colours.QUIET, linewidth=0.8)
    label_periods(ax, periods, data["month"])
    style.style_money_axis(ax, ax.yaxis, "Settled payments", currency)
    style.set_title(ax, title, [("received", received), ("sent", sent), ("net", net)])
    return ax
