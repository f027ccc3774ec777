"""Loopback listener: an HTTP server on this machine that receives the redirect of one sign-in.

Any page in the user's browser can send requests to this port. A token is therefore accepted only with the nonce
in the path, only the first token is accepted, and no response can be read across origins.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from html import escape
from http import HTTPStatus
from socketserver import ThreadingTCPServer
from typing import Any, Final, Self, TypeAlias

from p2p_analytics.auth._redirect import ConsentDenied, token_from_redirect
from p2p_analytics.auth._token import Secret
from p2p_analytics.auth._tracebacks import hide_frames
from p2p_analytics.errors import ConfigurationError, TokenError, describe_os_error

Outcome: TypeAlias = "Secret | TokenError"

HOST: Final = "127.0.0.1"
_LARGEST_HEAD: Final = 2**14
_POLL_SECONDS: Final = 0.1
_MINUTE: Final = 60
_DONE: Final = "/done"
_NAVIGATION: Final = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "origin": ""}  # if sent at all
_SIGNED_IN: Final = "You are signed in", "Close this tab and go back to where you came from."
_NOT_SIGNED_IN: Final = "You are not signed in", "You did not agree, so there is no token. Close this tab and go back."
_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{margin:0;min-height:100vh;display:grid;place-items:center;font:1.05rem/1.6 system-ui,sans-serif;"
    "background:light-dark(#f4f6f8,#16191d);color:light-dark(#1f2933,#e4e7eb)}"
    "main{max-width:28rem;margin:1.5rem;padding:2rem 2.5rem;border-radius:.75rem;"
    "background:light-dark(#fff,#20252b);box-shadow:0 1px 2px #0002,0 8px 24px #0001}"
    "h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}p{margin:0}"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_PAGE_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8",
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    f"Content-Security-Policy: default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'",
    "X-Frame-Options: DENY",
    "X-Content-Type-Options: nosniff",
    "Cross-Origin-Resource-Policy: same-origin",
)


class Listener:
    """Listener on a loopback port for the redirect of one sign-in.

    It listens from its construction on, in a daemon thread.

    Parameters
    ----------
    on_redirect : callable
        Called at most once, from a thread of the listener, with the AccessToken, or with a
        TokenError that gives the reason why there is none: the user declined, or the timeout
        elapsed. It is not called after `close`.
    scopes : iterable of str, optional
        The requested scopes, stored with the token.
    timeout : float
        Seconds to wait for the redirect.
    linger : float
        Seconds to stay open after the redirect, for the browser to fetch the final page.
    read : callable, optional
        Extracts the secret from the redirect URL; `token_from_redirect` by default.
    request_timeout : float
        Seconds to wait for the request of a connection, and then for the browser to take the response.

    Attributes
    ----------
    redirect_uri : str
        The redirect URI for the consent page: an address on 127.0.0.1 with a nonce in its path.

    Raises
    ------
    ConfigurationError
        No loopback port is available.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each setting
        self,
        on_redirect: Callable[[Any], object],
        *,
        scopes: Iterable[str] = (),
        timeout: float = 300.0,
        linger: float = 5.0,
        read: Callable[[str], Secret] | None = None,
        request_timeout: float = 5.0,
    ) -> None:
        self._on_redirect = on_redirect
        self._read: Callable[[str], Secret] = read or functools.partial(token_from_redirect, scopes=frozenset(scopes))
        self._timeout, self._linger, self._request_timeout = timeout, linger, request_timeout
        self._outcome_lock = threading.Lock()
        self._outcome: Outcome | None = None
        self._closed = threading.Event()
        self._ends_at = time.monotonic() + timeout
        try:
            self._server = _Server((HOST, 0), self._handle)  # type: ignore[arg-type] # called once per connection
        except OSError as error:
            raise ConfigurationError(
                f"Cannot listen on a port of {HOST} ({describe_os_error(error)}): paste the address instead."
            ) from None
        port = self._server.server_address[1]
        self._hosts = [[f"{HOST}:{port}"], [f"localhost:{port}"]]
        self._path = f"/callback/{secrets.token_hex(16)}"
        self.redirect_uri = f"http://{HOST}:{port}{self._path}"
        self._thread = threading.Thread(target=self._serve, name="p2p-sign-in", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether the listener has stopped."""
        return self._closed.is_set()

    def wait(self) -> None:
        """Wait until the listener stops: the browser has fetched the final page, or the timeout has elapsed."""
        self._closed.wait()

    def close(self) -> None:
        """Stop listening; callable from any thread, and more than once."""
        with self._outcome_lock:
            self._outcome = self._outcome or TokenError("The sign-in was stopped: start it again.")
            self._ends_at = 0.0
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        """Return the listener itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop listening."""
        self.close()

    def _serve(self) -> None:
        self._server.timeout = _POLL_SECONDS
        while time.monotonic() < self._ends_at:
            self._server.handle_request()
        self._server.server_close()
        self._closed.set()
        minutes, seconds = f"{self._timeout / _MINUTE:g} minutes", f"{self._timeout:g} seconds"
        wait = seconds if self._timeout < 2 * _MINUTE else minutes
        timed_out = TokenError(f"No sign-in within {wait}: start the sign-in again.")
        if self._decide(timed_out):
            self._on_redirect(timed_out)

    def _decide(self, outcome: Outcome) -> bool:
        """Set the outcome of the sign-in, and return whether it was still open."""
        with self._outcome_lock:
            if self._outcome is not None:
                return False
            self._outcome = outcome
            self._ends_at = time.monotonic() + self._linger
            return True

    def _handle(self, connection: socket.socket, *_: object) -> None:
        outcome = self._respond(connection)
        if outcome is not None:
            self._on_redirect(outcome)

    @hide_frames
    def _respond(self, connection: socket.socket) -> Outcome | None:
        """Respond to one request, and return the outcome of the sign-in if the request decides it."""
        try:
            head = _read_head(connection, self._request_timeout)
        except OSError:
            return None
        connection.settimeout(self._request_timeout)
        request_line, *lines = head.decode("latin-1").split("\r\n")
        words = request_line.split(" ")
        refusal = self._check_request(words, lines)
        if refusal is not None:
            _reply(connection, *refusal)
            return None
        path, _, query = words[1].partition("?")
        if secrets.compare_digest(path.encode("latin-1"), self._path.encode()):
            outcome: Outcome
            try:
                outcome = self._read(f"?{query}")
            except ConsentDenied as error:
                outcome = TokenError(str(error))  # a new exception, without the frames that hold the URL
            except TokenError as error:  # another tab may still bring a token
                _reply(connection, HTTPStatus.BAD_REQUEST, str(error))
                return None
            if not self._decide(outcome):
                _reply(connection, HTTPStatus.GONE, "This sign-in is over: close this tab and start another sign-in.")
                return None
            _send(connection, HTTPStatus.SEE_OTHER, b"", f"Location: {_DONE}")
            return outcome
        if path == _DONE and self._outcome is not None:
            texts = _NOT_SIGNED_IN if isinstance(self._outcome, TokenError) else _SIGNED_IN
            _send(connection, HTTPStatus.OK, render_page(*texts))
            self._ends_at = 0.0
        else:
            _reply(connection, HTTPStatus.NOT_FOUND, "This address does not exist.")
        return None

    def _check_request(self, words: list[str], lines: list[str]) -> tuple[HTTPStatus, str] | None:
        """Return the error for a request that no browser sends when it follows the redirect, None for all others."""
        headers: dict[str, list[str]] = {}
        for name, _, value in (line.partition(":") for line in lines):
            headers.setdefault(name.strip().lower(), []).append(value.strip().lower())
        if len(words) != len(("method", "target", "version")) or not words[2].startswith("HTTP/1."):
            return HTTPStatus.BAD_REQUEST, "The request cannot be read."
        if headers.get("host") not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, "The Host header names another server."
        if words[0] != "GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is supported."
        if any(headers.get(name, [expected]) != [expected] for name, expected in _NAVIGATION.items()):
            return HTTPStatus.FORBIDDEN, "This address can only be opened in a browser tab, not requested by a page."
        return None


class _Server(ThreadingTCPServer):
    """TCP server with one thread per connection, because browsers open connections that they never use."""

    daemon_threads = True
    block_on_close = False


def _read_head(connection: socket.socket, seconds: float) -> bytes:
    """Return the request line and headers; raise an OSError for a request that is too slow or too large."""
    head, give_up_at = b"", time.monotonic() + seconds
    while b"\r\n\r\n" not in head:
        connection.settimeout(max(give_up_at - time.monotonic(), 0.001))
        piece = connection.recv(_LARGEST_HEAD - len(head))
        if not piece:  # the browser disconnected, or the buffer is full
            raise ConnectionResetError
        head += piece
    return head.partition(b"\r\n\r\n")[0]


def _reply(connection: socket.socket, status: HTTPStatus, sentence: str) -> None:
    _send(connection, status, render_page(status.phrase, sentence), "Allow: GET")


def _send(connection: socket.socket, status: HTTPStatus, body: bytes, *headers: str) -> None:
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *_PAGE_HEADERS, *headers]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    with contextlib.suppress(OSError):  # the browser disconnected
        connection.sendall("\r\n".join(lines).encode() + body)


# ---- the pages, without scripts or external resources; other pages can neither frame nor read them


def render_page(title: str, sentence: str) -> bytes:
    """Return a page with a heading and a sentence, both plain text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1><p>{escape(sentence)}</p></main></body></html>"
    ).encode()
