"""Sections of the report, in their order: most are the figure and the table of an analysis, as declared here."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics import plots
from p2p_analytics.analyses import catalogue
from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from p2p_analytics.history import History

MOST_ROWS: Final = 30
_MOST_BARS: Final = 12
_MOST_UNFOLDED: Final = 8  # a longer table is folded on screens
_NUMBERS: Final = frozenset({"money", "count", "share", "days", "age", "year"})
_DURATIONS: Final = frozenset({"days", "age"})
_SHOWN_IN: Final = {"pending_ageing": "pending_requests"}  # the analyses that share the section of another
_BELOW: Final = "The table below has the same figures."
_NO_AUDIENCE: Final = "The audience of no payment is known."


class Column(NamedTuple):
    """A column of a displayed table: its name in the analysis, its heading, and how its values are written."""

    name: str
    heading: str
    kind: str = "money"

    @property
    def style(self) -> str:
        """The class of its cells."""
        return "number" if self.kind in _NUMBERS else "date" if self.kind in {"instant", "date"} else "text"


class Section(NamedTuple):
    """A section: an analysis with the words around its figure and its table, or a template of its own.

    Attributes
    ----------
    name : str
        The analysis, which is also the plot.
    none : str
        The sentence for a table without rows.
    caption : str
    days : str
        What a caption adds if the table has a column of days.
    columns : tuple of Column
        The first one is the header of its row; without columns there is no table. A column of days without a value is
        left out.
    small : Column, optional
        Shown under the header.
    rest : tuple of str
        The rows that are not shown, as singular and plural.
    figure : str
        The words for the figure, if the table does not have the same figures.
    is_newest : bool
        Whether the last rows are shown rather than the first.
    title : str
        If it is not that of the analysis.
    template : str
        The template of a section of its own.
    """

    name: str
    none: str = ""
    caption: str = ""
    days: str = ""
    columns: tuple[Column, ...] = ()
    small: Column | None = None
    rest: tuple[str, str] = ("", "")
    figure: str = ""
    is_newest: bool = False
    title: str = ""
    template: str = ""


_FLOWS: Final = (Column("sent", "Sent"), Column("received", "Received"))
_PAYMENTS: Final = Column("payments", "Payments", "count")
_PERSON: Final = Column("counterparty_name", "Person", "person")
_NOTE: Final = Column("note", "Note", "note")
SECTIONS: Final = (
    Section("spend_by_friend", template="people.jinja"),
    Section(
        "categories",
        none="No settled payments.",
        caption="Settled payments by category, found by words in their notes; the most sent first",
        columns=(
            Column("category", "Category", "text"),
            *_FLOWS,
            Column("net", "Net"),
            _PAYMENTS,
            Column("share_of_sent", "Share of sent", "share"),
        ),
        rest=("other category", "other categories"),
    ),
    Section(
        "spending_over_time",
        none="No settled payments.",
        figure="Areas of the money sent in each period, by category. The table above has the sums.",
    ),
    Section("monthly_flow", template="months.jinja"),
    Section(
        "people_by_year",
        none="No settled payments.",
        caption="People with settled payments in each year; shares are of the money sent and received",
        columns=(
            Column("year", "Year", "text"),
            Column("people", "People", "count"),
            Column("new", "New", "count"),
            Column("lost", "Gone", "count"),
            Column("top_person_share", "Top person", "share"),
            Column("top_5_share", "Top five", "share"),
            *_FLOWS,
        ),
        rest=("earlier year", "earlier years"),
        is_newest=True,
    ),
    Section(
        "status_mix",
        none="No payments.",
        caption="All payments by action and status",
        columns=(
            Column("action", "Action", "text"),
            Column("status", "Status", "text"),
            _PAYMENTS,
            Column("share", "Share", "share"),
            Column("amount", "Amount"),
        ),
        rest=("other row", "other rows"),
    ),
    Section(
        "request_outcomes",
        none="No requests.",
        caption="Requests by person and direction, open ones not in the share settled; the most requested first",
        days="days are from request to payment",
        columns=(
            _PERSON,
            Column("requests", "Requests", "count"),
            Column("settled", "Settled", "count"),
            Column("asked", "Requested"),
            Column("collected", "Paid"),
            Column("still_open", "Open"),
            Column("share_settled", "Share settled", "share"),
            Column("days_p50", "Half within, days", "days"),
        ),
        small=Column("direction", "Direction", "side"),
        rest=("other row", "other rows"),
    ),
    Section(
        "time_to_settle",
        none="No settled requests with both dates.",
        caption="Days from request to payment",
        columns=(
            Column("direction", "Direction", "side"),
            _PAYMENTS,
            Column("days_p50", "Half within", "days"),
            Column("days_p90", "9 of 10", "days"),
            Column("days_p99", "99 of 100", "days"),
            Column("days_max", "All", "days"),
        ),
    ),
    Section("pending_requests", title="Still open", template="requests.jinja"),
    Section(
        "split_bills",
        none="No split bills.",
        caption="Requests to several people with one note, the newest first",
        columns=(
            _NOTE,
            Column("people", "People", "count"),
            Column("asked", "Requested"),
            Column("collected", "Paid"),
            Column("still_open", "Open"),
            Column("declined", "Not paid"),
            Column("oldest_open_days", "Oldest open, days", "age"),
        ),
        small=Column("date", "Date", "instant"),
        rest=("older bill", "older bills"),
    ),
    Section(
        "recurring",
        none="Nothing recurs.",
        caption="Settled payments that recur, the largest amount first",
        columns=(
            _PERSON,
            Column("direction", "Direction", "side"),
            Column("cadence", "How often", "text"),
            Column("amount", "Amount"),
            _PAYMENTS,
            Column("last_date", "Last", "date"),
            Column("next_expected", "Next", "date"),
            Column("state", "State", "text"),
        ),
        small=_NOTE,
        rest=("other series", "other series"),
    ),
    Section(
        "activity",
        none="No settled payments.",
        figure="Cells for the hours of the week, the darker the more settled payments, with the total of each weekday.",
    ),
    Section(
        "unusual",
        none="No unusual payments.",
        caption="Settled payments that look like duplicates, or are at least five times the usual; the newest first",
        columns=(
            _PERSON,
            Column("date_created", "Date", "instant"),
            Column("amount", "Amount"),
            Column("usual", "Usual"),
            Column("reason", "Reason", "text"),
        ),
        small=_NOTE,
        rest=("older payment", "older payments"),
    ),
    Section(
        "exposure",
        none="No payments.",
        caption="All payments by month and audience; sensitive are public ones with a note to look at",
        columns=(
            Column("month", "Month", "month"),
            _PAYMENTS,
            Column("public", "Public", "count"),
            Column("friends", "Friends", "count"),
            Column("private", "Private", "count"),
            Column("share_public", "Share public", "share"),
            Column("sensitive_public", "Sensitive", "count"),
        ),
        rest=("earlier month", "earlier months"),
        is_newest=True,
    ),
    Section(
        "sensitive_notes",
        none="No public payments with such a note.",
        caption="Public payments with a note that reveals something private, found by words and forms",
        columns=(
            Column("note", "Note", "note"),
            Column("reasons", "Reasons", "text"),
            _PERSON,
            Column("date_created", "Date", "instant"),
        ),
        rest=("other payment", "other payments"),
    ),
)


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
    to_rows: Callable[[pd.DataFrame], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the sections for the template, without those about parts of payments that privacy mode hides.

    Parameters
    ----------
    sections : sequence of Section
    history : History
    payments : DataFrame
        Its payments between people.
    build, to_rows : callable
        Return the table of an analysis by its name, and the rows of a table.

    Returns
    -------
    list of dict
        A section has the figure to be drawn as its plot, or None, and its table.
    """
    shown = [section for section in sections if not _list_hidden(section.name, history)]
    return [
        {"template": section.template, "name": section.name, "title": _find_title(section)}
        if section.template
        else _build_section(section, build(section.name), payments, to_rows, strict=history.strict)
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
    to_rows: Callable[[pd.DataFrame], list[dict[str, Any]]],
    *,
    strict: bool,
) -> dict[str, Any]:
    none = _find_reason(section, table, payments)
    rows, left_out = _choose_rows(section, table)
    if "payment_id" in rows and "counterparty_id" not in rows:
        listed = payments[payments["payment_id"].isin(rows["payment_id"].dropna())]
        ids = listed.set_index("payment_id")["counterparty_id"]
        rows = rows.assign(counterparty_id=rows["payment_id"].map(ids))
    title = _find_title(section)
    columns = [
        column
        for column in section.columns
        if column.kind not in _DURATIONS or (not strict and rows[column.name].notna().any())
    ]
    has_days = any(column.kind == "days" for column in columns)
    notes = [section.caption, *([section.days] if section.days and has_days else [])]
    notes += [f"{section.rest[1].split()[-1]} without payments are left out"] if left_out else []
    return {
        "template": "",
        "name": section.name,
        "title": title,
        "none": none,
        "caveat": describe_caveat(section.name, payments),
        "plot": None if none else _find_plot(section.name),
        "figure_words": section.figure or f"{title}: a figure. {_BELOW}",
        "caption": "; ".join(notes),
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


def _find_plot(name: str) -> Callable[..., Axes] | None:
    """Return the plot of an analysis with the number of bars that a report has room for; None without one."""
    plot: Callable[..., Axes] | None = getattr(plots, name, None)
    if plot is not None and "top" in inspect.signature(plot).parameters:
        return partial(plot, top=_MOST_BARS)
    return plot
