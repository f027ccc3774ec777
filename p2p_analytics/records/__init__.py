"""The service's answers as frozen records, decoded from bytes and checked at the door.

Document: "Resources and their fields". Amounts are exact cents, datetimes aware UTC, ids text that
never passed through a number. Unknown words are carried as they are, and ``raw`` keeps the whole
record, unknown keys and all. What cannot be read is told, as a :class:`Problem`.
"""

from p2p_analytics.records._decode import (
    decode_friends,
    decode_me,
    decode_payment,
    decode_payments,
    decode_receipt,
    decode_user,
    party_id,
    raise_unreadable,
)
from p2p_analytics.records._fast_decode import STRANGE, read_actor, read_target
from p2p_analytics.records._models import Me, Page, Payment, Problem, Receipt, Refund, Target, User
from p2p_analytics.records._payments import PaymentPage, Payments, Row
from p2p_analytics.records._wire_types import check_envelope, is_envelope, repair_json

__all__ = [
    "STRANGE",
    "Me",
    "Page",
    "Payment",
    "PaymentPage",
    "Payments",
    "Problem",
    "Receipt",
    "Refund",
    "Row",
    "Target",
    "User",
    "check_envelope",
    "decode_friends",
    "decode_me",
    "decode_payment",
    "decode_payments",
    "decode_receipt",
    "decode_user",
    "is_envelope",
    "party_id",
    "raise_unreadable",
    "read_actor",
    "read_target",
    "repair_json",
]
