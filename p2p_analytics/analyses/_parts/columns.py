"""Columns of results, as the catalogue declares them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from p2p_analytics import catalogue
from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._engine import Kind

ACCOUNT: Final = "account_id"  # the first column of a table with ``by_account``
_KINDS: Final = {
    **dict.fromkeys((catalogue.COUNT, catalogue.YEAR, catalogue.WEEKDAY, catalogue.HOUR), _engine.COUNT),
    catalogue.SHARE: _engine.NUMBER,
    catalogue.SHARE_OF_MONEY: _engine.NUMBER,
    catalogue.FLAG: _engine.FLAG,
    catalogue.INSTANT: _engine.INSTANT,
    catalogue.DATE: _engine.DATE,
}
# Money is computed as cents, and time as microseconds.
_MEASURES: Final[dict[str, tuple[Callable[[str], Kind], str]]] = {
    catalogue.MONEY: (_engine.units, "cents"),
    catalogue.DAYS: (_engine.days, "us"),
    catalogue.AGE: (_engine.days, "us"),
    catalogue.WHOLE_DAYS: (_engine.whole_days, "us"),
}


def declare_columns(name: str, *, without: Collection[str] = (), **computed: str | Kind) -> dict[str, Kind]:
    """Return the kinds of the columns of an analysis.

    Parameters
    ----------
    name : str
        The analysis.
    without : collection of str
        The columns that an option decides.
    computed : str or Kind
        By the name of a column: the computed column, if it has another name (``sent_cents`` for an amount ``sent``), or
        another kind.
    """
    kinds: dict[str, Kind] = {}
    for column in catalogue.ANALYSES[name].columns:
        source = computed.get(column.name, "")
        if column.name in without:
            continue
        if not isinstance(source, str):
            kinds[column.name] = source
        elif column.kind in _MEASURES:
            measure, unit = _MEASURES[column.kind]
            kinds[column.name] = measure(source or f"{column.name}_{unit}")
        else:
            kinds[column.name] = _KINDS.get(column.kind, _engine.TEXT).of(source)
    return kinds
