"""HTML tables of the explorer, with everything escaped. On a narrow page each row becomes a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final
from zoneinfo import ZoneInfo

import pandas as pd

from p2p_analytics import catalogue, plots
from p2p_analytics.catalogue import Analysis
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.display import (
    NO_NAME,
    clean_line,
    format_count,
    format_money,
    format_phone,
    format_share,
    name_suffixes,
    to_zone,
)
from p2p_analytics.frames.schema import select_payments

MOST_ROWS: Final = 100
PAYMENTS_NOUN: Final = ("payment", "payments")
_TRANSACTIONS: Final = ("transaction", "transactions")
_MOST_COLUMNS: Final = 7  # of a table that fits a page of 600 pixels
_FOREIGN: Final = frozenset({catalogue.PERSON, catalogue.NOTE, catalogue.TEXT})
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    **dict.fromkeys((catalogue.SHARE, catalogue.SHARE_OF_MONEY), format_share),
    **dict.fromkeys((catalogue.YEAR, catalogue.HOUR), str),
    catalogue.WEEKDAY: lambda day: _WEEKDAYS[day],
}


@dataclass(frozen=True)
class Column:
    """Column of a displayed table: its heading, its cells as text, and whether they are numbers or foreign text."""

    heading: str
    cells: Sequence[str]
    is_number: bool = False
    is_foreign: bool = False  # may be long, so it wraps
    sorted_as: str = ""  # "ascending" or "descending" in the column that the rows are sorted by


def analysis_to_html(analysis: Analysis, table: pd.DataFrame, zone: ZoneInfo, dates: str = "%Y-%m-%d") -> str:
    """Return the first hundred rows as HTML, without ids and usernames, and with dates in the zone and format given."""
    most = len(table) if "weekday" in table else MOST_ROWS  # a week has 168 hours, and none is left out
    rows = table.head(most)
    declared = {column.name: column for column in analysis.columns}
    columns = []
    for name in table.columns:
        other = catalogue.ID if name.endswith("_username") else catalogue.TEXT  # of an option, such as a category
        column = declared.get(name) or catalogue.Column(name, other)
        # The amounts show the currency. People in statements have no ids, so no friend is known among them.
        if column.kind == catalogue.ID or name == "currency" or (name == "is_friend" and table[name].isna().all()):
            continue
        heading = column.heading[0].lower() + column.heading[1:]
        if column.kind == catalogue.DAYS and "days" not in heading:
            heading += ", days"
        columns.append(
            Column(
                heading,
                _format_cells(column, rows, find_table_currency(table), zone, dates),
                is_number=not _is_text(rows[name]),
                is_foreign=column.kind in _FOREIGN and not column.words,
            )
        )
    title = analysis.title
    size = format_count(len(table), "row", "rows")
    if len(table) > most:
        size = f"the first {most} of {size}"
    return render_table(columns, title, f"{title}: {size}")


def render_table(columns: Sequence[Column], title: str, caption: str, kind: str = "figures") -> str:
    """Return an HTML table in a region that scrolls; the roles keep it a table for screen readers on a narrow page."""
    orders = [f' aria-sort="{column.sorted_as}"' if column.sorted_as else "" for column in columns]
    head = "".join(
        f'<th scope="col" role="columnheader"{_cell_class(column)}{order}>{escape(column.heading)}</th>'
        for column, order in zip(columns, orders, strict=True)
    )
    body = ""
    for texts in zip(*(column.cells for column in columns), strict=True):
        (first, name), *others = zip(columns, texts, strict=True)
        cells = [f'<th scope="row" role="rowheader"{_cell_class(first)}><bdi>{escape(name)}</bdi></th>']
        for column, text in others:
            label = escape(column.heading)
            cells.append(f'<td role="cell"{_cell_class(column)} data-label="{label}"><bdi>{escape(text)}</bdi></td>')
        body += f'<tr role="row">{"".join(cells)}</tr>'
    width = " wide" if len(columns) > _MOST_COLUMNS else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}, table">'
        f'<table class="{kind}{width}" role="table"><caption>{escape(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table></div>'
    )


def reminders_to_html(texts: Sequence[str]) -> str:
    """Return reminders as a folded list, in which a click selects a whole text; empty without any."""
    items = "".join(f"<li><bdi>{escape(text)}</bdi></li>" for text in texts)
    words = "Reminders to copy: a click selects a text. Nothing is sent."
    return f'<details><summary>{words}</summary><ul class="reminders">{items}</ul></details>' if items else ""


def format_names(names: Sequence[str | None], usernames: Sequence[str | None], ids: Sequence[str | None]) -> list[str]:
    """Return names on one line each, with the username or the end of the id where two people have the same name."""
    displayed = [
        clean_line(name and group_digits(name, identifier)) or NO_NAME
        for name, identifier in zip(names, ids, strict=True)
    ]
    keys = [identifier or name for name, identifier in zip(names, ids, strict=True)]
    return [
        f"{name} {suffix}" if suffix else name
        for name, suffix in zip(displayed, name_suffixes(displayed, usernames, keys), strict=True)
    ]


def group_digits(name: str, identifier: str | None) -> str:
    """Return a name; the phone number of a person without an account, who has no other id, in groups of digits."""
    return format_phone(name) if identifier in {None, name} else name


def format_people(rows: pd.DataFrame) -> list[str]:
    """Return the displayed name of each row's counterparty."""
    columns = rows.reindex(columns=["counterparty_name", "counterparty_username", "counterparty_id"])
    people = list(zip(*(to_list(columns[name]) for name in columns), strict=True))
    distinct = list(dict.fromkeys(people))
    names, usernames, ids = ([person[at] for person in distinct] for at in range(3))
    labels = dict(zip(distinct, format_names(names, usernames, ids), strict=True))
    return [labels[person] for person in people]


