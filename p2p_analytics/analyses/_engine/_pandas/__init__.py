"""pandas frames: their columns are checked and handed over through Arrow, and Polars computes."""

from p2p_analytics.analyses._engine._pandas.frames import (
    check,
    is_text_column,
    read,
    read_names,
)
from p2p_analytics.analyses._engine._pandas.results import to_result
from p2p_analytics.analyses._engine._polars import (
    ON_POLARS,
    add_quotient,
    convert_instants,
    cut,
    find_ranked,
    find_unusual,
    load_table,
)

__all__ = [
    "ON_POLARS",
    "add_quotient",
    "check",
    "convert_instants",
    "cut",
    "find_ranked",
    "find_unusual",
    "is_text_column",
    "load_table",
    "read",
    "read_names",
    "to_result",
]
