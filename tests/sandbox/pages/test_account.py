"""The developer settings and the authorized applications: their owners, and their forms."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import Application, SandboxServer, SettingError, UnknownPersonError
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]
    OpenTab = Callable[[SandboxServer], Any]
    Refusal = Callable[[requests.Response], tuple[int, str]]

DEVELOPER, ALLOWED = "/account/developer", "/account/applications"
GOOD = {"name": "Ledger", "description": "Sums.", "redirect_url": "https://app.example/cb", "site_url": "app.example"}
NASTY = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}"


# Eight people; the identity of kai_ is not verified.
own = sandbox_fixture(people=8, years=1)


@pytest.fixture
def tab(own: SandboxServer, open_tab: OpenTab) -> Any:
    """Open a tab signed in as a person with few applications."""
    tab = open_tab(own)
    tab.sign_in("zoe-nunez")
    yield tab
    for application in own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez")):
        own._tokens.oauth_store.remove_application(application.client_id)


def register(tab: Any, **change: str) -> requests.Response:
    """Fill in the registration form."""
    return tab.press(DEVELOPER, tab.open(DEVELOPER), **GOOD | change)


def read_application(page: requests.Response) -> Application:
    """Return the id and the secret that a page shows."""
    found = [re.findall(rf'id="client-{name}">([^<]+)<', page.text) for name in ("id", "secret")]
    ((client_id,), (secret,)) = found
    return Application(client_id, secret)


def tags(page: str) -> list[str]:
    """Return the names of all tags of a page, as a browser's parser finds them."""
    found: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append(f"{tag} {sorted(name for name, _ in attrs)}")  # type: ignore[method-assign]
    parser.feed(page)
    parser.close()
    return found


def test_register(own: SandboxServer, tab: Any) -> None:
    """A form with the document's four fields gives a client id and, this once, a secret; both serve at once."""
    page = register(tab)
    assert page.status_code == 200
    app = read_application(page)
    assert re.fullmatch(r"[1-9]\d{9}", app.client_id)
    assert re.fullmatch(r"[\w-]{43}", app.client_secret)
    listed, alone = tab.open(DEVELOPER), tab.open(f"{DEVELOPER}/{app.client_id}")
    assert app.client_id in listed.text
    assert "https://app.example/cb" in alone.text
    assert app.client_secret not in listed.text + alone.text + repr(app)
    landed = own.sign_in(own.authorize_url(client_id=app.client_id, response_type="code"), own.viewer)
    fields = {"client_id": app.client_id, "client_secret": app.client_secret, **parse_qs(urlsplit(landed).query)}
    assert requests.post(f"{own.base_url}/oauth/access_token", data=fields, timeout=10).status_code == 200


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("name", ""), ("name", "  "), ("name", "x" * 81), ("name", "a\u202eb"), ("name", "a\x00b"), ("name", "\u200d"),
        ("description", ""), ("description", "x" * 301), ("description", "\u2066"),
        ("redirect_url", "app.example/cb"), ("redirect_url", "ftp://app.example/cb"), ("redirect_url", "https://app.example"),
        ("redirect_url", "https://app.example?x=/"), ("redirect_url", "javascript:alert(1)//"), ("redirect_url", "https://a@b/"),
        ("redirect_url", "https://app.example/#f"), ("redirect_url", "https://app.example/a b"), ("redirect_url", "https:///cb"),
        ("redirect_url", "https://app.example/?access_token=1"), ("redirect_url", "https://app.example/" + "x" * 2_000),
        ("redirect_url", "https://app.example:0/"), ("redirect_url", "https://ex\u00e4mple.example/"),
        ("site_url", ""), ("site_url", "https://app.example"), ("site_url", "app.example/x"),
        ("site_url", "app.example:0"), ("site_url", "a b"), ("site_url", "x" * 256), ("site_url", "app.example:"),
    ],
)  # fmt: skip
def test_fields_that_are_refused(own: SandboxServer, tab: Any, field: str, text: str) -> None:
    """A wrong field: the form again with status 400, one sentence at that field alone, and what was typed kept."""
    page = register(tab, **{field: text})
    assert page.status_code == 400
    assert re.findall(r'role="alert" id="(\w+)-problem"', page.text) == [field]
    assert len(re.findall(r'aria-invalid="true"', page.text)) == 1
    for name, value in (GOOD | {field: " ".join(text.split())}).items():
        assert f'value="{html.escape(value, quote=True)}"'.replace("&#x27;", "&#39;") in page.text, name
    assert own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez")) == []


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("name", "🧗\u200d♀️ Übung"), ("name", "ليلى"), ("name", "x" * 80), ("description", " two\r\nlines "),
        ("redirect_url", "http://localhost:8000/"), ("redirect_url", "http://[::1]:8000/cb"), ("redirect_url", "https://a/b?c=d"),
        ("site_url", "localhost:8000"), ("site_url", "127.0.0.1"), ("site_url", "[::1]:80"),
    ],
)  # fmt: skip
def test_fields_that_are_taken(own: SandboxServer, tab: Any, field: str, text: str) -> None:
    """Names in any script, emoji, and every host with an optional port are taken; lines become one."""
    app = read_application(register(tab, **{field: text}))
    stored = own._tokens.oauth_store.application(app.client_id)
    assert getattr(stored, field) == " ".join(text.split())


