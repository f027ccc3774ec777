"""The two dialects of the service: as the document says, and as seen from real services.

All differences between them are defined here. The middleware sets the dialect of each request in a context variable,
so that no function in between has to pass it on.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Final

import orjson

from p2p_analytics.money import format_cents
from p2p_analytics.sandbox.storage.rows import Person, Spelling
from p2p_analytics.vocabulary import Medium

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - only formatted, with a Z or without a zone
_SECOND: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The documented dialect, and the base class of the other: how values are written in responses."""

    name: str = "documented"
    # The JSON Schemas of what the methods below return.
    schemas: ClassVar[dict[str, dict[str, Any]]] = {
        "amount": {"type": "number", "description": "Currency units; negative for a charge."},
        "balance": {"type": ["number", "null"]},
        "datetime": {"type": "string", "pattern": rf"^{_SECOND}(?:\.[0-9]{{6}}|Z)?$", "description": "UTC."},
        "medium": {"type": "string", "enum": [medium.value for medium in Medium]},
    }

    # Undocumented fields and their values: of the user in /me, and of each target.
    more: ClassVar[dict[str, dict[str, Any]]] = {"me": {}, "target": {}}

    # Undocumented behaviour that public clients rely on.
    ignores_unknown_scopes: ClassVar[bool] = False
    takes_usernames: ClassVar[bool] = False  # in paths, instead of user ids
    always_shows_user: ClassVar[bool] = False  # in the response of the token exchange, also without access_profile

    # Whether an amount for new users, sent to the fixed test user, has a separate error code.
    separates_new_users: ClassVar[bool] = False

    def person(self, person: Person) -> Person:
        """Return a person with the values that responses show."""
        return person

    def amount(self, cents: int) -> orjson.Fragment:
        """Return an amount as a number, negative for a charge."""
        # Inserted as digits, because a binary float is not exact.
        return orjson.Fragment(format_cents(cents))

    def balance(self, cents: int) -> Any:  # noqa: ANN401 - a number or text
        """Return a balance as a number."""
        return self.amount(cents)

    def code(self, code: str) -> str | int:
        """Return an error's code as text."""
        return code

    def status(self, status: int, code: str) -> int:  # noqa: ARG002 - used by the other dialect
        """Return an error's HTTP status."""
        return status

    def medium(self, medium: str, application: str | None) -> str:  # noqa: ARG002 - used by the other dialect
        """Return the channel that a payment was created through."""
        return medium

    def moment(self, microseconds: int, spelling: int) -> str:
        """Return a datetime in one of the document's three spellings."""
        fractional = spelling == Spelling.FRACTIONAL or microseconds % 1_000_000
        return format_instant(microseconds, fraction=bool(fractional)) + (
            "Z" if spelling == Spelling.STATED and not fractional else ""
        )


@dataclass(frozen=True, slots=True)
class _Observed(Dialect):
    """Balances as text, codes as numbers, no sign, no Z, blank bios, and more fields."""

    name: str = "observed"
    application: str = ""
    rate_limit_status: int = 429
    schemas: ClassVar[dict[str, dict[str, Any]]] = {
        "amount": {"type": "number", "minimum": 0, "description": "Currency units, without a sign."},
        "balance": {"type": ["string", "null"], "pattern": r"^-?[0-9]+\.[0-9]{2}$"},
        "datetime": {"type": "string", "pattern": rf"^{_SECOND}(?:\.[0-9]{{6}})?$", "description": "UTC."},
        "medium": {"type": "string", "description": "A channel, or the name of the application that paid."},
    }

    more: ClassVar[dict[str, dict[str, Any]]] = {
        "me": {"friend_request": {"status": None}, "trust_request": {"status": None}},
        "target": {"merchant": None, "redeemable_target": None},
    }
    ignores_unknown_scopes: ClassVar[bool] = True
    takes_usernames: ClassVar[bool] = True
    always_shows_user: ClassVar[bool] = True
    separates_new_users: ClassVar[bool] = True

    def person(self, person: Person) -> Person:
        return person if person.about else person._replace(about=" ")

    def amount(self, cents: int) -> orjson.Fragment:
        return orjson.Fragment(format_cents(abs(cents)))

    def balance(self, cents: int) -> str:
        return format_cents(cents)

    def code(self, code: str) -> str | int:
        return int(code) if code.isdigit() else code

    def status(self, status: int, code: str) -> int:
        return {"283": 400, "277": self.rate_limit_status}.get(code, status)

    def medium(self, medium: str, application: str | None) -> str:
        return (application or self.application or medium) if medium == Medium.API else medium

    def moment(self, microseconds: int, spelling: int) -> str:
        return format_instant(microseconds, fraction=bool(spelling == Spelling.FRACTIONAL or microseconds % 1_000_000))


def observed_dialect(application: str, rate_limit_status: int) -> Dialect:
    """Return the observed dialect.

    The application's name is the medium of payments from the town's history, and of payments made with a token that
    belongs to no application. Code 277 was once seen with the HTTP status 400.
    """
    return _Observed(application=application, rate_limit_status=rate_limit_status)


@lru_cache(4_096)  # a page repeats join dates, and often has equal created and completed times
def format_instant(microseconds: int, *, fraction: bool) -> str:
    """Return an instant in ISO 8601 without a zone."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds" if fraction else "seconds")


ACTIVE_DIALECT: Final[ContextVar[Dialect]] = ContextVar("sandbox_dialect", default=Dialect())  # noqa: B039 - it is frozen
