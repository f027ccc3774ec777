"""What became of payments, as shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from p2p_analytics.plots import _style
from p2p_analytics.plots._text import TEXT, clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_ROOM_FOR_LABEL = 0.06
_NEEDED = ("status", "payments", "share", "amount", "share_of_amount")


def status_mix(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of payments that ended in each status.

    One bar per value of the column that the table was made by, in its order, divided by status;
    parts of 6 % and more are labelled. At most 30 bars are drawn, which the axis then says; no
    rows give empty axes that say so.

    Parameters
    ----------
    table : frame
        As `p2p_analytics.status_mix` gives it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read(table, _NEEDED, what="plots.status_mix")
    by = next((name for name in data if name not in _NEEDED), "status")
    groups = list(dict.fromkeys(data[by]))
    shown = min(len(groups), _style.MOST_ROWS)
    ax = _style.axes(ax, height=_style.bars_height(max(shown, 2)) + 0.4)
    title = f"What became of payments, by {clean(by)}"
    if not groups:
        return _style.blank(ax, title, "No payments")
    row_of = {group: row for row, group in enumerate(groups[:shown])}
    counts = dict.fromkeys(row_of, 0)
    ends = dict.fromkeys(row_of, 0.0)
    parts = list(zip(data[by], data["status"], data["payments"], data["share"], strict=True))
    key: list[tuple[str, Any]] = []
    for status, colour in _colours(data["status"]).items():
        for group, word, payments, share in parts:
            if word == status and group in row_of:
                bar = ax.barh(row_of[group], share, left=ends[group], height=0.62, color=colour, edgecolor="white")
                if share >= _ROOM_FOR_LABEL:
                    _label(ax, ends[group] + share / 2, row_of[group], f"{share:.0%}", colour)
                if not key or key[-1][0] != _word(status):
                    key.append((_word(status), bar))
                ends[group] += share
                counts[group] += payments
    ax.set_xlim(0, 1)
    _style.name_rows(
        ax, [f"{clean(_word(group))}\n{_style.counted(counts[group], 'payment', 'payments')}" for group in row_of]
    )
    _style.value_axis(
        ax,
        ax.xaxis,
        _style.first_of("Share of payments, per cent", shown, len(groups), "values"),
        lambda share: f"{share:.0%}",
    )
    _style.head(ax, title, key)
    return ax


def _colours(statuses: list[str | None]) -> dict[str | None, str]:
    """Return the statuses that occur with their colours: known ones first, in a fixed order."""
    known: dict[str | None, str] = {status: colour for status, colour in _style.STATUS.items() if status in statuses}
    unknown = sorted({status for status in statuses if status not in known}, key=_word)
    return {**known, **{status: _style.OTHERS[at % len(_style.OTHERS)] for at, status in enumerate(unknown)}}


def _label(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5  # noqa: PLR2004 - half of the brightness an eye sees
    ax.text(x, y, text, ha="center", va="center_baseline", color="white" if dark else "black", fontsize=9, **TEXT)


def _word(word: str | None) -> str:
    return "not known" if word is None else word
