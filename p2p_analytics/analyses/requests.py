"""Requests: what became of them, and how long that took."""

from __future__ import annotations

__all__ = ["request_outcomes", "time_to_settle"]

from typing import Final

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.by import GROUP, check_by
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.frames.schema import SOURCE_API, SOURCE_STATEMENT
from p2p_analytics.vocabulary import Action, Status

_COUNTS: Final = ("settled", "pending", "cancelled", "expired", "failed")
_CENTS: Final = ["asked_cents", "collected_cents", "open_cents"]
_IN_ORDER: Final = ["asked_cents", "counterparty_id", "counterparty_name", "direction"]
_OUTCOMES: Final = declare_columns("request_outcomes", still_open="open_cents", days_p50="p50_us", days_p90="p90_us")
_DAYS: Final = declare_columns(
    "time_to_settle",
    without=["direction"],
    payments="values",
    days_p50="p50_us",
    days_p90="p90_us",
    days_p99="p99_us",
    days_max="max_us",
)


def request_outcomes(payments: IntoFrameT) -> IntoFrameT:
    """Return what became of the requests between the viewer and each person.

    One row per counterparty and direction: ``in`` are requests by the viewer, ``out`` requests to the viewer.
    A person without an id is known by name; one person with several names is under the last in the alphabet.

    Columns
    -------
    counterparty_id, counterparty_name, direction : text
    requests, settled, pending, cancelled, expired, failed : count
        ``requests`` also counts those with another status.
    asked, collected, still_open : currency units
        Of all requests, of the settled and of the pending ones. An unknown amount counts as 0.
    share_settled : fraction
        Of the requests that are not pending; null if all are.
    days_p50, days_p90 : days
        Within which half, and nine of ten, of the settled requests were paid, counted from creation to completion; a
        fraction, the nearest rank; null if no settled request has both dates. Rows of statements have one date, that
        of the payment, so they are excluded here.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows of another action than ``charge``, or without a direction, are excluded; so are rows of another
        ``kind`` than payments. Datetimes without a zone are UTC. Repeated payment ids count twice:
        `p2p_analytics.combine` unites frames. A lazy frame is queried at the call; one row per person and direction is
        read into memory.

    Returns
    -------
    frame
        Largest ``asked`` first, then by id, name and direction; empty without requests.

    Raises
    ------
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": ["settled", "pending", "settled"],
    ...         "action": "charge",
    ...         "direction": "in",
    ...         "amount_cents": [1250, 900, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "date_completed": pd.to_datetime(["2024-03-02T09:00Z", None, "2024-05-04T06:30Z"]),
    ...         "counterparty_id": ["2", "2", "3"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...     }
    ... )
    >>> p2p.request_outcomes(payments)[["counterparty_name", "requests", "asked", "collected", "days_p50"]]
      counterparty_name  requests  asked  collected  days_p50
    0               Ada         2   21.5       12.5       1.0
    1               Ben         1    5.0        5.0       1.5
    """
    needed = ["action", "status", "direction", "amount_cents", "date_created", "date_completed"]
    opened = _engine.open_frame(
        payments, [*needed, "counterparty_id", "counterparty_name"], optional=["source"], what="request_outcomes"
    )
    col = nw.col
    is_directed = (col("direction") == "in") | (col("direction") == "out")
    has_wait = _has_both() & (col("status") == Status.SETTLED.value)
    charges = opened.frame.filter(col("action") == Action.CHARGE.value, is_directed).with_columns(
        col("amount_cents").abs(),
        requests=nw.lit(1),
        waited_us=nw.when(has_wait).then(col("date_completed") - col("date_created")),
        name_key=_engine.name_key(),
    )
    wanted = _engine.Ranked(
        keys=["counterparty_id", "name_key", "direction", "status"],
        value="waited_us",
        ranks={"p50_us": _engine.Rank(50), "p90_us": _engine.Rank(90)},
        sums=["amount_cents", "requests"],
        last=["counterparty_name"],
    )
    found = _engine.find_ranked(charges, wanted)
    # One row per person, direction and status, so the rest is finished here.
    counted = _engine.collect_here(found, payments, what="request_outcomes").with_columns(
        **{name: _of_status(name, "requests") for name in _COUNTS},
        asked_cents=col("amount_cents"),
        collected_cents=_of_status(Status.SETTLED.value, "amount_cents"),
        open_cents=_of_status(Status.PENDING.value, "amount_cents"),
    )
    table = (
        counted.group_by("counterparty_id", "name_key", "direction")
        .agg(
            *(col(name).sum() for name in [*_COUNTS, *_CENTS, "requests"]),
            *(col(name).max() for name in ("counterparty_name", "p50_us", "p90_us")),
        )
        .with_columns(_engine.integers([*_COUNTS, *_CENTS, "requests"]))
        .with_columns(decided=col("requests") - col("pending"))
        .with_columns(share_settled=nw.when(col("decided") != 0).then(_engine.share("settled", col("decided"))))
        .sort(*_IN_ORDER, descending=[name == "asked_cents" for name in _IN_ORDER], nulls_last=True)
    )
    return _engine.to_result(table, payments, _OUTCOMES, opened.currency)


