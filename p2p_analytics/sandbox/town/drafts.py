"""Payments that a test makes up, as rows of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.rows import Payment, Spelling
from p2p_analytics.sandbox.town.build import microseconds
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


_ID: Final = re.compile(r"[1-9]\d{0,17}|[1-8]\d{18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDraft:
    """A payment for `SandboxServer.add_payments`; what is left out is something plain.

    People are usernames or ids. Without `actor` it is the user; without `target` it is the user where
    the actor is somebody else, and the town's next person otherwise.
    """

    date_created: datetime
    date_completed: datetime | None = None
    payment_id: str | None = None
    actor: str | None = None
    target: str | None = None
    email: str | None = None
    phone: str | None = None
    action: str = Action.PAY
    status: str = Status.SETTLED
    amount_cents: int = 100
    note: str = ""
    audience: str = Audience.PRIVATE
    medium: str = Medium.API
    spelling: int = Spelling.STATED
    fee_cents: int | None = None


def as_row(draft: PaymentDraft, me: int, other: int, known: Mapping[str, int], *, default_id: int) -> Payment:
    """Return the row of a draft; `known` maps usernames and ids to ids."""
    if draft.payment_id is not None and not _ID.fullmatch(draft.payment_id):
        raise SettingError("A payment_id is 1 to 19 digits without leading zeros, below 9 * 10**18.")
    if draft.date_created.tzinfo is None or (draft.date_completed or draft.date_created).tzinfo is None:
        raise SettingError("The datetimes of a payment need a zone; give aware ones.")
    actor = me if draft.actor is None else known[draft.actor]
    addressed = draft.email is not None or draft.phone is not None
    target = known[draft.target] if draft.target is not None else (other if actor == me else me)
    if target == actor and not addressed:
        raise SettingError("Nobody pays or charges themselves: give another actor or target.")
    kind = (
        TargetType.EMAIL
        if draft.email is not None
        else TargetType.PHONE
        if draft.phone is not None
        else TargetType.USER
    )
    completed = draft.date_completed or (None if draft.status == Status.PENDING else draft.date_created)
    return Payment(
        payment_id=default_id if draft.payment_id is None else int(draft.payment_id),
        status=str(draft.status),
        action=str(draft.action),
        amount_cents=draft.amount_cents,
        note=draft.note,
        audience=str(draft.audience),
        medium=str(draft.medium),
        spelling=int(draft.spelling),
        created_us=microseconds(draft.date_created),
        completed_us=None if completed is None else microseconds(completed),
        actor_id=actor,
        target_type=kind.value,
        target_user_id=None if addressed else target,
        target_email=draft.email,
        target_phone=draft.phone,
        fee_cents=draft.fee_cents,
    )
