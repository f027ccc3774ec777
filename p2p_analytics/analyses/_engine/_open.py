"""The columns of the payments that count, from a frame of any kind, checked and in the dtypes of the schema."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw
import polars as pl
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics import forks
from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._engines import find_engine, read_names
from p2p_analytics.analyses._engine._kinds import Usual
from p2p_analytics.analyses._engine._queries import collect
from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, describe_code
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression
from p2p_analytics.times import END_US, FIRST_US, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame

    from p2p_analytics.vocabulary import Status

_DTYPES: Final[Mapping[str, DType]] = {
    frames.TEXT: nw.String(),
    frames.WHOLE: nw.Int64(),
    frames.INSTANT: nw.Int64(),
    frames.FLAG: nw.Boolean(),
}
_TOO_MANY_CENTS: Final = 2**53  # from here on, floats skip whole numbers
_FARTHEST_US: Final = 2**62  # from 1970; the difference of two instants fits into 64 bits
_USUAL_CENTS: Final = 2**26  # the largest usual amount, with either sign
_USUAL_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_USUAL_LAST: Final = datetime(2049, 12, 31, tzinfo=UTC)
_USUAL_ENDS: Final = (to_microseconds(_USUAL_FIRST), to_microseconds(_USUAL_LAST))
_USUAL_WORDS: Final = {
    "kind": Usual(frames.KIND_PAYMENT, frames.KIND_PAYMENT),
    "currency": Usual(US_DOLLARS, US_DOLLARS, with_null=False),
    "source": Usual(frames.SOURCE_API, frames.SOURCE_API),
}
_FLAG: Final = "is directed"
_INSTANT: Final = nw.Datetime("us", "UTC")
_NO_ENDS: Final = (FIRST_US, FIRST_US)  # of a frame without dates


class Payments(NamedTuple):
    """The payments that an analysis counts.

    Attributes
    ----------
    frame : LazyFrame
        The columns asked for, in the schema's dtypes; instants are microseconds since 1970 in UTC.
    currency : str
        Their only currency; US dollars without payments, and "XXX" if it is unknown.
    ends : tuple of int
        Instants within the calendar; the instants of the frame within the calendar are between them.
    """

    frame: nw.LazyFrame[Any]
    currency: str
    ends: tuple[int, int]


def open_frame(  # noqa: PLR0913 - each changes which rows or columns are read
    native: IntoFrame,
    needed: Sequence[str],
    *,
    what: str,
    status: Status | None = None,
    optional: Sequence[str] = (),
    by_currency: bool = False,
    sums: bool = True,
    every_kind: bool = False,
) -> Payments:
    """Return the needed and optional columns of the payments that count.

    Payments count if their kind is "payment" or null, or if the frame has no column ``kind``; and with ``status``, if
    they have it and a direction. A missing optional column, which is text, is null, and a column that the schema does
    not have is text. A lazy frame is queried for the checks. With ``by_currency``, the payments may be in several
    currencies, and the currency that is returned has no meaning; a column of currencies that is wanted has no nulls.
    Without ``sums`` amounts are not added up, and only an amount of 2**53 cents or more is refused. With
    ``every_kind``, rows of every kind count.

    Raises
    ------
    SchemaError
        The input is not a frame of an engine that works, or its session could return wrong results; it lacks a column
        or has it twice; a column has another type; the rows that count are in several currencies, or have amounts that
        add up to 2**53 cents or more; or the query of a lazy frame fails.
    """
    _refuse_forked_process()
    engine = find_engine(native, what=what)
    names = read_names(native, what=what)
    needed = list(dict.fromkeys([*needed, *(["status", "direction"] if status else [])]))
    _require(native, names, needed, what)
    wanted = dict.fromkeys([*needed, *optional])
    given = [name for name in dict.fromkeys([*wanted, "kind", "currency", "source"]) if name in names]
    if duplicates := [name for name in given if names.count(name) > 1]:
        raise SchemaError(
            f"{what} needs a frame with distinct column names, not two columns {duplicates[0]}; rename or drop one."
        )
    read = engine.read(native, _kinds.Selection(given, wanted, status), what)
    dtypes = dict(read.collect_schema())
    changes = _plan_casts(dtypes, what)
    judged = _list_judged(dtypes, by_currency=by_currency)
    usual = {name: found for name in judged if (found := _find_usual(name, dtypes[name]))}
    with frames.refuse_failing_query(native, what=what):
        number, unusual = engine.find_unusual(read, usual, what)
    unusual |= judged - {*usual}
    rows = _select_counted(read, dtypes, status, by_kind="kind" in unusual and not every_kind)
    # Instants are converted after the filter: before it, Polars would convert all rows.
    counted = engine.convert_instants(rows, what)
    currency, ends = US_DOLLARS, _USUAL_ENDS
    if unusual - {"kind"} or (sums and number * _USUAL_CENTS >= _TOO_MANY_CENTS):
        currency, ends = _check_rows(counted, native, what, by_currency=by_currency, sums=sums)
    changes |= {name: nw.lit(None, dtype=nw.String()) for name in optional if name not in given}
    if "currency" in wanted:
        changes["currency"] = code_expression([*dtypes])
    frame = counted.select(*(changes[name].alias(name) if name in changes else name for name in wanted))
    return Payments(frame, currency, ends)


def add_text_column(native: Any, columns: Sequence[str], name: str, value: nw.Expr, *, what: str) -> Any:  # noqa: ANN401 - of each kind
    """Return every row of a frame with one more column, made of columns of text; for pandas only that column.

    A missing column is null. Columns of another dtype that holds text, such as a categorical, become text.

    Raises
    ------
    SchemaError
        The input is not a frame of an engine that works, or its session could return wrong results; or a column has
        another type.
    """
    _refuse_forked_process()
    engine = find_engine(native, what=what)
    engine.check(native, what)
    names = read_names(native, what=what)
    given = [column for column in columns if column in names]
    missing = {column: nw.lit(None, dtype=nw.String()) for column in columns if column not in names}
    if is_pandas_dataframe(native):
        rows = nw.from_native(pl.DataFrame({"row": range(len(native))})).lazy()
        frame = engine.read(native, _kinds.Selection(given, given), what) if given else rows
        changes = {**(_plan_casts(dict(frame.collect_schema()), what) if given else {}), **missing}
        added = _change(frame, changes).select(value.alias(name)).collect()
        return _build_series(added, name, native)
    frame = nw.from_native(native)
    casts = _plan_casts(dict(frame.lazy().select(*given).collect_schema()), what) if given else {}
    found = _change(frame, {**casts, **missing}).with_columns(**{name: value})
    if name in names:  # else it is the last column anyway, and narwhals cannot name each column of Spark
        found = found.select(*(column for column in names if column != name), name)
    return found.to_native()


def _change(frame: Any, changes: dict[str, nw.Expr]) -> Any:  # noqa: ANN401 - a frame or a lazy frame
    return frame.with_columns(**changes) if changes else frame


def _build_series(table: nw.DataFrame[Any], name: str, native: pd.DataFrame) -> pd.Series[Any]:
    import pandas as pd

    dtype: Any = pd.StringDtype(na_value=float("nan"))
    return pd.Series(dtype.__from_arrow__(table.get_column(name).to_arrow()), index=native.index, name=name)


def _refuse_forked_process() -> None:
    if forks.is_marked():
        raise ConfigurationError(
            "Analyses could hang in a process forked after its parent loaded Polars, because threads are not forked: "
            'start workers with multiprocessing.get_context("spawn").'
        )


def _require(native: IntoFrame, names: Sequence[str], needed: Sequence[str], what: str) -> None:
    indexed = {*needed} - {*names} & {*native.index.names} if is_pandas_dataframe(native) else set()
    advice = {"instead": "frame.reset_index(), because the index has them"} if indexed else {}
    frames.require(names, needed, what=what, **advice)


def _plan_casts(found: Mapping[str, DType], what: str) -> dict[str, nw.Expr]:
    """Return the casts of columns to the dtypes of the schema, except for instants, which the engine checks."""
    casts = {}
    for name, dtype in found.items():
        kind = _kinds.find_kind(name)
        wanted = _DTYPES[kind]
        if dtype == wanted or (kind == frames.INSTANT and not isinstance(dtype, nw.Unknown)):
            continue
        if not _is_castable(dtype, wanted):
            advice = "cast it, if it holds cents and not currency units" if wanted == nw.Int64 else "cast it"
            raise _kinds.build_error(what, name, kind, str(dtype), advice)
        casts[name] = nw.col(name).cast(wanted)
    return casts


def _is_castable(found: DType, wanted: DType) -> bool:
    """Return whether a column can be cast without a change of its values; a column with only nulls is Unknown."""
    if isinstance(found, nw.Unknown):
        return True
    if wanted == nw.String:
        return isinstance(found, (nw.Categorical, nw.Enum))
    return wanted == nw.Int64 and found.is_integer()


def _select_counted(
    rows: nw.LazyFrame[Any], dtypes: Mapping[str, DType], status: Status | None, *, by_kind: bool
) -> nw.LazyFrame[Any]:
    """Return the rows that have a status and a direction; ``by_kind``, only rows of the kind "payment"."""

    def column(name: str) -> nw.Expr:
        # An Enum without a word cannot be compared with it.
        return nw.col(name) if dtypes[name] == nw.String() else nw.col(name).cast(nw.String())

    conditions = []
    if by_kind:
        conditions.append(column("kind").fill_null(frames.KIND_PAYMENT) == frames.KIND_PAYMENT)
    if status:
        conditions.append(column("status") == status.value)
        is_directed = (column("direction") == "in") | (column("direction") == "out")
        if rows.implementation.is_polars():
            # Through a column, 4 of 19 ms less: in one filter, Polars compares the directions of other statuses too.
            rows = rows.filter(*conditions).with_columns(**{_FLAG: is_directed})
            return rows.filter(nw.col(_FLAG))
        # Without nulls: else DuckDB compares with a list, which takes longer.
        conditions.append(is_directed.fill_null(value=False))
    return rows.filter(*conditions) if conditions else rows


class _Extremes(NamedTuple):
    """The largest amounts of each column, or their sums; the first and last instants; other currencies than dollars."""

    cents: Mapping[str, float]
    instants: Mapping[str, tuple[int, int]]
    others: bool

    @property
    def large(self) -> list[str]:
        """The columns with amounts that are too large to be exact."""
        return [name for name, cents in self.cents.items() if cents >= _TOO_MANY_CENTS]

    @property
    def distant(self) -> list[str]:
        """The columns with instants outside the calendar."""
        return [name for name, ends in self.instants.items() if ends[0] < -_FARTHEST_US or ends[1] > _FARTHEST_US]


def _check_rows(
    counted: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool, sums: bool
) -> tuple[str, tuple[int, int]]:
    """Return the currency and the ends of `Payments`; raise a SchemaError for amounts, dates or currencies."""
    found = _find_extremes(counted, native, what, by_currency=by_currency, sums=sums)
    for name in found.large:
        raise SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.")
    for name in found.distant:
        raise _kinds.build_error(what, name, frames.INSTANT, "dates outside the calendar", "correct them")
    currency = US_DOLLARS
    if found.others:
        code = code_expression(counted.collect_schema().names())
        first, last = collect(counted.select(first=code.min(), last=code.max()), native, what=what).row(0)
        if first != last:
            raise _build_currencies_error(counted, native, what)
        currency = str(first)
    within = [min(max(instant, FIRST_US), END_US - 1) for ends in found.instants.values() for instant in ends]
    return currency, (min(within), max(within)) if within else _NO_ENDS


def _list_judged(dtypes: Mapping[str, DType], *, by_currency: bool) -> set[str]:
    """Return the columns that may need a closer look, or a filter."""
    words = {"kind"} if by_currency else {"kind", "currency" if "currency" in dtypes else "source"}
    return {name for name in dtypes if name in words or _kinds.find_kind(name) in {frames.WHOLE, frames.INSTANT}}


def _find_usual(name: str, dtype: DType) -> Usual | None:
    """Return the usual values of a column; None for a dtype that engines cannot compare with them."""
    kind = _kinds.find_kind(name)
    if kind == frames.WHOLE:
        return Usual(-_USUAL_CENTS, _USUAL_CENTS)
    if kind == frames.INSTANT:
        return Usual(_USUAL_FIRST, _USUAL_LAST) if dtype == _INSTANT else None
    return _USUAL_WORDS[name] if dtype == nw.String() else None


def _find_extremes(
    frame: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool, sums: bool
) -> _Extremes:
    """Return the extremes of all rows of a frame, by one query."""
    names = frame.collect_schema().names()
    amounts = [name for name in names if _kinds.find_kind(name) == frames.WHOLE]
    dates = [name for name in names if _kinds.find_kind(name) == frames.INSTANT]
    # A sum of floats without sign reaches the bound exactly where the sum of the cents does.
    sizes = [nw.col(name).cast(nw.Float64()).abs() for name in amounts]
    wanted = [size.sum() if sums else size.max() for size in sizes]
    wanted += [nw.col(name).min().alias(f"{name} from") for name in dates]
    wanted += [nw.col(name).max().alias(f"{name} to") for name in dates]
    if {"currency", "source"} & {*names} and not by_currency:  # to look for another code is quicker than to sort them
        wanted.append((code_expression(names) != US_DOLLARS).cast(nw.Int64()).max().alias("others"))
    if not wanted:
        return _Extremes({}, {}, others=False)
    (found,) = collect(frame.select(*wanted), native, what=what).rows(named=True)
    ends = {name: (found[f"{name} from"], found[f"{name} to"]) for name in dates}
    return _Extremes(
        {name: found[name] or 0 for name in amounts},
        {name: each for name, each in ends.items() if None not in each},
        bool(found.get("others")),
    )


def _build_currencies_error(frame: nw.LazyFrame[Any], native: IntoFrame, what: str) -> SchemaError:
    """Return the error of payments in several currencies; its advice selects every row of the currency it names."""
    names = frame.collect_schema().names()
    given = nw.col("currency").cast(nw.String()) if "currency" in names else nw.lit(None, dtype=nw.String())
    pairs = frame.select(code=code_expression(names), given=given).unique()
    rows = [*collect(pairs, native, what=what).iter_rows()]
    codes = sorted({code for code, _ in rows}, key=lambda code: (code == UNKNOWN_CURRENCY, code))
    advice = "select the rows of one, like payments[{}]"
    filled = {code for code, text in rows if text is None}
    exact = next((code for code in codes if code not in filled), None)
    if exact is not None:
        advice = advice.format(f"payments['currency'] == {exact!r}")
    else:  # dollars without a code, and an unknown currency
        advice = advice.format("payments['currency'].notna() | (payments['source'] != 'statement')")
    if UNKNOWN_CURRENCY in filled:
        advice += ", and fill in the currency of those without one if you know it"
    listed = " and ".join(map(describe_code, codes)).replace(" and unknown", " and an unknown one")
    return SchemaError(f"{what} needs payments in one currency, not in {listed}: {advice}.")
