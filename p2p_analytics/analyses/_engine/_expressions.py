"""Expressions that several analyses share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import narwhals.stable.v2 as nw

_WHITE: Final = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # as str.split() has it
# The Turkish I with a dot; a sigma, which differs at the end of a word.
_LOWER: Final = {"\u0130": "i\u0307", "\u03a3": "\u03c3", "\u03c2": "\u03c3"}


def integers(names: Iterable[str]) -> nw.Expr:
    """Return counts and sums as 64-bit integers; engines widen them, or convert them to floats in a join."""
    return nw.col(*names).fill_null(0).cast(nw.Int64())


def share(part: str, whole: nw.Expr) -> nw.Expr:
    """Return a column as a fraction of a whole, 0 where the whole is 0."""
    # Polars multiplies by the inverse of a scalar divisor, which is inexact; division by a column is exact.
    column = nw.col(part) * 0 + whole
    return nw.when(column != 0).then(nw.col(part) / column).otherwise(0.0)


def text_key(name: str) -> nw.Expr:
    """Return a text column for a join: never null, and different for null and every text."""
    return nw.when(nw.col(name).is_null()).then(nw.lit("")).otherwise(nw.concat_str(nw.lit("="), nw.col(name)))


def person_key() -> nw.Expr:
    """Return a text for each counterparty that joins can compare: the id, else the name; never null.

    For few rows: engines take longer to write it than to group by the id and the name.
    """
    has_id = ~nw.col("counterparty_id").is_null()
    by_id = nw.concat_str(nw.lit("id"), nw.col("counterparty_id"))
    return nw.when(has_id).then(by_id).otherwise(text_key("counterparty_name"))


def name_key() -> nw.Expr:
    """Return the name of a counterparty without an id, by which only these are grouped; null for one with an id."""
    return nw.when(nw.col("counterparty_id").is_null()).then(nw.col("counterparty_name"))


def received_cents() -> nw.Expr:
    """Return the cents that came in, 0 for a payment that went out."""
    return nw.when(nw.col("direction") == "in").then(nw.col("flow_cents")).otherwise(0)


def normalise(name: str) -> nw.Expr:
    """Return a text column in lower case, without white space at the ends, with one space for any within; null is "".

    White space is listed, and letters with a lower case that depends on the engine are replaced first.
    """
    text = nw.col(name).fill_null("").str.replace_all(_WHITE, " ").str.strip_chars(" ")
    for letter, lower in _LOWER.items():
        text = text.str.replace_all(letter, lower, literal=True)
    return text.str.to_lowercase()


def normalise_text(text: str) -> str:
    """Return a text as `normalise` does."""
    text = " ".join(text.split())
    for letter, lower in _LOWER.items():
        text = text.replace(letter, lower)
    return text.lower()
