"""Response bodies to records: one function per endpoint, except for pages of payments."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from p2p_analytics.errors import PaginationError, ProtocolError, RecordError
from p2p_analytics.records._models import Me, Page, Payment, Problem, Receipt, User
from p2p_analytics.records._single_records import decode_list, to_payment
from p2p_analytics.records._values import ProblemCollector, parse_amount, to_user
from p2p_analytics.records._wire_types import (
    DECODE_ERRORS,
    NULL,
    WireUser,
    decode_envelope,
    is_container,
    repair_json,
)


def decode_me(body: bytes) -> Me:
    """Decode the body of GET /me; fields that cannot be read are listed in ``problems``, except for the user id."""
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
    return _to_whole_payment(_decode_data(body), ProblemCollector())


def decode_receipt(body: bytes) -> Receipt:
    """Decode the body of POST /payments."""
    problems = ProblemCollector()
    wire = problems.decode(_WireReceipt, _decode_data(body))
    balance = parse_amount(wire.balance, problems, "balance")
    return Receipt(payment=_to_whole_payment(bytes(wire.payment), problems), balance_cents=balance)


def _to_whole_payment(raw: bytes, problems: ProblemCollector) -> Payment:
    payment = to_payment(raw, problems)
    raise_unreadable(problems.found)
    if payment is None:
        raise RecordError("The payment holds no id.")
    return payment


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
    """Raise a RecordError or PaginationError for the first problem that loses data; ``instead`` ends its sentence."""
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
