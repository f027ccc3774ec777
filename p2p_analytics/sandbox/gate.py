"""What every request passes before the routes see it: whose host, how large, how late, and the count."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from p2p_analytics.sandbox import wire
from p2p_analytics.sandbox.dialects import SPOKEN, Dialect
from p2p_analytics.sandbox.errors import RefusalError, TooLargeError, WrongHostError
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY: Final = 64 * 1024
# For its owner's eyes, so no shared cache keeps it; and it is JSON, whatever a browser thinks that it looks like.
DATA_HEADERS: Final = {"Cache-Control": "private", "X-Content-Type-Options": "nosniff"}
_MOST_SEEN: Final = 100_000
_PAGES: Final = ("/oauth/", "/account", "/sandbox/")
_LIKE_A_TOKEN: Final = re.compile(r"[\w-]{32,}", re.ASCII)
_OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Gate:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    latency : float
        Seconds that each answer waits.
    seen : list or None
        Receives (method, path with query, no token in either) of each request of the service itself, not of its pages.
    dialect : Dialect or None
        How the answers are written, by the document where not given.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        latency: float = 0.0,
        seen: list[tuple[str, str]] | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self._app = app
        self._latency = latency
        self._seen = seen
        self._dialect = Dialect() if dialect is None else dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with the envelope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        SPOKEN.set(self._dialect)  # the server runs each request in a context of its own
        if self._seen is not None and not any(pages in scope["path"] for pages in _PAGES):
            self._seen.append((scope["method"], _without_token(scope)))
            if len(self._seen) > _MOST_SEEN:
                del self._seen[: _MOST_SEEN // 2]
        if self._latency:
            await asyncio.sleep(self._latency)
        try:
            _check_host(scope)
            receive = _bounded(scope, receive)
        except RefusalError as refusal:
            await answer(refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def answer(refusal: RefusalError) -> Response:
    """Return the error envelope with its status."""
    body = wire.encode(wire.error(refusal.message, refusal.code))
    status = SPOKEN.get().status(refusal.status, refusal.code)
    return Response(body, status, headers={**DATA_HEADERS, **refusal.headers}, media_type="application/json")


def header(scope: Scope, name: bytes) -> list[str]:
    """Return all values of a request's header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _check_host(scope: Scope) -> None:
    # Another name that resolves to this machine is a web page that wants to read the sandbox (DNS rebinding).
    hosts = header(scope, b"host")
    name = hosts[0].rsplit(":", 1)[0] if hosts and not hosts[0].endswith("]") else "".join(hosts[:1])
    if len(hosts) != 1 or name.lower() not in _OWN_HOSTS:
        raise WrongHostError("This sandbox answers only on localhost, 127.0.0.1 and [::1].")


def _bounded(scope: Scope, receive: Receive) -> Receive:
    lengths = header(scope, b"content-length")
    if lengths and lengths[0].isdigit() and int(lengths[0]) > LARGEST_BODY:
        raise TooLargeError(f"The body is larger than {LARGEST_BODY} bytes.")
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            raise TooLargeError(f"The body is larger than {LARGEST_BODY} bytes.")
        return message

    return counted


def _without_token(scope: Scope) -> str:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode([(name, value) for name, value in pairs if name.lower() != TOKEN_PARAMETER], safe=":,")
    # Someone may put a token where none belongs; no id or documented word is as long as one.
    return _LIKE_A_TOKEN.sub("***", f"{scope['path']}?{query}" if query else str(scope["path"]))
