"""Parameters of a request: their names, formats and limits (document: "Endpoints", "Limits").

The document leaves formats open; the sandbox's README lists the decisions. Messages never repeat a value, because it
may be a token that was pasted into the wrong parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from p2p_analytics.sandbox.errors import (
    InvalidParameterError,
    MissingArgumentError,
    NotFoundError,
    NoTokenError,
    UnknownScopeError,
)
from p2p_analytics.sandbox.storage.index_ranges import count_index_ranges
from p2p_analytics.sandbox.storage.rows import LARGEST, PaymentFilter
from p2p_analytics.vocabulary import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAXIMUM, TOKEN_PARAMETER, Action, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Scope as HttpScope

_Word = TypeVar("_Word", bound=StrEnum)

MOST_COMBINATIONS: Final = 64  # of actor, action and status: each needs a database search
_SCOPES: Final = frozenset(scope.value for scope in Scope)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Ids fit 63 bits. A short pattern covers ids below 92 * 10**17, and the sandbox issues none above.
ID: Final = re.compile(r"[1-9]\d{0,17}|[1-8]\d{18}|9[01]\d{17}", re.ASCII)
_WHOLE: Final = re.compile(r"[+ ]?\d{1,4000}", re.ASCII)
INSTANT: Final = re.compile(
    r"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))"
    r"(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(?:[Zz]|([+\- ])([01]\d|2[0-3]):?([0-5]\d))?)?",
    re.ASCII,
)


class Parameters:
    """The parameters of one request; blank values are ignored."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in pairs:
            if value:
                self._given.setdefault(name, []).append(value)

    def pairs(self) -> list[tuple[str, str]]:
        """Return all names and values that are not blank."""
        return [(name, value) for name in self._given for value in self._values(name)]

    def get(self, name: str) -> str | None:
        """Return the value of a parameter, stripped, or None if it is missing."""
        value = _single(name, self._values(name))
        return None if value is None else value.strip()

    def get_verbatim(self, name: str) -> str:
        """Return the value of an existing parameter, with leading and trailing spaces."""
        return self._values(name)[0]

    def get_distinct(self, name: str) -> set[str]:
        """Return the distinct values of a parameter, stripped; an empty set if it is missing."""
        return {value.strip() for value in self._values(name)}

    def get_exact(self, name: str) -> str | None:
        """Return the value of a parameter verbatim, even if it is only spaces, or None if it is missing or empty."""
        return _single(name, self._given.get(name, []))

    def require(self, name: str) -> str:
        """Return the value of a required parameter, stripped."""
        value = self.get(name)
        if value is None:
            raise MissingArgumentError(f"The parameter {name} is missing.")
        return value

    def _values(self, name: str) -> list[str]:
        """Return the values of a parameter that are not blank."""
        return [value for value in self._given.get(name, []) if value.strip()]


@dataclass(frozen=True, slots=True)
class PaymentList:
    """Filter and page size of one GET /payments, and the parameters that its next link repeats."""

    filter: PaymentFilter
    limit: int
    repeated: dict[str, str]


@dataclass(frozen=True, slots=True)
class FriendList:
    """Bounds and page size of one GET /users/:user_id/friends, and the parameters that its next link repeats."""

    after: int
    before: int
    limit: int
    repeated: dict[str, str]


def read_payment_list(parameters: Parameters) -> PaymentList:
    """Read the parameters of GET /payments."""
    given = {name: parameters.get(name) for name in ("action", "actor", "status", "after", "before")}
    limit = read_page_size(parameters)
    actors = tuple(sorted({_read_actor(word) for word in _split(given["actor"])}))
    payment_filter = PaymentFilter(
        actions=_read_words("action", given["action"], Action, several=False),
        statuses=_read_words("status", given["status"], Status, several=True),
        actors=actors,
        after_us=-LARGEST if given["after"] is None else instant_us("after", given["after"]),
        before_us=LARGEST if given["before"] is None else instant_us("before", given["before"]),
    )
    if count_index_ranges(payment_filter) > MOST_COMBINATIONS:
        raise InvalidParameterError(
            f"actor, action and status make more than {MOST_COMBINATIONS} combinations; ask for fewer actors at a time."
        )
    repeated = {name: value for name, value in given.items() if value is not None and name != "before"}
    return PaymentList(payment_filter, limit, {"limit": str(limit), **repeated})


