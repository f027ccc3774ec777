"""Pending payments: money that people still owe each other, by age and one by one."""

from __future__ import annotations

__all__ = ["pending_ageing", "pending_requests"]

import operator
from collections.abc import Iterable
from datetime import date, datetime
from itertools import pairwise, product
from typing import Final, SupportsIndex

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.columns import ACCOUNT, declare_columns
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import DAY_US, parse_as_of, to_microseconds
from p2p_analytics.vocabulary import Status

NO_DATE: Final = "no date"
EDGES: Final = (1, 7, 30, 90)
MONTH_EDGES: Final = (31, 61, 92, 184)  # for payments with a known month and an unknown day
_EARLIEST: Final = -(2**63) + 1  # microseconds in 64 bits; no date is as early
_DIRECTIONS: Final = ("in", "out")
_AGES: Final = declare_columns("pending_ageing")
_NOTHING: Final = {"payments": 0, "amount_cents": 0, "oldest_us": None}
_REQUESTS: Final = declare_columns("pending_requests", age_days="age_us")

_IN_ORDER: Final = [
    "date_created", "payment_id", "counterparty_id", "counterparty_username", "counterparty_name", "direction", "note",
    "amount_cents",
]  # fmt: skip


def pending_ageing(
    payments: IntoFrameT,
    as_of: datetime | date | str | np.datetime64,
    *,
    edges: Iterable[SupportsIndex] = EDGES,
    by_account: bool = False,
) -> IntoFrameT:
    """Return the pending payments by direction and age.

    One row per direction and age band, including empty bands: ``in`` is money that others owe the
    viewer, ``out`` is money that the viewer owes or has sent to a recipient who has not joined yet.
    An age exactly on an edge belongs to the older band, and a payment created after ``as_of`` has
    age 0. A direction with payments without date_created has one more row, with the band "no date".

    Columns
    -------
    direction, band : text
        Bands read "under 1 day", "1 to 7 days", ..., "90 days or more".
    payments : count
    amount : currency units
        Without sign; an unknown amount counts as 0.
    oldest_days : whole days
        Age of the oldest payment, rounded down; null for an empty band.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not pending, or have no direction, are excluded; so are rows of another ``kind`` than
        payments. Datetimes without a zone are UTC. Repeated payment ids count twice: `p2p_analytics.combine` unites
        frames. A lazy frame is queried at the call.
    as_of : datetime, date, str or numpy.datetime64
        The instant at which ages end, as text in ISO 8601; a date means its first instant, a missing zone means UTC.
    edges : iterable of int
        Ages in days at which a new band begins, ascending, from 1.
    by_account : bool, optional
        Whether each account has a separate table, one below another in the order of ``account_id``. It is then the
        first column, and has to be a column of ``payments``, as `Archives.scan` returns them: an
        account without pending payments has zeros.

    Returns
    -------
    frame
        First ``in``, then ``out``; youngest band first. Without pending payments all values are zeros.

    Raises
    ------
    ConfigurationError
        ``as_of`` is not an instant, or ``edges`` are not ascending days.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": "pending",
    ...         "direction": ["in", "in", "out"],
    ...         "amount_cents": [1250, 900, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...     }
    ... )
    >>> ages = p2p.pending_ageing(payments, as_of="2024-05-05")
    >>> ages.loc[ages["payments"] > 0, ["direction", "band", "payments", "amount", "oldest_days"]]
      direction           band  payments  amount  oldest_days
    3        in  30 to 90 days         2    21.5           64
    6       out    1 to 7 days         1     5.0            2
    """
    moment = to_microseconds(parse_as_of(as_of))
    days = _check_edges(edges)
    col = nw.col
    keys = [ACCOUNT] if by_account else []
    needed = [*keys, "direction", "date_created", "amount_cents"]
    opened = _engine.open_frame(payments, needed, status=Status.PENDING, what="pending_ageing")
    number = nw.lit(0)  # of edges that the age has reached
    for edge in days:
        number = number + (col("date_created") <= max(moment - edge * DAY_US, _EARLIEST)).cast(nw.Int64())
    sums = (
        opened.frame.with_columns(col("amount_cents").abs(), number=number.fill_null(len(days) + 1))
        .group_by(*keys, "direction", "number")
        .agg(col("amount_cents").sum(), oldest_us=col("date_created").min(), payments=nw.len())
    )
    accounts: list[str | None] = [None]
    if by_account:  # by a separate query: within another, Polars keeps all rows for both
        every = _engine.open_frame(payments, keys, every_kind=True, what="pending_ageing", by_currency=True).frame
        listed = _engine.collect(every.group_by(ACCOUNT).agg(rows=nw.len()), payments, what="pending_ageing")
        accounts = sorted(listed[ACCOUNT].to_list(), key=lambda account: (account is None, account))
    labels = ["1 day" if day == 1 else f"{day} days" for day in (days[0], days[-1])]
    between = [f"{low} to {high} days" for low, high in pairwise(days)]
    bands = [f"under {labels[0]}", *between, f"{labels[1]} or more", NO_DATE]
    # One row per account, direction and band, so the rest is finished here.
    found = _engine.collect(sums, payments, what="pending_ageing").rows(named=True)
    of_band = {(row.get(ACCOUNT), row["direction"], int(row["number"])): row for row in found}
    rows = []
    for account, direction, (at, band) in product(accounts, _DIRECTIONS, enumerate(bands)):
        row = of_band.get((account, direction, at), _NOTHING)
        if row["payments"] or band != NO_DATE:
            oldest = row["oldest_us"]
            age = None if oldest is None else max(moment - int(oldest), 0)
            names = {ACCOUNT: account, "direction": direction, "band": band}
            rows.append({**names, **row, "amount_cents": int(row["amount_cents"] or 0), "oldest_days_us": age})
    return _engine.build_result(payments, rows, dict.fromkeys(keys, _engine.TEXT) | _AGES, opened.currency)


