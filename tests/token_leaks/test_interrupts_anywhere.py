"""Exceptions at any line of this package that handles a secret, or in any function that the line calls."""

import contextlib
import gc
import getpass
import io
import itertools
import re
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

import p2p_analytics as p2p
from p2p_analytics import auth
from p2p_analytics.cli import _sign_in_prompt
from p2p_analytics.client import oauth
from p2p_analytics.client.http.transport import CachePolicy
from support.canary import CANARY
from support.interrupts import GOOD, INTERRUPT_MARKS, PACKAGE, PLAIN_KINDS, find_secrets, is_test_frame, transport_to

pytestmark = INTERRUPT_MARKS

TOKENS = {"access_token": f"{CANARY}-2", "expires_in": 5000, "refresh_token": f"{CANARY}-3"}
_OTHERS = re.compile(r"^<|/(_pytest|traitlets|ipywidgets|IPython|comm)/|/contextlib\.py$")


class Interrupter:
    """Trace function that raises at one place: a line of this package, or the start of a function that it calls."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, int], None] = {}
        self.at: tuple[str, int] | None = None
        self.error: BaseException | None = None

    def reach(self, place: tuple[str, int]) -> None:
        """Record a place, or raise there."""
        if self.at is None:
            self.places[place] = None
        elif place == self.at and self.error is not None:
            error, self.error = self.error, None
            raise error

    def __call__(self, frame: FrameType, _event: str, _value: object) -> Any:
        """Trace calls: this package line by line, the functions that it calls at their start."""
        name = frame.f_code.co_filename
        if self.at is not None and (self.error is None or name != self.at[0]):
            return None
        if is_test_frame(frame) or _OTHERS.search(name):
            return None
        if PACKAGE in name:
            return self.line
        self.reach((name, frame.f_code.co_firstlineno))
        return None

    def line(self, frame: FrameType, event: str, _value: object) -> Any:
        """Trace the lines of a frame."""
        # Python delivers no interrupt between the lines of the decorator itself.
        if event == "line" and not frame.f_code.co_filename.endswith("_tracebacks.py"):
            self.reach((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def run(self, flow: Callable[[], object]) -> BaseException | None:
        """Run a flow, and return the exception that it raised.

        In a thread, because an exception raised at the last line of an ``except`` leaves its context in the thread.
        """

        def trace() -> None:
            sys.settrace(self)
            try:
                flow()
            finally:
                sys.settrace(None)

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(trace).exception()


SIGN_IN = auth.SignIn("http://127.0.0.1/v1", p2p.AccessToken(CANARY), "1", auth.Secret(f"{CANARY}-1"))


def read_page(service: Any, folder: Path) -> Callable[[], object]:
    """Read a page through the cache."""
    folders = map(str, itertools.count())

    def flow() -> None:
        transport = transport_to(service.base_url)
        transport.open_cache(folder, next(folders))
        transport.get("/me", {}, policy=CachePolicy.SHORT)

    return flow


def read_refusal(service: Any, _folder: Path) -> Callable[[], object]:
    """Read, with errors before and after a retry that quote the token."""
    body = {"error": {"message": f"No such token: {CANARY}", "code": 261}}
    answers = itertools.cycle([(500, {}, body), (401, {}, body)])
    service.answer = lambda *_: next(answers)
    return lambda: transport_to(service.base_url).get("/me", {})


def exchange_code(service: Any, _folder: Path) -> Callable[[], object]:
    """Exchange an authorization code for tokens, and refresh them."""
    service.answer = lambda *_: TOKENS
    own, secret = {"base_url": service.base_url, "client_id": "1"}, auth.Secret(f"{CANARY}-5")
    return lambda: oauth.refresh(oauth.exchange(auth.Secret(f"{CANARY}-4"), secret=secret, **own), secret=secret)


def keep_sign_in(_service: Any, _folder: Path) -> Callable[[], object]:
    """Save a sign-in in the state file and in the keyring, find it, and delete it; read the environment."""
    kept: list[str] = []
    ring = SimpleNamespace(
        get_password=lambda *_: kept[-1] if kept else None,
        set_password=lambda *words: kept.append(words[-1]),
        delete_password=lambda *_: kept.clear(),
    )

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "keyring", ring)
            for store in (auth.FileStore(), auth.KeyringStore()):
                store.save(SIGN_IN)
                auth.find_token(base_url="http://127.0.0.1/v1")
                store.delete()
            for name in ("ACCESS_TOKEN", "CLIENT_SECRET"):
                patch.setenv(f"P2P_{name}", CANARY)
            auth.find_token()
            auth.find_client_secret()

    return flow


def parse_texts(_service: Any, _folder: Path) -> Callable[[], object]:
    """Parse tokens and codes from pasted text."""

    def flow() -> None:
        auth.find_token(CANARY)
        for text in (CANARY, f"http://127.0.0.1/?access_token={CANARY}"):
            auth.token_from_text(text)
        auth.code_from_redirect(f"?code={CANARY}")
        with contextlib.suppress(auth.ConsentDenied):
            auth.token_from_redirect(f"?error=no+{CANARY}&access_token={CANARY}")

    return flow


def receive_redirect(_service: Any, _folder: Path) -> Callable[[], object]:
    """Receive the redirect."""

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("p2p_analytics.auth._listener._POLL_SECONDS", 0.01)  # for which close() waits
            # A listener that is interrupted before it is closed ends at its timeout.
            listener = auth.Listener(lambda _: None, timeout=0.2, linger=0.1)
            _, _, host, path = listener.redirect_uri.split("/", 3)
            here, there = socket.socketpair()
            with here, there:
                there.sendall(f"GET /{path}?access_token={CANARY} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                try:
                    assert listener._respond(here) is not None
                finally:
                    listener.close()

    return flow


def prompt_in_terminal(_service: Any, _folder: Path) -> Callable[[], object]:
    """Prompt in the terminal, and read from a pipe."""

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n{CANARY}\n"))
            _sign_in_prompt.wait_for_redirect(
                lambda **_: "http://127.0.0.1/", auth.token_from_redirect, auth.token_from_text,
                listen=False, open_browser=False,
            )  # fmt: skip
            _sign_in_prompt.read_hidden_line("Token: ")

    return flow


def fill_form(service: Any, _folder: Path) -> Callable[[], object]:
    """Enter a token into a notebook form, by its prompt and by its box."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(getpass, "getpass", lambda _: "")
        form = p2p.TokenForm(service.base_url, "1", how="prompt")

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(getpass, "getpass", lambda _: CANARY)
            form._prompt()
            form._on_paste({"new": CANARY})

    flow.close = form.close
    return flow


