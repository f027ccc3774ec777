"""Columns that are read of a frame, and kinds of columns of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    """The type of a result column: its dtype while it is computed, its pandas dtype, and its type in Arrow."""

    dtype: DType
    pandas: str
    arrow: str


TEXT: Final = Kind(nw.String(), "str", "string")
COUNT: Final = Kind(nw.Int64(), "int64", "int64")
WHOLE: Final = Kind(nw.Int64(), "Int64", "int64")
NUMBER: Final = Kind(nw.Float64(), "float64", "float64")
FLAG: Final = Kind(nw.Boolean(), "boolean", "bool")
INSTANT: Final = Kind(nw.Int64(), "datetime64[us, UTC]", "int64")  # computed as microseconds since 1970
DATE: Final = Kind(nw.Int64(), "datetime64[us]", "int64")  # computed as days since 1970


def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
    """Return the dtypes of those columns that a frame has."""
    schema = frame.collect_schema()
    return {name: schema[name] for name in names if name in schema}


def cast(frame: nw.LazyFrame[Any], schema: Mapping[str, Kind]) -> nw.LazyFrame[Any]:
    """Return the columns of a schema in the dtypes in which they are computed."""
    return frame.select(nw.col(name).cast(kind.dtype) for name, kind in schema.items())