def pending_requests(payments: IntoFrameT, as_of: datetime | date | str | np.datetime64) -> IntoFrameT:
    """Return the pending payments one by one.

    One row per pending payment: the rows behind `pending_ageing`.

    Columns
    -------
    payment_id, direction, counterparty_id, counterparty_username, counterparty_name, note : text
        ``in``: the counterparty owes the viewer; ``out``: the viewer owes, or has paid a recipient
        who has not joined yet.
    amount : currency units
        Without sign; null where it is unknown.
    date_created : instant
    age_days : whole days
        Rounded down; 0 for a payment created after ``as_of``; null without date_created.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not pending, or have no direction, are excluded; so are rows of another ``kind`` than
        payments. Datetimes without a zone are UTC. Repeated payment ids count twice: `p2p_analytics.combine` unites
        frames. A lazy frame is queried at the call, for the checks.
    as_of : datetime, date, str or numpy.datetime64
        The instant at which ages end, as text in ISO 8601; a date means its first instant, a missing zone means UTC.

    Returns
    -------
    frame
        Oldest first, then by id; rows without a date last. Empty without pending payments.

    Raises
    ------
    ConfigurationError
        ``as_of`` is not an instant.
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
    ...         "status": "pending",
    ...         "action": "charge",
    ...         "direction": ["in", "in", "out"],
    ...         "amount_cents": [1250, 900, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "note": ["pizza", "taxi", "rent"],
    ...         "counterparty_id": ["2", "2", "3"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...     }
    ... )
    >>> p2p.pending_requests(payments, as_of="2024-05-05")[["counterparty_name", "amount", "note", "age_days"]]
      counterparty_name  amount   note  age_days
    0               Ada    12.5  pizza        64
    1               Ada     9.0   taxi        57
    2               Ben     5.0   rent         2
    """
    moment = to_microseconds(parse_as_of(as_of))
    opened = _engine.open_frame(
        payments,
        ["payment_id", "direction", "counterparty_id", "counterparty_name", "note", "amount_cents", "date_created"],
        status=Status.PENDING,
        optional=["counterparty_username"],
        sums=False,
        what="pending_requests",
    )
    age = moment - nw.col("date_created")
    table = opened.frame.select(
        *(name for name in _IN_ORDER if name != "amount_cents"),
        nw.col("amount_cents").abs(),
        age_us=nw.when(age < 0).then(0).otherwise(age),  # 0 for a later payment
    )
    in_order = table.sort(*_IN_ORDER, nulls_last=True)
    return _engine.to_result(in_order, payments, _REQUESTS, opened.currency)


def _check_edges(edges: Iterable[SupportsIndex]) -> tuple[int, ...]:
    try:
        days = tuple(0 if isinstance(day, bool) else operator.index(day) for day in edges)
    except TypeError:
        days = ()
    if not days or days[0] < 1 or any(low >= high for low, high in pairwise(days)):
        raise ConfigurationError(
            f"edges={edges!r} is not valid: give whole days from 1 in ascending order, like (1, 7, 30)."
        )
    return days
