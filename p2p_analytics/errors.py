"""All errors of this package, in one tree.

::

    P2PAnalyticsError
    ├── ConfigurationError (ValueError)     an invalid setting; nothing was sent
    ├── TokenError                          missing, expired or malformed token, known before sending
    │   └── NotSignedIn                     no token is available
    ├── ServiceError                        .status_code .code .retryable .retry_after
    │   ├── TransportError                  no complete response arrived
    │   ├── ApiError                        the service's error envelope
    │   │   ├── AuthenticationError         the service rejects the token
    │   │   ├── ScopeError                  the token lacks a scope
    │   │   ├── NotFoundError               no such user or payment, or it is not visible to the token's owner
    │   │   ├── InvalidRequestError         the service refused a parameter
    │   │   ├── RateLimitedError            too many requests
    │   │   └── ServerError                 the service failed
    │   ├── ProtocolError                   a response that violates the interface document
    │   │   ├── RecordError                 a record that cannot be read
    │   │   └── PaginationError             a list that cannot be paged to its end
    │   └── OutcomeUnknownError             the response to a write was lost; it may have been executed: .candidates
    ├── MoneyError (ValueError)             an amount that is not a whole number of cents
    ├── SchemaError (ValueError)            a frame without the columns a function needs
    ├── StatementError                      a statement file that cannot be read
    │   └── MemberNeededError               a group's file that does not name the holder: .file .members
    └── ArchiveError                        a folder of Parquet files that cannot be used

Each message names the problem and the remedy. No message contains a token.

For a write, TransportError means that it was not sent, ApiError that the service refused it, and
OutcomeUnknownError that the outcome is unknown: check the payments before sending it again.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in the root, for a light start
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def how_to_install(extra: str) -> str:
    """Return instructions to install an extra of this package, which is on no package index, from its folder."""
    return f'run make install in the project\'s folder, or pip install ".[{extra}]" there with a pip of your own'


def describe_os_error(error: OSError) -> str:
    """Return the reason of an OSError in lower case, for the middle of a sentence."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    return (error.strerror or str(error)).lower()


def describe_type(value: object) -> str:
    """Return the name of a value's type with its article, for the middle of a sentence."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def name_type(value: object) -> str:
    """Return the name of a value's type with its library, such as polars.DataFrame."""
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return name if library in {"builtins", __package__} else f"{library}.{name}"


class P2PAnalyticsError(Exception):
    """Base class of all errors of this package."""


class ConfigurationError(P2PAnalyticsError, ValueError):
    """A setting is invalid; nothing was sent."""


class TokenError(P2PAnalyticsError):
    """The token is missing, malformed or expired; nothing was sent."""


class NotSignedIn(TokenError):  # noqa: N818 - the name that users type
    """No token is available: sign in, then try again."""


class ServiceError(P2PAnalyticsError):
    """A request to the service failed.

    Attributes
    ----------
    status_code : int or None
        HTTP status of the response, None if none arrived.
    code : str or None
        The envelope's ``error.code`` as text (document: "Errors"), None without an envelope.
    retryable : bool
        Whether a later retry may succeed.
    retry_after : float or None
        Seconds to wait before a retry, as the service requests.
    said : str
        The service's own error text, which the message quotes in brackets.
    """

    retryable = False
    said = ""

    def __init__(
        self, message: str, *, status_code: int | None = None, code: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code
        self.retry_after = retry_after

    def without_words(self) -> ServiceError:
        """Return a copy without the service's own text, and without its code unless that is a number."""
        import copy

        quiet = copy.copy(self)
        quiet.args = (str(self).replace(f" ({self.said})", ""),)
        quiet.said = ""
        quiet.code = self.code if self.code and self.code.isdecimal() else None
        return quiet


class TransportError(ServiceError):
    """No complete response arrived: refused, reset, timed out or truncated."""

    retryable = True


class ApiError(ServiceError):
    """The service responded with its error envelope."""


class AuthenticationError(ApiError):
    """The service rejects the token (401)."""


class ScopeError(ApiError):
    """The token lacks the scope that the request needs (code 260)."""


class NotFoundError(ApiError):
    """The record does not exist, or is not visible to the token's owner (404, or 400 with code 283)."""


class InvalidRequestError(ApiError):
    """The service refused a parameter, or the state or owner of the record forbids the request (other 4xx)."""


class RateLimitedError(ApiError):
    """Too many requests (429); ``retry_after`` is the time to wait."""

    retryable = True


class ServerError(ApiError):
    """The service failed (5xx)."""

    retryable = True


class ProtocolError(ServiceError):
    """The response violates the interface document."""


class RecordError(ProtocolError):
    """A record does not have the form that the document describes."""


class PaginationError(ProtocolError):
    """A list cannot be read to its end without losing payments, so nothing is returned."""


class OutcomeUnknownError(ServiceError):
    """The response to a write was lost: it may have been executed. It is never retried.

    Attributes
    ----------
    candidates : list of Payment
        Payments that may be the result of the write, or the current state of the request; empty if none was
        found.
    """

    def __init__(self, message: str, *, candidates: Iterable[Any] = (), **answer: Any) -> None:  # noqa: ANN401 - as above
        super().__init__(message, **answer)
        self.candidates: list[Any] = list(candidates)  # records is a layer above this module


class MoneyError(P2PAnalyticsError, ValueError):
    """An amount is not a whole number of cents, or too large to be one."""


class SchemaError(P2PAnalyticsError, ValueError):
    """A frame lacks columns that a function needs, or holds them in another type."""


class StatementError(P2PAnalyticsError):
    """A statement file cannot be read."""


class MemberNeededError(StatementError):
    """The file of a shared group does not name the account holder: pass ``member=``.

    Attributes
    ----------
    file : str
        The path of the file.
    members : list of str
        The members of the group.
    """

    def __init__(self, message: str, file: str = "", members: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.file = file
        self.members = list(members)


class ArchiveError(P2PAnalyticsError):
    """An archive folder cannot be used."""