def fill_usernames(table: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return the table of an analysis with the usernames that PEOPLE has, if it has people but no usernames."""
    if "counterparty_id" not in table or "counterparty_username" in table:
        return table
    usernames = people.drop_duplicates("user_id").set_index("user_id")["username"]
    return table.assign(counterparty_username=table["counterparty_id"].map(usernames))


def name_people(table: pd.DataFrame) -> dict[tuple[str | None, str | None], str]:
    """Return the names in plots of the people in the displayed rows of a table."""
    if "counterparty_name" not in table:
        return {}
    fields = [f"counterparty_{field}" for field in ("id", "name", "username")]
    columns = table.head(MOST_ROWS).reindex(columns=fields)
    return plots.name_people({name: to_list(columns[name]) for name in fields})


def format_moment(moment: pd.Timestamp, zone: ZoneInfo, dates: str) -> str:
    """Return an instant in a zone, in the format given."""
    # pandas also has years before 1 and after 9999, and cannot format them.
    if moment.tzinfo is None:  # a date
        return f"{moment.to_pydatetime():{dates}}"
    return f"{to_zone(moment.to_pydatetime(), zone):{dates}}"


def name_rows(payments: pd.DataFrame) -> tuple[str, str]:
    """Return the noun for rows of PAYMENTS, and its plural: with rows of other kinds, they are transactions."""
    return PAYMENTS_NOUN if len(select_payments(payments)) == len(payments) else _TRANSACTIONS


def to_list(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column, with None for each null."""
    return column.astype(object).where(column.notna(), None).tolist()


def find_table_currency(table: pd.DataFrame) -> str:
    """Return the one currency of the result of an analysis."""
    return str(table["currency"].iloc[0]) if "currency" in table and len(table) else US_DOLLARS


def _format_cells(column: catalogue.Column, rows: pd.DataFrame, currency: str, zone: ZoneInfo, dates: str) -> list[str]:
    """Return the cells of a column as text; a null is empty."""
    kind = column.kind

    def show(value: Any) -> str:  # noqa: ANN401 - a cell of any column
        if kind == catalogue.MONEY:
            return format_money(value, currency=currency)
        if isinstance(value, bool):
            return "yes" if value else "no"
        if hasattr(value, "to_pydatetime"):
            return format_moment(value, zone, dates)
        if isinstance(value, str):
            return clean_line(value)
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"

    if kind == catalogue.PERSON:
        return format_people(rows)
    form = _FORMATS.get(kind, show)
    return ["" if value is None else form(value) for value in to_list(rows[column.name])]


def _is_text(column: pd.Series[Any]) -> bool:
    return not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _cell_class(column: Column) -> str:
    return ' class="number"' if column.is_number else ' class="words"' if column.is_foreign else ""
