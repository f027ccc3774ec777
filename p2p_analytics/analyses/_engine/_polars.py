"""Polars frames, eager and lazy."""

from __future__ import annotations

from datetime import UTC
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_polars_dataframe, is_polars_lazyframe

from p2p_analytics.analyses._engine import _columns, _counted, _kinds, _usual
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames.schema import KIND_PAYMENT, SOURCE_API
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    import pyarrow as pa
    from narwhals.dtypes import DType

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.vocabulary import Status

    Frame = pl.DataFrame | pl.LazyFrame

_FARTHEST_MS: Final = 2**62 // 1000
_OUTSIDE: Final = 2**63 - 1  # which the check of dates refuses


class OnPolars:
    """Frames that Polars computes, once their columns are read."""

    @staticmethod
    def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
        """Return the dtypes of columns."""
        return _kinds.read_dtypes(frame, names)

    @staticmethod
    def plan_columns(frame: nw.LazyFrame[Any], names: Sequence[str], what: str) -> dict[str, pl.Expr]:
        """Return columns with microseconds since 1970 in place of instants; dates without a zone are UTC."""
        import polars as pl

        schema: pl.Schema = frame.to_native().collect_schema()
        columns = {}
        for name in names:
            columns[name], dtype = pl.col(name), schema[name]
            is_date = isinstance(dtype, (pl.Datetime, pl.Date))
            if dtype == pl.Null or not _columns.is_instant(name, dtype, is_date=is_date, what=what):
                continue
            number = pl.col(name).cast(pl.Int64)
            unit = getattr(dtype, "time_unit", "day")
            if unit == "day":
                columns[name] = number * DAY_US
            elif unit == "ms":
                is_outside = (number < -_FARTHEST_MS) | (number > _FARTHEST_MS)
                columns[name] = pl.when(is_outside).then(_OUTSIDE).otherwise(number * 1000)
            else:
                columns[name] = number // 1000 if unit == "ns" else number
        return columns

    @staticmethod
    def write_null() -> pl.Expr:
        """Return a column of text without values."""
        import polars as pl

        return pl.lit(None, dtype=pl.String)

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], question: _usual.Question, what: str) -> _usual.Unusual:
        """Return the number of rows, of those with an unusual value, and the kinds.

        Each part has a scan of its own: with a common one, Polars would read the columns once for all, and could not
        leave out parts of Parquet files by their statistics.
        """
        import polars as pl

        _ = what
        native: pl.LazyFrame = frame.to_native()
        schema = native.collect_schema()
        dates = [_is_unusual_date(name, schema[name]) for name in _usual.list_dates(schema)]
        conditions = [
            *map(_is_unusual_amount, _usual.list_amounts(schema)),
            *(date for date in dates if date is not None),
        ]
        if question.currency:
            conditions += _list_unusual_currencies([*schema])
        is_kind_known = schema.get("kind") == pl.String
        unusual = native.filter(pl.any_horizontal(conditions)) if conditions else native.head(0)
        others = native.filter(_is_other_kind()).head(1) if is_kind_known else native.head(0)
        every = native if question.rows else native.head(0)
        counts = pl.concat([each.select(pl.len()) for each in (every, unusual, others)])
        flags = pl.QueryOptFlags(comm_subplan_elim=False)
        rows, number, other = counts.collect(optimizations=flags).to_series()
        is_one_kind = not other and (is_kind_known or "kind" not in schema)
        if any(each is None for each in dates):
            return _usual.Unusual(0, 1, is_one_kind=is_one_kind)
        return _usual.Unusual(rows, number, is_one_kind=is_one_kind)

    @staticmethod
    def keep_counted(
        frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
    ) -> nw.LazyFrame[Any]:
        """Return the rows that count."""
        return _counted.keep_counted(frame, dtypes, status, has_kinds=has_kinds)

    @staticmethod
    def select(frame: nw.LazyFrame[Any], columns: Mapping[str, pl.Expr]) -> nw.LazyFrame[Any]:
        """Return planned columns."""
        native: pl.LazyFrame = frame.to_native()
        return nw.from_native(native.select([column.alias(name) for name, column in columns.items()]))

    @staticmethod
    def load_table(native: object, table: pa.Table) -> nw.LazyFrame[Any]:
        """Return rows in Arrow as a Polars frame."""
        import polars as pl

        _ = native
        return nw.from_native(pl.DataFrame(table)).lazy()


