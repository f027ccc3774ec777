"""Plot of the people of each year."""

from __future__ import annotations

__all__ = ["people_by_year"]

from typing import TYPE_CHECKING, Any, Final

from matplotlib.ticker import MaxNLocator

from p2p_analytics.display import format_share
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.text import TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_KNOWN: Final = colours.IN
_NEW: Final = "#56B4E9"
_LOST: Final = colours.OUT
_MOST_YEARS: Final = 30  # of more that are mostly empty, only those with people are drawn
_LABEL: Final = 0.4  # width in inches of the label of a year, with the gap to the next


def people_by_year(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the number of people in each year.

    Each year has a bar up of the people, divided into known and new ones, and a bar down of the people of the
    year before that are gone. The bar is labelled with the number of people; below the year is the share
    of the money with the five people with the most. Of more than 30 years, mostly empty because of a wrong date,
    only those with people are drawn. A table
    without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.people_by_year`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, ["year", "people", "new", "lost", "top_5_share"], what="plots.people_by_year")
    rows = sorted(data.list_rows(), key=lambda row: row["year"])
    is_long = len(rows) > max(_MOST_YEARS, 2 * sum(bool(row["people"]) for row in rows))
    if is_long:
        rows = [row for row in rows if row["people"]]
    ax = style.prepare_axes(ax, height=3.8)
    title = "People, year by year"
    if not rows:
        return style.draw_empty(ax, title, "No settled payments")
    places = range(len(rows))
    known = [row["people"] - row["new"] for row in rows]
    key = [
        ("there before", ax.bar(places, known, width=0.8, color=_KNOWN)),
        ("new", ax.bar(places, [row["new"] for row in rows], bottom=known, width=0.8, color=_NEW)),
        ("gone", ax.bar(places, [-row["lost"] for row in rows], width=0.8, color=_LOST)),
    ]
    ax.axhline(0, color=colours.QUIET, linewidth=0.8)
    style.center_bars(ax, len(rows))
    # As many years as there is room for.
    labelled = range(0, len(rows), -(-len(rows) // max(int(style.measure_width(ax) / _LABEL), 2)))
    shares = [format_share(row["top_5_share"], decimals=0) if row["people"] else "" for row in rows]
    style.label_places(ax, {at: f"{rows[at]['year']}\n{shares[at]}" for at in labelled})
    properties: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": style.LABEL_SIZE, **TEXT}
    for at in labelled:
        if people := rows[at]["people"]:
            ax.annotate(f"{people:,}", (at, people), xytext=(0, 2), va="bottom", **properties)
    style.style_value_axis(ax, ax.yaxis, "People", style.format_whole)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.set_ylim(-max(row["lost"] for row in rows) * 1.05, max(row["people"] for row in rows) * 1.12 or 1)
    label = "Below each year, the share of the money of the five people with the most"
    ax.set_xlabel(f"{label}{'; years without payments are left out' if is_long else ''}", **style.QUIET_TEXT)
    style.set_title(ax, title, [entry for entry in key if any(bar.get_height() for bar in entry[1])])
    return ax
