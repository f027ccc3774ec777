"""The tables of all analyses of a history, or of its payments alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import pandas as pd

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError, SchemaError, name_type
from p2p_analytics.export._payments import find_payments
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, require
from p2p_analytics.times import find_zone, parse_as_of

if TYPE_CHECKING:
    from datetime import date, datetime

    from p2p_analytics.history import History


class _Parts(NamedTuple):
    """The parts of a history that analyses need, for a frame without one."""

    friends: pd.DataFrame
    strict: bool = False


class AnalysedPayments(NamedTuple):
    """Payments with the tables of all analyses.

    Attributes
    ----------
    payments, friends : DataFrame
    people : DataFrame or None
        None where a frame of payments is given.
    tables : dict of str to DataFrame
        By the name of the analysis. An analysis that raised an error, such as for several currencies, is missing.
    descriptions : dict of str to str
        The title of each analysis, and the error of a missing one.
    zone : ZoneInfo
        The zone of dates, days and months.
    """

    payments: pd.DataFrame
    friends: pd.DataFrame
    people: pd.DataFrame | None
    tables: dict[str, pd.DataFrame]
    descriptions: dict[str, str]
    zone: ZoneInfo

    def list_tables(
        self, tables: dict[str, pd.DataFrame], notes: dict[str, str], *, title: str
    ) -> dict[str, pd.DataFrame]:
        """Return a table ``about`` with the rows and notes of all tables, then the given ones and the analyses."""
        found, about = tables | self.tables, notes | self.descriptions
        rows = pd.array([len(found[name]) if name in found else None for name in about], dtype="Int64")
        return {"about": pd.DataFrame({title: [*about], "rows": rows, "about": [*about.values()]}), **found}


def analyse(
    source: History | pd.DataFrame,
    *,
    as_of: datetime | date | str | None,
    end: datetime | date | str | None,
    tz: str | ZoneInfo,
    what: str,
) -> AnalysedPayments:
    """Return payments with the tables of all analyses; a private history is in UTC.

    Raises
    ------
    SchemaError
        The frame lacks a column.
    ConfigurationError
        A frame is given without ``as_of``, ``as_of`` or ``end`` is not an instant, or the zone is unknown.
    """
    # It takes longer to import than other files need.
    from p2p_analytics.analyses.build import build_table

    zone = find_zone(tz)
    payments = find_payments(source)
    require(getattr(payments, "columns", ()), PAYMENTS, what=what)
    data_end = getattr(source, "fetched_at", None)
    moment = data_end if as_of is None else as_of
    last = data_end if end is None else parse_as_of(end, name="end")
    if moment is None:
        raise ConfigurationError("The ages of open requests need as_of=: pass the date of the data, or a History.")
    if getattr(source, "private", False):
        zone = ZoneInfo("UTC")
    is_frame = isinstance(source, pd.DataFrame)
    if not is_frame and not hasattr(source, "people"):
        raise SchemaError(f"{what} needs a History or a pandas frame, not a {name_type(source)}: convert it first.")
    parts: Any = _Parts(payments.head(0).reindex(columns=list(FRIENDS))) if is_frame else source
    tables, descriptions = {}, {}
    for name, analysis in ANALYSES.items():
        descriptions[name] = analysis.title
        try:
            tables[name] = build_table(name, payments, parts, as_of=moment, tz=zone, end=last)
        except SchemaError as error:
            descriptions[name] += f"; not here: {error}"
    people = None if is_frame else parts.people
    return AnalysedPayments(payments, parts.friends, people, tables, descriptions, zone)
