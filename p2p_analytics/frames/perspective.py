"""Direction, counterparty and flow of each payment as one person, the viewer, sees them.

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

from typing import TYPE_CHECKING, Final

from p2p_analytics.frames.schema import CENTS, TEXT
from p2p_analytics.vocabulary import Action, TargetType

if TYPE_CHECKING:
    import pandas as pd

IN: Final = "in"
OUT: Final = "out"
PERSPECTIVE: Final = {"direction": TEXT, "counterparty_id": TEXT, "counterparty_name": TEXT, "flow_cents": CENTS}
UNREGISTERED: Final = {
    TargetType.EMAIL.value: "unregistered email",
    TargetType.PHONE.value: "unregistered phone",
}


def add_perspective(payments: pd.DataFrame, viewer_id: str, target_names: pd.Series[str]) -> pd.DataFrame:
    """Return the payments with the four columns that depend on who looks.

    Parameters
    ----------
    payments : DataFrame
        Rows with the PAYMENTS columns that come from the service.
    viewer_id : str
        The user id of the viewer, who is the actor or else the target of every row.
    target_names : Series of str
        Names of targets that are neither user, email nor phone (a merchant), null elsewhere.

    Returns
    -------
    DataFrame
        The same rows with ``direction`` ("in", "out", or null where the action is unknown or
        the viewer is on neither side),
        ``counterparty_id`` and ``counterparty_name`` (the other user; else the email or phone the
        payment was sent to; else "unregistered email" or "unregistered phone"; else null) and
        ``flow_cents`` (+ to the viewer, - from the viewer; null where direction or amount is).
    """
    is_actor = (payments["actor_id"] == viewer_id).fillna(value=False)
    party = is_actor | payments["target_user_id"].isna() | (payments["target_user_id"] == viewer_id).fillna(value=False)
    known = payments["action"].isin([Action.PAY, Action.CHARGE]) & payments["actor_id"].notna() & party
    pays = is_actor == (payments["action"] == Action.PAY).fillna(value=False)
    size = payments["amount_cents"].abs()

    address = payments["target_email"].fillna(payments["target_phone"]).fillna(target_names)
    address = address.fillna(payments["target_type"].map(UNREGISTERED).astype("str"))
    target_name = _name(payments, "target_user").fillna(address)
    actor_name = _name(payments, "actor").fillna(payments["actor_id"])
    seen = payments.assign(
        direction=payments["action"].mask(pays, OUT).mask(~pays, IN).where(known),
        counterparty_id=payments["target_user_id"].fillna(address).where(is_actor, payments["actor_id"]),
        counterparty_name=target_name.where(is_actor, actor_name),
        flow_cents=size.mask(pays, -size).where(known),
    )
    return seen.astype(PERSPECTIVE)


def _name(payments: pd.DataFrame, who: str) -> pd.Series[str]:
    """Return display names, or usernames where somebody shows none."""
    shown = payments[f"{who}_display_name"]
    return shown.mask(shown.str.strip() == "").fillna(payments[f"{who}_username"])
