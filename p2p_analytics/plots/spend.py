"""Where the money went, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.plots import _style
from p2p_analytics.plots._text import clean_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


def spend_by_friend(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what was sent to and received from each person.

    Two bars per row of the table, in its order: sent, and a thinner one for received, labelled
    with their amounts. At most 30 rows are drawn, which the axis then says; no rows give empty axes that
    say so.

    Parameters
    ----------
    table : frame
        As `p2p_analytics.spend_by_friend` gives it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read(table, ["counterparty_name", "sent", "received"], what="plots.spend_by_friend")
    total = len(data["sent"])
    shown = min(total, _style.MOST_ROWS)
    ax = _style.axes(ax, height=_style.bars_height(max(shown, 3)))
    title = "Money sent and received, by person"
    if not total:
        return _style.blank(ax, title, "No settled payments")
    sent, received = data["sent"][:shown], data["received"][:shown]
    rows = range(shown)
    sent_bars = ax.barh([row - 0.14 for row in rows], sent, height=0.44, color=_style.OUT)
    received_bars = ax.barh([row + 0.26 for row in rows], received, height=0.22, color=_style.IN)
    money = _style.money_form([*sent, *received])
    for row in rows:
        if sent[row] or not received[row]:
            _style.label_bar(ax, sent[row], row - 0.14, money(sent[row]))
        if received[row]:
            _style.label_bar(ax, received[row], row + 0.26, money(received[row]))
    ax.set_xlim(0, max(*sent, *received, 1) * 1.2)
    ids = data.get("counterparty_id", [None] * total)
    _style.name_rows(ax, clean_names(data["counterparty_name"][:shown], ids[:shown]))
    _style.value_axis(
        ax, ax.xaxis, _style.first_of("Settled payments, US dollars", shown, total, "people"), _style.ticks
    )
    _style.head(ax, title, [("sent", sent_bars), ("received", received_bars)])
    return ax
