"""Mapping of failed requests to this package's errors.

No function quotes the text of urllib3 or requests, which may hold the URL and its token.
"""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import Secret, redact
from p2p_analytics.client.http.adapter import LARGEST_BODY, NotSentError, OversizedBodyError, mask_token_parameters
from p2p_analytics.display import keep_printable
from p2p_analytics.records import repair_json

_TRANSPORT_FAILURES: Final[tuple[tuple[tuple[type[Exception], ...], bool, str], ...]] = (
    (
        (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
            requests.exceptions.InvalidHeader,
            requests.exceptions.InvalidProxyURL,
        ),
        False, "No request can be sent to {base_url}: check the base URL and the proxies.",
    ),
    (
        (requests.exceptions.ReadTimeout, urllib3.exceptions.TimeoutError, TimeoutError),
        True, "The service at {base_url} did not answer in time: try again later.",
    ),
    (
        (requests.exceptions.SSLError,),
        False, ("The certificate of {base_url} cannot be verified: check the base URL, "
                "or name your organisation's certificates in REQUESTS_CA_BUNDLE."),
    ),
    (
        (requests.exceptions.ConnectionError,),
        True, "The service at {base_url} cannot be reached: check the base URL, the network, and that it is running.",
    ),
    ((Exception,), True, "The answer of {base_url} broke off or could not be read: try again later."),
)  # fmt: skip
_CLIENT_ERRORS: Final = range(400, 500)
# Error class, its statuses and codes, and its sentence; the first row that fits counts. A 403 alone may also mean
# another user's payment, which no scope changes.
_NOTHING: Final[frozenset[str]] = frozenset()
_KINDS: Final = (
    (errors.AuthenticationError, {401}, {"240", "259", "261", "262", "265", "267"},
     "The service does not accept the token{said}: sign in again."),
    (errors.ScopeError, range(0), {"260"}, "The token does not permit this{said}: sign in again with that scope."),
    (errors.NotFoundError, {404}, {"283"}, "The service knows no such record, or does not show it to you{said}."),
    (errors.RateLimitedError, {429}, {"277"}, "The service asks to slow down{said}: try again later."),
    (errors.ProtocolError, range(300, 400), _NOTHING, "The service answered with a redirect, which is not followed."),
    (errors.ServerError, range(500, 1000), _NOTHING, "The service failed with status {status}{said}: try again later."),
    (errors.InvalidRequestError, range(1000), _NOTHING, "The service refused the request with status {status}{said}."),
)  # fmt: skip
_MAX_SCANNED: Final = 4096
_MAX_QUOTED: Final = 200


def map_transport_failure(error: Exception, base_url: str) -> errors.ServiceError:
    """Return the error for a request without a complete response."""
    if isinstance(error, NotSentError):
        failure = map_transport_failure(error.reason, base_url)
        failure.retryable = error.no_connection
        return failure
    if isinstance(error, OversizedBodyError):
        return errors.ProtocolError(f"The answer of {base_url} is larger than {LARGEST_BODY // 2**20} MiB: not read.")
    retryable, sentence = next((may, text) for kinds, may, text in _TRANSPORT_FAILURES if isinstance(error, kinds))
    failure = errors.TransportError(sentence.format(base_url=base_url))
    failure.retryable = retryable
    return failure


def map_error_response(response: requests.Response, *secrets: Secret) -> errors.ServiceError:
    """Return the error for a response with an error status (document: "Errors")."""
    status, envelope = response.status_code, _decode_envelope(response.content)
    code = None if envelope.code is None else _sanitize(str(envelope.code), *secrets)
    said = _sanitize(envelope.message or "", *secrets).rstrip(".")
    kind, sentence = next((kind, text) for kind, statuses, codes, text in _KINDS if code in codes or status in statuses)
    failure = kind(
        sentence.format(said=f" ({said})" if said else "", status=status),
        status_code=status,
        code=code,
        retry_after=_parse_retry_after(response.headers),
    )
    failure.said = said
    return failure


def _parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait; None if the header is neither a whole number of seconds nor a date."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _sanitize(text: str, *secrets: Secret) -> str:
    """Return text of the service, truncated, printable, and without secrets."""
    text = mask_token_parameters(redact(text[:_MAX_SCANNED], secrets))
    return keep_printable(text, _MAX_QUOTED)


def is_refused(response: requests.Response) -> bool:
    """Return whether the service itself refused: a 4xx with its error envelope, not the page of a gateway."""
    envelope = _decode_envelope(response.content)
    return response.status_code in _CLIENT_ERRORS and (envelope.code is not None or bool(envelope.message))


def map_unknown_outcome(failure: errors.ServiceError) -> errors.OutcomeUnknownError:
    """Return the error for a write that was sent and got no response that shows the outcome."""
    return errors.OutcomeUnknownError(
        f"The request was sent, but no response shows its outcome: check before sending it again. {failure}",
        status_code=failure.status_code,
        code=failure.code,
        retry_after=failure.retry_after,
    )


class _Envelope(msgspec.Struct):
    """Contents of the error envelope; real responses carry ``code`` as a number."""

    message: str | None = None
    code: str | int | None = None


class _ErrorBody(msgspec.Struct):
    """Error envelope."""

    error: _Envelope


def _decode_envelope(body: bytes) -> _Envelope:
    try:
        return msgspec.json.decode(repair_json(body), type=_ErrorBody).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Envelope()
