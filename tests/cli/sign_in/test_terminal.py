"""Signing in at a terminal: pasting without echo, beside the listener or alone."""

from __future__ import annotations

import http.client
import io
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from p2p_analytics.auth import FileStore
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from support.cli.sign_in import load_sign_in, name_of

PROGRAM = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
PROGRAM += "from p2p_analytics.cli import main; sys.exit(main())"


# ---- in a terminal


class Terminal:
    """A command in a process of its own, with a terminal for its input."""

    def __init__(self, *arguments: str) -> None:
        self.screen, self.slave = pty.openpty()
        self.said: list[str] = []
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-u", "-c", PROGRAM, *arguments],
            stdin=self.slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def address(self) -> str:
        """Wait for the invitation to paste, and return the address before it."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if "paste the address" in line.lower():
                wait_until(lambda: not self.echoes())  # The command hides the input next.
                return re.search(r"http\S+/oauth/authorize\S+", "".join(self.said))[0]  # type: ignore[index]
        raise AssertionError(self.said)

    def echoes(self) -> bool:
        """Return whether the terminal echoes."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def type(self, text: str | bytes) -> None:
        """Type a line, or the bytes of keys."""
        os.write(self.screen, text if isinstance(text, bytes) else f"{text}\n".encode())

    def read_output(self) -> str:
        """Return what the terminal has shown of what was typed."""
        os.set_blocking(self.screen, False)
        try:
            return os.read(self.screen, 2**16).decode()
        except BlockingIOError:
            return ""

    def close(self) -> None:
        """End the command and the terminal."""
        self.process.kill()
        self.process.communicate()
        os.close(self.screen)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Return a function that starts a command in a terminal; all are ended after the test."""
    terminals: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield start
    for one in terminals:
        one.close()


def test_pasting_while_listening(server, terminal) -> None:
    """A pasted address is taken and never shown; a useless one gets its sentence, and one may try again."""
    login = terminal("login", "--no-browser")
    redirect = server.sign_in(login.address(), server.viewer)
    login.type("https://app.example/not-this-one")
    login.type(redirect)
    out, err = login.process.communicate(timeout=30)
    assert login.process.returncode == 0
    assert out.startswith(f"Signed in as {name_of(server)} until ")
    assert "copy the whole address" in err
    token = load_sign_in().token.reveal()
    assert redirect.endswith(token)
    assert token not in out + err + login.read_output()
    assert login.echoes()


def test_pasting_alone(server, terminal) -> None:
    """Where nothing listens, to paste is no alternative."""
    login = terminal("login", "--no-browser", "--paste")
    login.type(server.sign_in(login.address(), server.viewer))
    assert login.said[-1].startswith("Paste the address that the browser ended at")
    assert login.process.wait(timeout=30) == 0


def test_pasting_a_wrong_line(server, terminal) -> None:
    """Where nothing listens, a wrong line is asked for again; the fifth one ends the sign-in."""
    login = terminal("login", "--no-browser", "--paste")
    redirect = server.sign_in(login.address(), server.viewer)
    login.type("https://app.example/not-this-one")
    login.type(redirect)
    out, err = login.process.communicate(timeout=30)
    assert (login.process.returncode, out[:13]) == (0, "Signed in as ")
    assert err.count("Paste the whole address again (it is not shown):\n") == 1
    login = terminal("login", "--no-browser", "--paste")
    login.address()
    for _ in range(5):
        login.type("https://app.example/not-this-one")
    out, err = login.process.communicate(timeout=30)
    assert (login.process.returncode, out) == (1, "")
    assert err.count("Paste the whole address again") == 4
    assert login.echoes()


def test_the_redirect_while_a_terminal_waits(server, terminal) -> None:
    """The redirect ends the wait for a pasted address, and the terminal echoes again."""
    login = terminal("login", "--no-browser")
    redirect = urlsplit(server.sign_in(login.address(), server.viewer))
    for target in (f"{redirect.path}?{redirect.query}", "/done"):
        connection = http.client.HTTPConnection(redirect.netloc, timeout=10)
        connection.request("GET", target)
        assert connection.getresponse().status in {200, 303}
        connection.close()
    out, _ = login.process.communicate(timeout=30)
    assert out.startswith("Signed in as ")
    assert login.echoes()


@pytest.mark.parametrize(
    ("keys", "sentence"), [(b"\x04", "The input is empty"), (b"\xff\xfe\n", "The input is not text")]
)
def test_a_prompt_that_gets_no_text(terminal, monkeypatch: pytest.MonkeyPatch, keys: bytes, sentence: str) -> None:
    """Ctrl-D at a hidden prompt, and bytes that are no text, are one sentence each, and no traceback."""
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    login = terminal("login", "--token-stdin")
    wait_until(lambda: not login.echoes())  # The prompt hides the input before it waits.
    login.type(keys)
    out, err = login.process.communicate(timeout=30)
    assert (login.process.returncode, out) == (1, "")
    assert f"p2p-analytics: {sentence}: start the sign-in again" in err
    assert "Traceback" not in err
    assert login.echoes()


def test_bytes_that_are_no_text_through_a_pipe(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is the same, and what was read does not hang on the error."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8"))
    status, out, err = run("login", "--token-stdin")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("p2p-analytics: The input is not text: start the sign-in again")


def test_ctrl_c(terminal) -> None:
    """Ctrl-C ends with 130 and one line; the terminal is as before, and no listener or sign-in is left."""
    login = terminal("login", "--no-browser")
    address = login.address()
    port = int(re.search(r"127\.0\.0\.1%3A(\d+)%2Fcallback", address)[1])  # type: ignore[index]
    login.process.send_signal(signal.SIGINT)
    out, err = login.process.communicate(timeout=30)
    assert (login.process.returncode, out, err) == (130, "", "\np2p-analytics: stopped.\n")
    assert login.echoes()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
    assert FileStore().load() is None
