"""Plot of payments to look at again."""

from __future__ import annotations

__all__ = ["unusual"]

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count, format_day
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import keep_left_to_right, to_drawable
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

# Not the colours of sent and received: a payment of either reason may be in either direction.
_REASONS: Final = {"duplicate": ("probable duplicate", "#56B4E9"), "large": ("far above the usual", "#CC79A7")}
_MANY: Final = {"duplicate": ("probable duplicate", "probable duplicates"), "large": ("large one", "large ones")}


def unusual(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw the amounts of payments that look like duplicates, or are far larger than usual.

    Each row of the table, in its order, has a bar in the colour of its reason, labelled with the amount; on the bar of
    a large one a line marks the usual amount. The rows after the first ``top``, if they are several, share the last
    row, without a bar: it has their numbers. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.unusual`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of payments with a bar; one more if it would be the only other.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    needed = ["reason", "amount", "usual", "counterparty_name", "date_created"]
    data = style.read_columns(table, needed, what="plots.unusual")
    rows = count_shown(len(data["reason"]), most)
    currency = style.find_currency(data, what="plots.unusual")
    amounts, usual, reasons = (data[name][:rows] for name in ("amount", "usual", "reason"))
    utc = find_zone("UTC")
    names = [
        f"{keep_left_to_right(name)}, {'no date' if date is None else format_day(date, utc)}"
        for name, date in zip(style.read_names(data, rows), data["date_created"], strict=False)
    ]
    rest = data["reason"][rows:]
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(names) + bool(rest), 3)))
    title = "Payments to look at again"
    if not names:
        return style.draw_empty(ax, title, "No unusual payments")
    money = style.money_format([*amounts, *usual], currency)
    key: list[tuple[str, Any]] = []
    for reason in dict.fromkeys([*_REASONS, *reasons]):
        mine = [row for row, other in enumerate(reasons) if other == reason]
        label, colour = _REASONS.get(reason) or (to_drawable(reason), colours.QUIET)
        if mine:
            key.append((label, ax.barh(mine, [amounts[row] for row in mine], height=0.6, color=colour)))
    for row, amount in enumerate(usual):
        if amount is not None:
            ax.plot([amount] * 2, [row - 0.3, row + 0.3], linewidth=1.6, **style.read_line_style())
    labels = [
        money(amount) + ("" if median is None else f", usually {money(median)}")
        for amount, median in zip(amounts, usual, strict=True)
    ]
    for row, amount in enumerate(amounts):
        style.label_bar(ax, amount, row, labels[row])
    if rest:
        names.append(format_count(len(rest), "other payment", "other payments"))
        counts = Counter(rest)
        words = {reason: _MANY.get(reason, (to_drawable(reason),) * 2) for reason in [*_REASONS, *counts]}
        parts = [format_count(counts[reason], *forms) for reason, forms in words.items() if counts[reason]]
        style.label_bar(ax, 0, len(amounts), ",\n".join(parts), quiet=True)
    ax.set_xlim(0, style.make_room(ax, amounts, labels, names))
    style.label_rows(ax, names, others=bool(rest))
    style.style_money_axis(ax, ax.xaxis, "Settled payments", currency)
    style.set_title(ax, title, key)
    return ax
