"""Sign-in form with the sandbox: link, redirect, pasted text, and the lifetime of a token."""

from __future__ import annotations

import re
import sys
import threading
import types
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics.auth import _listener
from p2p_analytics.errors import ConfigurationError, NotSignedIn, TokenError
from p2p_analytics.widgets import _form
from support.waiting import wait_until
from support.widgets.forms import complete_sign_in, displayed_text

if TYPE_CHECKING:
    from collections.abc import Callable

NASTY = "<b onclick=alert(1)>Ann</b> & $x$ {{ 7*7 }}"


def test_a_new_form_says_what_to_do(form: p2p.TokenForm) -> None:
    """The constructor displays a link and a box and returns; reading the token raises one sentence at once."""
    with pytest.raises(NotSignedIn, match=r"^Not signed in yet: sign in with the form, then run this cell ag"):
        _ = form.token
    assert repr(form) == "<TokenForm: not signed in>"
    assert 'target="_blank" rel="noopener noreferrer"' in form._link_html.value
    assert "redirect_uri=http%3A%2F%2F127.0.0.1%3A" in form.link
    assert form._box.layout.display is None
    assert form._box.description == "Address or token"
    assert "application/vnd.jupyter.widget-view+json" in form._repr_mimebundle_()


def test_the_redirect_signs_in(server: Any, form: p2p.TokenForm) -> None:
    """The form then displays user, scopes and time, hides link and box, and its token works in a client."""
    complete_sign_in(server, form)
    wait_until(lambda: "Maya Lindqvist" in displayed_text(form))
    assert "The token permits access_friends, access_profile." in displayed_text(form)
    assert "Valid for 29 minutes, until " in displayed_text(form)
    assert repr(form) == "<TokenForm: signed in as Maya Lindqvist>"
    assert form._link_html.value == ""
    assert form._box.layout.display == "none"
    assert form.token.scopes == {"access_profile", "access_friends"}
    with p2p.Client(form.token, base_url=form.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer


def test_declining_displays_a_sentence_and_a_working_link(server: Any, form: p2p.TokenForm) -> None:
    """A declined consent is reported, and the displayed link starts the next sign-in."""
    first = form.link
    complete_sign_in(server, form, allow=False)
    wait_until(lambda: "user denied access" in displayed_text(form))
    assert "The service issued no token (user denied access): sign in again and agree." in displayed_text(form)
    wait_until(lambda: form.link != first)  # made after the sentence
    complete_sign_in(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in displayed_text(form))
    assert "denied" not in displayed_text(form)


@pytest.mark.parametrize("shape", ["{address}", "  '{address}' ", "access_token={token}", "{token}", ' "{token}"\n'])
def test_the_box_accepts_each_form_and_is_cleared_at_once(server: Any, form: p2p.TokenForm, shape: str) -> None:
    """A whole URL, the parameter or the bare token, with quotes and whitespace; the box never keeps its text."""
    address = server.sign_in(form.link, server.viewer)
    token = address.partition("access_token=")[2]
    form._box.value = shape.format(address=address, token=token)
    assert form._box.value == ""
    assert form.token.reveal() == token
    wait_until(lambda: "Signed in as Maya Lindqvist" in displayed_text(form))
    listeners = [thread for thread in threading.enumerate() if thread.name == "p2p-sign-in"]
    assert listeners == []


@pytest.mark.parametrize(
    ("pasted", "sentence"),
    [
        ("two words", "Not an access token"),
        ("http://127.0.0.1:1/callback", "The address holds no access token: copy the whole address"),
        ("http://127.0.0.1:1/callback?error=user+denied+access", r"The service issued no token \(user denied access\)"),
        ("http://127.0.0.1:1/callback?code=abc", "The address holds a code, not a token"),
    ],
)
def test_text_without_a_token_is_reported_and_not_kept(form: p2p.TokenForm, pasted: str, sentence: str) -> None:
    """The form displays the problem and clears the box; `take` raises it too; the link remains valid."""
    link = form.link
    form._box.value = pasted
    assert form._box.value == ""
    assert re.search(sentence, displayed_text(form))
    with pytest.raises(TokenError, match=sentence):
        form.take(pasted)
    with pytest.raises(NotSignedIn):
        _ = form.token
    assert form.link == link
    assert form._link_html.value


def test_the_granted_scopes_are_displayed(server: Any, make_form: Callable[..., p2p.TokenForm]) -> None:
    """The displayed scopes follow from the service's responses; the expiry of a bare token is unknown."""
    form = make_form(scopes=["access_profile", "access_email", "access_balance", "access_friends"])
    form.take(server.token(server.viewer, "access_profile", "access_balance"))
    assert "The token permits access_balance, access_profile." in displayed_text(form)
    assert "Requested and not granted: access_email, access_friends." in displayed_text(form)
    assert "The expiry is unknown" in displayed_text(form)


def test_an_expired_token_is_not_returned(server: Any, form: p2p.TokenForm) -> None:
    """After 30 minutes: NotSignedIn with the time, an alert, and a new link that needs one sign-in."""
    form.take(server.sign_in(form.link, server.viewer))
    used = form.link
    ends = form.token.expires_at - timedelta(minutes=30)
    form.token.expires_at = ends
    with pytest.raises(NotSignedIn, match=rf"^The token expired at {ends:%H:%M} UTC: sign in with the form, then run"):
        _ = form.token
    wait_until(lambda: f"The token expired at {ends:%H:%M} UTC: sign in again." in displayed_text(form))
    assert "Signed in" not in displayed_text(form)
    assert form.link != used
    complete_sign_in(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in displayed_text(form))
    assert form.token.expires_at > datetime.now(UTC)


def test_the_form_notices_the_expiry(server: Any, form: p2p.TokenForm) -> None:
    """The countdown needs no cell, and ends with a new link."""
    form.take(server.sign_in(form.link, server.viewer))
    form._token.expires_at = datetime.now(UTC) + timedelta(seconds=90)
    wait_until(lambda: "Valid for 80 seconds" in displayed_text(form))
    form._token.expires_at = datetime.now(UTC)
    wait_until(lambda: "The token expired at" in displayed_text(form))
    assert form._link_html.value


def test_a_refused_token_is_not_kept(server: Any, form: p2p.TokenForm) -> None:
    """If the service refuses a token that has not expired, the form says so and discards it."""
    token = server.token(server.viewer)
    server.expire(token)
    form.take(token)
    assert "The service does not accept the token" in displayed_text(form)
    with pytest.raises(NotSignedIn, match=r"^The service did not accept the token: sign in with the form"):
        _ = form.token


@pytest.mark.parametrize(
    ("privacy", "shown"), [("", "Maya is blocked"), ("1", "The service refused the request with status 400.")]
)
def test_a_failing_service_does_not_discard_the_token(
    start_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, privacy: str, shown: str
) -> None:
    """The form displays the reason and keeps the token; the service's words may contain names."""
    monkeypatch.setenv("P2P_PRIVACY", privacy)
    service = start_service(lambda *_: (400, {}, {"error": {"message": "Maya is blocked", "code": 1}}))
    form = p2p.TokenForm(service.base_url, "1")
    form.take("abc")
    assert shown in displayed_text(form)
    assert ("Maya" in displayed_text(form)) == (not privacy)
    assert form.token.reveal() == "abc"
    form.close()


def test_the_last_token_counts(server: Any, form: p2p.TokenForm) -> None:
    """A second sign-in replaces the first, and only one countdown continues."""
    form.take(server.token(server.viewer))
    form._link_button.click()
    assert form._link_html.value
    other = next(one for one in server.people if one.username != server.viewer)
    form.take(server.token(other.username))
    assert f"Signed in as {other.display_name}" in displayed_text(form)
    wait_until(lambda: sum(thread.name == "p2p-token" for thread in threading.enumerate()) == 1)


def test_an_unused_link_expires(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form reports that the listener has stopped, and a button creates a new link."""
    monkeypatch.setattr(_form, "_LINK_SECONDS", 0.3)
    form = make_form()
    wait_until(lambda: "No sign-in within" in displayed_text(form))
    assert form._link_html.value == ""
    assert form._link_button.description == "New link"
    assert form._link_button.layout.display is None
    monkeypatch.setattr(_form, "_LINK_SECONDS", 60.0)
    form._link_button.click()
    complete_sign_in(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in displayed_text(form))


def test_without_a_port_pasting_still_works(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a free port the form says so, and its link uses the registered redirect URL."""

    def refuse(*_: object, **__: object) -> None:
        raise ConfigurationError("Cannot listen on a port of 127.0.0.1 (busy): paste the address instead.")

    monkeypatch.setattr(_form, "Listener", refuse)
    form = make_form()
    assert "Cannot listen on a port of 127.0.0.1" in form._link_html.value
    assert "redirect_uri" not in form.link
    form.take(server.sign_in(form.link, server.viewer))
    assert "Signed in as Maya Lindqvist" in displayed_text(form)


@pytest.mark.parametrize("sign", ["JUPYTERHUB_USER", "CODESPACES", "VSCODE_AGENT_FOLDER", "google.colab"])
def test_with_a_remote_kernel_the_form_says_to_paste(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    """On hubs, remote editors and Colab the redirect cannot arrive; elsewhere nothing is assumed."""
    assert "will not load" not in make_form()._link_html.value
    if "." in sign:
        monkeypatch.setitem(sys.modules, sign, types.ModuleType(sign))
    else:
        monkeypatch.setenv(sign, "1")
    assert (
        "will not load: copy its whole address from the address bar, and paste it here." in make_form()._link_html.value
    )


def test_names_are_text(server: Any, form: p2p.TokenForm) -> None:
    """A name with HTML is displayed literally, in a widget that renders no formulas."""
    other = next(one for one in server.people if one.username != server.viewer)
    with server.store.writing() as connection:
        connection.execute("UPDATE users SET display_name = ? WHERE username = ?", (NASTY, other.username))
    form.take(server.token(other.username))
    assert "&lt;b onclick=alert(1)&gt;Ann&lt;/b&gt; &amp; $x$" in form._message_html.value
    assert form._message_html._view_name == "HTMLView"


def test_privacy_mode_hides_the_name(server: Any, form: p2p.TokenForm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A screenshot of the form contains no name if ``P2P_PRIVACY`` is set."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    form.take(server.token(server.viewer))
    assert "Signed in as (name hidden by privacy mode)." in displayed_text(form)
    assert "Maya" not in displayed_text(form) + repr(form)


def test_close_discards_the_token_and_stops(server: Any, form: p2p.TokenForm) -> None:
    """After close() no listener runs, no token is held, and the form still has a repr."""
    form.take(server.token(server.viewer))
    form._link_button.click()
    link = re.search(r"127\.0\.0\.1%3A(\d+)", form.link)
    form.close()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{link[1]}/", timeout=5)
    with pytest.raises(NotSignedIn):
        _ = form.token
    assert form._repr_mimebundle_() == {"text/plain": "<TokenForm: not signed in>"}


def test_a_closed_form_accepts_no_token(server: Any, form: p2p.TokenForm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect or pasted text after close() leaves no token; the error says what to do."""
    answering, closed = threading.Event(), threading.Event()
    send = _listener._send

    def hold(*answer: Any) -> None:
        send(*answer)
        answering.set()
        closed.wait(10)

    monkeypatch.setattr(_listener, "_send", hold)
    address = server.sign_in(form.link, server.viewer)
    others = set(threading.enumerate())
    browser = threading.Thread(target=requests.get, args=[address], kwargs={"allow_redirects": False, "timeout": 10})
    browser.start()
    assert answering.wait(10)
    form.close()
    closed.set()
    browser.join()
    wait_until(lambda: not [one for one in set(threading.enumerate()) - others if "process_request_thread" in one.name])
    form.take(server.token(server.viewer))
    form._box.value = server.token(server.viewer)
    assert form._token is None
    with pytest.raises(NotSignedIn, match=r"^This form is closed: run the cell of the form again, then this one"):
        _ = form.token
