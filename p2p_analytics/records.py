"""The service's answers as frozen records, decoded from bytes and checked at the door.

Document: "Resources and their fields". Amounts are exact cents, datetimes aware UTC, ids text that
never passed through a number. Unknown words are carried as they are, and ``raw`` keeps the whole
record, unknown keys and all. What cannot be read is told, as a :class:`Problem`.
"""

from __future__ import annotations

import contextlib
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from p2p_analytics.errors import MoneyError, PaginationError, ProtocolError, RecordError
from p2p_analytics.money import to_cents
from p2p_analytics.times import parse_instant
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


class Problem(msgspec.Struct, frozen=True):
    """Something strange in one record: which record and field, its value, and what is wrong with it."""

    record_id: str | None
    field: str
    value: str
    problem: str
    unreadable: bool = False


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person; fields that a context does not carry are None."""

    id: str | None = None
    username: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    display_name: str | None = None
    date_joined: datetime | None = None
    profile_picture_url: str | None = None
    about: str | None = None
    email: str | None = None
    phone: str | None = None
    is_friend: bool | None = None
    friends_count: int | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Who a payment was sent to; ``name`` is that of a target of another kind, such as a merchant."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None
    user: User | None = None
    name: str | None = None


class Refund(msgspec.Struct, frozen=True, kw_only=True):
    """The payment that gave the money back."""

    id: str | None = None
    amount_cents: int | None = None


class _Whole(msgspec.Struct, frozen=True):
    """A record that keeps the bytes it came in, and does not show them."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "raw")
        return f"{type(self).__name__}({', '.join(shown)})"


class Payment(_Whole, frozen=True, kw_only=True):
    """A payment or charge, with the amount's sign as the service gave it."""

    id: str
    status: str | None = None
    action: str | None = None
    amount_cents: int | None = None
    note: str | None = None
    audience: str | None = None
    medium: str | None = None
    date_created: datetime | None = None
    date_completed: datetime | None = None
    actor: User | None = None
    target: Target | None = None
    fee_cents: int | None = None
    refund: Refund | None = None
    raw: bytes = b""


class Me(_Whole, frozen=True, kw_only=True):
    """The token's owner, with the balance where the token may see it (document: "GET /me")."""

    user: User
    balance_cents: int | None = None
    problems: tuple[Problem, ...] = ()
    raw: bytes = b""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a pay or charge, and the token owner's balance after it, where it was told.

    ``reconciled`` tells that the answer was lost and the payment found in the list afterwards.
    """

    payment: Payment
    balance_cents: int | None = None
    reconciled: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list: its records in order, the next link, what was strange, and when it was given."""

    items: tuple[T, ...]
    next: str | None = None
    problems: tuple[Problem, ...] = ()
    fetched_at: datetime | None = None


def decode_me(body: bytes) -> Me:
    """Decode the answer to GET /me; a field that cannot be read stands in ``problems``.

    Raises
    ------
    RecordError
        The answer holds no user id.
    """
    raw, problems = _data(body), _Problems()
    wire = problems.decoded(_WireMe, raw)
    user = _user(problems.decoded(_WireUser, bytes(wire.user)), problems, "user")
    balance = _cents(wire.balance, problems, "balance")
    if not user.id:
        raise RecordError("The answer to /me holds no user id, so nobody's payments can be loaded.")
    return Me(user=user, balance_cents=balance, problems=tuple(problems.found), raw=raw)


def decode_user(body: bytes) -> User:
    """Decode the answer to GET /users/:user_id."""
    problems = _Problems()
    user = _user(problems.decoded(_WireUser, _data(body)), problems, "user")
    raise_unreadable(problems.found)
    return user


def decode_payment(body: bytes) -> Payment:
    """Decode the answer to GET /payments/:payment."""
    problems = _Problems()
    payment = _payment(_data(body), problems)
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return payment


def decode_receipt(body: bytes) -> Receipt:
    """Decode the answer to POST /payments."""
    problems = _Problems()
    wire = problems.decoded(_WireReceipt, _data(body))
    payment = _payment(bytes(wire.payment), problems)
    balance = _cents(wire.balance, problems, "balance")
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return Receipt(payment=payment, balance_cents=balance)


def decode_payments(body: bytes) -> Page[Payment]:
    """Decode one page of GET /payments; what is strange in a record stands in ``problems``.

    An item without an id is told there and is not among the items.
    """
    items, link, problems = _page(body)
    payments = [_payment(item, problems) for item in items]
    return Page(tuple(payment for payment in payments if payment), link, tuple(problems.found))


