"""Callers of a sandbox over HTTP: an API client with a token, and a browser session on its pages."""

import functools
import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
import requests
from sandbox.oauth import EVERY

from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture


@dataclass
class ApiClient:
    """HTTP client with a token, which parses numbers exactly."""

    server: SandboxServer
    token: str | None
    session: requests.Session = field(default_factory=requests.Session)

    @functools.cached_property
    def id(self) -> str:
        """The user id of the token's owner."""
        return self.get_body("/me")["data"]["user"]["id"]

    def get(self, path: str, **parameters: object) -> requests.Response:
        """Send a GET to a path below the base URL."""
        if self.token is not None:
            parameters = {"access_token": self.token, **parameters}
        return self.session.get(f"{self.server.base_url}{path}", params=parameters, timeout=10, allow_redirects=False)

    def send(self, method: str, path: str, **fields: object) -> requests.Response:
        """Send a form with a method that writes."""
        form, url = {"access_token": self.token, **fields}, f"{self.server.base_url}{path}"
        return self.session.request(method, url, data=form, timeout=10, allow_redirects=False)

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

    def follow(self, page: Any) -> Any:
        """Return the page that the next link of a page leads to."""
        link = f"{page['pagination']['next']}&access_token={self.token}"
        return json.loads(self.session.get(link, timeout=10).content, parse_float=Decimal)


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
    error = response.json()["error"]
    assert response.json() == {"error": {"message": str(error["message"]), "code": str(error["code"])}}
    assert error["message"].endswith(".")
    return error["code"]


# Shared by all tests that do not write.
default_server = sandbox_fixture(scope="session")


@pytest.fixture
def ask(default_server, request) -> Callable[..., ApiClient]:
    """Return a function that creates API clients: ask(user=None, *scopes, on=default_server, token=None)."""

    def make(user: str | None = None, *scopes: str, on: Any = default_server, token: str | None = None) -> ApiClient:
        client = ApiClient(on, on.token(user or on.viewer, *scopes) if token is None else token)
        client.session.trust_env = False
        request.addfinalizer(client.session.close)
        return client

    return make


@pytest.fixture
def open_tab(request) -> Callable[[SandboxServer], Tab]:
    """Return a function that opens a browser session on the pages of a sandbox."""

    def make(server: SandboxServer) -> Tab:
        tab = Tab(server)
        request.addfinalizer(tab.session.close)
        return tab

    return make


@pytest.fixture
def refusal() -> Callable[[requests.Response], tuple[int, str]]:
    """Return a function that reads the status and the error code of a refusal."""
    return lambda response: (response.status_code, code_of(response))


@pytest.fixture
def people(town, ask) -> Callable[..., ApiClient]:
    """Return a function that returns a caller with every scope and a given balance, in the module's town."""

    def make(name: str, units: str | None = None) -> ApiClient:
        client = ask(name, *EVERY, on=town)
        if units is not None:
            town.deposit(name, int((Decimal(units) - client.get_balance()) * 100))
        return client

    return make
