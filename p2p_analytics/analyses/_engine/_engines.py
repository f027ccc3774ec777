"""The engine that belongs to a kind of frame, and what every engine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from p2p_analytics.analyses._engine import _duckdb, _pandas, _polars, _spark
from p2p_analytics.analyses._engine._kinds import DATE, INSTANT, TEXT
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.arrow import arrow_type
from p2p_analytics.frames.schema import refuse_failing_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import narwhals.stable.v2 as nw
    import pyarrow as pa
    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

    from p2p_analytics.analyses._engine._kinds import Kind, Selection
    from p2p_analytics.analyses._engine._usual import Question, Unusual
    from p2p_analytics.vocabulary import Status


class Engine(Protocol):
    """A kind of frame: how it is read, how a small table is made beside it, and how a result becomes its kind."""

    @staticmethod
    def is_mine(native: object) -> bool:
        """Return whether an object is a frame of this kind; imports no engine."""

    @staticmethod
    def check(native: Any, what: str) -> None:  # noqa: ANN401 - a frame of this kind
        """Refuse a session in which results could be wrong; `count_unusual` does so, too."""

    @staticmethod
    def read_names(native: Any) -> list[str]:  # noqa: ANN401
        """Return the names of the columns that are text."""

    @staticmethod
    def is_text_column(native: Any, name: str) -> bool:  # noqa: ANN401
        """Return whether a column may hold text, by its dtype."""

    @staticmethod
    def read(native: Any, selection: Selection, what: str) -> nw.LazyFrame[Any]:  # noqa: ANN401
        """Return columns of a selection as they are; there may be others."""

    @staticmethod
    def read_dtypes(frame: nw.LazyFrame[Any], names: Sequence[str]) -> dict[str, DType]:
        """Return the dtypes of columns that `read` returned."""

    @staticmethod
    def plan_columns(frame: nw.LazyFrame[Any], names: Sequence[str], what: str) -> dict[str, Any]:
        """Return columns of what `read` returned, for `select`: as they are, or as microseconds for instants.

        Microseconds are those since 1970 in UTC; without a zone, UTC.

        Raises
        ------
        SchemaError
            A column of instants is of another type.
        """

    @staticmethod
    def write_null() -> Any:  # noqa: ANN401 - as `plan_columns` gives them
        """Return a column of text without values, for `select`."""

    @staticmethod
    def count_unusual(frame: nw.LazyFrame[Any], question: Question, what: str) -> Unusual:
        """Return what rows that `read` returned have of unusual values."""

    @staticmethod
    def keep_counted(
        frame: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, has_kinds: bool
    ) -> nw.LazyFrame[Any]:
        """Return the rows that count of what `read` returned: of the kind "payment", and with a status a direction."""

    @staticmethod
    def select(frame: nw.LazyFrame[Any], columns: Mapping[str, Any]) -> nw.LazyFrame[Any]:
        """Return columns as `plan_columns` has planned them."""

    @staticmethod
    def load_table(native: Any, table: pa.Table) -> nw.LazyFrame[Any]:  # noqa: ANN401
        """Return rows in Arrow as a frame that can be joined with those of ``native``."""

    @staticmethod
    def to_result(frame: nw.LazyFrame[Any], native: Any, schema: Mapping[str, Kind]) -> Any:  # noqa: ANN401
        """Return a frame with exactly the schema's columns as the kind of frame that ``native`` is."""


# What to pass in place of an object that has payments; by name, to import no engine.
_ADVICE: Final = {
    "Archive": 'archive.scan("pandas")',
    "Archives": 'archives.scan("polars")',
    "DuckDBPyConnection": 'connection.table("payments")',
    "Table": "polars.from_arrow(table)",
}
ENGINES: tuple[type[Engine], ...] = (_pandas.Pandas, _polars.Polars, _duckdb.DuckDB, _spark.Spark)


def find_engine(native: object, *, what: str) -> type[Engine]:
    """Return the engine of a frame.

    Raises
    ------
    SchemaError
        The object is no frame of an engine that works.
    """
    for engine in ENGINES:
        if engine.is_mine(native):
            return engine
    attribute = "friends" if what == "friends" else "payments"
    name = type(native).__name__
    sentence = f"{what} needs a pandas or Polars frame, a DuckDB relation or a PySpark DataFrame, not"
    if hasattr(native, attribute):
        raise SchemaError(f"{sentence} a {name}: pass history.{attribute}.")
    if advice := _ADVICE.get(name):
        raise SchemaError(f"{sentence} {name}: pass {advice}.")
    raise SchemaError(f"{sentence} {name}.")


