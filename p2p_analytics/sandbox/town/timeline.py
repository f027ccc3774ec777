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


@dataclass(slots=True)
class Series:
    """Payments that recur, as they were planted: every ``cadence`` from payer to receiver, the oldest first."""

    payer: int
    receiver: int
    cadence: str
    note: str
    payments: list[Payment] = field(default_factory=list)


@dataclass(slots=True)
class _PlannedPayment:
    """Payment without an id."""

    actor: int
    target: int | str
    action: Action
    cents: int
    note: str
    created_us: int
    status: Status
    completed_us: int | None
    audience: Audience
    medium: Medium
    spelling: Spelling
    fee_cents: int | None = None
    refund_us: int | None = None
    series: Series | None = None


class _Details(TypedDict, total=False):
    """Optional details of a payment, instead of the defaults or the random choices."""

    status: Status
    completed_us: int
    audience: Audience
    fee_cents: int
    refund_us: int
    series: Series


class Timeline:
    """Payments of the simulated history so far, with random details."""

    def __init__(self, rng: random.Random, start_us: int, now_us: int) -> None:
        self.rng = rng
        self.start_us = start_us
        self.now_us = now_us
        self.series: dict[tuple[int, int, str, str], Series] = {}
        self._planned: list[_PlannedPayment] = []

    def months(self) -> Iterator[int]:
        """Yield the first instant of each calendar month of the history."""
        month = (_EPOCH + timedelta(microseconds=self.start_us)).replace(
            day=1, hour=0, minute=0, second=0, microsecond=0
        )
        while (month_us := (month - _EPOCH) // timedelta(microseconds=1)) < self.now_us:
            yield month_us
            month = (month + timedelta(days=32)).replace(day=1)

    def find_series(self, payer: int, receiver: int, cadence: str, note: str) -> Series:
        """Return the series with these properties, a new one where there is none."""
        return self.series.setdefault((payer, receiver, cadence, note), Series(payer, receiver, cadence, note))

    def at(self, month_us: int, first_day: int = 1, last_day: int = 28, *, hours: tuple[int, int] = (8, 23)) -> int:
        """Return a random instant of a month."""
        day, hour = self.rng.randint(first_day, last_day), self.rng.randrange(*hours)
        return month_us + (day - 1) * DAY_US + hour * HOUR_US + self.rng.randrange(3_600) * SECOND_US

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
        status = more.get("status", Status.SETTLED)
        completed_us = more.get("completed_us", created_us + delay_us // SECOND_US * SECOND_US)
        if completed_us >= self.now_us:
            status = Status.PENDING
        planned = _PlannedPayment(
            actor=actor,
            target=target,
            action=action,
            cents=cents,
            note=note,
            created_us=created_us,
            status=status,
            completed_us=None if status is Status.PENDING else completed_us,
            audience=more.get("audience", audience),
            medium=medium,
            spelling=spelling,
            fee_cents=more.get("fee_cents"),
            refund_us=more.get("refund_us"),
            series=more.get("series"),
        )
        self._planned.append(planned)

    def payments(self) -> list[Payment]:
        """Return all payments, oldest first, with ids that rise with time.

        Ids have 19 digits; the oldest have 18, and a few are short.
        """
        payments: list[Payment] = []
        for serial, planned in enumerate(sorted(self._planned, key=lambda one: one.created_us)):
            # Time and serial both rise and each length has a separate range, so ids are unique.
            milliseconds = planned.created_us // 1_000
            payment_id = _LONG_IDS + milliseconds * 10**6 + serial
            if serial < len(self._planned) // 10:
                payment_id = milliseconds * 10**5 + serial
            if serial % 97 == 96:  # noqa: PLR2004 - one in a hundred
                payment_id = 1_000_000 + serial * 10
            payments.append(_build_payment(planned, payment_id))
            if planned.series is not None:
                planned.series.payments.append(payments[-1])
            if planned.refund_us is not None:
                payments.append(payments[-1].build_refund(payment_id + _REFUND_IDS, planned.refund_us))
        return payments


def _build_payment(planned: _PlannedPayment, payment_id: int) -> Payment:
    target = planned.target
    email = target if isinstance(target, str) and "@" in target else None
    phone = target if isinstance(target, str) and "@" not in target else None
    return Payment(
        payment_id=payment_id,
        status=planned.status.value,
        action=planned.action.value,
        amount_cents=planned.cents,
        note=planned.note,
        audience=planned.audience.value,
        medium=planned.medium.value,
        spelling=planned.spelling,
        created_us=planned.created_us,
        completed_us=planned.completed_us,
        actor_id=planned.actor,
        target_type=(TargetType.EMAIL if email else TargetType.PHONE if phone else TargetType.USER).value,
        target_user_id=target if isinstance(target, int) else None,
        target_email=email,
        target_phone=phone,
        fee_cents=planned.fee_cents,
    )
