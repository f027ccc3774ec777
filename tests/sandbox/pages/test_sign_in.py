"""The sign-in session: who is signed in where, for how long, and the strict rule for redirects."""

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.pages.sessions import Sessions
from support.servers import sandbox_fixture

ON_FILE = "https://app.example/cb"

TIME = [0.0]
own = sandbox_fixture(people=4, years=1, strict_redirect=True, monotonic=lambda: TIME[0])


@pytest.fixture
def tab(own, open_tab) -> Any:
    """Open a tab in which Noor is signed in."""
    tab = open_tab(own)
    tab.sign_in("noor-haddad")
    return tab


def test_somebody_else_can_sign_in(own, tab) -> None:
    """`Not you?` ends the session and leads back to the same request, state and all, with the sign-in page."""
    page = tab.open(own.authorize_url("access_profile", state=" s&1 "))
    assert "Noor Haddad" in page.text  # who is signed in is not asked again
    origin = f"http://{urlsplit(own.base_url).netloc}"
    back = tab.press("/oauth/consent", page, decision="switch")
    assert back.status_code == 303
    page = tab.open(origin + back.headers["Location"])
    assert "Noor" not in re.sub(r"<datalist.*</datalist>", "", page.text, flags=re.DOTALL)
    on = tab.press("/oauth/sign-in", page, username="tom-ohara")
    page = tab.open(origin + on.headers["Location"])
    assert "Tom O&#39;Hara" in page.text
    landed = tab.press("/oauth/consent", page, decision="deny").headers["Location"]
    assert parse_qsl(urlsplit(landed).query) == [("error", "user denied access"), ("state", " s&1 ")]


def test_an_unknown_name_gets_the_page_again(own, open_tab) -> None:
    """The sign-in page comes back with status 400 and one sentence; the same tab can then sign in."""
    tab = open_tab(own)
    page = tab.open(own.authorize_url("access_profile"))
    again = tab.press("/oauth/sign-in", page, username='"><b>nobody')
    assert again.status_code == 400
    assert "No person of this town has that username: check the spelling." in again.text
    assert tab.press("/oauth/sign-in", again, username=f"@{own.viewer}").status_code == 303


def test_sign_out(own, tab) -> None:
    """After signing out the pages ask again, and forms of pages still open are refused."""
    consent, page = tab.open(own.authorize_url()), tab.open("/account/developer")
    assert tab.press("/account/sign-out", page).headers["Location"] == "/v1/account/sign-in"
    assert tab.press("/oauth/consent", consent, decision="allow").status_code == 403
    assert tab.open("/account/developer").status_code == 303
    assert 'name="username"' in tab.open(own.authorize_url()).text


def test_a_session_that_has_ended_gives_no_token(own, tab) -> None:
    """A consent page that outlives its session, which ends after eight hours, is refused."""
    TIME[0] += 8 * 60 * 60 - 1
    page = tab.open(own.authorize_url())
    TIME[0] += 1
    assert tab.press("/oauth/consent", page, decision="allow").status_code == 403


@pytest.mark.parametrize("place", ["account", "oauth"])
def test_a_sign_in_makes_a_new_session(own, open_tab, place: str) -> None:
    """The cookie is HttpOnly, SameSite=Lax, ends with the browser, and is replaced: a planted one is not shared."""
    tab, thief = open_tab(own), open_tab(own)
    page = tab.open("/account/sign-in" if place == "account" else own.authorize_url())
    pair, *attributes = page.headers["Set-Cookie"].split(";")
    assert pair.startswith(f"sandbox_session_{urlsplit(own.base_url).port}=")
    assert {part.strip().lower() for part in attributes} == {"httponly", "samesite=lax", "path=/v1"}
    thief.session.cookies.update(tab.session.cookies.get_dict())
    tab.press(f"/{place}/sign-in", page, username="noor-haddad")
    assert thief.open("/account/developer").status_code == 303
    assert tab.open("/account/developer").status_code == 200


def test_a_session_of_odd_form_is_replaced(own, open_tab) -> None:
    """A cookie that we did not make gets a new session."""
    tab, name = open_tab(own), f"sandbox_session_{urlsplit(own.base_url).port}"
    for odd in ("", "x", "x" * 5_000, '"><b>'):
        tab.session.headers["Cookie"] = f"{name}={odd}"
        answer = tab.open("/account/sign-in")
        assert answer.status_code == 200
        assert re.fullmatch(r"[\w-]{43}", answer.cookies[name])


