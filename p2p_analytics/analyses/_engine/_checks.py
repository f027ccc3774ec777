"""Checks of the payments that count: amounts that are exact, possible dates, and one currency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine import _columns, _usual
from p2p_analytics.analyses._engine._engines import collect
from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, describe_code
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression
from p2p_analytics.times import END_US, FIRST_US, to_microseconds

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoFrame

_NO_ENDS: Final = (FIRST_US, FIRST_US)  # of a frame without dates
_FARTHEST_US: Final = 2**62  # from 1970; the difference of two instants fits into 64 bits
USUAL_ENDS: Final = (to_microseconds(_usual.FIRST), to_microseconds(_usual.END) - 1)


def check_rows(
    frame: nw.LazyFrame[Any], native: IntoFrame, what: str, *, by_currency: bool, sums: bool
) -> tuple[str, tuple[int, int]]:
    """Refuse amounts that are not exact, impossible dates, and several currencies, by one query.

    Return the currency and the ends of `Payments`. For rows that may have unusual values: it reads them all.
    """
    names = frame.collect_schema().names()
    amounts, dates = _usual.list_amounts(names), _usual.list_dates(names)
    # A sum of floats without sign reaches the bound exactly where the sum of the cents does.
    sizes = [nw.col(name).cast(nw.Float64()).abs() for name in amounts]
    wanted = [size.sum() if sums else size.max() for size in sizes]
    wanted += [nw.col(name).min().alias(f"{name} from") for name in dates]
    wanted += [nw.col(name).max().alias(f"{name} to") for name in dates]
    if {"currency", "source"} & {*names}:  # to look for an unusual code is quicker than to sort them
        wanted.append((code_expression(names) != US_DOLLARS).cast(nw.Int64()).max().alias("others"))
    if not wanted:
        return US_DOLLARS, _NO_ENDS
    (found,) = collect(frame.select(*wanted), native, what=what).rows(named=True)
    for name in amounts:
        if (found[name] or 0) >= _usual.MOST_CENTS:
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
