"""One look for all plots: colours, axes, keys, amounts, and what stands where there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.schema import require
from p2p_analytics.plots._text import FONT, TEXT, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from narwhals.stable.v2.typing import IntoFrame

# From the palettes of Okabe and Ito and of Tol, which people tell apart whatever their colour vision.
IN: Final = "#0072B2"
OUT: Final = "#D55E00"
QUIET: Final = "#767676"
STATUS: Final = {
    "settled": "#009E73",
    "pending": "#E69F00",
    "failed": "#882255",
    "expired": "#999999",
    "cancelled": "#56B4E9",
}
OTHERS: Final = ("#332288", "#DDCC77", "#44AA99", "#AA4499")
WIDTH: Final = 6.4
MOST_ROWS: Final = 30
_SMALL: Final = 9
_KEY_COLUMNS: Final = 5
_ROUND_FROM: Final = 100


def read(table: IntoFrame, needed: Sequence[str], *, what: str) -> dict[str, list[Any]]:
    """Return a finished table's columns as plain lists, with None for every null.

    Raises
    ------
    SchemaError
        It lacks a column.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(table).lazy().collect()
    require(frame.columns, needed, what=what, instead="the finished table that the analysis of the same name returns")
    return {
        name: [None if absent else value for value, absent in zip(column.to_list(), column.is_null(), strict=True)]
        for name, column in frame.to_dict(as_series=True).items()
    }


def axes(ax: Axes | None, *, height: float) -> Axes:
    """Return the caller's axes, or new ones; a notebook shows only figures that pyplot made."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def bars_height(bars: int) -> float:
    """Return the inches that so many rows of bars take, with title and axis."""
    return 1.4 + 0.36 * bars


def blank(ax: Axes, title: str, message: str) -> Axes:
    """Say that there is nothing to draw."""
    head(ax, title)
    ax.set_axis_off()
    ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center", color=QUIET, **TEXT)
    return ax


def head(ax: Axes, title: str, key: Sequence[tuple[str, Any]] = ()) -> None:
    """Set the title, and under it the key to the colours."""
    lines = -(-len(key) // _KEY_COLUMNS)
    # A legend is filled column by column; people read it line by line.
    key = [entry for column in range(_KEY_COLUMNS) for entry in key[column::_KEY_COLUMNS]]
    ax.set_title(title, loc="left", fontweight="bold", fontsize=12, pad=8 + 16 * lines, **TEXT)
    if key:
        legend = ax.legend(
            [handle for _, handle in key],
            [clean(label) for label, _ in key],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0.1,
            ncols=_KEY_COLUMNS,
            frameon=False,
            handlelength=1,
            handletextpad=0.5,
            columnspacing=1.2,
            prop={"family": FONT, "size": _SMALL},
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def value_axis(ax: Axes, axis: Axis, label: str, form: Callable[[float], str]) -> None:
    """Dress the axis that carries the numbers: few ticks, faint lines, no frame."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axis.set_label_text(label, fontsize=_SMALL, color=QUIET, **TEXT)
    axis.grid(visible=True, color=QUIET, alpha=0.25, linewidth=0.6)
    axis.set_tick_params(length=0, labelsize=_SMALL, labelfontfamily=FONT, labelcolor=QUIET)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows of a plot of horizontal bars, the first on top."""
    ax.set_yticks(range(len(names)), names, fontsize=_SMALL, **TEXT)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def label_bar(ax: Axes, x: float, y: float, text: str, *, small: bool = False) -> None:
    """Write at the end of a horizontal bar."""
    ax.annotate(
        text,
        (x, y),
        xytext=(4, 0),
        textcoords="offset points",
        va="center_baseline",
        fontsize=_SMALL - 1.5 if small else _SMALL,
        annotation_clip=False,
        **TEXT,
    )


def money(units: float) -> str:
    """Return an amount for a label, in whole dollars where cents say nothing."""
    size = abs(units)
    digits = f"{size:,.0f}" if size >= _ROUND_FROM or size == 0 else f"{size:,.2f}"
    return f"{'−' if units < 0 else ''}${digits}"  # noqa: RUF001 - a minus sign, as wide as a plus


def ticks(units: float) -> str:
    """Return an amount for a tick: cents only where the tick is not a whole amount."""
    digits = f"{abs(units):,.0f}" if float(units).is_integer() else f"{abs(units):,.2f}"
    return f"{'−' if units < 0 else ''}${digits}"  # noqa: RUF001 - as above


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def first_of(label: str, shown: int, total: int, what: str) -> str:
    """Return an axis label, which says so where only the first rows are drawn."""
    return label if shown == total else f"{label}; the first {shown} of {total:,} {what}"
