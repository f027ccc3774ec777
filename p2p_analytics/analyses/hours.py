"""Payments by hour of the week."""

from __future__ import annotations

__all__ = ["activity"]

from itertools import product
from typing import Final
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.times import DAY_US, find_zone
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("activity")


def activity(payments: IntoFrameT, *, tz: str | ZoneInfo = "UTC") -> IntoFrameT:
    """Return the settled payments by weekday and hour of their creation, on the clocks of a zone.

    One row per weekday and hour, always 168.

    Columns
    -------
    weekday : 0 to 6
        Monday is 0.
    hour : 0 to 23
    payments : count
    amount : currency units
        Sent and received, without sign. An unknown amount counts as 0.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, have no direction or no date_created within 1970 to 2199 (UTC), are
        excluded; so are rows of another ``kind`` than payments. Datetimes without a zone are UTC. Repeated payment ids
        count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call. Settled requests of
        statements have the date of their payment.
    tz : str or ZoneInfo, optional
        Time zone of the hours, such as ``America/New_York``.

    Returns
    -------
    frame
        By weekday, then hour. Without settled payments all counts are 0.

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
    ...         "direction": "out",
    ...         "amount_cents": [1250, 900, 500],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...     }
    ... )
    >>> hours = p2p.activity(payments, tz="America/New_York")
    >>> hours[hours["payments"] > 0]
         weekday  hour  payments  amount
    86         3    14         1     5.0
    100        4     4         2    21.5
    """
    zone = find_zone(tz)
    col = nw.col
    opened = _engine.open_frame(payments, ["amount_cents", "date_created"], status=Status.SETTLED, what="activity")
    created = opened.frame.select(
        col("amount_cents").abs(), created_us=calendar.within_calendar(col("date_created"))
    ).filter(~col("created_us").is_null())
    local = calendar.add_local_time(created, "created_us", zone, opened.ends, payments)
    with_hour = _engine.add_quotient(local, "hour", col("local_us") % DAY_US, calendar.HOUR_US)
    sums = (
        calendar.add_local_day(with_hour, "day")
        .with_columns(weekday=calendar.weekday(col("day")))
        .group_by("weekday", "hour")
        .agg(col("amount_cents").sum(), payments=nw.len())
    )
    # A row per hour of the week, so the rest is finished here.
    found = _engine.collect(sums, payments, what="activity").iter_rows(named=True)
    of_hour = {(row["weekday"], row["hour"]): row for row in found}
    rows = []
    for weekday, hour in product(range(7), range(24)):
        row = of_hour.get((weekday, hour), {"payments": 0, "amount_cents": 0})
        rows.append({**row, "weekday": weekday, "hour": hour, "amount_cents": int(row["amount_cents"] or 0)})
    return _engine.build_result(payments, rows, _COLUMNS, opened.currency)
