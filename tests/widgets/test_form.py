"""The sign-in form against the real sandbox: what it takes, what it says, and that it never waits or leaks."""

from __future__ import annotations

import getpass
import html
import importlib
import re
import sys
import threading
import traceback
import types
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests
from IPython.core.events import EventManager

import p2p_analytics as p2p
from p2p_analytics.auth import _listener
from p2p_analytics.errors import AuthenticationError, ConfigurationError, NotSignedIn, TokenError
from p2p_analytics.widgets import _form
from support.servers import sandbox_fixture
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NASTY = "<b onclick=alert(1)>Ann</b> & $x$ {{ 7*7 }}"


server = sandbox_fixture(people=5, years=1)


@pytest.fixture
def make_form(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., p2p.TokenForm]]:
    """Return a function that makes forms for the sandbox; all are closed, and no thread of theirs is left."""
    monkeypatch.setattr(_form, "_REFRESH_SECONDS", 0.02)
    made: list[p2p.TokenForm] = []

    def make(**options: Any) -> p2p.TokenForm:
        made.append(p2p.TokenForm(server.base_url, server.client_id, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name in {"p2p-sign-in", "p2p-token"}])


@pytest.fixture
def form(make_form: Callable[..., p2p.TokenForm]) -> p2p.TokenForm:
    """Return a form that nobody has signed in with."""
    return make_form()


def said(form: p2p.TokenForm) -> str:
    """Return what the form says below the box, as a person reads it."""
    return html.unescape(re.sub(r"<[^>]*>", " ", form._message_html.value + form._time_html.value))


def come_back(server: Any, form: p2p.TokenForm, *, allow: bool = True) -> None:
    """Follow the link, answer, and let the browser follow the redirect to the end."""
    answer = requests.get(server.sign_in(form.link, server.viewer, allow=allow), timeout=10)
    assert answer.url.endswith("/done")


def test_a_form_that_nobody_used_says_what_to_do(form: p2p.TokenForm) -> None:
    """The constructor returns with a link and a box shown; asking for the token is one sentence and no waiting."""
    with pytest.raises(NotSignedIn, match=r"^Not signed in yet: sign in with the form, then run this cell ag"):
        _ = form.token
    assert repr(form) == "<TokenForm: not signed in>"
    assert 'target="_blank" rel="noopener noreferrer"' in form._link_html.value
    assert "redirect_uri=http%3A%2F%2F127.0.0.1%3A" in form.link
    assert form._box.layout.display is None
    assert form._box.description == "Address or token"
    assert "application/vnd.jupyter.widget-view+json" in form._repr_mimebundle_()


