"""Pieces of a page that the report and the year in review share: environment, figures, people and months."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics import display, plots
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import GAP
from p2p_analytics.money import add_units
from p2p_analytics.report._people import Label, label_people, name_in_figures
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo

    import pandas as pd
    from jinja2 import Environment
    from matplotlib.axes import Axes

    from p2p_analytics.history import History

MARKDOWN: Final = "markdown"
_KINDS: Final = ("html", MARKDOWN)
_UTC: Final = find_zone("UTC")
_MOST_PEOPLE: Final = 15
_MOST_GAPS: Final = 5
_LONGEST_TEXT: Final = 200  # characters of a note
# The kinds of columns that are sorted as text.
_TEXTS: Final = frozenset({"person", "note", "text", "side", "direction", "month"})
_WIDTH: Final = 5.2  # inches; still readable at three quarters, as on a phone
_AMOUNTS: Final = (
    "All amounts are multiplied by one secret factor and changed by secret noise: up to {0} by at most 74 %, "
    "{1} by 27 %, {2} by 9 %. Sums of ten payments of {1} or more are mostly within 5 % of the true proportions; "
    "sums of ten smaller ones are often not: of {3} to {4}, half are off by 8 % or more. "
    "Shares and sentences follow from these amounts, and can differ from the real ones. "
    "Counts and statuses are real: someone who can count your payments elsewhere, as in a public feed, can recognise "
    "people by them."
)
_SIZES: Final = (20, 100, 1000, 3, 30)  # currency units in these words
_PRIVATE: Final = "Dates are real days, in UTC."
_STRICT: Final = (
    "Months are real, in UTC. Only the month of a payment is known, so it is counted as made on the first day of the "
    "month, and ages are up to a month too high."
)


class Names(NamedTuple):
    """The people of a page by id and name: their labels in text, and their names in figures."""

    labels: dict[tuple[str | None, str | None], Label]
    figures: dict[tuple[str | None, str | None], str]


def require_kind(kind: str) -> None:
    """Raise a ConfigurationError if a page cannot be of a kind."""
    if kind not in _KINDS:
        raise ConfigurationError(f"kind is 'html' or 'markdown', not {kind!r}.")


@lru_cache(maxsize=8)  # to compile the templates takes as long as a plot
def build_environment(zone: ZoneInfo, currency: str, *, strict: bool) -> Environment:
    """Return the environment of the templates, which escapes all text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("p2p_analytics.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "money": partial(display.format_money, currency=currency),
        "share": display.format_share,
        "days": display.format_days,
        "text": display.clean_text,
        "line": lambda text: display.clean_line(display.clean_text(text)),
        "shorten": _shorten,
        "note": lambda text: _shorten(display.clean_text(text)) if display.clean_line(text) else "no note",
        "day": lambda instant: (display.format_month if strict else display.format_day)(instant, zone),
        "date": lambda date: f"{date.day} {display.MONTH_NAMES[date.month - 1]} {date.year}",
        "key": _find_key,
        "digest": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii"),
        "moment": partial(display.format_moment, zone=zone),
    }
    return environment


def build_people(people: pd.DataFrame, payments: pd.DataFrame) -> dict[str, Any]:
    """Return the template's variables for the table of `spend_by_friend` of payments."""
    most = plots.count_shown(len(people), _MOST_PEOPLE)
    settled = payments.loc[payments["status"] == Status.SETTLED.value, ["direction", "amount_cents"]]
    is_unknown = {
        column: is_sum_unknown(settled.loc[settled["direction"] == side, "amount_cents"])
        for column, side in (("sent", "out"), ("received", "in"))
    }
    is_unknown["net"] = any(is_unknown.values())
    sums = {column: None if is_unknown[column] else add_units(people[column]) for column in is_unknown}
    return {
        "settled_count": int(people["payments"].sum()),
        **sums,
        "people": to_rows(people.head(most)),
        "people_count": len(people),
        "other_people": plots.sum_other_people(people, most),
    }


def is_sum_unknown(amounts: pd.Series[Any]) -> bool:
    """Return whether there are amounts, but none of them is known: their sum is not zero."""
    return len(amounts) > 0 and bool(amounts.isna().all())


def build_months(flow: pd.DataFrame) -> dict[str, Any]:
    """Return the template's variables for the table of `monthly_flow`."""
    months = to_rows(flow)
    words = dict.fromkeys([plots.choose_period(months), "month"])  # the bars of the figure, and the months themselves
    return {
        "period": plots.choose_period(months),
        "periods": [plots.build_period_table(months, word) for word in words] if months else [],
        "undated_count": int(flow.loc[flow["month"].isna(), "payments"].sum()),
    }


def build_gaps(problems: pd.DataFrame, *, strict: bool) -> dict[str, Any]:
    """Return the template's variables for the gaps between statement files."""
    gaps = problems[problems["code"] == GAP]
    places = zip(gaps["file"], format_days(gaps, strict=strict), strict=True)
    return limit_gaps([", ".join(filter(None, (f"before {file}", days))) for file, days in places])


