"""Style shared by all plots: font sizes, axes, legends, tick formats, and the message of an empty plot.

The fonts are chosen in `_fonts`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast
from unicodedata import east_asian_width

import narwhals.stable.v2 as nw
from matplotlib import rcParams
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator
from narwhals.exceptions import DuplicateError

from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, count_decimals, describe_code, name_currency
from p2p_analytics.display import PRIVATE, STRICT, format_money, format_phone
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import refuse_failing_query, require
from p2p_analytics.plots._parts._fonts import FONT, find_families
from p2p_analytics.plots._parts.colours import QUIET
from p2p_analytics.plots._parts.text import TEXT, style_text, to_drawable, to_drawable_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from narwhals.stable.v2.typing import IntoFrame

WIDTH: Final = 6.4
MOST_ROWS: Final = 30
TITLE_SIZE: Final = 12  # font sizes in points
AXIS_SIZE: Final = 9  # axis and tick labels, names of rows, and the legend
PART_SIZE: Final = 9  # label on a part of a bar
LABEL_SIZE: Final = 8  # label at the end of a bar, or the note under it
QUIET_TEXT: Final[dict[str, Any]] = {"fontsize": AXIS_SIZE, "color": QUIET, **TEXT}
NO_TICKS: Final[dict[str, dict[str, Any]]] = {
    "x": {"length": 0, "bottom": False, "top": False},
    "y": {"length": 0, "left": False, "right": False},
}
_PRIVATE_SIZE: Final = 7  # remark of privacy mode
_KEY_COLUMNS: Final = 5
_AXES: Final = 0.775  # width of axes before the layout, in widths of their figure
_NAME_LETTER: Final = 0.074  # inches of a letter in the name of a row, on average
_LABEL_LETTER: Final = 0.062
_MOST_OF_WIDTH: Final = 0.75
_FEWEST_BARS: Final = 6
_MOST_TICKS: Final = 6
_TICK_STEPS: Final = (1, 2, 2.5, 5, 10)
_TICK_LETTER: Final = 0.078  # inches of a digit in the label of a tick
_TICK_GAP: Final = 0.16  # inches between two labels
_width_off_screen: ContextVar[float | None] = ContextVar("width", default=None)
_names: ContextVar[Mapping[tuple[str | None, str | None], str]] = ContextVar("names", default={})  # noqa: B039 - never changed


class Columns(Mapping[str, list[Any]]):
    """The columns of a table as lists, each made when it is first asked for, with None for every null."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._made: dict[str, list[Any]] = {}

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._made:
            if name not in self._frame.columns:
                raise KeyError(name)
            column = self._frame.get_column(name)
            values, nulls = column.to_list(), column.is_null()
            if nulls.any():
                values = [None if absent else value for value, absent in zip(values, nulls.to_list(), strict=True)]
            self._made[name] = values
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._frame.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame.columns)

    def list_rows(self) -> list[dict[str, Any]]:
        """Return the rows with all columns."""
        return [dict(zip(self, row, strict=True)) for row in zip(*self.values(), strict=True)]


def read_columns(table: IntoFrame, needed: Sequence[str], *, what: str) -> Columns:
    """Return the columns of a finished table; raise a SchemaError if it is not a frame with these columns."""
    instead = "the finished table that the analysis of the same name returns"
    try:
        with refuse_failing_query(table, what=what):
            frame = nw.from_native(table).lazy().collect()
    except TypeError:
        raise SchemaError(f"{what} needs a frame, not {type(table).__name__}; pass {instead}.") from None
    except DuplicateError:
        raise SchemaError(f"{what} needs a frame with distinct column names; pass {instead}.") from None
    require(frame.columns, needed, what=what, instead=instead)
    return Columns(frame)


def prepare_axes(ax: Axes | None, *, height: float) -> Axes:
    """Return the caller's axes, or new ones made by pyplot, because notebooks display no other figures."""
    if ax is not None:
        return ax
    if width := _width_off_screen.get():
        return Figure(figsize=(width, height), layout="constrained").subplots()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


@contextlib.contextmanager
def without_pyplot(width: float = WIDTH) -> Iterator[None]:
    """Create figures of a width in inches without pyplot inside the block: they are not displayed, nor kept open."""
    token = _width_off_screen.set(width)
    try:
        yield
    finally:
        _width_off_screen.reset(token)


def height_of_bars(bars: int) -> float:
    """Return the height in inches of a figure with that many rows of bars, with title and axis."""
    return 1.4 + 0.36 * bars


def draw_empty(ax: Axes, title: str, message: str) -> Axes:
    """Draw the title and a message instead of data."""
    set_title(ax, title)
    ax.set_axis_off()
    ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center", color=QUIET, **TEXT)
    return ax


def mark_private(ax: Axes, *, strict: bool = False) -> Axes:
    """Write below a plot that it is in privacy mode, for tables of a history that is `private`.

    A table has no reference to its history, so the caller decides; ``strict`` is the attribute of the history.
    """
    # Placed relative to the axis label, which moves with the layout; hidden axes have none.
    below = ax.xaxis.label if ax.axison else "axes fraction"
    ax.annotate(
        STRICT if strict else PRIVATE,
        (1, 0),
        xycoords=("axes fraction", below),
        xytext=(0, -5),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=_PRIVATE_SIZE,
        color=QUIET,
        annotation_clip=False,
        **TEXT,
    )
    return ax


