"""Every error this package raises, in one tree.

::

    P2PAnalyticsError
    ├── ConfigurationError (ValueError)     an unusable setting; nothing was sent
    ├── TokenError                          missing, expired or malformed token, known before sending
    │   └── NotSignedIn                     there is no token anywhere yet
    ├── ServiceError                        .status_code .code .retryable .retry_after
    │   ├── TransportError                  no whole answer arrived
    │   ├── ApiError                        the service's error envelope
    │   │   ├── AuthenticationError         the token is not, or no longer, accepted
    │   │   ├── ScopeError                  the token lacks a scope
    │   │   ├── NotFoundError               no such user or payment, or not yours to see
    │   │   ├── InvalidRequestError         the service refused a parameter
    │   │   ├── RateLimitedError            too many requests
    │   │   └── ServerError                 the service failed
    │   ├── ProtocolError                   an answer outside the interface document
    │   │   ├── RecordError                 a record that cannot be read
    │   │   └── PaginationError             a list that cannot be paged to its end
    │   └── OutcomeUnknownError             a write whose answer was lost; it may have been carried out: .candidates
    ├── MoneyError (ValueError)             an amount that is not a whole number of cents
    ├── SchemaError (ValueError)            a frame without the columns a function needs
    ├── StatementError                      a statement file that cannot be read
    └── ArchiveError                        a folder of Parquet files that cannot be used

Each message is one sentence that says what is wrong and what to do. No message holds a token.

Of a write, TransportError says that it was not sent, ApiError that the service refused it, and
OutcomeUnknownError that nobody knows yet: look at the payments before sending it again.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in the root, for a light start
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def how_to_install(extra: str) -> str:
    """Return how to get what an extra of this package brings: no package index has it, so from its folder."""
    return f'run make install in the project\'s folder, or pip install ".[{extra}]" there with a pip of your own'


def describe_os_error(error: OSError) -> str:
    """Return the reason of an OSError in lower case, for the middle of a sentence."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    return (error.strerror or str(error)).lower()


class P2PAnalyticsError(Exception):
    """The root of all errors of this package."""


class ConfigurationError(P2PAnalyticsError, ValueError):
    """A setting cannot be used; nothing was sent."""


class TokenError(P2PAnalyticsError):
    """The token is missing, malformed or expired, which was known before anything was sent."""


class NotSignedIn(TokenError):  # noqa: N818 - the name that users type
    """There is no token yet: sign in, then run this again."""


class ServiceError(P2PAnalyticsError):
    """A request to the service went wrong.

    Attributes
    ----------
    status_code : int or None
        HTTP status of the answer, None where none arrived.
    code : str or None
        The envelope's ``error.code`` as text (document: "Errors"), None without an envelope.
    retryable : bool
        Whether asking again later may succeed.
    retry_after : float or None
        Seconds the service asked to wait.
    said : str
        The service's own words, which stand in brackets in the message too.
    """

    retryable = False
    said = ""

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code
        self.retry_after = retry_after

    def without_words(self) -> ServiceError:
        """Return the error without the service's own words and, where it is no number, its code."""
        import copy

        quiet = copy.copy(self)
        quiet.args = (str(self).replace(f" ({self.said})", ""),)
        quiet.said = ""
        quiet.code = self.code if self.code and self.code.isdecimal() else None
        return quiet


class TransportError(ServiceError):
    """No whole answer arrived: refused, reset, timed out or cut short."""

    retryable = True


class ApiError(ServiceError):
    """The service answered with its error envelope."""


class AuthenticationError(ApiError):
    """The service does not, or no longer, accept the token (401)."""


class ScopeError(ApiError):
    """The token lacks the scope that the request needs (code 260)."""


class NotFoundError(ApiError):
    """There is no such record, or it is not the token owner's to see (404, or 400 with code 283)."""


class InvalidRequestError(ApiError):
    """The service refused a parameter, or the record's state or whose it is forbids the request (other 4xx)."""


class RateLimitedError(ApiError):
    """Too many requests (429); ``retry_after`` says when to ask again."""

    retryable = True


class ServerError(ApiError):
    """The service failed (5xx)."""

    retryable = True


class ProtocolError(ServiceError):
    """The answer is outside the interface document."""


class RecordError(ProtocolError):
    """A record cannot be read as the document describes it."""


class PaginationError(ProtocolError):
    """A list cannot be paged to its end without a loss, so nothing is returned."""


class OutcomeUnknownError(ServiceError):
    """The answer to a write was lost: it may have been carried out. It is never sent again.

    Attributes
    ----------
    candidates : list of Payment
        What was found when looking for its outcome: payments that may be the one, or the request as it
        stands; empty where nothing was found.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        candidates: Iterable[Any] = (),
    ) -> None:
        super().__init__(message, status_code=status_code, code=code, retry_after=retry_after)
        self.candidates: list[Any] = list(candidates)  # records stand above this module


class MoneyError(P2PAnalyticsError, ValueError):
    """An amount is not a whole number of cents, or too large to be one."""


class SchemaError(P2PAnalyticsError, ValueError):
    """A frame lacks columns that a function needs, or holds them in another type."""


class StatementError(P2PAnalyticsError):
    """A statement file cannot be read."""


class ArchiveError(P2PAnalyticsError):
    """An archive folder cannot be used."""