def decode_friends(body: bytes) -> Page[User]:
    """Decode one page of GET /users/:user_id/friends; what is strange in a record stands in ``problems``.

    An item without an id is told there and is not among the items.
    """
    items, link, problems = _page(body)
    friends = []
    for item in items:
        friend = _user(problems.decoded(_WireUser, item), problems, "friend")
        if friend.id:
            friends.append(friend)
        else:
            problems.add("friend.id", item, "the item holds no id", unreadable=True)
    return Page(tuple(friends), link, tuple(problems.found))


def raise_unreadable(problems: Iterable[Problem], *, instead: str = "nothing is returned") -> None:
    """Raise a RecordError for the first problem that is a field which cannot be read; ``instead`` ends its sentence."""
    for problem in problems:
        if problem.unreadable:
            where = f"payment {problem.record_id}" if problem.record_id else "a record"
            raise RecordError(
                f"The field {problem.field!r} of {where} cannot be read ({problem.problem}: "
                f"{problem.value[:60]!r}); {instead}."
            )


_NULL: Final = msgspec.Raw(b"null")


class _WireUser(msgspec.Struct):
    """A user as sent."""

    id: str | None = None
    username: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    display_name: str | None = None
    date_joined: str | None = None
    profile_picture_url: str | None = None
    about: str | None = None
    email: str | None = None
    phone: str | None = None
    is_friend: bool | None = None
    friends_count: int | None = None


class _WireTarget(msgspec.Struct):
    """A target as sent; real answers know kinds beside the three documented ones."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None
    user: _WireUser | None = None
    merchant: dict[str, Any] | None = None


class _WireAmount(msgspec.Struct):
    """A fee or refund: of both the document shows little more than that there is an amount."""

    id: str | None = None
    amount: msgspec.Raw = _NULL


class _WirePayment(msgspec.Struct):
    """A payment as sent."""

    id: str | None = None
    status: str | None = None
    action: str | None = None
    amount: msgspec.Raw = _NULL
    note: str | None = None
    audience: str | None = None
    medium: str | None = None
    date_created: str | None = None
    date_completed: str | None = None
    actor: _WireUser | None = None
    target: _WireTarget | None = None
    fee: _WireAmount | None = None
    refund: _WireAmount | None = None


class _WireMe(msgspec.Struct):
    """The envelope of GET /me as sent."""

    user: msgspec.Raw = _NULL
    balance: msgspec.Raw = _NULL


class _WireReceipt(msgspec.Struct):
    """The envelope of POST /payments as sent."""

    payment: msgspec.Raw = _NULL
    balance: msgspec.Raw = _NULL


class _WirePage(msgspec.Struct):
    """A list's envelope; ``pagination`` may be null, empty or missing on the last page."""

    data: list[msgspec.Raw]
    pagination: dict[str, Any] | None = None


class _WireData(msgspec.Struct):
    """A single record's envelope."""

    data: msgspec.Raw


_UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_EXPECTED: Final = ("status", "action", "amount", "date_created", "actor", "target")