def time_to_settle(payments: IntoFrameT, *, by: str = "direction") -> IntoFrameT:
    """Return how long settled requests took.

    One row per value of ``by``; null is a separate value.

    Columns
    -------
    the column ``by`` : text
    payments : count
        Of settled requests with both dates; rows of statements have one, and are excluded.
    days_p50, days_p90, days_p99, days_max : days
        Within which half, nine of ten, 99 of 100, and all of them were paid, counted from creation to completion; a
        fraction, the nearest rank.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Only settled rows with the action ``charge``, a direction and both dates count; rows of another
        ``kind`` than payments are excluded. Datetimes without a zone are UTC. Repeated payment ids count twice:
        `p2p_analytics.combine` unites frames. A lazy frame is queried at the call.
    by : str
        A text column, such as ``"direction"``, ``"counterparty_name"``, ``"audience"``.

    Returns
    -------
    frame
        By ``by``, nulls last; empty without such requests.

    Raises
    ------
    ConfigurationError
        ``by`` is not a text column of the frame, is a column of the result, or has a name that not every engine reads.
    SchemaError
        The frame lacks a column or holds other types.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": "settled",
    ...         "action": "charge",
    ...         "direction": ["in", "in", "out"],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "date_completed": pd.to_datetime(["2024-03-02T09:00Z", "2024-03-10T09:00Z", "2024-05-04T06:30Z"]),
    ...     }
    ... )
    >>> p2p.time_to_settle(payments)
      direction  payments  days_p50  days_p90  days_p99  days_max
    0        in         2       1.0       2.0       2.0       2.0
    1       out         1       1.5       1.5       1.5       1.5
    """
    check_by(by, payments, _DAYS, what="time_to_settle")
    opened = _engine.open_frame(
        payments,
        ["action", "date_created", "date_completed", by],
        optional=["source"],
        status=Status.SETTLED,
        what="time_to_settle",
        by_currency=True,
    )
    col = nw.col
    charges = opened.frame.filter(col("action") == Action.CHARGE.value, _has_both())
    waited = charges.select(col(by).alias(GROUP), waited_us=col("date_completed") - col("date_created"))
    ranks = {"p50_us": 50, "p90_us": 90, "p99_us": 99, "max_us": 100}
    wanted = _engine.Ranked([GROUP], "waited_us", {name: _engine.Rank(rank) for name, rank in ranks.items()})
    # Groups without a wait are left out at the end: a filter of the rows would read both dates twice.
    found = _engine.find_ranked(waited, wanted).filter(col("values") > 0)
    columns = {by: _engine.TEXT.of(GROUP), **_DAYS}
    return _engine.to_result(found.sort(GROUP, nulls_last=True), payments, columns)


def _of_status(status: str, number: str) -> nw.Expr:
    return nw.when(nw.col("status") == status).then(nw.col(number)).otherwise(0)


def _has_both() -> nw.Expr:
    """Return whether both dates are known: a row of a statement has the date of the payment in both columns."""
    return nw.coalesce(nw.col("source"), nw.lit(SOURCE_API)) != SOURCE_STATEMENT
