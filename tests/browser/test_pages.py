"""Pages of the sandbox and of the loopback listener in a real browser, at desktop and phone size."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from p2p_analytics.auth import AccessToken, Listener
from p2p_analytics.auth.browser import in_browser
from p2p_analytics.errors import TokenError
from p2p_analytics.sandbox import SandboxServer
from support.browser_tabs import DESK, PHONE, check_page, fill_sign_in, open_tab, press_button
from support.servers import sandbox_fixture
from support.waiting import wait_until

NASTY = "<img src=x onerror=document.title='broken'><script>document.title='broken'</script>\"'& {{ 7*7 }}"


browser_server = sandbox_fixture(people=8, years=1)


@pytest.fixture
def application(start_service: Callable[..., Any]) -> Any:
    """Run the web server of an application, with a page for each redirect."""

    def greet(path: str, _parameters: dict[str, str]) -> Any:
        return 200, {"Content-Type": "text/html"}, f"<h1>Back at {path}</h1>".encode()

    return start_service(greet)


def callback(application: Any) -> str:
    """Return the redirect URL of the application."""
    return application.base_url.removesuffix("/v1") + "/callback"


def arrivals(application: Any) -> list[dict[str, str]]:
    """Return the parameters of each redirect that the application received."""
    return [parameters for path, parameters in application.asked if path == "/callback"]


@pytest.fixture(params=[{"viewport": DESK}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["desk", "phone"])
def device(browser, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open a tab of desktop size, and one of phone size."""
    with open_tab(browser, **request.param) as page:
        yield page


def test_from_registration_to_revocation(device, browser_server, application, tmp_path) -> None:
    """Register an application, consent, exchange the code and revoke the access, all on the pages."""
    page, server = device, browser_server
    page.goto(f"{server.base_url}/account/developer")
    check_page(page, tmp_path, "sign-in")
    fill_sign_in(page, "tom-ohara")
    check_page(page, tmp_path, "empty")
    page.get_by_label("App name").fill("Ledger")
    page.get_by_label("App description").fill("Adds up what the flat spends")
    page.get_by_label("Web redirect URL").fill("https://nowhere")
    page.get_by_label("Site URL").fill("localhost:8000")
    press_button(page, "Register")
    assert "http(s)://host/path" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("App name").input_value() == "Ledger"
    check_page(page, tmp_path, "wrong")
    page.get_by_label("Web redirect URL").fill(callback(application))
    press_button(page, "Register")
    form = {
        "client_id": page.locator("#client-id").inner_text(),
        "client_secret": page.locator("#client-secret").inner_text(),
    }
    page.get_by_text("Delete the application").click()
    page.get_by_text("New secret").click()
    check_page(page, tmp_path, "made")

    page.goto(server.authorize_url("access_profile", client_id=form["client_id"], response_type="code", state="s 1"))
    assert page.get_by_text("Tom O'Hara").is_visible()
    check_page(page, tmp_path, "consent")
    page.get_by_role("button", name="Allow").click()
    page.get_by_role("heading", name="Back at /callback").wait_for()
    (back,) = arrivals(application)
    assert back["state"] == "s 1"
    answer = requests.post(f"{server.base_url}/oauth/access_token", data={**form, "code": back["code"]}, timeout=10)
    me = {"access_token": answer.json()["access_token"]}
    assert requests.get(f"{server.base_url}/me", params=me, timeout=10).status_code == 200

    page.goto(f"{server.base_url}/account/applications")
    check_page(page, tmp_path, "allowed")
    page.get_by_role("button", name="Revoke access").click()
    page.get_by_text("No application can access your account.").wait_for()
    assert requests.get(f"{server.base_url}/me", params=me, timeout=10).json()["error"]["code"] == "262"

    page.get_by_role("link", name="Developer settings").click()
    page.get_by_role("link", name="Ledger").click()
    page.get_by_text("Delete the application").click()
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_role("heading", name="Register an application").wait_for()
    assert page.get_by_text(form["client_id"]).count() == 0
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Who are you?").wait_for()


def test_allow_and_deny_by_keyboard(phone, browser_server: SandboxServer, application: Any) -> None:
    """Sign-in and consent work with typing, Enter and Tab alone, and the outcome is the chosen one."""
    app = browser_server.register_application(browser_server.viewer, name="Keys", redirect_url=callback(application))
    phone.goto(browser_server.authorize_url("access_profile", client_id=app.client_id))
    phone.locator("#username:focus").wait_for()
    phone.keyboard.type("noor-haddad")
    assert phone.get_by_label("Username").input_value() == "noor-haddad"
    phone.keyboard.press("Enter")
    phone.get_by_role("button", name="Allow").wait_for()
    for wanted, tabs in (("Deny", 2), ("Allow", 3)):
        for _ in range(tabs):
            phone.keyboard.press("Tab")
        assert phone.evaluate("document.activeElement.textContent") == wanted
        assert phone.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        phone.keyboard.press("Enter")
        phone.get_by_role("heading", name="Back at /callback").wait_for()
        phone.goto(browser_server.authorize_url("access_profile", client_id=app.client_id))
    denied, allowed = arrivals(application)
    assert denied == {"error": "user denied access"}
    assert list(allowed) == ["access_token"]
    me = requests.get(f"{browser_server.base_url}/me", params=allowed, timeout=10).json()["data"]["user"]
    assert me["username"] == "noor-haddad"


