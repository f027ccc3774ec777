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

NASTY = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def own() -> Iterator[SandboxServer]:
    """Run a sandbox with a few more applications: one on the web, one without a redirect, one with a nasty name."""
    with SandboxServer(years=1) as running:
        for client, redirect in (
            ("web", "https://app.example/cb?keep=1"),
            ("none", None),
            ("bad", "javascript:alert(1)"),
        ):
            running._tokens.oauth_store.add_application(Registration(client, client, "", redirect, None))
        running._tokens.oauth_store.add_application(Registration("nasty", NASTY, NASTY, "http://localhost:1/cb", None))
        yield running


@pytest.fixture
def tab() -> Iterator[requests.Session]:
    """Open a browser's session."""
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(BROWSER)
        yield session


def address(own: SandboxServer, **query: str) -> str:
    """Return an authorize address with exactly these parameters."""
    return f"{own.base_url}/oauth/authorize?{urlencode(query)}"


def fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a page's form."""
    return {
        name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    }


def consent_page(own: SandboxServer, tab: requests.Session, client: str = "1001", **more: str) -> requests.Response:
    """Sign in as the viewer and return the consent page."""
    page = tab.get(address(own, client_id=client, scope="access_profile", **more), timeout=10)
    assert page.status_code == 200
    form = {**fields(page.text), "username": own.viewer}
    return tab.post(f"{own.base_url}/oauth/sign-in", data=form, timeout=10)


def decide(own: SandboxServer, tab: requests.Session, page: requests.Response, decision: str) -> requests.Response:
    """Press a button of the consent page."""
    form = {**fields(page.text), "decision": decision}
    return tab.post(f"{own.base_url}/oauth/consent", data=form, timeout=10, allow_redirects=False)


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
    assert data["user"]["username"] == "noor-haddad"
    assert data["user"]["email"] == "noor-haddad@example.com"
    assert (data["balance"], data["user"]["phone"]) == (None, None)
    assert noor.get_refusal(f"/users/{data['user']['id']}/friends") == (403, "260")


def test_deny(own: SandboxServer) -> None:
    """Declining sends the browser back with error=user+denied+access and without a token."""
    assert own.sign_in(own.authorize_url(), own.viewer, allow=False) == (
        "http://127.0.0.1/callback?error=user+denied+access"
    )


def test_a_redirect_with_a_query_of_its_own(own: SandboxServer) -> None:
    """The token is appended to a redirect URL that has a query already."""
    landed = own.sign_in(address(own, client_id="web", scope="access_profile"), own.viewer)
    assert re.fullmatch(r"https://app\.example/cb\?keep=1&access_token=[\w-]{43}", landed)


@pytest.mark.parametrize(
    ("redirect", "begin"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb?access_token="),
        ("http://127.0.0.1/cb?", "http://127.0.0.1/cb?access_token="),
        ("http://127.0.0.1/cb?x=what?", "http://127.0.0.1/cb?x=what?&access_token="),
        ("http://127.0.0.1/cb??", "http://127.0.0.1/cb??&access_token="),
        ("http://127.0.0.1/cb?a=1&", "http://127.0.0.1/cb?a=1&access_token="),
        ("http://127.0.0.1?x", "http://127.0.0.1?x&access_token="),
    ],
)
def test_a_redirect_is_not_rewritten(own: SandboxServer, redirect: str, begin: str) -> None:
    """The answer is appended to the redirect URL, every letter of which stays."""
    assert own.sign_in(own.authorize_url(redirect_uri=redirect), own.viewer).startswith(begin)


@pytest.mark.parametrize("state", [" a b ", " ", "%20+%2B", "a\r\nb", "🙂 ", "x" * 3_000])
def test_state_comes_back_to_the_letter(own: SandboxServer, state: str) -> None:
    """A state is the application's own text: its spaces and signs come back as they were."""
    landed = own.sign_in(own.authorize_url(state=state), own.viewer)
    assert parse_qs(urlsplit(landed).query, keep_blank_values=True, strict_parsing=True)["state"] == [state]


