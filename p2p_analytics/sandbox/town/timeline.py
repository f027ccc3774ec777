"""Timeline of a simulated history: payments are added in any order, and get their ids at the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypedDict, Unpack

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.storage.rows import Payment, Spelling
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

HOUR_US: Final = 3_600_000_000
SECOND_US: Final = 1_000_000
_LONG_IDS: Final = 14 * 10**17
_REFUND_IDS: Final = 4 * 10**18
# How requests end, whether that takes weeks, and the weight of each.
_ANSWERS: Final = {
    (Status.SETTLED, False): 171,
    (Status.SETTLED, True): 20,
    (Status.CANCELLED, False): 6,
    (Status.PENDING, False): 3,
}
_LATE_DAYS: Final = (8, 60)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """Return an aware instant as whole microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    """Return microseconds since 1970 as an aware instant."""
    return _EPOCH + timedelta(microseconds=microseconds)


def list_months(start_us: int, end_us: int) -> Iterator[int]:
    """Yield the first instant of each calendar month, from the month of the start to the last one before the end."""
    month = from_microseconds(start_us).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while (month_us := to_microseconds(month)) < end_us:
        yield month_us
        month = (month + timedelta(days=32)).replace(day=1)


@dataclass(slots=True)
class Series:
    """Payments that recur, as they were planted: every ``cadence`` from payer to receiver, the oldest first."""

    payer: int
    receiver: int
    cadence: str
    note: str
    payments: list[Payment] = field(default_factory=list)


class _Details(TypedDict, total=False):
    """Optional details of a payment, instead of the defaults or the random choices."""

    status: Status
    completed_us: int
    audience: Audience
    fee_cents: int
    refund_us: int
    series: Series | None


class Timeline:
    """Payments of the simulated history so far, with random details."""

    def __init__(self, rng: random.Random, start_us: int, now_us: int) -> None:
        self.rng = rng
        self.start_us = start_us
        self.now_us = now_us
        self.series: dict[tuple[int, int, str, str], Series] = {}
        self._added: list[tuple[Payment, _Details]] = []  # payments without ids

    def find_series(self, payer: int, receiver: int, cadence: str, note: str) -> Series:
        """Return the series with these properties, a new one where there is none."""
        return self.series.setdefault((payer, receiver, cadence, note), Series(payer, receiver, cadence, note))

    def at(self, month_us: int, first_day: int = 1, last_day: int = 28, *, hours: tuple[int, int] = (8, 23)) -> int:
        """Return a random instant of a month."""
        day, hour = self.rng.randint(first_day, last_day), self.rng.randrange(*hours)
        return self.on(month_us // DAY_US + day - 1, hour)

    def on(self, day: int, hour: int) -> int:
        """Return a random instant in an hour of a day, which is counted from 1970-01-01."""
        return day * DAY_US + hour * HOUR_US + self.rng.randrange(3_600) * SECOND_US

    def ago(self, days: float) -> int:
        """Return a random instant in the six hours before a number of days ago."""
        return self.now_us - round(days * DAY_US) - self.rng.randrange(6 * 3_600) * SECOND_US

    def pay(
        self, actor: int, target: int | str, cents: int, note: str, created_us: int, **more: Unpack[_Details]
    ) -> None:
        """Add a payment, settled at once unless the details say otherwise."""
        self._add(Action.PAY, actor, target, cents, note, created_us, 0, {"status": Status.SETTLED, **more})

    def charge(
        self, actor: int, target: int | str, cents: int, note: str, created_us: int, **more: Unpack[_Details]
    ) -> None:
        """Add a charge: most settle within days, some after weeks; some are cancelled or stay pending."""
        status, is_late = self.rng.choices(tuple(_ANSWERS), tuple(_ANSWERS.values()))[0]
        delay_us = round(self.rng.expovariate(1 / (9 * HOUR_US))) + 60 * SECOND_US
        weeks_us = self.rng.randint(*_LATE_DAYS) * DAY_US
        if is_late and created_us + delay_us + weeks_us < self.now_us:  # not one more request that is still pending
            delay_us += weeks_us
        self._add(Action.CHARGE, actor, target, cents, note, created_us, delay_us, {"status": status, **more})

    def _add(  # noqa: PLR0913, PLR0917 - all details of a payment
        self,
        action: Action,
        actor: int,
        target: int | str,
        cents: int,
        note: str,
        created_us: int,
        delay_us: int,
        more: _Details,
    ) -> None:
        rng = self.rng
        spelling = rng.choices(tuple(Spelling), (5, 3, 2))[0]
        if spelling is Spelling.FRACTIONAL:
            created_us += rng.randrange(SECOND_US)
        audience = rng.choices(tuple(Audience), (2, 5, 3))[0]
        medium = rng.choices(tuple(Medium), (6, 4, 2, 1))[0]
        if not self.start_us <= created_us < self.now_us:
            return
        completed_us = more.get("completed_us", created_us + delay_us // SECOND_US * SECOND_US)
        status = Status.PENDING if completed_us >= self.now_us else more["status"]
        email = target if isinstance(target, str) and "@" in target else None
        phone = target if isinstance(target, str) and "@" not in target else None
        payment = Payment(
            payment_id=0,
            status=status.value,
            action=action.value,
            amount_cents=cents,
            note=note,
            audience=more.get("audience", audience).value,
            medium=medium.value,
            spelling=spelling,
            created_us=created_us,
            completed_us=None if status is Status.PENDING else completed_us,
            actor_id=actor,
            target_type=(TargetType.EMAIL if email else TargetType.PHONE if phone else TargetType.USER).value,
            target_user_id=target if isinstance(target, int) else None,
            target_email=email,
            target_phone=phone,
            fee_cents=more.get("fee_cents"),
        )
        self._added.append((payment, more))

    def payments(self) -> list[Payment]:
        """Return all payments, oldest first, with ids that rise with time.

        Ids have 19 digits; the oldest have 18, and a few are short.
        """
        payments: list[Payment] = []
        for serial, (added, more) in enumerate(sorted(self._added, key=lambda one: one[0].created_us)):
            # Time and serial both rise and each length has a separate range, so ids are unique.
            milliseconds = added.created_us // 1_000
            payment_id = _LONG_IDS + milliseconds * 10**6 + serial
            if serial < len(self._added) // 10:
                payment_id = milliseconds * 10**5 + serial
            if serial % 97 == 96:  # noqa: PLR2004 - one in a hundred
                payment_id = 1_000_000 + serial * 10
            payment = added._replace(payment_id=payment_id)
            payments.append(payment)
            if (series := more.get("series")) is not None:
                series.payments.append(payment)
            if "refund_us" in more:
                payments.append(payment.build_refund(payment_id + _REFUND_IDS, more["refund_us"]))
        return payments
