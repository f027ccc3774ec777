"""Payments one by one: pages of rows with a search, an order and totals."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from html import escape
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import ipywidgets
import pandas as pd

from p2p_analytics.analyses import spend_by_friend
from p2p_analytics.display import clean_line, format_count, format_money
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import KIND_PAYMENT, select_payments
from p2p_analytics.money import add_units
from p2p_analytics.vocabulary import Status
from p2p_analytics.widgets._style import build_button, build_dropdown
from p2p_analytics.widgets._table import (
    MOST_ROWS,
    PAYMENTS_NOUN,
    Column,
    find_table_currency,
    format_moment,
    format_people,
    group_digits,
    name_rows,
    render_table,
    to_list,
)

_LONGEST_NOTE: Final = 500  # displayed characters
_COLUMNS: Final = (
    "counterparty_id", "counterparty_username", "counterparty_name", "direction", "amount",
    "currency", "status", "note", "kind",
)  # fmt: skip
_SUMS: Final = ("sent", "received", "net")
_SIGNS: Final = {"in": "+", "out": "−"}  # noqa: RUF001 - a minus sign, as wide as a plus


class _Order(NamedTuple):
    column: str
    is_ascending: bool
    first: str  # the first rows in words


_ORDERS: Final = {
    "newest first": _Order("date", is_ascending=False, first="newest"),
    "oldest first": _Order("date", is_ascending=True, first="oldest"),
    "person, A to Z": _Order("person", is_ascending=True, first="first"),
    "person, Z to A": _Order("person", is_ascending=False, first="first"),
    "largest amount first": _Order("amount", is_ascending=False, first="largest"),
    "smallest amount first": _Order("amount", is_ascending=True, first="smallest"),
    "status, A to Z": _Order("status", is_ascending=True, first="first"),
    "status, Z to A": _Order("status", is_ascending=False, first="first"),
}


class PaymentsView:
    """Inputs of the view of single payments, and its table as a frame and as HTML.

    ``on_change`` is called after a change of the search or the order, ``on_page`` after a change of the page only.
    """

    def __init__(self, *, on_change: Callable[[], None], on_page: Callable[[], None]) -> None:
        self._fold = functools.cache(_fold)  # each key that is pressed searches all texts
        self._page = 0
        self.search = ipywidgets.Text(
            description="Search", placeholder="note, name or @username", continuous_update=True
        )
        self.order = build_dropdown("Sort by", list(_ORDERS))
        self.previous = build_button(f"Previous {MOST_ROWS}", "arrow-left", lambda: self._turn_page(-1, on_page))
        self.next = build_button(f"Next {MOST_ROWS}", "arrow-right", lambda: self._turn_page(1, on_page))
        for each in (self.search, self.order):
            each.observe(lambda _change: on_change(), names="value")

    def open(self, payments: pd.DataFrame, date: str) -> None:
        """Search and sort payments, and go to their first page.

        The search is for plain text in the note, the name or the @username; upper and lower case are equal, and so are
        different encodings of one character. Sets ``payments``, the rows of PAYMENTS that it found, and ``table``,
        these rows in the chosen order with the columns payment_id, the date, counterparty_id, counterparty_username,
        counterparty_name, direction, amount (currency units, without sign), currency, status, note and kind. Rows
        without a value to sort by come last; rows with equal values are newest first. ``date`` is "date_created" or
        "date_completed", the date column of the table.
        """
        self.payments = payments
        if text := _fold(self.search.value):
            columns = payments.reindex(
                columns=["note", "counterparty_name", "counterparty_username", "counterparty_id"]
            )
            notes, names, usernames, ids = (to_list(columns[name]) for name in columns)
            displayed = [name and group_digits(name, identifier) for name, identifier in zip(names, ids, strict=True)]
            handles = [None if username is None else f"@{username}" for username in usernames]
            rows = zip(notes, names, displayed, handles, strict=True)
            is_found = [any(value is not None and text in self._fold(value) for value in row) for row in rows]
            self.payments = payments.loc[is_found]
        self.table = self._sort(_build_table(self.payments, date), date)
        self._people = format_people(self.table)  # of all pages, so that each person has the same label on each
        self._noun = name_rows(self.payments)
        self._totals = _describe_totals(self.payments)
        self._page = 0

    def render(self, zone: ZoneInfo, dates: str) -> str:
        """Return the current page as HTML, below the totals of all pages."""
        table, pages = self.table, max(-(-len(self.table) // MOST_ROWS), 1)
        self.previous.disabled, self.next.disabled = self._page == 0, self._page == pages - 1
        start = self._page * MOST_ROWS
        rows = table.iloc[start : start + MOST_ROWS]
        order = _ORDERS[self.order.value]
        by = {order.column: "ascending" if order.is_ascending else "descending"}
        dates_shown = [
            "no date" if each is None else format_moment(each, zone, dates) for each in to_list(rows.iloc[:, 1])
        ]
        words = [clean_line(word) for word in to_list(rows["status"])]
        notes = [_shorten(clean_line(note)) for note in to_list(rows["note"])]
        triples = zip(to_list(rows["amount"]), to_list(rows["direction"]), to_list(rows["currency"]), strict=True)
        amounts = [  # with the sign that they have for the viewer
            (_SIGNS.get(way, "") if amount is not None else "") + format_money(amount, currency=currency)
            for amount, way, currency in triples
        ]
        people = self._people[start : start + MOST_ROWS]
        columns = [
            Column(rows.columns[1].replace("_", " "), dates_shown, sorted_as=by.get("date", "")),
            Column("person", people, is_foreign=True, sorted_as=by.get("person", "")),
            Column("amount", amounts, is_number=True, sorted_as=by.get("amount", "")),
            Column("status", words, is_foreign=True, sorted_as=by.get("status", "")),
            Column("note", notes, is_foreign=True),
        ]
        if self._noun != PAYMENTS_NOUN:
            kinds = [clean_line(kind) or KIND_PAYMENT for kind in to_list(rows["kind"])]
            columns.append(Column("kind", kinds, is_foreign=True))
        caption = self._describe_page(start, len(rows), len(table))
        return f"<p>{escape(self._totals)}</p>{render_table(columns, 'Payments', caption, 'payments')}"

    def list_choices(self) -> list[str]:
        """Return the search and the order as words for a file name; none for the initial ones."""
        words = [f"search-{self.search.value.strip()}"] if self.search.value.strip() else []
        return words if self.order.index == 0 else [*words, self.order.value]

    def _sort(self, table: pd.DataFrame, date: str) -> pd.DataFrame:
        order = _ORDERS[self.order.value]
        is_oldest_first = order.column == "date" and order.is_ascending
        table = table.sort_values(date, ascending=is_oldest_first, kind="stable", ignore_index=True)
        if order.column == "date":
            return table
        keys = _KEYS[order.column](table)
        known = [at for at, key in enumerate(keys) if key is not None]
        known.sort(
            key=keys.__getitem__, reverse=not order.is_ascending
        )  # stable both ways; rows without a key are last
        rows = known + [at for at, key in enumerate(keys) if key is None]
        return table.iloc[rows].reset_index(drop=True)

    def _turn_page(self, step: int, on_page: Callable[[], None]) -> None:
        self._page += step
        on_page()

    def _describe_page(self, start: int, shown: int, total: int) -> str:
        if not total:
            return "Payments: none for this selection"
        if total == shown:
            return f"{format_count(total, *self._noun)}, {self.order.value}"
        if start:
            return f"{self._noun[1].capitalize()} {start + 1:,} to {start + shown:,} of {total:,}, {self.order.value}."
        first = _ORDERS[self.order.value].first
        by = f", by {self.order.value}" if first == "first" else ""
        return (
            f"The {first} {shown} of {format_count(total, *self._noun)}{by}. Go to the next {MOST_ROWS}, or narrow the "
            "search or the period."
        )


def _build_table(payments: pd.DataFrame, date: str) -> pd.DataFrame:
    amounts = payments["amount_cents"].abs().astype("Float64").div(100).astype("float64")
    return payments.assign(amount=amounts, currency=fill_codes(payments)).reindex(
        columns=["payment_id", date, *_COLUMNS]
    )


def _fold(text: str) -> str:
    """Return text as it is displayed, in a form that ignores upper and lower case and encodings of one character."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split()).lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean_line(text)).casefold())


