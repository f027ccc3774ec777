"""Parser of request parameters, and the formats that several endpoints share: ids, datetimes, scopes, tokens.

The document leaves formats open; the sandbox's README lists the decisions. Messages never repeat a value, because it
may be a token that was pasted into the wrong parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.types import Scope as HttpScope

from p2p_analytics.sandbox.errors import (
    InvalidParameterError,
    MissingArgumentError,
    NotFoundError,
    NoTokenError,
    UnknownScopeError,
)
from p2p_analytics.vocabulary import TOKEN_PARAMETER, Scope

_SCOPES: Final = frozenset(scope.value for scope in Scope)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Ids fit 63 bits. A short pattern covers ids below 92 * 10**17, and the sandbox issues none above.
ID: Final = re.compile(r"[1-9]\d{0,17}|[1-8]\d{18}|9[01]\d{17}", re.ASCII)
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
