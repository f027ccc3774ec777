"""Direction, counterparty and flow of a payment from the viewer's perspective.

This module is the only implementation of the table below. The sign of ``amount`` is never used:
real answers show charges with a positive amount, the document with a negative one.

====== ========= ========= ============
action viewer is direction flow
====== ========= ========= ============
pay    actor     out       -abs(amount)
pay    target    in        +abs(amount)
charge actor     in        +abs(amount)
charge target    out       -abs(amount)
====== ========= ========= ============
"""

from __future__ import annotations

from typing import Final, NamedTuple

from p2p_analytics.records import Target, User
from p2p_analytics.vocabulary import Action, TargetType

IN: Final = "in"
OUT: Final = "out"
UNREGISTERED: Final = {
    TargetType.EMAIL.value: "unregistered email",
    TargetType.PHONE.value: "unregistered phone",
}


class Perspective(NamedTuple):
    """The values of a payment that depend on the viewer.

    Id and name of the counterparty are the other user; else the email or phone of the target, or the merchant; else
    "unregistered email" or "unregistered phone"; else None. An actor without a name is named by the id.
    """

    direction: str | None  # None where the action is unknown or the viewer is on neither side
    counterparty_id: str | None
    counterparty_username: str | None  # None without an account
    counterparty_name: str | None
    sign: int | None  # of the flow: 1 to the viewer, -1 from the viewer, None without a direction


def perspective(viewer_id: str, action: str | None, actor: User | None, target: Target | None) -> Perspective:
    """Return the viewer's perspective; a viewer who is not the actor is the target, unless that is another user."""
    sender, receiver = actor or User(), (target and target.user) or User()
    is_actor = sender.id == viewer_id
    if is_actor:
        target = target or Target()
        address = _first_nonblank(target.email, target.phone, target.name, UNREGISTERED.get(target.type or ""))
        name = _first_nonblank(receiver.display_name, receiver.username, address)
        other = receiver.id or address, _first_nonblank(receiver.username), name
    else:
        name = _first_nonblank(sender.display_name, sender.username, sender.id)
        other = sender.id or None, _first_nonblank(sender.username), name
    involved = is_actor or not receiver.id or receiver.id == viewer_id
    if action not in {Action.PAY, Action.CHARGE} or not sender.id or not involved:
        return Perspective(None, *other, None)
    pays = is_actor == (action == Action.PAY)
    return Perspective(OUT if pays else IN, *other, -1 if pays else 1)


def _first_nonblank(*texts: str | None) -> str | None:
    """Return the first text that is not blank."""
    for text in texts:
        if text and text.strip():
            return text
    return None
