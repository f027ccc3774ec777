"""Loopback listener in a real browser: redirects, its last page, and requests from other pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from p2p_analytics.auth import AccessToken, Listener
from p2p_analytics.auth.browser import in_browser
from p2p_analytics.errors import TokenError
from support.browser_tabs import DESK, PHONE, check_page, fill_sign_in, open_tab
from support.servers import sandbox_fixture
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

    from p2p_analytics.sandbox import SandboxServer

browser_server = sandbox_fixture(people=8, years=1)


@pytest.mark.parametrize("allow", [True, False])
def test_the_listener_receives_a_real_redirect(
    browser: Browser, browser_server: SandboxServer, tmp_path: Path, *, allow: bool
) -> None:
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


def test_a_private_page_leads_to_the_consent_page(page: Page, browser_server: SandboxServer, monkeypatch) -> None:
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


def test_another_page_cannot_plant_a_token(page: Page, start_service: Callable[..., Any]) -> None:
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
