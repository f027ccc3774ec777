"""Errors of the sandbox: exceptions for its callers, and refusals that become responses with an HTTP status.

Codes are strings (document: "Errors"). The document lists no codes: codes that differ from the HTTP status are
publicly known of the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from p2p_analytics.errors import P2PAnalyticsError

_NO_TOKEN: Final = {"WWW-Authenticate": "Bearer"}
_INVALID_TOKEN: Final = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
_CLIENT: Final = {"WWW-Authenticate": 'Basic realm="oauth"'}


class SandboxError(P2PAnalyticsError):
    """Base class of the sandbox's errors."""


class UnknownPersonError(SandboxError, ValueError):
    """No person of the town has that username or id."""


class SettingError(SandboxError, ValueError):
    """Invalid setting or argument of the sandbox."""


class RefusalError(SandboxError):
    """Refused request; the response is the error envelope."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "500"
    default: ClassVar[str]  # the message where none is given
    headers: Mapping[str, str] = MappingProxyType({})

    def __init_subclass__(cls, *, code: str, status: int | None = None) -> None:
        """Declare the HTTP status, by default the one of the base class, and the code."""
        cls.status, cls.code = status or cls.status, code

    def __init__(self, message: str | None = None, *, headers: Mapping[str, str] | None = None) -> None:
        self.message = self.default if message is None else message
        self.headers = headers or self.headers
        super().__init__(self.message)


class InvalidParameterError(RefusalError, status=400, code="400"):
    """Parameter without the documented form."""


class WrongHostError(RefusalError, status=400, code="400"):
    """Host header with another host, as after DNS rebinding."""


class MissingArgumentError(RefusalError, status=400, code="241"):
    """Required parameter is missing."""


class UnknownClientError(RefusalError, status=400, code="250"):
    """Client id of no application."""


class UnapprovedClientError(RefusalError, status=400, code="245"):
    """Application without a valid redirect URL on file."""


class UnknownScopeError(RefusalError, status=400, code="246"):
    """Requested scope that the document does not list."""


class ResponseTypeError(RefusalError, status=400, code="249"):
    """Unsupported response type."""


class NoTokenError(RefusalError, status=401, code="267"):
    """Request without an access token."""

    default = "You did not pass a valid OAuth access token: add the access_token parameter."
    headers = _NO_TOKEN


class InvalidTokenError(RefusalError, status=401, code="261"):
    """Access token that was never issued."""

    default = "You did not pass a valid OAuth access token."
    headers = _INVALID_TOKEN


class ExpiredTokenError(RefusalError, status=401, code="265"):
    """Expired access token."""

    default = "Your OAuth access token has expired."
    headers = _INVALID_TOKEN


class MissingScopeError(RefusalError, status=403, code="260"):
    """Access token without the scope that the endpoint requires."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs an access token with the scope {scope}: authorize the application for it.")


class DeletedTokenError(RefusalError, status=401, code="259"):
    """Access token that was replaced by a refresh, or belongs to a deleted application."""

    default = "Your OAuth access token was replaced or deleted."
    headers = _INVALID_TOKEN


class RevokedTokenError(RefusalError, status=401, code="262"):
    """Access token that the user revoked, or that came from a code used twice."""

    default = "Your OAuth access token was revoked."
    headers = _INVALID_TOKEN


class ForgeryError(RefusalError, status=403, code="240"):
    """Form that does not belong to a page shown to this browser."""


class NoRecipientError(RefusalError, status=400, code="1343"):
    """Recipient that is neither the id of a user, nor an email address, nor a US phone number."""


class NoteError(RefusalError, status=400, code="1355"):
    """Note that is missing, too long or not storable."""


class AmountError(RefusalError, status=400, code="1323"):
    """Amount that is zero or not a number of whole cents."""


class AmountTooLargeError(RefusalError, status=400, code="1357"):
    """Amount above the limit of one payment."""


class SelfPaymentError(RefusalError, status=400, code="1356"):
    """Payment or charge to the caller."""


class OutcomeAmountError(RefusalError, status=400, code="503"):
    """Amount to the fixed test user that is not in the document's table."""


class NewUserAmountError(OutcomeAmountError, code="502"):
    """Amount to the fixed test user that the document's table lists for unregistered addresses."""


class InsufficientFundsError(RefusalError, status=409, code="1319"):
    """Request that the balance does not cover; it stays pending."""


class RoleError(RefusalError, status=403, code="403"):
    """Action on a visible payment that only the other party may take."""


class UnverifiedError(RefusalError, status=403, code="403"):
    """Registration of an application by a user without a verified identity."""


class StateError(RefusalError, status=409, code="409"):
    """Action that requires a pending payment, on one that is not pending."""


class OAuthError(RefusalError, status=400, code="240"):
    """Refusal of the token exchange without a separate error code."""


class ClientNotFoundError(RefusalError, status=401, code="244"):
    """Token exchange with an unknown client id."""

    default = "No application has this client_id."
    headers = _CLIENT


class ClientSecretError(RefusalError, status=401, code="247"):
    """Wrong client secret."""

    default = "client_secret is not the secret of this application."
    headers = _CLIENT


class ForeignCodeError(OAuthError, code="255"):
    """Code of another application."""

    default = "This code belongs to another application."


class ExpiredCodeError(OAuthError, code="256"):
    """Expired code."""

    default = "This code has expired: send the user to the authorization page again."


class RedeemedCodeError(OAuthError, code="257"):
    """Code that was used before, so it may have leaked."""

    default = "This code was already redeemed, so the tokens made from it are revoked."


class RefreshError(RefusalError, status=400, code="275"):
    """Refresh token that is unknown, replaced, revoked or of another application."""

    default = "This refresh token is not valid: send the user to the authorization page again."


class GrantTypeError(RefusalError, status=400, code="276"):
    """Unsupported grant type."""


class NotFoundError(RefusalError, status=404, code="283"):
    """Resource that does not exist or that the token's owner may not see; both look the same."""

    default = "Resource not found."


class RateLimitError(RefusalError, status=429, code="277"):
    """Too many requests of a user, application or address."""

    default = "You have exceeded the rate limit: wait for the seconds of Retry-After."

    def __init__(self, seconds: int) -> None:
        super().__init__(headers={"Retry-After": str(seconds)})


class ControlError(RefusalError, status=403, code="403"):
    """Request to a control route without the header that web pages cannot send."""


class MediaTypeError(RefusalError, status=415, code="415"):
    """Body of a control route with a media type other than JSON."""


class MethodError(RefusalError, status=405, code="405"):
    """Method that the path does not support."""


class TooLargeError(RefusalError, status=413, code="413"):
    """Request body that is larger than any documented request."""