def format_days(problems: pd.DataFrame, *, strict: bool) -> list[str]:
    """Return the first and last day of each problem as text, in strict privacy mode the months; empty if unknown."""
    format_day = display.format_month if strict else display.format_day
    days = problems[["first_day", "last_day"]].itertuples(index=False, name=None)
    known = [dict.fromkeys(format_day(day, _UTC) for day in pair if day == day) for pair in days]  # noqa: PLR0124 - NaT
    return [" to ".join(each) for each in known]


def limit_gaps(gaps: Sequence[str]) -> dict[str, Any]:
    """Return the template's variables for gaps as text."""
    return {"gaps": gaps[:_MOST_GAPS], "other_gaps": len(gaps[_MOST_GAPS:])}


def name_shown(rows: Sequence[Mapping[str, Any]], history: History, payments: pd.DataFrame) -> Names:
    """Return the names of the people in the rows that a page shows."""
    ids = [row["counterparty_id"] for row in rows]
    profiles = to_rows(history.people[history.people["user_id"].isin(ids)])
    return Names(label_people(rows, profiles, _list_phones(payments)), name_in_figures(rows, profiles))


def draw_parts(
    parts: Collection[dict[str, Any]],
    tables: Mapping[str, pd.DataFrame],
    history: History,
    names: Names,
    *,
    kind: str,
) -> list[dict[str, Any]]:
    """Return the sections with the figure of each, empty for one without a figure, and all in Markdown.

    Parameters
    ----------
    parts : collection of dict
        The sections, of which some have a plot and its table.
    tables : mapping of str to DataFrame
        The tables of the sections with templates of their own.
    history : History
    names : Names
    kind : str
        That of the page.
    """
    if kind == MARKDOWN:
        return [part | {"figure": ""} for part in parts]
    figures: dict[str, tuple[Any, ...]] = {}
    if "spend_by_friend" in tables:
        people = tables["spend_by_friend"]
        height = 1.2 + 0.34 * min(len(people), _MOST_PEOPLE + 1)
        figures["spend_by_friend"] = (partial(plots.spend_by_friend, top=_MOST_PEOPLE), people, height)
    if "monthly_flow" in tables:
        figures["monthly_flow"] = (plots.monthly_flow, tables["monthly_flow"], 3.4)
    if "pending_ageing" in tables:
        ages = tables["pending_ageing"]
        figures["pending_requests"] = (plots.pending_ageing, ages, 1.2 + 0.4 * ages["band"].nunique())
    figures |= {part["name"]: (part["plot"], part["table"]) for part in parts if part.get("plot")}
    return [
        part | {"figure": _draw_figure(history, names, *figures[part["name"]]) if part["name"] in figures else ""}
        for part in parts
    ]


def describe_privacy(history: History, currency: str) -> tuple[str, str] | None:
    """Return the name of the privacy mode, and its effects for readers of the page."""
    if not history.private:
        return None
    sizes = [display.format_money(units, currency=currency, decimals=0) for units in _SIZES]
    amounts = _AMOUNTS.format(*sizes)
    return (display.STRICT, f"{_STRICT} {amounts}") if history.strict else (display.PRIVATE, f"{_PRIVATE} {amounts}")


def to_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table's rows, with None for each null."""
    plain = table.astype(object).where(table.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]


def measure_amounts(*amounts: Iterable[float | None], currency: str) -> int:
    """Return the length of the longest amount as displayed."""
    known = [amount for some in amounts for amount in some if amount is not None]
    ends = (min(known, default=0), max(known, default=0))
    return max(len(display.format_money(amount, currency=currency)) for amount in ends)


def _list_phones(payments: pd.DataFrame) -> frozenset[str]:
    """Return the phone numbers of people; statements have one as the name of a person without an account."""
    nameless = payments.loc[payments["counterparty_id"].isna(), "counterparty_name"].dropna().unique()
    return frozenset(payments["target_phone"].dropna()) | {name for name in nameless if display.is_phone(name)}


def _draw_figure(
    history: History, names: Names, plot: Callable[..., Axes], table: pd.DataFrame, height: float | None = None
) -> str:
    """Return the plot of a table as an SVG in a data address; without a height, the plot chooses it."""
    image = plots.to_image(
        plot,
        table,
        "svg",
        size=(_WIDTH, height and max(height, 2.0)),
        names=names.figures,
        private=history.private,
        strict=history.strict,
    )
    return "data:image/svg+xml;base64," + base64.b64encode(image).decode("ascii")


def _shorten(text: str) -> str:
    """Return the text, or its beginning and the length of the whole."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT].rstrip()}… ({len(text):,} characters)"


def _find_key(value: Any, kind: str = "money") -> Any:  # noqa: ANN401 - a value of a table
    """Return the value by which a table is sorted: cents, seconds, days or a number.

    It is None for values that are sorted as the text that is shown, and empty for a missing value, which is the last.
    """
    if value is None:
        return ""
    if kind in _TEXTS:
        return None
    if kind == "money":
        return round(value * 100)
    return int(value.timestamp()) if kind == "instant" else value.toordinal() if kind == "date" else value
