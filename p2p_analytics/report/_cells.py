"""Cells of the tables of a page: people, amounts, dates and words as they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics import catalogue, display, plots
from p2p_analytics.report._page import Cell, Small, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.catalogue import Column
    from p2p_analytics.history import History
    from p2p_analytics.report._page import Line

    PersonKey = tuple[str | None, str | None]

SIDES: Final = {"in": "to receive", "out": "to pay"}
_WORDS: Final[dict[str, dict[str, str]]] = {
    catalogue.SIDE: SIDES,
    catalogue.DIRECTION: {"in": "received", "out": "sent"},
}
_SHARES: Final = frozenset({catalogue.SHARE, catalogue.SHARE_OF_MONEY})
_NUMBERS: Final = _SHARES | {
    catalogue.MONEY, catalogue.COUNT, catalogue.DAYS, catalogue.AGE, catalogue.WHOLE_DAYS,
}  # fmt: skip
_MISSING: Final = {
    **dict.fromkeys((catalogue.DATE, catalogue.MONTH), "no date"),
    **dict.fromkeys((*_SHARES, catalogue.TEXT), "not known"),
}
_TIMES: Final = frozenset({catalogue.INSTANT, catalogue.DATE})
_LONGEST_TEXT: Final = 200  # characters of a note
_LONGEST_NAME: Final = 60
_LONGEST_NAMES: Final = 120  # all other names of one person
_BETWEEN_NAMES: Final = "; "


class Label(NamedTuple):
    """A person as displayed."""

    name: str  # on one line; a phone number has its digits in groups
    suffix: str  # distinguishes the person from a namesake on the page; empty without one
    also: str  # the person's other names, separated by "; "
    is_phone: bool


class People(NamedTuple):
    """The people of a page by id and name: their labels in text, and their names in figures."""

    labels: dict[PersonKey, Label]
    figures: dict[PersonKey, str]


def name_people(rows: Sequence[Mapping[str, Any]], history: History, payments: pd.DataFrame) -> People:
    """Return the people in the rows that a page shows; ``payments`` are those of the history between people.

    Rows have ``counterparty_id`` and ``counterparty_name``, and perhaps ``counterparty_username``.
    """
    profiles = to_rows(history.people[history.people["user_id"].isin([row["counterparty_id"] for row in rows])])
    known = {profile["user_id"]: profile for profile in profiles}
    # Statements have a phone number as the name of a person without an account.
    nameless = payments.loc[payments["counterparty_id"].isna(), "counterparty_name"].dropna().unique()
    phones = {*payments["target_phone"].dropna(), *filter(display.is_phone, nameless)}
    ids, names = ([row[f"counterparty_{field}"] for row in rows] for field in ("id", "name"))
    usernames = [
        row.get("counterparty_username") or known.get(row["counterparty_id"], {}).get("username") for row in rows
    ]
    shown = [
        display.clean_text(None)
        if name is None
        else _to_line(display.format_phone(name) if name in phones else name) or display.NO_NAME
        for name in names
    ]
    suffixes = display.name_suffixes(shown, usernames, [key or name for key, name in zip(ids, names, strict=True)])
    labels = {
        (key, name): Label(label, suffix, _list_other_names(known.get(key, {}), label), name in phones)
        for key, name, label, suffix in zip(ids, names, shown, suffixes, strict=True)
    }
    columns = {"counterparty_id": ids, "counterparty_name": names, "counterparty_username": usernames}
    return People(labels, plots.name_people(columns))


def _list_other_names(profile: Mapping[str, Any], shown: str) -> str:
    """Return the present and earlier names of a person, except the one that is shown."""
    texts = [profile.get("display_name"), *(profile.get("also_named") or "").split(_BETWEEN_NAMES)]
    lines = dict.fromkeys(_to_line(text) for text in texts if text)
    return _cut(_BETWEEN_NAMES.join(line for line in lines if line and line != shown), _LONGEST_NAMES)


def _to_line(name: str) -> str:
    words = " ".join(name.split())  # line breaks separate words; clean_line removes them
    return _cut(display.clean_line(words), _LONGEST_NAME)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].rstrip() + "…"


class CellWriter:
    """Writes the values of a page in its zone and currency, with the labels of its people."""

    def __init__(self, zone: ZoneInfo, currency: str, labels: Mapping[PersonKey, Label], *, strict: bool) -> None:
        self.zone = zone
        self._currency = currency
        self._labels = labels
        self._strict = strict
        self._formats: dict[str, Callable[[Any], str]] = {
            **dict.fromkeys(_NUMBERS, lambda value: f"{int(value):,}"),
            **dict.fromkeys(_SHARES, display.format_share),
            catalogue.DATE: lambda value: f"{value.day} {display.MONTH_NAMES[value.month - 1]} {value.year}",
            catalogue.DAYS: display.format_days,
            catalogue.MONEY: self.money,
        }

    def write(self, column: Column, row: Mapping[str, Any]) -> Cell:
        """Return the cell of a column of an analysis."""
        kind, value = column.kind, row[column.name]
        line: Line
        if kind == catalogue.PERSON:
            line = self.write_person(row)
        elif kind == catalogue.NOTE:
            line = (write_note(value),)
        elif kind in _WORDS:
            line = (_WORDS[kind].get(value, "not known"),)
        elif kind == catalogue.INSTANT:
            line = (self.day(value),)
        elif value is None:
            line = (_MISSING.get(kind, ""),)
        else:
            line = (self._formats[kind](value) if kind in self._formats else Span(display.clean_text(value)),)
        return Cell(line, find_key(kind, value))

    def write_person(self, row: Mapping[str, Any], *, unnamed: str = "", with_others: bool = True) -> Line:
        """Return the person of a row, with other names unless the page has them elsewhere."""
        label = self._labels[row["counterparty_id"], row["counterparty_name"]]
        name = unnamed if unnamed and row["counterparty_name"] is None else label.name
        line: Line = (Span(name, style="phone" if label.is_phone else ""),)
        if label.suffix:
            line += (" ", Span(label.suffix, "span", "quiet"))
        if label.also and with_others:
            line += (Small(("also named ", Span(label.also))),)
        return line

    def money(self, units: float | None) -> str:
        """Return an amount in the currency of the page, or "not known"."""
        return display.format_money(units, currency=self._currency)

    def day(self, instant: datetime | None) -> str:
        """Return the day of an instant, in strict privacy mode its month."""
        return (display.format_month if self._strict else display.format_day)(instant, self.zone)

    def moment(self, instant: datetime) -> str:
        """Return the date and time of an instant."""
        return display.format_moment(instant, self.zone)

    def measure(self, amounts: Iterable[float | None]) -> int:
        """Return the number of characters of the longest amount."""
        known = [amount for amount in amounts if amount is not None]
        return max(len(self.money(amount)) for amount in (min(known, default=0), max(known, default=0)))


def find_style(column: Column) -> str:
    """Return the class of the cells in a column."""
    return "number" if column.kind in _NUMBERS else "date" if column.kind in _TIMES else "text"


def find_key(kind: str, value: Any) -> object:  # noqa: ANN401 - of any column
    """Return the value by which a cell is sorted: cents, seconds, days or a number; None for text, "" if missing."""
    if value is None:
        return ""
    if kind == catalogue.INSTANT:
        return int(value.timestamp())
    if kind == catalogue.DATE:
        return value.toordinal()
    if kind == catalogue.MONEY:
        return round(value * 100)
    return value if kind in _NUMBERS else None


def write_note(note: str | None) -> Span:
    """Return a note, or "no note" for one without visible characters."""
    return isolate(note) if display.clean_line(note) else Span("no note")


def isolate(text: object) -> Span:
    """Return a foreign text; of a long one its beginning, and its length."""
    clean = display.clean_text(text)
    if len(clean) > _LONGEST_TEXT:
        clean = f"{clean[:_LONGEST_TEXT].rstrip()}… ({len(clean):,} characters)"
    return Span(clean)


def to_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows, with None for each null."""
    names = [str(name) for name in table]
    columns = [
        [None if is_null else value for value, is_null in zip(column.tolist(), column.isna().tolist(), strict=True)]
        for _, column in table.items()
    ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