def set_title(ax: Axes, title: str, key: Sequence[tuple[str, Any]] = ()) -> None:
    """Set the title, and below it the legend of the colours."""
    lines = -(-len(key) // _KEY_COLUMNS)
    # matplotlib fills a legend column by column; readers expect rows.
    key = [entry for column in range(_KEY_COLUMNS) for entry in key[column::_KEY_COLUMNS]]
    weight = "bold" if find_families(title) == [FONT] else "normal"  # an installed font may have no bold face
    # In a figure of our own no labels are above the axes, and matplotlib need not look for them.
    y = 1 if _width_off_screen.get() else None
    ax.set_title(
        title, y=y, loc="left", fontweight=weight, fontsize=TITLE_SIZE, pad=8 + 16 * lines, **style_text(title)
    )
    if key:
        legend = ax.legend(
            [handle for _, handle in key],
            [to_drawable(label) for label, _ in key],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0.1,
            ncols=_KEY_COLUMNS,
            frameon=False,
            handlelength=1,
            handletextpad=0.5,
            columnspacing=1.2,
            prop={"family": FONT, "size": AXIS_SIZE},
        )
        for text in legend.get_texts():
            text.set(**style_text(text.get_text()))


def style_value_axis(ax: Axes, axis: Axis, label: str, form: Callable[..., str]) -> None:
    """Style the axis of the numbers: few ticks with room for their labels, faint grid lines, no frame.

    ``form`` takes a number and a position; it is a function of a module or a partial of one, because a figure that
    holds any other cannot be pickled.
    """
    axis.set_major_locator(_RoomyLocator())
    axis.set_major_formatter(FuncFormatter(form))
    axis.set_label_text(label, **QUIET_TEXT)
    ticks = NO_TICKS["x" if axis is ax.xaxis else "y"]
    axis.set_tick_params(**ticks, labelsize=AXIS_SIZE, labelfontfamily=FONT, labelcolor=QUIET)
    draw_grid(ax, axis)


def draw_grid(ax: Axes, axis: Axis) -> None:
    """Draw faint grid lines of an axis, and no frame."""
    axis.grid(visible=True, color=QUIET, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)


def label_places(ax: Axes, labels: Mapping[Any, str]) -> None:
    """Label places on the horizontal axis."""
    ax.set_xticks([*labels], [*labels.values()], **QUIET_TEXT)
    ax.tick_params(axis="x", **NO_TICKS["x"])


def center_bars(ax: Axes, bars: int) -> None:
    """Limit the horizontal axis to bars at 0, 1 and so on; a single bar is not too wide."""
    half = max(bars, _FEWEST_BARS) / 2 + 0.2
    ax.set_xlim((bars - 1) / 2 - half, (bars - 1) / 2 + half)


def measure_width(ax: Axes) -> float:
    """Return the present width of axes in inches."""
    return ax.bbox.width / ax.figure.dpi


def measure_figure(ax: Axes) -> float:
    """Return the width of the figure in inches that axes have before the layout."""
    return measure_width(ax) / _AXES


class _RoomyLocator(MaxNLocator):
    """Round numbers; on a horizontal axis fewer of them, the longer their labels are."""

    def __init__(self) -> None:
        super().__init__(nbins=_MOST_TICKS, steps=_TICK_STEPS)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the numbers with a tick."""
        axis = cast("Axis", self.axis)
        if axis is axis.axes.xaxis:
            form = axis.get_major_formatter()
            letters = max(len(form(round(end))) for end in (vmin, vmax))  # most ticks are whole numbers
            room = measure_width(axis.axes) / (letters * _TICK_LETTER + _TICK_GAP)
            self.set_params(nbins=min(max(int(room), 1), _MOST_TICKS))
        found: Sequence[float] = super().tick_values(vmin, vmax)
        return found


def read_names(data: Mapping[str, list[Any]], rows: int) -> list[str]:
    """Return the drawable names of the people in the first rows of a table; a column it lacks counts as null.

    A person without an account is named by an email address or a phone number, which analyses also give as the id;
    phone numbers are formatted. Inside `use_names`, its names are returned for people that it has.
    """
    absent: list[Any] = [None] * len(data["counterparty_name"])
    names, usernames, ids = (data.get(f"counterparty_{field}", absent)[:rows] for field in ("name", "username", "id"))
    has_accounts = "counterparty_id" in data
    formatted = [
        format_phone(name) if name and has_accounts and identifier in {None, name} else name
        for name, identifier in zip(names, ids, strict=True)
    ]
    labels = to_drawable_names(formatted, usernames, ids)
    given = _names.get()
    return [given.get((ids[row], names[row]), label) for row, label in enumerate(labels)]


def name_people(people: Mapping[str, Sequence[str | None]]) -> dict[tuple[str | None, str | None], str]:
    """Return the names of people in plots by id and name, with a suffix for namesakes among them.

    Parameters
    ----------
    people : mapping
        The columns ``counterparty_id``, ``counterparty_name`` and ``counterparty_username`` as lists.
    """
    data = {name: list(values) for name, values in people.items()}
    keys = zip(data["counterparty_id"], data["counterparty_name"], strict=True)
    return dict(zip(keys, read_names(data, len(data["counterparty_name"])), strict=True))


@contextlib.contextmanager
def use_names(names: Mapping[tuple[str | None, str | None], str] | None) -> Iterator[None]:
    """Name people in plots inside the block as `name_people` has named them."""
    token = _names.set(names or {})
    try:
        yield
    finally:
        _names.reset(token)


def label_rows(ax: Axes, names: Sequence[str], *, others: bool = False) -> None:
    """Label the rows of a plot of horizontal bars, the first at the top; the last quietly if it is of the others."""
    ax.set_yticks(range(len(names)), names, fontsize=AXIS_SIZE, **TEXT)
    labels = ax.get_yticklabels()
    for label, name in zip(labels, names, strict=True):
        label.set_fontfamily(find_families(name))
    if others:
        labels[-1].set_color(QUIET)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", **NO_TICKS["y"])


def label_bar(ax: Axes, x: float, y: float, text: str, *, quiet: bool = False) -> None:
    """Write a text at the end of a horizontal bar, or at the start of one to the left."""
    colour: dict[str, Any] = {"color": QUIET} if quiet else {}
    ax.annotate(
        text,
        (max(x, 0), y),
        xytext=(4, 0),
        textcoords="offset points",
        va="center_baseline",
        fontsize=LABEL_SIZE,
        annotation_clip=False,
        **colour,
        **TEXT,
    )


def make_room(ax: Axes, ends: Sequence[float], labels: Sequence[str], names: Sequence[str]) -> float:
    """Return the end of an axis on which the labels of horizontal bars have room, next to the names of the rows."""
    width = measure_axis(ax, names)
    # Labels that need nearly all of the width are cut rather than all bars.
    fractions = [min(_measure([label]) * _LABEL_LETTER / width, _MOST_OF_WIDTH) for label in labels]
    return max([1.0, *(end / (1 - fraction) for end, fraction in zip(ends, fractions, strict=True))])


def measure_axis(ax: Axes, names: Sequence[str]) -> float:
    """Return the width in inches that an axis has next to the names of the rows."""
    return max(measure_figure(ax) - _measure(names) * _NAME_LETTER, 1.0)


def _measure(texts: Iterable[str]) -> int:
    """Return the number of narrow letters in the longest line."""
    lines = [line for text in texts for line in text.splitlines()]
    return max((sum(1 + (east_asian_width(letter) in "WF") for letter in line) for line in lines), default=0)


def find_currency(data: Mapping[str, list[Any]], *, what: str) -> str:
    """Return the one currency of a table's amounts: US dollars without the column ``currency``, unknown for a null."""
    codes = sorted({code or UNKNOWN_CURRENCY for code in data.get("currency", [])})
    if len(codes) > 1:
        raise SchemaError(
            f"{what} needs a table in one currency, not in {' and '.join(map(describe_code, codes))}: draw one of each."
        )
    return codes[0] if codes else US_DOLLARS


def money_format(amounts: Iterable[float | None], currency: str) -> Callable[[float], str]:
    """Return a format function for the amounts of one plot: without cents if all are whole, else with cents."""
    is_whole = all(amount is None or float(amount).is_integer() for amount in amounts)
    decimals = 0 if is_whole else count_decimals(currency) or 2
    return functools.partial(format_money, currency=currency, decimals=decimals)


def style_money_axis(ax: Axes, axis: Axis, what: str, currency: str) -> None:
    """Style an axis of amounts, with cents only where one is not whole; its label names their currency."""
    form = functools.partial(format_amount, currency=currency)
    style_value_axis(ax, axis, f"{what}, {name_currency(currency)}", form)


def format_amount(units: float, _position: int | None = None, *, currency: str) -> str:
    """Return the amount of a tick, with cents if it is not whole."""
    return money_format([units], currency)(units)


def format_whole(number: float, _position: int | None = None) -> str:
    """Return the number of a tick, without decimals, and without a sign: people who are gone are counted below zero."""
    return f"{abs(number):,.0f}"


def format_share(share: float, _position: int | None = None) -> str:
    """Return the share of a tick in per cent."""
    return f"{share:.0%}"


def read_ink() -> str:
    """Return the colour of text, which is light in a dark theme or style sheet."""
    return str(rcParams["text.color"])


def read_line_style() -> dict[str, Any]:
    """Return the properties of a line over bars: the colour of text; without a background black, edged with white."""
    if rcParams["axes.facecolor"] == "none":
        return {"color": "black", "path_effects": [withStroke(linewidth=2.6, foreground="white")]}
    return {"color": read_ink()}


def ink_on(colour: str) -> str:
    """Return black or white, whichever stands out more on a colour (WCAG 2, contrast ratio)."""
    return max(("black", "white"), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it."""
    luminances = []
    for colour in (one, other):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]  # noqa: PLR2004 - sRGB
        luminances.append(sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)
