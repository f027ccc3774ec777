"""The developer settings and the authorized applications: their owners, and their forms."""

import html
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from sandbox.oauth import consent, exchange, issue_tokens

from p2p_analytics.sandbox import Application, SandboxServer, SettingError, UnknownPersonError
from support.servers import sandbox_fixture

DEVELOPER, ALLOWED = "/account/developer", "/account/applications"
GOOD = {"name": "Ledger", "description": "Sums.", "redirect_url": "https://app.example/cb", "site_url": "app.example"}
NASTY = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}"

# Eight people; the identity of kai_ is not verified.
own = sandbox_fixture(people=8, years=1)


@pytest.fixture
def tab(own, open_tab) -> Any:
    """Open a tab signed in as a person with few applications."""
    tab = open_tab(own)
    tab.sign_in("zoe-nunez")
    yield tab
    for application in own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez")):
        own._tokens.oauth_store.remove_application(application.client_id)


def _register(tab: Any, **change: str) -> requests.Response:
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


def test_register(own, tab) -> None:
    """A form with the document's four fields gives a client id and, this once, a secret; both serve at once."""
    page = _register(tab)
    assert page.status_code == 200
    app = read_application(page)
    assert re.fullmatch(r"[1-9]\d{9}", app.client_id)
    assert re.fullmatch(r"[\w-]{43}", app.client_secret)
    listed, alone = tab.open(DEVELOPER), tab.open(f"{DEVELOPER}/{app.client_id}")
    assert app.client_id in listed.text
    assert "https://app.example/cb" in alone.text
    assert app.client_secret not in listed.text + alone.text + repr(app)
    assert issue_tokens(own, own.viewer, app)["user"]["username"] == own.viewer


REFUSED = {
    "name": ("", "  ", "x" * 81, "a\u202eb", "a\x00b", "\u200d"),
    "description": ("", "x" * 301, "\u2066"),
    "redirect_url": (
        "app.example/cb", "ftp://app.example/cb", "https://app.example", "https://app.example?x=/", "https://a@b/",
        "javascript:alert(1)//", "https://app.example/#f", "https://app.example/a b", "https:///cb",
        "https://app.example/?access_token=1", "https://app.example/" + "x" * 2_000, "https://app.example:0/",
        "https://ex\u00e4mple.example/",
    ),
    "site_url": ("", "https://app.example", "app.example/x", "app.example:0", "a b", "x" * 256, "app.example:"),
}  # fmt: skip


@pytest.mark.parametrize("field", REFUSED)
def test_fields_that_are_refused(own, tab, field: str) -> None:
    """A wrong field: the form again with status 400, one sentence at that field alone, and what was typed kept."""
    for text in REFUSED[field]:
        page = _register(tab, **{field: text})
        assert page.status_code == 400, text
        assert re.findall(r'role="alert" id="(\w+)-problem"', page.text) == [field]
        assert len(re.findall(r'aria-invalid="true"', page.text)) == 1
        for name, value in (GOOD | {field: " ".join(text.split())}).items():
            assert f'value="{html.escape(value, quote=True)}"'.replace("&#x27;", "&#39;") in page.text, name
    assert own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez")) == []


def test_fields_that_are_taken(own, tab) -> None:
    """Names in any script, emoji, and every host with an optional port are taken; lines become one."""
    for field, texts in {
        "name": ("🧗\u200d♀️ Übung", "ليلى", "x" * 80),
        "description": (" two\r\nlines ",),
        "redirect_url": ("http://localhost:8000/", "http://[::1]:8000/cb", "https://a/b?c=d"),
        "site_url": ("localhost:8000", "127.0.0.1", "[::1]:80"),
    }.items():
        for text in texts:
            app = read_application(_register(tab, **{field: text}))
            assert getattr(own._tokens.oauth_store.application(app.client_id), field) == " ".join(text.split())


def test_without_a_redirect_url_nobody_is_asked(own, tab, refusal) -> None:
    """An application may begin without a redirect URL; until it has one there is no authorization page for it (245)."""
    app = read_application(_register(tab, redirect_url=""))
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


def test_a_new_secret(own, tab, refusal) -> None:
    """A new secret is shown once, and the old one is 247 from then on."""
    old = read_application(_register(tab))
    path = f"{DEVELOPER}/{old.client_id}"
    new = read_application(tab.press(path, tab.open(path), do="secret"))
    assert new.client_id == old.client_id
    assert refusal(exchange(own, old, code="guess")) == (401, "247")
    assert refusal(exchange(own, new, code="guess")) == (400, "240")