def test_the_browser_comes_back_by_itself(server: Any, form: p2p.TokenForm) -> None:
    """After the redirect: who, which scopes, how long; link and box go away, and the token reads with a client."""
    come_back(server, form)
    wait_until(lambda: "Maya Lindqvist" in said(form))
    assert "The token permits access_friends, access_profile." in said(form)
    assert "Valid for 29 minutes, until " in said(form)
    assert repr(form) == "<TokenForm: signed in as Maya Lindqvist>"
    assert form._link_html.value == ""
    assert form._box.layout.display == "none"
    assert form.token.scopes == {"access_profile", "access_friends"}
    with p2p.Client(form.token, base_url=form.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer


def test_who_declines_gets_a_sentence_and_a_link_that_works(server: Any, form: p2p.TokenForm) -> None:
    """A declined consent is said as one, and the next sign-in needs nothing but the link."""
    first = form.link
    come_back(server, form, allow=False)
    wait_until(lambda: "user denied access" in said(form))
    assert "The service issued no token (user denied access): sign in again and agree." in said(form)
    assert form.link != first
    come_back(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in said(form))
    assert "denied" not in said(form)


@pytest.mark.parametrize("shape", ["{address}", "  '{address}' ", "access_token={token}", "{token}", ' "{token}"\n'])
def test_the_box_takes_each_shape_and_is_empty_at_once(server: Any, form: p2p.TokenForm, shape: str) -> None:
    """A whole address, the parameter or the bare token, with quotes and blanks around it; nothing stays in the box."""
    address = server.sign_in(form.link, server.viewer)
    token = address.partition("access_token=")[2]
    form._box.value = shape.format(address=address, token=token)
    assert form._box.value == ""
    assert form.token.reveal() == token
    wait_until(lambda: "Signed in as Maya Lindqvist" in said(form))
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
def test_what_holds_no_token_is_said_and_not_kept(form: p2p.TokenForm, pasted: str, sentence: str) -> None:
    """The box says what is wrong and is empty; `take` raises it as well; the link still stands."""
    link = form.link
    form._box.value = pasted
    assert form._box.value == ""
    assert re.search(sentence, said(form))
    with pytest.raises(TokenError, match=sentence):
        form.take(pasted)
    with pytest.raises(NotSignedIn):
        _ = form.token
    assert form.link == link
    assert form._link_html.value


def test_a_token_tells_what_it_permits(server: Any, make_form: Callable[..., p2p.TokenForm]) -> None:
    """Scopes are those that the service's answers show, whatever was asked for; a bare token's life is not known."""
    form = make_form(scopes=["access_profile", "access_email", "access_balance", "access_friends"])
    form.take(server.token(server.viewer, "access_profile", "access_balance"))
    assert "The token permits access_balance, access_profile." in said(form)
    assert "Requested and not granted: access_email, access_friends." in said(form)
    assert "The expiry is unknown" in said(form)


def test_an_expired_token_is_not_given_out(server: Any, form: p2p.TokenForm) -> None:
    """After its 30 minutes: NotSignedIn with the time, an alert, and a new link with which one sign-in suffices."""
    form.take(server.sign_in(form.link, server.viewer))
    used = form.link
    ends = form.token.expires_at - timedelta(minutes=30)
    form.token.expires_at = ends
    with pytest.raises(NotSignedIn, match=rf"^The token expired at {ends:%H:%M} UTC: sign in with the form, then run"):
        _ = form.token
    wait_until(lambda: f"The token expired at {ends:%H:%M} UTC: sign in again." in said(form))
    assert "Signed in" not in said(form)
    assert form.link != used
    come_back(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in said(form))
    assert form.token.expires_at > datetime.now(UTC)


def test_the_form_sees_the_end_by_itself(server: Any, form: p2p.TokenForm) -> None:
    """The countdown needs no cell to run: it falls, and ends in the new link."""
    form.take(server.sign_in(form.link, server.viewer))
    form._token.expires_at = datetime.now(UTC) + timedelta(seconds=90)
    wait_until(lambda: "Valid for 80 seconds" in said(form))
    form._token.expires_at = datetime.now(UTC)
    wait_until(lambda: "The token expired at" in said(form))
    assert form._link_html.value


def test_a_token_that_the_service_refuses_is_not_kept(server: Any, form: p2p.TokenForm) -> None:
    """A token that is good by the clock and not by the service's word: the form says so, and holds none."""
    token = server.token(server.viewer)
    server.expire(token)
    form.take(token)
    assert "The service does not accept the token" in said(form)
    with pytest.raises(NotSignedIn, match=r"^The service did not accept the token: sign in with the form"):
        _ = form.token


def test_a_service_in_trouble_takes_no_token_away(scripted: Callable[..., Any]) -> None:
    """Where whose token it is cannot be asked, the reason is said and the token is kept."""
    service = scripted(lambda *_: (400, {}, {"error": {"message": "broken", "code": 1}}))
    form = p2p.TokenForm(service.base_url, "1")
    form.take("abc")
    assert "broken" in said(form)
    assert "Asking" not in said(form)
    assert form.token.reveal() == "abc"
    form.close()


def test_the_last_token_counts(server: Any, form: p2p.TokenForm) -> None:
    """Whoever signs in again replaces the first, and only one countdown goes on."""
    form.take(server.token(server.viewer))
    form._link_button.click()
    assert form._link_html.value
    other = next(one for one in server.people if one.username != server.viewer)
    form.take(server.token(other.username))
    assert f"Signed in as {other.display_name}" in said(form)
    wait_until(lambda: sum(thread.name == "p2p-token" for thread in threading.enumerate()) == 1)


def test_a_link_that_nobody_follows_ends(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener that gave up is said, and a button makes a new link."""
    monkeypatch.setattr(_form, "_LINK_SECONDS", 0.05)
    form = make_form()
    wait_until(lambda: "No sign-in within" in said(form))
    assert form._link_html.value == ""
    assert form._link_button.description == "New link"
    assert form._link_button.layout.display is None
    monkeypatch.setattr(_form, "_LINK_SECONDS", 60.0)
    form._link_button.click()
    come_back(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in said(form))


def test_without_a_port_pasting_still_works(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that gives no port: the form says so, and its link leads to the redirect URL on file."""

    def refuse(*_: object, **__: object) -> None:
        raise ConfigurationError("Cannot listen on a port of 127.0.0.1 (busy): paste the address instead.")

    monkeypatch.setattr(_form, "Listener", refuse)
    form = make_form()
    assert "Cannot listen on a port of 127.0.0.1" in form._link_html.value
    assert "redirect_uri" not in form.link
    form.take(server.sign_in(form.link, server.viewer))
    assert "Signed in as Maya Lindqvist" in said(form)


@pytest.mark.parametrize("sign", ["JUPYTERHUB_USER", "CODESPACES", "VSCODE_AGENT_FOLDER", "google.colab"])
def test_where_the_browser_is_elsewhere_the_form_says_to_paste(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    """On hubs, remotes and Colab the redirect cannot arrive; elsewhere nothing is guessed."""
    assert "will not load" not in make_form()._link_html.value
    if "." in sign:
        monkeypatch.setitem(sys.modules, sign, types.ModuleType(sign))
    else:
        monkeypatch.setenv(sign, "1")
    assert (
        "will not load: copy its whole address from the address bar, and paste it here." in make_form()._link_html.value
    )


def test_a_prompt_waits_and_takes(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """how="prompt" shows the link, asks without echo, and has the token when it returns."""
    monkeypatch.setattr(
        getpass, "getpass", lambda _prompt: server.sign_in(capsys.readouterr().out.split()[-1], server.viewer)
    )
    form = make_form(how="prompt")
    assert form.token.scopes == {"access_profile", "access_friends"}
    assert "Signed in as Maya Lindqvist" in said(form)


def no_echo(_prompt: str) -> str:
    """Do what getpass does where it cannot keep the echo off."""
    import warnings

    warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=1)
    return "secret"


def nobody(_prompt: str) -> str:
    """Do what a kernel without somebody in front does."""
    raise NotImplementedError


@pytest.mark.parametrize("ask", [nobody, no_echo, lambda _prompt: ""])
def test_a_prompt_that_nobody_answers_lets_the_notebook_go_on(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, ask: Any
) -> None:
    """Without a standard input, or one that would show the token, the form is there and nobody is signed in."""
    monkeypatch.setattr(getpass, "getpass", ask)
    form = make_form(how="prompt")
    assert said(form).strip()
    with pytest.raises(NotSignedIn, match="yet: run the cell of the form again, then this one"):
        _ = form.token


def test_names_are_text(server: Any, form: p2p.TokenForm) -> None:
    """A name with HTML is read as it is, and no widget that sets formulas shows it."""
    other = next(one for one in server.people if one.username != server.viewer)
    with server.store.writing() as connection:
        connection.execute("UPDATE users SET display_name = ? WHERE username = ?", (NASTY, other.username))
    form.take(server.token(other.username))
    assert "&lt;b onclick=alert(1)&gt;Ann&lt;/b&gt; &amp; $x$" in form._message_html.value
    assert form._message_html._view_name == "HTMLView"


def test_privacy_mode_hides_who_it_is(server: Any, form: p2p.TokenForm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A screenshot of the form names nobody where ``P2P_PRIVACY`` is set."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    form.take(server.token(server.viewer))
    assert "Signed in as (name hidden by privacy mode)." in said(form)
    assert "Maya" not in said(form) + repr(form)


def test_privacy_mode_quotes_no_words_of_the_service(
    scripted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the service says may name people."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    service = scripted(lambda *_: (400, {}, {"error": {"message": "Maya is blocked", "code": 1}}))
    form = p2p.TokenForm(service.base_url, "1")
    form.take("abc")
    assert "The service refused the request with status 400." in said(form)
    assert "Maya" not in said(form)
    form.close()


def test_close_forgets_and_stops(server: Any, form: p2p.TokenForm) -> None:
    """After close nobody listens, no token is held, and the form still has a repr."""
    form.take(server.token(server.viewer))
    form._link_button.click()
    link = re.search(r"127\.0\.0\.1%3A(\d+)", form.link)
    form.close()
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{link[1]}/", timeout=5)
    with pytest.raises(NotSignedIn):
        _ = form.token
    assert form._repr_mimebundle_() == {"text/plain": "<TokenForm: not signed in>"}


def test_the_box_is_closed_while_a_cell_runs(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy kernel cannot empty the box; a form that is made by a running cell begins closed; close ends it all."""
    request = {"header": {"msg_type": "execute_request"}}
    events = EventManager(None, ["pre_run_cell", "post_run_cell"])
    kernel = types.SimpleNamespace(get_parent=lambda _channel: request)
    shell = types.SimpleNamespace(events=events, kernel=kernel)
    monkeypatch.setattr("p2p_analytics.widgets._kernel_events.get_ipython", lambda: shell)
    form = make_form()
    assert form._box.disabled
    for name, closed in (("post_run_cell", False), ("pre_run_cell", True), ("post_run_cell", False)):
        events.trigger(name, None)
        assert form._box.disabled is closed
    request["header"] = {"msg_type": "comm_msg"}
    assert not make_form()._box.disabled
    form.close()
    events.trigger("pre_run_cell", None)
    assert not form._box.disabled


def test_a_closed_form_takes_nobody(server: Any, form: p2p.TokenForm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes back, or pastes, after close leaves no token behind; the sentence says what to do."""
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


def test_an_interrupted_prompt_does_not_show_what_was_pasted(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the service is asked: no frame of the traceback holds the address, as "%xmode Verbose" shows it."""

    def interrupt(_event: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(getpass, "getpass", lambda _prompt: "http://127.0.0.1/?access_token=CANARY")
    monkeypatch.setattr(p2p.TokenForm, "_accept", lambda *_: types.SimpleNamespace(wait=lambda: interrupt(None)))
    with pytest.raises(KeyboardInterrupt) as caught:
        make_form(how="prompt")
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "CANARY" not in "".join(line for line in told.format() if "test_form.py" not in line)


def test_a_load_that_outlives_its_token(server: Any, form: p2p.TokenForm) -> None:
    """A token that ends between two pages: one sentence; after one sign-in the very same cell works."""
    form.take(server.sign_in(form.link, server.viewer))

    def cell(progress: Callable[[int], object] | None = None) -> int:
        with p2p.Client(form.token, base_url=form.base_url, cache_dir=False) as client:
            return len(p2p.load_history(client, progress=progress).payments)

    whole = cell()
    with pytest.raises(AuthenticationError, match=r"^The service does not accept the token.*: sign in again\.$"):
        cell(lambda _so_far: server.expire(form.token.reveal()))
    form._link_button.click()
    come_back(server, form)
    wait_until(lambda: "Signed in as Maya Lindqvist" in said(form))
    assert cell() == whole


def test_where_no_kernel_runs_it_is_a_sentence(server: Any, form: p2p.TokenForm) -> None:
    """What is saved beside the widget says what it is, and neither who nor by which token."""
    form.take(server.token(server.viewer))
    assert form._repr_mimebundle_()["text/html"] == ("<p>Sign-in form: run the cells of this notebook to use it.</p>")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"how": "popup"}, 'how must be "form" or "prompt"'),
        ({"scopes": ["everything"]}, "not everything"),
        ({"client_id": None}, "No client id: pass client_id"),
        ({"base_url": "http://pay.example"}, "must use https"),
    ],
)
def test_unusable_settings_are_told_before_anything_is_shown(options: dict[str, Any], sentence: str) -> None:
    """One sentence, and no listener is left behind."""
    with pytest.raises(ConfigurationError, match=sentence):
        p2p.TokenForm(**{"base_url": "https://pay.example", "client_id": "1", **options})
    assert not [thread for thread in threading.enumerate() if thread.name == "p2p-sign-in"]


def test_without_ipywidgets_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms need the notebook extra, and say so where it is missing."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delitem(sys.modules, "p2p_analytics.widgets")
    with pytest.raises(ConfigurationError, match=r'make install .* pip install "\.\[notebook\]"'):
        importlib.import_module("p2p_analytics.widgets")
