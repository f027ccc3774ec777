"""Records: frozen values."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Problem(msgspec.Struct, frozen=True):
    """A deviation from the document in one record: the record, the field, its value, and a description.

    ``unreadable`` means that a field is lost, ``incomplete`` that the list may lack records.
    """

    record_id: str | None
    field: str
    value: str
    problem: str
    unreadable: bool = False
    incomplete: bool = False


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person; a field that a context does not send is None."""

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
    """The recipient of a payment or charge; ``name`` is set for targets of other kinds, such as a merchant."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None
    user: User | None = None
    name: str | None = None


class Refund(msgspec.Struct, frozen=True, kw_only=True):
    """The payment that returned the money."""

    id: str | None = None
    amount_cents: int | None = None


class RawRecords:
    """The bytes of each record of a body, split on first use."""

    def __init__(self, body: bytes = b"", records: list[bytes] | None = None) -> None:
        self._body = body
        self._records = records

    def __getitem__(self, position: int) -> bytes:
        """Return the bytes of one record."""
        if self._records is None:
            self._records = [bytes(item) for item in _LIST.decode(self._body).data]
        return self._records[position]


class _List(msgspec.Struct):
    data: list[msgspec.Raw]


_LIST: Final = msgspec.json.Decoder(_List)
_HIDDEN: Final = ("raw_records", "position")


class _RawRecord(msgspec.Struct, frozen=True):
    """A record that keeps its own bytes and leaves them out of its repr."""

    def __repr__(self) -> str:
        fields = (name for name in self.__struct_fields__ if name not in {"raw", *_HIDDEN})
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


class Payment(_RawRecord, frozen=True, gc=False):
    """A payment or charge; the amount has the sign that the service sent."""

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
    raw_records: RawRecords | None = None
    position: int = 0

    @property
    def raw(self) -> bytes:
        """The bytes of the whole record, with unknown keys; empty for a record that was not decoded."""
        return self.raw_records[self.position] if self.raw_records else b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payment) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        return (*msgspec.structs.astuple(self)[: -len(_HIDDEN)], self.raw)


class Me(_RawRecord, frozen=True, kw_only=True):
    """The token's owner, with the balance where the token may see it (document: "GET /me")."""

    user: User
    balance_cents: int | None = None
    problems: tuple[Problem, ...] = ()
    raw: bytes = b""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a pay or charge, and the token owner's balance after it, where the service sent it.

    ``reconciled`` means that the response was lost and the payment was found in the list afterwards.
    """

    payment: Payment
    balance_cents: int | None = None
    reconciled: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list: its records in order, the next link, the problems, and when it was fetched."""

    items: tuple[T, ...]
    next: str | None = None
    problems: tuple[Problem, ...] = ()
    fetched_at: datetime | None = None
