"""Axis of periods that follow each other: labels of days, weeks, months, quarters or years."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from matplotlib.axes import Axes

_NO_DATE: Final = "no\ndate"
_LABEL: Final = 0.42  # width in inches of a label, with the gap to the next
_FEWEST_MONTHS: Final = 4  # of fewer, single days are labelled
_STEPS: Final = (1, 3, 6)  # months from label to label
# The longest distance in days between the first days of two periods.
_LONGEST: Final = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}


def find_period(days: Sequence[date]) -> str:
    """Return the period that the rising first days are apart: "day" to "year"; empty for fewer than two."""
    apart = min(((after - before).days for before, after in pairwise(days)), default=0)
    return next((word for word, longest in _LONGEST.items() if 0 < apart <= longest), "")


def label_dates(ax: Axes, days: Sequence[date | None], word: str, *, width: float) -> None:
    """Label as many of the first days of periods, numbered from 0, as an axis of that width in inches has room for."""
    dated = [(at, day) for at, day in enumerate(days) if day is not None]
    undated = [at for at, day in enumerate(days) if day is None]
    room = max(int(width / _LABEL) - len(undated), 2)
    apart = -(-len(days) // room)
    chosen: list[tuple[int, str]] = []
    for at, label in _choose(dated, word, room):
        if (not chosen or at - chosen[-1][0] >= apart) and all(missing - at >= apart for missing in undated):
            chosen.append((at, label))
    style.label_places(ax, dict([*chosen, *((at, _NO_DATE) for at in undated)]))


def _choose(dated: Sequence[tuple[int, date]], word: str, room: int) -> list[tuple[int, str]]:
    """Return the periods to label: all; or the first of each month, quarter or half; or of each year, or every nth."""
    if word == "year":
        return [(at, f"{day.year}") for at, day in dated]
    if len(dated) <= room:
        return [(at, _label(day, before, word)) for (at, day), before in zip(dated, _shift(dated), strict=True)]
    firsts = [
        (at, day)
        for (at, day), before in zip(dated, _shift(dated), strict=True)
        if before is None or (day.year, day.month) != (before.year, before.month)
    ]
    if len(firsts) < _FEWEST_MONTHS and word != "month":
        chosen = dated[:: -(-len(dated) // room)]
        return [(at, _label(day, before, word)) for (at, day), before in zip(chosen, _shift(chosen), strict=True)]
    for step in _STEPS:
        chosen = [(at, day) for at, day in firsts if (day.month - 1) % step == 0]
        if len(chosen) <= room:
            shown = "quarter" if word == "quarter" else "month"
            return [(at, _label(day, before, shown)) for (at, day), before in zip(chosen, _shift(chosen), strict=True)]
    # The first of all is not the first of its year, which may not be whole.
    years = [
        (at, day)
        for (at, day), before in zip(firsts, _shift(firsts), strict=True)
        if before is not None and day.year != before.year
    ]
    step = -(-len(years) // room)
    return [(at, f"{day.year}") for at, day in years if day.year % step == 0]


def _shift(dated: Sequence[tuple[int, date]]) -> list[date | None]:
    """Return the day before each in the list."""
    return [None, *(day for _, day in dated[:-1])]


def _label(day: date, before: date | None, word: str) -> str:
    """Return the label of a period, with the year in the first label and where it changes.

    A single period may be a month or a year, so its label says only where it begins.
    """
    year = f"\n{day.year}" if before is None or before.year != day.year else ""
    month = MONTH_NAMES[day.month - 1]
    if word == "quarter":
        return f"Q{(day.month + 2) // 3}{year}"
    if word == "month":
        return f"{month}{year}"
    return f"{'' if word else 'from '}{day.day} {month}{year}"