def read_friend_list(parameters: Parameters) -> FriendList:
    """Read the parameters of GET /users/:user_id/friends."""
    limit = read_page_size(parameters)
    after, before = parameters.get("after"), parameters.get("before")
    return FriendList(
        after=0 if after is None else _read_bound("after", after),
        before=LARGEST if before is None else _read_bound("before", before),
        limit=limit,
        repeated={"limit": str(limit), **({"before": before} if before else {})},
    )


def read_page_size(parameters: Parameters) -> int:
    """Return the page size: 20 by default, and 50 for any larger value."""
    text = parameters.get("limit")
    if text is None:
        return PAGE_SIZE_DEFAULT
    digits = text.lstrip("+ ").lstrip("0")
    if not _WHOLE.fullmatch(text) or not digits:
        raise InvalidParameterError(f"limit must be a whole number from 1 to {PAGE_SIZE_MAXIMUM}.")
    return PAGE_SIZE_MAXIMUM if len(digits) > len(str(PAGE_SIZE_MAXIMUM)) else min(int(digits), PAGE_SIZE_MAXIMUM)


def instant_us(name: str, text: str) -> int:
    """Return a datetime parameter as microseconds since 1970; naive datetimes are UTC, a date means its midnight.

    A space in place of a sign is a plus that was not percent-encoded.
    """
    match = INSTANT.fullmatch(text)
    if match is None:
        raise InvalidParameterError(f"{name} must be a datetime like 2024-05-31T18:30:00Z or a date like 2024-05-31.")
    day, clock, fraction, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}+00:00")
    except ValueError:
        raise InvalidParameterError(f"{name} is a date that does not exist in the calendar.") from None
    whole = (moment - _EPOCH - offset) // timedelta(microseconds=1)
    return whole + int((fraction or "").ljust(6, "0")[:6])


def read_id(text: str) -> int:
    """Return the id in a path; text that cannot be an id is answered like an unknown id."""
    if not ID.fullmatch(text):
        raise NotFoundError
    return int(text)


def read_bearer_token(parameters: Parameters, authorization: Iterable[str]) -> str:
    """Return the access token of a request, from its parameter or the Authorization header.

    Some clients send the same token in several places; different tokens are refused.
    """
    given = parameters.get_distinct(TOKEN_PARAMETER)
    for header in authorization:
        kind, _, value = header.partition(" ")
        if kind.lower() == "bearer" and value.strip():
            given.add(value.strip())
    if not given:
        raise NoTokenError
    if len(given) > 1:
        raise InvalidParameterError("The request has two different access tokens; send one.")
    return given.pop()


def header_values(scope: HttpScope, name: bytes) -> list[str]:
    """Return all values of a request header; `name` is in lower case."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def read_scopes(text: str, *, ignore_unknown: bool = False) -> frozenset[Scope]:
    """Return the scopes of a list that is separated by spaces or commas."""
    words = [word for word in re.split(r"[\s,]+", text) if word]
    if not words:
        raise MissingArgumentError("The parameter scope is missing.")
    if ignore_unknown:
        words = [word for word in words if word in _SCOPES]
    try:
        return frozenset(Scope(word) for word in words)
    except ValueError:
        raise UnknownScopeError(f"scope holds an unknown word; the scopes are {', '.join(Scope)}.") from None


def _single(name: str, values: list[str]) -> str | None:
    if len(values) > 1:
        raise InvalidParameterError(f"The parameter {name} is given more than once; give it once.")
    return values[0] if values else None


def _split(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _read_words(name: str, text: str | None, kind: type[_Word], *, several: bool) -> tuple[_Word, ...]:
    words = _split(text)
    try:
        chosen = {kind(word) for word in words}
    except ValueError:
        raise InvalidParameterError(f"{name} must be {' or '.join(kind)}.") from None
    if len(words) > 1 and not several:
        raise InvalidParameterError(f"{name} takes one value: {' or '.join(kind)}.")
    return tuple(word for word in kind if word in chosen)


def _read_actor(word: str) -> int:
    try:
        return read_id(word)
    except NotFoundError:
        raise InvalidParameterError("actor must be a user id, or several separated by commas.") from None


def _read_bound(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidParameterError(f"{name} must be a user id.")
    digits = text.lstrip("0") or "0"
    return LARGEST if len(digits) > len(str(LARGEST)) else min(int(digits), LARGEST)
