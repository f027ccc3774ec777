"""Plot of the money sent and received over time, by person, category, action or kind."""

from __future__ import annotations

__all__ = ["spending_over_time"]

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.display import format_count
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.dates import find_period, label_dates
from p2p_analytics.plots._parts.text import style_text, to_drawable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_AMOUNTS: Final = ("sent", "received")
_NEEDED: Final = ("period", *_AMOUNTS)
_PLAIN: Final = frozenset({*_NEEDED, "net", "payments", "currency"})
_MOST: Final = 6  # values with a colour each
# Of Okabe and Ito, and of Tol; neighbours differ in greyscale too.
_COLOURS: Final = ("#0072B2", "#E69F00", "#882255", "#56B4E9", "#009E73", "#CC79A7")
_REST: Final = "#DDDDDD"
_MOST_YEARS: Final = 20  # of more that are mostly empty, only the periods with money are drawn
_FEWEST: Final = 4  # the width of the axis in periods, at least
_LABELS: Final = 2.1  # inches for the labels on the left and on the right
_BETWEEN_LABELS: Final = 0.17  # inches
_BESIDE: Final = 0.06  # distance of a label from the areas, in widths of the axis
_ABOVE_LINES: Final = 3  # matplotlib draws lines at 2
_LONGEST: Final = 16
_NARROW: Final = 60  # periods
_WITH_MARKERS: Final = 36


class _Series(NamedTuple):
    label: str
    colour: str
    amounts: list[float]