@pytest.mark.parametrize("text", ["access_profile access_friends", "access_profile,access_friends",
                                  " access_friends, access_profile ,access_profile"])  # fmt: skip
def test_scopes_by_space_comma_or_both(ask: Asking, own: SandboxServer, text: str) -> None:
    """Scopes may be separated by spaces, commas, or both."""
    landed = own.sign_in(address(own, client_id="1001", scope=text), own.viewer)
    me = ask(on=own, token=parse_qs(urlsplit(landed).query)["access_token"][0])
    assert me.get(f"/users/{me.get_body('/me')['data']['user']['id']}/friends").status_code == 200


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"scope": "access_profile"}, "241"),
        ({"client_id": "1001"}, "241"),
        ({"client_id": "1001", "scope": " , "}, "241"),
        ({"client_id": "nobody", "scope": "access_profile"}, "250"),
        ({"client_id": "none", "scope": "access_profile"}, "245"),
        ({"client_id": "none", "scope": "access_profile", "redirect_uri": "http://127.0.0.1/"}, "245"),
        ({"client_id": "bad", "scope": "access_profile"}, "245"),
        ({"client_id": "1001", "scope": "access_profile read_minds"}, "246"),
        ({"client_id": "1001", "scope": "access_profile", "response_type": "password"}, "249"),
        ({"client_id": "1001", "scope": "access_profile", "response_type": "code"}, "245"),
    ],
)
def test_requests_that_are_not_served(
    own: SandboxServer, tab: requests.Session, query: dict[str, str], code: str
) -> None:
    """An unusable request gets no sign-in page: a page that says why for a browser, the envelope for a program."""
    page = tab.get(address(own, **query), timeout=10)
    assert page.status_code == 400
    assert "<form" not in page.text
    program = tab.get(address(own, **query), headers={"Accept": "*/*"}, timeout=10)
    assert (program.status_code, program.json()["error"]["code"]) == (400, code)
    with pytest.raises(SettingError):
        own.sign_in(address(own, **query), own.viewer)


GOOD_WEB = ["https://app.example/other?x=1", "https://APP.example:443/cb", "https://app.example"]
BAD_WEB = [
    "http://app.example/cb",
    "https://app.example:8443/cb",
    "https://app.example.evil.test/cb",
    "https://evil.test/app.example",
    "https://app.example@evil.test/",
    "https://evil.test#https://app.example/",
    "https://app.example\\@evil.test/",
    "https://app.example/cb#f",
    "//app.example/cb",
    "https:app.example/cb",
    "https:///app.example/cb",
    "javascript:alert(1)",
    "https://app.example/\ncb",
    "https://app.example /",
    "https://user:pw@app.example/cb",
    "https://app.example:99999/",
    "https://app.example:/cb",
    "https://xn--app.example./cb",
    "http://127.0.0.1/cb",
    "https://app.example/cb?access_token=mine",
    "https://app.example/?STATE=1",
    "https://app.example/?code=1",
    "https://app.ex\u0430mple/cb",
]


@pytest.mark.parametrize("redirect", GOOD_WEB)
def test_redirects_that_may_be_overridden(own: SandboxServer, tab: requests.Session, redirect: str) -> None:
    """An override with the scheme, host and port on file is taken, whatever its path and query."""
    assert (
        decide(own, tab, consent_page(own, tab, "web", redirect_uri=redirect), "allow")
        .headers["Location"]
        .startswith(redirect)
    )


@pytest.mark.parametrize("redirect", BAD_WEB)
def test_redirects_that_are_refused(own: SandboxServer, tab: requests.Session, redirect: str) -> None:
    """An override that leads elsewhere, or that two readers could read differently, gets no sign-in page."""
    url = address(own, client_id="web", scope="access_profile", redirect_uri=redirect)
    response = tab.get(url, headers={"Accept": "*/*"}, timeout=10)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "400")


