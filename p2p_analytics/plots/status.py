"""Plot of the share of payments in each status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import format_count
from p2p_analytics.plots import _style
from p2p_analytics.plots._text import TEXT, join_words, style_text, to_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_ROOM_FOR_LABEL: Final = 0.06
_LONGEST_NOTE: Final = 60
_ROW: Final = 0.52  # inches of a bar with the note under it
_NEEDED = ("status", "payments", "share", "amount", "share_of_amount")


def status_mix(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of payments that ended in each status.

    Each value of the grouping column, in the order of the table, has a bar divided by status; parts of 6 % and
    more are labelled, smaller ones are listed below the bar. If there are more than 30 values, the first 30 are
    drawn, and the axis label says so. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.status_mix`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read_columns(table, _NEEDED, what="plots.status_mix")
    by = next((name for name in data if name not in _NEEDED), "status")
    groups = list(dict.fromkeys(data[by]))
    shown = min(len(groups), _style.MOST_ROWS)
    ax = _style.prepare_axes(ax, height=1.6 + _ROW * max(shown, 2))
    title = f"What became of payments, by {to_drawable(by)}"
    if not groups:
        return _style.draw_empty(ax, title, "No payments")
    row_of = {group: row for row, group in enumerate(groups[:shown])}
    counts = dict.fromkeys(row_of, 0)
    ends = dict.fromkeys(row_of, 0.0)
    parts = list(zip(data[by], data["status"], data["payments"], data["share"], strict=True))
    key: list[tuple[str, Any]] = []
    small: dict[str | None, list[str]] = {group: [] for group in row_of}
    for status, (colour, hatch) in _status_fills(data["status"]).items():
        for group, word, payments, share in parts:
            if word == status and group in row_of:
                edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
                bar = ax.barh(row_of[group], share, left=ends[group], height=0.52, color=colour, **edge)
                if share >= _ROOM_FOR_LABEL:
                    _label(ax, ends[group] + share / 2, row_of[group], f"{share:.0%}", colour)
                else:
                    small[group].append(join_words(f"{payments:,}", to_drawable(_word(status))))
                if not key or key[-1][0] != _word(status):
                    key.append((_word(status), bar))
                ends[group] += share
                counts[group] += payments
    for group, row in row_of.items():
        if small[group]:
            note = _small_parts_note(small[group])
            ax.text(
                0,
                row + 0.29,
                note,
                va="top",
                color=_style.QUIET,
                fontsize=_style.LABEL_SIZE,
                **style_text(note),
            )
    ax.set_xlim(0, 1)
    _style.label_rows(
        ax, [f"{to_drawable(_word(group))}\n{format_count(counts[group], 'payment', 'payments')}" for group in row_of]
    )
    _style.style_value_axis(
        ax,
        ax.xaxis,
        _style.label_first("Share of payments, per cent", shown, len(groups), "values"),
        _style.format_share,
    )
    _style.set_title(ax, title, key)
    return ax


def _status_fills(statuses: list[str | None]) -> dict[str | None, tuple[str, str]]:
    """Return the colour and hatch of each status in the table: known ones first, in a fixed order."""
    fills: dict[str | None, tuple[str, str]] = {
        status: (colour, "") for status, colour in _style.STATUS.items() if status in statuses
    }
    unknown = sorted({status for status in statuses if status not in fills}, key=_word)
    for at, status in enumerate(unknown):
        again, colour = divmod(at, len(_style.OTHERS))
        denser, hatch = divmod(again - 1, len(_style.HATCHES))
        fills[status] = _style.OTHERS[colour], _style.HATCHES[hatch] * (denser + 1) if again else ""
    return fills


def _label(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    # The patch keeps the label legible on a hatched bar.
    patch = {"facecolor": colour, "edgecolor": "none", "boxstyle": "square,pad=0.1"}
    ink = _style.ink_on(colour)
    ax.text(x, y, text, ha="center", va="center_baseline", color=ink, fontsize=_style.PART_SIZE, bbox=patch, **TEXT)


def _small_parts_note(parts: list[str]) -> str:
    """Return the parts that are too small for a label as one line, as many as fit."""
    shown = 1
    while shown < len(parts) and len(", ".join(parts[: shown + 1])) <= _LONGEST_NOTE:
        shown += 1
    more = f" and {len(parts) - shown} more" if shown < len(parts) else ""
    return f"also {', '.join(parts[:shown])}{more}"


def _word(word: str | None) -> str:
    return "not known" if word is None else word
