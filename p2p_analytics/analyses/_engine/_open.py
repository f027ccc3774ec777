"""Columns of the payments that count, from any kind of frame, checked and in the dtypes of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics import forks
from p2p_analytics.analyses._engine import _columns
from p2p_analytics.analyses._engine._engines import collect, find_engine, read_names
from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, describe_code
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression
from p2p_analytics.times import END_US, FIRST_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame

    from p2p_analytics.vocabulary import Status

_DTYPES: Final[Mapping[str, DType]] = {
    frames.TEXT: nw.String(),
    frames.WHOLE: nw.Int64(),
    frames.INSTANT: nw.Int64(),
    frames.FLAG: nw.Boolean(),
}
_MOST_CENTS: Final = 2**53  # from here on, floats skip whole numbers
_NO_ENDS: Final = (FIRST_US, FIRST_US)  # of a frame without dates
_FARTHEST_US: Final = 2**62  # from 1970; the difference of two instants fits into 64 bits


class Payments(NamedTuple):
    """The payments that an analysis counts.

    Attributes
    ----------
    frame : LazyFrame
        The columns asked for, in the schema's dtypes; instants are microseconds since 1970 in UTC.
    currency : str
        The one currency that they are in; US dollars if there are no payments, and "XXX" if it is not known.
    ends : tuple of int
        Instants within the calendar, of which none of the frame is before the first or after the last.
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
    every_kind: bool = False,
) -> Payments:
    """Return the needed and optional columns of the payments that count.

    Payments count if they are of the kind "payment", which a frame without ``kind``, or a row without a value in it,
    is; and with ``status``, if they have it and a direction. A missing optional column is null, and a column that the
    schema does not have is text. A lazy frame is queried for the checks. With ``by_currency``, the payments may be in
    several currencies, and the currency that is returned has no meaning; a column of currencies that is wanted has no
    nulls. With ``every_kind``, rows of every kind count.

    Raises
    ------
    SchemaError
        The input is no frame of an engine that works, or its session could give wrong results; it lacks a column or has
        it twice; a column is of another type; the rows that count are in several currencies, or have amounts that add
        up to 2**53 cents or more; or the query of a lazy frame fails.
    """
    refuse_forked_process()
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
    engine.check(native, what)
    frame, currency = engine.read(native, given, wanted, status, what)
    changes = plan_casts(frame, what)
    changes |= {name: nw.lit(None, dtype=_find_dtype(name)) for name in optional if name not in given}
    counted = _filter(frame, status, every_kind=every_kind)
    if currency not in {None, US_DOLLARS}:  # of every row; the result names the currency of the counted rows
        counted = counted.with_columns(currency=nw.lit(currency))
    found, ends = _check(counted, native, what, by_currency=by_currency)
    if "currency" in wanted:
        changes["currency"] = code_expression(counted.collect_schema().names())
    counted = counted.with_columns(**changes) if changes else counted
    return Payments(counted.select(*wanted), found, ends)


def refuse_forked_process() -> None:
    if forks.is_marked():
        raise ConfigurationError(
            "Analyses could hang in a process forked after its parent loaded Polars, because threads are not forked: "
            'start workers with multiprocessing.get_context("spawn").'
        )


def _require(native: IntoFrame, names: Sequence[str], needed: Sequence[str], what: str) -> None:
    indexed = {*needed} - {*names} & {*native.index.names} if is_pandas_dataframe(native) else ()
    advice = {"instead": "frame.reset_index(), because the index has them"} if indexed else {}
    frames.require(names, needed, what=what, **advice)


def plan_casts(frame: nw.LazyFrame[Any], what: str) -> dict[str, nw.Expr]:
    """Return the casts of columns to the dtypes of the schema."""
    casts = {}
    for name, found in frame.collect_schema().items():
        wanted = _find_dtype(name)
        if found == wanted:
            continue
        if not _is_castable(found, wanted):
            raise _columns.build_error(what, name, _columns.find_kind(name), str(found), "cast it")
        casts[name] = nw.col(name).cast(wanted)
    return casts


def _find_dtype(name: str) -> DType:
    return _DTYPES[_columns.find_kind(name)]


def _filter(frame: nw.LazyFrame[Any], status: Status | None, *, every_kind: bool) -> nw.LazyFrame[Any]:
    col = nw.col
    if "kind" in frame.collect_schema() and not every_kind:
        frame = frame.filter((col("kind") == frames.KIND_PAYMENT) | col("kind").is_null())
    if status:
        frame = frame.filter(col("status") == status.value, (col("direction") == "in") | (col("direction") == "out"))
    return frame


def _is_castable(found: DType, wanted: DType) -> bool:
    """Return whether a column can be cast without a change of its values; one with only nulls is Unknown."""
    if isinstance(found, nw.Unknown):
        return True
    if wanted == nw.String:
        return isinstance(found, (nw.Categorical, nw.Enum))
    return wanted == nw.Int64 and found.is_integer()


def _check(frame: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool) -> tuple[str, tuple[int, int]]:
    """Refuse amounts that are not exact, impossible dates, and several currencies, by one query.

    Return the currency and the ends of `Payments`.
    """
    names = frame.collect_schema().names()
    amounts = [name for name in names if _columns.find_kind(name) == frames.WHOLE]
    dates = [name for name in names if _columns.find_kind(name) == frames.INSTANT]
    # A sum of floats without sign reaches the bound exactly where the sum of the cents does.
    wanted = [nw.col(name).cast(nw.Float64()).abs().sum() for name in amounts]
    wanted += [nw.col(name).min().alias(f"{name} from") for name in dates]
    wanted += [nw.col(name).max().alias(f"{name} to") for name in dates]
    if {"currency", "source"} & {*names}:  # to look for an unusual code is quicker than to sort them
        wanted.append((code_expression(names) != US_DOLLARS).cast(nw.Int64()).max().alias("others"))
    if not wanted:
        return US_DOLLARS, _NO_ENDS
    (found,) = collect(frame.select(*wanted), native, what=what).rows(named=True)
    for name in amounts:
        if (found[name] or 0) >= _MOST_CENTS:
            raise SchemaError(f"{what}: the column {name} holds {_columns.TOO_LARGE}.")
    for name in dates:
        if (found[f"{name} from"] or 0) < -_FARTHEST_US or (found[f"{name} to"] or 0) > _FARTHEST_US:
            raise _columns.build_error(what, name, frames.INSTANT, "dates outside the calendar", "correct them")
    currency = _find_currency(frame, native, what, by_currency=by_currency) if found.get("others") else US_DOLLARS
    within = [
        min(max(instant, FIRST_US), END_US - 1)
        for name in dates
        for instant in (found[f"{name} from"], found[f"{name} to"])
        if instant is not None
    ]
    return currency, (min(within), max(within)) if within else _NO_ENDS


def _find_currency(frame: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool) -> str:
    """Return the currency of rows that are not all in US dollars, and refuse several."""
    code = code_expression(frame.collect_schema().names())
    codes = collect(frame.select(first=code.min(), last=code.max()), native, what=what).row(0)
    if codes[0] != codes[1] and not by_currency:
        raise _build_currencies_error(frame, native, what)
    return str(codes[0])


def _build_currencies_error(frame: nw.LazyFrame[Any], native: IntoFrame, what: str) -> SchemaError:
    """Return the error of payments in several currencies; its advice selects every row of the one that it names."""
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
