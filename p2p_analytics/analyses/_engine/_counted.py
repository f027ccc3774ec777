"""Rows that count: of the kind "payment", and where a status is asked for, with it and a direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from p2p_analytics.frames.schema import KIND_PAYMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from narwhals.dtypes import DType

    from p2p_analytics.vocabulary import Status


def keep_counted(
    frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
) -> nw.LazyFrame[Any]:
    """Return the rows of a Polars frame that count."""
    import polars as pl

    native: pl.LazyFrame = frame.to_native()
    if has_kinds:
        # A coalesced column is compared with the statistics of Parquet files.
        kind = _find_words("kind", dtypes["kind"], KIND_PAYMENT).fill_null(KIND_PAYMENT)
        native = native.filter(kind == KIND_PAYMENT)
    if status:
        direction = _find_words("direction", dtypes["direction"], "in", "out")
        # Polars compares directions of other statuses too if one filter has both. No column has all names as its name.
        flag = "_".join(dtypes)
        native = (
            native.filter(_find_words("status", dtypes["status"], status.value) == status.value)
            .with_columns(((direction == "in") | (direction == "out")).alias(flag))
            .filter(pl.col(flag))
        )
    return nw.from_native(native)


def keep_counted_by_sql(
    frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
) -> nw.LazyFrame[Any]:
    """Return the rows that count of a frame that takes conditions in SQL."""
    condition = _write_sql(dtypes, status, has_kinds=has_kinds)
    counted: nw.LazyFrame[Any] = nw.from_native(frame.to_native().filter(condition)) if condition else frame
    return counted


def _write_sql(dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool) -> str | None:
    """Return the condition of rows that count in SQL; None for all rows."""
    conditions = []
    if has_kinds:
        kind = _write_words("kind", dtypes["kind"], KIND_PAYMENT)
        conditions.append(f"coalesce({kind}, '{KIND_PAYMENT}') = '{KIND_PAYMENT}'")
    if status:
        conditions.append(f"{_write_words('status', dtypes['status'], status.value)} = '{status.value}'")
        direction = _write_words("direction", dtypes["direction"], "in", "out")
        # Coalesced, although a null does not count anyway: else DuckDB makes it a list, which takes longer to compare.
        conditions.append(f"coalesce({direction} = 'in' OR {direction} = 'out', false)")
    return " AND ".join(conditions) or None


def _find_words(name: str, dtype: DType, *words: str) -> pl.Expr:
    """Return a text column that can be compared with words, and filled with them."""
    import polars as pl

    return pl.col(name).cast(pl.String) if _is_without(dtype, *words) else pl.col(name)


def _write_words(name: str, dtype: DType, *words: str) -> str:
    """Return a text column that can be compared with words in SQL."""
    return f"CAST({name} AS VARCHAR)" if _is_without(dtype, *words) else name


def _is_without(dtype: DType, *words: str) -> bool:
    """Return whether a column is an Enum without one of some words.

    The word would stay null there, or is refused by Polars; other categoricals take longer as text.
    """
    return isinstance(dtype, nw.Enum) and not {*words} <= {*dtype.categories}
