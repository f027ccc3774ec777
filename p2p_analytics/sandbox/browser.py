"""A person in front of the sandbox's own pages, played over HTTP: real forms, real cookies, no browser."""

from __future__ import annotations

import http.client
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http import HTTPStatus
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

from p2p_analytics.sandbox.errors import SettingError


def sign_in(base_url: str, authorize_url: str, username: str, *, allow: bool) -> str:
    """Sign in, agree or decline, and return the address of the final redirect, without requesting it."""
    if not authorize_url.startswith(f"{base_url}/"):
        raise SettingError(f"The address to authorize at must begin with {base_url}/.")
    session = _Session(urlsplit(base_url).netloc)
    page = _page(session.get(authorize_url))
    entered = session.submit(page, username=username)
    page = _page(session.get(entered.location) if entered.status == HTTPStatus.SEE_OTHER else entered)
    answer = session.submit(page, decision="allow" if allow else "deny")
    if answer.status != HTTPStatus.SEE_OTHER:
        raise SettingError(f"The consent page did not redirect: {_page(answer).problem}")
    return answer.location


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    location: str
    text: str


class _Page(HTMLParser):
    """The form of a page: where it goes, its hidden fields, its inputs and buttons, and a problem it reports."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self.offered: set[str] = set()
        self.problem = ""
        self._alarm = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect forms, inputs and buttons."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        elif tag == "input" and given.get("type") == "hidden":
            self.fields[given["name"]] = given.get("value", "")
        elif tag in ("input", "button") and "name" in given:
            self.offered.add(given["name"])
        self._alarm = given.get("role") == "alert"

    def handle_data(self, data: str) -> None:
        """Collect the text of an alert."""
        if self._alarm:
            self.problem += data.strip()

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - an alert holds text only, so any tag ends it
        """End an alert."""
        self._alarm = False


@dataclass(slots=True)
class _Session:
    host: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, url: str) -> _Answer:
        parts = urlsplit(url)
        return self._send("GET", f"{parts.path}?{parts.query}", None)

    def submit(self, page: _Page, **filled: str) -> _Answer:
        if page.action is None or not set(filled) <= page.offered:
            raise SettingError(f"The sandbox cannot go on: {page.problem or 'the page has no such form.'}")
        return self._send("POST", page.action, urlencode({**page.fields, **filled}))

    def _send(self, method: str, target: str, body: str | None) -> _Answer:
        headers = {
            "Accept": "text/html",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.set_debuglevel(0)  # a process that debugs its HTTP would print the token of the redirect
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return _Answer(response.status, response.headers.get("Location", ""), text)


def _page(answer: _Answer) -> _Page:
    page = _Page()
    page.feed(answer.text)
    page.close()
    return page
