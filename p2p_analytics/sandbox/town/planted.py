"""Series of payments that the town planted, as one of their people sees them."""

from __future__ import annotations

import statistics
from calendar import monthrange
from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.town.habits import DAYS, MONTHS
from p2p_analytics.sandbox.town.timeline import Series
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
        dates = tuple(date(1970, 1, 1) + timedelta(days=payment.created_us // DAY_US) for payment in settled)
        found.append(
            PlantedSeries(
                person=str(one.receiver if one.payer == user else one.payer),
                direction="out" if one.payer == user else "in",
                cadence=one.cadence,
                amount_cents=statistics.median(payment.amount_cents for payment in settled),
                note=one.note,
                payment_ids=tuple(str(payment.payment_id) for payment in settled),
                dates=dates,
                state=_find_state(dates, one.cadence, today),
            )
        )
    return found


def _find_state(dates: tuple[date, ...], cadence: str, today: date) -> str:
    last = dates[-1]
    periods = (today - last) / (_add_period(last, cadence, at_end=all(map(_is_last_of_month, dates))) - last)
    return "ended" if periods >= 2.5 else "late" if periods >= 1.25 else "active"  # noqa: PLR2004 - as documented


def _add_period(day: date, cadence: str, *, at_end: bool) -> date:
    if cadence in DAYS:
        return day + timedelta(days=DAYS[cadence])
    year, month = divmod(day.year * 12 + day.month - 1 + MONTHS[cadence], 12)
    length = monthrange(year, month + 1)[1]
    return date(year, month + 1, length if at_end else min(day.day, length))


def _is_last_of_month(day: date) -> bool:
    return day.day == monthrange(day.year, day.month)[1]
