"""Series of payments that the town planted, as one of their people sees them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

from p2p_analytics.sandbox.town.habits import DAYS, LAST_OF_MONTH, MONTHS, add_months
from p2p_analytics.sandbox.town.timeline import Series, from_microseconds
from p2p_analytics.vocabulary import Status


class PlantedSeries(NamedTuple):
    """A series that the town planted, as one person sees it.

    Attributes
    ----------
    person : str
        The user id of the other one.
    direction : str
        "in" if the person receives the money, otherwise "out".
    cadence : str
        "weekly", "fortnightly", "monthly", "quarterly" or "yearly".
    amount_cents : float
        The median of the settled payments.
    note : str
        ``{month}`` in it changes with each payment.
    payment_ids : tuple of str
        The settled payments, the oldest first.
    dates : tuple of date
        The days in UTC on which they were created.
    state : str
        "active"; "late" from 1.25 periods after the last date; "ended" from 2.5. The period is the week, month etc.
        that follows the last date in the calendar.
    """

    person: str
    direction: str
    cadence: str
    amount_cents: float
    note: str
    payment_ids: tuple[str, ...]
    dates: tuple[date, ...]
    state: str


def describe_series(series: Iterable[Series], user: int, today: date) -> list[PlantedSeries]:
    """Return the series of a user with settled payments."""
    found = []
    for one in series:
        settled = [payment for payment in one.payments if payment.status == Status.SETTLED]
        if user not in {one.payer, one.receiver} or not settled:
            continue
        dates = tuple(from_microseconds(payment.created_us).date() for payment in settled)
        last = dates[-1]
        if one.cadence in DAYS:
            following = last + timedelta(days=DAYS[one.cadence])
        else:
            are_last_of_month = all((day + timedelta(days=1)).day == 1 for day in dates)
            following = add_months(last, MONTHS[one.cadence], LAST_OF_MONTH if are_last_of_month else last.day)
        periods = (today - last) / (following - last)
        found.append(
            PlantedSeries(
                person=str(one.receiver if one.payer == user else one.payer),
                direction="out" if one.payer == user else "in",
                cadence=one.cadence,
                amount_cents=statistics.median(payment.amount_cents for payment in settled),
                note=one.note,
                payment_ids=tuple(str(payment.payment_id) for payment in settled),
                dates=dates,
                state="ended" if periods >= 2.5 else "late" if periods >= 1.25 else "active",  # noqa: PLR2004 - as documented
            )
        )
    return found