def spending_over_time(table: IntoFrame, *, ax: Axes | None = None, amount: str = "sent") -> Axes:
    """Draw the money in each period, divided by the values of the grouping column.

    The six values with the most money have areas on top of each other, the largest at the bottom, and all others one
    more; each is labelled on the right, with its sum, and a line connects the label with the area if it reaches the
    last period. A table without a grouping column has a line for sent and one for received, with their sums in the
    legend. Of more than 20 years, mostly empty because of a wrong date, only the periods with money are drawn, and the
    axis label says so. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.spending_over_time`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    amount : {"sent", "received"}, optional
        The amounts of the areas.

    Raises
    ------
    ConfigurationError
        ``amount`` is neither.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    if amount not in _AMOUNTS:
        raise ConfigurationError(f"amount={amount!r} is not valid: give 'sent' or 'received'.")
    data = style.read_columns(table, _NEEDED, what="plots.spending_over_time")
    currency = style.find_currency(data, what="plots.spending_over_time")
    by = [name for name in data if name not in _PLAIN]
    periods = sorted(set(data["period"]), key=lambda day: (day is None, day))
    word = find_period([day for day in periods if day is not None])
    ax = style.prepare_axes(ax, height=3.8)
    title = f"Money {amount if by else 'sent and received'}{f', {word} by {word}' if word else ''}"
    if by:
        title += f", by {'person' if 'counterparty_name' in by else to_drawable(by[0])}"
    if not periods:
        return style.draw_empty(ax, title, "No settled payments")
    if by:
        cells = _add_up(data, by, periods, amount)
    else:
        cells = {(name,): _add_up(data, [], periods, name).get((), []) for name in _AMOUNTS}
    moved = [at for at in range(len(periods)) if any(amounts[at] for amounts in cells.values())]
    dated = [day for day in periods if day is not None]
    is_long = bool(dated) and dated[-1].year - dated[0].year > _MOST_YEARS and len(periods) > 2 * len(moved)
    if is_long:
        periods = [periods[at] for at in moved]
        cells = {key: [amounts[at] for at in moved] for key, amounts in cells.items()}
    middle, half = (len(periods) - 1) / 2, max(len(periods), _FEWEST) / 2
    ax.set_xlim(middle - half, middle + half)
    key = []
    if by:
        series = _choose_series(by, cells)
        _label_areas(ax, series, _draw_areas(ax, series), currency)
    else:
        lines = (("sent", colours.OUT), ("received", colours.IN))
        key = _draw_lines(ax, [_Series(name, colour, cells[name,]) for name, colour in lines], currency)
    style.style_money_axis(ax, ax.yaxis, "Settled payments", currency)
    label_dates(ax, periods, word, width=max(style.measure_figure(ax) - _LABELS, 1.0))
    ax.set_xlabel("Periods without payments are left out" if is_long else "", **style.QUIET_TEXT)
    style.set_title(ax, title, key)
    return ax


def _add_up(
    data: style.Columns, by: list[str], periods: Sequence[date | None], amount: str
) -> dict[tuple[Any, ...], list[float]]:
    """Return the amounts in each period by value of the grouping columns."""
    place = {day: at for at, day in enumerate(periods)}
    cells: dict[tuple[Any, ...], list[float]] = {}
    for day, units, *value in zip(data["period"], data[amount], *(data[name] for name in by), strict=True):
        cells.setdefault(tuple(value), [0.0] * len(periods))[place[day]] += units
    return cells


def _choose_series(by: list[str], cells: dict[tuple[Any, ...], list[float]]) -> list[_Series]:
    """Return the values with the most money, and the sum of the others."""
    sums = {value: add_units(amounts) for value, amounts in cells.items()}
    ranked = sorted((value for value in cells if sums[value]), key=lambda value: (-sums[value], [*map(str, value)]))
    # One more colour takes no more room than "1 other".
    most = _MOST if len(ranked) > _MOST + 1 else len(ranked)
    names = ["not known" if value[0] is None else to_drawable(value[0]) for value in ranked[:most]]
    if "counterparty_name" in by:
        columns = {name: [value[at] for value in ranked[:most]] for at, name in enumerate(by)}
        names = style.read_names(columns, most)
    colours = (*_COLOURS, _REST)
    series = [
        _Series(name, colour, cells[value]) for name, colour, value in zip(names, colours, ranked[:most], strict=False)
    ]
    if rest := ranked[most:]:
        amounts = [add_units(units) for units in zip(*(cells[value] for value in rest), strict=True)]
        words = ("other person", "other people") if "counterparty_name" in by else ("other", "others")
        series.append(_Series(format_count(len(rest), *words), _REST, amounts))
    return series or [_Series("nothing", _REST, [0.0] * len(next(iter(cells.values()))))]


def _draw_areas(ax: Axes, series: Sequence[_Series]) -> list[float]:
    """Draw the areas on top of each other, and return the middle of each in the last period."""
    base = [0.0] * len(series[0].amounts)
    edges = [at - 0.5 for at in range(len(base) + 1)]
    ends = []
    border = 0.4 if len(base) < _NARROW else 0  # white borders would hide narrow areas
    for each in series:
        top = [below + units for below, units in zip(base, each.amounts, strict=True)]
        ax.stairs(top, edges, baseline=base, fill=True, facecolor=each.colour, edgecolor="white", linewidth=border)
        ends.append((base[-1] + top[-1]) / 2)
        base = top
    ax.set_ylim(min(0, *base), (max(base) or 1) * 1.05)
    return ends


def _draw_lines(ax: Axes, series: Sequence[_Series], currency: str) -> list[tuple[str, Any]]:
    """Draw a line for each series, and return the legend with their sums."""
    markers: dict[str, Any] = {"marker": "o", "markersize": 4} if len(series[0].amounts) < _WITH_MARKERS else {}
    sums = [add_units(each.amounts) for each in series]
    money = style.money_format(sums, currency)
    key = []
    for each, units, dashes in zip(series, sums, ("solid", "dashed"), strict=True):
        look = {"color": each.colour, "linewidth": 1.4, "linestyle": dashes, **markers}
        (line,) = ax.plot(range(len(each.amounts)), each.amounts, **look)
        key.append((f"{each.label} {money(units)}", line))
    ax.set_ylim(0, (max(map(max, (each.amounts for each in series))) or 1) * 1.05)
    return key


def _label_areas(ax: Axes, series: Sequence[_Series], ends: Sequence[float], currency: str) -> None:
    """Write the name and the sum of each series on the right, in the order of their ends and apart from each other.

    Each has a square in its colour, with a line to the area, unless nothing of it is in the last period.
    """
    sums = [add_units(each.amounts) for each in series]
    money = style.money_format(sums, currency)
    low, high = ax.get_ylim()
    left, right = ax.get_xlim()
    gap = (high - low) * 2 * _BETWEEN_LABELS * ax.figure.dpi / ax.bbox.height
    order = sorted(range(len(series)), key=lambda at: (ends[at], at))
    beside = right + (right - left) * _BESIDE
    for at, place in zip(order, _spread([ends[at] for at in order], gap, low, high), strict=True):
        look: dict[str, Any] = {"color": series[at].colour, "clip_on": False}
        ax.plot(beside, place, marker="s", markersize=6, zorder=_ABOVE_LINES, **look)
        if series[at].amounts[-1]:
            ax.plot((right, beside), (ends[at], place), linewidth=1, **look)
        name = series[at].label
        if len(name) > _LONGEST:
            name = to_drawable(name, longest=_LONGEST)
        ax.annotate(
            f"{name}\n{money(sums[at])}",
            (beside, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.LABEL_SIZE,
            annotation_clip=False,
            **style_text(name),
        )


def _spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places in rising order at least the gap apart, near the wanted ones and between the limits if possible."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap if places else low + gap / 2))
    excess = max(places[-1] - (high - gap / 2), 0)
    for at in reversed(range(len(places))):
        limit = places[at + 1] - gap if at + 1 < len(places) else places[at] - excess
        places[at] = min(places[at], limit)
    return places
