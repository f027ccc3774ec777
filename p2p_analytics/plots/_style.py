"""One look for all plots: colours, axes, keys, amounts, and what stands where there is nothing to draw."""

from __future__ import annotations

import contextlib
import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import PRIVATE, STRICT, format_money
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import require
from p2p_analytics.plots._text import FONT, TEXT, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
OTHERS: Final = ("#332288", "#DDCC77", "#44AA99", "#AA4499", "#CC6677", "#999933")
HATCHES: Final = ("///", "...", "xxx", "---")  # with the seventh unknown word the colours begin again, hatched
WIDTH: Final = 6.4
MOST_ROWS: Final = 30
_SMALL: Final = 9
_LABEL: Final = 8
_KEY_COLUMNS: Final = 5
_unseen: ContextVar[bool] = ContextVar("unseen", default=False)


def read(table: IntoFrame, needed: Sequence[str], *, what: str) -> dict[str, list[Any]]:
    """Return a finished table's columns as plain lists, with None for every null.

    Raises
    ------
    SchemaError
        It is no frame, lacks a column, or has two of one name.
    """
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    instead = "the finished table that the analysis of the same name returns"
    try:
        frame = nw.from_native(table).lazy().collect()
    except TypeError:
        raise SchemaError(f"{what} needs a frame, not {type(table).__name__}; pass {instead}.") from None
    except DuplicateError:
        raise SchemaError(f"{what} needs a frame whose columns have different names; pass {instead}.") from None
    require(frame.columns, needed, what=what, instead=instead)
    return {
        name: [None if absent else value for value, absent in zip(column.to_list(), column.is_null(), strict=True)]
        for name, column in frame.to_dict(as_series=True).items()
    }


def axes(ax: Axes | None, *, height: float) -> Axes:
    """Return the caller's axes, or new ones; a notebook shows only figures that pyplot made."""
    if ax is not None:
        return ax
    if _unseen.get():
        from matplotlib.figure import Figure

        return Figure(figsize=(WIDTH, height), layout="constrained").subplots()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


@contextlib.contextmanager
def without_pyplot() -> Iterator[None]:
    """Make the figures of a block unknown to pyplot: nobody sees or has to close them."""
    token = _unseen.set(True)
    try:
        yield
    finally:
        _unseen.reset(token)


def bars_height(bars: int) -> float:
    """Return the inches that so many rows of bars take, with title and axis."""
    return 1.4 + 0.36 * bars


def blank(ax: Axes, title: str, message: str) -> Axes:
    """Say that there is nothing to draw."""
    head(ax, title)
    ax.set_axis_off()
    ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center", color=QUIET, **TEXT)
    return ax


def mark_private(ax: Axes, *, strict: bool = False) -> Axes:
    """Say below a plot that it is in privacy mode: for tables of a history that is `private`.

    A table does not know where it comes from, so this is for whoever draws it; ``strict`` is the history's.
    """
    # Below the axis label, wherever that comes to be; axes that are hidden have none to go by.
    below = ax.xaxis.label if ax.axison else "axes fraction"
    ax.annotate(
        STRICT if strict else PRIVATE,
        (1, 0),
        xycoords=("axes fraction", below),
        xytext=(0, -5),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=_LABEL - 1,
        color=QUIET,
        annotation_clip=False,
        **TEXT,
    )
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
    """Style the axis that carries the numbers: few ticks, faint lines, no frame.

    ``form`` is a function of a module: a figure that holds another one cannot be pickled.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(functools.partial(_tick, form)))
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


def label_bar(ax: Axes, x: float, y: float, text: str, *, quiet: bool = False) -> None:
    """Write at the end of a horizontal bar."""
    colour: dict[str, Any] = {"color": QUIET} if quiet else {}
    ax.annotate(
        text,
        (x, y),
        xytext=(4, 0),
        textcoords="offset points",
        va="center_baseline",
        fontsize=_LABEL,
        annotation_clip=False,
        **colour,
        **TEXT,
    )


def money_form(amounts: Iterable[float | None]) -> Callable[[float], str]:
    """Return how a plot's labels write amounts: all with cents, or all without where every amount is whole."""
    digits = 0 if all(amount is None or float(amount).is_integer() for amount in amounts) else 2
    return lambda units: format_money(units, decimals=digits)


def ticks(units: float) -> str:
    """Return an amount for a tick: cents only where the tick is not a whole amount."""
    return format_money(units, decimals=0 if float(units).is_integer() else 2)


def whole(number: float) -> str:
    """Return a number for a tick, without decimals."""
    return f"{number:,.0f}"


def per_cent(share: float) -> str:
    """Return a share for a tick."""
    return f"{share:.0%}"


def _tick(form: Callable[[float], str], value: float, _position: int) -> str:
    return form(value)


def first_of(label: str, shown: int, total: int, what: str) -> str:
    """Return an axis label, which says so where only the first rows are drawn."""
    return label if shown == total else f"{label}; the first {shown} of {total:,} {what}"


def ink_on(colour: str) -> str:
    """Return black or white, whichever stands out more on a colour (WCAG 2, contrast ratio)."""
    return max(("black", "white"), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]  # noqa: PLR2004 - sRGB
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
