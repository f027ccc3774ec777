"""Response bodies to records: one function per endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec

from p2p_analytics.errors import PaginationError, ProtocolError, RecordError
from p2p_analytics.records._fallback_decode import decode_list, decode_page_fallback, to_payment
from p2p_analytics.records._intern import InternTables
from p2p_analytics.records._lazy_payments import PaymentPage, Payments
from p2p_analytics.records._models import Me, Page, Payment, Problem, RawRecords, Receipt, User
from p2p_analytics.records._values import FALLBACK_ERRORS, ProblemCollector, parse_amount, to_user
from p2p_analytics.records._wire_types import (
    DECODE_ERRORS,
    NULL,
    REPLACEMENT_ESCAPE,
    WirePage,
    WireUser,
    decode_envelope,
    is_container,
    next_link,
    remove_bom,
    repair_json,
)
from p2p_analytics.times import in_utc


def decode_me(body: bytes) -> Me:
    """Decode the body of GET /me; fields that cannot be read are listed in ``problems``.

    Raises
    ------
    RecordError
        The body holds no user id.
    """
    raw, problems = _decode_data(body), ProblemCollector()
    wire = problems.decode(_WireMe, raw)
    user = to_user(problems.decode(WireUser, bytes(wire.user)), problems, "user")
    balance = parse_amount(wire.balance, problems, "balance")
    if not user.id:
        raise RecordError("The answer to /me holds no user id, so no payments can be loaded.")
    return Me(user=user, balance_cents=balance, problems=tuple(problems.found), raw=raw)


def decode_user(body: bytes) -> User:
    """Decode the body of GET /users/:user_id."""
    problems = ProblemCollector()
    user = to_user(problems.decode(WireUser, _decode_data(body)), problems, "user")
    raise_unreadable(problems.found)
    return user


def decode_payment(body: bytes) -> Payment:
    """Decode the body of GET /payments/:payment."""
    problems = ProblemCollector()
    payment = to_payment(_decode_data(body), problems)
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return payment


def decode_receipt(body: bytes) -> Receipt:
    """Decode the body of POST /payments."""
    problems = ProblemCollector()
    wire = problems.decode(_WireReceipt, _decode_data(body))
    payment = to_payment(bytes(wire.payment), problems)
    balance = parse_amount(wire.balance, problems, "balance")
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return Receipt(payment=payment, balance_cents=balance)


def decode_payments(body: bytes, tables: InternTables | None = None) -> PaymentPage:
    """Decode one page of GET /payments: by the fast path, or else record by record.

    Parameters
    ----------
    body : bytes
        The body of the response.
    tables : InternTables, optional
        The interning tables of the load that the page belongs to; by default the page has its own.

    Returns
    -------
    PaymentPage
        An item without an id is listed in ``problems`` and is not among the items. After the fast path, people and
        amounts are decoded when a record, an amount or ``problems`` is read.
    """
    body = remove_bom(body)
    try:
        return decode_page_fast(body, tables or InternTables())
    except DECODE_ERRORS:
        return decode_page_fallback(body)


def decode_friends(body: bytes) -> Page[User]:
    """Decode one page of GET /users/:user_id/friends; fields that cannot be read are listed in ``problems``.

    An item without an id is listed there and is not among the items.
    """
    items, link, problems = decode_list(body)
    friends = []
    for item in items:
        friend = to_user(problems.decode(WireUser, item), problems, "friend")
        if friend.id:
            friends.append(friend)
        else:
            problems.add("friend.id", item, "the item holds no id", unreadable=True)
    return Page(tuple(friends), link, tuple(problems.found))


def user_id_of_party(raw: bytes) -> str | None:
    """Return the user id in the JSON text of an actor or target, None where it has none."""
    try:
        wire = msgspec.json.decode(raw, type=_WireParty | None)
    except DECODE_ERRORS:
        return None
    if wire is None:
        return None
    return wire.user.id if wire.user is not None else wire.id


def raise_unreadable(problems: Iterable[Problem], *, instead: str = "nothing is returned") -> None:
    """Raise an error for the first problem that loses data; ``instead`` ends its sentence.

    Raises
    ------
    RecordError
        A field cannot be read.
    PaginationError
        The list may lack records.
    """
    for problem in problems:
        if problem.incomplete:
            raise PaginationError(f"The list may lack records: {problem.problem} ({problem.value}); {instead}.")
        if problem.unreadable:
            where = f"payment {problem.record_id}" if problem.record_id else "a record"
            raise RecordError(
                f"The field {problem.field!r} of {where} cannot be read ({problem.problem}: "
                f"{problem.value[:60]!r}); {instead}."
            )


class _WireMe(msgspec.Struct):
    """The ``data`` of GET /me."""

    user: msgspec.Raw = NULL
    balance: msgspec.Raw = NULL


class _WireReceipt(msgspec.Struct):
    """The ``data`` of POST /payments."""

    payment: msgspec.Raw = NULL
    balance: msgspec.Raw = NULL


class _WireId(msgspec.Struct):
    id: str | None = None


class _WireParty(_WireId):
    """The ids of an actor, or of a target, which holds its user one level below."""

    user: _WireId | None = None


class _WireData(msgspec.Struct):
    """The envelope of one record."""

    data: msgspec.Raw


def _decode_data(body: bytes) -> bytes:
    """Return the ``data`` of a body."""
    data = decode_envelope(repair_json(body), _WireData).data
    if not is_container(data):
        raise ProtocolError("The service's answer is not the documented JSON: its `data` is not an object.")
    return bytes(data)


# ---- the fast path: a page of payments decoded by one call, and its records on demand


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
        return [
            Payment(
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
            for position, row in enumerate(rows)
        ]
    except FALLBACK_ERRORS:
        return None
