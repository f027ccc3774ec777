"""A page of payments in which nothing is strange, decoded all at once.

Most pages are such. Where anything is unusual, even only in one record, the page is left to the
code that goes record by record and can say what it is. People come again and again, so each is
decoded once and kept under its bytes.
"""

from __future__ import annotations

from itertools import count, repeat
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import to_cents
from p2p_analytics.records._types import Answer, Page, Payment, Refund
from p2p_analytics.records._wire import (
    ACTIONS,
    NULL,
    REPLACED,
    STATUSES,
    UNDECODABLE,
    Problems,
    WireAmount,
    WirePage,
    WireTarget,
    WireUser,
    link_of,
    target_of,
    user_of,
)
from p2p_analytics.times import parse_instants

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from p2p_analytics.records._types import Target, User

T = TypeVar("T")


def plain_page(body: bytes) -> Page[Payment] | None:
    """Return a page of payments, or None where anything in it is strange."""
    if b"\\" in body and body.rfind(REPLACED) >= 0:  # from the end it takes half the time
        return None
    try:
        page = _PAGE.decode(body)
        return Page(tuple(_payments(page.data, Answer(body))), link_of(page))
    except (*UNDECODABLE, MoneyError, ValueError):
        return None


def _payments(sent: list[_WirePlain], answer: Answer) -> map[Payment]:
    """Return the records; column by column, because that is where the time goes."""
    ids = [wire.id for wire in sent]
    status = [wire.status for wire in sent]
    action = [wire.action for wire in sent]
    if not (all(ids) and STATUSES.issuperset(status) and ACTIONS.issuperset(action)):
        raise ValueError
    return map(
        Payment,
        ids,
        status,
        action,
        [_cents[bytes(wire.amount)] for wire in sent],
        [wire.note for wire in sent],
        [wire.audience for wire in sent],
        [wire.medium for wire in sent],
        parse_instants([wire.date_created for wire in sent]),
        _instants([wire.date_completed for wire in sent]),
        [_actors[bytes(wire.actor)] for wire in sent],
        [_targets[bytes(wire.target)] for wire in sent],
        [wire.fee and _cents[bytes(wire.fee.amount)] for wire in sent],
        [wire.refund and _refund(wire.refund) for wire in sent],
        repeat(answer),
        count(),
    )


def _refund(sent: WireAmount) -> Refund:
    return Refund(id=sent.id, amount_cents=_cents[bytes(sent.amount)])


def _instants(texts: list[str | None]) -> list[datetime | None]:
    read = iter(parse_instants([text for text in texts if text is not None]))
    return [None if text is None else next(read) for text in texts]


class _WirePlain(msgspec.Struct, gc=False):
    """A payment as sent, with what the document says is always set."""

    id: str
    status: str
    action: str
    date_created: str
    amount: msgspec.Raw = NULL
    note: str | None = None
    audience: str | None = None
    medium: str | None = None
    date_completed: str | None = None
    actor: msgspec.Raw = NULL
    target: msgspec.Raw = NULL
    fee: WireAmount | None = None
    refund: WireAmount | None = None


class _WirePlainPage(WirePage, kw_only=True):
    """A page of such payments."""

    data: list[_WirePlain]


_PAGE: Final = msgspec.json.Decoder(_WirePlainPage)


class _Known(dict[bytes, T]):
    """Values under the bytes they were read from; what cannot be read, or is strange, raises a ValueError."""

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
    return _unless_strange(problems, actor)


def _read_target(raw: bytes) -> Target:
    problems = Problems()
    return _unless_strange(problems, target_of(msgspec.json.decode(raw, type=WireTarget), problems))


def _unless_strange(problems: Problems, value: T) -> T:
    if problems.found:
        raise ValueError(problems.found[0].problem)
    return value


_cents: Final = _Known(_read_cents, 2**15)
_actors: Final = _Known(_read_actor, 2**13)
_targets: Final = _Known(_read_target, 2**13)
