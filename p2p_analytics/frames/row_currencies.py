"""Currencies of payments: a null is US dollars in rows of the service, and an unknown currency in rows of statements.

The service has dollars only, and frames were saved without a currency before they had one. A statement without a
currency can be in any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS, describe_code
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import SOURCE_API, TEXT, select_payments


def fill_codes(payments: pd.DataFrame) -> pd.Series[str]:
    """Return the currency of each row of a pandas frame, `UNKNOWN_CURRENCY` where it is missing."""
    columns: Any = payments.reindex(columns=["currency", "source"])
    codes: pd.Series[str] = columns["currency"].astype(TEXT)
    if not codes.isna().any():
        return codes
    source = columns["source"].astype(TEXT).fillna(SOURCE_API)
    return codes.fillna((source == SOURCE_API).map({True: US_DOLLARS, False: UNKNOWN_CURRENCY}))


def code_expression(names: Collection[str]) -> nw.Expr:
    """Return the currency of each row of a frame with these columns, as `fill_codes` does, for every engine."""
    given = nw.col("currency").cast(nw.String()) if "currency" in names else nw.lit(None, dtype=nw.String())
    if "source" not in names:
        return given.fill_null(US_DOLLARS) if "currency" in names else nw.lit(US_DOLLARS)
    is_service = nw.col("source").cast(nw.String()).fill_null(SOURCE_API) == SOURCE_API
    missing = nw.when(is_service).then(nw.lit(US_DOLLARS)).otherwise(nw.lit(UNKNOWN_CURRENCY))
    return nw.coalesce(given, missing)


def count_currencies(payments: pd.DataFrame) -> dict[str, int]:
    """Return the number of payments between people in each currency, the most frequent first."""
    return _count_codes(select_payments(payments))


def find_currency(payments: pd.DataFrame, *, what: str, advice: str) -> str:
    """Return the currency of all payments between people; without such payments, of all rows, else US dollars.

    Raises
    ------
    SchemaError
        The payments between people are in several currencies. It names these, with the number of payments in each, and
        gives the advice, in which ``{}`` stands for the most frequent known currency.
    """
    counts = count_currencies(payments)
    if len(counts) > 1:
        raise SchemaError(
            f"{what} needs payments in one currency, not in {describe_currencies(counts)}: "
            f"{advice.format(repr(choose_currency(counts)))}."
        )
    counts = counts or _count_codes(payments)
    return next(iter(counts)) if len(counts) == 1 else US_DOLLARS


def choose_currency(counts: Mapping[str, int]) -> str:
    """Return the most frequent known currency."""
    return next((code for code in counts if code != UNKNOWN_CURRENCY), UNKNOWN_CURRENCY)


def describe_currencies(counts: Mapping[str, int]) -> str:
    """Return several currencies with their numbers of payments, such as "EUR (12), GBP (3) and unknown (1)"."""
    *most, last = [f"{describe_code(code)} ({count:,})" for code, count in counts.items()]
    return f"{', '.join(most)} and {last}"


def is_in_currency(payments: pd.DataFrame, code: str) -> pd.Series[bool]:
    """Return for each row whether it is in a currency, which may be `UNKNOWN_CURRENCY`."""
    return fill_codes(payments) == code


def list_currencies(payments: pd.DataFrame) -> list[str]:
    """Return the currencies of all rows, of any kind, in alphabetical order."""
    return sorted(map(str, fill_codes(payments).unique()))


def _count_codes(rows: pd.DataFrame) -> dict[str, int]:
    counts = {str(code): int(count) for code, count in fill_codes(rows).value_counts().items()}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item)))