FLOWS = {
    "get": read_page,
    "refused": read_refusal,
    "unreachable": lambda _service, _folder: lambda: transport_to("http://127.0.0.1:1/v1").get("/me", {}),
    "write": lambda service, _: lambda: transport_to(service.base_url).write("POST", "/payments", {"amount": "1"}),
    "exchange": exchange_code,
    "stores": keep_sign_in,
    "texts": parse_texts,
    "listener": receive_redirect,
    "prompt": prompt_in_terminal,
    "form": fill_form,
}


@pytest.mark.parametrize("flow", FLOWS)
def test_at_any_place(start_service, tmp_path, flow: str) -> None:
    """Raise at each line of this package and in 10 of the functions that it calls, with each kind in turn."""
    interrupter = Interrupter()
    run = FLOWS[flow](start_service(lambda *_: GOOD), tmp_path)
    interrupter.run(run)
    places = [place for place in interrupter.places if PACKAGE in place[0]]
    below = [place for place in interrupter.places if PACKAGE not in place[0]]
    assert len(places) > 10
    kinds = itertools.cycle(PLAIN_KINDS.values())
    came = 0
    for place in places + below[:: 1 + len(below) // 10]:
        interrupter.at, interrupter.error = place, next(kinds)()
        raised, error = interrupter.error, interrupter.run(run)
        came += error is raised
        assert error is None or find_secrets(error) == [], (place, type(raised))
    assert came > 10
    getattr(run, "close", lambda: None)()
    gc.collect()  # Warnings about unclosed resources appear here and not in the next test.
