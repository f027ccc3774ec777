"""The wire: where the token joins a request, and where a whole answer is read or given up."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import threading
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import requests
import urllib3
from requests.adapters import HTTPAdapter

from p2p_analytics.records import mended
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.auth import AccessToken

LARGEST_BODY: Final = 8 * 2**20
_CHUNK: Final = 2**16
_TOKEN_IN_TEXT: Final = re.compile(rf"({TOKEN_PARAMETER}=)[^&\s\"']+", re.IGNORECASE)
_TOKEN_IN_BODY: Final = re.compile(rf"({TOKEN_PARAMETER}=)[^&\s\"'\\]+".encode(), re.IGNORECASE)
_KEPT_HEADERS: Final = ("Content-Type", "Date", "Retry-After")  # others may hold a cookie, an address, a token


def redacted(text: str) -> str:
    """Return a text with the value of every token parameter replaced by asterisks."""
    return _TOKEN_IN_TEXT.sub(r"\1***", text)


class TokenAdapter(HTTPAdapter):
    """Adds the token to a copy of the request, reads the whole answer, and forgets the copy."""

    def __init__(self, token: AccessToken) -> None:
        self._token = token
        super().__init__(max_retries=0)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401
        """Send the request; ``timeout`` bounds the whole answer, not only each piece of it."""
        wire = request.copy()
        wire.prepare_url(wire.url, {TOKEN_PARAMETER: self._token.reveal()})
        kwargs["stream"] = True
        _connect, whole = kwargs["timeout"]
        with _watchdog(whole):
            response = super().send(wire, *args, **kwargs)
            body = _read(response)
        body = _TOKEN_IN_BODY.sub(rb"\1***", mended(body))
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
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Make connections through a proxy that the watchdog can reach."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class _Watch:
    """Shuts the connection of one request when its time is over: a drip of bytes never times out by itself."""

    def __init__(self) -> None:
        self.connection: urllib3.connection.HTTPConnection | None = None
        self.barked = False

    def bark(self) -> None:
        self.barked = True
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


_underway = threading.local()


@contextlib.contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    """Bound everything within the block: headers, framing and body."""
    _underway.watch = watch = _Watch()
    timer = threading.Timer(seconds, watch.bark)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        if not watch.barked:
            raise
    finally:
        timer.cancel()
        _underway.watch = None
    if watch.barked:
        raise requests.exceptions.ReadTimeout


class _Watched:
    """A connection that tells the watchdog of its thread when it is used."""

    def request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - urllib3's own
        _underway.watch.connection = self
        super().request(*args, **kwargs)  # type: ignore[misc]


class _WatchedHTTP(_Watched, urllib3.connection.HTTPConnection):
    """Plain, for loopback."""


class _WatchedHTTPS(_Watched, urllib3.connection.HTTPSConnection):
    """Inside TLS."""


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS


_POOLS: Final = {"http": _HTTPPool, "https": _HTTPSPool}


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
    """Rewrites a log record that would quote the token in an address."""

    def filter(self, record: logging.LogRecord) -> bool:
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
