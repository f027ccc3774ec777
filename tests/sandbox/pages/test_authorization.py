"""The authorization pages: sign in, agree or decline, and where the browser is sent."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.errors import ForgeryError
from p2p_analytics.sandbox.storage.oauth_store import Registration
from p2p_analytics.vocabulary import Scope

DEMO = {"client_id": "1001", "scope": "access_profile"}


@pytest.fixture(scope="module")
def own() -> Iterator[SandboxServer]:
    """Run a sandbox with applications on the web, without a redirect URL, and with an invalid one."""
    with SandboxServer(years=1) as running:
        for client, redirect in (("web", "https://app.example/cb?keep=1"), ("none", None), ("bad", "javascript:x(1)")):
            running._tokens.oauth_store.add_application(Registration(client, client, client, redirect, None))
        yield running


@pytest.fixture
def tab(own, open_tab) -> Any:
    """Open a tab without a sign-in."""
    return open_tab(own)


def _address(own: SandboxServer, **query: str) -> str:
    return f"{own.base_url}/oauth/authorize?{urlencode(query)}"


def open_consent(own: SandboxServer, tab: Any, **query: str) -> requests.Response:
    """Sign in as the viewer and return the consent page."""
    page = tab.open(_address(own, **DEMO | query))
    assert tab.press("/oauth/sign-in", page, username=own.viewer).status_code == 303
    return tab.open(_address(own, **DEMO | query))


def test_allow(ask, own) -> None:
    """Agreeing sends the browser to the redirect URL with a token that carries the agreed scopes and no others."""
    url = own.authorize_url("access_profile", "access_email", redirect_uri="http://127.0.0.1:5999/back", state="a b&c")
    landed = urlsplit(own.sign_in(url, "noor-haddad"))
    assert (landed.scheme, landed.netloc, landed.path) == ("http", "127.0.0.1:5999", "/back")
    query = parse_qs(landed.query, strict_parsing=True)
    assert set(query) == {"access_token", "state"}
    assert query["state"] == ["a b&c"]
    noor = ask(on=own, token=query["access_token"][0])
    data = noor.get_body("/me")["data"]
    assert (data["user"]["username"], data["user"]["email"]) == ("noor-haddad", "noor-haddad@example.com")
    assert (data["balance"], data["user"]["phone"]) == (None, None)
    assert noor.get_refusal(f"/users/{data['user']['id']}/friends") == (403, "260")


def test_deny(own) -> None:
    """Declining sends the browser back with an error and without a token; `test_sign_in.py` has the state."""
    landed = own.sign_in(own.authorize_url(), own.viewer, allow=False)
    assert landed == "http://127.0.0.1/callback?error=user+denied+access"


@pytest.mark.parametrize("state", [" a b ", " ", "%20+%2B", "a\r\nb", "🙂 ", "x" * 3_000])
def test_state_comes_back_to_the_letter(own, state: str) -> None:
    """A state is the application's own text: its spaces and signs come back as they were."""
    landed = own.sign_in(own.authorize_url(state=state), own.viewer)
    assert parse_qs(urlsplit(landed).query, keep_blank_values=True, strict_parsing=True)["state"] == [state]


@pytest.mark.parametrize("text", ["access_profile,access_friends", " access_friends, access_profile ,access_profile"])
def test_scopes_by_space_comma_or_both(ask, own, text: str) -> None:
    """Scopes may be separated by spaces, commas, or both."""
    landed = own.sign_in(_address(own, client_id="1001", scope=text), own.viewer)
    me = ask(on=own, token=parse_qs(urlsplit(landed).query)["access_token"][0])
    assert me.get(f"/users/{me.get_body('/me')['data']['user']['id']}/friends").status_code == 200


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"scope": "access_profile"}, "241"), ({"client_id": "1001"}, "241"),
        ({"client_id": "1001", "scope": " , "}, "241"), (DEMO | {"client_id": "nobody"}, "250"),
        (DEMO | {"client_id": "none"}, "245"),
        (DEMO | {"client_id": "none", "redirect_uri": "http://127.0.0.1/"}, "245"),
        (DEMO | {"client_id": "bad"}, "245"), (DEMO | {"scope": "access_profile read_minds"}, "246"),
        (DEMO | {"response_type": "password"}, "249"), (DEMO | {"response_type": "code"}, "245"),
    ],
)  # fmt: skip
def test_requests_that_are_not_served(own, tab, query: dict[str, str], code: str) -> None:
    """An unusable request gets no sign-in page: a page that says why for a browser, the envelope for a program."""
    page = tab.open(_address(own, **query))
    assert page.status_code == 400
    assert "<form" not in page.text
    program = requests.get(_address(own, **query), timeout=10)
    assert (program.status_code, program.json()["error"]["code"]) == (400, code)
    with pytest.raises(SettingError):
        own.sign_in(_address(own, **query), own.viewer)


