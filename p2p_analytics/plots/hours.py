"""Plot of payments by hour of the week."""

from __future__ import annotations

__all__ = ["activity"]

from typing import TYPE_CHECKING, Any, Final

from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from p2p_analytics.plots._parts import style
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS: Final = 24
_EVERY: Final = 3  # hours from label to label
# A palette of ColorBrewer with one hue; it becomes darker in greyscale too.
_COLOURS: Final = ("#c6dbef", "#9ecae1", "#6baed6", "#3182bd", "#08519c")


def activity(table: IntoFrame, *, ax: Axes | None = None, tz: str | ZoneInfo | None = None) -> Axes:
    """Draw the number of payments in each hour of the week.

    Each weekday is a row with its total, each hour a cell, the darker the more payments; the legend has the
    numbers. The axis names the time zone if it is given. A table of zeros gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.activity`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    tz : str or ZoneInfo, optional
        Time zone of the hours, for the label of the axis: the zone of the analysis, which the table does not contain.

    Raises
    ------
    ConfigurationError
        The zone does not exist.
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, ["weekday", "hour", "payments"], what="plots.activity")
    name = None if tz is None else find_zone(tz).key  # a zone of a file has none
    zone = f" in {name}" if name else ""
    ax = style.prepare_axes(ax, height=3.4)
    title = "Settled payments by hour of the week"
    counts = [[0] * _HOURS for _ in _DAYS]
    for weekday, hour, payments in zip(data["weekday"], data["hour"], data["payments"], strict=True):
        counts[weekday][hour] += payments
    most = max(map(max, counts))
    if not most:
        return style.draw_empty(ax, title, "No settled payments")
    # The smallest and largest number of each colour, from 1 to the most, in steps of about one width.
    steps = min(most, len(_COLOURS))
    ends = [most * (step + 1) // steps for step in range(steps)]
    key: list[tuple[str, Any]] = []
    ax.set_xlim(-0.5, _HOURS - 0.5)
    for low, high, colour in zip([1, *(end + 1 for end in ends)], ends, _COLOURS[-steps:], strict=False):
        corners = [
            [(hour - 0.5, row - 0.5), (hour - 0.5, row + 0.5), (hour + 0.5, row + 0.5), (hour + 0.5, row - 0.5)]
            for row, numbers in enumerate(counts)
            for hour, number in enumerate(numbers)
            if low <= number <= high
        ]
        ax.add_collection(PolyCollection(corners, facecolors=colour, edgecolors="white", linewidth=0.6))
        key.append((f"{low:,}" if low == high else f"{low:,} to {high:,}", Patch(facecolor=colour)))
    style.label_rows(ax, _DAYS)
    ax.set_ylim(len(_DAYS) - 0.5, -0.5)
    for row, numbers in enumerate(counts):
        style.label_bar(ax, _HOURS - 0.5, row, f"{sum(numbers):,}")
    style.label_places(ax, {hour - 0.5: f"{hour}:00" for hour in range(0, _HOURS + 1, _EVERY)})
    ax.set_xlabel(f"Hour of the day{zone}; total of each weekday on the right", **style.QUIET_TEXT)
    ax.spines[:].set_visible(False)
    style.set_title(ax, title, key)
    return ax
