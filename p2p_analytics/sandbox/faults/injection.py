"""Injection of faults: the effect of each fault on a request, its response or its connection."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.types import Message, Receive, Scope, Send

from p2p_analytics.sandbox.errors import InvalidParameterError, RateLimitError, RefusalError
from p2p_analytics.sandbox.faults.specification import Kind
from p2p_analytics.vocabulary import PAYMENTS

# The server's protocol puts the transport of a connection into the ASGI scope under this name.
TRANSPORT_EXTENSION: Final = "p2p_analytics.sandbox.transport"
_NO_LINGER: Final = struct.pack("ii", 1, 0)  # a close then sends an RST
_ELSEWHERE: Final = "elsewhere.invalid"  # a reserved name, so it never resolves
_NEXT: Final = re.compile(rb'("pagination":\{"next":)(?:null|"[^"]*")')
_EMPTY_PAGE: Final = b'{"pagination":{"next":null},"data":[]}'
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY_US: Final = timedelta(days=1) // _MICROSECOND
_ZONE_US: Final = timedelta(hours=5) // _MICROSECOND
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST_US: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def misread_bound(kind: Kind, scope: Scope, read_instant: Callable[[str, str], int]) -> Scope:
    """Return a request with its `before` as a service with one of the ``bound-`` faults would read it.

    Only lists of payments are changed, and only a `before` that is a valid instant.

    Parameters
    ----------
    read_instant : callable
        Returns the microseconds since 1970 of a parameter, given its name and text, or raises InvalidParameterError.
    """
    is_list = scope["method"] in ("GET", "HEAD") and scope["path"].endswith(PAYMENTS.path)
    if kind not in (Kind.BOUND_ZONE, Kind.BOUND_DAY) or not is_list:
        return scope
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    misread = [
        (name, _misread_instant(kind, value, read_instant) if name == "before" else value) for name, value in pairs
    ]
    return {**scope, "query_string": urlencode(misread, encoding="latin-1").encode("ascii")}


def _misread_instant(kind: Kind, text: str, read_instant: Callable[[str, str], int]) -> str:
    try:
        instant = read_instant("before", text.strip())
    except InvalidParameterError:
        return text
    instant = instant - _ZONE_US if kind is Kind.BOUND_ZONE else instant // _DAY_US * _DAY_US
    # The change, or the zone of the text, may lead beyond the range of datetime.
    moment = _EPOCH + timedelta(microseconds=min(max(instant, _FIRST_US), _LAST_US))
    return moment.replace(tzinfo=None).isoformat()


async def apply_fault(  # noqa: PLR0913 - three of them are ASGI's
    kind: Kind,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    address: str,
    drip_seconds: float,
    run_application: Callable[[], Awaitable[list[Message]]],
) -> None:
    """Answer a request with a fault.

    Parameters
    ----------
    address : str
        Absolute URL of the request, without the token.
    drip_seconds : float
        Seconds between two bytes of the fault ``drip``.
    run_application : callable
        Processes the request and returns the messages of its response. Faults from ``lost`` on call it first.

    Raises
    ------
    RefusalError
        The fault is a response with the error envelope.
    """
    if kind is Kind.RATE_LIMITED:
        raise RateLimitError(1)
    if kind is Kind.FAILED:
        raise RefusalError("The service failed, as the fault settings of the sandbox demand.")
    if kind in _PAGES:
        status = _PAGES[kind]
        html = f"<!doctype html><title>{status.phrase}</title><h1>{status.phrase}</h1>".encode()
        headers = [(b"content-type", b"text/html")]
        await _send_response({"type": "http.response.start", "status": status, "headers": headers}, html, send)
        return
    transport: asyncio.Transport = scope["extensions"][TRANSPORT_EXTENSION]
    if kind is Kind.RESET:
        _reset(transport)
        await _wait_for_disconnect(receive)
        return
    start, *parts = await run_application()
    body = b"".join(part.get("body", b"") for part in parts)
    if kind is Kind.LOST:
        _reset(transport)
        await _wait_for_disconnect(receive)
    elif kind in (Kind.CUT, Kind.CUT_RESET):
        await send(start)
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        if kind is Kind.CUT:
            transport.close()
        else:
            _reset(transport)
        await _wait_for_disconnect(receive)
    elif kind is Kind.DRIP:
        await send(start)
        for place in range(len(body)):
            await send({"type": "http.response.body", "body": body[place : place + 1], "more_body": True})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_wait_for_disconnect(receive), drip_seconds)
                return
        await send({"type": "http.response.body"})
    else:
        await _send_response(start, _damage_body(kind, body, address), send)


_PAGES: Final = {
    # Pages of a proxy in front of the service; the last one, of the login page of a foreign network.
    Kind.BAD_GATEWAY: HTTPStatus.BAD_GATEWAY,
    Kind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Kind.GATEWAY_TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    Kind.HTML: HTTPStatus.OK,
}


async def _send_response(start: Message, body: bytes, send: Send) -> None:
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def _reset(transport: asyncio.Transport) -> None:
    """Abort a connection with an RST."""
    if not transport.is_closing():  # the client may have closed it
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        transport.abort()


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait for the disconnect message: the server itself sends a response where an application returns early."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _damage_body(kind: Kind, body: bytes, address: str) -> bytes:
    """Return a body damaged by a fault; faults of the next link change lists only."""
    if kind is Kind.GARBAGE:
        return b'{"data": \xff\x00]'
    if kind is Kind.EMPTY:
        return b""
    if kind is Kind.EMPTY_PAGE:
        return _EMPTY_PAGE if _NEXT.search(body) else body
    if kind is Kind.NO_NEXT:
        return _NEXT.sub(rb"\1null", body, count=1)
    if kind in (Kind.BOUND_ZONE, Kind.BOUND_DAY):
        return body
    scheme, _, rest = address.partition("://")
    host, _, path = rest.partition("/")
    bare = path.partition("?")[0]
    link = {
        Kind.NEXT_HOST: f"{scheme}://{_ELSEWHERE}/{path}",
        Kind.NEXT_USER: f"{scheme}://{host}@{_ELSEWHERE}/{path}",
        Kind.NEXT_SLASHES: f"//{_ELSEWHERE}/{path}",
        Kind.NEXT_PATH: f"{scheme}://{host}/{path.replace(bare, f'{bare}/elsewhere', 1)}",
        Kind.NEXT_REPEATS: address,
    }[kind]
    return _NEXT.sub(lambda match: match[1] + f'"{link}"'.encode(), body, count=1)
