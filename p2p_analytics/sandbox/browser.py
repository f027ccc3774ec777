"""Scripted sign-in on the sandbox's pages over HTTP, with real forms and cookies, without a browser."""

from __future__ import annotations

import http.client
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http import HTTPStatus
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

from p2p_analytics.sandbox.errors import SettingError


def sign_in(base_url: str, authorize_url: str, username: str, *, allow: bool) -> str:
    """Sign in, allow or deny, and return the URL of the final redirect without requesting it."""
    if not authorize_url.startswith(f"{base_url}/"):
        raise SettingError(f"The authorization URL must begin with {base_url}/: use one of authorize_url().")
    session = _Session(urlsplit(base_url).netloc)
    page = _parse_page(session.get(authorize_url))
    entered = session.submit(page, username=username)
    page = _parse_page(session.get(entered.location) if entered.status == HTTPStatus.SEE_OTHER else entered)
    response = session.submit(page, decision="allow" if allow else "deny")
    if response.status != HTTPStatus.SEE_OTHER:
        raise SettingError(f"The consent page did not redirect: {_parse_page(response).problem}")
    return response.location


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    location: str
    text: str


class _Page(HTMLParser):
    """Form of a page: its action, hidden fields, inputs and buttons, and the problem that the page reports."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self.inputs: set[str] = set()
        self.problem = ""
        self._in_alert = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect forms, inputs and buttons."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        elif tag == "input" and given.get("type") == "hidden":
            self.fields[given["name"]] = given.get("value", "")
        elif tag in ("input", "button") and "name" in given:
            self.inputs.add(given["name"])
        self._in_alert = given.get("role") == "alert"

    def handle_data(self, data: str) -> None:
        """Collect the text of an alert."""
        if self._in_alert:
            self.problem += data.strip()

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - an alert holds text only, so any tag ends it
        """End an alert."""
        self._in_alert = False


@dataclass(slots=True)
class _Session:
    host: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, url: str) -> _Response:
        parts = urlsplit(url)
        return self._send("GET", f"{parts.path}?{parts.query}", None)

    def submit(self, page: _Page, **filled: str) -> _Response:
        if page.action is None or not set(filled) <= page.inputs:
            raise SettingError(f"The sign-in cannot continue: {page.problem or 'the page has no such form.'}")
        return self._send("POST", page.action, urlencode({**page.fields, **filled}))

    def _send(self, method: str, target: str, body: str | None) -> _Response:
        headers = {
            "Accept": "text/html",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.set_debuglevel(0)  # http.client's debug output would print the token of the redirect
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return _Response(response.status, response.headers.get("Location", ""), text)


def _parse_page(response: _Response) -> _Page:
    page = _Page()
    page.feed(response.text)
    page.close()
    return page
