"""Plots of open requests: amounts by age, and one bar per request."""

from __future__ import annotations

__all__ = ["pending_ageing", "pending_requests"]

from typing import TYPE_CHECKING, Final

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.others import count_shown, sum_other_requests
from p2p_analytics.plots._parts.text import keep_left_to_right, to_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_SIDES: Final = {"in": ("to receive", colours.IN), "out": ("to pay", colours.OUT)}
_NOTHING: Final = "No pending payments"


def pending_ageing(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the open amounts by age and direction.

    Each age band, youngest at the top, has a bar for each direction with payments, labelled with the amount and the
    number of payments; an empty band is labelled "none". A table of zeros gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.pending_ageing`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    data = style.read_columns(table, ["direction", "band", "payments", "amount"], what="plots.pending_ageing")
    currency = style.find_currency(data, what="plots.pending_ageing")
    bands = list(dict.fromkeys(data["band"]))
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(bands), 3)))
    title = "Money still open, by age of the request"
    if not sum(data["payments"]):
        return style.draw_empty(ax, title, _NOTHING)
    key = []
    money = style.money_format(data["amount"], currency)
    sides = [band for band, payments in zip(data["band"], data["payments"], strict=True) if payments]
    for shift, (side, (label, colour)) in zip((-0.2, 0.2), _SIDES.items(), strict=True):
        mine = [at for at, direction in enumerate(data["direction"]) if direction == side]
        rows = [
            bands.index(band) + (shift if sides.count(band) > 1 else 0) for band in (data["band"][at] for at in mine)
        ]
        bars = ax.barh(rows, [data["amount"][at] for at in mine], height=0.36, color=colour)
        key.append((label, bars))
        for row, at in zip(rows, mine, strict=True):
            if payments := data["payments"][at]:
                words = f"{money(data['amount'][at])} in {format_count(payments, 'payment', 'payments')}"
                style.label_bar(ax, data["amount"][at], row, words)
    for row, band in enumerate(bands):
        if band not in sides:
            style.label_bar(ax, 0, row, "none", quiet=True)
    ax.set_xlim(0, max(*data["amount"], 1) * 1.45)
    style.label_rows(ax, [to_drawable(band) for band in bands])
    style.style_money_axis(ax, ax.xaxis, "Pending payments", currency)
    style.set_title(ax, title, key)
    return ax


def pending_requests(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw how long each open request has waited.

    Each row of the table, in its order, is labelled with its person and amount, and has a bar labelled with its age.
    The rows after the first ``top``, if they are several, share the last row, without a bar: it has their number and
    the sum of their amounts. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.pending_requests`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of requests with a bar; one more if it would be the only other.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    needed = ["direction", "counterparty_name", "amount", "age_days"]
    data = style.read_columns(table, needed, what="plots.pending_requests")
    rows = count_shown(len(data["amount"]), most)
    ages, amounts = data["age_days"][:rows], data["amount"][:rows]
    others = sum_other_requests(table, rows)
    currency = style.find_currency(data, what="plots.pending_requests")
    money = style.money_format([*amounts, others.to_receive, others.to_pay], currency)
    names = [
        f"{keep_left_to_right(name)}, {'amount not known' if amount is None else money(amount)}"
        for name, amount in zip(style.read_names(data, rows), amounts, strict=True)
    ]
    if others.requests:
        names.append(format_count(others.requests, "other request", "other requests"))
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(names), 3)))
    title = "How long requests have waited"
    if not names:
        return style.draw_empty(ax, title, _NOTHING)
    key = []
    for side, (label, colour) in _SIDES.items():
        mine = [row for row in range(len(ages)) if data["direction"][row] == side]
        if mine:
            key.append((label, ax.barh(mine, [ages[row] or 0 for row in mine], height=0.6, color=colour)))
    for row, age in enumerate(ages):
        style.label_bar(ax, age or 0, row, "no date" if age is None else format_count(age, "day", "days"))
    if others.requests:
        # The sums of the requests without a bar, each on a line: plots may be narrow.
        sums = {"to receive": others.to_receive, "to pay": others.to_pay}
        parts = [f"{money(amount)} {side}" for side, amount in sums.items() if amount]
        parts += [f"{others.without_amount:,} without amount"] if others.without_amount else []
        style.label_bar(ax, 0, len(ages), ",\n".join(parts) or money(0), quiet=True)
    ax.set_xlim(0, max(*(age or 0 for age in ages), 1) * 1.2)
    style.label_rows(ax, names, others=bool(others.requests))
    style.style_value_axis(ax, ax.xaxis, "Age, days", style.format_whole)
    style.set_title(ax, title, key)
    return ax
