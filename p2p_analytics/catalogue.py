"""The analyses, each declared once: its title, its columns, and the words around its table.

Report, explorer, workbook, database, CSV files, privacy mode and the command line read these declarations. They are
plain data and import nothing, because the command line lists the analyses in its help.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from typing import Final

# Kinds of columns: how the values are computed, shown, stored and masked.
ID: Final = "id"  # also a username; not shown
PERSON: Final = "person"
TEXT: Final = "text"
NOTE: Final = "note"
FLAG: Final = "flag"
SIDE: Final = "side"  # in | out, shown as "to receive" and "to pay"
DIRECTION: Final = "direction"  # in | out, shown as "received" and "sent"
MONEY: Final = "money"  # currency units
COUNT: Final = "count"
YEAR: Final = "year"
WEEKDAY: Final = "weekday"  # Monday is 0
HOUR: Final = "hour"
SHARE: Final = "share"  # of a number of payments or people
SHARE_OF_MONEY: Final = "share of money"  # rounded in privacy mode, because exact shares would give away the sum
DAYS: Final = "days"  # shown with a decimal
AGE: Final = "age"  # in days, shown without a decimal
WHOLE_DAYS: Final = "whole days"
INSTANT: Final = "instant"
DATE: Final = "date"
MONTH: Final = "month"  # 2024-05

# The dtypes of the kinds in files; a kind that is not listed is text.
DTYPES: Final = {
    **dict.fromkeys((MONEY, SHARE, SHARE_OF_MONEY, DAYS, AGE), "float64"),
    **dict.fromkeys((COUNT, YEAR, WEEKDAY, HOUR, WHOLE_DAYS), "Int64"),
    FLAG: "boolean",
    INSTANT: "datetime64[us, UTC]",
    DATE: "date",
}

# What an analysis reads of payments besides amounts, people and dates.
NOTES: Final = "the words of notes"
HOURS: Final = "times of day"
DAYS_OF_PAYMENTS: Final = "days"
AUDIENCES: Final = "audiences"

# Which dates of a payment an analysis reads.
ONE_DATE: Final = "one"  # whether it is the one of creation or completion can be chosen
SINCE_CREATION: Final = "since creation"

_NO_REQUEST_DATE: Final = "do not say when they were made: how long these took is not known."
_ONE_DATE: Final = "have the date of the payment, not of the request"


class Column:
    """A column of the table of an analysis."""

    __slots__ = ("heading", "kind", "name", "words")

    def __init__(self, name: str, kind: str, heading: str = "", *, words: str = "") -> None:
        self.name = name
        self.kind = kind
        self.heading = heading or name.replace("_", " ").capitalize()
        self.words = words  # a pattern of the values that are words of this package; privacy mode replaces other text


class Analysis:
    """An analysis: a function of `p2p_analytics.analyses`, and usually a plot, of the same name."""

    def __init__(  # noqa: PLR0913 - what readers of the catalogue need
        self,
        name: str,
        title: str,
        columns: tuple[Column, ...],
        *,
        none: str,
        caption: str = "",
        order: str = "",
        days: str = "",
        listed: tuple[str, ...] = (),
        below: str = "",
        rest: tuple[str, str] = ("other row", "other rows"),
        is_newest_last: bool = False,
        figure: str = "",
        reads: tuple[str, ...] = (),
        dates: str = "",
        caveat: str = "",
        is_judged_at_end: bool = False,
    ) -> None:
        self.name, self.title = name, title
        self.columns = columns  # of its result, in order, with the default options
        self.none = none  # the sentence for a table without rows
        self.caption = caption  # of the table in a report, which without a caption has only the figure
        # The end of the caption that states how the rows are sorted, with the character before it. A browser replaces
        # it when it sorts the table.
        self.order = order
        self.days = days  # what the caption adds if the table has a column of days with values
        # The columns of the table in a report; by default all except ids. The first is the header of the row. Where the
        # result has a payment_id, columns of PAYMENTS may be listed too.
        self.listed = listed or tuple(column.name for column in columns if column.kind != ID and column.name != below)
        self.below = below  # the column that the report shows below the first
        self.rest = rest  # the singular and plural of rows that a report does not list
        self.is_newest_last = is_newest_last  # whether a report lists the last rows rather than the first
        self.figure = figure  # words for the figure in a report, if the table does not have the same numbers
        self.reads = reads  # NOTES, HOURS, DAYS_OF_PAYMENTS and AUDIENCES, as far as the analysis is about them
        self.dates = dates  # ONE_DATE or SINCE_CREATION; empty if it compares two dates, or reads none
        # What its table lacks for settled requests in statement files or, if it reads audiences, for payments in them.
        # The words follow "12 settled requests are from statement files, which".
        self.caveat = caveat
        # Whether a payment that is missing matters, so that it is judged when the payments end.
        self.is_judged_at_end = is_judged_at_end

    def find_column(self, name: str) -> Column:
        """Return a column of the result or, of a result with a ``payment_id``, of PAYMENTS."""
        return next(column for column in (*self.columns, *_OF_PAYMENTS) if column.name == name)


_COUNTERPARTY_ID: Final = Column("counterparty_id", ID)
_USERNAME: Final = Column("counterparty_username", ID)
_PERSON: Final = Column("counterparty_name", PERSON, "Person")
_PAYMENT_ID: Final = Column("payment_id", ID)
_NOTE: Final = Column("note", NOTE)
_PAYMENTS: Final = Column("payments", COUNT)
_MONTH: Final = Column("month", MONTH, words=r"\d{4}-\d\d")
_AMOUNT: Final = Column("amount", MONEY)
_SENT: Final = Column("sent", MONEY)
_RECEIVED: Final = Column("received", MONEY)
_NET: Final = Column("net", MONEY)
_ASKED: Final = Column("asked", MONEY, "Requested")
_COLLECTED: Final = Column("collected", MONEY, "Paid")
_STILL_OPEN: Final = Column("still_open", MONEY, "Open")
_CREATED: Final = Column("date_created", INSTANT, "Date")
_SIDE: Final = Column("direction", SIDE, words="in|out")
_OF_PAYMENTS: Final = (_PERSON, _NOTE, _CREATED, Column("direction", DIRECTION))

# In the order of the report.
_ALL: Final = (
    Analysis(
        "spend_by_friend",
        "Where it went",
        (
            _COUNTERPARTY_ID, _USERNAME, _PERSON, Column("is_friend", FLAG, "Friend"), _SENT, _RECEIVED, _NET,
            _PAYMENTS, Column("share_of_sent", SHARE_OF_MONEY), Column("first_date", INSTANT),
            Column("last_date", INSTANT),
        ),
        none="No settled payments.",
        caption="Settled payments by person",
        order=", the most sent first",
        listed=("counterparty_name", "sent", "received", "net", "payments", "share_of_sent"),
        dates=ONE_DATE,
    ),
    Analysis(
        "categories",
        "What it was for",
        (Column("category", TEXT), _SENT, _RECEIVED, _NET, _PAYMENTS, Column("share_of_sent", SHARE_OF_MONEY)),
        none="No settled payments.",
        caption="Settled payments by category, found by words in their notes",
        order="; the most sent first",
        rest=("other category", "other categories"),
        reads=(NOTES,),
    ),
    Analysis(
        "spending_over_time",
        "What it was for, over time",
        (Column("period", DATE), _SENT, _RECEIVED, _NET, _PAYMENTS),
        none="No settled payments.",
        figure="Areas of the money sent in each period, by category. The table above has the sums.",
        reads=(NOTES,),
        dates=ONE_DATE,
    ),
    Analysis(
        "monthly_flow",
        "Month by month",
        (_MONTH, _SENT, _RECEIVED, _NET, _PAYMENTS, Column("running_net", MONEY, "Net so far")),
        none="No settled payments.",
        dates=ONE_DATE,
    ),
    Analysis(
        "people_by_year",
        "People, year by year",
        (
            Column("year", YEAR), Column("people", COUNT), Column("new", COUNT), Column("lost", COUNT, "Gone"),
            Column("top_person_share", SHARE_OF_MONEY, "Top person"), Column("top_5_share", SHARE_OF_MONEY, "Top five"),
            _PAYMENTS, _SENT, _RECEIVED,
        ),
        none="No settled payments.",
        caption="People with settled payments in each year; shares are of the money sent and received",
        listed=("year", "people", "new", "lost", "top_person_share", "top_5_share", "sent", "received"),
        rest=("earlier year", "earlier years"),
        is_newest_last=True,
        dates=ONE_DATE,
    ),
    Analysis(
        "status_mix",
        "What became of it",
        (
            Column("action", TEXT), Column("status", TEXT), _PAYMENTS, Column("share", SHARE), _AMOUNT,
            Column("share_of_amount", SHARE_OF_MONEY),
        ),
        none="No payments.",
        caption="All payments by action and status; shares are of the payments with the action",
        listed=("action", "status", "payments", "share", "amount"),
    ),
    Analysis(
        "request_outcomes",
        "What became of requests",
        (
            _COUNTERPARTY_ID, _PERSON, _SIDE, Column("requests", COUNT), Column("settled", COUNT),
            Column("pending", COUNT), Column("cancelled", COUNT), Column("expired", COUNT), Column("failed", COUNT),
            _ASKED, _COLLECTED, _STILL_OPEN, Column("share_settled", SHARE),
            Column("days_p50", DAYS, "Half within, days"), Column("days_p90", DAYS, "9 of 10 within, days"),
        ),
        none="No requests.",
        caption="Requests by person and direction, open ones not in the share settled",
        order="; the most requested first",
        days="days are from request to payment",
        listed=(
            "counterparty_name", "requests", "settled", "asked", "collected", "still_open", "share_settled", "days_p50",
        ),
        below="direction",
        caveat=_NO_REQUEST_DATE,
    ),
    Analysis(
        "time_to_settle",
        "How long requests took",
        (
            _SIDE, _PAYMENTS, Column("days_p50", DAYS, "Half within"), Column("days_p90", DAYS, "9 of 10"),
            Column("days_p99", DAYS, "99 of 100"), Column("days_max", DAYS, "All"),
        ),
        none="No settled requests with both dates.",
        caption="Days from request to payment",
        reads=(DAYS_OF_PAYMENTS,),
        caveat=_NO_REQUEST_DATE,
    ),
    Analysis(
        "pending_ageing",
        "Still open, by age",
        (
            _SIDE, Column("band", TEXT, "Age", words=r"under \d+ days?|\d+ to \d+ days|\d+ days? or more|no date"),
            _PAYMENTS, _AMOUNT, Column("oldest_days", WHOLE_DAYS, "Oldest, days"),
        ),
        none="No pending payments.",
        caption="Pending payments by age",
        listed=("band", "direction", "payments", "amount", "oldest_days"),
        dates=SINCE_CREATION,
    ),
    Analysis(
        "pending_requests",
        "Open requests",
        (
            _PAYMENT_ID, _SIDE, _COUNTERPARTY_ID, _USERNAME, _PERSON, _NOTE, _AMOUNT,
            Column("date_created", INSTANT, "Since"), Column("age_days", WHOLE_DAYS, "Age, days"),
        ),
        none="No pending payments.",
        caption="Pending payments",
        order=", the oldest first",
        dates=SINCE_CREATION,
    ),
    Analysis(
        "split_bills",
        "Split bills",
        (
            Column("bill_id", ID), Column("date", INSTANT), _NOTE, Column("people", COUNT), _ASKED, _COLLECTED,
            _STILL_OPEN, Column("declined", MONEY, "Not paid"), Column("oldest_open_days", AGE, "Oldest open, days"),
        ),
        none="No split bills.",
        caption="Requests to several people with one note",
        order=", the newest first",
        below="date",
        rest=("older bill", "older bills"),
        reads=(DAYS_OF_PAYMENTS,),
        dates=SINCE_CREATION,
        caveat=f"{_ONE_DATE}: bills that were paid at different times are missing, or shown in parts.",
    ),
    Analysis(
        "recurring",
        "What recurs",
        (
            _COUNTERPARTY_ID, _PERSON, _SIDE,
            Column("cadence", TEXT, "How often", words="weekly|fortnightly|monthly|quarterly|yearly"),
            Column("amount", MONEY, "Usual amount"), _PAYMENTS, Column("first_date", DATE, "First"),
            Column("last_date", DATE, "Last"), Column("next_expected", DATE, "Next"),
            Column("state", TEXT, words="active|late|ended"), _NOTE,
        ),
        none="Nothing recurs.",
        caption="Settled payments that recur",
        order=", the largest amount first; of an amount that changed, the usual one is the median",
        listed=(
            "counterparty_name", "direction", "cadence", "amount", "payments", "last_date", "next_expected", "state",
        ),
        below="note",
        rest=("other series", "other series"),
        reads=(DAYS_OF_PAYMENTS,),
        dates=ONE_DATE,
        caveat=f"{_ONE_DATE}: series of requests that were paid irregularly are missing.",
        is_judged_at_end=True,
    ),
    Analysis(
        "activity",
        "Hours of the week",
        (Column("weekday", WEEKDAY), Column("hour", HOUR), _PAYMENTS, _AMOUNT),
        none="No settled payments.",
        figure="Cells for the hours of the week, stronger in colour for more settled payments, and totals of weekdays.",
        reads=(HOURS,),
        dates=ONE_DATE,
        caveat=f"{_ONE_DATE}: these count at the hour in which they were paid.",
    ),
    Analysis(
        "unusual",
        "Look again",
        (
            _PAYMENT_ID, Column("reason", TEXT, words="duplicate|large"), Column("other_id", ID), _AMOUNT,
            Column("usual", MONEY), _COUNTERPARTY_ID, _PERSON, _CREATED, _NOTE,
        ),
        none="No unusual payments.",
        caption="Settled payments that look like duplicates, or are at least five times the usual",
        order="; the newest first",
        listed=("counterparty_name", "direction", "date_created", "amount", "usual", "reason"),
        below="note",
        rest=("older payment", "older payments"),
        reads=(HOURS,),
        caveat=f"{_ONE_DATE}: duplicates among them were paid at nearly the same time.",
    ),
    Analysis(
        "exposure",
        "Who can see it",
        (
            _MONTH, _PAYMENTS, Column("public", COUNT), Column("friends", COUNT), Column("private", COUNT),
            Column("share_public", SHARE), Column("sensitive_public", COUNT, "Sensitive"),
        ),
        none="No payments.",
        caption="All payments by month and audience; sensitive are public ones with a note to look at",
        rest=("earlier month", "earlier months"),
        is_newest_last=True,
        reads=(NOTES, AUDIENCES),
        dates=ONE_DATE,
        caveat="do not say who can see them.",
    ),
    Analysis(
        "sensitive_notes",
        "Public notes to look at",
        (_PAYMENT_ID, _CREATED, _PERSON, _NOTE, Column("reasons", TEXT)),
        none="No public payments with such a note.",
        caption="Public payments with a note that reveals something private, found by words and forms",
        listed=("note", "reasons", "counterparty_name", "date_created"),
        rest=("other payment", "other payments"),
        reads=(NOTES, AUDIENCES),
        caveat="do not say who can see them: their notes are not looked at.",
    ),
)  # fmt: skip

ANALYSES: Final = {analysis.name: analysis for analysis in _ALL}


def list_hidden(name: str, *, private: bool, strict: bool) -> list[str]:
    """Return the parts of payments that an analysis is about, and that the privacy mode of a history hides."""
    hidden = {NOTES, HOURS} if private else set()
    hidden |= {DAYS_OF_PAYMENTS} if strict else set()
    return [part for part in ANALYSES[name].reads if part in hidden]
