"""Conversion of input frames to narwhals, and of results back to the caller's kind of frame.

Every frame is computed by Polars: a pandas frame hands its columns over through Arrow, mostly without a copy, and gets
its result back as pandas. Between the two, an analysis is one chain of narwhals expressions on a lazy frame. It uses
only expressions that give the same result on every engine: inside ``.agg`` only ``nw.len()`` and plain ``sum``,
``min``, ``max``, ``count``, ``mean`` of a column (pandas silently ignores a condition there); counts and sums cast to
64 bits after it; time as integer microseconds, compared with numbers that are computed in Python; sorting last, by a
unique key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pandas_dataframe, is_polars_dataframe, is_polars_lazyframe

from p2p_analytics import forks
from p2p_analytics.analyses import _arrow
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames import schema as frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa
    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

    from p2p_analytics.vocabulary import Status


class Kind(NamedTuple):
    """The type of a result column: its narwhals dtype and its pandas dtype."""

    dtype: DType
    pandas: str


TEXT: Final = Kind(nw.String(), "str")
COUNT: Final = Kind(nw.Int64(), "int64")
WHOLE_DAYS: Final = Kind(nw.Int64(), "Int64")
NUMBER: Final = Kind(nw.Float64(), "float64")
FLAG: Final = Kind(nw.Boolean(), "boolean")
INSTANT: Final = Kind(nw.Datetime("us", "UTC"), "datetime64[us, UTC]")

_DTYPES: Final[Mapping[str, DType]] = {
    frames.TEXT: nw.String(),
    frames.WHOLE: nw.Int64(),
    frames.INSTANT: nw.Datetime("us", "UTC"),
    frames.FLAG: nw.Boolean(),
}
_MOST_CENTS: Final = 2**53  # from here on, floats skip whole numbers
_FARTHEST: Final = {"us": 2**62, "ms": 2**62 // 1000}  # from 1970; the difference of two instants fits into 64 bits
_FEW: Final = 4  # rows are few up to one in this number: from there on, Arrow would take longer to copy their text


class Payments(NamedTuple):
    """The payments that an analysis counts, and the one currency that they are in."""

    frame: nw.LazyFrame[Any]
    currency: str


def open_frame(  # noqa: PLR0913 - each changes which rows or columns are read
    native: IntoFrame,
    needed: Sequence[str],
    *,
    what: str,
    status: Status | None = None,
    optional: Sequence[str] = (),
    by_currency: bool = False,
) -> Payments:
    """Return the needed and optional columns of the payments that count, with the schema's dtypes.

    Payments count if they are of the kind "payment", which a frame without ``kind``, or a row without a value in it,
    is; and with ``status``, if they have it and a direction. A missing optional column is null, and a column that the
    schema does not have is text. A lazy frame is queried for the checks. With ``by_currency``, the payments may be in
    several currencies, and the currency that is returned has no meaning.

    Raises
    ------
    SchemaError
        The input is not a pandas or Polars frame; it lacks a column or has it twice; a column is of another type; the
        payments that count are in several currencies; the rows, counted or not, have amounts that add up to 2**53 cents
        or more; or the query of a lazy frame fails.
    """
    _refuse_forked_process()
    names = read_names(native, what=what)
    needed = list(dict.fromkeys([*needed, *(["status", "direction"] if status else [])]))
    _require(native, names, needed, what)
    wanted = dict.fromkeys([*needed, *optional])
    given = [name for name in dict.fromkeys([*wanted, "kind", "currency"]) if name in names]
    if duplicates := [name for name in given if names.count(name) > 1]:
        raise SchemaError(
            f"{what} needs a frame with distinct column names, not two columns {duplicates[0]}; rename or drop one."
        )
    currency: str | None = None
    if is_pandas_dataframe(native):
        table, currency = _read_table(native, given, wanted, what)
        checked = _hand_over(table.select(_list_checked(table.column_names)))
        frame = _hand_over(_drop_other_statuses(table, status))
    else:
        checked = frame = nw.from_native(native).lazy().select(*given)
    casts = _plan_casts(frame, what)
    found = _check(checked, native, what, status, by_currency=by_currency)
    missing = {name: nw.lit(None, dtype=_find_dtype(name)) for name in optional if name not in given}
    changes = {**casts, **missing}
    changed = frame.with_columns(**changes) if changes else frame
    counted = _list_conditions(changed.collect_schema(), status)
    return Payments((changed.filter(*counted) if counted else changed).select(*wanted), currency or found)


def to_result(
    frame: nw.LazyFrame[Any], like: IntoFrameT, schema: Mapping[str, Kind], currency: str = US_DOLLARS
) -> IntoFrameT:
    """Return a result as the caller's kind of frame, with exactly the schema's columns and dtypes.

    Amounts in another currency than US dollars have it in one more column, the last.
    """
    if currency != US_DOLLARS and "currency" not in schema:
        frame, schema = frame.with_columns(currency=nw.lit(currency)), {**schema, "currency": TEXT}
    cast = frame.select(nw.col(name).cast(kind.dtype) for name, kind in schema.items())
    if is_polars_lazyframe(like):
        return cast.to_native()  # type: ignore[no-any-return]
    table = cast.collect()
    if not is_pandas_dataframe(like):
        return table.to_native()  # type: ignore[no-any-return]
    return _build_pandas(table, schema)  # type: ignore[return-value]


def collect_once(frame: nw.LazyFrame[Any], like: IntoFrame) -> nw.LazyFrame[Any]:
    """Return a frame that is used twice: collected, unless the caller's frame is lazy and may be large."""
    return frame if is_polars_lazyframe(like) else frame.collect().lazy()


