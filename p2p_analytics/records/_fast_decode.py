"""Payments in which nothing is strange, read all at once.

Most are such. Where anything is unusual, even only in one record, the page is left to the code
that goes record by record and can say what it is. People come again and again, so each is decoded
once and kept under its bytes.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import msgspec

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import to_cents
from p2p_analytics.records._models import Payment
from p2p_analytics.records._wire_types import (
    NULL,
    REPLACED,
    UNDECODABLE,
    Problems,
    WirePage,
    WireTarget,
    WireUser,
    target_of,
    user_of,
)
from p2p_analytics.times import in_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from p2p_analytics.records._models import Answer, Target, User

T = TypeVar("T")

STRANGE: Final = (*UNDECODABLE, MoneyError, ValueError, OverflowError)


class WirePlain(msgspec.Struct, gc=False, kw_only=True):
    """A payment as sent, with what the document says is always set, and its words.

    In the order of the list samples (document: "Payment"), so that each key is found where it is looked for first.
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


class WirePlainPage(WirePage, kw_only=True):
    """A page of such payments."""

    data: list[WirePlain]


def plain_payments(body: bytes, sent: Sequence[WirePlain], answer: Answer) -> list[Payment] | None:
    """Return the records of a page, or None where anything in them is strange."""
    if b"\\" in body and body.rfind(REPLACED) >= 0:  # from the end it takes half the time
        return None
    try:
        return [_payment(wire, answer, place) for place, wire in enumerate(sent)]
    except STRANGE:
        return None


def plain_cents(sent: Sequence[WirePlain]) -> list[int]:
    """Return the amounts of a page in cents, or raise one of ``STRANGE``."""
    return [_cents[bytes(wire.amount)] for wire in sent]


def _payment(wire: WirePlain, answer: Answer, place: int) -> Payment:
    return Payment(
        id=wire.id,
        status=wire.status,
        action=wire.action,
        amount_cents=_cents[bytes(wire.amount)],
        note=wire.note,
        audience=wire.audience,
        medium=wire.medium,
        date_created=in_utc(wire.date_created),
        date_completed=wire.date_completed and in_utc(wire.date_completed),
        actor=read_actor[bytes(wire.actor)],
        target=read_target[bytes(wire.target)],
        answer=answer,
        place=place,
    )


class _Known(dict[bytes, T]):
    """Values under the bytes they were read from; what cannot be read, or is strange, raises one of ``STRANGE``."""

    def __init__(self, read: Callable[[bytes], T], most: int) -> None:
        self._read = read
        self._most = most

    def __missing__(self, raw: bytes) -> T:
        if len(self) >= self._most:
            self.clear()
        self[raw] = value = self._read(raw)
        return value


def _read_cents(raw: bytes) -> int:
    text = raw.decode()
    return to_cents(text[1:-1] if text.startswith('"') else text)


def _read_actor(raw: bytes) -> User:
    problems = Problems()
    actor = user_of(msgspec.json.decode(raw, type=WireUser), problems, "actor")
    return _unless_strange(raw, problems, actor)


def _read_target(raw: bytes) -> Target:
    problems = Problems()
    return _unless_strange(raw, problems, target_of(msgspec.json.decode(raw, type=WireTarget), problems))


def _unless_strange(raw: bytes, problems: Problems, value: T) -> T:
    if problems.found or REPLACED in raw:
        raise ValueError
    return value


_cents: Final = _Known(_read_cents, 2**15)
read_actor: Final = _Known(_read_actor, 2**13)
read_target: Final = _Known(_read_target, 2**13)
