"""Answers to records, one by one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.errors import PaginationError, ProtocolError, RecordError
from p2p_analytics.records._fast_decode import STRANGE, WirePlain, WirePlainPage, plain_cents, plain_payments
from p2p_analytics.records._models import Answer, Me, Page, Payment, Receipt, Refund, User
from p2p_analytics.records._payments import PaymentPage, Payments
from p2p_analytics.records._wire_types import (
    ACTIONS,
    NULL,
    REPLACED,
    STATUSES,
    UNDECODABLE,
    Problems,
    WireList,
    WirePayment,
    WireUser,
    cents_of,
    envelope,
    instant_of,
    is_container,
    link_of,
    repair_json,
    target_of,
    user_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from p2p_analytics.records._models import Problem


def decode_me(body: bytes) -> Me:
    """Decode the answer to GET /me; a field that cannot be read stands in ``problems``.

    Raises
    ------
    RecordError
        The answer holds no user id.
    """
    raw, problems = _data(body), Problems()
    wire = problems.decoded(_WireMe, raw)
    user = user_of(problems.decoded(WireUser, bytes(wire.user)), problems, "user")
    balance = cents_of(wire.balance, problems, "balance")
    if not user.id:
        raise RecordError("The answer to /me holds no user id, so nobody's payments can be loaded.")
    return Me(user=user, balance_cents=balance, problems=tuple(problems.found), raw=raw)


def decode_user(body: bytes) -> User:
    """Decode the answer to GET /users/:user_id."""
    problems = Problems()
    user = user_of(problems.decoded(WireUser, _data(body)), problems, "user")
    raise_unreadable(problems.found)
    return user


def decode_payment(body: bytes) -> Payment:
    """Decode the answer to GET /payments/:payment."""
    problems = Problems()
    payment = _payment(_data(body), problems)
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return payment


def decode_receipt(body: bytes) -> Receipt:
    """Decode the answer to POST /payments."""
    problems = Problems()
    wire = problems.decoded(_WireReceipt, _data(body))
    payment = _payment(bytes(wire.payment), problems)
    balance = cents_of(wire.balance, problems, "balance")
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return Receipt(payment=payment, balance_cents=balance)


def decode_payments(body: bytes) -> PaymentPage:
    """Decode one page of GET /payments; what is strange in a record stands in ``problems``.

    An item without an id is told there and is not among the items. People and amounts are read when somebody asks
    for a record or for the problems; until then, a page holds what its list needs to be gone through.
    """
    body = repair_json(body)
    try:
        page = _PLAIN_PAGE.decode(body)
    except UNDECODABLE:
        return careful_page(body)
    return PaymentPage(Payments(page.data, _Unread(body, page.data)), link_of(page))


def careful_page(body: bytes) -> PaymentPage:
    """Decode a page record by record, so that what is strange in one can be told."""
    items, link, problems = _page(body)
    payments = [payment for item in items if (payment := _payment(item, problems))]
    return PaymentPage(Payments.of(payments, problems.found), link)


def decode_friends(body: bytes) -> Page[User]:
    """Decode one page of GET /users/:user_id/friends; what is strange in a record stands in ``problems``.

    An item without an id is told there and is not among the items.
    """
    items, link, problems = _page(body)
    friends = []
    for item in items:
        friend = user_of(problems.decoded(WireUser, item), problems, "friend")
        if friend.id:
            friends.append(friend)
        else:
            problems.add("friend.id", item, "the item holds no id", unreadable=True)
    return Page(tuple(friends), link, tuple(problems.found))


def raise_unreadable(problems: Iterable[Problem], *, instead: str = "nothing is returned") -> None:
    """Raise an error for the first problem that cannot be passed over; ``instead`` ends its sentence.

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


