"""The rows of the database as Python values, and the filter of a list of payments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

LARGEST: Final = 2**63 - 1


class Spelling(IntEnum):
    """Form of a payment's datetimes; all three occur in the document."""

    STATED = 0  # 2024-05-31T18:30:00Z, the rule
    SAMPLED = 1  # 2024-05-31T18:30:00, most samples
    FRACTIONAL = 2  # 2024-05-31T18:30:00.250000, the response to a create


class Person(NamedTuple):
    """One row of ``users``."""

    user_id: int
    username: str
    first_name: str
    last_name: str
    display_name: str
    about: str
    profile_picture_url: str
    joined_us: int
    email: str
    phone: str
    balance_cents: int


class Payment(NamedTuple):
    """One row of ``payments``; the amount has no sign, ``spelling`` is the form of the datetimes.

    A row with ``refund_of`` is the refund of that payment; it is shown as a part of that payment and not listed.
    ``application`` is the name that the application had when the payment was made through it.
    """

    payment_id: int
    status: str
    action: str
    amount_cents: int
    note: str
    audience: str
    medium: str
    spelling: int
    created_us: int
    completed_us: int | None
    actor_id: int
    target_type: str
    target_user_id: int | None
    target_email: str | None = None
    target_phone: str | None = None
    fee_cents: int | None = None
    refund_of: int | None = None
    application: str | None = None

    def build_refund(self, payment_id: int, when_us: int) -> Payment:
        """Return the payment that returns the money to its sender."""
        return self._replace(
            payment_id=payment_id,
            status=Status.SETTLED.value,
            note="",
            audience=Audience.PRIVATE.value,
            medium=Medium.API.value,
            created_us=when_us,
            completed_us=when_us,
            target_type=TargetType.USER.value,
            target_user_id=self.actor_id,
            target_email=None,
            target_phone=None,
            fee_cents=None,
            refund_of=self.payment_id,
        )


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """Filter of a list of payments; an empty tuple matches all, both instants are exclusive bounds."""

    actions: tuple[Action, ...] = ()
    statuses: tuple[Status, ...] = ()
    actors: tuple[int, ...] = ()
    after_us: int = -LARGEST
    before_us: int = LARGEST
