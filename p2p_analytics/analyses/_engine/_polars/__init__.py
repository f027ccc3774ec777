"""Polars frames: eager frames get eager results, lazy frames lazy results."""

from p2p_analytics.analyses._engine._polars.frames import (
    check,
    convert_instants,
    is_text_column,
    read,
    read_names,
)
from p2p_analytics.analyses._engine._polars.queries import add_quotient, cut, find_ranked, find_unusual
from p2p_analytics.analyses._engine._polars.results import ON_POLARS, load_table, to_result

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