class _Problems:
    """Collects what is strange in the records of one answer."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.record_id: str | None = None

    def add(self, field: str, value: object, problem: str, *, unreadable: bool = False) -> None:
        shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        self.found.append(Problem(self.record_id, field, shown[:200], problem, unreadable))

    def decoded(self, kind: type[T], raw: bytes) -> T:
        """Decode a record, field by field where need be, so that one bad field does not take the others with it."""
        with contextlib.suppress(*_UNDECODABLE):
            return msgspec.json.decode(raw, type=kind)
        wire = kind()
        try:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except _UNDECODABLE:
            return wire
        known = msgspec.structs.fields(kind)  # type: ignore[arg-type]  # every kind is a Struct
        for field in sorted(known, key=lambda each: each.name != "id"):
            if field.name not in fields:
                continue
            try:
                value = msgspec.json.decode(fields[field.name], type=field.type)
            except _UNDECODABLE as error:
                self.add(field.name, bytes(fields[field.name]), str(error), unreadable=True)
                continue
            setattr(wire, field.name, value)
            if kind is _WirePayment and field.name == "id":
                self.record_id = value
        return wire


def _payment(raw: bytes, problems: _Problems) -> Payment | None:
    """Turn one item into a Payment, or None (and a Problem) where it cannot even be identified."""
    problems.record_id = None
    wire = problems.decoded(_WirePayment, raw)
    if not wire.id:
        problems.add("id", raw, "the item holds no id", unreadable=True)
        return None
    problems.record_id = wire.id
    for name in _EXPECTED:
        if getattr(wire, name) in (None, _NULL):
            problems.add(name, "null", "documented as always set")
    if wire.status is not None and wire.status not in _STATUSES:
        problems.add("status", wire.status, "a word the document does not know")
    if wire.action is not None and wire.action not in _ACTIONS:
        problems.add("action", wire.action, "a word the document does not know; direction and flow stay empty")
    if _REPLACED in raw:
        problems.add("text", raw, "may hold half a character pair, shown as U+FFFD")
    target = wire.target
    return Payment(
        id=wire.id,
        status=wire.status,
        action=wire.action,
        amount_cents=_cents(wire.amount, problems, "amount"),
        note=wire.note,
        audience=wire.audience,
        medium=wire.medium,
        date_created=_instant(wire.date_created, problems, "date_created"),
        date_completed=_instant(wire.date_completed, problems, "date_completed"),
        actor=_user(wire.actor, problems, "actor") if wire.actor else None,
        target=_target(target, problems) if target else None,
        fee_cents=_cents(wire.fee.amount, problems, "fee") if wire.fee else None,
        refund=Refund(id=wire.refund.id, amount_cents=_cents(wire.refund.amount, problems, "refund"))
        if wire.refund
        else None,
        raw=raw,
    )


_STATUSES: Final = frozenset(Status)
_ACTIONS: Final = frozenset(Action)


def _user(wire: _WireUser, problems: _Problems, field: str) -> User:
    return User(
        id=wire.id,
        username=wire.username,
        first_name=wire.first_name,
        last_name=wire.last_name,
        display_name=wire.display_name,
        date_joined=_instant(wire.date_joined, problems, f"{field}.date_joined"),
        profile_picture_url=wire.profile_picture_url,
        about="" if wire.about is not None and wire.about.isspace() else wire.about,  # a space stands for none
        email=wire.email,
        phone=wire.phone,
        is_friend=wire.is_friend,
        friends_count=wire.friends_count,
    )


def _target(wire: _WireTarget, problems: _Problems) -> Target:
    name = (wire.merchant or {}).get("display_name")
    return Target(
        type=wire.type,
        email=wire.email,
        phone=wire.phone,
        user=_user(wire.user, problems, "target.user") if wire.user else None,
        name=name if isinstance(name, str) else None,
    )


def _cents(amount: msgspec.Raw, problems: _Problems, field: str) -> int | None:
    """Read an amount from its own text, number or string: real balances are strings."""
    text = bytes(amount).decode("utf-8", "replace")
    if text == "null":
        return None
    try:
        return to_cents(text[1:-1] if text.startswith('"') else text)
    except MoneyError as error:
        problems.add(field, text, str(error).rstrip(".")[:200], unreadable=True)
        return None


def _instant(text: str | None, problems: _Problems, field: str) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError:
        problems.add(field, text, "not a datetime that exists", unreadable=True)
        return None


def _data(body: bytes) -> bytes:
    """Return the one record of an answer, as bytes."""
    return bytes(_envelope(body, _WireData).data)


def _page(body: bytes) -> tuple[list[bytes], str | None, _Problems]:
    """Return a list's items as bytes, the next link, and an empty collection of problems."""
    page = _envelope(body, _WirePage)
    link = (page.pagination or {}).get("next") or None
    if link is not None and not isinstance(link, str):
        raise PaginationError("The next link of a list is not text, so the list cannot be paged to its end.")
    return [bytes(item) for item in page.data], link, _Problems()


def _envelope(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(mended(body), type=kind)
    except _UNDECODABLE as error:
        reason = str(error)
    raise ProtocolError(f"The service's answer is not the documented JSON: {reason}.")


_BOM: Final = b"\xef\xbb\xbf"
_REPLACED: Final = b"\\ufffd"
_ESCAPE: Final = re.compile(
    rb"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u(d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL
)


def mended(body: bytes) -> bytes:
    """Return a body without byte order mark, each half of a surrogate pair that stands alone replaced by U+FFFD."""
    body = body.removeprefix(_BOM)
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda match: _REPLACED if match[3] else match[0], body)
