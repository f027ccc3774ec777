"""Plot of the bills that the viewer split."""

from __future__ import annotations

__all__ = ["split_bills"]

from typing import TYPE_CHECKING, Final

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count, format_day
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.bars import Others, Part, draw_parts
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import keep_left_to_right, to_drawable
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_LONGEST: Final = 20  # letters of a note
_PARTS: Final = ("collected", "still_open", "declined")


def split_bills(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw the bills that the viewer split, and what became of each.

    Each row of the table, in its order, has a bar of the requested amount, divided into the parts that are collected,
    still open, and not paid: declined, expired or failed. It is labelled with the amount, the number of people, and the
    age of the oldest open request. The rows after the first ``top``, if they are several, share the last bar. If that
    would be more than four times as long as all others, it is drawn shorter, hatched, and labelled as not to scale. A
    table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.split_bills`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of bills shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    needed = ["date", "note", "people", "asked", *_PARTS, "oldest_open_days"]
    data = style.read_columns(table, needed, what="plots.split_bills")
    rows = count_shown(len(data["asked"]), most)
    currency = style.find_currency(data, what="plots.split_bills")
    utc = find_zone("UTC")
    notes = [keep_left_to_right(to_drawable(note, longest=_LONGEST)) for note in data["note"][:rows]]
    dates = ["no date" if date is None else format_day(date, utc) for date in data["date"][:rows]]
    names = [f"{note}, {date}" for note, date in zip(notes, dates, strict=True)]
    rest = len(data["asked"]) - len(names)
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(len(names) + (rest > 0), 3)))
    title = "Bills that were split"
    if not names:
        return style.draw_empty(ax, title, "No split bills")
    money = style.money_format(data["asked"], currency)
    labels = [
        f"{money(asked)} from {format_count(people, 'person', 'people')}"
        + ("" if days is None else f", open {format_count(int(days), 'day', 'days')}")
        for asked, people, days in zip(
            data["asked"][:rows], data["people"][:rows], data["oldest_open_days"][:rows], strict=True
        )
    ]
    others = None
    if rest:
        amounts = [add_units(data[name][rows:]) for name in _PARTS]
        others = Others(format_count(rest, "other bill", "other bills"), amounts)
        labels.append(money(add_units(data["asked"][rows:])))
    parts = [
        Part(label, colour, data[name][:rows]) for (label, colour), name in zip(colours.PARTS, _PARTS, strict=True)
    ]
    key = draw_parts(ax, names, parts, labels, others)
    style.style_money_axis(ax, ax.xaxis, "Requests", currency)
    style.set_title(ax, title, key)
    return ax