class Polars(OnPolars):
    """Eager frames get eager results, lazy frames lazy ones."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a Polars frame."""
        return is_polars_dataframe(native) or is_polars_lazyframe(native)

    @staticmethod
    def check(native: Frame, what: str) -> None:
        """Polars has no session."""

    @staticmethod
    def read_names(native: Frame) -> list[str]:
        """Return the names of the columns, by a query of the schema."""
        return nw.from_native(native).lazy().collect_schema().names()

    @staticmethod
    def is_text_column(native: Frame, name: str) -> bool:
        """Return whether a column is text, a categorical, or of nulls only."""
        dtype = nw.from_native(native).lazy().collect_schema()[name]
        return isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Unknown))

    @staticmethod
    def read(native: Frame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
        """Return columns as they are."""
        _ = what
        return nw.from_native(native).lazy().select(*selection.names)

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: Frame, schema: Mapping[str, Kind]) -> Frame:
        """Return a result; that of a lazy frame is not computed yet."""
        typed = set_types(frame, schema)
        result: Frame = typed.to_native() if is_polars_lazyframe(native) else typed.collect().to_native()
        return result


@cache
def _is_other_kind() -> pl.Expr:
    import polars as pl

    return pl.col("kind") != KIND_PAYMENT  # a null is a payment


@cache
def _is_unusual_amount(name: str) -> pl.Expr:
    import polars as pl

    return (pl.col(name) > _usual.CENTS) | (pl.col(name) < -_usual.CENTS)


@cache
def _is_unusual_date(name: str, dtype: pl.DataType) -> pl.Expr | None:
    """Return whether a date is unusual; None if engines cannot compare the type of the column."""
    import polars as pl

    if isinstance(dtype, pl.Date):
        first, end = _usual.FIRST.date(), _usual.END.date()
    elif isinstance(dtype, pl.Datetime) and dtype.time_zone in {None, "UTC"}:
        first, end = (each.replace(tzinfo=UTC if dtype.time_zone else None) for each in (_usual.FIRST, _usual.END))
    else:
        return None
    return (pl.col(name) < first) | (pl.col(name) >= end)


def _list_unusual_currencies(names: list[str]) -> list[pl.Expr]:
    import polars as pl

    code, source = (pl.col(name).cast(pl.String) for name in ("currency", "source"))
    if "currency" not in names:
        return [source.fill_null(SOURCE_API) != SOURCE_API] if "source" in names else []
    if "source" not in names:
        return [code.fill_null(US_DOLLARS) != US_DOLLARS]
    return [(code != US_DOLLARS) | code.is_null()]  # statistics of two columns would be of no use


def sort(frame: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Return rows in the order of columns, nulls last: all at once, which takes less memory than a sort in the plan.

    No step of the caller may come before the sort: Polars before 2 would put some there.
    """
    rows: pl.LazyFrame = frame.to_native()
    in_order = partial(_sort_rows, names=names)
    return nw.from_native(
        rows.map_batches(in_order, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False)
    )


def _sort_rows(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return rows in the order of columns.

    To compare several columns, Polars writes them as one: here only for rows that are alike in the first, unless most
    are, as then the rows would be copied for nothing.
    """
    import polars as pl

    first = names[0]
    is_tied = rows.get_column(first).is_duplicated()
    if is_tied.sum() * 2 > len(rows):
        return rows.sort(*names, nulls_last=True)
    tied = rows.filter(is_tied).sort(*names, nulls_last=True)
    return pl.concat([rows.filter(~is_tied), tied]).sort(first, nulls_last=True, maintain_order=True)


def set_types(frame: nw.LazyFrame[Any], schema: Mapping[str, Kind]) -> nw.LazyFrame[Any]:
    """Return a result in the dtypes of a schema, with instants and dates in place of numbers."""
    return OnPolars.select(frame, {name: _set_type(name, kind) for name, kind in schema.items()})


def _set_type(name: str, kind: Kind) -> pl.Expr:
    import polars as pl

    column = pl.col(kind.column or name)
    if kind.has_type(_kinds.INSTANT):
        return column.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
    if kind.has_type(_kinds.DATE):
        return column.cast(pl.Int32).cast(pl.Date)
    if kind.per > 1:
        # Polars multiplies by the inverse of a scalar divisor, which is inexact; division by a column is exact.
        column = column / (column * 0 + kind.per) if kind.has_type(_kinds.NUMBER) else column // kind.per
    return column.cast({"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}[kind.arrow])
