"""The columns of the payments that count, from a frame of any kind, checked and in the dtypes of the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
from narwhals.dtypes import DType
from narwhals.stable.v2.dependencies import is_pandas_dataframe
from narwhals.stable.v2.typing import IntoFrame

from p2p_analytics import forks
from p2p_analytics.analyses._engine import _kinds
from p2p_analytics.analyses._engine._engines import find_engine, list_names
from p2p_analytics.analyses._engine._kinds import Usual
from p2p_analytics.analyses._engine._queries import collect
from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, describe_code
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression
from p2p_analytics.times import END_US, FIRST_US, to_microseconds
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
    names = list_names(native, what=what)
    needed = list(dict.fromkeys([*needed, *(["status", "direction"] if status else [])]))
    is_indexed = is_pandas_dataframe(native) and not ({*needed} - {*names}).isdisjoint(native.index.names)
    advice = {"instead": "frame.reset_index(), because the index has them"} if is_indexed else {}
    frames.require(names, needed, what=what, **advice)
    wanted = dict.fromkeys([*needed, *optional])
    given = [name for name in dict.fromkeys([*wanted, "kind", "currency", "source"]) if name in names]
    _refuse_duplicates(names, given, what)
    read = engine.read(native, _kinds.Selection(given, wanted, status), what)
    dtypes = engine.list_dtypes(read)
    changes = _plan_casts(dtypes, what)
    judged = _find_usual(dtypes, by_currency=by_currency)
    usual = {name: values for name, values in judged.items() if values}
    with frames.refuse_failing_query(native, what=what):
        number, unusual = engine.find_unusual(read, usual, what)
    unusual |= judged.keys() - usual.keys()
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
    names = list_names(native, what=what)
    given = [column for column in columns if column in names]
    _refuse_duplicates(names, given, what)
    is_pandas = is_pandas_dataframe(native)
    frame: Any = nw.from_native(pl.DataFrame({"row": range(len(native))}) if is_pandas else native)
    if is_pandas and given:
        frame = engine.read(native, _kinds.Selection(given, given), what)
    changes = {column: nw.lit(None, dtype=nw.String()) for column in columns if column not in names}
    if given:
        changes |= _plan_casts(dict(frame.lazy().select(*given).collect_schema()), what)
    changed = frame.with_columns(**changes) if changes else frame
    if is_pandas:
        text = changed.lazy().select(value.alias(name)).collect().get_column(name)
        dtype: Any = pd.StringDtype(na_value=float("nan"))
        return pd.Series(dtype.__from_arrow__(text.to_arrow()), index=native.index, name=name)
    found = changed.with_columns(**{name: value})
    if name in names:  # else it is the last column anyway, and narwhals cannot name each column of Spark
        found = found.select(*(column for column in names if column != name), name)
    return found.to_native()


def _refuse_duplicates(names: Sequence[str], given: Sequence[str], what: str) -> None:
    if duplicates := [name for name in given if names.count(name) > 1]:
        raise SchemaError(
            f"{what} needs a frame with distinct column names, not two columns {duplicates[0]}; rename or drop one."
        )


def _refuse_forked_process() -> None:
    if forks.is_marked():
        raise ConfigurationError(
            "Analyses could hang in a process forked after its parent loaded Polars, because threads are not forked: "
            'start workers with multiprocessing.get_context("spawn").'
        )


def _plan_casts(found: Mapping[str, DType], what: str) -> dict[str, nw.Expr]:
    """Return the casts of columns to the dtypes of the schema, except for instants, which the engine checks.

    A column is cast if that changes no value; a column with only nulls is Unknown.
    """
    casts = {}
    for name, dtype in found.items():
        kind = _kinds.find_kind(name)
        wanted, is_unknown = _DTYPES[kind], isinstance(dtype, nw.Unknown)
        if dtype == wanted or (kind == frames.INSTANT and not is_unknown):
            continue
        is_text = wanted == nw.String and isinstance(dtype, (nw.Categorical, nw.Enum))
        if not (is_unknown or is_text or (wanted == nw.Int64 and dtype.is_integer())):
            advice = "cast it, if it holds cents and not currency units" if wanted == nw.Int64 else "cast it"
            raise _kinds.build_error(what, name, kind, str(dtype), advice)
        casts[name] = nw.col(name).cast(wanted)
    return casts


def _find_usual(dtypes: Mapping[str, DType], *, by_currency: bool) -> dict[str, Usual | None]:
    """Return the usual values of each column that may need a check; None for a dtype that engines cannot compare."""
    found: dict[str, Usual | None] = {}
    words = {"kind"} if by_currency else {"kind", "currency" if "currency" in dtypes else "source"}
    for name, dtype in dtypes.items():
        kind = _kinds.find_kind(name)
        if kind == frames.WHOLE:
            found[name] = Usual(-_USUAL_CENTS, _USUAL_CENTS)
        elif kind == frames.INSTANT:
            found[name] = Usual(_USUAL_FIRST, _USUAL_LAST) if dtype == _INSTANT else None
        elif name in words:
            found[name] = _USUAL_WORDS[name] if dtype == nw.String() else None
    return found


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


def _check_rows(
    counted: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool, sums: bool
) -> tuple[str, tuple[int, int]]:
    """Return the currency and the ends of `Payments`; raise a SchemaError for amounts, dates or currencies."""
    names = counted.collect_schema().names()
    amounts = [name for name in names if _kinds.find_kind(name) == frames.WHOLE]
    dates = [name for name in names if _kinds.find_kind(name) == frames.INSTANT]
    # A sum of floats without sign reaches the bound exactly where the sum of the cents does.
    sizes = [nw.col(name).cast(nw.Float64()).abs() for name in amounts]
    wanted = [size.sum() if sums else size.max() for size in sizes]
    wanted += [nw.col(name).min().alias(f"{name} from") for name in dates]
    wanted += [nw.col(name).max().alias(f"{name} to") for name in dates]
    code = code_expression(names)
    if {"currency", "source"} & {*names} and not by_currency:  # to look for another code is quicker than to sort them
        wanted.append((code != US_DOLLARS).cast(nw.Int64()).max().alias("others"))
    (found,) = collect(counted.select(*wanted), native, what=what).rows(named=True) if wanted else [{}]
    for name in amounts:
        if (found[name] or 0) >= _TOO_MANY_CENTS:
            raise SchemaError(f"{what}: the column {name} holds {_kinds.TOO_LARGE}.")
    ends = {name: (found[f"{name} from"], found[f"{name} to"]) for name in dates if found[f"{name} from"] is not None}
    for name, (first, last) in ends.items():
        if first < -_FARTHEST_US or last > _FARTHEST_US:
            raise _kinds.build_error(what, name, frames.INSTANT, "dates outside the calendar", "correct them")
    currency = US_DOLLARS
    if found.get("others"):
        first, last = collect(counted.select(first=code.min(), last=code.max()), native, what=what).row(0)
        if first != last:
            raise _build_currencies_error(counted, native, what)
        currency = str(first)
    within = [min(max(instant, FIRST_US), END_US - 1) for pair in ends.values() for instant in pair]
    return currency, (min(within, default=FIRST_US), max(within, default=FIRST_US))


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
