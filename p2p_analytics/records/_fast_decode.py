"""Fast path: a page of payments decoded by one call, and its records on demand.

A page takes this path where every record has the documented form: an id, a known status and action, dates that
exist, and no fee or refund. People and amounts stay JSON texts until a record, an amount or the problems are read.
A page that fails any check is left to `_fallback_decode`, which reports each problem; the results are equal.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from p2p_analytics.records._fallback_decode import decode_page_fallback
from p2p_analytics.records._lazy_payments import PaymentPage, Payments
from p2p_analytics.records._models import Payment, RawRecords
from p2p_analytics.records._values import FALLBACK_ERRORS
from p2p_analytics.records._wire_types import NULL, REPLACEMENT_ESCAPE, WirePage, next_link
from p2p_analytics.times import in_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2p_analytics.records._intern import InternTables
    from p2p_analytics.records._models import Problem


class FastPayment(msgspec.Struct, gc=False, kw_only=True):
    """A payment in the documented form.

    The fields are in the order of the list samples (document: "Payment"), where msgspec looks for each key first.
    """

    status: Literal["settled", "pending", "failed", "expired", "cancelled"]
    date_completed: datetime | None = None
    target: msgspec.Raw = NULL
    audience: str | None = None
    actor: msgspec.Raw = NULL
    note: str | None = None
    amount: msgspec.Raw = NULL
    action: Literal["pay", "charge"]
    date_created: datetime
    id: Annotated[str, msgspec.Meta(min_length=1)]
    medium: str | None = None
    fee: None = None  # lists show neither (document: "Payment")
    refund: None = None


class _FastPage(WirePage, kw_only=True):
    """A page of such payments."""

    data: list[FastPayment]


_FAST_PAGE: Final = msgspec.json.Decoder(_FastPage)


def decode_page_fast(body: bytes, tables: InternTables) -> PaymentPage:
    """Decode a body without a byte order mark, or raise one of ``DECODE_ERRORS``."""
    page = _FAST_PAGE.decode(body)
    return PaymentPage(Payments(page.data, UndecodedPage(body, page.data, tables)), next_link(page))


class UndecodedPage:
    """The people and amounts of a page that took the fast path, decoded on demand."""

    def __init__(self, body: bytes, rows: Sequence[FastPayment], tables: InternTables) -> None:
        self._body, self._rows, self._tables = body, rows, tables

    @property
    def payments(self) -> Sequence[Payment]:
        """The records."""
        return self._decoded[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the records."""
        return self._decoded[1]

    @cached_property
    def cents(self) -> Sequence[int | None]:
        """The amount of each payment."""
        try:
            return [self._tables.cents.value(bytes(row.amount)) for row in self._rows]
        except FALLBACK_ERRORS:
            return [payment.amount_cents for payment in self.payments]

    def parties(self, position: int) -> tuple[bytes, bytes]:
        """Return the JSON texts of the actor and target of a payment."""
        row = self._rows[position]
        return bytes(row.actor), bytes(row.target)

    @cached_property
    def _decoded(self) -> tuple[Sequence[Payment], tuple[Problem, ...]]:
        payments = decode_records(self._body, self._rows, self._tables)
        if payments is not None:
            return payments, ()
        page = decode_page_fallback(self._body)
        return tuple(page.items), page.problems


def decode_records(body: bytes, rows: Sequence[FastPayment], tables: InternTables) -> list[Payment] | None:
    """Return the records of a page, or None where one fails a check."""
    if body.rfind(REPLACEMENT_ESCAPE) >= 0:  # it may stand for a repaired character, which the fallback reports
        return None
    raw_records = RawRecords(body)  # not the page, which would keep these records alive in a reference cycle
    try:
        return [_to_payment(row, tables, raw_records, position) for position, row in enumerate(rows)]
    except FALLBACK_ERRORS:
        return None


def _to_payment(row: FastPayment, tables: InternTables, raw_records: RawRecords, position: int) -> Payment:
    return Payment(
        id=row.id,
        status=row.status,
        action=row.action,
        amount_cents=tables.cents.value(bytes(row.amount)),
        note=row.note,
        audience=row.audience,
        medium=row.medium,
        date_created=in_utc(row.date_created),
        date_completed=row.date_completed and in_utc(row.date_completed),
        actor=tables.actors.value(bytes(row.actor)),
        target=tables.targets.value(bytes(row.target)),
        raw_records=raw_records,
        position=position,
    )
