"""Tables of months added up to quarters or years, and their labels on an axis."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.display import MONTH_NAMES, MOST_MONTHS
from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

MONTH: Final = "month"
QUARTER: Final = "quarter"
YEAR: Final = "year"
PER_YEAR: Final = {MONTH: 12, QUARTER: 4, YEAR: 1}
_NAMES: Final[dict[str, Callable[[str], str]]] = {
    MONTH: str,
    QUARTER: lambda month: f"{month[:4]} Q{(int(month[5:]) + 2) // 3}",
    YEAR: lambda month: month[:4],
}
_SUMS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    **dict.fromkeys(("sent", "received", "net"), add_units),
    **dict.fromkeys(("payments", "public", "friends", "private", "sensitive_public"), sum),
    "running_net": lambda values: values[-1],
}
_LABEL: Final = 0.35  # width in inches of a label on the axis, with the gap to the next
_NO_DATE: Final = "no\ndate"
_MOST_BARS: Final = 48  # readable in a plot, as months or quarters
_MOST_ROWS: Final = {MONTH: MOST_MONTHS, QUARTER: 80, YEAR: 60}  # a longer table has only the periods with payments


class PeriodTable(NamedTuple):
    """Money or payments by period, in order of time.

    The rows have ``period`` (None for payments without a date), and the columns of `monthly_flow` or `exposure` that
    the months have.
    """

    word: str  # "month", "quarter" or "year"
    rows: list[dict[str, Any]]
    left_out: int  # the number of periods without payments that have no row


def choose_period(months: Sequence[Mapping[str, Any]]) -> str:
    """Return the shortest period, "month", "quarter" or "year", that gives a readable number of bars."""
    for word in (MONTH, QUARTER):
        if sum(row["period"] is not None for row in build_period_table(months, word).rows) <= _MOST_BARS:
            return word
    return YEAR


def build_period_table(table: Iterable[Mapping[str, Any]], word: str) -> PeriodTable:
    """Return the rows of `monthly_flow` or `exposure` added up by month, quarter or year, as far as they have columns.

    The order of the months does not matter.
    """
    in_order = sorted(table, key=lambda row: (row["month"] is None, row["month"] or ""))
    rows = []
    for period, group in groupby(in_order, lambda row: row["month"] and _NAMES[word](row["month"])):
        months = [*group]
        sums = {name: add([row[name] for row in months]) for name, add in _SUMS.items() if name in months[0]}
        rows.append({"period": period, **sums})
    moved = [row for row in rows if has_payments(row)] if len(rows) > _MOST_ROWS[word] else rows
    return PeriodTable(word, moved, len(rows) - len(moved))


def count_labels(ax: Axes) -> int:
    """Return the number of labels of periods that an axis has room for."""
    return max(int(style.measure_width(ax) / _LABEL), 2)


def label_periods(ax: Axes, periods: PeriodTable, months: Iterable[str | None]) -> None:
    """Label the bars of periods at 0, 1 and so on as far as there is room, and name the periods that are left out."""
    style.center_bars(ax, len(periods.rows))
    style.label_places(ax, _choose_labels([row["period"] for row in periods.rows], periods, count_labels(ax)))
    remarks = [f"{periods.word.capitalize()}s without payments are left out"] if periods.left_out else []
    dated = sorted(month for month in months if month is not None)
    if periods.word == YEAR and dated:
        (first_year, first), (last_year, last) = (month.split("-") for month in (dated[0], dated[-1]))
        remarks += [f"{first_year} from {MONTH_NAMES[int(first) - 1]}"] if first != "01" else []
        remarks += [f"{last_year} up to {MONTH_NAMES[int(last) - 1]}"] if last != "12" else []
    ax.set_xlabel("; ".join(remarks), **style.QUIET_TEXT)


def has_payments(row: Mapping[str, Any]) -> bool:
    """Return whether a row of a `PeriodTable` has payments."""
    return bool(row["payments"] if "payments" in row else row["sent"] or row["received"])


def _choose_labels(names: list[str | None], periods: PeriodTable, room: int) -> dict[int, str]:
    """Return the labels of the rows that have one: all, every third month, or one year in n; at most ``room``."""
    dated = {row: name for row, name in enumerate(names) if name is not None}
    undated = {row: _NO_DATE for row, name in enumerate(names) if name is None}
    if len(names) <= room and not periods.left_out:
        return {row: _label(name, with_year=row == 0 or _is_first(name)) for row, name in dated.items()} | undated
    if periods.word == MONTH and len(names) <= 3 * room and not periods.left_out:
        firsts = {row: name for row, name in dated.items() if int(name[5:]) % 3 == 1}
        wanted = {row: _label(name, with_year=row == min(firsts) or _is_first(name)) for row, name in firsts.items()}
    elif periods.left_out:
        wanted = {row: name[:4] for row, name in dated.items() if row == 0 or name[:4] != dated[row - 1][:4]}
    else:
        step = -(-len(names) // (PER_YEAR[periods.word] * room))
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
