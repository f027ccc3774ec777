"""Money sent and received per calendar month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _calendar, _engine
from p2p_analytics.times import END_US, FIRST_US, find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

_COLUMNS: Final = {
    "month": _engine.TEXT,
    "sent": _engine.NUMBER,
    "received": _engine.NUMBER,
    "net": _engine.NUMBER,
    "payments": _engine.COUNT,
    "running_net": _engine.NUMBER,
}
_UNDATED: Final = -1


def monthly_flow(payments: IntoFrameT, tz: str | ZoneInfo = "UTC") -> IntoFrameT:
    """Return the money sent and received in each calendar month, in settled payments.

    One row per month of the zone, from the first to the last month with a payment; months between
    them without payments hold zeros. Money moves when a payment completes, so the month is that of
    date_completed, or of date_created where date_completed is null. Settled payments without either
    date, or with a date before 1970 or after 2199 (UTC), form one last row with a null month.

    Columns
    -------
    month : text
        Like ``2024-05``.
    sent, received, net : currency units
        ``net`` is received less sent. An unknown amount counts as 0.
    payments : count
    running_net : currency units
        The net of this month and all earlier months.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, move no money between people
        and are excluded; so are rows of another ``kind`` than payments. Datetimes without a zone are UTC. Repeated
        payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call: for the
        checks, and for its first and last instant.
    tz : str or ZoneInfo
        Time zone of the months, such as ``America/New_York``.

    Returns
    -------
    frame
        In order of time; without rows if there are no settled payments.

    Raises
    ------
    ConfigurationError
        There is no such zone.
    SchemaError
        The frame lacks a column or holds other types, the payments that count are in several currencies, or there
        are amounts of 2**53 cents or more in all.
    """
    zone = find_zone(tz)
    col = nw.col
    needed = ["direction", "flow_cents", "date_created", "date_completed"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, what="monthly_flow")
    moved = _engine.collect_once(
        opened.frame.select(
            "flow_cents",
            received_cents=nw.when(col("direction") == "in").then(col("flow_cents")).otherwise(0),
            moved_us=_within(nw.coalesce(col("date_completed"), col("date_created")).cast(nw.Int64())),
        ),
        payments,
    )
    with_months, months = _assign_months(moved, zone, payments)
    sums = with_months.group_by("number").agg(col("flow_cents").sum(), col("received_cents").sum(), payments=nw.len())
    table = (
        months.join(sums, on="number", how="left")
        .with_columns(_engine.integers(["flow_cents", "received_cents", "payments"]))
        .with_columns(
            sent_cents=col("received_cents") - col("flow_cents"),
            running_cents=col("flow_cents").cum_sum().over(order_by="number"),
        )
        .sort("number")
        .with_columns(
            sent=_engine.units("sent_cents"),
            received=_engine.units("received_cents"),
            net=_engine.units("flow_cents"),
            running_net=_engine.units("running_cents"),
        )
    )
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)


def _within(instant: nw.Expr) -> nw.Expr:
    """Return instants with those outside the supported calendar as nulls."""
    return nw.when(instant >= FIRST_US, instant < END_US).then(instant)


def _assign_months(
    moved: nw.LazyFrame[Any], zone: ZoneInfo, payments: IntoFrame
) -> tuple[nw.LazyFrame[Any], nw.LazyFrame[Any]]:
    """Return the rows with the number of their month, and a frame of the months with these numbers."""
    col = nw.col
    bounds = moved.select(
        first=col("moved_us").min(), last=col("moved_us").max(), dated=col("moved_us").count(), rows=nw.len()
    )
    first, last, dated, rows = _engine.collect(bounds, payments, what="monthly_flow").row(0)
    known = _calendar.stretches(int(first), int(last), zone) if dated else _calendar.Stretches(0, (), (), ())
    labels = [*known.months, None] if rows > dated else [*known.months]
    months = _engine.build_rows(
        moved,
        {"number": list(range(len(labels))), "month": labels},
        {"number": _engine.COUNT, "month": _engine.TEXT},
    )
    stretches = _engine.build_rows(
        moved,
        {
            "stretch": [_UNDATED, *range(len(known.before))],
            "before": [len(known.months), *known.before],
            "turn_us": [known.first_us + 1, *known.turns],
        },
        {"stretch": _engine.COUNT, "before": _engine.COUNT, "turn_us": _engine.COUNT},
    )
    with_months = (
        moved.with_columns(
            stretch=((col("moved_us") - known.first_us) // _calendar.STRETCH_US).fill_null(_UNDATED).cast(nw.Int64()),
            # Rows without a date take part in the comparison below, as before the turn of their stretch.
            moved_us=col("moved_us").fill_null(known.first_us).cast(nw.Int64()),
        )
        .join(stretches, on="stretch", how="left")
        .with_columns(
            number=nw.when(col("moved_us") >= col("turn_us")).then(col("before") + 1).otherwise(col("before"))
        )
        .with_columns(col("number").cast(nw.Int64()))
    )
    return with_months, months
