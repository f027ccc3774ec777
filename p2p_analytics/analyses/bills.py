"""Bills that the viewer split: requests with one note, made soon after each other, to several people."""

from __future__ import annotations

__all__ = ["split_bills"]

from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.arguments import parse_duration
from p2p_analytics.limits import LIMITS
from p2p_analytics.times import MICROSECOND, parse_as_of, to_microseconds
from p2p_analytics.vocabulary import Action, Status

_COLUMNS: Final = declare_columns("split_bills", note="first_note", oldest_open_days="oldest_open_us")
_STATUSES: Final = {
    "collected_cents": [Status.SETTLED.value],
    "still_open_cents": [Status.PENDING.value],
    "declined_cents": [Status.CANCELLED.value, Status.EXPIRED.value, Status.FAILED.value],
}
_CENTS: Final = ["asked_cents", *_STATUSES]
_FEWEST: Final = 2  # people of a bill


def split_bills(
    payments: IntoFrameT, *, as_of: datetime | date | str | np.datetime64, within: timedelta | str = "6h"
) -> IntoFrameT:
    """Return the bills that the viewer split, and what became of them.

    One row per bill: the viewer's requests of any status with the same note, each at most ``within`` after the one
    before, to two people or more. Upper and lower case and white space in notes do not matter; requests without a note
    make no bill.

    Columns
    -------
    bill_id : text
        The payment_id of the first request.
    date : instant
        Of creation of the first request.
    note : text
        Of the first request, as it was written.
    people : count
        A person without an id is known by name.
    asked, collected, still_open, declined : currency units
        Of all requests, of the settled, of the pending, and of the cancelled, expired and failed ones. An unknown
        amount counts as 0.
    oldest_open_days : days
        Age of the oldest pending request, a fraction; null if none is pending; 0 for one created after ``as_of``.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Only requests that the viewer made count, with date_created; rows of another ``kind`` than payments
        are excluded. Datetimes without a zone are UTC. Repeated payment ids count twice: `p2p_analytics.combine` unites
        frames. A lazy frame is queried at the call, for the checks; one of Polars with more than four million
        requests by the viewer is read in parts, and the bills are kept. Settled requests of statements
        have the date of their payment, so that a bill is found in part, or not at all, if it was not paid at once.
    as_of : datetime, date, str or numpy.datetime64
        The instant at which ages end, as text in ISO 8601; a date means its first instant, a missing zone means UTC.
    within : timedelta or str, optional
        Text like ``"10min"``, ``"6h"``, ``"2d"``.

    Returns
    -------
    frame
        Newest first, then by id; empty without bills.

    Raises
    ------
    ConfigurationError
        ``as_of`` is not an instant, or ``within`` is not a duration.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "payment_id": ["11", "12", "13"],
    ...         "status": ["settled", "pending", "settled"],
    ...         "action": "charge",
    ...         "direction": "in",
    ...         "amount_cents": [1250, 1250, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T21:00Z", "2024-03-01T21:02Z", "2024-03-09T08:00Z"]),
    ...         "note": ["Pizza", "pizza", "taxi"],
    ...         "counterparty_id": ["2", "3", "3"],
    ...         "counterparty_name": ["Ada", "Ben", "Ben"],
    ...     }
    ... )
    >>> bills = p2p.split_bills(payments, as_of="2024-03-06")
    >>> bills[["bill_id", "note", "people", "asked", "collected", "still_open"]]
      bill_id   note  people  asked  collected  still_open
    0      11  Pizza       2   25.0       12.5        12.5
    """
    moment = to_microseconds(parse_as_of(as_of))
    gap = parse_duration("within", within) // MICROSECOND
    col = nw.col
    opened = _engine.open_frame(
        payments,
        [
            "payment_id", "action", "status", "direction", "amount_cents", "note", "date_created", "counterparty_id",
            "counterparty_name",
        ],
        what="split_bills",
    )  # fmt: skip
    requests = opened.frame.filter(
        col("action") == Action.CHARGE.value, col("direction") == "in", ~col("date_created").is_null()
    )
    named = requests.with_columns(
        col("amount_cents").abs(),
        text=_engine.normalise("note"),
        name_key=_engine.name_key(),
    ).filter(col("text") != "")
    bills = _engine.build_in_parts(
        named, payments, partial(_find_bills, gap=gap), by=["text"], rows=LIMITS.bill_requests, what="split_bills"
    )
    age = moment - col("open_since")
    table = bills.with_columns(oldest_open_us=nw.when(age < 0).then(0).otherwise(age)).sort(
        "date", "bill_id", "text", descending=[True, False, False], nulls_last=True
    )
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)


def _find_bills(requests: nw.LazyFrame[Any], gap: int) -> nw.LazyFrame[Any]:
    """Return the bills with their sums in cents; requests with one note depend on no others."""
    col = nw.col
    marked = (
        # The note decides the order of rows without an id.
        requests.with_columns(
            before=col("date_created").shift(1).over("text", order_by=["date_created", "payment_id", "note"])
        )
        .with_columns(is_first=nw.when(col("date_created") - col("before") <= gap).then(0).otherwise(1))
        # Rows with one date and id may be in another order than above, so the first is put before them.
        .with_columns(is_later=1 - col("is_first"))
        # Most requests are the only one of their bill. They are dropped here: groups of them all take long.
        .with_columns(ends=col("is_first").shift(-1).over("text", order_by=["date_created", "is_later"]).fill_null(1))
        .filter((col("is_first") == 0) | (col("ends") == 0))
    )
    numbered = (
        marked.with_columns(bill=col("is_first").cum_sum().over("text", order_by=["date_created", "is_later"]))
        .with_columns(bill=col("bill").cast(nw.Int64()))
        .with_columns(
            bill_id=nw.when(col("is_first") == 1).then(col("payment_id")),
            first_note=nw.when(col("is_first") == 1).then(col("note")),
            open_since=nw.when(col("status") == Status.PENDING.value).then(col("date_created")),
            asked_cents=col("amount_cents"),
            **{
                name: nw.when(col("status").is_in(statuses)).then(col("amount_cents")).otherwise(0)
                for name, statuses in _STATUSES.items()
            },
        )
    )
    keys = ["text", "bill"]
    # First one row per person of a bill: to count people apart, DuckDB would number the bills once more.
    people = numbered.group_by(*keys, "counterparty_id", "name_key").agg(
        *(col(name).max() for name in ("bill_id", "first_note")),
        *(col(name).min() for name in ("open_since", "date_created")),
        *(col(name).sum() for name in _CENTS),
    )
    sums = people.group_by(*keys).agg(
        *(col(name).max() for name in ("bill_id", "first_note")),
        *(col(name).sum() for name in _CENTS),
        col("open_since").min(),
        date=col("date_created").min(),
        people=nw.len(),
    )
    return sums.with_columns(_engine.integers([*_CENTS, "people"])).filter(col("people") >= _FEWEST)
