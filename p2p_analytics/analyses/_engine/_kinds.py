"""Kinds of result columns: their dtype while they are computed, and in pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import narwhals.stable.v2 as nw

if TYPE_CHECKING:
    from narwhals.dtypes import DType


class Kind(NamedTuple):
    """The type of a result column: its dtype while it is computed, and its pandas dtype."""

    dtype: DType
    pandas: str


TEXT: Final = Kind(nw.String(), "str")
COUNT: Final = Kind(nw.Int64(), "int64")
WHOLE: Final = Kind(nw.Int64(), "Int64")
NUMBER: Final = Kind(nw.Float64(), "float64")
FLAG: Final = Kind(nw.Boolean(), "boolean")
INSTANT: Final = Kind(nw.Int64(), "datetime64[us, UTC]")  # computed as microseconds since 1970
DATE: Final = Kind(nw.Int64(), "datetime64[us]")  # computed as days since 1970