def collect(frame: nw.LazyFrame[Any], native: IntoFrame, *, what: str) -> nw.DataFrame[Any]:
    """Return the rows of a query on the caller's frame.

    Raises
    ------
    SchemaError
        The caller's frame is lazy, and its query fails.
    """
    with frames.refuse_failing_query(native, what=what):
        return frame.collect()


def read_names(native: IntoFrame, *, what: str) -> list[str]:
    """Return the column names of a pandas or Polars frame that are text.

    Raises
    ------
    SchemaError
        The input is something else, or a lazy frame with a query that fails.
    """
    if is_pandas_dataframe(native):
        return [name for name in native.columns if isinstance(name, str)]
    if is_polars_dataframe(native) or is_polars_lazyframe(native):
        with frames.refuse_failing_query(native, what=what):
            return nw.from_native(native).lazy().collect_schema().names()
    attribute = "friends" if what == "friends" else "payments"
    if hasattr(native, attribute):
        raise SchemaError(
            f"{what} needs a pandas or Polars frame, not a {type(native).__name__}: pass history.{attribute}."
        )
    raise SchemaError(f"{what} needs a pandas or Polars frame, not {type(native).__name__}.")


def is_text_column(native: IntoFrame, name: str) -> bool:
    """Return whether a column may hold text, by its dtype."""
    if is_pandas_dataframe(native):
        column = native.loc[:, name]
        return column.ndim > 1 or _arrow.is_text(column)  # two columns of one name are refused when they are read
    dtype = nw.from_native(native).lazy().collect_schema()[name]
    return isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Unknown))  # Unknown: a column with only nulls


def build_rows(
    frame: nw.LazyFrame[Any], rows: Mapping[str, Sequence[object]], schema: Mapping[str, Kind]
) -> nw.LazyFrame[Any]:
    """Return literal rows as a frame of the same engine as ``frame``, for a join."""
    dtypes = {name: kind.dtype for name, kind in schema.items()}
    return nw.from_dict(dict(rows), schema=dtypes, backend=frame.implementation).lazy()


def microseconds(name: str) -> nw.Expr:
    """Return a column of instants as integer microseconds since 1970 in UTC."""
    return nw.col(name).cast(nw.Int64())


