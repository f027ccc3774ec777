"""Sections of the report, in their order, as declared: most are the figure and the table of an analysis."""

from __future__ import annotations

from typing import Final, NamedTuple

_NUMBERS: Final = frozenset({"money", "count", "share", "days", "age", "year"})


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
    order : str
        The end of the caption that says how the rows are sorted, with the character before it; a browser replaces it
        when it sorts the table.
    days : str
        What a caption adds if the table has a column of days.
    columns : tuple of Column
        Those of the table or, of a table with a payment_id, of PAYMENTS. The first one is the header of its row;
        without columns there is no table. A column of days without a value is left out.
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
    order: str = ""
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
        caption="Settled payments by category, found by words in their notes",
        order="; the most sent first",
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
        caption="All payments by action and status; shares are of the payments with the action",
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
        caption="Requests by person and direction, open ones not in the share settled",
        order="; the most requested first",
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
        caption="Requests to several people with one note",
        order=", the newest first",
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
        caption="Settled payments that recur",
        order=", the largest amount first; of an amount that changed, the usual one is the median",
        columns=(
            _PERSON,
            Column("direction", "Direction", "side"),
            Column("cadence", "How often", "text"),
            Column("amount", "Usual amount"),
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
        figure="Cells for the hours of the week, stronger in colour for more settled payments, and totals of weekdays.",
    ),
    Section(
        "unusual",
        none="No unusual payments.",
        caption="Settled payments that look like duplicates, or are at least five times the usual",
        order="; the newest first",
        columns=(
            _PERSON,
            Column("direction", "Direction", "direction"),
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
