"""The authorization pages: sign in, agree or decline, and where the browser is sent."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.storage.oauth_store import Registration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Asking = Callable[..., Any]
    OpenTab = Callable[[SandboxServer], Any]

NASTY = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
DEMO = {"client_id": "1001", "scope": "access_profile"}


@pytest.fixture(scope="module")
def own() -> Iterator[SandboxServer]:
    """Run a sandbox with a few more applications: one on the web, one without a redirect, one with a nasty name."""
    with SandboxServer(years=1) as running:
        for client, name, redirect in (
            ("web", "web", "https://app.example/cb?keep=1"),
            ("none", "none", None),
            ("bad", "bad", "javascript:alert(1)"),
            ("nasty", NASTY, "http://localhost:1/cb"),
        ):
            running._tokens.oauth_store.add_application(Registration(client, name, name, redirect, None))
        yield running


@pytest.fixture
def tab(own: SandboxServer, open_tab: OpenTab) -> Any:
    """Open a tab without a sign-in."""
    return open_tab(own)


def address(own: SandboxServer, **query: str) -> str:
    """Return an authorize address with exactly these parameters."""
    return f"{own.base_url}/oauth/authorize?{urlencode(query)}"


def open_consent(own: SandboxServer, tab: Any, **query: str) -> requests.Response:
    """Sign in as the viewer and return the consent page."""
    page = tab.open(address(own, **DEMO | query))
    assert tab.press("/oauth/sign-in", page, username=own.viewer).status_code == 303
    return tab.open(address(own, **DEMO | query))


def test_allow(ask: Asking, own: SandboxServer) -> None:
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


def test_deny(own: SandboxServer) -> None:
    """Declining sends the browser back with an error and without a token; a state comes back if one was given."""
    landed = own.sign_in(own.authorize_url(), own.viewer, allow=False)
    assert landed == "http://127.0.0.1/callback?error=user+denied+access"
    landed = own.sign_in(own.authorize_url(state="s-1"), own.viewer, allow=False)
    assert parse_qsl(urlsplit(landed).query) == [("error", "user denied access"), ("state", "s-1")]


@pytest.mark.parametrize("state", [" a b ", " ", "%20+%2B", "a\r\nb", "🙂 ", "x" * 3_000])
def test_state_comes_back_to_the_letter(own: SandboxServer, state: str) -> None:
    """A state is the application's own text: its spaces and signs come back as they were."""
    landed = own.sign_in(own.authorize_url(state=state), own.viewer)
    assert parse_qs(urlsplit(landed).query, keep_blank_values=True, strict_parsing=True)["state"] == [state]


@pytest.mark.parametrize("text", ["access_profile,access_friends", " access_friends, access_profile ,access_profile"])
def test_scopes_by_space_comma_or_both(ask: Asking, own: SandboxServer, text: str) -> None:
    """Scopes may be separated by spaces, commas, or both."""
    landed = own.sign_in(address(own, client_id="1001", scope=text), own.viewer)
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
def test_requests_that_are_not_served(own: SandboxServer, tab: Any, query: dict[str, str], code: str) -> None:
    """An unusable request gets no sign-in page: a page that says why for a browser, the envelope for a program."""
    page = tab.open(address(own, **query))
    assert page.status_code == 400
    assert "<form" not in page.text
    program = requests.get(address(own, **query), timeout=10)
    assert (program.status_code, program.json()["error"]["code"]) == (400, code)
    with pytest.raises(SettingError):
        own.sign_in(address(own, **query), own.viewer)


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
def test_redirects(own: SandboxServer, client: str, redirect: str | None, begin: str) -> None:
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
def test_redirects_that_are_refused(own: SandboxServer, client: str, redirects: list[str]) -> None:
    """An override that leads elsewhere, or that two readers could read differently, gets no sign-in page."""
    refused = {}
    for redirect in redirects:
        url = address(own, client_id=client, scope="access_profile", redirect_uri=redirect)
        response = requests.get(url, timeout=10)
        refused[redirect] = (response.status_code, response.json()["error"]["code"])
    assert refused == dict.fromkeys(redirects, (400, "400"))


def test_a_consent_form_needs_its_ticket(own: SandboxServer, tab: Any, open_tab: OpenTab) -> None:
    """A consent without ticket, with another one, of the sign-in step or another browser, or replayed: 403."""
    sign_in, other = tab.open(address(own, **DEMO)), open_tab(own)
    assert tab.press("/oauth/consent", sign_in, decision="allow").status_code == 403
    page = open_consent(own, tab)
    for ticket in ({"ticket": ""}, {"ticket": "guess"}):
        assert tab.press("/oauth/consent", page, **ticket, decision="allow").status_code == 403
    assert other.press("/oauth/consent", page, decision="allow").status_code == 403
    other.open(address(own, **DEMO))
    assert other.press("/oauth/consent", page, decision="allow").status_code == 403
    assert tab.press("/oauth/consent", page, decision="allow").status_code == 303
    replay = tab.press("/oauth/consent", page, decision="allow")
    assert (replay.status_code, "Location" in replay.headers) == (403, False)


