"""Recurring payments: rent, bills, lessons and subscriptions, found by their dates and amounts."""

from __future__ import annotations

__all__ = ["recurring"]

import statistics
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.analyses._series import cadence, chains
from p2p_analytics.analyses._series.candidate_sets import FEWEST, number_payments
from p2p_analytics.limits import LIMITS
from p2p_analytics.times import DAY_US, END_US, FIRST_US, find_zone, parse_as_of, to_microseconds
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("recurring", amount=_engine.NUMBER)
_PERSON: Final = ["counterparty_id", "counterparty_name"]
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
        each person, direction, day, amount and note is read into memory. A lazy query of Polars or DuckDB with
        more than two million payments that count is read in parts, each with some of the people.
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
        ``as_of`` is not an instant, or the zone does not exist.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies, or one has
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
    moment, zone = to_microseconds(parse_as_of(as_of)), find_zone(tz)
    col = nw.col
    needed = ["direction", "amount_cents", "counterparty_id", "counterparty_name", "date_created", "note"]
    opened = _engine.open_frame(payments, needed, status=Status.SETTLED, sums=False, what="recurring")
    counted = opened.frame.select(
        "direction",
        col("amount_cents").abs(),
        *_PERSON,
        date_created=calendar.within_calendar(col("date_created")),
        note=col("note").fill_null(""),
    ).filter(~col("amount_cents").is_null(), ~col("date_created").is_null())

    within = min(max(moment, FIRST_US), END_US - 1)
    today = (moment + calendar.find_offsets(within, within, zone)[0][1]) // DAY_US
    texts = ["person", "direction", "note"]
    found: list[dict[str, Any]] = []
    for part in _engine.list_parts(counted, payments, by=_PERSON, rows=LIMITS.recurring_payments, what="recurring"):
        keyed = part.with_columns(person=_engine.person_key())
        local = calendar.add_local_time(keyed, "date_created", zone, opened.ends, payments)
        events = (
            calendar.add_local_day(local, "day")
            .group_by(*texts, "day", "amount_cents")
            .agg(col("counterparty_id").max(), col("counterparty_name").max(), payments=nw.len())
            .with_columns(_engine.integers(["day", "payments"]))
        )
        here = _engine.collect_here(events, payments, what="recurring").collect().to_native()
        found += _describe_series(here, today)
    found.sort(key=_order)
    return _engine.build_result(payments, found, _COLUMNS, opened.currency)


def _describe_series(events: pl.DataFrame, today: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the result, in any order."""
    col = pl.col
    rows = events.filter(col("payments").sum().over("person", "direction") >= FEWEST)
    keys, words = (rows[name].unique().sort() for name in ("person", "note"))
    # The number of a text in an enumeration is its place there.
    numbered = rows.select(
        col("person").cast(pl.Enum(keys)).to_physical().cast(pl.Int64) * 2 + (col("direction") == "out"),
        "day",
        "amount_cents",
        col("note").cast(pl.Enum(words)).to_physical(),
        "payments",
    ).sort("person", "day", "amount_cents", "note")
    *columns, times = (column.to_numpy().astype(np.int64) for column in numbered.iter_columns())
    people, of_day, cents, of_event = (column.repeat(times) for column in columns)
    notes = words.to_list()
    texts: dict[str, int] = {"": -1}
    text_of = np.array([texts.setdefault(chains.simplify_note(note), len(texts)) for note in notes], dtype=np.int64)
    payments = number_payments(people, of_day, cents, text_of[of_event])
    found = chains.find_chains(payments)
    sides = [divmod(int(payments.people[chain.places[0]]), 2) for chain in found]
    of_found = rows.filter(col("person").is_in([keys[person] for person, _ in sides]))
    of_person = of_found.group_by("person").agg(col("counterparty_id", "counterparty_name").max())
    names = {key: (user_id or None, name or None) for key, user_id, name in of_person.iter_rows()}
    for chain, (person, is_out) in zip(found, sides, strict=True):
        places = [*chain.places]
        user_id, name = names[keys[person]]
        days = payments.days[places].tolist()
        expected = cadence.find_next(days, chain.cadence)
        counts = Counter(notes[at] for at in of_event[places].tolist() if notes[at])
        yield {
            "counterparty_id": user_id,
            "counterparty_name": name,
            "direction": "out" if is_out else "in",
            "cadence": chain.cadence.name,
            "amount": statistics.median(payments.cents[places].tolist()) / 100,
            "payments": len(days),
            "first_date": days[0],
            "last_date": days[-1],
            "next_expected": expected,
            "state": cadence.find_state(days[-1], expected, today),
            # Of several most frequent ones, the first in the alphabet.
            "note": min(counts, key=lambda note: (-counts[note], note), default=None),
        }


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
