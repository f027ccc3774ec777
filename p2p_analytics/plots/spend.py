"""Plots of the money sent and received, by person and by category."""

from __future__ import annotations

__all__ = ["categories", "spend_by_friend"]

from typing import TYPE_CHECKING

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import style
from p2p_analytics.plots._parts.bars import Others, draw_pairs
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import to_drawable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
    most = check_top(top)
    data = style.read_columns(table, ["counterparty_name", "sent", "received"], what="plots.spend_by_friend")
    names = style.read_names(data, count_shown(len(data["sent"]), most))
    return _draw(data, names, ax, "plots.spend_by_friend", ("person", "people"))


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
    names = [*map(to_drawable, data["category"][: count_shown(len(data["sent"]), most)])]
    return _draw(data, names, ax, "plots.categories", ("category", "categories"))


def _draw(data: Mapping[str, list[Any]], names: list[str], ax: Axes | None, what: str, nouns: tuple[str, str]) -> Axes:
    """Draw the bars of the named rows, and one pair of bars of all other rows."""
    one, many = nouns
    rows, sent, received = len(names), data["sent"], data["received"]
    currency = style.find_currency(data, what=what)
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(min(len(sent), rows + 1), 3)))
    title = f"Money sent and received, by {one}"
    if not names:
        return style.draw_empty(ax, title, "No settled payments")
    others = None
    if rest := len(sent) - rows:
        name = format_count(rest, f"other {one}", f"other {many}")
        others = Others(name, (add_units(sent[rows:]), add_units(received[rows:])))
    key = draw_pairs(ax, names, (sent[:rows], received[:rows]), others, currency)
    style.set_title(ax, title, key)
    return ax
