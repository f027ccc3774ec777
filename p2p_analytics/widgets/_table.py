"""HTML tables of analysis results, with everything escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.display import NO_NAME, clean_line, format_count, format_money, name_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    import pandas as pd

MOST_ROWS: Final = 100
_MONEY: Final = frozenset({"sent", "received", "net", "running_net", "amount"})
_HEADINGS: Final = {"counterparty_name": "person", "is_friend": "friend", "running_net": "net so far"}


def to_html(table: pd.DataFrame, title: str, zone: ZoneInfo, dates: str = "%Y-%m-%d") -> str:
    """Return the first hundred rows as HTML, without id columns, and with dates in the zone and format given."""
    rows = table.head(MOST_ROWS)
    columns = {name: _format_column(name, rows, zone, dates) for name in table.columns if not name.endswith("_id")}
    numbers = {name for name in columns if name in _MONEY or not _is_text(rows[name])}
    head = "".join(
        f'<th scope="col"{_cell_class(name, numbers)}>{escape(_HEADINGS.get(name, name.replace("_", " ")))}</th>'
        for name in columns
    )
    body = "".join(
        f"<tr>{''.join(_cell_html(name, text, numbers, first=name == next(iter(columns))) for name, text in row)}</tr>"
        for row in (zip(columns, texts, strict=True) for texts in zip(*columns.values(), strict=True))
    )
    size = format_count(len(table), "row", "rows")
    if len(table) > MOST_ROWS:
        size = f"the first {MOST_ROWS} of {size}"
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}, table"><table>'
        f"<caption>{escape(title)}: {size}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def format_names(names: Sequence[str | None], usernames: Sequence[str | None], ids: Sequence[str | None]) -> list[str]:
    """Return names on one line each, with the username or the end of the id where two people have the same name."""
    displayed = [clean_line(name) or NO_NAME for name in names]
    keys = [identifier or name for name, identifier in zip(names, ids, strict=True)]
    return [
        f"{name} {suffix}" if suffix else name
        for name, suffix in zip(displayed, name_suffixes(displayed, usernames, keys), strict=True)
    ]


def _format_column(name: str, rows: pd.DataFrame, zone: ZoneInfo, dates: str) -> list[str]:
    if name == "counterparty_name":
        people = rows.reindex(columns=[name, "counterparty_username", "counterparty_id"])
        return format_names(*(_to_list(people[column]) for column in people))
    return ["" if value is None else _format_value(name, value, zone, dates) for value in _to_list(rows[name])]


def _to_list(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column, with None for each null."""
    return column.astype(object).where(column.notna(), None).tolist()


def _format_value(name: str, value: Any, zone: ZoneInfo, dates: str) -> str:  # noqa: ANN401 - a cell of any column
    if name in _MONEY:
        return format_money(value)
    if name.startswith("share"):
        return f"{value:.1%}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "astimezone"):
        return f"{value.astimezone(zone):{dates}}"
    return clean_line(value) if isinstance(value, str) else f"{value:,}"


def _is_text(column: pd.Series[Any]) -> bool:
    import pandas as pd

    return not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _cell_class(name: str, numbers: set[str]) -> str:
    return ' class="number"' if name in numbers else ' class="words"'


def _cell_html(name: str, text: str, numbers: set[str], *, first: bool) -> str:
    if first:
        return f'<th scope="row"><bdi>{escape(text)}</bdi></th>'
    return f"<td{_cell_class(name, numbers)}><bdi>{escape(text)}</bdi></td>"
