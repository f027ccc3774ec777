"""Sign-in form with the sandbox: link, redirect, pasted text, lifetime of a token, and the kernel of the form."""

import errno
import getpass
import importlib
import re
import socketserver
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from IPython.core.events import EventManager
from IPython.core.interactiveshell import InteractiveShell

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, NotSignedIn, TokenError
from support.waiting import wait_until
from support.widgets.forms import complete_sign_in, displayed_text

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
    """A declined consent is reported, with a new link; then user, scopes and time replace link and box."""
    first = form.link
    complete_sign_in(server, form, allow=False)
    said = "The service issued no token (user denied access): sign in again and agree."
    wait_until(lambda: said in displayed_text(form))
    wait_until(lambda: form.link != first)  # made after the sentence
    complete_sign_in(server, form)
    wait_until(lambda: "Maya Lindqvist" in displayed_text(form))
    assert "denied" not in displayed_text(form)
    assert "The token permits access_friends, access_profile." in displayed_text(form)
    assert "Valid for 29 minutes, until " in displayed_text(form)
    assert repr(form) == "<TokenForm: signed in as Maya Lindqvist>"
    assert form._link_html.value == ""
    assert form._box.layout.display == "none"
    assert form.token.scopes == {"access_profile", "access_friends"}
    with p2p.Client(form.token, base_url=form.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer


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


def test_text_without_a_token_is_reported_and_not_kept(form: p2p.TokenForm) -> None:
    """The form displays the problem and clears the box; `take` raises it too; the link remains valid."""
    link = form.link
    for pasted, sentence in (
        ("two words", "Not an access token"),
        ("http://127.0.0.1:1/callback", "The address holds no access token: copy the whole address"),
        ("http://127.0.0.1:1/callback?error=user+denied", r"The service issued no token \(user denied\)"),
        ("http://127.0.0.1:1/callback?code=abc", "The address holds a code, not a token"),
    ):
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
def test_a_failing_service_does_not_discard_the_token(start_service, monkeypatch, privacy, shown) -> None:
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


def test_an_unused_link_expires(server, make_form) -> None:
    """The form reports that the listener has stopped, and a button creates a new link."""

    class ImpatientForm(p2p.TokenForm):
        link_seconds = 0.3

    form = make_form(ImpatientForm)
    wait_until(lambda: "No sign-in within" in displayed_text(form))
    assert form._link_html.value == ""
    assert form._link_button.description == "New link"
    assert form._link_button.layout.display is None
    form.link_seconds = 60.0
    form._link_button.click()
    complete_sign_in(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in displayed_text(form))


def test_without_a_port_pasting_still_works(server, make_form, monkeypatch) -> None:
    """Without a free port the form says so, and its link uses the registered redirect URL."""

    def refuse(_server: object) -> None:
        raise OSError(errno.EADDRINUSE, "busy")

    monkeypatch.setattr(socketserver.TCPServer, "server_bind", refuse)
    form = make_form()
    assert "Cannot listen on a port of 127.0.0.1" in form._link_html.value
    assert "redirect_uri" not in form.link
    form.take(server.sign_in(form.link, server.viewer))
    assert "Signed in as Maya Lindqvist" in displayed_text(form)


def test_with_a_remote_kernel_the_form_says_to_paste(make_form, monkeypatch) -> None:
    """On hubs, remote editors and Colab the redirect cannot arrive; elsewhere nothing is assumed."""
    hint = "will not load: copy its whole address from the address bar, and paste it here."
    assert "will not load" not in make_form()._link_html.value
    for variable in ("JUPYTERHUB_USER", "CODESPACES", "VSCODE_AGENT_FOLDER"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "1")
            assert hint in make_form()._link_html.value, variable
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert hint in make_form()._link_html.value


def test_names_are_text(server, form, monkeypatch) -> None:
    """HTML is displayed literally, without formulas; static HTML has no name, and in privacy mode there is none."""
    other = next(one for one in server.people if one.username != server.viewer)
    with server.store.writing() as connection:
        connection.execute("UPDATE users SET display_name = ? WHERE username = ?", (NASTY, other.username))
    form.take(server.token(other.username))
    assert "&lt;b onclick=alert(1)&gt;Ann&lt;/b&gt; &amp; $x$" in form._message_html.value
    assert form._message_html._view_name == "HTMLView"
    assert form._repr_mimebundle_()["text/html"] == "<p>Sign-in form: run the cells of this notebook to use it.</p>"
    monkeypatch.setenv("P2P_PRIVACY", "1")
    form.take(server.token(server.viewer))
    assert "Signed in as (name hidden by privacy mode)." in displayed_text(form)
    assert "Maya" not in displayed_text(form) + repr(form)


def test_a_closed_form_accepts_no_token(server, form) -> None:
    """After close() no listener runs and no token is held, not even one that is read or pasted then."""
    form.take(server.token(server.viewer))
    form._link_button.click()
    port = re.search(r"127\.0\.0\.1%3A(\d+)", form.link)[1]
    form.close()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{port}/", timeout=5)
    form._on_redirect(p2p.AccessToken(server.token(server.viewer)))  # which the listener had received before
    form.take(server.token(server.viewer))
    form._box.value = server.token(server.viewer)
    with pytest.raises(NotSignedIn, match=r"^This form is closed: run the cell of the form again, then this one"):
        _ = form.token
    assert form._repr_mimebundle_() == {"text/plain": "<TokenForm: not signed in>"}


def test_a_prompt_waits_for_a_token(server, make_form, monkeypatch, capsys) -> None:
    """how="prompt" displays the link, prompts without echo, and holds the token when the constructor returns."""
    monkeypatch.setattr(
        getpass, "getpass", lambda _prompt: server.sign_in(capsys.readouterr().out.split()[-1], server.viewer)
    )
    form = make_form(how="prompt")
    assert form.token.scopes == {"access_profile", "access_friends"}
    assert "Signed in as Maya Lindqvist" in displayed_text(form)


def test_without_a_prompt_the_notebook_continues(make_form, monkeypatch) -> None:
    """Without standard input, or with one that echoes, the form exists and holds no token."""

    def echo(_prompt: str) -> str:
        warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=1)
        return "secret"

    def have_no_frontend(_prompt: str) -> str:
        raise NotImplementedError

    for ask in (have_no_frontend, echo, lambda _prompt: ""):
        monkeypatch.setattr(getpass, "getpass", ask)
        form = make_form(how="prompt")
        assert displayed_text(form).strip()
        with pytest.raises(NotSignedIn, match="yet: run the cell of the form again, then this one"):
            _ = form.token


