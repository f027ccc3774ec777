"""The sandbox's errors: those its caller sees, and those it answers with, each with its HTTP status.

::

    SandboxError (P2PAnalyticsError)
    ├── UnknownPersonError (ValueError)   nobody in the town has that username or id
    ├── SettingError (ValueError)         the sandbox cannot be started, or asked, like this
    └── RefusalError                      .status .code .headers: becomes the error envelope
        ├── InvalidParameterError  MissingArgumentError  WrongHostError  TooLargeError
        ├── NoTokenError  InvalidTokenError  ExpiredTokenError  MissingScopeError
        ├── DeletedTokenError  RevokedTokenError
        ├── UnknownClientError  UnapprovedClientError  UnknownScopeError  ResponseTypeError  ForgeryError
        ├── NoRecipientError  NoteError  AmountError  AmountTooLargeError  SelfPaymentError  OutcomeAmountError
        ├── NewUserAmountError (OutcomeAmountError)
        ├── InsufficientFundsError  RoleError  StateError
        ├── ClientNotFoundError  ClientSecretError  GrantTypeError  RefreshError  UnverifiedError
        ├── OAuthError  ForeignCodeError  ExpiredCodeError  RedeemedCodeError
        ├── RateLimitError  ControlError  MediaTypeError
        └── NotFoundError  MethodError

Codes are strings (document: "Errors"). The document lists none: those that do not repeat the HTTP
status are publicly known of the service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from p2p_analytics.errors import P2PAnalyticsError

if TYPE_CHECKING:
    from collections.abc import Mapping


class SandboxError(P2PAnalyticsError):
    """The root of the sandbox's errors."""


class UnknownPersonError(SandboxError, ValueError):
    """Nobody in the town has that username or id."""


class SettingError(SandboxError, ValueError):
    """The sandbox cannot be started, or asked, like this."""


class RefusalError(SandboxError):
    """A request is refused; the answer is the error envelope."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "500"

    def __init__(self, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = dict(headers or {})


class InvalidParameterError(RefusalError):
    """A parameter is not of the documented form."""

    status, code = 400, "400"


class WrongHostError(RefusalError):
    """The Host header names another host, as after DNS rebinding."""

    status, code = 400, "400"


class MissingArgumentError(RefusalError):
    """A required parameter is not there."""

    status, code = 400, "241"


class UnknownClientError(RefusalError):
    """No application has this client id."""

    status, code = 400, "250"


class UnapprovedClientError(RefusalError):
    """The application has no redirect URL on file that could be used."""

    status, code = 400, "245"


class UnknownScopeError(RefusalError):
    """A requested scope is not one of the document's."""

    status, code = 400, "246"


class ResponseTypeError(RefusalError):
    """The response type is not served."""

    status, code = 400, "249"


class NoTokenError(RefusalError):
    """No access token came with the request."""

    status, code = 401, "267"

    def __init__(self) -> None:
        super().__init__(
            "You did not pass a valid OAuth access token: add the access_token parameter.",
            headers={"WWW-Authenticate": "Bearer"},
        )