def _name_keys(table: pd.DataFrame) -> list[tuple[str, str] | None]:
    """Return for each row the key of its counterparty in an alphabetical list, where accents hardly count."""
    folded: dict[str, str] = {}
    for name in to_list(table["counterparty_name"]):
        if name is not None and name not in folded:
            folded[name] = unicodedata.normalize("NFKD", _fold(name))
    people = zip(to_list(table["counterparty_name"]), to_list(table["counterparty_id"]), strict=True)
    return [None if name is None else (folded[name], identifier or "") for name, identifier in people]


_KEYS: Final[dict[str, Callable[[pd.DataFrame], list[Any]]]] = {
    "person": _name_keys,
    "amount": lambda table: to_list(table["amount"]),
    "status": lambda table: to_list(table["status"]),
}


def _shorten(note: str) -> str:
    return note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…"


def _describe_totals(payments: pd.DataFrame) -> str:
    """Return the number of payments, the sums of settled payments, and the number left out of the sums."""
    count = format_count(len(payments), *name_rows(payments))
    if not len(payments):
        return f"{count}."
    settled = payments[payments["status"] == Status.SETTLED]
    if not len(settled):
        return f"{count}; none is settled, so no money moved."
    people = spend_by_friend(payments)
    counted = int(people["payments"].sum())
    end = (", those of all pages" if len(payments) > MOST_ROWS else "") + _describe_excluded(settled, counted)
    if not counted:
        none = (
            f"none of the {len(settled):,} settled ones counts"
            if len(settled) > 1
            else "the settled one does not count"
        )
        return f"{count}; {none}{end}."
    sent, received = (add_units(people[name]) for name in ("sent", "received"))
    net, currency = add_units([received, -sent]), find_table_currency(people)
    sums = (
        f"{word} {format_money(units, currency=currency)}"
        for word, units in zip(_SUMS, (sent, received, net), strict=True)
    )
    ones = format_count(len(settled), "settled one", "settled ones")
    if counted < len(settled):
        ones = f"{counted:,} of the {ones}"
    else:
        ones = "the settled one" if counted == 1 else f"the {ones}"
    return f"{count}: {', '.join(sums)}. Only {ones} {'counts' if counted == 1 else 'count'}{end}."


def _describe_excluded(settled: pd.DataFrame, counted: int) -> str:
    """Return how many settled payments have no part in the sums, and why; empty if each has one."""
    between_people = len(select_payments(settled))
    others, undirected = len(settled) - between_people, between_people - counted
    reasons = []
    if others:
        kinds = [kind for kind in settled["kind"].dropna().unique() if kind != KIND_PAYMENT]
        words = f"the kind {clean_line(kinds[0])}" if len(kinds) == 1 else f"{len(kinds)} other kinds"
        reasons.append(f"{format_count(others, 'is', 'are')} of {words}")
    if undirected:
        reasons.append(f"{format_count(undirected, 'has', 'have')} no direction")
    return f": {' and '.join(reasons)}" if reasons else ""
