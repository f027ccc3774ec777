"""HTTP protocol of the server: a time limit for whole requests, and access to the transport for faults."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from p2p_analytics.sandbox.faults.injection import TRANSPORT_EXTENSION

_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)


class Protocol(H11Protocol):
    """Uvicorn's protocol with a time limit for whole requests, and with the transport in the ASGI scope.

    Parameters
    ----------
    request_seconds : float
        Seconds from the connection, or from the first byte of a request, to the last byte of the request.
    """

    def __init__(self, *given: Any, request_seconds: float, **named: Any) -> None:  # noqa: ANN401 - of the base class
        super().__init__(*given, **named)
        self._request_seconds = request_seconds
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base class
        """Put the transport into the scope of each request, and start the time limit."""
        super().connection_made(transport)
        served = self.app

        async def with_transport(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
            scope.setdefault("extensions", {})[TRANSPORT_EXTENSION] = transport
            await served(scope, receive, send)

        self.app = with_transport
        self._update_limit()

    def data_received(self, data: bytes) -> None:
        """Process the data; a complete request stops the time limit."""
        super().data_received(data)
        self._update_limit()

    def on_response_complete(self) -> None:
        """Process pipelined data; the first part of another request starts the time limit."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._update_limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop_limit()
        super().connection_lost(exc)

    def _update_limit(self) -> None:
        if self.conn.their_state not in _UNFINISHED:
            self._stop_limit()
        elif self._limit is None:
            self._limit = self.loop.call_later(self._request_seconds, self.transport.abort)

    def _stop_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
