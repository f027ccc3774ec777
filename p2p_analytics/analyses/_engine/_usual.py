"""Usual values: rows that have nothing else need no further check, and Parquet files say so in their statistics."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.analyses._engine import _columns
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames import schema as frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

CENTS: Final = 2**26  # the largest amount, with either sign
MOST_CENTS: Final = 2**53  # from here on, floats skip whole numbers
FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
END: Final = datetime(2050, 1, 1, tzinfo=UTC)
_SQL_OF_CURRENCY: Final = {
    "currency": f"currency <> '{US_DOLLARS}' OR currency IS NULL",
    "source": f"source <> '{frames.SOURCE_API}'",  # a null is usual
}


class Question(NamedTuple):
    """Which columns may have unusual values, whether currencies matter, and whether the number of rows does."""

    names: Sequence[str]
    currency: bool
    rows: bool


class Unusual(NamedTuple):
    """How many rows a frame has, how many unusual values, and whether each row is of the kind "payment".

    The number of rows matters to sums of amounts, and may be 0 without any. A row may count several times. That all are
    payments is said only where it is quicker to find out than to compare.
    """

    rows: int
    values: int
    is_one_kind: bool

    @property
    def is_none(self) -> bool:
        """Whether there is no unusual value, and no sum of amounts can be inexact."""
        return self.rows * CENTS < MOST_CENTS and not self.values


def list_amounts(names: Iterable[str]) -> list[str]:
    """Return the columns of cents."""
    return [name for name in names if _columns.find_kind(name) == frames.WHOLE]


def list_dates(names: Iterable[str]) -> list[str]:
    """Return the columns of instants."""
    return [name for name in names if _columns.find_kind(name) == frames.INSTANT]


def write_sql(
    types: Mapping[str, str], instant: str, quote: Callable[[str], str], *, currency: bool
) -> dict[str, str] | None:
    """Return conditions in SQL, by the column that they are on, of which a row with an unusual value satisfies one.

    None if a column of dates has another type than ``instant``, which engines could not compare.
    """
    amounts, dates = list_amounts(types), list_dates(types)
    if any(types[name] != instant for name in dates):
        return None
    conditions = {name: f"{quote(name)} < -{CENTS} OR {quote(name)} > {CENTS}" for name in amounts}
    for name in dates:
        conditions[name] = f"{quote(name)} < {instant} '{FIRST}' OR {quote(name)} >= {instant} '{END}'"
    if currency:  # statistics of two columns would be of no use
        conditions |= [(name, text) for name, text in _SQL_OF_CURRENCY.items() if name in types][:1]
    return conditions
