"""Categories of payments by the words and emoji in their notes, and the money in each."""

from __future__ import annotations

import functools
import re
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics.analyses import _engine
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.stable.v2.typing import IntoFrameT

UNCATEGORISED: Final = "uncategorised"
_COLUMNS: Final = {
    "category": _engine.TEXT,
    **dict.fromkeys(("sent", "received", "net"), _engine.NUMBER),
    "payments": _engine.COUNT,
    "share_of_sent": _engine.NUMBER,
}
_CENTS: Final = ["flow_cents", "received_cents", "payments"]
_READ: Final = ("note", "counterparty_id", "counterparty_name")
_BORDER: Final = r"[^\p{L}\p{N}]"  # not \b, in which engines differ on letters such as é
_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Rule(NamedTuple):
    """One row of a table of rules; an empty pattern matches every note, an empty person everybody."""

    pattern: str
    category: str
    person: str


def default_rules() -> pd.DataFrame:
    """Return the table of rules of `categorise`, to be edited: its columns are ``pattern`` and ``category``."""
    import pandas as pd

    with resources.files(__package__).joinpath("categories.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype="str", keep_default_na=False)


def categorise(payments: IntoFrameT, rules: pd.DataFrame | None = None) -> Any:  # noqa: ANN401 - a Series or a frame
    """Return the category of each payment, by words and emoji in its note, or by the person.

    Upper and lower case and white space do not matter. A word or phrase matches between characters that are no letters
    and digits; a pattern without letters and digits, such as an emoji, matches anywhere.

    Parameters
    ----------
    payments : frame
        PAYMENTS, every row. A missing column counts as null.
    rules : pandas.DataFrame, optional
        Columns ``pattern`` and ``category``, and optionally ``person``: an id, or a name. The first rule that matches
        wins: first those with a person, then the others, each in the order of the table. A pattern may be empty where
        there is a person. By default that of `default_rules`.

    Returns
    -------
    Series or frame
        For a pandas frame a column of text to assign, with the frame's index; for another frame the frame with a column
        ``category``, the last. Null where no rule matches.

    Raises
    ------
    ConfigurationError
        The rules are not such a table.
    SchemaError
        The input is no frame of an engine that works, or holds other types.
    """
    return _engine.add_text_column(payments, _READ, "category", find_category(rules), what="categorise")


def find_category(rules: pd.DataFrame | None = None) -> nw.Expr:
    """Return the category of each row as an expression on the note and the counterparty; null without one."""
    found = nw.lit(None, dtype=nw.String())
    for condition, category in reversed(_list_conditions(_read_rules(rules))):
        found = nw.when(condition).then(nw.lit(category)).otherwise(found)
    return found


def categories(payments: IntoFrameT, rules: pd.DataFrame | None = None) -> IntoFrameT:
    """Return the money sent and received in each category, in settled payments.

    One row per category that occurs.

    Columns
    -------
    category : text
        By `categorise`; ``uncategorised`` where no rule matches.
    sent, received, net : currency units
        ``net`` is received less sent. An unknown amount counts as 0.
    payments : count
    share_of_sent : fraction
        Of the total sent; 0 if that total is 0.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, are excluded; so are rows of another ``kind`` than
        payments. Repeated payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at
        the call, for the checks.
    rules : pandas.DataFrame, optional
        See `categorise`.

    Returns
    -------
    frame
        Largest ``sent`` first, then by name, ``uncategorised`` last; without rows if there are no settled payments.

    Raises
    ------
    ConfigurationError
        The rules are not such a table.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.
    """
    category = find_category(rules)
    col = nw.col
    opened = _engine.open_frame(payments, ["direction", "flow_cents", *_READ], status=Status.SETTLED, what="categories")
    table = (
        opened.frame.with_columns(
            category=category.fill_null(UNCATEGORISED),
            received_cents=nw.when(col("direction") == "in").then(col("flow_cents")).otherwise(0),
        )
        .group_by("category")
        .agg(col("flow_cents").sum(), col("received_cents").sum(), payments=nw.len())
        .with_columns(_engine.integers(_CENTS))
        .with_columns(
            sent_cents=col("received_cents") - col("flow_cents"),
            is_last=nw.when(col("category") == UNCATEGORISED).then(1).otherwise(0),
        )
        .with_columns(share_of_sent=_engine.share("sent_cents", col("sent_cents").sum()))
        .with_columns(
            sent=_engine.units("sent_cents"), received=_engine.units("received_cents"), net=_engine.units("flow_cents")
        )
        .sort("is_last", "sent_cents", "category", descending=[False, True, False])
    )
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)


def _read_rules(rules: pd.DataFrame | None) -> list[Rule]:
    if rules is None:
        return _default()
    if not is_pandas_dataframe(rules) or not {"pattern", "category"} <= {*rules.columns}:
        raise ConfigurationError(
            "rules need a pandas frame with the columns pattern and category, and optionally person: "
            "edit a copy of p2p.default_rules()."
        )
    found = []
    people = rules["person"] if "person" in rules else [None] * len(rules)
    for number, row in enumerate(zip(rules["pattern"], rules["category"], people, strict=True)):
        rule = Rule(*(_clean(value) for value in row))
        if not rule.category or not (rule.pattern or rule.person):
            raise ConfigurationError(f"Row {number} of the rules needs a category, and a pattern or a person.")
        found.append(rule._replace(category=str(row[1]).strip()))
    return found


@functools.cache
def _default() -> list[Rule]:
    return _read_rules(default_rules())


def _clean(value: object) -> str:
    """Return a text in the form in which notes are compared; a missing value is empty."""
    return " ".join(value.split()).lower() if isinstance(value, str) else ""


def _list_conditions(rules: list[Rule]) -> list[tuple[nw.Expr, str]]:
    """Return what each rule asks for, in the order in which they are tried; neighbours of one category are joined."""
    note = _engine.normalise("note")
    conditions = []
    for person, category, group in _group(rules):
        patterns = [rule.pattern for rule in group]
        condition = None if "" in patterns else note.str.contains(_write_expression(patterns))
        if person:
            is_person = (nw.col("counterparty_id").fill_null("").str.to_lowercase() == person) | (
                _engine.normalise("counterparty_name") == person
            )
            condition = is_person if condition is None else is_person & condition
        conditions.append((nw.lit(value=True) if condition is None else condition, category))
    return conditions


def _group(rules: list[Rule]) -> list[tuple[str, str, list[Rule]]]:
    first = sorted(rules, key=lambda rule: not rule.person)  # stable
    return [
        (person, category, list(group))
        for (person, category), group in groupby(first, key=lambda rule: (rule.person, rule.category))
    ]


def _write_expression(patterns: list[str]) -> str:
    """Return a regular expression that finds any of the patterns, in the syntax that all engines share."""
    words = [_escape(pattern) for pattern in patterns if any(map(str.isalnum, pattern))]
    signs = [_escape(pattern) for pattern in patterns if not any(map(str.isalnum, pattern))]
    joined = [f"(?:^|{_BORDER})(?:{'|'.join(words)})(?:$|{_BORDER})"] if words else []
    return "|".join([*joined, *signs])


def _escape(pattern: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found.group()}", pattern)
