"""Plot of the money sent and received in each category."""

from __future__ import annotations

__all__ = ["categories"]

from typing import TYPE_CHECKING

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count
from p2p_analytics.plots._parts import style
from p2p_analytics.plots._parts.bars import Others, draw_pairs
from p2p_analytics.plots._parts.others import count_shown, sum_other_people
from p2p_analytics.plots._parts.text import to_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


def categories(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw what was sent and received in each category.

    Each row of the table, in its order, has a bar for sent and a thinner one for received, labelled with their amounts.
    The rows after the first ``top``, if they are several, share the last bars, "5 other categories". If those would be
    more than four times as long as all others, they are drawn shorter, hatched, and labelled as not to scale. A table
    without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.categories`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of categories shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    data = style.read_columns(table, ["category", "sent", "received"], what="plots.categories")
    rows = count_shown(len(data["sent"]), most)
    currency = style.find_currency(data, what="plots.categories")
    names = [to_drawable(name) for name in data["category"][:rows]]
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(min(len(data["sent"]), rows + 1), 3)))
    title = "Money sent and received, by category"
    if not names:
        return style.draw_empty(ax, title, "No settled payments")
    rest = sum_other_people(table, rows)
    others = None
    if rest.people:
        name = format_count(rest.people, "other category", "other categories")
        others = Others(name, (rest.sent, rest.received))
    key = draw_pairs(ax, names, (data["sent"][:rows], data["received"][:rows]), others, currency)
    style.set_title(ax, title, key)
    return ax