def test_delete(own, tab, ask, refusal) -> None:
    """A deleted application is in no list, cannot be authorized, and its tokens are 259."""
    app = read_application(_register(tab))
    token = ask(on=own, token=consent(own, own.viewer, app))
    assert token.get("/me").status_code == 200
    path = f"{DEVELOPER}/{app.client_id}"
    gone = tab.press(path, tab.open(path), do="delete")
    assert (gone.status_code, gone.headers["Location"]) == (303, "/v1/account/developer")
    assert app.client_id not in tab.open(DEVELOPER).text
    assert tab.open(path).status_code == 404
    assert token.get_refusal("/me") == (401, "259")
    assert refusal(requests.get(own.authorize_url(client_id=app.client_id), timeout=10)) == (400, "250")


def test_an_unverified_person_is_told_why(own, open_tab) -> None:
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
    assert _register(tab).status_code == 200
    own.verify("kai_", verified=False)
    assert "not verified" in tab.open(DEVELOPER).text


def test_twenty_applications_are_the_most(own, tab) -> None:
    """Of forty registrations at once twenty are made; the page says why there is no form, and refuses one."""
    fields = {"redirect_url": "https://app.example/cb"}
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(own.register_application, "zoe-nunez", name=f"App {n}", **fields) for n in range(40)]
    refused = [str(one.exception()) for one in made if isinstance(one.exception(), SettingError)]
    assert (len(refused), all("20 applications" in reason for reason in refused)) == (20, True)
    page = tab.open(DEVELOPER)
    assert 'name="redirect_url"' not in page.text
    assert "delete one" in page.text
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 400
    assert tab.open(DEVELOPER).text.count("/account/developer/") == 20


def test_pages_are_their_owners_alone(own, tab, open_tab) -> None:
    """Another person's application is not found, to see or to change; the demo application has no owner."""
    app = read_application(_register(tab))
    other = open_tab(own)
    other.sign_in("noor-haddad")
    for client_id in (app.client_id, "1001", "nothing"):
        path = f"{DEVELOPER}/{client_id}"
        assert other.open(path).status_code == 404
        for what in ("save", "secret", "delete"):
            answer = other.press(path, other.open(DEVELOPER), do=what, redirect_url="https://evil.test/")
            assert answer.status_code == 404
    stored = own._tokens.oauth_store.application(app.client_id)
    assert stored is not None
    assert stored.redirect_url == "https://app.example/cb"
    assert app.client_id not in other.open(DEVELOPER).text


def test_a_browser_at_the_root_finds_the_account(own, tab) -> None:
    """Who opens the bare address is led to the account; a program finds nothing there."""
    root = own.base_url.removesuffix("v1")
    led = tab.open(root)
    assert (led.status_code, led.headers["Location"], led.headers["Cache-Control"]) == (303, "/v1/account", "no-store")
    for accept in ("*/*", "application/json"):
        answer = requests.get(root, headers={"Accept": accept}, allow_redirects=False, timeout=10)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "283")


def test_pages_need_somebody(own, open_tab) -> None:
    """Without a session every page leads to the sign-in page, and from there to the page."""
    for path in (DEVELOPER, f"{DEVELOPER}/1001", ALLOWED):
        tab = open_tab(own)
        away = tab.open(path)
        assert away.status_code == 303
        entrance = tab.open(f"http://{urlsplit(own.base_url).netloc}{away.headers['Location']}")
        inside = tab.press("/account/sign-in", entrance, username="tom-ohara")
        assert inside.headers["Location"] == f"/v1{path.removesuffix('/1001')}"


def test_the_entrance_leads_nowhere_else(own, open_tab) -> None:
    """Whatever `next` says, the way from the sign-in page is one of our two pages."""
    tab = open_tab(own)
    for place in ("https://evil.test/", "//evil.test", "../oauth/authorize", ""):
        page = tab.open("/account/sign-in", next=place)
        assert tab.press("/account/sign-in", page, username=own.viewer).headers["Location"] == "/v1/account/developer"
    assert tab.press("/account/sign-in", tab.open("/account/sign-in"), username="nobody").status_code == 400


def test_each_form_needs_a_ticket_of_its_browser(own, tab, open_tab) -> None:
    """Every form of the account is refused without a ticket, with another browser's, without a sign-in, or again."""
    page = tab.open(DEVELOPER)
    other, stranger = open_tab(own), open_tab(own)
    other.sign_in("zoe-nunez")
    for path in (DEVELOPER, f"{DEVELOPER}/1001", ALLOWED, "/account/sign-out"):
        for ticket in ({"ticket": ""}, {"ticket": "guess"}, {}):
            assert other.press(path, page, **GOOD | ticket).status_code == 403
        assert stranger.press(path, page, **GOOD).status_code == 403
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 200
    assert tab.press(DEVELOPER, page, **GOOD).status_code == 403
    assert len(own._tokens.oauth_store.applications_of(own._user_id("zoe-nunez"))) == 1


