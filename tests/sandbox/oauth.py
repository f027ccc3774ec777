"""Consents of people, and token exchanges of their applications."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from p2p_analytics.sandbox import Application, SandboxServer

EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")


def consent(server: SandboxServer, user: str, app: Application, *scopes: str, kind: str = "token", **more: str) -> str:
    """Return the token or the code that an application gets when a user consents."""
    url = server.authorize_url(*scopes, client_id=app.client_id, response_type=kind, **more)
    (given,) = parse_qs(urlsplit(server.sign_in(url, user)).query)["access_token" if kind == "token" else kind]
    return given


def post(server: SandboxServer, **request: Any) -> requests.Response:
    """Send a request to the token exchange."""
    return requests.post(f"{server.base_url}/oauth/access_token", timeout=10, **request)


def exchange(server: SandboxServer, app: Application, **fields: str) -> requests.Response:
    """Send the form of the token exchange with an application's id and secret."""
    return post(server, data={"client_id": app.client_id, "client_secret": app.client_secret, **fields})


def issue_tokens(server: SandboxServer, user: str, app: Application, *scopes: str) -> Any:
    """Return the body of the answer to a new code."""
    response = exchange(server, app, code=consent(server, user, app, *scopes, kind="code"))
    assert response.status_code == 200, response.text
    return response.json()
