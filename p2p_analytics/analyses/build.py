"""Tables of analyses by name, from the frames of a history."""

from __future__ import annotations

import inspect
from datetime import date, datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pandas as pd

from p2p_analytics import analyses
from p2p_analytics.analyses._parts.category_rules import UNCATEGORISED
from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.times import EPOCH, MICROSECOND, parse_as_of

__all__ = ["UNCATEGORISED", "HistoryParts", "build_table", "takes"]


class HistoryParts(Protocol):
    """The parts of a history that analyses read beside its payments."""

    @property
    def friends(self) -> pd.DataFrame:
        """FRIENDS."""

    @property
    def strict(self) -> bool:
        """Whether dates are months."""


def build_table(  # noqa: PLR0913 - what analyses take
    name: str,
    payments: pd.DataFrame,
    history: HistoryParts,
    *,
    as_of: datetime | date | str,
    tz: str | ZoneInfo = "UTC",
    end: datetime | None = None,
    **options: Any,  # noqa: ANN401 - arguments of the analysis
) -> pd.DataFrame:
    """Run the named analysis with the arguments it accepts, and return its table.

    Parameters
    ----------
    name : str
    payments : DataFrame
        Rows of the history.
    history : HistoryParts
    as_of : datetime, date or str
    tz : str or ZoneInfo
    end : datetime, optional
        The instant at which the payments end. What recurs is judged there if it is earlier than ``as_of``: a payment
        that is not among them is not late.
    options
        Further keyword arguments of the analysis.
    """
    if ANALYSES[name].is_judged_at_end and end is not None:
        as_of = min(parse_as_of(as_of), max(end, EPOCH) - MICROSECOND)  # nothing recurs before
    given = {
        "friends": history.friends,
        "as_of": as_of,
        "tz": tz,
        "edges": MONTH_EDGES if history.strict else EDGES,
    }
    taken = {argument: value for argument, value in given.items() if takes(name, argument)}
    table: pd.DataFrame = getattr(analyses, name)(payments, **taken, **options)
    return table


def takes(name: str, argument: str) -> bool:
    """Return whether an analysis takes an argument, such as ``tz``."""
    return argument in inspect.signature(getattr(analyses, name)).parameters