def integers(names: Iterable[str]) -> nw.Expr:
    """Return counts and sums as 64-bit integers; engines widen them, or convert them to floats in a join."""
    return nw.col(*names).fill_null(0).cast(nw.Int64())


def units(name: str) -> nw.Expr:
    """Return a column of cents in currency units; always the last step of an amount."""
    # Polars multiplies by the inverse of a scalar divisor, which is inexact; division by a column is exact.
    return nw.col(name) / (nw.col(name) * 0 + 100)


def share(part: str, whole: nw.Expr) -> nw.Expr:
    """Return a column as a fraction of a whole, 0 where the whole is 0."""
    column = nw.col(part) * 0 + whole  # a column, for exact division as in `units`
    return nw.when(column != 0).then(nw.col(part) / column).otherwise(0.0)


def _refuse_forked_process() -> None:
    if forks.is_marked():
        raise ConfigurationError(
            "Analyses could hang in a process forked after its parent loaded Polars, because threads are not forked: "
            'start workers with multiprocessing.get_context("spawn").'
        )


def _require(native: IntoFrame, names: Sequence[str], needed: Sequence[str], what: str) -> None:
    indexed = {*needed} - {*names} & {*native.index.names} if is_pandas_dataframe(native) else ()
    advice = {"instead": "frame.reset_index(), because the index has them"} if indexed else {}
    frames.require(names, needed, what=what, **advice)


