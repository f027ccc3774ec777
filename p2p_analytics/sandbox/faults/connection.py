"""Deliberate cuts of a connection: closing it after the data already sent, or resetting it."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final

from starlette.types import Scope

# The server's protocol puts the transport of a connection into the ASGI scope under this name.
TRANSPORT_EXTENSION: Final = "p2p_analytics.sandbox.transport"
_NO_LINGER: Final = struct.pack("ii", 1, 0)  # a close then sends an RST


def close(scope: Scope) -> None:
    """Close the connection of a request after the data already sent."""
    _transport(scope).close()


def reset(scope: Scope) -> None:
    """Abort the connection of a request with an RST."""
    transport = _transport(scope)
    if not transport.is_closing():  # the client may have closed it
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        transport.abort()


def _transport(scope: Scope) -> asyncio.Transport:
    transport: asyncio.Transport = scope["extensions"][TRANSPORT_EXTENSION]
    return transport
