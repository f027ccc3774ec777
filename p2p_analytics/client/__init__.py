"""The service's client: the only code that sends requests. What writes, `desk`, must be asked for by name."""

from __future__ import annotations

from p2p_analytics.client._client import Client

__all__ = ["Client"]
