"""The people of each year: how many, who is new, and how much of the money went to and came from a few."""

from __future__ import annotations

__all__ = ["people_by_year"]

from typing import Final
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("people_by_year")
_YEARS: Final = dict.fromkeys(("first_day", "year"), _engine.COUNT)
_TOP: Final = 5
_SUMS: Final = ["moved_cents", "received_cents", "payments"]


def people_by_year(payments: IntoFrameT, *, tz: str | ZoneInfo = "UTC") -> IntoFrameT:
    """Return the number of people in each calendar year, and how the money was spread among them.

    One row per year of the zone, from the first to the last with a settled payment; years between them without
    payments hold zeros. A person is known by id, or without one by name. Money moves when a payment completes, so the
    year is taken from date_completed, or of date_created where date_completed is null.

    Columns
    -------
    year : number
    people : count
        With a settled payment in this year.
    new : count
        With the first settled payment of all in this year.
    lost : count
        With a settled payment in the year before, and none in this one.
    top_person_share, top_5_share : fraction
        The part of the money sent and received of the person with the most, or of the five with the most; 0 if no money
        moved.
    payments : count
    sent, received : currency units
        An unknown amount counts as 0.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, have no direction or no date within 1970 to 2199 (UTC), are excluded; so
        are rows of another ``kind`` than payments. Datetimes without a zone are UTC. Repeated payment ids count twice:
        `p2p_analytics.combine` unites frames. A lazy frame is queried at the call; one row per person and year is read
        into memory.
    tz : str or ZoneInfo, optional
        Time zone of the years, such as ``America/New_York``.

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
    ...         "counterparty_id": ["2", "2", "3"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...         "date_created": pd.to_datetime(["2023-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "date_completed": None,
    ...     }
    ... )
    >>> p2p.people_by_year(payments)[["year", "people", "new", "lost", "sent", "received"]]
       year  people  new  lost  sent  received
    0  2023       1    1     0  12.5       0.0
    1  2024       2    1     0   9.0       5.0
    """
    zone = find_zone(tz)
    col = nw.col
    needed = ["direction", "flow_cents", "counterparty_id", "counterparty_name", "date_created", "date_completed"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, what="people_by_year")
    moved = opened.frame.with_columns(
        # Only counterparties without an id are known by name.
        word=nw.coalesce(col("counterparty_id"), col("counterparty_name")),
        is_name=col("counterparty_id").is_null(),
        moved_cents=col("flow_cents").abs(),
        received_cents=_engine.received_cents(),
        moved_us=calendar.settled_us(),
    ).filter(~col("moved_us").is_null())
    dated = calendar.add_first_day(moved, "moved_us", "year", zone=zone, ends=opened.ends, payments=payments)
    sums = (
        dated.group_by("word", "is_name", "first_day")
        .agg(*(col(name).sum() for name in _SUMS[:2]), payments=nw.len())
        .with_columns(
            _engine.integers([*_SUMS, "first_day"]),
            counterparty_id=nw.when(~col("is_name")).then(col("word")),
            counterparty_name=nw.when(col("is_name")).then(col("word")),
        )
    )
    # One row per person and year, so the rest is finished here.
    of_person = _engine.collect_here(sums, payments, what="people_by_year").with_columns(person=_engine.person_key())
    active = of_person.collect()
    found = active["first_day"].unique().to_list()
    every = {"first_day": calendar.list_periods(found, "year")}
    every["year"] = [calendar.to_date(day).year for day in every["first_day"] if day is not None]
    years = _engine.build_rows(active.to_native(), every, _YEARS)
    dated = active.lazy().join(years, on="first_day", how="left")
    # A join takes less time than to look for the next year of each person in order.
    year_before = dated.select("person", year=col("year") - 1, stays=nw.lit(1))
    marked = (
        dated.join(year_before, on=["person", "year"], how="left")
        .with_columns(
            new=nw.when(col("year") == col("year").min().over("person")).then(1).otherwise(0),
            leaves=nw.when(col("stays").is_null()).then(1).otherwise(0),
            rank=col("moved_cents").rank("ordinal", descending=True).over("year"),
        )
        .with_columns(
            top_cents=nw.when(col("rank") == 1).then(col("moved_cents")).otherwise(0),
            top_5_cents=nw.when(col("rank") <= _TOP).then(col("moved_cents")).otherwise(0),
        )
    )
    summed = [*_SUMS, "new", "leaves", "top_cents", "top_5_cents"]
    table = (
        years.join(
            marked.group_by("year").agg(*(col(name).sum() for name in summed), people=nw.len()), on="year", how="left"
        )
        .with_columns(_engine.integers([*summed, "people"]))
        .with_columns(
            lost=col("leaves").shift(1).over(order_by="year").fill_null(0),
            sent_cents=col("moved_cents") - col("received_cents"),
            top_person_share=_engine.share("top_cents", col("moved_cents")),
            top_5_share=_engine.share("top_5_cents", col("moved_cents")),
        )
        .sort("year")
    )
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)
