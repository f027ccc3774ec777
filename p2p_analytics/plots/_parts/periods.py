"""Money received and sent by month, quarter or year, added up from the months."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.display import MOST_MONTHS
from p2p_analytics.money import add_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MONTH: Final = "month"
QUARTER: Final = "quarter"
YEAR: Final = "year"
_MOST_BARS: Final = 48  # readable in a plot, as months or quarters
_MOST_ROWS: Final = {MONTH: MOST_MONTHS, QUARTER: 80, YEAR: 60}  # a longer table has only the periods with payments


class PeriodTable(NamedTuple):
    """Money by period.

    Attributes
    ----------
    word : str
        "month", "quarter" or "year".
    rows : list of dict
        In order of time: ``period`` (None for payments without a date), ``sent``, ``received``, ``net``,
        ``payments`` and ``running_net``.
    left_out : int
        Number of periods without payments that have no row.
    """

    word: str
    rows: list[dict[str, Any]]
    left_out: int


def choose_period(months: Sequence[Mapping[str, Any]]) -> str:
    """Return the shortest period, "month", "quarter" or "year", that gives a readable number of bars."""
    for word in (MONTH, QUARTER):
        if sum(row["period"] is not None for row in build_period_table(months, word).rows) <= _MOST_BARS:
            return word
    return YEAR


def build_period_table(months: Iterable[Mapping[str, Any]], word: str) -> PeriodTable:
    """Return the rows of `monthly_flow` added up by month, quarter or year, as far as they have these columns.

    The order of the months does not matter.
    """
    in_order = sorted(months, key=lambda row: (row["month"] is None, row["month"] or ""))
    rows = [
        _add_up(period, list(group))
        for period, group in groupby(in_order, lambda row: _name_period(row["month"], word))
    ]
    moved = [row for row in rows if _has_payments(row)] if len(rows) > _MOST_ROWS[word] else rows
    return PeriodTable(word, moved, len(rows) - len(moved))


def _has_payments(row: Mapping[str, Any]) -> bool:
    return bool(row["payments"] if "payments" in row else row["sent"] or row["received"])


def _name_period(month: str | None, word: str) -> str | None:
    if month is None or word == MONTH:
        return month
    year, _, number = month.partition("-")
    return year if word == YEAR else f"{year} Q{(int(number) + 2) // 3}"


def _add_up(period: str | None, months: list[Mapping[str, Any]]) -> dict[str, Any]:
    sums = {name: add_units(month[name] for month in months) for name in ("sent", "received", "net")}
    payments = {"payments": sum(month["payments"] for month in months)} if "payments" in months[0] else {}
    running = {"running_net": months[-1]["running_net"]} if "running_net" in months[0] else {}
    return {"period": period, **sums, **payments, **running}