def test_without_a_redirect_url_nobody_is_asked(own: SandboxServer, tab: Any, refusal: Refusal) -> None:
    """An application may begin without a redirect URL; until it has one there is no authorization page for it (245)."""
    app = read_application(register(tab, redirect_url=""))
    assert "it cannot be authorized yet" in tab.open(DEVELOPER).text
    address = own.authorize_url(client_id=app.client_id)
    assert tab.open(address).status_code == 400
    assert refusal(requests.get(address, timeout=10)) == (400, "245")
    path = f"{DEVELOPER}/{app.client_id}"
    for wrong in ("https://nowhere", "javascript:alert(1)/"):
        page = tab.press(path, tab.open(path), do="save", redirect_url=wrong)
        assert page.status_code == 400
        assert "http(s)://host/path" in re.search(r'role="alert"[^>]*>([^<]+)', page.text)[1]
    page = tab.press(path, page, do="save", redirect_url="https://late.example/cb")
    assert "Saved." in page.text
    assert own.sign_in(address, own.viewer).startswith("https://late.example/cb?access_token=")
    tab.press(path, page, do="save", redirect_url="")
    assert refusal(requests.get(address, timeout=10)) == (400, "245")


def test_a_new_secret(own: SandboxServer, tab: Any, refusal: Refusal) -> None:
    """A new secret is shown once, and the old one is 247 from then on."""
    old = read_application(register(tab))
    path = f"{DEVELOPER}/{old.client_id}"
    new = read_application(tab.press(path, tab.open(path), do="secret"))
    assert new.client_id == old.client_id
    url = f"{own.base_url}/oauth/access_token"
    for app, expected in ((old, (401, "247")), (new, (400, "240"))):
        fields = {"client_id": app.client_id, "client_secret": app.client_secret, "code": "guess"}
        assert refusal(requests.post(url, data=fields, timeout=10)) == expected


def test_delete(own: SandboxServer, tab: Any, ask: Asking, refusal: Refusal) -> None:
    """A deleted application is in no list, cannot be authorized, and its tokens are 259."""
    app = read_application(register(tab))
    landed = own.sign_in(own.authorize_url(client_id=app.client_id), own.viewer)
    token = ask(on=own, token=parse_qs(urlsplit(landed).query)["access_token"][0])
    assert token.get("/me").status_code == 200
    path = f"{DEVELOPER}/{app.client_id}"
    gone = tab.press(path, tab.open(path), do="delete")
    assert (gone.status_code, gone.headers["Location"]) == (303, "/v1/account/developer")
    assert app.client_id not in tab.open(DEVELOPER).text
    assert tab.open(path).status_code == 404
    assert token.get_refusal("/me") == (401, "259")
    assert refusal(requests.get(own.authorize_url(client_id=app.client_id), timeout=10)) == (400, "250")


def test_an_unverified_person_is_told_why(own: SandboxServer, open_tab: OpenTab) -> None:
    """Who is not verified sees the reason instead of the form, and cannot send it either; once verified they can."""
    tab = open_tab(own)
    tab.sign_in("kai_")
    page = tab.open(DEVELOPER)
    assert "Your identity is not verified" in page.text
    assert 'name="redirect_url"' not in page.text
    sent = tab.press(DEVELOPER, page, **GOOD)
    assert (sent.status_code, "not verified" in sent.text) == (403, True)
    with pytest.raises(SettingError, match="verified"):
        own.register_application("kai_", name="Kai's")
    with pytest.raises(SettingError, match=r"http\(s\)://host/path"):
        own.register_application("tom-ohara", name="Mine", redirect_url="http://127.0.0.1")
    with pytest.raises(UnknownPersonError):
        own.register_application("nobody", name="Mine")
    own.verify("kai_")
    assert register(tab).status_code == 200
    own.verify("kai_", verified=False)
    assert "not verified" in tab.open(DEVELOPER).text


