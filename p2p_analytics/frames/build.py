"""Records to frames: fixed columns and dtypes, one pass, sorted, nothing dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.perspective import add_perspective
from p2p_analytics.frames.schema import FRIENDS, INSTANT, PAYMENTS, PROBLEMS
from p2p_analytics.times import to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.records import Payment, Problem, User

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip


def payments_frame(payments: Iterable[Payment], viewer_id: str) -> pd.DataFrame:
    """Return the PAYMENTS frame.

    Parameters
    ----------
    payments : iterable of Payment
        Records in any order; the last of those with one id wins.
    viewer_id : str
        The user id of the person whose payments these are.

    Returns
    -------
    DataFrame
        One row per payment, newest first (``date_created``, then id; rows without a date last),
        with the columns and dtypes of :data:`~p2p_analytics.frames.schema.PAYMENTS`, also when
        there are no rows. Money is in cents, a charge's amount negative whichever way the service
        writes it; instants are UTC (document: "Payment", "Target").
    """
    rows = list({payment.id: payment for payment in payments}.values())
    rows.sort(key=_age_order, reverse=True)
    created = [_microseconds(row.date_created) for row in rows]
    completed = [_microseconds(row.date_completed) for row in rows]
    columns: dict[str, list[Any]] = {
        "payment_id": [row.id for row in rows],
        "status": [row.status for row in rows],
        "action": [row.action for row in rows],
        "amount_cents": [_documented_sign(row) for row in rows],
        "note": [row.note for row in rows],
        "audience": [row.audience for row in rows],
        "medium": [row.medium for row in rows],
        "date_created": created,
        "date_completed": completed,
        **_people("actor", [row.actor for row in rows]),
        "target_type": [row.target and row.target.type for row in rows],
        "target_email": [row.target and row.target.email for row in rows],
        "target_phone": [row.target and row.target.phone for row in rows],
        **_people("target_user", [row.target.user if row.target else None for row in rows]),
        "fee_cents": [row.fee_cents for row in rows],
        "refund_payment_id": [row.refund and row.refund.id for row in rows],
        "refund_amount_cents": [row.refund and row.refund.amount_cents for row in rows],
        "source": [SOURCE_API] * len(rows),
        "created_us": created,
        "completed_us": completed,
        "settle_us": [
            None if start is None or end is None else end - start for start, end in zip(created, completed, strict=True)
        ],
    }
    frame = _frame(columns, PAYMENTS)
    names = _column([row.target and row.target.name for row in rows], "str")
    return add_perspective(frame, viewer_id, names)[list(PAYMENTS)]


def friends_frame(friends: Iterable[User]) -> pd.DataFrame:
    """Return the FRIENDS frame: one row per friend, in the service's order (document: "User")."""
    rows = list({friend.id: friend for friend in friends}.values())
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in FRIENDS if name != "user_id"
    }
    return _frame({"user_id": [row.id for row in rows], **columns}, FRIENDS)[list(FRIENDS)]


def problems_frame(problems: Iterable[Problem]) -> pd.DataFrame:
    """Return what was strange in the records: one row per finding, in the order found."""
    rows = list(problems)
    columns: dict[str, list[Any]] = {
        "payment_id": [row.record_id for row in rows],
        "field": [row.field for row in rows],
        "value": [row.value for row in rows],
        "problem": [row.problem for row in rows],
    }
    return _frame(columns, PROBLEMS)


def _people(prefix: str, people: list[User | None]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        f"{prefix}_{name}": [person and getattr(person, name) for person in people] for name in _PERSON
    }
    columns[f"{prefix}_date_joined"] = [_microseconds(joined) for joined in columns[f"{prefix}_date_joined"]]
    return columns


def _frame(columns: Mapping[str, list[Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: _column(values, schema[name]) for name, values in columns.items()})


def _column(values: list[Any], dtype: str) -> pd.Series[Any]:
    """Build a column of one dtype; instants arrive as whole microseconds, so none is rounded."""
    import pandas as pd

    if dtype == INSTANT:
        return pd.Series(pd.array(values, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")).dt.tz_localize(
            "UTC"
        )
    return pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]


def _documented_sign(payment: Payment) -> int | None:
    # The document writes a charge's amount with a minus; answers have been seen without one. A column holds one form.
    cents = payment.amount_cents
    return cents if cents is None or payment.action != Action.CHARGE else -abs(cents)


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else to_microseconds(instant)


def _age_order(payment: Payment) -> tuple[int, int, str]:
    """Sort key of age; ids are numbers of any length in text form, so the longer one is larger."""
    created = -(2**63) if payment.date_created is None else to_microseconds(payment.date_created)
    return created, len(payment.id), payment.id
