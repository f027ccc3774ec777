"""The loopback listener: the end of a redirect on this machine, for one sign-in.

Any page in the user's browser can send requests to this port, so only who knows the nonce in the
path can hand over a token, only the first one is taken, and nothing here can be read across origins.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import threading
import time
from http import HTTPStatus
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from p2p_analytics.auth import _pages
from p2p_analytics.auth._redirect import ConsentDenied, token_from_redirect
from p2p_analytics.auth._sealing import sealed
from p2p_analytics.errors import ConfigurationError, TokenError, describe_os_error

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable

    from p2p_analytics.auth._token import Secret

Outcome: TypeAlias = "Secret | TokenError"

HOST: Final = "127.0.0.1"
_LARGEST_HEAD: Final = 2**14
_HEAD_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1
_MINUTE: Final = 60
_DONE: Final = "/done"
_A_TAB: Final = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "origin": ""}  # where a browser says it
_SIGNED_IN: Final = "You are signed in", "Close this tab and go back to where you came from."
_NOT_SIGNED_IN: Final = "You are not signed in", "You did not agree, so there is no token. Close this tab and go back."


class Listener:
    """Waits on this machine for the redirect of one sign-in.

    It listens from its construction on, in a thread of its own that does not keep the process alive.

    Parameters
    ----------
    on_redirect : callable
        Called at most once, from a thread of the listener, with the AccessToken, or with a
        TokenError that says why there is none: the user declined, or nobody came in time. What
        comes after `close` is not told.
    scopes : iterable of str, optional
        The scopes that are asked for, remembered with the token.
    timeout : float
        Seconds to wait for the redirect.
    linger : float
        Seconds to stay after it, for the browser to fetch the page that says so.
    read : callable, optional
        What takes the secret from the redirect address; `token_from_redirect` by default.

    Attributes
    ----------
    redirect_uri : str
        Where the browser is to be sent: an address on 127.0.0.1 with a nonce in its path.

    Raises
    ------
    ConfigurationError
        This machine gives no port.
    """

    def __init__(
        self,
        on_redirect: Callable[[Any], object],
        *,
        scopes: Iterable[str] = (),
        timeout: float = 300.0,
        linger: float = 5.0,
        read: Callable[[str], Secret] | None = None,
    ) -> None:
        self._on_redirect = on_redirect
        self._read: Callable[[str], Secret] = read or functools.partial(token_from_redirect, scopes=frozenset(scopes))
        self._timeout, self._linger = timeout, linger
        self._taking = threading.Lock()
        self._outcome: Outcome | None = None
        self._closed = threading.Event()
        self._ends_at = time.monotonic() + timeout
        try:
            self._server = _Server((HOST, 0), self._handler())
        except OSError as error:
            raise ConfigurationError(
                f"No port of {HOST} can be listened on ({describe_os_error(error)}): paste the address instead."
            ) from None
        port = self._server.server_address[1]
        self._hosts = [[f"{HOST}:{port}"], [f"localhost:{port}"]]
        self._path = f"/callback/{secrets.token_hex(16)}"
        self.redirect_uri = f"http://{HOST}:{port}{self._path}"
        self._thread = threading.Thread(target=self._serve, name="p2p-sign-in", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether nobody listens any more."""
        return self._closed.is_set()

    def wait(self) -> None:
        """Wait until nobody listens any more: until the browser has its last page, or the time is over."""
        self._closed.wait()

    def close(self) -> None:
        """Stop listening, from any thread and as often as one likes."""
        with self._taking:
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
        late = TokenError(f"Nobody signed in within {_spoken(self._timeout)}: start the sign-in again.")
        if self._take(late):
            self._on_redirect(late)

    def _take(self, outcome: Outcome) -> bool:
        with self._taking:
            if self._outcome is not None:
                return False
            self._outcome = outcome
            self._ends_at = time.monotonic() + self._linger
            return True

    def _handler(self) -> type[BaseRequestHandler]:
        listener = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                outcome = listener._answer(self.request)
                if outcome is not None:
                    listener._on_redirect(outcome)

        return Handler

    @sealed
    def _answer(self, connection: socket.socket) -> Outcome | None:
        """Answer one request; return the outcome of the sign-in if the request decides it."""
        try:
            head = _read_head(connection)
        except OSError:
            return None
        request_line, *lines = head.decode("latin-1").split("\r\n")
        words = request_line.split(" ")
        refused = self._refusal(words, lines)
        if refused is not None:
            _reply(connection, *refused)
            return None
        path, _, query = words[1].partition("?")
        if secrets.compare_digest(path.encode("latin-1"), self._path.encode()):
            return self._redirected(connection, query)
        if path == _DONE and self._outcome is not None:
            _send(connection, HTTPStatus.OK, _pages.page(*self._told()))
            self._ends_at = 0.0
        else:
            _reply(connection, HTTPStatus.NOT_FOUND, "There is nothing at this address.")
        return None

    def _refusal(self, words: list[str], lines: list[str]) -> tuple[HTTPStatus, str] | None:
        """Say what is wrong with a request that no browser sends when it follows the service's redirect."""
        headers: dict[str, list[str]] = {}
        for name, _, value in (line.partition(":") for line in lines):
            headers.setdefault(name.strip().lower(), []).append(value.strip().lower())
        if len(words) != len(("method", "target", "version")) or not words[2].startswith("HTTP/1."):
            return HTTPStatus.BAD_REQUEST, "The request cannot be read."
        if headers.get("host") not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, "This name does not lead here."
        if words[0] != "GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is answered here."
        if any(headers.get(name, [expected]) != [expected] for name, expected in _A_TAB.items()):
            return HTTPStatus.FORBIDDEN, "This address is for a browser's tab, not for other pages."
        return None

    def _redirected(self, connection: socket.socket, query: str) -> Outcome | None:
        outcome: Outcome
        try:
            outcome = self._read(f"?{query}")
        except ConsentDenied as error:
            outcome = TokenError(str(error))  # without the frames that hold the address
        except TokenError as error:  # another tab may still bring a token
            _reply(connection, HTTPStatus.BAD_REQUEST, str(error))
            return None
        if not self._take(outcome):
            _reply(connection, HTTPStatus.GONE, "This sign-in is over: close this tab and start another one.")
            return None
        _send(connection, HTTPStatus.SEE_OTHER, b"", f"Location: {_DONE}")
        return outcome

    def _told(self) -> tuple[str, str]:
        return _NOT_SIGNED_IN if isinstance(self._outcome, TokenError) else _SIGNED_IN


