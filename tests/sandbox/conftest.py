"""A running sandbox, and clients that send requests to it over HTTP."""

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
class Asker:
    """A session that holds a token and reads numbers exactly."""

    server: SandboxServer
    token: str | None
    session: requests.Session = field(default_factory=requests.Session)

    def get(self, path: str, **parameters: object) -> requests.Response:
        """Ask for a path below the base URL."""
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
        """Pay or charge; a note and an amount of 1.00 where the fields name none."""
        return self.send("POST", "/payments", **{"note": "lunch", "amount": "1.00", **fields})

    def create(self, **fields: object) -> Any:
        """Pay or charge, and return the data of a 200."""
        response = self.post(**fields)
        assert response.status_code == 200, response.text
        return json.loads(response.content, parse_float=Decimal)["data"]

    def put(self, payment: str, action: str) -> requests.Response:
        """Approve, deny or cancel."""
        return self.send("PUT", f"/payments/{payment}", action=action)

    def balance(self) -> Decimal:
        """Return one's balance."""
        return self.ok("/me")["data"]["balance"]

    def ok(self, path: str, **parameters: object) -> Any:
        """Ask, and return the body of a 200."""
        response = self.get(path, **parameters)
        assert response.status_code == 200, response.text
        return json.loads(response.content, parse_float=Decimal)

    def get_refusal(self, path: str, **parameters: object) -> tuple[int, str]:
        """Ask, and return the status and the code of the error envelope."""
        response = self.get(path, **parameters)
        return response.status_code, code_of(response)

    def all_payments(self, **parameters: object) -> list[Any]:
        """Return everything, one second of overlap at each next link and duplicates dropped."""
        found: dict[str, Any] = {}
        page = self.ok("/payments", limit=50, **parameters)
        while True:
            found |= {item["id"]: item for item in page["data"]}
            if page["pagination"]["next"] is None:
                return list(found.values())
            last = page["data"][-1]["date_created"][:19]
            page = self.ok("/payments", limit=50, **{**parameters, "before": f"{last}.999999"})


class Tab:
    """A browser's session on the pages of one sandbox: opens an address, presses a button, follows nothing."""

    def __init__(self, server: SandboxServer) -> None:
        self.server = server
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Accept"] = "text/html"

    def open(self, path: str, **query: str) -> requests.Response:
        """Open a page by its path below the base URL, or by its whole address."""
        url = path if path.startswith("http") else f"{self.server.base_url}{path}"
        return self.session.get(url, params=query, timeout=10, allow_redirects=False)

    def press(self, path: str, page: requests.Response, **filled: str) -> requests.Response:
        """Send a form of a page, with the page's ticket."""
        data = {"ticket": self.ticket(page), **filled}
        return self.session.post(f"{self.server.base_url}{path}", data=data, timeout=10, allow_redirects=False)

    def sign_in(self, username: str) -> None:
        """Sign in at the account's entrance."""
        page = self.open("/account/sign-in")
        assert self.press("/account/sign-in", page, username=username).status_code == 303

    @staticmethod
    def ticket(page: requests.Response) -> str:
        """Return the one ticket that all forms of a page share."""
        (ticket,) = set(re.findall(r'name="ticket" value="([^"]*)"', page.text))
        return html.unescape(ticket)


def code_of(response: requests.Response) -> str:
    """Return the code of an error envelope, after checking that it is exactly one."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "code"}
    assert isinstance(body["error"]["message"], str)
    assert body["error"]["message"].endswith(".")
    assert isinstance(body["error"]["code"], str)
    return body["error"]["code"]


# The default town, shared by all tests that only read.
server = sandbox_fixture(scope="session")


@pytest.fixture
def ask(server: SandboxServer) -> Iterator[object]:
    """Return a maker of askers: ask(user=None, *scopes)."""
    made: list[Asker] = []

    def make(user: str | None = None, *scopes: str, on: SandboxServer = server, token: str | None = None) -> Asker:
        asker = Asker(on, token if token is not None else on.token(user or on.viewer, *scopes))
        asker.session.trust_env = False
        made.append(asker)
        return asker

    yield make
    for asker in made:
        asker.session.close()


@pytest.fixture
def open_tab() -> Iterator[object]:
    """Return a maker of tabs: open_tab(server)."""
    made: list[Tab] = []

    def make(server: SandboxServer) -> Tab:
        made.append(Tab(server))
        return made[-1]

    yield make
    for tab in made:
        tab.session.close()


@pytest.fixture
def refusal() -> object:
    """Return a reader of refusals: the status and the code of the envelope."""
    return lambda response: (response.status_code, code_of(response))
