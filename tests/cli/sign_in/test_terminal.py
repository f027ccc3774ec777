"""Signing in at a terminal: pasting without echo, beside the listener or alone."""

import http.client
import os
import pty
import re
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator

import pytest

from p2p_analytics.auth import FileStore
from support.waiting import wait_until

WRONG = b"https://app.example/not-this-one\n"


@pytest.fixture
def terminal(start) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a command in a terminal, which no other process uses."""
    screen, slave = pty.openpty()
    os.set_blocking(screen, False)

    def run(*words: str) -> subprocess.Popen[str]:
        process = start(*words, stdin=slave, env=os.environ)
        process.screen = screen
        process.echoes = lambda: bool(termios.tcgetattr(slave)[3] & termios.ECHO)
        return process

    yield run
    os.close(screen)
    os.close(slave)


@pytest.fixture
def login(terminal) -> Callable[..., tuple[subprocess.Popen[str], str, str]]:
    """Return a function that starts a login; it gives the process, what was said, and the address to sign in at."""

    def start_login(*words: str) -> tuple[subprocess.Popen[str], str, str]:
        process, said = terminal("login", "--no-browser", *words), ""
        while "paste the address" not in said.lower():
            said += process.stderr.readline()
        wait_until(lambda: not process.echoes())
        return process, said, re.search(r"http\S+/oauth/authorize\S+", said)[0]

    return start_login


@pytest.mark.parametrize("words", [[], ["--paste"]])
def test_pasting(server, login, name: str, words: list[str]) -> None:
    """A pasted address is taken and never shown, while listening or alone; a useless one may be tried again."""
    process, said, address = login(*words)
    redirect = server.sign_in(address, server.viewer)
    os.write(process.screen, WRONG)
    os.write(process.screen, f"{redirect}\n".encode())
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out.startswith(f"Signed in as {name} until "), process.echoes()) == (0, True, True)
    assert f"\n{'Paste' if words else 'Or paste'} the address that the browser ended at" in said
    assert err.count("copy the whole address") == err.count("Paste the whole address again (it is not shown):\n") == 1
    token = FileStore().load().token.reveal()
    shown = os.read(process.screen, 2**16).decode()  # the ends of lines are echoed
    assert (token in redirect, token in out + err + shown) == (True, False)


def test_pasting_wrong_lines_only(login) -> None:
    """Where nothing listens, the fifth one ends the sign-in."""
    process, _, _ = login("--paste")
    os.write(process.screen, WRONG * 5)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.count("Paste the whole address again")) == (1, 4)


def test_the_redirect_while_a_terminal_waits(server, login, follow_redirect) -> None:
    """The redirect ends the wait for a pasted address, and the terminal echoes again."""
    process, _, address = login()
    follow_redirect(server.sign_in(address, server.viewer), [])
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out[:13], process.echoes()) == (0, "Signed in as ", True)


def test_an_empty_prompt(terminal) -> None:
    """Ctrl-D at a hidden prompt is one sentence, and no traceback."""
    process = terminal("login", "--token-stdin")
    wait_until(lambda: not process.echoes())  # The prompt hides the input before it waits.
    os.write(process.screen, b"\x04")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, "Traceback" in err, process.echoes()) == (1, "", False, True)
    assert "p2p-analytics: The input is empty: start the sign-in again" in err


def test_ctrl_c(login) -> None:
    """Ctrl-C ends with 130 and one line; the terminal is as before, and no listener or sign-in is left."""
    process, _, address = login()
    port = int(re.search(r"127\.0\.0\.1%3A(\d+)%2Fcallback", address)[1])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err, process.echoes()) == (130, "", "\np2p-analytics: stopped.\n", True)
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
    assert FileStore().load() is None