def test_revoke(own, ask, open_tab, refusal) -> None:
    """Revoking ends every token, refresh token and code that one user gave one application; no one else's."""
    app, other = (
        own.register_application("tom-ohara", name=name, redirect_url="https://app.example/cb")
        for name in ("Diary", "Other")
    )
    layla = "layla-mansour"
    short, code = (consent(own, layla, app, "access_profile", kind=kind) for kind in ("token", "code"))
    long = issue_tokens(own, layla, app, "access_profile", "access_email")
    kept = [consent(own, layla, other), consent(own, "sam-rivera", app)]
    tab = open_tab(own)
    tab.sign_in(layla)
    page = tab.open(ALLOWED)
    assert re.findall(r'id="application-\d"><bdi>(\w+)<', page.text) == ["Diary", "Other"]
    assert re.findall(r"<code>(\w+)</code>", page.text)[:2] == ["access_profile", "access_email"]
    assert tab.press(ALLOWED, page, client_id=app.client_id).headers["Location"] == "/v1/account/applications"
    assert "Diary" not in tab.open(ALLOWED).text
    assert ask(on=own, token=short).get_refusal("/me") == (401, "262")
    assert ask(on=own, token=long["access_token"]).get_refusal("/me") == (401, "262")
    assert refusal(exchange(own, app, refresh_token=long["refresh_token"])) == (400, "275")
    assert refusal(exchange(own, app, code=code)) == (400, "240")
    assert [ask(on=own, token=token).get("/me").status_code for token in kept] == [200, 200]


def test_the_list_shows_who_can_reach_the_account() -> None:
    """An application leaves the list when its last token has expired; one with a refresh token stays."""
    now = [1_000_000_000.0]
    with SandboxServer(people=3, years=1, clock=lambda: now[0]) as own:
        app = own.register_application(own.viewer, name="Long", redirect_url="https://app.example/cb")
        own.sign_in(own.authorize_url(), own.viewer)
        code = consent(own, own.viewer, app, kind="code")
        seen = []
        for seconds in (0, 10 * 60, -1, 30 * 60, 61 * 86_400):
            now[0] += seconds
            if seconds == -1:
                assert exchange(own, app, code=code).status_code == 200
            found = own._tokens.oauth_store.list_authorized_applications(own._user_id(own.viewer), own._tokens.now_us())
            seen.append([one.name for one in found])
    assert seen == [["Long", "Payment diary"], ["Payment diary"], ["Long", "Payment diary"], ["Long"], ["Long"]]


def test_every_page_carries_its_security_headers(own, tab, open_tab) -> None:
    """No script, frame, referrer or cache; forms stay here except on the consent page, which redirects elsewhere."""
    page, stranger, wanted = _register(tab), open_tab(own), own.authorize_url("access_profile")
    app = read_application(page)
    consenting = tab.open(wanted)
    leaving = [consenting, tab.press("/oauth/consent", consenting, decision="deny")]
    staying = [
        page, tab.open(DEVELOPER), tab.open(f"{DEVELOPER}/{app.client_id}"), tab.open(ALLOWED),
        tab.open(f"{DEVELOPER}/1"), _register(tab, name=""), tab.open("/oauth/authorize"),
        stranger.open("/account/sign-in"), stranger.open(wanted),
    ]  # fmt: skip
    for one in staying + leaving:
        policy = dict(part.partition(" ")[::2] for part in one.headers["Content-Security-Policy"].split("; "))
        assert policy.pop("style-src")
        none = dict.fromkeys(("default-src", "base-uri", "frame-ancestors"), "'none'")
        assert policy == (none if one in leaving else none | {"form-action": "'self'"})
        names = ("X-Frame-Options", "Referrer-Policy", "Cache-Control")
        assert [one.headers[name] for name in names] == ["DENY", "no-referrer", "no-store"]
        assert "<script" not in one.text


def test_a_name_with_markup_is_text(own, tab, open_tab) -> None:
    """An application's name and description are text, never markup or a template, on each page that shows them."""
    seen = []
    for name in ("Plain", NASTY):
        app = read_application(_register(tab, name=name, description=name))
        consent(own, "zoe-nunez", app)
        url = own.authorize_url(client_id=app.client_id)
        pages = [tab.open(path) for path in (DEVELOPER, f"{DEVELOPER}/{app.client_id}", ALLOWED, url)]
        pages.append(open_tab(own).open(url))  # the sign-in page
        assert all(name in html.unescape(page.text) for page in pages)
        seen.append([tags(page.text) for page in pages])
        own._tokens.oauth_store.remove_application(app.client_id)
    assert seen[0] == seen[1]
