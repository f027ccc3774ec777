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

    def __init__(self, message: str | None = None, *, headers: Mapping[str, str] | None = None) -> None:
        self.message = self.default if message is None else message
        self.headers = headers or self.headers
        super().__init__(self.message)


class InvalidParameterError(RefusalError):
    """Parameter without the documented form."""

    status, code = 400, "400"


class WrongHostError(RefusalError):
    """Host header with another host, as after DNS rebinding."""

    status, code = 400, "400"


class MissingArgumentError(RefusalError):
    """Required parameter is missing."""

    status, code = 400, "241"


class UnknownClientError(RefusalError):
    """Client id of no application."""

    status, code = 400, "250"


class UnapprovedClientError(RefusalError):
    """Application without a valid redirect URL on file."""

    status, code = 400, "245"


class UnknownScopeError(RefusalError):
    """Requested scope that the document does not list."""

    status, code = 400, "246"


class ResponseTypeError(RefusalError):
    """Unsupported response type."""

    status, code = 400, "249"


class NoTokenError(RefusalError):
    """Request without an access token."""

    status, code = 401, "267"
    default = "You did not pass a valid OAuth access token: add the access_token parameter."
    headers = _NO_TOKEN


class InvalidTokenError(RefusalError):
    """Access token that was never issued."""

    status, code = 401, "261"
    default = "You did not pass a valid OAuth access token."
    headers = _INVALID_TOKEN


class ExpiredTokenError(RefusalError):
    """Expired access token."""

    status, code = 401, "265"
    default = "Your OAuth access token has expired."
    headers = _INVALID_TOKEN


class MissingScopeError(RefusalError):
    """Access token without the scope that the endpoint requires."""

    status, code = 403, "260"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs an access token with the scope {scope}: authorize the application for it.")


class DeletedTokenError(RefusalError):
    """Access token that was replaced by a refresh, or belongs to a deleted application."""

    status, code = 401, "259"
    default = "Your OAuth access token was replaced or deleted."
    headers = _INVALID_TOKEN


class RevokedTokenError(RefusalError):
    """Access token that the user revoked, or that came from a code used twice."""

    status, code = 401, "262"
    default = "Your OAuth access token was revoked."
    headers = _INVALID_TOKEN


class ForgeryError(RefusalError):
    """Form that does not belong to a page shown to this browser."""

    status, code = 403, "240"


class NoRecipientError(RefusalError):
    """Recipient that is neither the id of a user, nor an email address, nor a US phone number."""

    status, code = 400, "1343"


class NoteError(RefusalError):
    """Note that is missing, too long or not storable."""

    status, code = 400, "1355"


class AmountError(RefusalError):
    """Amount that is zero or not a number of whole cents."""

    status, code = 400, "1323"


class AmountTooLargeError(RefusalError):
    """Amount above the limit of one payment."""

    status, code = 400, "1357"


class SelfPaymentError(RefusalError):
    """Payment or charge to the caller."""

    status, code = 400, "1356"


class OutcomeAmountError(RefusalError):
    """Amount to the fixed test user that is not in the document's table."""

    status, code = 400, "503"


class NewUserAmountError(OutcomeAmountError):
    """Amount to the fixed test user that the document's table lists for unregistered addresses."""

    code = "502"


class InsufficientFundsError(RefusalError):
    """Request that the balance does not cover; it stays pending."""

    status, code = 409, "1319"


class RoleError(RefusalError):
    """Action on a visible payment that only the other party may take."""

    status, code = 403, "403"


class UnverifiedError(RefusalError):
    """Registration of an application by a user without a verified identity."""

    status, code = 403, "403"


class StateError(RefusalError):
    """Action that requires a pending payment, on one that is not pending."""

    status, code = 409, "409"


class OAuthError(RefusalError):
    """Refusal of the token exchange without a separate error code."""

    status, code = 400, "240"


class ClientNotFoundError(RefusalError):
    """Token exchange with an unknown client id."""

    status, code = 401, "244"
    default = "No application has this client_id."
    headers = _CLIENT


class ClientSecretError(RefusalError):
    """Wrong client secret."""

    status, code = 401, "247"
    default = "client_secret is not the secret of this application."
    headers = _CLIENT


class ForeignCodeError(OAuthError):
    """Code of another application."""

    code = "255"
    default = "This code belongs to another application."


class ExpiredCodeError(OAuthError):
    """Expired code."""

    code = "256"
    default = "This code has expired: send the user to the authorization page again."


class RedeemedCodeError(OAuthError):
    """Code that was used before, so it may have leaked."""

    code = "257"
    default = "This code was already redeemed, so the tokens made from it are revoked."


class RefreshError(RefusalError):
    """Refresh token that is unknown, replaced, revoked or of another application."""

    status, code = 400, "275"
    default = "This refresh token is not valid: send the user to the authorization page again."


class GrantTypeError(RefusalError):
    """Unsupported grant type."""

    status, code = 400, "276"


class NotFoundError(RefusalError):
    """Resource that does not exist or that the token's owner may not see; both look the same."""

    status, code = 404, "283"
    default = "Resource not found."


class RateLimitError(RefusalError):
    """Too many requests of a user, application or address."""

    status, code = 429, "277"
    default = "You have exceeded the rate limit: wait for the seconds of Retry-After."

    def __init__(self, seconds: int) -> None:
        super().__init__(headers={"Retry-After": str(seconds)})


class ControlError(RefusalError):
    """Request to a control route without the header that web pages cannot send."""

    status, code = 403, "403"


class MediaTypeError(RefusalError):
    """Body of a control route with a media type other than JSON."""

    status, code = 415, "415"


class MethodError(RefusalError):
    """Method that the path does not support."""

    status, code = 405, "405"


class TooLargeError(RefusalError):
    """Request body that is larger than any documented request."""

    status, code = 413, "413"