@pytest.mark.parametrize(
    ("redirect", "status"),
    [
        ("http://127.0.0.1:1/x", 200), ("http://localhost:65535/", 200), ("http://[::1]:8000/", 200),
        ("https://127.0.0.1/x", 400), ("http://127.0.0.1:0/", 400), ("http://127.0.0.1.evil.test/", 400),
        ("http://127.0.0.2/", 400), ("http://0x7f000001/", 400), ("http://[::1].evil.test/", 400),
    ],
)  # fmt: skip
def test_loopback_redirects(own: SandboxServer, tab: requests.Session, redirect: str, status: int) -> None:
    """Where loopback is on file an override may name any loopback name and port, nothing that only looks so."""
    url = address(own, client_id="1001", scope="access_profile", redirect_uri=redirect)
    assert tab.get(url, timeout=10).status_code == status


def test_a_consent_form_needs_its_ticket(own: SandboxServer, tab: requests.Session) -> None:
    """A consent without ticket, with another one, replayed, or of the sign-in step: 403, no redirect."""
    url = f"{own.base_url}/oauth/consent"
    sign_in = tab.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
    assert decide(own, tab, sign_in, "allow").status_code == 403
    page = consent_page(own, tab)
    for form in ({"decision": "allow"}, {"decision": "allow", "ticket": "guess"}):
        assert tab.post(url, data=form, timeout=10, allow_redirects=False).status_code == 403
    with requests.Session() as fresh:
        fresh.trust_env = False
        sign_in = fresh.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
        assert decide(own, fresh, sign_in, "allow").status_code == 403
    assert decide(own, tab, page, "allow").status_code == 303
    replay = decide(own, tab, page, "allow")
    assert replay.status_code == 403
    assert "Location" not in replay.headers


@pytest.mark.parametrize(("kind", "issues"), [("token", "issue"), ("code", "issue_code")])
def test_an_application_deleted_during_the_consent(
    own: SandboxServer, tab: requests.Session, monkeypatch: pytest.MonkeyPatch, kind: str, issues: str
) -> None:
    """Where the application goes between the last look at it and the token, there is no token: 403, no redirect."""
    app = own.register_application("tom-ohara", name="Brief", redirect_url="http://127.0.0.1/cb")
    page = consent_page(own, tab, client=app.client_id, response_type=kind)
    issue = getattr(own._tokens, issues)

    def too_late(*given: Any, **named: Any) -> str:
        own._tokens.oauth_store.remove_application(app.client_id)
        return str(issue(*given, **named))

    monkeypatch.setattr(own._tokens, issues, too_late)
    answer = decide(own, tab, page, "allow")
    assert answer.status_code == 403
    assert "Location" not in answer.headers
    query = "SELECT count(*) FROM oauth_allowances WHERE client_id = ?"
    assert own.store.connection.execute(query, (app.client_id,)).fetchone() == (0,)


def test_a_ticket_belongs_to_its_browser(own: SandboxServer, tab: requests.Session) -> None:
    """A consent form from another browser's session, or without any cookie: 403."""
    page = consent_page(own, tab)
    with requests.Session() as other:
        other.trust_env = False
        assert decide(own, other, page, "allow").status_code == 403
        other.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
        assert decide(own, other, page, "allow").status_code == 403
    assert decide(own, tab, page, "deny").status_code == 303


def test_a_planted_session_is_not_taken(own: SandboxServer, tab: requests.Session) -> None:
    """A planted session cookie is replaced at the sign-in, so that the attacker is not signed in."""
    planted = "p" * 43
    cookie = f"sandbox_session_{urlsplit(own.base_url).port}"
    tab.cookies.set(cookie, planted, domain="127.0.0.1", path="/v1")
    start = tab.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
    form = {**fields(start.text), "username": own.viewer}
    consent = tab.post(f"{own.base_url}/oauth/sign-in", data=form, timeout=10)
    assert consent.cookies[cookie] != planted
    agreed = {**fields(consent.text), "decision": "allow"}
    with requests.Session() as thief:
        thief.trust_env = False
        thief.headers["Cookie"] = f"{cookie}={planted}"
        answer = thief.post(f"{own.base_url}/oauth/consent", data=agreed, timeout=10, allow_redirects=False)
        assert answer.status_code == 403
    assert decide(own, tab, consent, "allow").status_code == 303