@pytest.mark.parametrize(
    ("client", "redirect", "begin"),
    [
        ("web", None, "https://app.example/cb?keep=1&access_token="),
        ("web", "https://app.example/other?x=1", "https://app.example/other?x=1&access_token="),
        ("web", "https://APP.example:443/cb", "https://APP.example:443/cb?access_token="),
        ("web", "https://app.example", "https://app.example?access_token="),
        ("1001", "http://127.0.0.1/cb?", "http://127.0.0.1/cb?access_token="),
        ("1001", "http://127.0.0.1/cb?x=what?", "http://127.0.0.1/cb?x=what?&access_token="),
        ("1001", "http://127.0.0.1/cb??", "http://127.0.0.1/cb??&access_token="),
        ("1001", "http://127.0.0.1/cb?a=1&", "http://127.0.0.1/cb?a=1&access_token="),
        ("1001", "http://127.0.0.1?x", "http://127.0.0.1?x&access_token="),
        ("1001", "http://localhost:65535/", "http://localhost:65535/?access_token="),
        ("1001", "http://[::1]:8000/", "http://[::1]:8000/?access_token="),
    ],
)
def test_redirects(own, client: str, redirect: str | None, begin: str) -> None:
    """An override may have any path and query, on loopback any port; the answer is appended to its letters."""
    landed = own.sign_in(own.authorize_url("access_profile", client_id=client, redirect_uri=redirect), own.viewer)
    assert re.fullmatch(re.escape(begin) + r"[\w-]{43}", landed)


BAD_WEB = [
    "http://app.example/cb", "https://app.example:8443/cb", "https://app.example.evil.test/cb",
    "https://evil.test/app.example", "https://app.example@evil.test/", "https://evil.test#https://app.example/",
    "https://app.example\\@evil.test/", "https://app.example/cb#f", "//app.example/cb", "https:app.example/cb",
    "https:///app.example/cb", "javascript:alert(1)", "https://app.example/\ncb", "https://app.example /",
    "https://user:pw@app.example/cb", "https://app.example:99999/", "https://app.example:/cb",
    "https://xn--app.example./cb", "http://127.0.0.1/cb", "https://app.example/cb?access_token=mine",
    "https://app.example/?STATE=1", "https://app.example/?code=1", "https://app.ex\u0430mple/cb",
]  # fmt: skip
BAD_LOOPBACK = [
    "https://127.0.0.1/x", "http://127.0.0.1:0/", "http://127.0.0.1.evil.test/", "http://127.0.0.2/",
    "http://0x7f000001/", "http://[::1].evil.test/",
]  # fmt: skip


@pytest.mark.parametrize(("client", "redirects"), [("web", BAD_WEB), ("1001", BAD_LOOPBACK)])
def test_redirects_that_are_refused(own, client: str, redirects: list[str]) -> None:
    """An override that leads elsewhere, or that two readers could read differently, gets no sign-in page."""
    refused = {}
    for redirect in redirects:
        url = _address(own, client_id=client, scope="access_profile", redirect_uri=redirect)
        response = requests.get(url, timeout=10)
        refused[redirect] = (response.status_code, response.json()["error"]["code"])
    assert refused == dict.fromkeys(redirects, (400, "400"))


def test_a_consent_form_needs_its_ticket(own, tab, open_tab) -> None:
    """A consent of the sign-in step or another browser, without a ticket, with another one, or replayed: 403."""
    path, other = "/oauth/consent", open_tab(own)
    answers = [tab.press(path, tab.open(_address(own, **DEMO)), decision="allow")]
    page = open_consent(own, tab)
    answers += [other.press(path, page, decision="allow")]
    other.open(_address(own, **DEMO))
    answers += [other.press(path, page, decision="allow")]
    answers += [tab.press(path, page, ticket=ticket, decision="allow") for ticket in ("", "guess", None)]
    answers += [tab.press(path, page, decision="allow") for _ in range(2)]
    found = [(answer.status_code, "Location" in answer.headers) for answer in answers]
    assert found == [(403, False)] * 6 + [(303, True), (403, False)]


def test_an_application_deleted_during_the_consent(own) -> None:
    """Where the application goes between the last look at it and the token, there is no token and no consent."""
    app = own.register_application("tom-ohara", name="Brief", redirect_url="http://127.0.0.1/cb")
    own._tokens.oauth_store.remove_application(app.client_id)
    viewer, scopes = own._user_id(own.viewer), [Scope.PROFILE]
    with pytest.raises(ForgeryError):
        own._tokens.issue(viewer, scopes, client_id=app.client_id)
    with pytest.raises(ForgeryError):
        own._tokens.issue_code(viewer, scopes, app.client_id, "http://127.0.0.1/cb")
    query = "SELECT count(*) FROM oauth_allowances WHERE client_id = ?"
    assert own.store.connection.execute(query, (app.client_id,)).fetchone() == (0,)


def test_the_consent_page_names_each_scope(own, tab) -> None:
    """The consent page lists exactly the requested scopes, the person, and where the answer goes."""
    tab.sign_in("tom-ohara")
    consent = tab.open(_address(own, client_id="1001", scope="make_payments access_email")).text
    assert re.findall(r"<code>(\w+)</code>", consent) == ["access_email", "make_payments"]
    assert "Tom O&#39;Hara" in consent
    assert "127.0.0.1" in consent


def test_sign_in_helper_refuses(own) -> None:
    """The helper never asks another host, and names known people where a username is unknown."""
    with pytest.raises(SettingError, match="must begin with"):
        own.sign_in("http://127.0.0.1:9/v1/oauth/authorize", own.viewer)
    with pytest.raises(UnknownPersonError, match="maya-lindqvist"):
        own.sign_in(own.authorize_url(), "nobody")
