"""The sign-in form and its kernel: prompts, running cells, and creation without a kernel or with invalid settings."""

from __future__ import annotations

import getpass
import importlib
import sys
import threading
import traceback
import types
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.events import EventManager

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, NotSignedIn
from support.widgets.forms import displayed_text

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_prompt_waits_for_a_token(
    server: Any, make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """how="prompt" displays the link, prompts without echo, and holds the token when the constructor returns."""
    monkeypatch.setattr(
        getpass, "getpass", lambda _prompt: server.sign_in(capsys.readouterr().out.split()[-1], server.viewer)
    )
    form = make_form(how="prompt")
    assert form.token.scopes == {"access_profile", "access_friends"}
    assert "Signed in as Maya Lindqvist" in displayed_text(form)


def echoing_prompt(_prompt: str) -> str:
    """Behave like getpass where it cannot disable the echo."""
    warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=1)
    return "secret"


def unsupported_prompt(_prompt: str) -> str:
    """Behave like a kernel without a frontend."""
    raise NotImplementedError


@pytest.mark.parametrize("ask", [unsupported_prompt, echoing_prompt, lambda _prompt: ""])
def test_without_a_prompt_the_notebook_continues(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch, ask: Any
) -> None:
    """Without standard input, or with one that echoes, the form exists and holds no token."""
    monkeypatch.setattr(getpass, "getpass", ask)
    form = make_form(how="prompt")
    assert displayed_text(form).strip()
    with pytest.raises(NotSignedIn, match="yet: run the cell of the form again, then this one"):
        _ = form.token


def test_an_interrupted_prompt_does_not_show_pasted_text(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during the request: no frame of the traceback holds the URL, which "%xmode Verbose" would print."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(getpass, "getpass", lambda _prompt: "http://127.0.0.1/?access_token=CANARY")
    monkeypatch.setattr(p2p.TokenForm, "_accept", lambda *_: types.SimpleNamespace(wait=interrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        make_form(how="prompt")
    printed = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "CANARY" not in "".join(line for line in printed.format() if "test_form_in_kernel.py" not in line)


def test_the_box_is_disabled_while_a_cell_runs(
    make_form: Callable[..., p2p.TokenForm], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy kernel cannot clear the box. A form created by a running cell starts disabled; close() unregisters it."""
    request = {"header": {"msg_type": "execute_request"}}
    events = EventManager(None, ["pre_run_cell", "post_run_cell"])
    kernel = types.SimpleNamespace(get_parent=lambda _channel: request)
    shell = types.SimpleNamespace(events=events, kernel=kernel)
    monkeypatch.setattr("p2p_analytics.widgets._form.get_ipython", lambda: shell)
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


def test_a_saved_notebook_shows_a_sentence(server: Any, form: p2p.TokenForm) -> None:
    """The static HTML names the form, but neither the user nor the token."""
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
def test_invalid_settings_raise_before_anything_is_displayed(options: dict[str, Any], sentence: str) -> None:
    """The error names the setting, and no listener keeps running."""
    with pytest.raises(ConfigurationError, match=sentence):
        p2p.TokenForm(**{"base_url": "https://pay.example", "client_id": "1", **options})
    assert not [thread for thread in threading.enumerate() if thread.name == "p2p-sign-in"]


def test_a_missing_ipywidgets_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widgets need the notebook extra, and the error says how to install it."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delitem(sys.modules, "p2p_analytics.widgets")
    with pytest.raises(ConfigurationError, match=r'make install .* pip install "\.\[notebook\]"'):
        importlib.import_module("p2p_analytics.widgets")
