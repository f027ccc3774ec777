"""The HTTP status of a rate limit in both dialects."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError


def get(server: SandboxServer, path: str) -> requests.Response:
    """Send a GET as the viewer, with every scope."""
    scopes = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
    return requests.get(
        server.base_url + path, params={"access_token": server.token(server.viewer, *scopes)}, timeout=10
    )


@pytest.mark.parametrize("status", [429, 400])
def test_the_status_of_a_rate_limit(status: int) -> None:
    """As observed, 277 comes with 429 or, by a switch, with 400; the wait and all other errors stay as they are."""
    with SandboxServer(
        people=3, years=1, dialect="observed", rate_limit=(1, 60), rate_limit_status=status, monotonic=lambda: 0.0
    ) as server:
        assert get(server, "/me").status_code == 200
        refused = get(server, "/me")
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, 277)
        assert refused.headers["Retry-After"] == "60"
        server.rate_limit, server.faults = None, "429"
        assert get(server, "/me").status_code == status
        assert get(server, "/me?access_token=none").status_code == 400  # two tokens
        assert requests.get(f"{server.base_url}/me", timeout=10).status_code == 401
        origin = server.base_url.removesuffix("/v1")
        described = requests.get(f"{origin}/sandbox/openapi.json", timeout=10).json()["paths"]["/me"]["get"][
            "responses"
        ]
        assert "277:" in described[str(status)]["description"]
        assert server.state()["rate_limit_status"] == status


@pytest.mark.parametrize(
    ("dialect", "status"),
    [("documented", 400), ("observed", 503), ("documented", 200), ("observed", 400.0), ("observed", "400"),
     ("observed", None), ("documented", 429.0), ("observed", [400])],
)  # fmt: skip
def test_a_rate_limit_has_no_other_status(dialect: str, status: Any) -> None:
    """400 is of the observed dialect alone, and there is no third status."""
    with (
        pytest.raises(SettingError, match=r"rate_limit_status cannot be .* it is 429"),
        SandboxServer(people=3, years=1, dialect=dialect, rate_limit_status=status),
    ):
        pass
