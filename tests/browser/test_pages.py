"""Pages of the sandbox in a real browser, at desktop and phone size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests

from support.browser_tabs import DESK, PHONE, check_page, fill_sign_in, open_tab, press_button
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from p2p_analytics.sandbox import SandboxServer

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


@pytest.mark.parametrize("device", [{"viewport": DESK}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_from_registration_to_revocation(
    browser: Browser, browser_server: SandboxServer, application: Any, tmp_path: Path, device: Any
) -> None:
    """Register an application, consent, exchange the code and revoke the access, all on the pages."""
    with open_tab(browser, **device) as page:
        complete_journey(page, browser_server, application, tmp_path)


def complete_journey(page: Page, server: SandboxServer, application: Any, tmp_path: Path) -> None:
    """Go from the registration of an application to its revocation."""
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


def test_allow_and_deny_by_keyboard(phone: Page, browser_server: SandboxServer, application: Any) -> None:
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


def test_names_with_markup_are_escaped(
    page: Page, browser_server: SandboxServer, application: Any, tmp_path: Path
) -> None:
    """Names of applications and people with HTML are displayed literally on every page, and run nothing."""
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    with browser_server.store.writing() as connection:
        connection.execute("UPDATE users SET display_name = ? WHERE username = 'sam-rivera'", (NASTY,))
    app = browser_server.register_application(
        "sam-rivera", name=NASTY[:80], description=NASTY, redirect_url=callback(application)
    )
    page.goto(browser_server.authorize_url(client_id=app.client_id))
    for number, path in enumerate((None, None, "developer", f"developer/{app.client_id}", "applications")):
        if path is not None:
            page.goto(f"{browser_server.base_url}/account/{path}")
        assert page.get_by_text(NASTY[:80]).first.is_visible()
        assert page.locator("main img, main script").count() == 0
        check_page(page, tmp_path, f"nasty-{number}")
        if number == 0:
            fill_sign_in(page, "sam-rivera")
        if number == 1:
            assert page.get_by_text(NASTY, exact=True).count() == 2
            page.get_by_role("button", name="Allow").click()
            page.get_by_role("heading", name="Back at /callback").wait_for()
        assert page.title() != "broken"
    assert logged == []


def test_the_content_policy_blocks_injected_markup(page: Page, browser_server: SandboxServer) -> None:
    """If a page contained injected markup, its policy would block scripts, pictures and frames."""
    page.goto(f"{browser_server.base_url}/account/sign-in")
    page.evaluate("""() => { window.stopped = []; document.addEventListener(
                     "securitypolicyviolation", event => stopped.push(event.effectiveDirective)); }""")
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', "
                  "`<img src=x onerror=\"document.title='broken'\"><iframe src=x></iframe>`)")  # fmt: skip
    page.evaluate("""() => { const one = document.createElement('script');
                     one.textContent = "document.title = 'broken'"; document.body.append(one); }""")
    page.wait_for_function("() => stopped.length >= 4")
    assert sorted(page.evaluate("stopped")) == ["frame-src", "img-src", "script-src-attr", "script-src-elem"]
    assert page.title() == "Sign in"


def test_a_form_of_another_site_is_refused(
    page: Page, browser_server: SandboxServer, start_service: Callable[..., Any]
) -> None:
    """Even with a stolen ticket, the form is refused, because the browser sends no session with it.

    A link from another site does use the session, because an application links to the authorization page.
    """
    held: dict[str, str] = {}

    def lure(path: str, _parameters: dict[str, str]) -> Any:
        field = f'<input name="ticket" value="{held.get("ticket", "")}"><input name="decision" value="allow">'
        consent = f"{browser_server.base_url}/oauth/consent"
        form = f'<form method="post" action="{consent}">{field}<button>Win a prize</button></form>'
        return 200, {"Content-Type": "text/html"}, f'{form}<a href="{held.get("link")}">Connect</a>'.encode()

    site = start_service(lure).base_url.replace("127.0.0.1", "localhost")
    held["link"] = browser_server.authorize_url("access_profile").replace("&", "&amp;")
    page.goto(held["link"].replace("&amp;", "&"))
    fill_sign_in(page, "noor-haddad")
    held["ticket"] = page.locator("input[name=ticket]").first.input_value()
    page.goto(site)
    with page.expect_navigation() as pressed:
        page.get_by_role("button", name="Win a prize").click()
    assert pressed.value.status == 403
    page.goto(site)
    page.get_by_role("link", name="Connect").click()
    page.get_by_text("Noor Haddad").wait_for()
    page.get_by_role("button", name="Allow").wait_for()


def test_pages_cannot_be_framed(page: Page, browser_server: SandboxServer, start_service: Callable[..., Any]) -> None:
    """The consent page is empty in a frame of another page, which prevents clickjacking."""
    frame = f'<iframe src="{browser_server.base_url}/account/sign-in" width="600" height="400"></iframe>'
    site = start_service(lambda *_: (200, {"Content-Type": "text/html"}, frame.encode()))
    page.goto(site.base_url)  # until the frame has loaded as well
    assert page.frames[-1].url == "chrome-error://chromewebdata/"
    assert page.frames[-1].get_by_text("Who are you?").count() == 0
