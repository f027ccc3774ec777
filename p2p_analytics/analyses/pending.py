"""Who still owes whom: pending payments by age, and one by one."""

from __future__ import annotations

import operator
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import as_instant, to_microseconds
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime
    from typing import SupportsIndex

    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

NO_DATE: Final = "no date"
EDGES: Final = (1, 7, 30, 90)
MONTH_EDGES: Final = (31, 61, 92, 184)  # for payments of which only the month is known
_DAY: Final = timedelta(days=1) // timedelta(microseconds=1)
_DIRECTIONS: Final = ("in", "out")
_AGES: Final = {
    "direction": _engine.TEXT,
    "band": _engine.TEXT,
    "payments": _engine.COUNT,
    "amount": _engine.NUMBER,
    "oldest_days": _engine.WHOLE_DAYS,
}
_REQUESTS: Final = {
    "payment_id": _engine.TEXT,
    "direction": _engine.TEXT,
    "counterparty_id": _engine.TEXT,
    "counterparty_name": _engine.TEXT,
    "note": _engine.TEXT,
    "amount": _engine.NUMBER,
    "date_created": _engine.INSTANT,
    "age_days": _engine.WHOLE_DAYS,
}


def pending_ageing(
    payments: IntoFrameT, *, as_of: datetime | date | str, edges: Iterable[SupportsIndex] = EDGES
) -> IntoFrameT:
    """Return the pending payments by direction and age.

    One row per direction and age band, with the bands that hold nothing: ``in`` is money that
    others owe the viewer, ``out`` is money that the viewer owes or has on its way. A payment whose
    age is exactly an edge is in the older band, and one created after ``as_of`` is new. Where a
    payment has no date_created, its direction has one more row, with the band "no date".

    Columns
    -------
    direction, band : text
        Bands read "under 1 day", "1 to 7 days", ..., "90 days or more".
    payments : count
    amount : currency units
        Without sign; an amount that is not known counts as 0.
    oldest_days : whole days
        Age of the oldest, rounded down; null where there is none.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not pending, or have no direction, are left out.
    as_of : datetime, date or str
        The moment ages are counted to; a date is its first moment, without a zone it is UTC.
    edges : iterable of int
        Days at which a new band begins, rising, from 1.

    Returns
    -------
    frame
        First ``in``, then ``out``; youngest band first. Nothing pending gives zeros.

    Raises
    ------
    ConfigurationError
        ``as_of`` is no instant, or ``edges`` are no rising days.
    SchemaError
        The frame lacks a column.
    """
    moment = _moment(as_of)
    days = _checked(edges)
    col = nw.col
    pending = _pending(payments, ["amount_cents"], what="pending_ageing")
    band = nw.lit(0)
    for number, edge in enumerate(days, start=1):
        band = nw.when(col("age_us") >= edge * _DAY).then(nw.lit(number)).otherwise(band)
    undated = len(days) + 1
    found = (
        pending.with_columns(amount_cents=_engine.cents("amount_cents").abs(), age_us=_age(moment))
        .with_columns(
            # An age that is not known is compared as 0: a null in a condition means different things to engines.
            age_us=col("age_us").fill_null(0).cast(nw.Int64()),
            dated=~col("age_us").is_null(),
        )
        .with_columns(number=nw.when(col("dated")).then(band).otherwise(nw.lit(undated)).cast(nw.Int64()))
        .group_by("direction", "number")
        .agg(col("amount_cents").sum(), col("age_us").max(), payments=nw.len())
    )
    table = (
        _every_band(pending, _labels(days))
        .join(found, on=["direction", "number"], how="left")
        .with_columns(_engine.integers(["payments", "amount_cents", "age_us"]))
        .filter((col("number") < undated) | (col("payments") > 0))
        .with_columns(
            amount=_engine.units("amount_cents"),
            oldest_days=nw.when(col("payments") > 0, col("number") < undated).then(col("age_us") // _DAY),
        )
        .sort("direction", "number")
    )
    return _engine.finished(table, payments, _AGES)


def pending_requests(payments: IntoFrameT, *, as_of: datetime | date | str) -> IntoFrameT:
    """Return the pending payments one by one.

    One row per pending payment: the rows behind `pending_ageing`.

    Columns
    -------
    payment_id, direction, counterparty_id, counterparty_name, note : text
        ``in``: the counterparty owes the viewer; ``out``: the viewer owes, or has paid someone
        who has not joined yet.
    amount : currency units
        Without sign; null where it is not known.
    date_created : instant
    age_days : whole days
        Rounded down; 0 where created after ``as_of``; null without date_created.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not pending, or have no direction, are left out.
    as_of : datetime, date or str
        The moment ages are counted to; a date is its first moment, without a zone it is UTC.

    Returns
    -------
    frame
        Oldest first, then by id; those without a date last. Nothing pending gives no rows.

    Raises
    ------
    ConfigurationError
        ``as_of`` is no instant.
    SchemaError
        The frame lacks a column.
    """
    moment = _moment(as_of)
    columns = ["payment_id", "counterparty_id", "counterparty_name", "note", "amount_cents", "date_created"]
    table = (
        _pending(payments, columns, what="pending_requests")
        .sort("created_us", "payment_id", nulls_last=True)
        .with_columns(amount_cents=nw.col("amount_cents").abs(), age_us=_age(moment))
        .with_columns(amount=_engine.units("amount_cents"), age_days=nw.col("age_us") // _DAY)
    )
    return _engine.finished(table, payments, _REQUESTS)


def _pending(payments: IntoFrame, columns: list[str], *, what: str) -> nw.LazyFrame[Any]:
    frame = _engine.opened(payments, ["status", "direction", "created_us", *columns], what=what)
    return frame.filter(nw.col("status") == Status.PENDING.value, nw.col("direction").is_in(_DIRECTIONS))


def _age(moment: int) -> nw.Expr:
    """Return the age in microseconds, never below 0 and null without a creation."""
    return (moment - nw.col("created_us")).clip(0)


def _every_band(frame: nw.LazyFrame[Any], labels: list[str]) -> nw.LazyFrame[Any]:
    rows = [(direction, number, label) for direction in _DIRECTIONS for number, label in enumerate(labels)]
    names = {"direction": _engine.TEXT, "number": _engine.COUNT, "band": _engine.TEXT}
    return _engine.rows_like(frame, dict(zip(names, zip(*rows, strict=True), strict=True)), names)


def _labels(edges: tuple[int, ...]) -> list[str]:
    first, last = edges[0], edges[-1]
    between = [f"{low} to {high} days" for low, high in pairwise(edges)]
    return [f"under {_days(first)}", *between, f"{_days(last)} or more", NO_DATE]


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"


def _checked(edges: Iterable[SupportsIndex]) -> tuple[int, ...]:
    try:
        days = tuple(0 if isinstance(day, bool) else operator.index(day) for day in edges)
    except TypeError:
        days = ()
    if not days or days[0] < 1 or any(low >= high for low, high in pairwise(days)):
        raise ConfigurationError(f"edges are whole days that rise from 1 or more, like (1, 7, 30), not {edges!r}.")
    return days


def _moment(as_of: datetime | date | str) -> int:
    try:
        return int(to_microseconds(as_instant(as_of)))
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"as_of is a datetime, a date or text like 2024-05-31T18:30:00Z, not {as_of!r}."
        ) from None
