"""Plot of the money sent to and received from each person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.plots import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


def spend_by_friend(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what was sent to and received from each person.

    Each row of the table, in its order, has a bar for sent and a thinner one for received, labelled with their
    amounts. If there are more than 30 rows, the first 30 are drawn, and the axis label says so. A table without
    rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.spend_by_friend`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read_columns(table, ["counterparty_name", "sent", "received"], what="plots.spend_by_friend")
    total = len(data["sent"])
    shown = min(total, _style.MOST_ROWS)
    ax = _style.prepare_axes(ax, height=_style.height_of_bars(max(shown, 3)))
    title = "Money sent and received, by person"
    if not total:
        return _style.draw_empty(ax, title, "No settled payments")
    sent, received = data["sent"][:shown], data["received"][:shown]
    rows = range(shown)
    sent_bars = ax.barh([row - 0.14 for row in rows], sent, height=0.44, color=_style.OUT)
    received_bars = ax.barh([row + 0.26 for row in rows], received, height=0.22, color=_style.IN)
    money = _style.money_format([*sent, *received])
    for row in rows:
        if sent[row] or not received[row]:
            _style.label_bar(ax, sent[row], row - 0.14, money(sent[row]))
        if received[row]:
            _style.label_bar(ax, received[row], row + 0.26, money(received[row]))
    ax.set_xlim(0, max(*sent, *received, 1) * 1.2)
    _style.label_rows(ax, _style.read_names(data, shown))
    _style.style_value_axis(
        ax, ax.xaxis, _style.label_first("Settled payments, US dollars", shown, total, "people"), _style.format_tick
    )
    _style.set_title(ax, title, [("sent", sent_bars), ("received", received_bars)])
    return ax
