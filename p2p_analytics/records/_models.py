"""The records themselves: frozen values."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Problem(msgspec.Struct, frozen=True):
    """Something strange in one record: which record and field, its value, and what is wrong with it.

    ``unreadable`` says that a field is lost, ``incomplete`` that the list may lack records.
    """

    record_id: str | None
    field: str
    value: str
    problem: str
    unreadable: bool = False
    incomplete: bool = False


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


class Answer:
    """The bytes of a list, cut into its records when one of them is asked for."""

    def __init__(self, body: bytes = b"", records: list[bytes] | None = None) -> None:
        self.body = body
        self._records = records

    @property
    def records(self) -> list[bytes]:
        """The records as they were sent."""
        if self._records is None:
            self._records = [bytes(item) for item in _LIST.decode(self.body).data]
        return self._records


class _List(msgspec.Struct):
    data: list[msgspec.Raw]


_LIST: Final = msgspec.json.Decoder(_List)
_HIDDEN: Final = ("answer", "place")


class _Whole(msgspec.Struct, frozen=True):
    """A record that keeps the bytes it came in, and does not show them."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in {"raw", *_HIDDEN})
        return f"{type(self).__name__}({', '.join(shown)})"


class Payment(_Whole, frozen=True, gc=False):
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
    answer: Answer | None = None
    place: int = 0

    @property
    def raw(self) -> bytes:
        """The whole record as it was sent, unknown keys and all; empty where it was not."""
        return self.answer.records[self.place] if self.answer else b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payment) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        return (*msgspec.structs.astuple(self)[: -len(_HIDDEN)], self.raw)


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
