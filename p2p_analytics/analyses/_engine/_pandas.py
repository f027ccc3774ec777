"""pandas frames, which Polars computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics.analyses._engine import _columns, _polars
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames import schema as frames

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.analyses._engine._usual import Unusual
    from p2p_analytics.vocabulary import Status

_FEW: Final = 4  # rows are few up to one in this number: from there on, Arrow would take longer to copy their text
_MOST_CHUNKS: Final = 100


class Pandas:
    """Columns are read and checked value by value, and handed over through Arrow."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a pandas frame."""
        return is_pandas_dataframe(native)

    @staticmethod
    def is_lazy(native: pd.DataFrame) -> bool:
        """Return whether a frame is a query, which may be large."""
        _ = native
        return False

    @staticmethod
    def check(native: pd.DataFrame, what: str) -> None:
        """Pandas has no session."""

    @staticmethod
    def read_names(native: pd.DataFrame) -> list[str]:
        """Return the names of the columns that are text."""
        return [name for name in native.columns if isinstance(name, str)]

    @staticmethod
    def is_text_column(native: pd.DataFrame, name: str) -> bool:
        """Return whether a column may hold text; objects may."""
        column = native.loc[:, name]
        return column.ndim > 1 or _columns.is_text(column)  # two columns of one name are refused when they are read

    @staticmethod
    def read(native: pd.DataFrame, selection: Selection, what: str) -> nw.LazyFrame[Any]:
        """Return columns of the rows that may count; see `_read_table`."""
        import polars as pl

        table = _drop_other_statuses(_read_table(native, selection, what), selection.status)
        # A few chunks of a column stay as they are: to make one of them takes longer than it saves.
        chunks = max((column.num_chunks for column in table.columns), default=0)
        return nw.from_native(cast("pl.DataFrame", pl.from_arrow(table, rechunk=chunks > _MOST_CHUNKS))).lazy()

    @staticmethod
    def count_microseconds(frame: nw.LazyFrame[Any], what: str) -> nw.LazyFrame[Any]:
        """Return a frame with microseconds since 1970 in place of instants; dates without a zone are UTC."""
        return _polars.count_microseconds(frame, what)

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], what: str, *, with_currency: bool) -> Unusual:
        """Return the number of rows, and of those with an unusual value."""
        _ = what
        return _polars.count_unusual(frame, with_currency=with_currency)

    @staticmethod
    def load_table(native: pd.DataFrame, table: pa.Table) -> nw.LazyFrame[Any]:
        """Return rows in Arrow as a Polars frame."""
        _ = native
        return _polars.load_table(table)

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: pd.DataFrame, schema: Mapping[str, Kind]) -> pd.DataFrame:
        """Return a result column by column: ``to_pandas`` gives other dtypes, and takes longer."""
        import pandas as pd
        from pandas.api.extensions import ExtensionDtype

        _ = native
        table = _polars.set_types(frame, schema).collect()
        columns = {}
        for name, kind in schema.items():
            dtype: Any = pd.api.types.pandas_dtype(kind.pandas)
            column = table.get_column(name)
            is_extension = isinstance(dtype, ExtensionDtype)
            columns[name] = dtype.__from_arrow__(column.to_arrow()) if is_extension else column.to_numpy().astype(dtype)
        return pd.DataFrame(columns)


def _read_table(frame: pd.DataFrame, selection: Selection, what: str) -> pa.Table:
    """Return columns in Arrow.

    A kind or currency that every row has is left out if it is the usual one: Polars would take longer to convert it
    than Arrow takes to compare it. The source is read only if it says what a missing currency means.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def read(name: str) -> pa.ChunkedArray:
        return _columns.read_column(frame[name], name, _columns.find_kind(name), what=what)

    columns = {name: read(name) for name in selection.names if name != "source" or name in selection.wanted}
    # A null is a usual kind.
    if "kind" in columns and pc.all(pc.equal(columns["kind"], frames.KIND_PAYMENT)).as_py() is not False:
        _drop(columns, "kind", selection.wanted)
    codes = columns.get("currency")
    is_stated = codes is not None and not codes.null_count
    if "source" in selection.names and "source" not in columns and not is_stated:
        columns["source"] = read("source")
    if "source" not in columns and is_stated and pc.all(pc.equal(codes, US_DOLLARS)).as_py() is not False:
        _drop(columns, "currency", selection.wanted)  # with a source, it would become unknown
    return pa.table(columns)


def _drop(columns: dict[str, pa.ChunkedArray], name: str, wanted: Collection[str]) -> None:
    if name not in wanted:
        del columns[name]


def _drop_other_statuses(table: pa.Table, status: Status | None) -> pa.Table:
    """Return only the rows with a status if these are few; Polars filters anyway, but takes longer to convert text."""
    import pyarrow.compute as pc

    if not status:
        return table
    has_status = pc.equal(table["status"], status.value)
    return table.filter(has_status) if (pc.sum(has_status).as_py() or 0) < len(table) / _FEW else table
