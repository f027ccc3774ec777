"""Catalogue of the analyses: the title of each for people, and its table from the frames of a history."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from p2p_analytics import analyses
from p2p_analytics.analyses._parts.rules import UNCATEGORISED
from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES
from p2p_analytics.times import EPOCH, MICROSECOND, parse_as_of

if TYPE_CHECKING:
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import pandas as pd

__all__ = [
    "CATALOGUE",
    "DAYS",
    "HOURS",
    "NOTES",
    "UNCATEGORISED",
    "Entry",
    "HistoryParts",
    "build_table",
    "list_hidden",
    "takes",
]

NOTES: Final = "the words of notes"
HOURS: Final = "times of day"
DAYS: Final = "days"


class Entry(NamedTuple):
    """What an analysis shows, in a few words, and the parts of payments that it is about."""

    title: str
    reads: tuple[str, ...] = ()


CATALOGUE: Final = {
    "spend_by_friend": Entry("Where it went"),
    "categories": Entry("What it was for", (NOTES,)),
    "monthly_flow": Entry("Month by month"),
    "spending_over_time": Entry("What it was for, over time", (NOTES,)),
    "people_by_year": Entry("People, year by year"),
    "status_mix": Entry("What became of it"),
    "request_outcomes": Entry("What became of requests"),
    "time_to_settle": Entry("How long requests took", (DAYS,)),
    "pending_ageing": Entry("Still open, by age"),
    "pending_requests": Entry("Open requests"),
    "split_bills": Entry("Split bills", (DAYS,)),
    "activity": Entry("Hours of the week", (HOURS,)),
    "recurring": Entry("What recurs", (DAYS,)),
    "unusual": Entry("Look again", (HOURS,)),
    "exposure": Entry("Who can see it", (NOTES,)),
    "sensitive_notes": Entry("Public notes to look at", (NOTES,)),
}


_JUDGED_BY_ABSENCE: Final = frozenset({"recurring"})


class HistoryParts(Protocol):
    """What analyses read of a history, beside its payments."""

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
    **options: Any,  # noqa: ANN401 - of each analysis
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
    if name in _JUDGED_BY_ABSENCE and end is not None:
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


def list_hidden(name: str, *, private: bool, strict: bool) -> list[str]:
    """Return the parts of payments that an analysis is about, and that the privacy mode of a history hides."""
    hidden = {NOTES, HOURS} if private else set()
    hidden |= {DAYS} if strict else set()
    return [part for part in CATALOGUE[name].reads if part in hidden]
