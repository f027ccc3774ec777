"""Problems of statement files as data; their sentences are made when they are shown."""

from __future__ import annotations

from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import polars as pl

from p2p_analytics.display import format_count, format_money
from p2p_analytics.frames.schema import CUT_OFF, DOES_NOT_ADD_UP, GAP, PROBLEMS, parse_dtype
from p2p_analytics.money import to_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SKIPPED: Final = "skipped"
REFUSED: Final = "refused"
COPY: Final = "copy"
POSSIBLE_DOUBLE: Final = "possible_double"
NOT_AN_AMOUNT: Final = "not_an_amount"
NOT_A_DATE: Final = "not_a_date"
UNDECIDED: Final = "undecided_refund"
OTHER_ACCOUNTS: Final = frozenset({"other_account", "other_holder", "name_as_handle", "other_address"})

# {0} and {1} are the details of a problem.
_SENTENCES: Final = MappingProxyType({
    SKIPPED: "skipped: {0}",
    REFUSED: "refused: {0}",
    CUT_OFF: "the file has no closing row with the ending balance, so it may be cut off: download it again",
    "no_rows": "the file has a header and no rows: if there were payments in its period, download it again",
    "not_utf8": "the text is not UTF-8, and was read as Windows-1252",
    "row_width": "the row has {0} cells, the header {1}",
    "open_quote": "a quote is never closed: the rest of the file is in this cell",
    "unlisted_rows": "{0:,} more rows have the same problem: {1}",
    "unlisted_problems": "{0:,} more problems are not listed",
    "other_account": "names another account than account={0!r}, to which the file was added as you asked",
    "other_holder": "is the holder in this file, and {1!r} the holder of account={0!r}, to which the file was added as "
    "you asked",
    "name_as_handle": "is the holder in this file, which was added to the account with this handle, and the holder of "
    "that has another name: leave the file out if it is another person's",
    "other_address": "is another address of an account, because both have payments in common: its rows belong to that "
    "account",
    "wrong_side": "the sign contradicts From and To; the direction is that of the sign",
    "repeated_id": "the id is repeated in this file, and counted once",
    UNDECIDED: "no other row says whether this refund comes from a person or a merchant",
    COPY: "{0} like rows of {other_file!r} with other amounts or times, as in a copy that a spreadsheet has saved: the "
    "rows of both files are counted, so leave one of the two files out (in an archive: p2p-analytics undo ARCHIVE if "
    "the last import brought one of them, else a new archive without it)",
    NOT_AN_AMOUNT: "is not an amount",
    NOT_A_DATE: "is not a date",
    "missing": "there is no {0}",
    "ambiguous_date": "has no day above 12 in its file: read as {0}",
    "unknown_zone": "is an unknown time zone: read in {0}",
    "unknown_type": "is not a type that this version knows",
    "unknown_status": "is not a status that this version knows",
    "missing_currency": "is missing, and the file has several or none",
    "wrong_net": "is not gross and fee together: the net amount is used",
    "unknown_sign": "does not say whether the money came or went",
    "unknown_impact": "is an unknown balance impact",
    "wrong_impact": "contradicts the sign of the net amount, which is used",
    "unbalanced_row": "is the cost of a row with members' cells that do not add up to zero",
    "not_a_transaction": "is not a transaction",
    "not_whole_cents": "is not a number of cents",
    "no_direction": "nothing says whether the money came or went: name the account with read_statements(account=...)",
    "bitcoin_amount": "is an amount of Bitcoin, which has no cents",
    "wrong_sign": "has an amount with the other sign: the direction follows the amount",
    "wrong_split": "is not the difference of Money In and Money Out",
    "rounded_id": "ends in zeros, as if a spreadsheet had rounded it: compare it with the file that was downloaded",
})  # fmt: skip
# The fault of a row that explains a difference, by the actions of `ledger.reconcile`.
_ACTIONS: Final = MappingProxyType(
    {
        "without": "is there once too often",
        "counting": "moved the balance, too",
        "reversing": "has the wrong sign",
        "reading": "has an amount that was not read",
    }
)
_LONGEST_VALUE: Final = 100  # characters of a cell
_MOST_LISTED: Final = 10_000  # rows with one problem
_MOST_PROBLEMS: Final = 100_000
_NO_TEXT: Final = r"(?i)^\s*(?:\(none\))?\s*$"


class Problem(NamedTuple):
    """Something strange or unreadable in a file; without a line, in the whole file. The row stays in its bin.

    ``code`` is a word of this module, or of a user's own format.
    """

    code: str
    file: str
    line: int | None = None
    payment_id: str | None = None
    field: str = "file"
    value: str | None = None
    first_day: date | None = None
    last_day: date | None = None
    cents: int | None = None
    currency: str | None = None
    other_file: str | None = None
    details: tuple[Any, ...] = ()

    @property
    def sentence(self) -> str:
        """The problem in words, for people; the words of a code that is not known are the code itself."""
        if self.code in _LONG_SENTENCES:
            return _LONG_SENTENCES[self.code](self)
        template = _SENTENCES.get(self.code)
        if template is None:
            return self.code.replace("_", " ")
        return template.format(*self.details, other_file=self.other_file)


def _describe_other_row(problem: Problem) -> str:
    """Return the sentence of a row that contradicts the row that is kept, which may come from no file."""
    line, adds_up = problem.details
    value = "date" if problem.field == "date" else "amount"
    place = "" if problem.other_file is None else f": line {line} of {problem.other_file!r}"
    reason = ", a file that adds up" if adds_up else ""
    return f"another row of this payment has another {value}, and is the one that is kept{place}{reason}"


