"""Money sent and received per calendar month."""

from __future__ import annotations

__all__ = ["monthly_flow"]

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.accounts import add_account, list_keys
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from narwhals.stable.v2.typing import IntoFrameT

_COLUMNS: Final = declare_columns("monthly_flow", net="flow_cents", running_net="running_cents")
_MONTHS: Final = {"number": _engine.COUNT, "month": _engine.TEXT}
_NUMBERS: Final = dict.fromkeys(("first_day", "number"), _engine.COUNT)


def monthly_flow(payments: IntoFrameT, tz: str | ZoneInfo = "UTC", *, by_account: bool = False) -> IntoFrameT:
    """Return the money sent and received in each calendar month, in settled payments.

    One row per month of the zone, from the first to the last month with a payment; months between
    them without payments hold zeros. Money moves when a payment completes, so the month is taken from
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
        payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call.
    tz : str or ZoneInfo
        Time zone of the months, such as ``America/New_York``.
    by_account : bool, optional
        Whether each account has a separate table, one below another in the order of ``account_id``. It is then the
        first column, and has to be a column of ``payments``, as `Archives.scan` returns them: each
        with its own range of months. One row per account and month is then read into memory.

    Returns
    -------
    frame
        In order of time; empty without settled payments.

    Raises
    ------
    ConfigurationError
        The zone does not exist.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": "settled",
    ...         "direction": ["out", "out", "in"],
    ...         "flow_cents": [-1250, -900, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "date_completed": None,
    ...     }
    ... )
    >>> p2p.monthly_flow(payments)
         month  sent  received   net  payments  running_net
    0  2024-03  21.5       0.0 -21.5         2        -21.5
    1  2024-04   0.0       0.0   0.0         0        -21.5
    2  2024-05   0.0       5.0   5.0         1        -16.5
    """
    zone = find_zone(tz)
    keys = list_keys(by_account=by_account)
    col = nw.col
    needed = [*keys, "direction", "flow_cents", "date_created", "date_completed"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, what="monthly_flow")
    moved = opened.frame.select(
        *keys,
        "flow_cents",
        received_cents=nw.when(col("direction") == "in").then(col("flow_cents")).otherwise(0),
        moved_us=calendar.within_calendar(nw.coalesce(col("date_completed"), col("date_created"))),
    )
    # One row per month of an account, so the rest is finished here.
    months = (
        calendar.add_first_day(moved, "moved_us", "month", zone=zone, ends=opened.ends, payments=payments)
        .group_by(*keys, "first_day")
        .agg(col("flow_cents").sum(), col("received_cents").sum(), payments=nw.len())
        .with_columns(_engine.integers(["flow_cents", "received_cents", "payments"]))
    )
    table = _add_up_months(_engine.collect_here(months, payments, what="monthly_flow"), keys)
    return _engine.to_result(table, payments, add_account(_COLUMNS, by_account=by_account), opened.currency)


def _add_up_months(months: nw.LazyFrame[Any], keys: list[str]) -> nw.LazyFrame[Any]:
    """Return all months, without gaps, of those with payments; a null day makes a last row with a null month."""
    col = nw.col
    found = months.select("first_day").unique().collect()["first_day"].to_list()
    dated = [day for day in found if day is not None]
    days = calendar.list_first_days(dated, "month")
    labels: list[str | None] = [f"{calendar.to_date(day):%Y-%m}" for day in days]
    numbers = {"first_day": days, "number": list(range(len(days)))}
    rows: dict[str, list[Any]] = {"number": list(range(len(labels) + 1)), "month": [*labels, None]}
    sums = (
        months.join(_engine.build_rows(months.to_native(), numbers, _NUMBERS), on="first_day", how="left")
        .with_columns(account=_engine.text_key(keys[0]) if keys else nw.lit(""))
        .with_columns(number=col("number").fill_null(len(labels)))
        .group_by("account", *keys, "number")
        .agg(col("flow_cents").sum(), col("received_cents").sum(), col("payments").sum())
    )
    dates = sums.with_columns(dated=nw.when(col("number") < len(labels)).then(col("number")))
    ranges = dates.group_by("account", *keys).agg(
        first=col("dated").min(), last=col("dated").max(), end=col("number").max()
    )
    is_within = (col("number") >= col("first")) & (col("number") <= col("last"))
    is_undated = (col("number") == len(labels)) & (col("end") == len(labels))
    return (
        ranges.join(_engine.build_rows(months.to_native(), rows, _MONTHS), how="cross")
        .filter(is_within.fill_null(value=False) | is_undated)
        .join(sums.drop(*keys), on=["account", "number"], how="left")
        .with_columns(_engine.integers(["flow_cents", "received_cents", "payments"]))
        .with_columns(
            sent_cents=col("received_cents") - col("flow_cents"),
            running_cents=col("flow_cents").cum_sum().over("account", order_by="number"),
        )
        .sort(*keys, "number", nulls_last=True)
    )
