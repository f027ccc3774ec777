"""Kinds of columns: of the frames that are read, and of results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.times import DAY_US
from p2p_analytics.vocabulary import Status

CSV_ADVICE: Final = "pandas.read_csv guesses types, p2p.read_csv keeps them"
_WORDS: Final = {
    frames.TEXT: "text", frames.WHOLE: "whole cents", frames.INSTANT: "datetimes", frames.FLAG: "true or false",
}  # fmt: skip
TOO_LARGE: Final = (
    "amounts of 2**53 cents or more, one or all together, too many to be exact: correct or drop the largest"
)


class Selection(NamedTuple):
    """What an analysis reads of a frame.

    Attributes
    ----------
    names : sequence of str
        Columns of the frame.
    wanted : collection of str
        The columns that the analysis needs. The others decide which rows count: an engine may leave out one with only
        usual values.
    status : Status, optional
        The only status that counts: an engine may leave out rows with another one.
    """

    names: Sequence[str]
    wanted: Collection[str]
    status: Status | None = None


class Usual(NamedTuple):
    """The smallest and the largest usual value of a column, and whether a null is usual.

    Rows with only usual values need no further check, and the statistics of Parquet files prove it without reading the
    columns: a query for the extremes of a million rows takes as long as a small analysis.
    """

    first: int | str | datetime
    last: int | str | datetime
    with_null: bool = True


class Kind(NamedTuple):
    """The type of a result column, and the computed column that it shows.

    Attributes
    ----------
    pandas : str
        The dtype in pandas, which no other type has.
    arrow : str
        The type in Arrow, also of literal rows; instants and dates are whole numbers in it.
    column : str
        The computed column; empty if it has the name of the result column.
    per : int
        The number above 0 that the computed column is divided by, in the last step.
    """

    pandas: str
    arrow: str
    column: str = ""
    per: int = 1

    def of(self, column: str) -> Kind:
        """Return the kind for a computed column that has another name than the result column."""
        return self._replace(column=column)

    def has_type(self, other: Kind) -> bool:
        """Return whether two kinds have the same type."""
        return self.pandas == other.pandas


TEXT: Final = Kind("str", "string")
COUNT: Final = Kind("int64", "int64")
WHOLE: Final = Kind("Int64", "int64")
NUMBER: Final = Kind("float64", "double")
FLAG: Final = Kind("boolean", "bool")
INSTANT: Final = Kind("datetime64[us, UTC]", "int64")  # computed as microseconds since 1970
DATE: Final = Kind("datetime64[us]", "int64")  # computed as days since 1970


def units(cents: str, *, times: int = 1) -> Kind:
    """Return the kind of an amount in currency units, of a column of cents, or of some times the cents."""
    return NUMBER._replace(column=cents, per=100 * times)


def days(microseconds: str) -> Kind:
    """Return the kind of a length of time in days, a fraction."""
    return NUMBER._replace(column=microseconds, per=DAY_US)


def whole_days(microseconds: str) -> Kind:
    """Return the kind of a length of time in whole days, rounded down."""
    return WHOLE._replace(column=microseconds, per=DAY_US)


def find_kind(name: str) -> str:
    """Return the dtype of a column in the frames that a load gives; a column of the user's own is text."""
    return frames.PAYMENTS.get(name) or frames.PEOPLE.get(name, frames.TEXT)


def build_error(what: str, name: str, kind: str, found: str, advice: str = CSV_ADVICE) -> SchemaError:
    """Return the error for a column that holds something else than its kind."""
    return SchemaError(f"{what} needs {_WORDS[kind]} in the column {name}, not {found}; {advice}.")


def is_instant(name: str, dtype: object, *, is_date: bool, what: str) -> bool:
    """Return whether a column holds instants; one that should, and has another dtype, is refused."""
    if is_date or find_kind(name) != frames.INSTANT:
        return is_date and find_kind(name) == frames.INSTANT
    raise build_error(what, name, frames.INSTANT, str(dtype), "cast it")