class _Unread(Answer):
    """An answer of plain rows, whose records are read when they are asked for."""

    def __init__(self, body: bytes, sent: Sequence[WirePlain]) -> None:
        super().__init__(body)
        self._sent = sent

    @property
    def payments(self) -> Sequence[Payment]:
        return self._read[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._read[1]

    @cached_property
    def cents(self) -> Sequence[int | None]:
        try:
            return plain_cents(self._sent)
        except STRANGE:
            return [payment.amount_cents for payment in self.payments]

    def parties(self, place: int) -> tuple[bytes, bytes]:
        sent = self._sent[place]
        return bytes(sent.actor), bytes(sent.target)

    @cached_property
    def _read(self) -> tuple[Sequence[Payment], tuple[Problem, ...]]:
        plain = plain_payments(self.body, self._sent, Answer(self.body))  # itself would be a ring that nobody frees
        if plain is not None:
            return plain, ()
        careful = careful_page(self.body)
        return tuple(careful.items), careful.problems


_PLAIN_PAGE: Final = msgspec.json.Decoder(WirePlainPage)


class _WireMe(msgspec.Struct):
    """The envelope of GET /me as sent."""

    user: msgspec.Raw = NULL
    balance: msgspec.Raw = NULL


class _WireReceipt(msgspec.Struct):
    """The envelope of POST /payments as sent."""

    payment: msgspec.Raw = NULL
    balance: msgspec.Raw = NULL


class _WireId(msgspec.Struct):
    id: str | None = None


class _WireParty(_WireId):
    """An actor, or a target, whose user is one level below; only the ids."""

    user: _WireId | None = None


class _WireData(msgspec.Struct):
    """A single record's envelope."""

    data: msgspec.Raw


def party_id(sent: bytes) -> str | None:
    """Return the user id of an actor or target as sent, None where it has none."""
    try:
        wire = msgspec.json.decode(sent, type=_WireParty | None)
    except UNDECODABLE:
        return None
    if wire is None:
        return None
    return wire.user.id if wire.user is not None else wire.id


_EXPECTED: Final = ("status", "action", "amount", "date_created", "actor", "target")


def _payment(raw: bytes, problems: Problems) -> Payment | None:
    """Turn one item into a Payment, or None (and a Problem) where it cannot even be identified."""
    problems.record_id = None
    wire = problems.decoded(WirePayment, raw)
    if not wire.id:
        problems.add("id", raw, "the item holds no id", unreadable=True)
        return None
    problems.record_id = wire.id
    for name in _EXPECTED:
        if getattr(wire, name) in (None, NULL):
            problems.add(name, "null", "documented as always set")
    if wire.status is not None and wire.status not in STATUSES:
        problems.add("status", wire.status, "a word the document does not know")
    if wire.action is not None and wire.action not in ACTIONS:
        problems.add("action", wire.action, "a word the document does not know; direction and flow stay empty")
    if REPLACED in raw:
        problems.add("text", raw, "may hold half a character pair, shown as U+FFFD")
    target = wire.target
    return Payment(
        id=wire.id,
        status=wire.status,
        action=wire.action,
        amount_cents=cents_of(wire.amount, problems, "amount"),
        note=wire.note,
        audience=wire.audience,
        medium=wire.medium,
        date_created=instant_of(wire.date_created, problems, "date_created"),
        date_completed=instant_of(wire.date_completed, problems, "date_completed"),
        actor=user_of(wire.actor, problems, "actor") if wire.actor else None,
        target=target_of(target, problems) if target else None,
        fee_cents=cents_of(wire.fee.amount, problems, "fee") if wire.fee else None,
        refund=Refund(id=wire.refund.id, amount_cents=cents_of(wire.refund.amount, problems, "refund"))
        if wire.refund
        else None,
        answer=Answer(records=[raw]),
    )


def _data(body: bytes) -> bytes:
    """Return the record of a body, as bytes."""
    data = envelope(repair_json(body), _WireData).data
    if not is_container(data):
        raise ProtocolError("The service's answer is not the documented JSON: its `data` is not an object.")
    return bytes(data)


def _page(body: bytes) -> tuple[list[bytes], str | None, Problems]:
    """Return a list's items as bytes, the next link, and an empty collection of problems."""
    page = envelope(repair_json(body), WireList)
    return [bytes(item) for item in page.data], link_of(page), Problems()
