"""Columns that are read of a frame, and kinds of columns of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals.stable.v2 as nw
    from narwhals.dtypes import DType

    from p2p_analytics.vocabulary import Status


class Selection(NamedTuple):
    """What an analysis reads of a frame.

    Attributes
    ----------
    names : list of str
        Columns of the frame.
    wanted : set of str
        Those of them that the analysis needs. The others say which rows count: one of which every row has the usual
        value may be left out.
    status : Status, optional
        The only one that counts: rows of another may be left out.
    """

    names: list[str]
    wanted: frozenset[str]
    status: Status | None = None


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


def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
    """Return the dtypes of those columns that a frame has."""
    schema = frame.collect_schema()
    return {name: schema[name] for name in names if name in schema}
