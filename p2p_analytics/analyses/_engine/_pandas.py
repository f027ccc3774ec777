"""pandas frames, which Polars computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics.analyses._engine import _columns, _polars
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames import schema as frames

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.vocabulary import Status

    Native: TypeAlias = "pd.DataFrame | PreparedPandas"

_FEW: Final = 4  # rows are few up to one in this number: from there on, Arrow would take longer to copy their text
_MOST_CHUNKS: Final = 100


class PreparedPandas:
    """A pandas frame for several analyses, which read and convert each of its columns only once.

    The frame must not change meanwhile. Analyses take it in place of the frame, and give the same tables. Two threads
    may convert a column twice, to the same values.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._read: dict[str, pa.ChunkedArray | pa.Array] = {}
        self._converted: dict[str, pl.Series] = {}
        self._have_only: dict[tuple[str, str], bool] = {}

    def read(self, name: str, what: str) -> pa.ChunkedArray | pa.Array:
        """Return a column in Arrow, checked."""
        if name not in self._read:
            self._read[name] = _columns.read_column(self.frame[name], name, _columns.find_kind(name), what=what)
        return self._read[name]

    def has_only(self, name: str, word: str) -> bool:
        """Return whether a column that was read has no other value; nulls are none."""
        import pyarrow.compute as pc

        if (name, word) not in self._have_only:
            self._have_only[name, word] = pc.all(pc.equal(self._read[name], word)).as_py() is not False
        return self._have_only[name, word]

    def convert(self, name: str) -> pl.Series:
        """Return a column that was read in Polars."""
        import pyarrow as pa

        if name not in self._converted:
            self._converted[name] = _convert(pa.table({name: self._read[name]})).get_column(name)
        return self._converted[name]


class Pandas(_polars.OnPolars):
    """Columns are read and checked value by value, and handed over through Arrow."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a pandas frame, or one for several analyses."""
        return is_pandas_dataframe(native) or isinstance(native, PreparedPandas)

    @staticmethod
    def check(native: Native, what: str) -> None:
        """Pandas has no session."""

    @staticmethod
    def read_names(native: Native) -> list[str]:
        """Return the names of the columns that are text."""
        return [name for name in _get_frame(native).columns if isinstance(name, str)]

    @staticmethod
    def is_text_column(native: Native, name: str) -> bool:
        """Return whether a column may hold text; objects may."""
        column = _get_frame(native).loc[:, name]
        return column.ndim > 1 or _columns.is_text(column)  # two columns of one name are refused when they are read

    @staticmethod
    def read(native: Native, selection: Selection, what: str) -> nw.LazyFrame[Any]:
        """Return columns of the rows that may count; see `_read_columns`."""
        import polars as pl
        import pyarrow as pa

        if isinstance(native, PreparedPandas):  # all rows, because other analyses count other statuses
            names = _read_columns(native, selection, what)
            return nw.from_native(pl.DataFrame([native.convert(name) for name in names])).lazy()
        columns = _read_columns(PreparedPandas(native), selection, what)
        return nw.from_native(_convert(_drop_other_statuses(pa.table(columns), selection.status))).lazy()

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: Native, schema: Mapping[str, Kind]) -> pd.DataFrame:
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


def _get_frame(native: Native) -> pd.DataFrame:
    return native.frame if isinstance(native, PreparedPandas) else native


def find_pandas(native: object) -> pd.DataFrame | None:
    """Return the pandas frame that an input is or has; None for one of another engine."""
    return _get_frame(cast("Native", native)) if Pandas.is_mine(native) else None


def _read_columns(source: PreparedPandas, selection: Selection, what: str) -> dict[str, pa.ChunkedArray | pa.Array]:
    """Return columns in Arrow.

    A kind or currency that every row has is left out if it is the usual one: Polars would take longer to convert it
    than Arrow takes to compare it. The source is read only if it says what a missing currency means.
    """
    names = [name for name in selection.names if name != "source" or name in selection.wanted]
    columns = {name: source.read(name, what) for name in names}
    # A null is a usual kind.
    if "kind" in columns and source.has_only("kind", frames.KIND_PAYMENT):
        _drop(columns, "kind", selection.wanted)
    codes = columns.get("currency")
    is_stated = codes is not None and not codes.null_count
    if "source" in selection.names and "source" not in columns and not is_stated:
        columns["source"] = source.read("source", what)
    if "source" not in columns and is_stated and source.has_only("currency", US_DOLLARS):
        _drop(columns, "currency", selection.wanted)  # with a source, it would become unknown
    return columns


def _convert(table: pa.Table) -> pl.DataFrame:
    import polars as pl

    # A few chunks of a column stay as they are: to make one of them takes longer than it saves.
    chunks = max((column.num_chunks for column in table.columns), default=0)
    return cast("pl.DataFrame", pl.from_arrow(table, rechunk=chunks > _MOST_CHUNKS))


def _drop(columns: dict[str, pa.ChunkedArray | pa.Array], name: str, wanted: Collection[str]) -> None:
    if name not in wanted:
        del columns[name]


def _drop_other_statuses(table: pa.Table, status: Status | None) -> pa.Table:
    """Return only the rows with a status if these are few; Polars filters anyway, but takes longer to convert text."""
    import pyarrow.compute as pc

    if not status:
        return table
    has_status = pc.equal(table["status"], status.value)
    return table.filter(has_status) if (pc.sum(has_status).as_py() or 0) < len(table) / _FEW else table
