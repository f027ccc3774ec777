"""Money sent and received per calendar month."""

from __future__ import annotations

__all__ = ["monthly_flow"]

from typing import Any, Final
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.columns import ACCOUNT, declare_columns
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("monthly_flow", net="flow_cents", running_net="running_cents")


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
    keys = [ACCOUNT] if by_account else []
    needed = [*keys, "direction", "flow_cents", "date_created", "date_completed"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, what="monthly_flow")
    moved = opened.frame.select(
        *keys, "flow_cents", received_cents=_engine.received_cents(), moved_us=calendar.settled_us()
    )
    months = (
        calendar.add_first_day(moved, "moved_us", "month", zone=zone, ends=opened.ends, payments=payments)
        .group_by(*keys, "first_day")
        .agg(nw.col("flow_cents").sum(), nw.col("received_cents").sum(), payments=nw.len())
    )
    # One row per month of an account, so the rest is finished here.
    of_account: dict[str | None, dict[int | None, tuple[int, ...]]] = {}
    for row in _engine.collect(months, payments, what="monthly_flow").iter_rows(named=True):
        sums = (int(row["flow_cents"] or 0), int(row["received_cents"] or 0), row["payments"])
        of_account.setdefault(row.get(ACCOUNT), {})[row["first_day"]] = sums
    rows = []
    for account in sorted(of_account, key=lambda account: (account is None, account)):
        running = 0
        for day in calendar.list_periods(of_account[account], "month"):
            flow, received, number = of_account[account].get(day, (0, 0, 0))
            running += flow
            names: dict[str, Any] = {ACCOUNT: account, "month": calendar.name_month(day)}
            cents = {"sent_cents": received - flow, "received_cents": received, "flow_cents": flow}
            rows.append({**names, **cents, "payments": number, "running_cents": running})
    return _engine.build_result(payments, rows, dict.fromkeys(keys, _engine.TEXT) | _COLUMNS, opened.currency)
