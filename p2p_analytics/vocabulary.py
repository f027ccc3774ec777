"""Enumerated values and limits of the service's interface document, shared by client and sandbox.

Standard library only. Because both sides import this module, both could be wrong in the same way:
``tests/contract`` holds the document's own values as literals and checks both sides against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """The status of a payment (document: "States and transitions")."""

    SETTLED = "settled"
    PENDING = "pending"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Action(StrEnum):
    """The action of a payment: the actor pays the target, or charges the target."""

    PAY = "pay"
    CHARGE = "charge"


class Audience(StrEnum):
    """The people who may see a payment."""

    PUBLIC = "public"
    FRIENDS = "friends"
    PRIVATE = "private"


class Medium(StrEnum):
    """The channel through which a payment was created."""

    IOS = "ios"
    ANDROID = "android"
    WEB = "web"
    API = "api"


class TargetType(StrEnum):
    """The kind of address to which a payment was sent."""

    EMAIL = "email"
    PHONE = "phone"
    USER = "user"


class Scope(StrEnum):
    """A permission of a token (document: "Scopes named")."""

    PROFILE = "access_profile"
    EMAIL = "access_email"
    PHONE = "access_phone"
    BALANCE = "access_balance"
    FRIENDS = "access_friends"
    PAYMENTS = "make_payments"


class Resolution(StrEnum):
    """An action of PUT /payments/:payment on a pending payment."""

    APPROVE = "approve"
    DENY = "deny"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A documented endpoint: its method, its path below the base URL, its scopes and parameters."""

    method: str
    path: str
    scope: Scope | None
    parameters: tuple[str, ...]
    optional_scopes: tuple[Scope, ...] = ()

    def at(self, identifier: str) -> str:
        """Return the path with an identifier in place of its ``{...}`` placeholder."""
        start, end = self.path.index("{"), self.path.index("}")
        return self.path[:start] + identifier + self.path[end + 1 :]


TOKEN_PARAMETER: Final = "access_token"  # noqa: S105 - the name of the parameter, not a secret

ME: Final = Endpoint("GET", "/me", Scope.PROFILE, (TOKEN_PARAMETER,), (Scope.EMAIL, Scope.PHONE, Scope.BALANCE))
USER: Final = Endpoint("GET", "/users/{user_id}", Scope.PROFILE, (TOKEN_PARAMETER,))
FRIENDS: Final = Endpoint("GET", "/users/{user_id}/friends", Scope.FRIENDS, (TOKEN_PARAMETER, "before", "limit"))
PAYMENTS: Final = Endpoint(
    "GET",
    "/payments",
    Scope.PROFILE,
    (TOKEN_PARAMETER, "action", "actor", "status", "limit", "after", "before"),
)
PAYMENT: Final = Endpoint("GET", "/payments/{payment}", Scope.PROFILE, (TOKEN_PARAMETER,))
CREATE_PAYMENT: Final = Endpoint(
    "POST",
    "/payments",
    Scope.PAYMENTS,
    (TOKEN_PARAMETER, "user_id", "email", "phone", "note", "amount", "audience"),
    (Scope.BALANCE,),
)
RESOLVE_PAYMENT: Final = Endpoint("PUT", "/payments/{payment}", Scope.PAYMENTS, (TOKEN_PARAMETER, "action"))
AUTHORIZE: Final = Endpoint("GET", "/oauth/authorize", None, ("client_id", "scope", "redirect_uri"))
ENDPOINTS: Final = (
    ME, USER, FRIENDS, CREATE_PAYMENT, PAYMENTS, PAYMENT, RESOLVE_PAYMENT, AUTHORIZE,
)  # fmt: skip

VERSION_PATH: Final = "/v1"
PAGE_SIZE_DEFAULT: Final = 20
PAGE_SIZE_MAXIMUM: Final = 50
CLIENT_TOKEN_SECONDS: Final = 30 * 60
SERVER_TOKEN_SECONDS: Final = 60 * 24 * 60 * 60

USER_FIELDS: Final = (
    "id", "username", "first_name", "last_name", "display_name", "date_joined",
    "profile_picture_url", "about", "email", "phone", "is_friend", "friends_count",
)  # fmt: skip
FRIEND_FIELDS: Final = (
    "username", "about", "last_name", "display_name", "first_name", "profile_picture_url", "id",
)  # fmt: skip
EMBEDDED_USER_FIELDS: Final = (
    "username", "first_name", "last_name", "display_name", "about", "profile_picture_url", "id",
    "date_joined",
)  # fmt: skip
TARGET_FIELDS: Final = ("type", "email", "phone", "user")
PAYMENT_FIELDS: Final = (
    "id", "status", "note", "amount", "action", "date_created", "date_completed", "audience",
    "target", "actor", "fee", "refund", "medium",
)  # fmt: skip
LISTED_PAYMENT_FIELDS: Final = (
    "status", "date_completed", "target", "audience", "actor", "note", "amount", "action",
    "date_created", "id",
)  # fmt: skip
