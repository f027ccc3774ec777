"""Money sent and received over time, by period and by person, category, action or kind."""

from __future__ import annotations

__all__ = ["spending_over_time"]

from typing import Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar, category_rules
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

By = Literal["counterparty", "category", "action", "kind"]

_COLUMNS_BY: Final[dict[str | None, list[str]]] = {
    None: [],
    "counterparty": ["counterparty_id", "counterparty_name"],
    "category": ["category"],
    "action": ["action"],
    "kind": ["kind"],
}
_SUMS: Final = declare_columns("spending_over_time", without=["period"], net="flow_cents")
_CENTS: Final = ["flow_cents", "received_cents", "payments"]


def spending_over_time(
    payments: IntoFrameT,
    *,
    every: calendar.Every = "month",
    by: By | None = None,
    tz: str | ZoneInfo = "UTC",
    rules: pd.DataFrame | None = None,
) -> IntoFrameT:
    """Return the money sent and received in each period, in settled payments.

    One row per period, from the first to the last with a payment, without gaps; with ``by``, one row per period and
    value that occurs at all. Money moves when a payment completes, so the period is taken from date_completed, or of
    date_created where date_completed is null. Settled payments without either date, or with a date before 1970 or after
    2199 (UTC), are in last rows with a null period.

    Columns
    -------
    period : date
        The first day of the period on the clocks of the zone; a week begins on Monday.
    counterparty_id and counterparty_name, or category, or action, or kind : text
        With ``by``. A person without an id is known by name; a payment without a category is ``uncategorised``.
    sent, received, net : currency units
        ``net`` is received less sent. An unknown amount counts as 0.
    payments : count

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, are excluded; so are rows of another ``kind`` than
        payments, except with ``by="kind"``. Datetimes without a zone are UTC. Repeated payment ids count twice:
        `p2p_analytics.combine` unites frames. A lazy frame is queried at the call; one row per period and value of
        ``by`` is read into memory, and with ``by="category"`` each distinct note of a period.
    every : {"month", "day", "week", "quarter", "year"}, optional
    by : {"counterparty", "category", "action", "kind"}, optional
    tz : str or ZoneInfo, optional
        Time zone of the periods, such as ``America/New_York``.
    rules : pandas.DataFrame, optional
        Of the categories: see `categorise`.

    Returns
    -------
    frame
        In order of time; in a period, people with the most sent first, then by id and name, and other values in
        alphabetical order, ``uncategorised`` and nulls last. Empty without settled payments.

    Raises
    ------
    ConfigurationError
        The zone, period, or value of ``by`` does not exist, or the rules are not as `categorise` needs them.
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
    >>> p2p.spending_over_time(payments, every="quarter")
          period  sent  received   net  payments
    0 2024-01-01  21.5       0.0 -21.5         2
    1 2024-04-01   0.0       5.0   5.0         1
    """
    zone = find_zone(tz)
    for name, value, choices in (("every", every, get_args(calendar.Every)), ("by", by, (None, *get_args(By)))):
        if value not in choices:
            words = " or ".join(map(repr, choices))
            raise ConfigurationError(f"{name}={value!r} is not valid: give {words}.")
    columns = _COLUMNS_BY[by]
    col = nw.col
    needed = ["direction", "flow_cents", "date_created", "date_completed"]
    opened = _engine.open_frame(
        payments,
        [*needed, *(category_rules.READ if by == "category" else columns)],
        status=Status.SETTLED,
        every_kind=by == "kind",
        what="spending_over_time",
    )
    moved = opened.frame.with_columns(received_cents=_engine.received_cents(), moved_us=calendar.settled_us())
    sums = (
        calendar.add_first_day(moved, "moved_us", every, zone=zone, ends=opened.ends, payments=payments)
        .group_by("first_day", *(category_rules.list_columns(rules) if by == "category" else columns))
        .agg(col("flow_cents").sum(), col("received_cents").sum(), payments=nw.len())
        .with_columns(_engine.integers(_CENTS))
    )
    key = nw.lit("") if by is None else _engine.person_key() if by == "counterparty" else _engine.text_key(by)
    # One row per period and note, name of a person, action or kind, so the rest is finished here.
    here = _engine.collect_here(sums, payments, what="spending_over_time")
    grouped = (
        (category_rules.add_category(here, rules) if by == "category" else here)
        .with_columns(group=key)
        .group_by("first_day", "group")
        .agg(*(col(name).max() for name in columns), *(col(name).sum() for name in _CENTS))
    )
    table = _fill_gaps(grouped.collect(), every, columns)
    schema = {"period": _engine.DATE, **dict.fromkeys(columns, _engine.TEXT), **_SUMS}
    return _engine.to_result(table, payments, schema, opened.currency)


def _fill_gaps(sums: nw.DataFrame[Any], every: calendar.Every, columns: list[str]) -> nw.LazyFrame[Any]:
    """Return a row for every period and value of the grouping columns, from one for each that occur together."""
    col = nw.col
    days = calendar.list_periods(sums["first_day"].to_list(), every)
    rows = {"number": range(len(days)), "period": days}
    periods = _engine.build_rows(sums.to_native(), rows, {"number": _engine.COUNT, "period": _engine.DATE})
    # Periods are compared as numbers, because a null, which is the last period, equals nothing.
    numbered = (
        sums.lazy()
        .join(periods, left_on="first_day", right_on="period", how="left")
        .select(*_CENTS, "group", number=col("number").fill_null(len(days) - 1))
    )
    groups = sums.lazy().group_by("group").agg(*(col(name).max() for name in columns))
    order = ["number", *columns]
    if "counterparty_id" in columns:
        order.insert(1, "sent_cents")
    if "category" in columns:
        is_last = nw.when(col("category") == category_rules.UNCATEGORISED).then(1).otherwise(0)
        groups = groups.with_columns(is_last=is_last)
        order.insert(1, "is_last")
    return (
        periods.join(groups, how="cross")
        .join(numbered, on=["number", "group"], how="left")
        .with_columns(_engine.integers(_CENTS))
        .with_columns(sent_cents=col("received_cents") - col("flow_cents"))
        .sort(order, descending=[name == "sent_cents" for name in order], nulls_last=True)
    )