def _describe_difference(problem: Problem) -> str:
    """Return the sentence of a file that does not add up: a row may be missing, or some rows explain the difference."""
    remarks, sets = problem.details
    found = ["the balances and the rows of the file do not add up"]
    if problem.cents:
        missing = _format(problem.cents, problem.currency, plus="+")
        found.append(f"a row of {missing} may be missing: download the file again")
    for rows in sets:  # such as "2024-06-12 Ravi Shah \N{MINUS SIGN}$25.22 is there once too often"
        words = []
        for action, day, name, cents in rows:
            amount = None if cents is None else _format(cents, problem.currency, plus="+")
            words.append(f"{' '.join(filter(None, [day, name, amount]))} {_ACTIONS[action]}")
        found.append(f"or {' and '.join(words)}")
    if remarks or not problem.cents:
        found.append(remarks or "amounts cannot be read")
    return "; ".join(found)


def _describe_gap(problem: Problem) -> str:
    """Return the sentence of a file before which a file or rows may be missing."""
    days, months, others, others_cents = problem.details
    found = []
    if days:
        found.append(f"{format_count(days, 'day is', 'days are')} in no file")
    if months:
        found.append(f"{format_count(months, 'month', 'months')} without rows")
    if problem.cents:
        found.append(f"the balance changed by {_format(problem.cents, problem.currency)}")
    if others:
        amount = "the balance, too" if others_cents is None else f"it by {_format(others_cents, problem.currency)}"
        rows = format_count(others, "row", "rows")
        found.append(f"{rows} of a sync or merge in these days moved {amount}: other kinds of rows are in files only")
    return f"a file or rows may be missing after {problem.other_file!r}: {', '.join(found)}"


def _describe_double(problem: Problem) -> str:
    """Return the sentence of a file that may have the rows of another file under other ids."""
    (reason,) = problem.details
    found = {
        "days": f"is about the same days as {problem.other_file!r}, and the files have no row in common",
        "balances": f"has other rows than {problem.other_file!r}, and the same balances after them",
    }
    return f"{found[reason]}: if they list the same transactions, these count twice, so leave one of the files out"


def _format(cents: int, currency: str | None, plus: str = "") -> str:
    return (plus if cents > 0 else "") + format_money(to_units(cents), currency=currency)


_LONG_SENTENCES: Final[dict[str, Callable[[Problem], str]]] = {
    DOES_NOT_ADD_UP: _describe_difference,
    GAP: _describe_gap,
    POSSIBLE_DOUBLE: _describe_double,
    "other_amount": _describe_other_row,
    "other_date": _describe_other_row,
}


def frame_problems(problems: Sequence[Problem]) -> pd.DataFrame:
    """Return PROBLEMS, with the sentences; of very many, the first ones, and how many more there are."""
    shown = list(problems[:_MOST_PROBLEMS])
    if len(problems) > _MOST_PROBLEMS:
        rest = len(problems) - _MOST_PROBLEMS
        shown.append(Problem("unlisted_problems", shown[-1].file, field="", details=(rest,)))
    days = ("first_day", "last_day")
    columns = {name: [getattr(each, name) for each in shown] for name in PROBLEMS if name != "problem"}
    columns |= {
        name: [day and datetime(day.year, day.month, day.day, tzinfo=UTC) for day in columns[name]] for name in days
    }
    columns["problem"] = [each.sentence for each in shown]
    return pd.DataFrame({name: pd.array(columns[name], dtype=parse_dtype(dtype)) for name, dtype in PROBLEMS.items()})


def list_unreadable(  # noqa: PLR0913 - the cells, their values, and the problem
    places: pl.DataFrame, cells: pl.Series, values: pl.Series, *, field: str, code: str, details: Sequence[object] = ()
) -> list[Problem]:
    """Return a problem for each cell with text, other than "(None)", that has no value.

    ``places`` has ``file`` and ``line`` of each cell, and ``payment_id`` if it is known.
    """
    if not values.null_count():
        return []
    text = cells.cast(pl.String)
    is_unreadable = values.is_null() & text.is_not_null() & ~text.str.contains(_NO_TEXT).fill_null(value=True)
    return list_problems(places, is_unreadable, text, field=field, code=code, details=details)


def list_problems(  # noqa: PLR0913 - what a problem consists of
    places: pl.DataFrame,
    is_problem: pl.Series,
    cells: pl.Series,
    *,
    field: str,
    code: str,
    details: Sequence[object] = (),
    other_file: pl.Series | None = None,
) -> list[Problem]:
    """Return a problem for each row of a mask; details can be columns. Of very many rows, the rest is counted."""
    if not is_problem.any():
        return []
    payment_id = pl.col("payment_id") if "payment_id" in places.columns else pl.lit(None, pl.String)
    columns = {f"detail_{at}": detail for at, detail in enumerate(details) if isinstance(detail, pl.Series)}
    value = cells.cast(pl.String).str.slice(0, _LONGEST_VALUE)
    rows = places.select("file", "line", payment_id=payment_id)
    rows = rows.with_columns(value=value, other_file=other_file, **columns).filter(is_problem.fill_null(value=False))
    problems = []
    for row in rows.head(_MOST_LISTED).iter_rows(named=True):
        own = tuple(row.pop(f"detail_{at}", detail) for at, detail in enumerate(details))
        problems.append(Problem(code, field=field, details=own, **row))
    if len(rows) > _MOST_LISTED:
        file, line = rows.select("file", "line").row(_MOST_LISTED)
        rest = len(rows) - _MOST_LISTED, problems[-1].sentence
        problems.append(Problem("unlisted_rows", file, line, None, field, details=rest))
    return problems
