"""Sections of a page with their tables, without the ones that privacy mode hides."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics import plots
from p2p_analytics.analyses import catalogue
from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.report._declared import SECTIONS
from p2p_analytics.report._page import to_rows
from p2p_analytics.threads import map_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from zoneinfo import ZoneInfo

    import pandas as pd
    from matplotlib.axes import Axes

    from p2p_analytics.history import History
    from p2p_analytics.report._declared import Section

MOST_ROWS: Final = 30
_TABLES_AT_ONCE: Final = 2  # more would take more memory
_MOST_BARS: Final = 12
_MOST_UNFOLDED: Final = 8  # a longer table is folded on screens
_DURATIONS: Final = frozenset({"days", "age"})
_SHOWN_IN: Final = {"pending_ageing": "pending_requests"}  # the analyses that share the section of another
_BELOW: Final = "The table below has the same figures."
_NO_AUDIENCE: Final = "The audience of no payment is known."


def choose_sections(names: Sequence[str] | None) -> tuple[Section, ...]:
    """Return the sections of analyses, in the order of the report; without names all of them.

    Raises
    ------
    ConfigurationError
        A name is not that of an analysis, or there are none.
    """
    if names is None:
        return SECTIONS
    given = [names] if isinstance(names, str) else list(names)
    wrong = [name for name in given if not isinstance(name, str) or name not in catalogue.CATALOGUE]
    if wrong or not given or isinstance(names, str):
        found = ", ".join(map(repr, wrong or given)) or "none"
        raise ConfigurationError(f"only is a list of analyses, of {', '.join(catalogue.CATALOGUE)}, not {found}.")
    wanted = {_SHOWN_IN.get(name, name) for name in given}
    return tuple(section for section in SECTIONS if section.name in wanted)


def build_sections(
    sections: Sequence[Section],
    history: History,
    payments: pd.DataFrame,
    build: Callable[[str], pd.DataFrame],
    *,
    zone: ZoneInfo,
) -> list[dict[str, Any]]:
    """Return the sections for the template, without those about parts of payments that privacy mode hides.

    Parameters
    ----------
    sections : sequence of Section
    history : History
    payments : DataFrame
        Its payments between people.
    build : callable
        Return the table of an analysis by its name.
    zone : ZoneInfo
        The time zone of the tables, which plots name.

    Returns
    -------
    list of dict
        A section has the figure to be drawn as its plot, or None, and its table.
    """
    shown = [section for section in sections if not _list_hidden(section.name, history)]
    names = [section.name for section in shown if not section.template]
    tables = dict(zip(names, map_in_threads(build, names, most=_TABLES_AT_ONCE), strict=True))
    return [
        {"template": section.template, "name": section.name, "title": _find_title(section)}
        if section.template
        else _build_section(section, tables[section.name], payments, zone=zone, strict=history.strict)
        for section in shown
    ]


def describe_omitted(sections: Sequence[Section], history: History) -> str:
    """Return the titles of the sections that are left out, and why, as a sentence; empty without any."""
    hidden = {section.name: _list_hidden(section.name, history) for section in sections}
    titles = [f"“{catalogue.CATALOGUE[name].title}”" for name, parts in hidden.items() if parts]
    parts = dict.fromkeys(part for some in hidden.values() for part in some)
    return f"Left out, because they are about {_join(parts, 'or')}: {_join(titles, 'and')}." if titles else ""


def _list_hidden(name: str, history: History) -> list[str]:
    return catalogue.list_hidden(name, private=history.private, strict=history.strict)


def _join(words: Iterable[str], last: str) -> str:
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end


def _build_section(
    section: Section,
    table: pd.DataFrame,
    payments: pd.DataFrame,
    *,
    zone: ZoneInfo,
    strict: bool,
) -> dict[str, Any]:
    none = _find_reason(section, table, payments)
    rows, left_out = _choose_rows(section, table)
    rows = _add_columns(rows, ["counterparty_id", *(column.name for column in section.columns)], payments)
    title = _find_title(section)
    columns = [
        column
        for column in section.columns
        if column.kind not in _DURATIONS or (not strict and rows[column.name].notna().any())
    ]
    has_days = any(column.kind == "days" for column in columns)
    notes = [section.days] if section.days and has_days else []
    notes += [f"{section.rest[1].split()[-1]} without payments are left out"] if left_out else []
    return {
        "template": "",
        "name": section.name,
        "title": title,
        "none": none,
        "caveat": describe_caveat(section.name, payments),
        "plot": None if none else _find_plot(section.name, zone),
        "figure_words": section.figure or f"{title}: a figure. {_BELOW}",
        "caption": section.caption,
        "order": section.order,
        "notes": notes,
        "columns": columns,
        "headings": [(column.heading, "" if at == 0 else column.style) for at, column in enumerate(columns)],
        "small": section.small,
        "rows": to_rows(rows) if section.columns and not none else [],
        "others": len(table) - left_out - len(rows),
        "rest": section.rest,
        "is_newest": section.is_newest,
        "is_folded": len(rows) > _MOST_UNFOLDED,
        "table": table,
    }


def _add_columns(rows: pd.DataFrame, names: Sequence[str], payments: pd.DataFrame) -> pd.DataFrame:
    """Return rows of payments with the columns that they lack, which are those of PAYMENTS; other rows as they are."""
    lacking = [name for name in names if name not in rows]
    if "payment_id" not in rows or not lacking:
        return rows
    listed = payments[payments["payment_id"].isin(rows["payment_id"].dropna())].set_index("payment_id")
    return rows.assign(**{name: rows["payment_id"].map(listed[name]) for name in lacking})


def _find_title(section: Section) -> str:
    return section.title or catalogue.CATALOGUE[section.name].title


def _find_reason(section: Section, table: pd.DataFrame, payments: pd.DataFrame) -> str:
    """Return the sentence for a section with nothing to show; empty for any other."""
    if lacks_audiences(section.name, payments):
        return _NO_AUDIENCE
    if not len(table) or (section.name == "activity" and not table["payments"].any()):
        return section.none
    return ""


def _choose_rows(section: Section, table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the rows that are listed, and the number of empty periods of a long table, which are not."""
    filled = table
    if section.is_newest and len(table) > MOST_ROWS:  # a wrong date lengthens a table by empty periods
        filled = table[table["payments"] > 0]
    most = plots.count_shown(len(filled), MOST_ROWS)
    rows = filled.tail(most) if section.is_newest else filled.head(most)
    return rows, len(table) - len(filled)


def _find_plot(name: str, zone: ZoneInfo) -> Callable[..., Axes] | None:
    """Return the plot of an analysis with the zone and the bars that a report has room for; None without one."""
    plot: Callable[..., Axes] | None = getattr(plots, name, None)
    if plot is None:
        return None
    given = {"top": _MOST_BARS, "tz": zone}
    taken = inspect.signature(plot).parameters
    return partial(plot, **{argument: value for argument, value in given.items() if argument in taken})
