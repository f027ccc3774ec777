"""Direction, counterparty and flow of a payment as one person, the viewer, sees it.

The one home of this table. The sign of ``amount`` is never used: real answers show charges with a
positive amount, the document with a negative one.

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

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.vocabulary import Action, TargetType

if TYPE_CHECKING:
    from p2p_analytics.records import Target, User

IN: Final = "in"
OUT: Final = "out"
UNREGISTERED: Final = {
    TargetType.EMAIL.value: "unregistered email",
    TargetType.PHONE.value: "unregistered phone",
}


class Perspective(NamedTuple):
    """What depends on who looks.

    Attributes
    ----------
    direction : str or None
        "in", "out", or None where the action is unknown or the viewer is on neither side.
    counterparty_id, counterparty_name : str or None
        The other user; else the email or phone the payment was sent to; else "unregistered email" or
        "unregistered phone"; else None.
    sign : int or None
        Of the flow: 1 to the viewer, -1 from the viewer, None where there is no direction.
    """

    direction: str | None
    counterparty_id: str | None
    counterparty_name: str | None
    sign: int | None


def perspective(viewer_id: str, action: str | None, actor: User | None, target: Target | None) -> Perspective:
    """Return how somebody sees a payment; a viewer who is not the actor is the target, unless that is another user."""
    receiver = target.user if target else None
    is_actor = actor is not None and actor.id == viewer_id
    if is_actor:
        address = _address(target) if target else None
        other = (receiver and receiver.id) or address, _name(receiver) or address
    else:
        other = (actor.id, _name(actor)) if actor else (None, None)
    involved = is_actor or receiver is None or receiver.id in {None, viewer_id}
    if action not in {Action.PAY, Action.CHARGE} or actor is None or actor.id is None or not involved:
        return Perspective(None, *other, None)
    pays = is_actor == (action == Action.PAY)
    return Perspective(OUT if pays else IN, *other, -1 if pays else 1)


def _name(user: User | None) -> str | None:
    """Return the display name, or the username of somebody who shows none, or the id."""
    if user is None:
        return None
    shown = user.display_name if user.display_name and user.display_name.strip() else None
    return shown or user.username or user.id


def _address(target: Target) -> str | None:
    return target.email or target.phone or target.name or UNREGISTERED.get(target.type or "")