def test_markup_in_a_name_is_text(page, browser_server) -> None:
    """It is displayed literally; if a page contained injected markup, its policy would block all that it runs."""
    with browser_server.store.writing() as connection:
        connection.execute("UPDATE users SET display_name = ? WHERE username = 'sam-rivera'", (NASTY,))
    page.goto(browser_server.authorize_url("access_profile"))
    fill_sign_in(page, "sam-rivera")
    assert page.get_by_text(NASTY, exact=True).count() == 1
    assert page.locator("main img, main script").count() == 0
    page.evaluate("""() => { window.stopped = []; document.addEventListener(
                     "securitypolicyviolation", event => stopped.push(event.effectiveDirective)); }""")
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', "
                  "`<img src=x onerror=\"document.title='broken'\"><iframe src=x></iframe>`)")  # fmt: skip
    page.evaluate("""() => { const one = document.createElement('script');
                     one.textContent = "document.title = 'broken'"; document.body.append(one); }""")
    page.wait_for_function("() => stopped.length >= 4")
    assert sorted(page.evaluate("stopped")) == ["frame-src", "img-src", "script-src-attr", "script-src-elem"]
    assert page.title() != "broken"


def test_a_form_of_another_site_is_refused(page, browser_server, start_service) -> None:
    """A form has no session, even with a stolen ticket, and a frame stays empty; a link of an application has one."""
    link, held = browser_server.authorize_url("access_profile"), {}

    def lure(_path: str, _parameters: dict[str, str]) -> Any:
        field = f'<input name="ticket" value="{held.get("ticket", "")}"><input name="decision" value="allow">'
        consent = f"{browser_server.base_url}/oauth/consent"
        form = f'<form method="post" action="{consent}">{field}<button>Win a prize</button></form>'
        frame = f'<iframe src="{browser_server.base_url}/account/sign-in" width="600" height="400"></iframe>'
        shown = f'{form}<a href="{link.replace("&", "&amp;")}">Connect</a>{frame}'
        return 200, {"Content-Type": "text/html"}, shown.encode()

    site = start_service(lure).base_url.replace("127.0.0.1", "localhost")
    page.goto(link)
    fill_sign_in(page, "noor-haddad")
    held["ticket"] = page.locator("input[name=ticket]").first.input_value()
    page.goto(site)
    frame = page.frames[-1]
    frame.wait_for_url("chrome-error://chromewebdata/")  # the driver may report it after the page has loaded
    assert frame.get_by_text("Who are you?").count() == 0
    with page.expect_navigation() as pressed:
        page.get_by_role("button", name="Win a prize").click()
    assert pressed.value.status == 403
    page.goto(site)
    page.get_by_role("link", name="Connect").click()
    page.get_by_text("Noor Haddad").wait_for()
    page.get_by_role("button", name="Allow").wait_for()


@pytest.mark.parametrize("allow", [True, False])
def test_the_listener_receives_a_real_redirect(browser, browser_server, tmp_path, allow) -> None:
    """The browser ends on a styled page; the URL of that page holds no token."""
    device: Any = {"viewport": DESK} if allow else {"viewport": PHONE, "color_scheme": "dark"}
    button, heading = ("Allow", "You are signed in") if allow else ("Deny", "You are not signed in")
    outcomes: list[Any] = []
    with Listener(outcomes.append, linger=15) as listener, open_tab(browser, **device) as page:
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(browser_server.authorize_url(redirect_uri=listener.redirect_uri))
        fill_sign_in(page, "tom-ohara")
        page.get_by_role("button", name=button).click()
        page.get_by_role("heading", name=heading).wait_for()
        listener.wait()
        check_page(page, tmp_path, heading)
        assert page.url == f"{listener.redirect_uri.partition('/callback')[0]}/done"
        assert page.evaluate("getComputedStyle(document.querySelector('main')).padding") == "32px 40px"
        assert complaints == []
    (outcome,) = outcomes
    assert isinstance(outcome, AccessToken if allow else TokenError)


def test_a_private_page_leads_to_the_consent_page(page, browser_server: SandboxServer, monkeypatch) -> None:
    """The browser follows the redirect of the private file, and sends the service no referrer."""
    given: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda address: not given.append(address))
    with Listener(lambda _: None) as listener:
        address = browser_server.authorize_url(redirect_uri=listener.redirect_uri, state='a&b<c"d')
        with in_browser(address) as opened:
            assert opened
            with page.expect_request(lambda request: request.url.startswith(browser_server.base_url)) as asked:
                page.goto(given[0])
            assert "referer" not in asked.value.all_headers()
            fill_sign_in(page, "tom-ohara")
            page.get_by_role("button", name="Allow").wait_for()
        assert not Path(urlsplit(given[0]).path).exists()


def test_another_page_cannot_plant_a_token(page, start_service: Callable[..., Any]) -> None:
    """Even with the nonce, no fetch, image or frame of another page can submit a token or read a response."""
    outcomes: list[Any] = []
    with Listener(outcomes.append) as listener:
        planted = f"{listener.redirect_uri}?access_token=planted"
        site = start_service(lambda *_: (200, {"Content-Type": "text/html"}, b"<h1>Here</h1>"))
        page.goto(site.base_url)
        read = """async url => {
          const responses = [];
          for (const mode of ["cors", "no-cors"])
            responses.push(await fetch(url, {mode}).then(answer => answer.type + answer.status, () => "refused"));
          for (const name of ["img", "iframe"]) {
            const node = document.createElement(name);
            const done = new Promise(resolve => { node.onload = node.onerror = resolve; });
            node.src = url;
            document.body.append(node);
            await done;
          }
          return responses;
        }"""
        assert page.evaluate(read, planted) == ["refused", "refused"]
        assert outcomes == []
        page.goto(planted)
        wait_until(lambda: outcomes)  # The browser gets its response before the token is reported.
        assert isinstance(outcomes[0], AccessToken)
