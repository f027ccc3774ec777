"""Plots of the money sent and received, by person and by category."""

from __future__ import annotations

__all__ = ["categories", "spend_by_friend"]

from typing import TYPE_CHECKING

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count
from p2p_analytics.plots._parts import style
from p2p_analytics.plots._parts.bars import Others, draw_pairs
from p2p_analytics.plots._parts.others import count_shown, sum_other_people
from p2p_analytics.plots._parts.text import to_drawable

if TYPE_CHECKING:
    from typing import SupportsIndex

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


def spend_by_friend(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw what was sent to and received from each person.

    Each row of the table, in its order, has a bar for sent and a thinner one for received, labelled with their amounts.
    The rows after the first ``top``, if they are several, share the last bars, "270 other people", so that the amounts
    add up to the whole table. If those would be more than four times as long as all others, they are drawn shorter,
    hatched, and labelled as not to scale. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.spend_by_friend`; without its ``top``, so that the others are in it.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of people shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    return _draw(table, ax, top, "spend_by_friend", "counterparty_name", "person", ("other person", "other people"))


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
    return _draw(table, ax, top, "categories", "category", "category", ("other category", "other categories"))


def _draw(  # noqa: PLR0913, PLR0917 - what differs between the two plots
    table: IntoFrame,
    ax: Axes | None,
    top: SupportsIndex,
    name: str,
    column: str,
    by: str,
    other: tuple[str, str],
) -> Axes:
    most = check_top(top)
    data = style.read_columns(table, [column, "sent", "received"], what=f"plots.{name}")
    rows = count_shown(len(data["sent"]), most)
    currency = style.find_currency(data, what=f"plots.{name}")
    names = [*map(to_drawable, data[column][:rows])] if column == "category" else style.read_names(data, rows)
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(min(len(data["sent"]), rows + 1), 3)))
    title = f"Money sent and received, by {by}"
    if not names:
        return style.draw_empty(ax, title, "No settled payments")
    rest = sum_other_people(table, rows)
    others = Others(format_count(rest.people, *other), (rest.sent, rest.received)) if rest.people else None
    key = draw_pairs(ax, names, (data["sent"][:rows], data["received"][:rows]), others, currency)
    style.set_title(ax, title, key)
    return ax
