"""Wire types: JSON as the service sends it, and the envelopes around it."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from p2p_analytics.errors import PaginationError, ProtocolError

T = TypeVar("T")

NULL: Final = msgspec.Raw(b"null")
DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class WireUser(msgspec.Struct):
    """A user."""

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
    """A target; real answers have kinds beside the three documented ones."""

    type: str | None = None
    email: str | None = None
    phone: str | None = None
    user: WireUser | None = None
    merchant: dict[str, Any] | None = None


class WireAmount(msgspec.Struct):
    """A fee or refund; the document specifies little more than its amount."""

    id: str | None = None
    amount: msgspec.Raw = NULL


class WirePayment(msgspec.Struct):
    """A payment."""

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
    """The envelope of a list; ``pagination`` may be null, empty or missing on the last page."""

    pagination: dict[str, Any] | None = None


class WireList(WirePage, kw_only=True):
    """The envelope of a list with its undecoded items."""

    data: list[msgspec.Raw]


def next_link(page: WirePage) -> str | None:
    """Return the next link of a list, None on its last page."""
    link = (page.pagination or {}).get("next") or None
    if link is not None and not isinstance(link, str):
        raise PaginationError("The next link of a list is not text, so the list cannot be paged to its end.")
    return link


def decode_envelope(body: bytes, kind: type[T]) -> T:
    """Decode the envelope of a repaired body; raise a ProtocolError for another one."""
    try:
        return msgspec.json.decode(body, type=kind)
    except DECODE_ERRORS as error:
        reason = str(error)
    raise ProtocolError(f"The service's answer is not the documented JSON: {reason}.")


def is_envelope(body: bytes) -> bool:
    """Return whether a body is a JSON object with an object or a list as its ``data``."""
    try:
        data = msgspec.json.decode(repair_json(body), type=dict[str, msgspec.Raw]).get("data")
    except DECODE_ERRORS:
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
REPLACEMENT_ESCAPE: Final = b"\\ufffd"
_ESCAPE: Final = re.compile(
    rb"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u(d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL
)


def remove_bom(body: bytes) -> bytes:
    """Return a body without its byte order mark."""
    return body.removeprefix(_BOM)


def repair_json(body: bytes) -> bytes:
    """Return a body without its byte order mark, and with each unpaired surrogate escape replaced by U+FFFD."""
    body = remove_bom(body)
    if b"\\" not in body or (b"\\ud" not in body and b"\\uD" not in body):
        return body
    return _ESCAPE.sub(lambda match: REPLACEMENT_ESCAPE if match[3] else match[0], body)
