"""HTTP adapter: adds the secrets to a request as it is sent, and reads the whole response."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlencode

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies

from p2p_analytics import settings
from p2p_analytics.auth import Secret
from p2p_analytics.client.http.deadline import DEADLINE_POOLS, enforce_deadline
from p2p_analytics.vocabulary import TOKEN_PARAMETER

LARGEST_BODY: Final = 8 * 2**20
_CHUNK: Final = 2**16
_SHORTEST_TOKEN: Final = 16  # a shorter one may occur in other data by chance
# The equals sign may be escaped, as in JSON, in HTML, or in a URL inside a URL, and so may characters of the value.
# An escaped blank, quote or ampersand ends the value as an unescaped one does.
_TOKEN_IN_TEXT: Final = re.compile(
    rf"({TOKEN_PARAMETER}(?:=|\\u003d|&(?:#61|#x3d|equals);|%(?:25)*3d))"
    r"(?:[^&\s\"'\\]|\\/|\\u00(?!0[9a-d]|20|22|26|27)[0-9a-f]{2})+",
    re.IGNORECASE,
)
_ESCAPES: Final = (b"\\/", b"\\u00", b"%")
_TOKEN_PARAMETER: Final = TOKEN_PARAMETER.encode()
_TOKEN_IN_BODY: Final = re.compile(_TOKEN_IN_TEXT.pattern.encode(), re.IGNORECASE)
_KEPT_HEADERS: Final = ("Content-Type", "Date", "Retry-After")  # others may hold a cookie, a URL or a token


def mask_token_parameters(text: str) -> str:
    """Replace the value of every token parameter in a text by asterisks."""
    return _TOKEN_IN_TEXT.sub(r"\1***", text)


def mask_token(body: bytes, token: Secret | None) -> bytes:
    """Replace the token, and the value of every token parameter, in a body by asterisks."""
    # Few bodies hold a token, so each regular expression runs only if a quick search finds its mark.
    text = b"" if token is None else token.reveal().encode()
    if len(text) >= _SHORTEST_TOKEN:
        body = body.replace(text, b"***")
        if any(mark in body for mark in _ESCAPES):
            body = re.sub(b"".join(map(_build_byte_pattern, text)), b"***", body)
    return _TOKEN_IN_BODY.sub(rb"\1***", body) if _TOKEN_PARAMETER in body.lower() else body


def _build_byte_pattern(byte: int) -> bytes:
    """Return a pattern for a byte, literal or escaped as in JSON or a URL."""
    plain, slash = re.escape(bytes([byte])), rb"|\\/" if byte == ord("/") else b""
    first, last = (b"[%c%c]" % (*digit.encode(), *digit.upper().encode()) for digit in f"{byte:02x}")
    return rb"(?:%b%b|(?:\\u00|%%)%b%b)" % (plain, slash, first, last)


def prepare_session(
    session: requests.Session, base_url: str, get_secrets: Callable[[], Mapping[str, Secret]]
) -> requests.Session:
    """Restrict a session to the service, and add the secrets to its requests as they are sent."""
    # trust_env would also read netrc, which adds an Authorization header. Proxies are used for https only: plain http
    # means loopback, and a proxy would see the token in clear text.
    session.trust_env = False
    session.proxies.update(get_environ_proxies(base_url) if base_url.startswith("https:") else {})
    session.verify = settings.ca_bundle() or True
    session.headers["Accept"] = "application/json"
    session.adapters.clear()
    session.mount(f"{base_url}/", SecretAdapter(get_secrets))
    return session


class SecretAdapter(HTTPAdapter):
    """Adapter that sends a copy of the request with the secrets, and reads the whole response.

    The response refers to the original request, so no object above the adapter holds a secret.
    """

    def __init__(self, get_secrets: Callable[[], Mapping[str, Secret]]) -> None:
        self._get_secrets = get_secrets
        super().__init__(max_retries=0)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401
        """Send the request; the second ``timeout`` bounds the whole response, not only each read."""
        wire = request.copy()
        secrets = self._get_secrets()
        form = _add_secrets(wire, secrets)
        kwargs["stream"] = True
        _connect, total = kwargs["timeout"]
        try:
            with enforce_deadline(total):
                response = super().send(wire, *args, **kwargs)
                chunks, size = [], 0
                while chunk := response.raw.read1(_CHUNK, decode_content=True):
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > LARGEST_BODY:
                        response.raw.close()
                        raise OversizedBodyError
                response.raw.release_conn()
                body = b"".join(chunks)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            if form is None or form.is_started:
                raise
            raise NotSentError(error) from None
        body = mask_token(body, secrets.get(TOKEN_PARAMETER))
        headers = urllib3.HTTPHeaderDict(
            (name, response.headers[name]) for name in _KEPT_HEADERS if name in response.headers
        )
        response.headers = requests.structures.CaseInsensitiveDict(headers)
        response.raw = urllib3.HTTPResponse(
            BytesIO(body), headers=headers, status=response.status_code, preload_content=False, request_url=request.url
        )
        response.request, response.url = request, str(request.url)
        response.cookies.clear()
        return response

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Make connections that honour the deadline."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = DEADLINE_POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Make connections through a proxy that honour the deadline."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = DEADLINE_POOLS
        return manager


def _add_secrets(wire: requests.PreparedRequest, secrets: Mapping[str, Secret]) -> _Form | None:
    """Add the secrets to the query of a GET, else to the form (document: "Endpoints"); return the form."""
    added = urlencode({name: secret.reveal() for name, secret in secrets.items()})
    if wire.method == "GET":
        wire.url = f"{wire.url}{'&' if '?' in str(wire.url) else '?'}{added}"
        return None
    fields = wire.body.encode() if isinstance(wire.body, str) else wire.body or b""
    form = _Form(fields + b"&" + added.encode())
    wire.prepare_body(form, None)
    return form


class _Form(BytesIO):
    """Form that records whether a connection has read any of it; if not, the service cannot have executed it."""

    is_started = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.is_started = True
        return super().read(size)


class NotSentError(requests.RequestException):
    """Failure before any byte of a form was sent; ``reason`` is the library's own error."""

    def __init__(self, reason: Exception) -> None:
        super().__init__()
        self.reason = reason

    @property
    def no_connection(self) -> bool:
        """Whether no connection was made, so that not even a header was sent."""
        cause = getattr(next(iter(self.reason.args), None), "reason", None)
        return isinstance(cause, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError)


class OversizedBodyError(requests.RequestException):
    """Body larger than any documented page."""


class _Redaction(logging.Filter):
    """Filter that removes token parameters and exceptions from log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        # The frames of an exception hold the URL as sent, and its text may quote the service.
        record.exc_info = record.exc_text = None
        if isinstance(record.args, tuple):
            record.args = tuple(type(arg).__name__ if isinstance(arg, BaseException) else arg for arg in record.args)
        message = record.getMessage()
        if TOKEN_PARAMETER in message:
            record.msg, record.args = mask_token_parameters(message), ()
        return True


# urllib3 logs each URL it requests. A filter does not apply to child loggers, so each logger needs its own.
for _name in (
    "urllib3.connection",
    "urllib3.connectionpool",
    "urllib3.poolmanager",
    "urllib3.response",
    "urllib3.util.retry",
    "requests_cache.session",
    "requests_cache.backends.base",
):
    logging.getLogger(_name).addFilter(_Redaction())