def test_the_cookie(own: SandboxServer, tab: requests.Session) -> None:
    """The session cookie is HttpOnly, SameSite=Lax, ends with the browser, and is named after the sandbox's port."""
    response = tab.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
    pair, *attributes = response.headers["Set-Cookie"].split(";")
    assert {part.strip().lower() for part in attributes} == {"httponly", "samesite=lax", "path=/v1"}
    assert pair.startswith(f"sandbox_session_{urlsplit(own.base_url).port}=")


def test_an_unknown_name_gets_the_page_again(own: SandboxServer, tab: requests.Session) -> None:
    """An unknown username shows the sign-in page again with one sentence; the same tab can then sign in."""
    page = tab.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
    url = f"{own.base_url}/oauth/sign-in"
    again = tab.post(url, data={**fields(page.text), "username": NASTY}, timeout=10)
    assert again.status_code == 400
    assert "No person of this town has that username: check the spelling." in again.text
    right = tab.post(url, data={**fields(again.text), "username": f"@{own.viewer}"}, timeout=10)
    assert right.status_code == 200
    assert 'value="allow"' in right.text


def test_every_page_carries_its_security_headers(own: SandboxServer, tab: requests.Session) -> None:
    """No script, frame, referrer or cache; forms stay here but on the consent page, where it would stop redirects."""
    start = tab.get(address(own, client_id="1001", scope="access_profile"), timeout=10)
    consent = consent_page(own, tab)
    refused = tab.get(address(own), timeout=10)
    for response in (consent, start, refused, decide(own, tab, consent, "allow")):
        policy = dict(
            part.strip().partition(" ")[::2] for part in response.headers["Content-Security-Policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        staying = {"form-action"} if response in (start, refused) else set()
        assert set(policy) == {"default-src", "style-src", "base-uri", "frame-ancestors"} | staying
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"


def test_names_are_escaped(own: SandboxServer, tab: requests.Session) -> None:
    """An application's name is text on both pages, never markup and never a template."""
    tags = {}
    for client in ("web", "nasty"):
        tab.cookies.clear()
        start = tab.get(address(own, client_id=client, scope="access_profile"), timeout=10)
        consent = consent_page(own, tab, client)
        tags[client] = [re.findall(r"<(\w+)", page.text) for page in (start, consent)]
    assert [names.count("img") for names in tags["nasty"]] == [0, 0]
    assert tags["nasty"][0] == tags["web"][0]
    assert "{{ 7*7 }}" in html.unescape(consent.text)


def test_the_consent_page_names_each_scope(own: SandboxServer, tab: requests.Session) -> None:
    """The consent page lists exactly the requested scopes, the person, and where the answer goes."""
    page = tab.get(address(own, client_id="1001", scope="make_payments access_email"), timeout=10)
    consent = tab.post(
        f"{own.base_url}/oauth/sign-in", data={**fields(page.text), "username": "tom-ohara"}, timeout=10
    ).text
    assert set(re.findall(r"<code>(\w+)</code>", consent)) == {"make_payments", "access_email"}
    assert "Tom O&#39;Hara" in consent
    assert "127.0.0.1" in consent


def test_sign_in_helper_refuses(own: SandboxServer) -> None:
    """The helper never asks another host, and names known people where a username is unknown."""
    with pytest.raises(SettingError, match="must begin with"):
        own.sign_in("http://127.0.0.1:9/v1/oauth/authorize", own.viewer)
    with pytest.raises(UnknownPersonError, match="maya-lindqvist"):
        own.sign_in(own.authorize_url(), "nobody")


def test_state_is_echoed_only_when_given(own: SandboxServer) -> None:
    """State comes back with a refusal too, and is not invented."""
    landed = own.sign_in(own.authorize_url(state="s-1"), own.viewer, allow=False)
    assert parse_qsl(urlsplit(landed).query) == [("error", "user denied access"), ("state", "s-1")]
    assert "state" not in own.sign_in(own.authorize_url(), own.viewer)
