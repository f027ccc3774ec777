"""Records as sent, and each of their parts made a value: read exactly, or told."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from p2p_analytics.errors import MoneyError, PaginationError, ProtocolError
from p2p_analytics.money import to_cents
from p2p_analytics.records._models import Problem, Target, User
from p2p_analytics.times import parse_instant
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from datetime import datetime

T = TypeVar("T")

NULL: Final = msgspec.Raw(b"null")


class WireUser(msgspec.Struct):
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


class WireTarget(msgspec.Struct):
    """A target as sent; real answers know kinds beside the three documented ones."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None
    user: WireUser | None = None
    merchant: dict[str, Any] | None = None


class WireAmount(msgspec.Struct):
    """A fee or refund: of both the document shows little more than that there is an amount."""

    id: str | None = None
    amount: msgspec.Raw = NULL


class WirePayment(msgspec.Struct):
    """A payment as sent."""

    id: str | None = None
    status: str | None = None
    action: str | None = None
    amount: msgspec.Raw = NULL
    note: str | None = None
    audience: str | None = None
    medium: str | None = None
    date_created: str | None = None
    date_completed: str | None = None
    actor: WireUser | None = None
    target: WireTarget | None = None
    fee: WireAmount | None = None
    refund: WireAmount | None = None


class WirePage(msgspec.Struct):
    """A list's envelope; ``pagination`` may be null, empty or missing on the last page."""

    pagination: dict[str, Any] | None = None


class WireList(WirePage, kw_only=True):
    """A list with its items as they came."""

    data: list[msgspec.Raw]


UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
STATUSES: Final = frozenset(Status)
ACTIONS: Final = frozenset(Action)


class Problems:
    """Collects what is strange in the records of one answer."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.record_id: str | None = None

    def add(self, field: str, value: object, problem: str, *, unreadable: bool = False) -> None:
        shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        self.found.append(Problem(self.record_id, field, shown[:200], problem, unreadable))

    def decoded(self, kind: type[T], raw: bytes) -> T:
        """Decode a record, field by field where need be, so that one bad field does not take the others with it."""
        with contextlib.suppress(*UNDECODABLE):
            return msgspec.json.decode(raw, type=kind)
        wire = kind()
        try:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except UNDECODABLE:
            return wire
        known = msgspec.structs.fields(kind)  # type: ignore[arg-type]  # every kind is a Struct
        for field in sorted(known, key=lambda each: each.name != "id"):
            if field.name not in fields:
                continue
            try:
                value = msgspec.json.decode(fields[field.name], type=field.type)
            except UNDECODABLE as error:
                self.add(field.name, bytes(fields[field.name]), str(error), unreadable=True)
                continue
            setattr(wire, field.name, value)
            if kind is WirePayment and field.name == "id":
                self.record_id = value
        return wire


def user_of(wire: WireUser, problems: Problems, field: str) -> User:
    return User(
        id=wire.id,
        username=wire.username,
        first_name=wire.first_name,
        last_name=wire.last_name,
        display_name=wire.display_name,
        date_joined=instant_of(wire.date_joined, problems, f"{field}.date_joined"),
        profile_picture_url=wire.profile_picture_url,
        about="" if wire.about is not None and wire.about.isspace() else wire.about,  # a space stands for none
        email=wire.email,
        phone=wire.phone,
        is_friend=wire.is_friend,
        friends_count=wire.friends_count,
    )


def target_of(wire: WireTarget, problems: Problems) -> Target:
    name = (wire.merchant or {}).get("display_name")
    return Target(
        type=wire.type,
        email=wire.email,
        phone=wire.phone,
        user=user_of(wire.user, problems, "target.user") if wire.user else None,
        name=name if isinstance(name, str) else None,
    )


def cents_of(amount: msgspec.Raw, problems: Problems, field: str) -> int | None:
    """Read an amount from its own text, number or string: real balances are strings."""
    text = bytes(amount).decode("utf-8", "replace")
    if text == "null":
        return None
    try:
        return to_cents(text[1:-1] if text.startswith('"') else text)
    except MoneyError as error:
        problems.add(field, text, str(error).rstrip(".")[:200], unreadable=True)
        return None


def instant_of(text: str | None, problems: Problems, field: str) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError:
        problems.add(field, text, "not a datetime that exists", unreadable=True)
        return None


def link_of(page: WirePage) -> str | None:
    """Return a list's next link, None on its last page."""
    link = (page.pagination or {}).get("next") or None
    if link is not None and not isinstance(link, str):
        raise PaginationError("The next link of a list is not text, so the list cannot be paged to its end.")
    return link


def envelope(body: bytes, kind: type[T]) -> T:
    """Decode the envelope of a repaired body.

    Raises
    ------
    ProtocolError
        The body is not JSON, or not the documented envelope.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except UNDECODABLE as error:
        reason = str(error)
    raise ProtocolError(f"The service's answer is not the documented JSON: {reason}.")


def is_envelope(body: bytes) -> bool:
    """Return whether a body is a JSON object with an object or a list as its ``data``."""
    try:
        data = msgspec.json.decode(repair_json(body), type=dict[str, msgspec.Raw]).get("data")
    except UNDECODABLE:
        return False
    return data is not None and is_container(data)


def is_container(value: msgspec.Raw) -> bool:
    """Return whether a JSON value is an object or a list."""
    return bytes(value)[:1] in {b"{", b"["}


def check_envelope(body: bytes) -> bytes:
    """Return a body unchanged where it is an envelope of any kind; else raise a ProtocolError."""
    if is_envelope(body):
        return body
    raise ProtocolError("The service's answer is not the documented JSON.")


_BOM: Final = b"\xef\xbb\xbf"
REPLACED: Final = b"\\ufffd"
_ESCAPE: Final = re.compile(
    rb"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u(d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL
)


def repair_json(body: bytes) -> bytes:
    """Return a body without its byte order mark, and with each unpaired surrogate escape replaced by U+FFFD."""
    body = body.removeprefix(_BOM)
    if b"\\" not in body or (b"\\ud" not in body and b"\\uD" not in body):
        return body
    return _ESCAPE.sub(lambda match: REPLACED if match[3] else match[0], body)
