"""The same town in each dialect, and its OpenAPI document."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer


@pytest.fixture(scope="module", params=["documented", "observed"])
def dialect_server(request) -> Iterator[SandboxServer]:
    """Run the same town in each dialect."""
    with SandboxServer(people=6, years=1, dialect=request.param) as running:
        yield running
        assert running.audit() == []


@pytest.fixture(scope="module")
def description(dialect_server) -> Any:
    """Return the OpenAPI document, which is served at the origin without a token."""
    response = requests.get(dialect_server.base_url.removesuffix("/v1") + "/sandbox/openapi.json", timeout=10)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    return response.json()
