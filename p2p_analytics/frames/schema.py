"""Fixed columns and dtypes of the PAYMENTS, FRIENDS and PROBLEMS frames.

Text is pandas ``str``; values that repeat, such as statuses and people, are categoricals of text;
money is nullable ``Int64`` in cents; datetimes are ``datetime64[us, UTC]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TEXT: Final = "str"
WORD: Final = "category"
CENTS: Final = "Int64"
MICROSECONDS: Final = "Int64"
INSTANT: Final = "datetime64[us, UTC]"

_PERSON: Final = {
    "id": WORD, "username": WORD, "display_name": WORD, "first_name": WORD, "last_name": WORD,
    "about": WORD, "profile_picture_url": WORD, "date_joined": INSTANT,
}  # fmt: skip

PAYMENTS: Final[Mapping[str, str]] = {
    "payment_id": TEXT,
    "status": WORD,
    "action": WORD,
    "amount_cents": CENTS,
    "note": TEXT,
    "audience": WORD,
    "medium": WORD,
    "date_created": INSTANT,
    "date_completed": INSTANT,
    **{f"actor_{name}": dtype for name, dtype in _PERSON.items()},
    "target_type": WORD,
    "target_email": WORD,
    "target_phone": WORD,
    **{f"target_user_{name}": dtype for name, dtype in _PERSON.items()},
    "fee_cents": CENTS,
    "refund_payment_id": TEXT,
    "refund_amount_cents": CENTS,
    "source": WORD,
    "direction": WORD,
    "counterparty_id": WORD,
    "counterparty_name": WORD,
    "flow_cents": CENTS,
    "created_us": MICROSECONDS,
    "completed_us": MICROSECONDS,
    "settle_us": MICROSECONDS,
}

FRIENDS: Final[Mapping[str, str]] = {
    "user_id": TEXT, "username": TEXT, "first_name": TEXT, "last_name": TEXT,
    "display_name": TEXT, "about": TEXT, "profile_picture_url": TEXT,
}  # fmt: skip

PROBLEMS: Final[Mapping[str, str]] = {
    "payment_id": TEXT, "field": TEXT, "value": TEXT, "problem": TEXT,
}  # fmt: skip


def require(
    columns: Iterable[str], needed: Iterable[str], *, what: str, instead: str = "a frame as load_history gives it"
) -> None:
    """Raise a SchemaError that names the missing columns and a frame to pass instead."""
    present = set(columns)
    missing = [name for name in needed if name not in present]
    if missing:
        raise SchemaError(f"{what} needs the columns {', '.join(missing)}; pass {instead}.")
