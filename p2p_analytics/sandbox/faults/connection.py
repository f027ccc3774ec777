"""The web server's side of a connection: who is slow to ask is cut off, and faults can reach the connection itself."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Scope

_EXTENSION: Final = "p2p_analytics.sandbox.transport"
_NO_LINGER: Final = struct.pack("ii", 1, 0)  # with which a close is an RST
_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)


class Protocol(H11Protocol):
    """Uvicorn's protocol with a time limit for whole requests, and with the transport in the ASGI scope.

    Attributes
    ----------
    patience : float
        Seconds from the first byte of a request, or from the connection, to the request's last byte.
    """

    patience: float = 10.0
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base class
        """Hand the transport to whatever answers, and begin to wait for a request."""
        super().connection_made(transport)
        served = self.app

        async def with_transport(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
            scope.setdefault("extensions", {})[_EXTENSION] = transport
            await served(scope, receive, send)

        self.app = with_transport
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came; a request that is whole has no limit any more."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile, which may be the first part of another request."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in _UNFINISHED:
            self._unwatch()
        elif self._limit is None:
            self._limit = self.loop.call_later(self.patience, self.transport.abort)

    def _unwatch(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def close(scope: Scope) -> None:
    """End the connection of a request after what was sent."""
    _transport(scope).close()


def reset(scope: Scope) -> None:
    """End the connection of a request with an RST."""
    transport = _transport(scope)
    if not transport.is_closing():  # the client may have gone first
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        transport.abort()


def _transport(scope: Scope) -> asyncio.Transport:
    transport: asyncio.Transport = scope["extensions"][_EXTENSION]
    return transport