def test_twenty_applications_are_the_most(own: SandboxServer, tab: Any) -> None:
    """Of forty registrations at once twenty are made; the page says why there is no form, and refuses one."""

    def is_registered(number: int) -> bool:
        try:
            own.register_application("zoe-nunez", name=f"App {number}", redirect_url="https://app.example/cb")
        except SettingError as error:
            assert "20 applications" in str(error)  # noqa: PT017 - some of the forty raise, others do not
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(is_registered, range(40))) == 20
    page = tab.open(DEVELOPER)
    assert 'name="redirect_url"' not in page.text
    assert "delete one" in page.text
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 400
    assert tab.open(DEVELOPER).text.count("/account/developer/") == 20


def test_pages_are_their_owners_alone(own: SandboxServer, tab: Any, open_tab: OpenTab) -> None:
    """Another person's application is not found, to see or to change; the demo application has no owner."""
    app = read_application(register(tab))
    other = open_tab(own)
    other.sign_in("noor-haddad")
    for client_id in (app.client_id, "1001", "nothing"):
        path = f"{DEVELOPER}/{client_id}"
        assert other.open(path).status_code == 404
        for what in ("save", "secret", "delete"):
            assert (
                other.press(path, other.open(DEVELOPER), do=what, redirect_url="https://evil.test/").status_code == 404
            )
    stored = own._tokens.oauth_store.application(app.client_id)
    assert stored is not None
    assert stored.redirect_url == "https://app.example/cb"
    assert app.client_id not in other.open(DEVELOPER).text


def test_a_browser_at_the_root_finds_the_account(own: SandboxServer, tab: Any) -> None:
    """Who opens the bare address is led to the account; a program finds nothing there."""
    root = own.base_url.removesuffix("v1")
    led = tab.open(root)
    assert (led.status_code, led.headers["Location"], led.headers["Cache-Control"]) == (303, "/v1/account", "no-store")
    for accept in ("*/*", "application/json"):
        answer = requests.get(root, headers={"Accept": accept}, allow_redirects=False, timeout=10)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "283")


@pytest.mark.parametrize("path", [DEVELOPER, f"{DEVELOPER}/1001", ALLOWED])
def test_pages_need_somebody(own: SandboxServer, open_tab: OpenTab, path: str) -> None:
    """Without a session every page leads to the sign-in page and from there to the page; forms are refused."""
    tab = open_tab(own)
    away = tab.open(path)
    assert away.status_code == 303
    entrance = tab.open(f"http://{urlsplit(own.base_url).netloc}{away.headers['Location']}")
    inside = tab.press("/account/sign-in", entrance, username="tom-ohara")
    assert inside.headers["Location"] == f"/v1{path.removesuffix('/1001')}"
    stranger = open_tab(own)
    sent = stranger.press(path, entrance, **GOOD, do="delete", client_id="1001")
    assert sent.status_code == 403


def test_the_entrance_leads_nowhere_else(own: SandboxServer, open_tab: OpenTab) -> None:
    """Whatever `next` says, the way from the sign-in page is one of our two pages."""
    tab = open_tab(own)
    for place in ("https://evil.test/", "//evil.test", "../oauth/authorize", ""):
        page = tab.open("/account/sign-in", next=place)
        assert tab.press("/account/sign-in", page, username=own.viewer).headers["Location"] == "/v1/account/developer"
    assert tab.press("/account/sign-in", tab.open("/account/sign-in"), username="nobody").status_code == 400


