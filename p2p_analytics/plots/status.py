"""Plot of the share of payments in each status."""

from __future__ import annotations

__all__ = ["status_mix"]

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import format_count
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import TEXT, join_words, style_text, to_drawable

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
    more are labelled, smaller ones are listed below the bar. If there are more than 30 values, those after the first
    30 share the last bar. A table without rows gives empty axes with a message.

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
    data = style.read_columns(table, _NEEDED, what="plots.status_mix")
    by = next((name for name in data if name not in _NEEDED), "status")
    groups = list(dict.fromkeys(data[by]))
    cells = _fold_others(data, by, groups)
    counts = Counter[int]()
    for (row, _), (payments, _) in cells.items():
        counts[row] += payments
    ax = style.prepare_axes(ax, height=1.6 + _ROW * max(len(counts), 2))
    title = f"What became of payments, by {to_drawable(by)}"
    if not groups:
        return style.draw_empty(ax, title, "No payments")
    key = _draw_parts(ax, cells, data["status"])
    ax.set_xlim(0, 1)
    names = [to_drawable(_word(group)) for group in groups[: count_shown(len(groups), style.MOST_ROWS)]]
    if others := len(groups) - len(names):
        names.append(format_count(others, "other value", "other values"))
    sizes = [format_count(counts[row], "payment", "payments") for row in range(len(names))]
    style.label_rows(ax, [f"{name}\n{size}" for name, size in zip(names, sizes, strict=True)], others=others > 0)
    style.style_value_axis(ax, ax.xaxis, "Share of payments, per cent", style.format_share)
    style.set_title(ax, title, key)
    return ax


def _draw_parts(
    ax: Axes, cells: dict[tuple[int, str | None], tuple[int, float]], statuses: list[str | None]
) -> list[tuple[str, Any]]:
    """Draw and label the parts of all bars, and return the legend."""
    ends = {row: 0.0 for row, _ in cells}
    key: list[tuple[str, Any]] = []
    small: dict[int, list[str]] = {row: [] for row in ends}
    for status, (colour, hatch) in _choose_fills(statuses).items():
        parts = {row: part for (row, word), part in cells.items() if word == status}
        shares = [share for _, share in parts.values()]
        look: dict[str, Any] = {"height": 0.52, "color": colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
        key.append((_word(status), ax.barh([*parts], shares, left=[ends[row] for row in parts], **look)))
        for row, (payments, share) in parts.items():
            if share >= _ROOM_FOR_LABEL:
                _label(ax, ends[row] + share / 2, row, f"{share:.0%}", colour)
            else:
                small[row].append(join_words(f"{payments:,}", to_drawable(_word(status))))
            ends[row] += share
    properties: dict[str, Any] = {"va": "top", "color": colours.QUIET, "fontsize": style.LABEL_SIZE}
    for row, words in small.items():
        if words:
            shown = 1
            while shown < len(words) and len(", ".join(words[: shown + 1])) <= _LONGEST_NOTE:
                shown += 1
            more = f" and {len(words) - shown} more" if shown < len(words) else ""
            note = f"also {', '.join(words[:shown])}{more}"
            ax.text(0, row + 0.29, note, **properties, **style_text(note))
    return key


def _fold_others(
    data: style.Columns, by: str, groups: list[str | None]
) -> dict[tuple[int, str | None], tuple[int, float]]:
    """Return payments and their share by row and status; all values after the first ones share one row."""
    last = count_shown(len(groups), style.MOST_ROWS)
    row_of = {group: min(row, last) for row, group in enumerate(groups)}
    cells: dict[tuple[int, str | None], tuple[int, float]] = {}
    others = Counter[str | None]()
    for group, status, payments, share in zip(data[by], data["status"], data["payments"], data["share"], strict=True):
        if row_of[group] < last:
            cells[row_of[group], status] = payments, share
        else:
            others[status] += payments
    cells |= {(last, status): (payments, payments / (others.total() or 1)) for status, payments in others.items()}
    return cells


def _choose_fills(statuses: list[str | None]) -> dict[str | None, tuple[str, str]]:
    """Return the colour and hatch of each status in the table: known ones first, in a fixed order."""
    fills: dict[str | None, tuple[str, str]] = {
        status: (colour, "") for status, colour in colours.STATUS.items() if status in statuses
    }
    unknown = sorted({status for status in statuses if status not in fills}, key=_word)
    for at, status in enumerate(unknown):
        again, colour = divmod(at, len(colours.OTHERS))
        denser, hatch = divmod(again - 1, len(colours.HATCHES))
        fills[status] = colours.OTHERS[colour], colours.HATCHES[hatch] * (denser + 1) if again else ""
    return fills


def _label(ax: Axes, x: float, y: float, text: str, colour: str) -> None:
    # The patch keeps the label legible on a hatched bar.
    patch = {"facecolor": colour, "edgecolor": "none", "boxstyle": "square,pad=0.1"}
    ink = style.ink_on(colour)
    ax.text(x, y, text, ha="center", va="center_baseline", color=ink, fontsize=style.PART_SIZE, bbox=patch, **TEXT)


def _word(word: str | None) -> str:
    return "not known" if word is None else word
