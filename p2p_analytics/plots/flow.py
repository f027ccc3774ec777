"""Plot of the money received and sent in each month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.display import MONTH_NAMES, MOST_MONTHS
from p2p_analytics.plots import _style
from p2p_analytics.plots._text import TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_ROOM: Final = 14  # labels that fit side by side
_FEWEST: Final = 6  # the width of the axis in months, at least, so that a single bar is not too wide
_NO_DATE: Final = "no\ndate"


def monthly_flow(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what was received and sent in each month, and the net of the two.

    Each row of the table, in its order, has a bar up for received, a bar down for sent and a point on the
    line of the net. If there are more than 240 months, only the months with money in or out are drawn, and the
    axis label says so. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.monthly_flow`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read_columns(table, ["month", "sent", "received", "net"], what="plots.monthly_flow")
    ax = _style.prepare_axes(ax, height=3.8)
    title = "Money received and sent, month by month"
    if not data["month"]:
        return _style.draw_empty(ax, title, "No settled payments")
    left_out = len(data["month"]) > MOST_MONTHS
    if left_out:
        moved = [row for row, amounts in enumerate(zip(data["sent"], data["received"], strict=True)) if any(amounts)]
        data = {name: [values[row] for row in moved or [0]] for name, values in data.items()}
    months = data["month"]
    rows = range(len(months))
    received = ax.bar(rows, data["received"], width=0.8, color=_style.IN)
    sent = ax.bar(rows, [-amount for amount in data["sent"]], width=0.8, color=_style.OUT)
    few = len(months) <= _ROOM
    style = {"linewidth": 1.2, "marker": "o", "markersize": 4} if few else {"linewidth": 0.9}
    (net,) = ax.plot(rows, data["net"], color=_ink(), **style)
    ax.axhline(0, color=_style.QUIET, linewidth=0.8)
    middle, half = (len(months) - 1) / 2, max(len(months), _FEWEST) / 2 + 0.2
    ax.set_xlim(middle - half, middle + half)
    years = left_out or len(months) > 3 * _ROOM
    ticks = _year_rows(months) if left_out else [row for row in rows if _has_label(months, row)]
    ax.set_xticks(
        ticks,
        [_label(months, row, years=years) for row in ticks],
        fontsize=_style.AXIS_SIZE,
        color=_style.QUIET,
        **TEXT,
    )
    ax.tick_params(axis="x", length=0)
    _style.style_value_axis(ax, ax.yaxis, "Settled payments, US dollars", _style.format_tick)
    if left_out:
        ax.set_xlabel("Months without payments are left out", fontsize=_style.AXIS_SIZE, color=_style.QUIET, **TEXT)
    _style.set_title(ax, title, [("received", received), ("sent", sent), ("net", net)])
    return ax


def _has_label(months: list[str | None], row: int) -> bool:
    """Return whether a month has a label: every month, every third one, or every January of one year in n."""
    month = months[row]
    if month is None or len(months) <= _ROOM:
        return True
    number = int(month[5:]) - 1
    if len(months) <= 3 * _ROOM:
        return number % 3 == 0
    return number == 0 and int(month[:4]) % -(-len(months) // (12 * _ROOM)) == 0


def _year_rows(months: list[str | None]) -> list[int]:
    """Return the first row of each year, as many as fit, and the row without a month."""
    firsts = [
        row for row, month in enumerate(months) if month and (row == 0 or month[:4] != (months[row - 1] or "")[:4])
    ]
    undated = [row for row, month in enumerate(months) if month is None]
    every = -(-len(firsts) // _ROOM)
    apart = -(-len(months) // _ROOM)
    chosen: list[int] = []
    for row in firsts[::every]:
        if not chosen or row - chosen[-1] >= apart:
            chosen.append(row)
    return [*(row for row in chosen if not undated or undated[0] - row >= apart), *undated]


def _label(months: list[str | None], row: int, *, years: bool) -> str:
    month = months[row]
    if month is None:
        return _NO_DATE
    if years:
        return month[:4]
    name = MONTH_NAMES[int(month[5:]) - 1]
    return f"{name}\n{month[:4]}" if row == 0 or name == MONTH_NAMES[0] else name


def _ink() -> str:
    """Return the colour of text, which is light in a dark style sheet."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])
