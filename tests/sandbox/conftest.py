"""Tabs of a real browser, and user actions in them."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import requests

from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.sandbox import SandboxServer


@dataclass
class ApiClient:
    """HTTP client with a token, which parses numbers exactly."""

    server: SandboxServer
    token: str | None
    session: requests.Session = field(default_factory=requests.Session)

    def get(self, path: str, **parameters: object) -> requests.Response:
        """Send a GET to a path below the base URL."""
        if self.token is not None:
            parameters = {"access_token": self.token, **parameters}
        return self.session.get(f"{self.server.base_url}{path}", params=parameters, timeout=10, allow_redirects=False)

    def send(self, method: str, path: str, **fields: object) -> requests.Response:
        """Send a form with a method that writes."""
        form = {"access_token": self.token, **fields}
        return self.session.request(
            method, f"{self.server.base_url}{path}", data=form, timeout=10, allow_redirects=False
        )

    def post(self, **fields: object) -> requests.Response:
        """Create a payment or charge; by default with a note and an amount of 1.00."""
        return self.send("POST", "/payments", **{"note": "lunch", "amount": "1.00", **fields})

    def create(self, **fields: object) -> Any:
        """Create a payment or charge, and return the data of the 200."""
        response = self.post(**fields)
        assert response.status_code == 200, response.text
        return json.loads(response.content, parse_float=Decimal)["data"]

    def put(self, payment: str, action: str) -> requests.Response:
        """Approve, deny or cancel a payment."""
        return self.send("PUT", f"/payments/{payment}", action=action)

    def get_balance(self) -> Decimal:
        """Return the balance of the user."""
        return self.get_body("/me")["data"]["balance"]

    def get_body(self, path: str, **parameters: object) -> Any:
        """Return the body of a 200."""
        response = self.get(path, **parameters)
        assert response.status_code == 200, response.text
        return json.loads(response.content, parse_float=Decimal)

    def get_refusal(self, path: str, **parameters: object) -> tuple[int, str]:
        """Return the status and the error code of a refusal."""
        response = self.get(path, **parameters)
        return response.status_code, code_of(response)

    def list_payments(self, **parameters: object) -> list[Any]:
        """Return all payments; pages overlap by one second, and duplicates are removed."""
        found: dict[str, Any] = {}
        page = self.get_body("/payments", limit=50, **parameters)
        while True:
            found |= {item["id"]: item for item in page["data"]}
            if page["pagination"]["next"] is None:
                return list(found.values())
            last = page["data"][-1]["date_created"][:19]
            page = self.get_body("/payments", limit=50, **{**parameters, "before": f"{last}.999999"})


class Tab:
    """Browser session on the pages of one sandbox, without redirects."""

    def __init__(self, server: SandboxServer) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Accept"] = "text/html"

    def open(self, path: str, **query: str) -> requests.Response:
        """Open a page by its path below the base URL, or by its URL."""
        url = path if path.startswith("http") else f"{self.server.base_url}{path}"
        return self.session.get(url, params=query, timeout=10, allow_redirects=False)

    def press(self, path: str, page: requests.Response, **filled: str) -> requests.Response:
        """Submit a form of a page, with the page's ticket."""
        data = {"ticket": self.ticket(page), **filled}
        return self.session.post(f"{self.server.base_url}{path}", data=data, timeout=10, allow_redirects=False)

    def sign_in(self, username: str) -> None:
        """Sign in on the account's page."""
        page = self.open("/account/sign-in")
        assert self.press("/account/sign-in", page, username=username).status_code == 303

    @staticmethod
    def ticket(page: requests.Response) -> str:
        """Return the one ticket that all forms of a page share."""
        (ticket,) = set(re.findall(r'name="ticket" value="([^"]*)"', page.text))
        return html.unescape(ticket)


def code_of(response: requests.Response) -> str:
    """Return the code of an error envelope, after checking that the envelope has no other fields."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "code"}
    assert isinstance(body["error"]["message"], str)
    assert body["error"]["message"].endswith(".")
    assert isinstance(body["error"]["code"], str)
    return body["error"]["code"]


# Shared by all tests that do not write.
default_server = sandbox_fixture(scope="session")


@pytest.fixture
def ask(default_server: SandboxServer) -> Iterator[object]:
    """Return a function that creates API clients: ask(user=None, *scopes)."""
    clients: list[ApiClient] = []

    def make(
        user: str | None = None, *scopes: str, on: SandboxServer = default_server, token: str | None = None
    ) -> ApiClient:
        client = ApiClient(on, token if token is not None else on.token(user or on.viewer, *scopes))
        client.session.trust_env = False
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.session.close()


@pytest.fixture
def open_tab() -> Iterator[object]:
    """Open a tab with its own profile, and close it; a page that opens a dialog fails the test."""
    tabs: list[Tab] = []

    def make(server: SandboxServer) -> Tab:
        tabs.append(Tab(server))
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.session.close()


@pytest.fixture
def refusal() -> object:
    """Return a function that reads the status and the error code of a refusal."""
    return lambda response: (response.status_code, code_of(response))
