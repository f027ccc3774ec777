"""Drafts of payments that a test adds to the town."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.rows import Payment, Spelling
from p2p_analytics.sandbox.town.build import to_microseconds
from p2p_analytics.vocabulary import Action, Audience, Medium, Status, TargetType

_ID: Final = re.compile(r"[1-9]\d{0,17}|[1-8]\d{18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDraft:
    """Payment for `SandboxServer.add_payments`, with defaults for all fields but one.

    People are usernames or ids. The default of `actor` is the user; the default of `target` is the user where the
    actor is another person, and otherwise the first other person of the town.
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


def build_payment(draft: PaymentDraft, me: int, other: int, ids: Mapping[str, int], *, default_id: int) -> Payment:
    """Return the row of a draft; `ids` maps usernames and ids as text to ids."""
    if draft.payment_id is not None and not _ID.fullmatch(draft.payment_id):
        raise SettingError(
            f"The payment_id {draft.payment_id[:24]!r} is not valid: give 1 to 19 digits without leading zeros, "
            "below 9 * 10**18."
        )
    if draft.date_created.tzinfo is None or (draft.date_completed or draft.date_created).tzinfo is None:
        raise SettingError("A datetime of the payment has no time zone: give aware datetimes.")
    actor = me if draft.actor is None else ids[draft.actor]
    addressed = draft.email is not None or draft.phone is not None
    target = ids[draft.target] if draft.target is not None else (other if actor == me else me)
    if target == actor and not addressed:
        raise SettingError("The actor and the target are the same person: give another actor or target.")
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
        created_us=to_microseconds(draft.date_created),
        completed_us=None if completed is None else to_microseconds(completed),
        actor_id=actor,
        target_type=kind.value,
        target_user_id=None if addressed else target,
        target_email=draft.email,
        target_phone=draft.phone,
        fee_cents=draft.fee_cents,
    )
