"""Plot of the payments that recur."""

from __future__ import annotations

__all__ = ["recurring"]

from calendar import monthrange
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from p2p_analytics.arguments import check_top
from p2p_analytics.display import format_count
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.dates import label_dates
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import keep_left_to_right, to_drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_LONGEST: Final = 16  # letters of a note
_SHORTEST: Final = 0.15  # months of a bar
_SIDES: Final = {"out": ("sent", colours.OUT), "in": ("received", colours.IN)}
_LONGEST_NAME: Final = 23  # letters of a name that has a note
_LETTER: Final = 0.074  # inches
_TWO_LABELS: Final = 0.9  # inches
_PALE: Final = 0.7  # share of white in the bar of a series that has ended
_MARKS: Final = {"active": ("next date", "D", "white"), "late": ("missed date", "X", "")}  # "": the colour of text
_TIMES_A_YEAR: Final = {"weekly": 52, "fortnightly": 26, "monthly": 12, "quarterly": 4, "yearly": 1}
_NEEDED: Final = (
    "counterparty_name", "direction", "cadence", "amount", "first_date", "last_date", "next_expected", "state", "note",
)  # fmt: skip


def recurring(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw the payments that recur, and when the next one is expected.

    Each row of the table, in its order, has a bar from the first date to the last, pale if the series has ended, and a
    mark at the date that is expected next: a white diamond, or a black cross where the series is late. It is labelled
    with the median amount, the cadence, and the state if not active. The rows after the first ``top``, if they are
    several, share the last one: it has the sums of a year of the series among them that have not ended. A table without
    rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.recurring`.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of series shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    most = check_top(top)
    data = style.read_columns(table, _NEEDED, what="plots.recurring")
    currency = style.find_currency(data, what="plots.recurring")
    shown = count_shown(len(data["state"]), most)
    rest = len(data["state"]) - shown
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(shown + (rest > 0), 3)))
    title = "Payments that recur, with usual amounts"
    if not shown:
        return style.draw_empty(ax, title, "No payments recur")
    money = style.money_format(data["amount"][:shown], currency)
    people = style.read_names(data, shown)
    names = [
        # A long name leaves no room for the note.
        keep_left_to_right(person)
        + (f", {to_drawable(note, longest=_LONGEST)}" if note and len(person) <= _LONGEST_NAME else "")
        for person, note in zip(people, data["note"][:shown], strict=True)
    ]
    parts = zip(data["amount"][:shown], data["cadence"], data["state"], strict=False)
    labels = [
        f"{money(amount)} {to_drawable(cadence)}" + ("" if state == "active" else f", {to_drawable(state)}")
        for amount, cadence, state in parts
    ]
    if rest:
        names.append(format_count(rest, "other series", "other series"))
        labels.append(_sum_others(data, shown, currency))
    begin = min(data["first_date"])
    key, ends = _draw_rows(ax, data, shown, begin)
    for row, (end, label) in enumerate(zip(ends, labels, strict=True)):
        style.label_bar(ax, end, row, label, quiet=row == shown)
    room = style.make_room(ax, ends, labels, names)
    ax.set_xlim(-0.01 * room, room)
    style.label_rows(ax, names, others=rest > 0)
    width = max(style.measure_width(ax) - max(map(len, names)) * _LETTER, 1.0) * max(ends) / room
    first = begin.month - 1
    days = [date(begin.year + at // 12, at % 12 + 1, 1) for at in range(first, first + 1 + int(max(ends)))]
    label_dates(ax, days if width > _TWO_LABELS else days[:1], "month", width=width)
    style.draw_grid(ax, ax.xaxis)
    style.set_title(ax, title, key)
    return ax


def _draw_rows(ax: Axes, data: style.Columns, shown: int, begin: date) -> tuple[list[tuple[str, Any]], list[float]]:
    """Draw the bars and marks; return the legend, and where each row ends, in months from the beginning."""
    starts, lasts, due = (
        [_count_months(begin, day) for day in data[name]] for name in ("first_date", "last_date", "next_expected")
    )
    key: list[tuple[str, Any]] = []
    for side, (word, colour) in _SIDES.items():
        mine = [row for row in range(shown) if data["direction"][row] == side]
        if mine:
            lengths = [max(lasts[row] - starts[row], _SHORTEST) for row in mine]
            bars = ax.barh(mine, lengths, left=[starts[row] for row in mine], height=0.5, color=colour)
            pale = tuple(part + (1 - part) * _PALE for part in to_rgb(colour))  # mixed with white
            for row, bar in zip(mine, bars, strict=True):
                if data["state"][row] == "ended":
                    bar.set(facecolor=pale, edgecolor=colour, linewidth=0.8)
            key.append((word, Patch(color=colour)))
    ends = lasts[:shown]
    for state, (word, shape, colour) in _MARKS.items():
        mine = [row for row in range(shown) if data["state"][row] == state]
        if mine:
            ink = style.read_ink()
            look: dict[str, Any] = {"marker": shape, "color": colour or ink, "edgecolors": ink, "s": 26, "zorder": 3}
            marks = ax.scatter([due[row] for row in mine], mine, linewidths=0.8, clip_on=False, **look)
            key.append((word, marks))
            for row in mine:
                ends[row] = due[row] + 0.01 * max(due)
    if shown < len(lasts):
        ax.barh(
            shown, max(lasts[shown:]) - min(starts[shown:]), left=min(starts[shown:]), height=0.2, color=colours.QUIET
        )
        ends.append(max(lasts[shown:]))
    return key, ends


def _sum_others(data: style.Columns, shown: int, currency: str) -> str:
    """Return what the series without a row that have not ended amount to in a year."""
    sums = {}
    rows = list(zip(data["direction"], data["cadence"], data["amount"], data["state"], strict=True))[shown:]
    for side, (word, _) in _SIDES.items():
        amounts = [
            amount
            for direction, cadence, amount, state in rows
            if direction == side and state != "ended"
            for _ in range(_TIMES_A_YEAR.get(cadence, 0))
        ]
        if amounts:
            sums[word] = add_units(amounts)
    money = style.money_format(sums.values(), currency)
    return "\n".join(f"{money(amount)} a year {word}" for word, amount in sums.items()) or "ended"


def _count_months(begin: date, day: date) -> float:
    """Return the months, with a fraction, from the first of the month of one day to another day."""
    months = (day.year - begin.year) * 12 + day.month - begin.month
    return months + (day.day - 1) / monthrange(day.year, day.month)[1]