@pytest.mark.parametrize(("kind", "issues"), [("token", "issue"), ("code", "issue_code")])
def test_an_application_deleted_during_the_consent(
    own: SandboxServer, tab: Any, monkeypatch: pytest.MonkeyPatch, kind: str, issues: str
) -> None:
    """Where the application goes between the last look at it and the token, there is no token: 403, no redirect."""
    app = own.register_application("tom-ohara", name="Brief", redirect_url="http://127.0.0.1/cb")
    page = open_consent(own, tab, client_id=app.client_id, response_type=kind)
    issue = getattr(own._tokens, issues)

    def too_late(*given: Any, **named: Any) -> str:
        own._tokens.oauth_store.remove_application(app.client_id)
        return str(issue(*given, **named))

    monkeypatch.setattr(own._tokens, issues, too_late)
    answer = tab.press("/oauth/consent", page, decision="allow")
    assert (answer.status_code, "Location" in answer.headers) == (403, False)
    query = "SELECT count(*) FROM oauth_allowances WHERE client_id = ?"
    assert own.store.connection.execute(query, (app.client_id,)).fetchone() == (0,)


def test_the_session_of_a_sign_in(own: SandboxServer, tab: Any) -> None:
    """The cookie is HttpOnly, SameSite=Lax, ends with the browser, and is replaced at the sign-in if it was planted."""
    page = tab.open(address(own, **DEMO))
    pair, *attributes = page.headers["Set-Cookie"].split(";")
    assert {part.strip().lower() for part in attributes} == {"httponly", "samesite=lax", "path=/v1"}
    name, _, planted = pair.partition("=")
    assert name == f"sandbox_session_{urlsplit(own.base_url).port}"
    again = tab.press("/oauth/sign-in", page, username=NASTY)
    assert again.status_code == 400
    assert "No person of this town has that username: check the spelling." in again.text
    signed_in = tab.press("/oauth/sign-in", again, username=f"@{own.viewer}")
    assert signed_in.cookies[name] != planted
    assert 'value="allow"' in tab.open(address(own, **DEMO)).text


def test_every_page_carries_its_security_headers(own: SandboxServer, tab: Any) -> None:
    """No script, frame, referrer or cache; forms stay here but on the consent page, where it would stop redirects."""
    start, refused, consent = tab.open(address(own, **DEMO)), tab.open(address(own)), open_consent(own, tab)
    for response in (start, refused, consent, tab.press("/oauth/consent", consent, decision="allow")):
        policy = dict(part.partition(" ")[::2] for part in response.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        staying = {"form-action"} if response in (start, refused) else set()
        assert set(policy) == {"default-src", "style-src", "base-uri", "frame-ancestors"} | staying
        names = ("X-Frame-Options", "Referrer-Policy", "Cache-Control")
        assert [response.headers[name] for name in names] == ["DENY", "no-referrer", "no-store"]


def test_names_are_escaped(own: SandboxServer, open_tab: OpenTab) -> None:
    """An application's name is text on both pages, never markup and never a template."""
    tags = {}
    for client in ("web", "nasty"):
        tab = open_tab(own)
        start, consent = (
            tab.open(address(own, **DEMO | {"client_id": client})),
            open_consent(own, tab, client_id=client),
        )
        tags[client] = [re.findall(r"<(\w+)", page.text) for page in (start, consent)]
    assert [names.count("img") for names in tags["nasty"]] == [0, 0]
    assert tags["nasty"][0] == tags["web"][0]
    assert "{{ 7*7 }}" in html.unescape(consent.text)


def test_the_consent_page_names_each_scope(own: SandboxServer, tab: Any) -> None:
    """The consent page lists exactly the requested scopes, the person, and where the answer goes."""
    tab.sign_in("tom-ohara")
    consent = tab.open(address(own, client_id="1001", scope="make_payments access_email")).text
    assert re.findall(r"<code>(\w+)</code>", consent) == ["access_email", "make_payments"]
    assert "Tom O&#39;Hara" in consent
    assert "127.0.0.1" in consent


def test_sign_in_helper_refuses(own: SandboxServer) -> None:
    """The helper never asks another host, and names known people where a username is unknown."""
    with pytest.raises(SettingError, match="must begin with"):
        own.sign_in("http://127.0.0.1:9/v1/oauth/authorize", own.viewer)
    with pytest.raises(UnknownPersonError, match="maya-lindqvist"):
        own.sign_in(own.authorize_url(), "nobody")