class _Server(ThreadingTCPServer):
    """One thread for each connection: browsers open some that they never use."""

    daemon_threads = True
    block_on_close = False


def _read_head(connection: socket.socket) -> bytes:
    """Return a request up to its empty line; a slow one, and one that is too large, is an OSError."""
    head, give_up_at = b"", time.monotonic() + _HEAD_SECONDS
    while b"\r\n\r\n" not in head:
        connection.settimeout(max(give_up_at - time.monotonic(), 0.001))
        piece = connection.recv(_LARGEST_HEAD - len(head))
        if not piece:  # the browser went away, or there is no room for more
            raise ConnectionResetError
        head += piece
    return head.partition(b"\r\n\r\n")[0]


def _reply(connection: socket.socket, status: HTTPStatus, sentence: str) -> None:
    _send(connection, status, _pages.page(status.phrase, sentence), "Allow: GET")


def _send(connection: socket.socket, status: HTTPStatus, body: bytes, *headers: str) -> None:
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *_pages.HEADERS, *headers]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    with contextlib.suppress(OSError):  # the browser went away
        connection.settimeout(_HEAD_SECONDS)
        connection.sendall("\r\n".join(lines).encode() + body)


def _spoken(seconds: float) -> str:
    return f"{seconds:g} seconds" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:g} minutes"