def test_an_interrupted_prompt_does_not_show_pasted_text(make_form, monkeypatch) -> None:
    """Ctrl-C during the request: no frame of the traceback holds the URL, which "%xmode Verbose" would print."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(getpass, "getpass", lambda _prompt: "http://127.0.0.1/?access_token=CANARY")
    monkeypatch.setattr(p2p.TokenForm, "_accept", lambda *_: types.SimpleNamespace(wait=interrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        make_form(how="prompt")
    printed = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "CANARY" not in "".join(line for line in printed.format() if "test_form.py" not in line)


def test_the_box_is_disabled_while_a_cell_runs(make_form, monkeypatch) -> None:
    """A busy kernel cannot clear the box. A form created by a running cell starts disabled; close() unregisters it."""
    request = {"header": {"msg_type": "execute_request"}}
    events = EventManager(None, ["pre_run_cell", "post_run_cell"])
    kernel = types.SimpleNamespace(get_parent=lambda _channel: request)
    shell = types.SimpleNamespace(events=events, kernel=kernel)
    monkeypatch.setattr(InteractiveShell, "initialized", lambda: True)
    monkeypatch.setattr(InteractiveShell, "instance", lambda: shell)
    form = make_form()
    assert form._box.disabled
    for name, is_disabled in (("post_run_cell", False), ("pre_run_cell", True), ("post_run_cell", False)):
        events.trigger(name, None)
        assert form._box.disabled is is_disabled
    request["header"] = {"msg_type": "comm_msg"}
    assert not make_form()._box.disabled
    form.close()
    events.trigger("pre_run_cell", None)
    assert not form._box.disabled


def test_invalid_settings_raise_before_anything_is_displayed() -> None:
    """The error names the setting, and no listener keeps running."""
    for options, sentence in (
        ({"how": "popup"}, 'how must be "form" or "prompt"'),
        ({"scopes": ["everything"]}, "not everything"),
        ({"client_id": None}, "No client id: pass client_id"),
        ({"base_url": "http://pay.example"}, "must use https"),
    ):
        with pytest.raises(ConfigurationError, match=sentence):
            p2p.TokenForm(**{"base_url": "https://pay.example", "client_id": "1", **options})
    assert not [thread for thread in threading.enumerate() if thread.name == "p2p-sign-in"]


def test_a_missing_ipywidgets_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widgets need the notebook extra, and the error says how to install it."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delitem(sys.modules, "p2p_analytics.widgets")
    with pytest.raises(ConfigurationError, match=r'make install .* pip install "\.\[notebook\]"'):
        importlib.import_module("p2p_analytics.widgets")
