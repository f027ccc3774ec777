"""Middleware around all routes: host check, body limit, request log, latency and faults."""

from __future__ import annotations

import asyncio
import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from p2p_analytics.sandbox.errors import RefusalError, TooLargeError, WrongHostError
from p2p_analytics.sandbox.faults.injection import apply_fault, misread_bound
from p2p_analytics.sandbox.faults.settings import RequestSettings
from p2p_analytics.sandbox.faults.specification import Kind
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT, Dialect
from p2p_analytics.sandbox.http.parameters import header_values, instant_us
from p2p_analytics.sandbox.http.responses import CONTROL_PATH, EXCHANGE_PATH, error_response
from p2p_analytics.sandbox.runtime.readers_writer_lock import ReadersWriterLock
from p2p_analytics.sandbox.runtime.request_log import RequestLog
from p2p_analytics.vocabulary import TOKEN_PARAMETER

LARGEST_BODY: Final = 64 * 1024
_PAGES: Final = ("/oauth/", "/account")
_LIKE_A_TOKEN: Final = re.compile(r"[\w-]{32,}", re.ASCII)
_OWN_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class RequestMiddleware:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    base_url : str
        The address of the service.
    request_settings : RequestSettings
        Latency, faults and timing.
    request_log : RequestLog
        Receives method and path with query, tokens removed, of each request to the service, not of its pages.
    dialect : Dialect
        How responses are written.

    Attributes
    ----------
    app : ASGI application
        May be replaced while `lock` is held exclusively.
    lock : ReadersWriterLock
        Shared by the requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        base_url: str,
        *,
        request_settings: RequestSettings,
        request_log: RequestLog,
        dialect: Dialect,
    ) -> None:
        self.app = app
        self.lock = ReadersWriterLock(request_settings.timing.reset)
        address = urlsplit(base_url)
        self._origin, self._prefix = f"{address.scheme}://{address.netloc}", address.path
        self._request_settings = request_settings
        self._request_log = request_log
        self._dialect = dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or respond with a fault or the error envelope."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        ACTIVE_DIALECT.set(self._dialect)  # the server runs each request in its own context
        controls = scope["path"].startswith(CONTROL_PATH)
        if not controls:
            if not any(pages in scope["path"] for pages in _PAGES):
                self._request_log.note(_LIKE_A_TOKEN.sub("***", scope["method"]), _without_token(scope))
            if self._request_settings.latency:
                await asyncio.sleep(self._request_settings.latency)
        try:
            _check_host(scope)
            replay = await _buffer_body(scope, receive)
            if replay is None:  # the client disconnected
                return
            below = scope["path"].removeprefix(self._prefix)
            is_page = below.startswith(_PAGES) and below != EXCHANGE_PATH
            is_service = scope["path"].startswith(f"{self._prefix}/") and not is_page
            kind = self._request_settings.faults.draw() if is_service else Kind.OK
            if controls:
                await self.app(scope, replay, send)
            else:
                await self._respond(kind, scope, replay, send)
        except RefusalError as refusal:
            await error_response(refusal)(scope, receive, send)

    async def _respond(self, kind: Kind, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, and send its response after the lock is released: a slow client must not hold it."""
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        async def run_application() -> list[Message]:
            async with self.lock.shared():
                await self.app(misread_bound(kind, scope, instant_us), receive, collect)
            return messages

        if kind is not Kind.OK:
            address = self._origin + _without_token(scope)
            drip_seconds = self._request_settings.timing.drip
            await apply_fault(
                kind, scope, receive, send, address=address, drip_seconds=drip_seconds, run_application=run_application
            )
            return
        try:
            await run_application()
        finally:  # also if the request fails
            for message in messages:
                await send(message)


def _check_host(scope: Scope) -> None:
    # Against DNS rebinding: a web page could read the sandbox by its own name, resolved to this machine.
    hosts = header_values(scope, b"host")
    name = hosts[0].rsplit(":", 1)[0] if hosts and not hosts[0].endswith("]") else "".join(hosts[:1])
    if len(hosts) != 1 or name.lower() not in _OWN_HOSTS:
        raise WrongHostError("This sandbox answers only on localhost, 127.0.0.1 and [::1].")


async def _buffer_body(scope: Scope, receive: Receive) -> Receive | None:
    """Return a function that replays the whole body of a request; None if the client disconnects before its end."""
    too_large = TooLargeError(f"The body is larger than {LARGEST_BODY} bytes.")
    lengths = header_values(scope, b"content-length")
    if lengths and lengths[0].isdigit() and int(lengths[0]) > LARGEST_BODY:
        raise too_large
    body, is_whole = b"", False
    while not is_whole:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise too_large
        is_whole = not message.get("more_body", False)
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        return messages.pop() if messages else await receive()

    return receive_next


def _without_token(scope: Scope) -> str:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode([(name, value) for name, value in pairs if name.lower() != TOKEN_PARAMETER], safe=":,")
    # A token may be in the wrong place; no id or documented word is as long as one.
    return _LIKE_A_TOKEN.sub("***", f"{scope['path']}?{query}" if query else str(scope["path"]))
