"""Plot of the money received and sent in each month, quarter or year."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.currencies import name_currency
from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.plots._parts import style
from p2p_analytics.plots._parts.periods import MONTH, QUARTER, YEAR, PeriodTable, build_period_table, choose_period
from p2p_analytics.plots._parts.text import TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_LABEL: Final = 0.35  # width in inches of a label on the axis, with the gap to the next
_FEWEST: Final = 6  # the width of the axis in bars, at least, so that a single bar is not too wide
_NO_DATE: Final = "no\ndate"
_PER_YEAR: Final = {MONTH: 12, QUARTER: 4, YEAR: 1}


def monthly_flow(table: IntoFrame, *, ax: Axes | None = None, period: str | None = None) -> Axes:
    """Draw what was received and sent in each month, quarter or year, and the net of the two.

    Each period has a bar up for received, a bar down for sent and a point on the line of the net. The bars are months
    up to four years, quarters up to twelve, and years from then on; the title says which, and the axis label which
    years are not whole. Payments without a date have the last bars. Of more than 240 months, 80 quarters or 60 years,
    mostly empty because of a wrong date, only those with payments are drawn, and the axis label says so. A table
    without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.monthly_flow`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    period : {"month", "quarter", "year"}, optional
        The period of a bar; by default it depends on the number of months.

    Raises
    ------
    ConfigurationError
        ``period`` is not one of these.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    if period is not None and period not in _PER_YEAR:
        raise ConfigurationError(f"period={period!r} is not valid: give one of {', '.join(map(repr, _PER_YEAR))}.")
    data = style.read_columns(table, ["month", "sent", "received", "net"], what="plots.monthly_flow")
    currency = style.find_currency(data, what="plots.monthly_flow")
    months = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    periods = build_period_table(months, period or choose_period(months))
    ax = style.prepare_axes(ax, height=3.8)
    title = f"Money received and sent, {periods.word} by {periods.word}"
    if not months:
        return style.draw_empty(ax, title, "No settled payments")
    columns = {name: [row[name] for row in periods.rows] for name in ("period", "received", "sent", "net")}
    rows = range(len(periods.rows))
    received = ax.bar(rows, columns["received"], width=0.8, color=style.IN)
    sent = ax.bar(rows, [-amount for amount in columns["sent"]], width=0.8, color=style.OUT)
    room = max(int(ax.bbox.width / ax.figure.dpi / _LABEL), 2)
    few = len(rows) <= room
    properties: dict[str, Any] = {"linewidth": 1.2, "marker": "o", "markersize": 4} if few else {"linewidth": 0.9}
    (net,) = ax.plot(rows, columns["net"], color=_ink(), **properties)
    ax.axhline(0, color=style.QUIET, linewidth=0.8)
    middle, half = (len(rows) - 1) / 2, max(len(rows), _FEWEST) / 2 + 0.2
    ax.set_xlim(middle - half, middle + half)
    ticks = _label_periods(columns["period"], periods, room)
    ax.set_xticks(list(ticks), list(ticks.values()), fontsize=style.AXIS_SIZE, color=style.QUIET, **TEXT)
    ax.tick_params(axis="x", length=0)
    label = f"Settled payments, {name_currency(currency)}"
    style.style_value_axis(ax, ax.yaxis, label, style.tick_format(currency))
    remarks = [f"{periods.word.capitalize()}s without payments are left out"] if periods.left_out else []
    if periods.word == YEAR:
        remarks += _describe_partial_years(sorted(month for month in data["month"] if month is not None))
    ax.set_xlabel("; ".join(remarks), fontsize=style.AXIS_SIZE, color=style.QUIET, **TEXT)
    style.set_title(ax, title, [("received", received), ("sent", sent), ("net", net)])
    return ax


def _label_periods(names: list[str | None], periods: PeriodTable, room: int) -> dict[int, str]:
    """Return the labels of the rows that have one: all, every third month, or one year in n; at most ``room``."""
    dated = {row: name for row, name in enumerate(names) if name is not None}
    undated = {row: _NO_DATE for row, name in enumerate(names) if name is None}
    if len(names) <= room and not periods.left_out:
        return {row: _label(name, with_year=row == 0 or _is_first(name)) for row, name in dated.items()} | undated
    if periods.word == MONTH and len(names) <= 3 * room and not periods.left_out:
        wanted = {row: _label(name, with_year=_is_first(name)) for row, name in dated.items() if int(name[5:]) % 3 == 1}
    elif periods.left_out:
        wanted = {row: name[:4] for row, name in dated.items() if row == 0 or name[:4] != dated[row - 1][:4]}
    else:
        step = -(-len(names) // (_PER_YEAR[periods.word] * room))
        wanted = {row: name[:4] for row, name in dated.items() if _is_first(name) and int(name[:4]) % step == 0}
    apart = -(-len(names) // room)
    chosen: dict[int, str] = {}
    for row, label in wanted.items():
        if all(abs(row - other) >= apart for other in (*chosen, *undated)):
            chosen[row] = label
    return chosen | undated


def _is_first(name: str) -> bool:
    """Return whether a period is the first of its year."""
    return name[4:] in {"", "-01", " Q1"}


def _label(name: str, *, with_year: bool) -> str:
    year, part = name[:4], name[5:]
    if not part:
        return year
    word = part if part.startswith("Q") else MONTH_NAMES[int(part) - 1]
    return f"{word}\n{year}" if with_year else word


def _describe_partial_years(months: list[str]) -> list[str]:
    """Return remarks on the first and the last year if the months do not fill them."""
    if not months:
        return []
    (first_year, first), (last_year, last) = (month.split("-") for month in (months[0], months[-1]))
    begin = [f"{first_year} from {MONTH_NAMES[int(first) - 1]}"] if first != "01" else []
    return begin + ([f"{last_year} up to {MONTH_NAMES[int(last) - 1]}"] if last != "12" else [])


def _ink() -> str:
    """Return the colour of text, which is light in a dark style sheet."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])
