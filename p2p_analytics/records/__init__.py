"""The service's answers as frozen records, decoded from bytes and checked on entry.

Document: "Resources and their fields". Amounts are exact cents, datetimes are aware and in UTC, ids are texts that
never passed through a number. Unknown words are kept, and ``raw`` holds the whole record with unknown keys. A field
that cannot be read becomes a :class:`Problem`; :func:`raise_unreadable` turns a problem that loses data into an error.

A broken body is rejected by `_wire_types` (:func:`check_envelope`, or the decoder of the endpoint) with a
ProtocolError; the response hook of `client.http` keeps it out of the cache, and the transport retries a GET. A broken
record of a valid body fails the fast path of `_payment_pages`, so `_single_records` decodes its page, with problems.

:func:`payment_columns` turns pages that took the fast path into Arrow columns without making records, for many rows
at once (1.6 times as fast). Where a check fails, it uses the records of the batch (`_columns`).
"""

from p2p_analytics.records._columns import payment_columns
from p2p_analytics.records._decode import (
    decode_friends,
    decode_me,
    decode_payment,
    decode_receipt,
    decode_user,
    raise_unreadable,
    user_id_of_party,
)
from p2p_analytics.records._intern import Description, InternTable, InternTables
from p2p_analytics.records._models import Me, Page, Payment, Problem, Receipt, Refund, Target, User
from p2p_analytics.records._payment_pages import PaymentPage, Payments, decode_payments
from p2p_analytics.records._wire_types import check_envelope, is_envelope, repair_json

__all__ = [
    "Description",
    "InternTable",
    "InternTables",
    "Me",
    "Page",
    "Payment",
    "PaymentPage",
    "Payments",
    "Problem",
    "Receipt",
    "Refund",
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
    "payment_columns",
    "raise_unreadable",
    "repair_json",
    "user_id_of_party",
]