def test_two_sandboxes_keep_their_sessions_apart(own, tab) -> None:
    """Browsers send cookies to every port of a host: a second sandbox neither reads nor replaces the first one's."""
    with SandboxServer(people=3, years=1) as second:
        tab.server = second
        assert tab.open("/account/developer").status_code == 303
        tab.sign_in("tom-ohara")
        tab.server = own
        assert "Noor Haddad" in tab.open("/account/developer").text


def test_a_consent_page_that_is_out_of_date(own, tab) -> None:
    """A consent is void when the application's redirect URL changed, or the application went, while it was shown."""
    app, store = own.register_application("noor-haddad", name="App", redirect_url=ON_FILE), own._tokens.oauth_store
    for change in (
        lambda: store.set_redirect_url(app.client_id, "https://other.example/"),
        lambda: store.set_redirect_url(app.client_id, None),
        lambda: store.remove_application(app.client_id),
    ):
        page = tab.open(own.authorize_url(client_id=app.client_id))
        assert page.status_code == 200
        change()
        answer = tab.press("/oauth/consent", page, decision="allow")
        assert answer.status_code in (400, 403)
        assert "Location" not in answer.headers
        store.set_redirect_url(app.client_id, ON_FILE)


def test_sessions_and_tickets_end() -> None:
    """A session ends after eight hours, and its tickets with it at a sign-out; a ticket ends after ten minutes."""
    now = [0.0]
    kept = Sessions(1, "/", lambda: now[0])
    first = kept.sign_in("", 1)
    now[0] = 8 * 60 * 60 - 1
    assert kept.user_id(first) == 1
    now[0] += 1
    assert kept.user_id(first) is None
    kept.ticket(first, "its form")
    kept.sign_out(first)
    assert kept._tickets == {}
    for wait, count in ((0, 1), (599, 2), (1, 2)):
        now[0] += wait
        kept.ticket("s", 0)
        assert len(kept._tickets) == count


def test_everybody_makes_room_for_their_own() -> None:
    """Browsers without a person share 1,000 tickets; one session keeps its 20 newest, one person 20 sessions."""
    kept = Sessions(1, "/")
    maya, noor = kept.sign_in("", 1), kept.sign_in("", 2)
    hers = kept.ticket(maya, "form")
    strangers = [kept.ticket(f"browser {number}", "form") for number in range(1_005)]
    assert [name in kept._tickets for name in strangers] == [False] * 5 + [True] * 1_000
    greedy = [kept.ticket("browser 1004", "form") for _ in range(25)]
    assert [name in kept._tickets for name in greedy] == [False] * 5 + [True] * 20
    assert len(kept._tickets) == 1_001
    noors = [kept.ticket(noor, "form") for _ in range(21)]
    assert [name in kept._tickets for name in noors] == [False] + [True] * 20
    for _ in range(20):
        kept.sign_in("", 2)
    assert (kept.user_id(maya), kept.user_id(noor)) == (1, None)
    assert hers in kept._tickets
    assert not set(noors) & set(kept._tickets)


def test_strict_redirects(own) -> None:
    """With strict_redirect an override must be the redirect URL on file exactly, on loopback too."""
    app = own.register_application("noor-haddad", name="App", redirect_url=ON_FILE)
    for client_id, redirect in (
        (app.client_id, "https://app.example/cb/"),
        (app.client_id, "https://app.example/cb?x=1"),
        (app.client_id, "https://APP.example/cb"),
        (app.client_id, "https://app.example:443/cb"),
        ("1001", "http://127.0.0.1:5999/callback"),
    ):
        with pytest.raises(SettingError, match="exactly the redirect URL on file"):
            own.sign_in(own.authorize_url(client_id=client_id, redirect_uri=redirect), own.viewer)
    for client_id, redirect in ((app.client_id, ON_FILE), (app.client_id, None), ("1001", "http://127.0.0.1/callback")):
        landed = own.sign_in(own.authorize_url(client_id=client_id, redirect_uri=redirect), own.viewer)
        assert landed.startswith(f"{redirect or ON_FILE}?access_token=")