def read_names(native: IntoFrame, *, what: str) -> list[str]:
    """Return the column names of a frame that are text.

    Raises
    ------
    SchemaError
        The input is no frame of an engine that works, or a lazy frame with a query that fails.
    """
    engine = find_engine(native, what=what)
    with refuse_failing_query(native, what=what):
        return engine.read_names(native)


def is_text_column(native: IntoFrame, name: str) -> bool:
    """Return whether a column may hold text, by its dtype."""
    return find_engine(native, what=name).is_text_column(native, name)


def build_rows(
    native: IntoFrame, rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
) -> nw.LazyFrame[Any]:
    """Return literal rows as a frame of the caller's engine, for a join."""
    import pyarrow as pa

    columns = {name: pa.array(rows[name], kind.arrow) for name, kind in schema.items()}
    return find_engine(native, what="rows").load_table(native, pa.table(columns))


def collect(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.DataFrame[Any]:
    """Return the rows of a query on the caller's frame, in Arrow for an engine without frames of its own.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    with refuse_failing_query(native, what=what):
        return frame.collect()


def collect_here(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return the rows of a query on the caller's frame as a Polars frame in this process, to finish a small result.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    import narwhals.stable.v2 as nw
    import polars as pl

    found = collect(frame, native, what=what).to_native()
    return nw.from_native(found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)).lazy()


def keep_small(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return a small table with exact ranks in memory, for DuckDB; for other engines as it is.

    DuckDB keeps all values for a rank: beside other parts of a query that are short of memory, it fills the disk.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    if not frame.implementation.is_duckdb():
        return frame
    return find_engine(native, what=what).load_table(native, collect(frame, native, what=what).to_arrow())


def build_result(
    like: IntoFrameT, rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind], currency: str = US_DOLLARS
) -> IntoFrameT:
    """Return literal rows as a result, of kinds that show no other column; see `to_result`."""
    import pyarrow as pa

    engine = find_engine(like, what="result")
    if issubclass(engine, _polars.OnPolars):
        return to_result(build_rows(like, rows, schema), like, schema, currency)
    table = pa.table({name: _build_column(rows[name], kind) for name, kind in schema.items()})
    if currency != US_DOLLARS and "currency" not in schema:
        table = table.append_column("currency", pa.array([currency] * len(table), "string"))
    result: IntoFrameT = engine.load_table(like, table).to_native()
    return result


def to_result(
    frame: nw.LazyFrame[Any], like: IntoFrameT, schema: Mapping[str, Kind], currency: str = US_DOLLARS
) -> IntoFrameT:
    """Return a result, computed by the caller's engine or here, as the caller's kind of frame.

    It has exactly the schema's columns and dtypes; amounts in another currency than US dollars have it in one more
    column, the last.
    """
    import pyarrow as pa

    if currency != US_DOLLARS and "currency" not in schema:
        import narwhals.stable.v2 as nw

        frame, schema = frame.with_columns(currency=nw.lit(currency)), {**schema, "currency": TEXT}
    engine = find_engine(like, what="result")
    result: IntoFrameT
    if frame.implementation.is_polars() and not issubclass(engine, _polars.OnPolars):
        found = _polars.set_types(frame, schema).collect()
        columns = {name: found.get_column(name).to_arrow() for name in schema}
        texts = {name: columns[name].cast("string") for name, kind in schema.items() if kind.has_type(TEXT)}
        result = engine.load_table(like, pa.table(columns | texts)).to_native()
    else:
        result = engine.to_result(frame, like, schema)
    return result


def _build_column(values: Sequence[object], kind: Kind) -> pa.Array:
    """Return values as an Arrow array in the type that results show."""
    import pyarrow as pa

    column = pa.array(values, kind.arrow)
    if kind.has_type(INSTANT):
        return column.cast(arrow_type(frames.INSTANT))
    return column.cast("int32").cast("date32") if kind.has_type(DATE) else column