class InvalidTokenError(RefusalError):
    """The access token was never issued."""

    status, code = 401, "261"

    def __init__(self) -> None:
        super().__init__(
            "You did not pass a valid OAuth access token.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class ExpiredTokenError(RefusalError):
    """The access token was valid once."""

    status, code = 401, "265"

    def __init__(self) -> None:
        super().__init__(
            "Your OAuth access token has expired.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class MissingScopeError(RefusalError):
    """The access token does not carry the scope that the endpoint asks for."""

    status, code = 403, "260"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs an access token with the scope {scope}: authorize the application for it.")


class DeletedTokenError(RefusalError):
    """The access token was replaced by a refresh, or its application is gone."""

    status, code = 401, "259"

    def __init__(self) -> None:
        super().__init__(
            "Your OAuth access token was replaced or deleted.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class RevokedTokenError(RefusalError):
    """The user took the access token back, or the code it came from was used twice."""

    status, code = 401, "262"

    def __init__(self) -> None:
        super().__init__(
            "Your OAuth access token was revoked.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class ForgeryError(RefusalError):
    """A form did not come from the page that this browser was shown."""

    status, code = 403, "240"


class NoRecipientError(RefusalError):
    """Neither a known user id, nor an email address, nor a US phone number to pay or charge."""

    status, code = 400, "1343"


class NoteError(RefusalError):
    """A payment needs a note, of a length and of characters that can be kept."""

    status, code = 400, "1355"


class AmountError(RefusalError):
    """The amount is not a number of whole cents, or it is zero."""

    status, code = 400, "1323"


class AmountTooLargeError(RefusalError):
    """The amount is above the limit of one payment."""

    status, code = 400, "1357"


class SelfPaymentError(RefusalError):
    """Nobody pays or charges themselves."""

    status, code = 400, "1356"


class OutcomeAmountError(RefusalError):
    """The fixed test user takes no other amounts than those of the document's table."""

    status, code = 400, "503"


class NewUserAmountError(OutcomeAmountError):
    """An amount of the document's table went to the fixed test user, but belongs to an unregistered address."""

    code = "502"


class InsufficientFundsError(RefusalError):
    """A request cannot be approved, because the money is not there; it stays pending."""

    status, code = 409, "1319"


class RoleError(RefusalError):
    """The caller sees the payment, but this is not theirs to do."""

    status, code = 403, "403"


class UnverifiedError(RefusalError):
    """A user whose identity is not verified wants to register an application."""

    status, code = 403, "403"


class StateError(RefusalError):
    """What is asked for needs a payment that is still pending, and this one is not, or not any more."""

    status, code = 409, "409"


class OAuthError(RefusalError):
    """A code or a form of the token exchange is refused for a reason without a code of its own."""

    status, code = 400, "240"


class ClientNotFoundError(RefusalError):
    """The token exchange names no registered application."""

    status, code = 401, "244"

    def __init__(self) -> None:
        super().__init__("No application has this client_id.", headers={"WWW-Authenticate": 'Basic realm="oauth"'})


class ClientSecretError(RefusalError):
    """The client secret is not the application's."""

    status, code = 401, "247"

    def __init__(self) -> None:
        super().__init__(
            "client_secret is not that of this application.", headers={"WWW-Authenticate": 'Basic realm="oauth"'}
        )


class ForeignCodeError(OAuthError):
    """The code was given to another application."""

    code = "255"

    def __init__(self) -> None:
        super().__init__("This code belongs to another application.")


class ExpiredCodeError(OAuthError):
    """The code's short life is over."""

    code = "256"

    def __init__(self) -> None:
        super().__init__("This code has expired: send the user to the authorization page again.")


class RedeemedCodeError(OAuthError):
    """The code was used before, so somebody else may have it."""

    code = "257"

    def __init__(self) -> None:
        super().__init__("This code was already redeemed, so the tokens made from it are revoked.")


class RefreshError(RefusalError):
    """The refresh token is unknown, replaced, revoked, or another application's."""

    status, code = 400, "275"

    def __init__(self) -> None:
        super().__init__("This refresh token does not work: send the user to the authorization page again.")


class GrantTypeError(RefusalError):
    """The grant type is not served."""

    status, code = 400, "276"


class NotFoundError(RefusalError):
    """There is no such resource, or the token's owner may not see it: both look the same."""

    status, code = 404, "283"

    def __init__(self, message: str = "Resource not found.") -> None:
        super().__init__(message)


class RateLimitError(RefusalError):
    """Somebody asks too often."""

    status, code = 429, "277"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            "You have exceeded the rate limit: wait as long as Retry-After says.", headers={"Retry-After": str(seconds)}
        )


class ControlError(RefusalError):
    """A control route is called as any web page could call it."""

    status, code = 403, "403"


class MediaTypeError(RefusalError):
    """The body of a control route is said to be something else than JSON."""

    status, code = 415, "415"


class MethodError(RefusalError):
    """The path exists, but not for this method."""

    status, code = 405, "405"


class TooLargeError(RefusalError):
    """The request's body is larger than any documented request."""

    status, code = 413, "413"
