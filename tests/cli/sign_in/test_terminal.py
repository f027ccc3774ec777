"""Signing in at a terminal: pasting without echo, beside the listener or alone."""

from __future__ import annotations

import http.client
import io
import os
import pty
import re
import signal
import subprocess
import termios
import threading
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli
from p2p_analytics.auth import FileStore
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRONG = "https://app.example/not-this-one"


class Login:
    """A login in a thread of this process, with a terminal for its input."""

    def __init__(self, *words: str) -> None:
        self.screen, self.slave = pty.openpty()
        self.stdin, self.err = os.fdopen(os.dup(self.slave)), io.StringIO()
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, args=words, daemon=True)

    def _run(self, *words: str) -> None:
        self.code = cli.main(["login", "--no-browser", *words])

    def find_address(self) -> str:
        """Start, wait until the terminal does not echo, and return the address to sign in at."""
        self._thread.start()
        wait_until(lambda: "paste the address" in self.err.getvalue().lower() and not self.echoes())
        return re.search(r"http\S+/oauth/authorize\S+", self.err.getvalue())[0]

    def echoes(self) -> bool:
        """Return whether the terminal echoes."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self.screen, f"{text}\n".encode())

    def end(self) -> tuple[int | None, str]:
        """Wait for the end; return the exit code, and what the terminal has shown of what was typed."""
        self._thread.join(timeout=30)
        assert self.echoes()
        os.set_blocking(self.screen, False)
        try:
            return self.code, os.read(self.screen, 2**16).decode()
        except BlockingIOError:
            return self.code, ""


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Login]]:
    """Return a function that prepares a login in a terminal."""
    logins: list[Login] = []

    def prepare(*words: str) -> Login:
        logins.append(one := Login(*words))
        monkeypatch.setattr("sys.stdin", one.stdin)
        monkeypatch.setattr("sys.stderr", one.err)
        return one

    yield prepare
    for one in logins:
        os.close(one.screen)
        os.close(one.slave)
        one.stdin.close()


@pytest.mark.parametrize("words", [[], ["--paste"]])
def test_pasting(server, login, capsys, name: str, words: list[str]) -> None:
    """A pasted address is taken and never shown, while listening or alone; a useless one may be tried again."""
    one = login(*words)
    redirect = server.sign_in(one.find_address(), server.viewer)
    one.type(WRONG)
    one.type(redirect)
    code, shown = one.end()
    out, err = capsys.readouterr().out, one.err.getvalue()
    assert (code, out.startswith(f"Signed in as {name} until ")) == (0, True)
    invitation = "Paste the address" if words else "Or paste the address"
    assert f"\n{invitation} that the browser ended at" in err
    assert err.count("copy the whole address") == err.count("Paste the whole address again (it is not shown):\n") == 1
    token = FileStore().load().token.reveal()
    assert token in redirect
    assert token not in out + err + shown


def test_pasting_wrong_lines_only(login) -> None:
    """Where nothing listens, the fifth one ends the sign-in."""
    one = login("--paste")
    one.find_address()
    for _ in range(5):
        one.type(WRONG)
    assert one.end()[0] == 1
    assert one.err.getvalue().count("Paste the whole address again") == 4


def test_the_redirect_while_a_terminal_waits(server, login, follow_redirect, capsys) -> None:
    """The redirect ends the wait for a pasted address, and the terminal echoes again."""
    one = login()
    follow_redirect(server.sign_in(one.find_address(), server.viewer), [])
    assert one.end()[0] == 0
    assert capsys.readouterr().out.startswith("Signed in as ")


# ---- in a process, which has no other terminal


@pytest.fixture
def terminal(start, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a command in a terminal."""
    screen, slave = pty.openpty()
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")

    def run(*words: str) -> subprocess.Popen[str]:
        process = start(*words, stdin=slave, env=os.environ)
        process.type = lambda keys: os.write(screen, keys)
        process.echoes = lambda: bool(termios.tcgetattr(slave)[3] & termios.ECHO)
        return process

    yield run
    os.close(screen)
    os.close(slave)


@pytest.mark.parametrize(("keys", "sentence"), [(b"\x04", "is empty"), (b"\xff\xfe\n", "is not text")])
def test_a_prompt_that_gets_no_text(terminal, keys: bytes, sentence: str) -> None:
    """Ctrl-D at a hidden prompt, and bytes that are no text, are one sentence each, and no traceback."""
    login = terminal("login", "--token-stdin")
    wait_until(lambda: not login.echoes())  # The prompt hides the input before it waits.
    login.type(keys)
    out, err = login.communicate(timeout=30)
    assert (login.returncode, out, "Traceback" in err, login.echoes()) == (1, "", False, True)
    assert f"p2p-analytics: The input {sentence}: start the sign-in again" in err


def test_bytes_that_are_no_text_through_a_pipe(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is the same, and what was read does not hang on the error."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8"))
    said = "The input is not text: start the sign-in again and enter the requested text."
    assert run("login --token-stdin") == (1, "", f"p2p-analytics: {said}\n")


def test_ctrl_c(terminal) -> None:
    """Ctrl-C ends with 130 and one line; the terminal is as before, and no listener or sign-in is left."""
    login = terminal("login", "--no-browser")
    said = ""
    while "paste the address" not in said:
        said += login.stderr.readline()
    wait_until(lambda: not login.echoes())
    port = int(re.search(r"127\.0\.0\.1%3A(\d+)%2Fcallback", said)[1])
    login.send_signal(signal.SIGINT)
    out, err = login.communicate(timeout=30)
    assert (login.returncode, out, err) == (130, "", "\np2p-analytics: stopped.\n")
    assert login.echoes()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
    assert FileStore().load() is None
