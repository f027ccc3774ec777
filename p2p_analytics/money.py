"""Exact money: conversion between decimal text or numbers and whole cents.

Cents are Python integers that fit 64 bits, so sums in a frame stay exact. Binary floats are
refused: ``int(x * 100)`` is wrong for 7 % of all amounts. Formatting for people is in `display`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Context, Decimal, Inexact
from typing import Final

from p2p_analytics.errors import MoneyError

LARGEST_CENTS: Final = 2**63 - 1
_LARGEST_EXPONENT: Final = 16  # 10**17 units are beyond 64 bits of cents
_EXACT: Final = Context(prec=60, traps=[Inexact])  # raises instead of rounding
_PLACES: Final = 2
_SHORT: Final = 15  # digits; any number of this length fits 64 bits of cents
_AMOUNT: Final = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?", re.ASCII)


def to_cents(amount: Decimal | int | str) -> int:
    """Return an amount in currency units as whole cents.

    Parameters
    ----------
    amount : Decimal, int or str
        Currency units, such as ``Decimal("-12.30")`` or ``"0.100000"``; negative for a charge.

    Returns
    -------
    int
        Cents, with the amount's sign.

    Raises
    ------
    MoneyError
        The amount is not a finite decimal number, has a fraction of a cent, or needs more than
        64 bits.
    """
    if isinstance(amount, str):
        whole, _, part = amount.partition(".")
        digits = whole.removeprefix("-") + part  # common spellings are parsed without Decimal
        if len(part) <= _PLACES and len(digits) <= _SHORT and digits.isdecimal() and digits.isascii():
            return int(whole + part.ljust(_PLACES, "0"))
    if isinstance(amount, (bool, float)):
        raise MoneyError(f"Binary floats are not exact: give the amount {amount!r} as a Decimal, an int or text.")
    if isinstance(amount, str) and not _AMOUNT.fullmatch(amount.strip()):
        raise MoneyError(f"{amount[:40]!r} is not an amount: write it as digits, like 12.30.")
    value = Decimal(amount.strip() if isinstance(amount, str) else amount)
    if not value.is_finite() or value.adjusted() > _LARGEST_EXPONENT:
        raise MoneyError(f"{value} is not an amount of money, or is too large.")
    try:
        cents = value.scaleb(2, _EXACT).quantize(Decimal(1), context=_EXACT)
    except Inexact:
        raise MoneyError(f"{value} has a fraction of a cent; amounts are whole cents.") from None
    if abs(cents) > LARGEST_CENTS:
        raise MoneyError(f"{value} is not an amount of money, or is too large.")
    return int(cents)


def to_units(cents: int) -> Decimal:
    """Return whole cents as an exact Decimal of currency units with two places."""
    return Decimal(cents).scaleb(-2)


def format_cents(cents: int) -> str:
    """Return whole cents as plain decimal text with two places: ``-1230`` gives ``"-12.30"``."""
    units, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{units}.{rest:02d}"


def add_units(amounts: Iterable[float | None]) -> float:
    """Return the exact sum of amounts in currency units, each a whole number of cents / 100; a null counts as 0."""
    return sum(round(amount * 100) for amount in amounts if amount is not None) / 100
