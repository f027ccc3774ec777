"""Payments to look at again: probable duplicates, and amounts far above the usual."""

from __future__ import annotations

__all__ = ["unusual"]

from datetime import timedelta
from functools import partial
from typing import Any, Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.arguments import parse_duration
from p2p_analytics.limits import LIMITS
from p2p_analytics.times import DAY_US, MICROSECOND
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("unusual", usual=_engine.units("twice_usual", times=2))
_LONGEST: Final = 10_000 * 366 * DAY_US  # microseconds; no two dates are further apart
_GAPS_IN_STRETCH: Final = 20  # of the longest, they fit into 64 bits
_LARGE: Final = 5  # times the median
_FEWEST: Final = 5  # payments that make a median usual
_MIDDLE: Final = {"lower": _engine.Rank(50), "upper": _engine.Rank(50, from_largest=True)}  # the median is their mean
_SIDES: Final = ["person", "direction"]
_ALIKE: Final = [*_SIDES, "amount_cents", "stretch"]
_FOUND: Final = [
    "payment_id", "reason", "other_id", "amount_cents", "twice_usual", "counterparty_id", "person",
    "date_created", "note",
]  # fmt: skip

# Several payments may be without an id.
_IN_ORDER: Final = [
    "date_created", "payment_id", "reason", "counterparty_id", "counterparty_name", "amount_cents", "other_id", "note",
]  # fmt: skip


def unusual(payments: IntoFrameT, *, within: timedelta | str = "10min") -> IntoFrameT:
    """Return settled payments that look like duplicates, or are far larger than usual.

    One row per payment and reason. A duplicate has the person, direction, amount and note of a payment at most
    ``within`` before it; upper and lower case and white space in notes do not matter. A large one is at least five
    times the median of the person and direction, where there are at least five.

    Columns
    -------
    payment_id : text
        Of two duplicates, the later; of two at the same instant, the larger id.
    reason : text
        ``duplicate`` or ``large``.
    other_id : text
        The nearest earlier payment of a duplicate, else null.
    amount : currency units
    usual : currency units
        The median that a large payment is compared with, itself included; else null.
    counterparty_id, counterparty_name : text
        A person without an id is known by name; one with several names is under the last in the alphabet.
    date_created : instant
    note : text

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction or amount, are excluded, for duplicates also those
        without date_created; so are rows of another ``kind`` than payments. Datetimes without a zone are UTC. A lazy
        frame is queried at the call, for the checks, and on DuckDB for the medians, which are kept: read the result
        before rows change. One of Polars with more than three million rows that count is read in parts, and the
        rows found are kept. Settled requests of statements have the date of their
        payment.
    within : timedelta or str, optional
        Text like ``"90s"``, ``"10min"``, ``"6h"``.

    Returns
    -------
    frame
        Newest first, then by id and reason; rows without a date last. Empty without unusual payments.

    Raises
    ------
    ConfigurationError
        ``within`` is not a duration.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies, or one has
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "payment_id": ["11", "12", "13"],
    ...         "status": "settled",
    ...         "direction": "out",
    ...         "amount_cents": [1250, 1250, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T21:00Z", "2024-03-01T21:02Z", "2024-03-09T08:00Z"]),
    ...         "note": ["Pizza", "pizza", "taxi"],
    ...         "counterparty_id": "2",
    ...         "counterparty_name": "Ada",
    ...     }
    ... )
    >>> p2p.unusual(payments)[["payment_id", "reason", "other_id", "amount"]]
      payment_id     reason other_id  amount
    0         12  duplicate       11    12.5
    """
    gap = min(parse_duration("within", within) // MICROSECOND, _LONGEST)
    col = nw.col
    opened = _engine.open_frame(
        payments,
        ["payment_id", "direction", "amount_cents", "counterparty_id", "counterparty_name", "date_created", "note"],
        status=Status.SETTLED,
        sums=False,
        what="unusual",
    )
    directed = opened.frame.with_columns(col("amount_cents").abs(), person=_engine.person_key())
    find = partial(_find_unusual, native=payments, gap=gap)
    found = _engine.build_in_parts(
        directed, payments, find, by=["person"], rows=LIMITS.unusual_payments, what="unusual"
    )
    descending = [name == "date_created" for name in _IN_ORDER]
    table = found.sort(*_IN_ORDER, descending=descending, nulls_last=True)
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)


def _find_unusual(payments: nw.LazyFrame[Any], *, native: IntoFrame, gap: int) -> nw.LazyFrame[Any]:
    """Return the unusual payments with the name of the person; payments of one person depend on no others."""
    col = nw.col
    # Payments without an amount have the name, too.
    wanted = _engine.Ranked(_SIDES, "amount_cents", _MIDDLE, last=["counterparty_name"])
    middles = _engine.find_ranked(payments, wanted).with_columns(col(*_MIDDLE).cast(nw.Int64()))
    medians = _engine.keep_small(middles, native, what="unusual")
    names = medians.group_by("person").agg(col("counterparty_name").max())
    settled = payments.filter(~col("amount_cents").is_null()).drop("counterparty_name")
    large = (
        settled.join(medians, on=_SIDES, how="inner")
        .with_columns(
            twice_usual=(col("lower") + col("upper")).cast(nw.Int64()),
            other_id=nw.lit(None, dtype=nw.String()),
            reason=nw.lit("large"),
        )
        .filter(col("values") >= _FEWEST, col("amount_cents") * 2 >= col("twice_usual") * _LARGE)
        .select(*_FOUND)
    )
    return nw.concat([_find_duplicates(settled, gap), large]).join(names, on="person", how="left")


def _find_duplicates(settled: nw.LazyFrame[Any], gap: int) -> nw.LazyFrame[Any]:
    """Return the later payment of each two that are alike and at most ``gap`` apart."""
    col = nw.col
    # Payments are divided into stretches of time; one at most ``gap`` before the next stretch is repeated in it.
    length = _GAPS_IN_STRETCH * (gap + 1)
    dated = settled.filter(~col("date_created").is_null())
    in_stretch = _engine.add_quotient(dated, "stretch", col("date_created"), length)
    once = _engine.add_quotient(in_stretch, "next_stretch", col("date_created") + gap, length).with_columns(
        is_repeated=nw.lit(value=False)
    )
    repeated = once.filter(col("next_stretch") > col("stretch")).with_columns(
        stretch=col("next_stretch"), is_repeated=nw.lit(value=True)
    )
    rows = nw.concat([once, repeated])
    # Only rows that share these are worth a comparison in order, for which engines sort.
    several = rows.group_by(*_ALIKE).agg(number=nw.len()).filter(col("number") > 1)
    in_order = {"order_by": ["date_created", "payment_id", "note"]}
    return (
        rows.join(several, on=_ALIKE, how="semi")
        .with_columns(text=_engine.normalise("note"))
        .with_columns(
            before=col("date_created").shift(1).over(*_ALIKE, "text", **in_order),
            other_id=col("payment_id").shift(1).over(*_ALIKE, "text", **in_order),
            twice_usual=nw.lit(None, dtype=nw.Int64()),
            reason=nw.lit("duplicate"),
        )
        .filter(col("date_created") - col("before") <= gap, ~col("is_repeated"))
        .select(*_FOUND)
    )
