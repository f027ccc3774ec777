"""Transports for tests."""

from __future__ import annotations

from p2p_analytics.auth import AccessToken
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY


def transport_to(base_url: str, **options: object) -> tuple[Transport, list[float]]:
    """Return a transport that records its waits instead of sleeping, and the list of waits."""
    waits: list[float] = []
    settings = {"timeout": (1.0, 1.0), "sleep": waits.append, "jitter": lambda: 0.5} | options
    return Transport(base_url, AccessToken(CANARY), **settings), waits  # type: ignore[arg-type]