def _read_table(
    frame: pd.DataFrame, given: Sequence[str], wanted: Iterable[str], what: str
) -> tuple[pa.Table, str | None]:
    """Return columns of a pandas frame in Arrow, and the currency if all rows have the same.

    Kind and currency are returned only if they differ from row to row or are wanted: Polars would take longer to
    convert them than Arrow takes to compare them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: _arrow.read_column(frame[name], name, _arrow.find_kind(name), what=what) for name in given}
    codes = columns.get("currency", ())
    # A null is a usual value; beside one, any other value is not the only one.
    only = codes[0].as_py() if len(codes) and not codes.null_count else US_DOLLARS
    currency = None
    for name, usual in (("kind", frames.KIND_PAYMENT), ("currency", only)):
        if name in columns and pc.all(pc.equal(columns[name], usual)).as_py() is not False:
            currency = only if name == "currency" else currency
            if name not in wanted:
                del columns[name]
    return pa.table(columns), currency


def _drop_other_statuses(table: pa.Table, status: Status | None) -> pa.Table:
    """Return only the rows with a status if these are few; Polars filters anyway, but takes longer to convert text."""
    import pyarrow.compute as pc

    if not status:
        return table
    has_status = pc.equal(table["status"], status.value)
    return table.filter(has_status) if (pc.sum(has_status).as_py() or 0) < len(table) / _FEW else table


def _hand_over(table: pa.Table) -> nw.LazyFrame[Any]:
    import polars as pl

    return nw.from_native(pl.DataFrame(table)).lazy()


def _build_pandas(table: nw.DataFrame[Any], schema: Mapping[str, Kind]) -> pd.DataFrame:
    """Return a collected table as pandas, column by column: ``to_pandas`` gives other dtypes, and takes longer."""
    import pandas as pd
    from pandas.api.extensions import ExtensionDtype

    columns = {}
    for name, kind in schema.items():
        dtype: Any = pd.api.types.pandas_dtype(kind.pandas)
        column = table.get_column(name)
        is_extension = isinstance(dtype, ExtensionDtype)
        columns[name] = dtype.__from_arrow__(column.to_arrow()) if is_extension else column.to_numpy()
    return pd.DataFrame(columns)


def _plan_casts(frame: nw.LazyFrame[Any], what: str) -> dict[str, nw.Expr]:
    """Return the casts of columns to the dtypes of the schema; dates without a zone are UTC."""
    casts = {}
    for name, found in frame.collect_schema().items():
        column, wanted = nw.col(name), _find_dtype(name)
        if found == wanted:
            continue
        if isinstance(found, nw.Datetime) and wanted == nw.Datetime:
            zoned = column.dt.replace_time_zone("UTC") if found.time_zone is None else column
            casts[name] = zoned.dt.convert_time_zone("UTC").cast(wanted)
        elif _is_castable(found, wanted):
            casts[name] = column.cast(wanted)
        else:
            raise _arrow.build_error(what, name, _arrow.find_kind(name), str(found), "cast it")
    return casts


def _find_dtype(name: str) -> DType:
    return _DTYPES[_arrow.find_kind(name)]


def _list_conditions(names: Iterable[str], status: Status | None) -> list[nw.Expr]:
    """Return the conditions under which a row counts; none if every row does."""

    def text(name: str) -> nw.Expr:
        return nw.col(name).cast(nw.String())

    conditions = []
    if "kind" in names:
        conditions.append((text("kind") == frames.KIND_PAYMENT) | nw.col("kind").is_null())
    if status:
        conditions += [text("status") == status.value, (text("direction") == "in") | (text("direction") == "out")]
    return conditions


def _is_castable(found: DType, wanted: DType) -> bool:
    """Return whether a column can be cast without a change of its values; one with only nulls is Unknown."""
    if isinstance(found, nw.Unknown):
        return True
    if wanted == nw.String:
        return isinstance(found, (nw.Categorical, nw.Enum))
    return found.is_integer() if wanted == nw.Int64 else wanted == nw.Datetime and found == nw.Date


def _list_checked(names: Sequence[str]) -> list[str]:
    """Return the columns that are checked; with a currency, also the ones by which rows count."""
    texts = {"currency", "kind", "status", "direction"} if "currency" in names else set()
    return [name for name in names if name in texts or _arrow.find_kind(name) != frames.TEXT]


def _check(frame: nw.LazyFrame[Any], native: IntoFrame, what: str, status: Status | None, *, by_currency: bool) -> str:
    """Refuse amounts that are not exact, dates outside the calendar, and several currencies, by one query.

    Return the currency of the payments that count, which is US dollars if there are none.
    """
    schema = frame.collect_schema()
    amounts = [name for name in schema if _arrow.find_kind(name) == frames.WHOLE]
    units = {name: found.time_unit for name, found in schema.items() if isinstance(found, nw.Datetime)}
    farthest = {name: _FARTHEST[unit] for name, unit in units.items() if unit in _FARTHEST}
    # A sum of floats without sign reaches the bound exactly where the sum of the cents does.
    wanted = [nw.col(name).cast(nw.Float64()).abs().sum() for name in amounts]
    wanted += [nw.col(name).cast(nw.Int64()).min().alias(f"{name} from") for name in farthest]
    wanted += [nw.col(name).cast(nw.Int64()).max().alias(f"{name} to") for name in farthest]
    # Rows were saved without a currency before they had one.
    currency = nw.col("currency").cast(nw.String()).fill_null(US_DOLLARS)
    counted = _list_conditions(schema, status)
    if "currency" in schema:
        known = nw.when(*counted).then(currency) if counted else currency
        wanted += [known.min().alias("first"), known.max().alias("last")]
    if not wanted:
        return US_DOLLARS
    (found,) = collect(frame.select(*wanted), native, what=what).rows(named=True)
    for name in amounts:
        if (found[name] or 0) >= _MOST_CENTS:
            raise SchemaError(f"{what}: the column {name} holds {_arrow.TOO_LARGE}.")
    for name, most in farthest.items():
        if (found[f"{name} from"] or 0) < -most or (found[f"{name} to"] or 0) > most:
            raise _arrow.build_error(what, name, frames.INSTANT, "dates outside the calendar", "correct them")
    if found.get("first") != found.get("last") and not by_currency:
        rows = frame.filter(*counted) if counted else frame
        several = sorted(collect(rows.select(currency).unique(), native, what=what)["currency"].to_list())
        raise SchemaError(
            f"{what} needs payments in one currency, not in {' and '.join(several)}: "
            f"select the rows of one, like payments[payments['currency'] == {several[0]!r}]."
        )
    return found.get("first") or US_DOLLARS