def test_each_form_needs_a_ticket_of_its_browser(own: SandboxServer, tab: Any, open_tab: OpenTab) -> None:
    """Every form of the account is refused without a ticket, with another browser's, and when sent again."""
    page = tab.open(DEVELOPER)
    other = open_tab(own)
    other.sign_in("zoe-nunez")
    for path in (DEVELOPER, f"{DEVELOPER}/1001", ALLOWED, "/account/sign-out"):
        for form in ({}, {"ticket": "guess"}, {"ticket": tab.ticket(page)}):
            answer = other.session.post(f"{own.base_url}{path}", data=form | GOOD, timeout=10, allow_redirects=False)
            assert answer.status_code == 403
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 200
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 403
    assert len(own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez"))) == 1


def test_revoke(own: SandboxServer, ask: Asking, open_tab: OpenTab, refusal: Refusal) -> None:
    """Revoking ends every token, refresh token and code that one user gave one application; no one else's."""
    app = own.register_application("tom-ohara", name="Diary", redirect_url="https://app.example/cb")
    other = own.register_application("tom-ohara", name="Other", redirect_url="https://app.example/cb")

    def consent(client: Application, kind: str, user: str, *scopes: str) -> str:
        url = own.authorize_url(*scopes, client_id=client.client_id, response_type=kind)
        return parse_qs(urlsplit(own.sign_in(url, user)).query)["code" if kind == "code" else "access_token"][0]

    def exchange(**fields: str) -> requests.Response:
        form = {"client_id": app.client_id, "client_secret": app.client_secret, **fields}
        return requests.post(f"{own.base_url}/oauth/access_token", data=form, timeout=10)

    short = consent(app, "token", "layla-mansour", "access_profile")
    long = exchange(code=consent(app, "code", "layla-mansour", "access_profile", "access_email")).json()
    code = consent(app, "code", "layla-mansour", "access_profile")
    kept = [consent(other, "token", "layla-mansour"), consent(app, "token", "sam-rivera")]
    tab = open_tab(own)
    tab.sign_in("layla-mansour")
    page = tab.open(ALLOWED)
    assert re.findall(r'id="application-\d"><bdi>(\w+)<', page.text) == ["Diary", "Other"]
    assert re.findall(r"<code>(\w+)</code>", page.text)[:2] == ["access_profile", "access_email"]
    assert tab.press(ALLOWED, page, client_id=app.client_id).headers["Location"] == "/v1/account/applications"
    assert "Diary" not in tab.open(ALLOWED).text
    assert ask(on=own, token=short).get_refusal("/me") == (401, "262")
    assert ask(on=own, token=long["access_token"]).get_refusal("/me") == (401, "262")
    assert refusal(exchange(refresh_token=long["refresh_token"])) == (400, "275")
    assert refusal(exchange(code=code)) == (400, "240")
    assert [ask(on=own, token=token).get("/me").status_code for token in kept] == [200, 200]


def test_the_list_shows_who_can_reach_the_account() -> None:
    """An application leaves the list when its last token has expired; one with a refresh token stays."""
    now = [1_000_000_000.0]
    with SandboxServer(people=3, years=1, clock=lambda: now[0]) as own:
        app = own.register_application(own.viewer, name="Long", redirect_url="https://app.example/cb")
        own.sign_in(own.authorize_url(), own.viewer)
        landed = own.sign_in(own.authorize_url(client_id=app.client_id, response_type="code"), own.viewer)

        def names() -> list[str]:
            found = own._tokens.oauth_store.list_authorized_applications(own._user_id(own.viewer), own._tokens.now_us())
            return [one.name for one in found]

        assert names() == ["Long", "Payment diary"]
        now[0] += 10 * 60
        assert names() == ["Payment diary"]
        now[0] -= 1
        form = {"client_id": app.client_id, "client_secret": app.client_secret, **parse_qs(urlsplit(landed).query)}
        requests.post(f"{own.base_url}/oauth/access_token", data=form, timeout=10).raise_for_status()
        now[0] += 30 * 60
        assert names() == ["Long"]
        now[0] += 61 * 86_400
        assert names() == ["Long"]


def test_every_account_page_carries_its_security_headers(tab: Any) -> None:
    """No script, frame, referrer or cache on any page of the account, and its forms go nowhere else."""
    page = register(tab)
    app = read_application(page)
    pages = [page, tab.open(DEVELOPER), tab.open(f"{DEVELOPER}/{app.client_id}"), tab.open(ALLOWED),
             tab.open(f"{DEVELOPER}/1"), tab.open("/account/sign-in"), register(tab, name="")]  # fmt: skip
    for one in pages:
        policy = one.headers["Content-Security-Policy"].split("; ")
        assert {"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)
        assert one.headers["Cache-Control"] == "no-store"
        assert one.headers["Referrer-Policy"] == "no-referrer"
        assert "<script" not in one.text


def test_a_name_with_markup_is_text_on_the_account_pages(own: SandboxServer, tab: Any) -> None:
    """An application's name, description and site are text in the settings and in the list of allowed ones."""
    seen = []
    for name in ("Plain", NASTY):
        app = read_application(register(tab, name=name, description=name))
        own.sign_in(own.authorize_url(client_id=app.client_id), "zoe-nunez")
        pages = [tab.open(path) for path in (DEVELOPER, f"{DEVELOPER}/{app.client_id}", ALLOWED)]
        assert all(name in html.unescape(page.text) for page in pages)
        seen.append([tags(page.text) for page in pages])
        own._tokens.oauth_store.remove_application(app.client_id)
    assert seen[0] == seen[1]
