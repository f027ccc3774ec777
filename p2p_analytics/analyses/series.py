"""Recurring payments: rent, bills, lessons and subscriptions, found by their dates and amounts."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import cadence, calendar, chains
from p2p_analytics.analyses._parts.as_of import parse_as_of
from p2p_analytics.times import END_US, FIRST_US, find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import numpy as np
    from narwhals.stable.v2.typing import IntoFrameT

_COLUMNS: Final = {
    "counterparty_id": _engine.TEXT,
    "counterparty_name": _engine.TEXT,
    "direction": _engine.TEXT,
    "cadence": _engine.TEXT,
    "amount": _engine.NUMBER,
    "payments": _engine.COUNT,
    "first_date": _engine.DATE,
    "last_date": _engine.DATE,
    "next_expected": _engine.DATE,
    "state": _engine.TEXT,
    "note": _engine.TEXT,
}
_CADENCES: Final = {each.name: number for number, each in enumerate(cadence.CADENCES)}


def recurring(
    payments: IntoFrameT, *, as_of: datetime | date | str | np.datetime64, tz: str | ZoneInfo = "UTC"
) -> IntoFrameT:
    """Return the series of payments that recur, such as rent, with the date on which the next one is expected.

    One row per series of three payments or more. Its dates are a week, two weeks, a month, three months or a year
    apart; some may be a few days off, and some missing. Its amounts are equal, rise now and then, or stay within about
    30 %. One person may have several series, which differ in amount, note or date; a payment belongs to one series, and
    one that is made twice by mistake to none.

    Columns
    -------
    counterparty_id, counterparty_name, direction : text
        A person without an id is known by name; one person with several names is under the last in the alphabet.
    cadence : text
        ``weekly``, ``fortnightly``, ``monthly``, ``quarterly`` or ``yearly``.
    amount : currency units
        The median.
    payments : count
    first_date, last_date : date
        Of creation, in the time zone.
    next_expected : date
        One period after the last date. A day that the month does not have is its last one, and a series on the last
        days of months stays there.
    state : text
        ``late`` from 1.25 periods after the last date, ``ended`` from 2.5, before that ``active``. The period is the
        time from ``last_date`` to ``next_expected``.
    note : text
        The most frequent one, of several the first in the alphabet; null if no payment has a note.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, no amount, or no date_created within 1970 to 2199
        (UTC), are excluded; so are rows of another ``kind`` than payments. Datetimes without a zone are UTC. Repeated
        payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call; one row for
        each person, direction, day, amount and note is read into memory.
    as_of : datetime, date, str or numpy.datetime64
        The instant at which the states are decided, as text in ISO 8601; a date means its first instant, a missing zone
        means UTC. Payments after it count too.
    tz : str or ZoneInfo, optional
        Time zone of the dates, such as ``America/New_York``.

    Returns
    -------
    frame
        Largest ``amount`` first, then by id, name, direction, cadence from weekly to yearly, first_date, last_date and
        note; without rows if nothing recurs.

    Raises
    ------
    ConfigurationError
        ``as_of`` is not an instant, or there is no such zone.
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
    ...         "amount_cents": [50000, 50000, 50000],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-04-01T09:00Z", "2024-05-01T09:00Z"]),
    ...         "note": "Rent",
    ...         "counterparty_id": "2",
    ...         "counterparty_name": "Ada",
    ...     }
    ... )
    >>> series = p2p.recurring(payments, as_of="2024-05-05")
    >>> series[["counterparty_name", "cadence", "amount", "next_expected", "state"]]
      counterparty_name  cadence  amount next_expected   state
    0               Ada  monthly   500.0    2024-06-01  active
    """
    moment, zone = parse_as_of(as_of), find_zone(tz)
    col = nw.col
    needed = ["direction", "amount_cents", "counterparty_id", "counterparty_name", "date_created", "note"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, what="recurring")
    counted = opened.frame.with_columns(
        col("amount_cents").abs(),
        col("note").fill_null(""),
        date_created=calendar.within_calendar(col("date_created")),
        person=_engine.person_key(),
    ).filter(~col("amount_cents").is_null(), ~col("date_created").is_null())
    local = calendar.add_local_time(counted, "date_created", zone, opened.ends, payments)
    of_person = ["person", "direction"]
    events = (
        local.with_columns(day=calendar.local_day())
        .group_by(*of_person, "day", "amount_cents", "note")
        .agg(col("counterparty_id").max(), col("counterparty_name").max(), payments=nw.len())
        .with_columns(_engine.integers(["day", "payments"]))
        .with_columns(of_all=col("payments").sum().over(*of_person))
        .filter(col("of_all") >= chains.FEWEST)
    )
    rows = _engine.collect_here(events, payments, what="recurring").collect().rows(named=True)
    found = sorted(_describe_series(rows, _find_day(moment, zone)), key=_order)
    table = {name: [row[name] for row in found] for name in _COLUMNS}
    return _engine.to_result(_engine.build_rows(payments, table, _COLUMNS), payments, _COLUMNS, opened.currency)


def _find_day(moment: int, zone: ZoneInfo) -> int:
    within = min(max(moment, FIRST_US), END_US - 1)
    return (moment + calendar.find_offsets(within, within, zone)[0][1]) // calendar.DAY_US


def _describe_series(rows: Sequence[dict[str, Any]], today: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the result, in any order."""
    people = defaultdict(list)
    names: dict[str, tuple[str, str]] = {}
    for row in rows:
        people[row["person"], row["direction"]].append(row)
        name = row["counterparty_id"] or "", row["counterparty_name"] or ""
        names[row["person"]] = max(name, names.get(row["person"], name))
    for (person, direction), mine in people.items():
        events = [
            chains.Event(row["day"], row["amount_cents"], row["note"], chains.simplify_note(row["note"]))
            for row in mine
            for _ in range(row["payments"])
        ]
        identifier, display_name = names[person]
        for chain in chains.find_chains(events):
            days = [event.day for event in chain.events]
            expected = cadence.find_next(days, chain.cadence)
            yield {
                "counterparty_id": identifier or None,
                "counterparty_name": display_name or None,
                "direction": direction,
                "cadence": chain.cadence.name,
                "amount": statistics.median(event.cents for event in chain.events) / 100,
                "payments": len(days),
                "first_date": days[0],
                "last_date": days[-1],
                "next_expected": expected,
                "state": cadence.find_state(days[-1], expected, today),
                "note": _choose_note(chain.events),
            }


def _choose_note(events: Sequence[chains.Event]) -> str | None:
    counts = Counter(event.note for event in events if event.note)
    return min(counts, key=lambda note: (-counts[note], note)) if counts else None


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    texts = ((row[name] is None, row[name] or "") for name in ("counterparty_id", "counterparty_name", "direction"))
    return (
        -row["amount"],
        *texts,
        _CADENCES[row["cadence"]],
        row["first_date"],
        row["last_date"],
        (row["note"] is None, row["note"] or ""),
    )
