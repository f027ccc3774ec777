"""The wire: where the secrets join a request, and where a whole answer is read or given up."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies

from p2p_analytics import settings
from p2p_analytics.client.http.deadline import WATCHED_POOLS, watchdog
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from p2p_analytics.auth import Secret

LARGEST_BODY: Final = 8 * 2**20
_CHUNK: Final = 2**16
_SHORTEST_TOKEN: Final = 16  # a shorter one may be a part of other data by chance
# The equals sign may be escaped: in JSON, for HTML, or in an address inside an address.
# So may characters of the value, in JSON; an escaped blank, quote or ampersand ends it as a plain one does.
_TOKEN_IN_TEXT: Final = re.compile(
    rf"({TOKEN_PARAMETER}(?:=|\\u003d|&(?:#61|#x3d|equals);|%(?:25)*3d))"
    r"(?:[^&\s\"'\\]|\\/|\\u00(?!0[9a-d]|20|22|26|27)[0-9a-f]{2})+",
    re.IGNORECASE,
)
_ESCAPES: Final = (b"\\/", b"\\u00", b"%")
_TOKEN_PARAMETER: Final = TOKEN_PARAMETER.encode()
_TOKEN_IN_BODY: Final = re.compile(_TOKEN_IN_TEXT.pattern.encode(), re.IGNORECASE)
_KEPT_HEADERS: Final = ("Content-Type", "Date", "Retry-After")  # others may hold a cookie, an address, a token


def redacted(text: str) -> str:
    """Return a text with the value of every token parameter replaced by asterisks."""
    return _TOKEN_IN_TEXT.sub(r"\1***", text)


def _without_token(body: bytes, token: Secret | None) -> bytes:
    """Return a body with the token, and the value of every token parameter, replaced by asterisks; most hold none."""
    text = b"" if token is None else token.reveal().encode()
    if len(text) >= _SHORTEST_TOKEN:
        body = body.replace(text, b"***")
        if any(mark in body for mark in _ESCAPES):
            body = re.sub(b"".join(map(_spellings, text)), b"***", body)
    return _TOKEN_IN_BODY.sub(rb"\1***", body) if _TOKEN_PARAMETER in body.lower() else body


def _spellings(byte: int) -> bytes:
    """Return a pattern for a byte: plain, or escaped as in JSON or an address."""
    plain, slash = re.escape(bytes([byte])), rb"|\\/" if byte == ord("/") else b""
    first, last = (b"[%c%c]" % (*digit.encode(), *digit.upper().encode()) for digit in f"{byte:02x}")
    return rb"(?:%b%b|(?:\\u00|%%)%b%b)" % (plain, slash, first, last)


def prepared(session: requests.Session, base_url: str, secrets: Callable[[], Mapping[str, Secret]]) -> requests.Session:
    """Let a session reach the service alone, and add the secrets to its requests on the wire."""
    # netrc would add an Authorization header by itself; proxies and CA bundles are asked for by name. A proxy is
    # for https alone: plain http is loopback, and would hand the proxy the token in clear text.
    session.trust_env = False
    session.proxies.update(get_environ_proxies(base_url) if base_url.startswith("https:") else {})
    session.verify = settings.ca_bundle() or True
    session.headers["Accept"] = "application/json"
    session.adapters.clear()
    session.mount(f"{base_url}/", SecretAdapter(secrets))
    return session


class SecretAdapter(HTTPAdapter):
    """Adds the secrets to a copy of the request, reads the whole answer, and forgets the copy."""

    def __init__(self, secrets: Callable[[], Mapping[str, Secret]]) -> None:
        self._secrets = secrets
        super().__init__(max_retries=0)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401
        """Send the request; ``timeout`` bounds the whole answer, not only each piece of it."""
        wire = request.copy()
        secrets = self._secrets()
        form = _add_secrets(wire, secrets)
        kwargs["stream"] = True
        _connect, whole = kwargs["timeout"]
        try:
            with watchdog(whole):
                response = super().send(wire, *args, **kwargs)
                body = _read(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            if form is None or form.begun:
                raise
            raise NotSent(error) from None
        body = _without_token(body, secrets.get(TOKEN_PARAMETER))
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
        """Make connections that the watchdog can reach."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = WATCHED_POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Make connections through a proxy that the watchdog can reach."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = WATCHED_POOLS
        return manager


def _add_secrets(wire: requests.PreparedRequest, secrets: Mapping[str, Secret]) -> _Form | None:
    """Put them where the method wants them: the query of a GET, else the form (document: "Endpoints")."""
    added = urlencode({name: secret.reveal() for name, secret in secrets.items()})
    if wire.method == "GET":
        wire.url = f"{wire.url}{'&' if '?' in str(wire.url) else '?'}{added}"
        return None
    fields = wire.body.encode() if isinstance(wire.body, str) else wire.body or b""
    form = _Form(fields + b"&" + added.encode())
    wire.prepare_body(form, None)
    return form


class _Form(BytesIO):
    """A form that knows whether any of it was handed to a connection: if not, it cannot have been carried out."""

    begun = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.begun = True
        return super().read(size)


class NotSent(requests.RequestException):
    """A form failed before any of it was sent; ``reason`` is the library's own error."""

    def __init__(self, reason: Exception) -> None:
        super().__init__()
        self.reason = reason

    @property
    def no_connection(self) -> bool:
        """Whether there was nothing to talk to, so that not even a header was sent."""
        below = getattr(next(iter(self.reason.args), None), "reason", None)
        return isinstance(below, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError)


class OversizedBody(requests.RequestException):
    """The body is larger than any documented page."""


def _read(response: requests.Response) -> bytes:
    """Read a body piece by piece, no more than the largest."""
    pieces, size = [], 0
    while piece := response.raw.read1(_CHUNK, decode_content=True):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_BODY:
            response.raw.close()
            raise OversizedBody
    response.raw.release_conn()
    return b"".join(pieces)


class _Redaction(logging.Filter):
    """Removes from a log record what may hold the token: the value in an address, and every exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        # The frames of an exception hold the address as sent, and its text may quote the service.
        record.exc_info = record.exc_text = None
        if isinstance(record.args, tuple):
            record.args = tuple(type(arg).__name__ if isinstance(arg, BaseException) else arg for arg in record.args)
        message = record.getMessage()
        if TOKEN_PARAMETER in message:
            record.msg, record.args = redacted(message), ()
        return True


# The library below logs each address it requests; a filter must sit on the very logger that does.
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
