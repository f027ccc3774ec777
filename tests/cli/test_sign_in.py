"""login, whoami and logout as people use them: with a browser, without one, in a terminal and in a pipe."""

from __future__ import annotations

import contextlib
import html
import http.client
import io
import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.auth import AccessToken, FileStore, KeyringStore, KeyringUnavailableError, SignIn
from p2p_analytics.cli import _browser
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
PROGRAM += "from p2p_analytics.cli import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def _surroundings(server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the service and the application, and let no browser be there."""
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


def target_of(page: str) -> str:
    """Return where a page redirects to: one that only its owner can read, in a folder that only they can enter."""
    file = Path(urlsplit(page).path)
    assert urlsplit(page).scheme == "file"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    (found,) = re.findall(r'http-equiv="refresh" content="0;url=([^"]*)"', file.read_text())
    return html.unescape(found)


@pytest.fixture
def browser(server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a person with a browser in the place of the browser; give the pages it ended at."""
    pages: list[str] = []

    def follow(address: str) -> None:
        redirect = urlsplit(server.sign_in(address, server.viewer))
        for target in (f"{redirect.path}?{redirect.query}", "/done"):
            connection = http.client.HTTPConnection(redirect.netloc, timeout=10)
            connection.request("GET", target)
            pages.append(connection.getresponse().read().decode())
            connection.close()
            time.sleep(0.25)  # longer than the listener needs to end, if nobody makes it wait

    def open_(address: str) -> bool:
        threading.Thread(target=follow, args=[target_of(address)]).start()
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", open_)
    return pages


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> list[SignIn]:
    """Give a keyring that can hold one sign-in."""
    kept: list[SignIn] = []
    monkeypatch.setattr(KeyringStore, "load", lambda _self: kept[-1] if kept else None)
    monkeypatch.setattr(KeyringStore, "save", lambda _self, sign_in: kept.append(sign_in))
    monkeypatch.setattr(KeyringStore, "delete", lambda _self: bool(kept) and not kept.clear())
    return kept


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command and gives its exit code and what it wrote."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(arguments)
        return status, *capsys.readouterr()

    return call


def kept() -> SignIn:
    """Return the sign-in in the state file."""
    sign_in = FileStore().load()
    assert sign_in is not None
    return sign_in


def name_of(server) -> str:
    """Return how the viewer is named: NAME (@handle)."""
    person = next(person for person in server.people if person.username == server.viewer)
    return f"{person.display_name} (@{person.username})"


def test_with_a_browser(server, browser: list[str], run) -> None:
    """Login opens the browser, catches the redirect, says who it is; whoami says it again; logout forgets it."""
    status, out, err = run("login")
    assert status == 0
    ends = f"{kept().token.expires_at:%H:%M}"
    assert out == f"Signed in as {name_of(server)} until {ends} UTC; scopes: access_friends, access_profile.\n"
    assert timedelta(minutes=29) < kept().token.expires_at - datetime.now(UTC) <= timedelta(minutes=30)  # type: ignore[operator]
    assert f"{server.base_url}/oauth/authorize?client_id={server.client_id}" in err
    assert "You are signed in" in browser[-1]
    status, again, _ = run("whoami")
    assert (status, again.splitlines()[0] + "\n") == (0, out)
    assert f"comes from the state file {os.environ['P2P_STATE_DIR']}" in again
    with p2p.Client(base_url=server.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer
    assert run("logout")[:2] == (0, f"Signed out: deleted from {FileStore().name}.\n")
    status, out, err = run("whoami")
    assert (status, out) == (1, "")
    assert err.startswith("p2p-analytics: Not signed in: ")
    assert run("logout")[:2] == (0, "Nothing was kept, so nothing is deleted.\n")


def test_the_options(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Service, application and scopes may be options; whoami finds the service of the last login."""
    for name in ("P2P_BASE_URL", "P2P_CLIENT_ID"):
        monkeypatch.delenv(name)
    settings = ["--base-url", server.base_url, "--client-id", server.client_id]
    scopes = ["--scope", "access_balance", "--scope", "access_profile"]
    status, out, _ = run("login", *settings, *scopes)
    assert status == 0
    assert out.endswith("scopes: access_balance, access_profile.\n")
    assert run("whoami")[0] == 0
    assert run("whoami", "--base-url", "https://other.example")[0] == 1


def test_privacy_mode_names_nobody(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that others see shows neither name nor handle where ``P2P_PRIVACY`` is set."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for command in ("login", "whoami"):
        status, out, err = run(command)
        assert status == 0
        assert out.startswith("Signed in as (name hidden by privacy mode) until ")
        assert server.viewer not in out + err


def test_what_is_missing_is_named_by_its_option(run, server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line speaks of options and variables, not of arguments in Python; whoami of the sign-in first."""
    for name in ("P2P_BASE_URL", "P2P_CLIENT_ID"):
        monkeypatch.delenv(name)
    no_url = (1, "", "p2p-analytics: No base URL: give --base-url or set P2P_BASE_URL.\n")
    assert run("login") == no_url
    no_id = (1, "", "p2p-analytics: No client id: give --client-id or set P2P_CLIENT_ID.\n")
    assert run("login", "--base-url", server.base_url) == no_id
    assert run("whoami") == (1, "", "p2p-analytics: Not signed in: run p2p-analytics login.\n")
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "CANARY")
    assert run("whoami") == no_url


def test_who_declines(server, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declined consent is one sentence and exit code 1, and nothing is kept."""

    def decline(address: str) -> bool:
        redirect = urlsplit(server.sign_in(target_of(address), server.viewer, allow=False))
        connection = http.client.HTTPConnection(redirect.netloc, timeout=10)
        connection.request("GET", f"{redirect.path}?{redirect.query}")
        connection.getresponse()
        connection.close()
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", decline)
    status, out, err = run("login")
    assert (status, out) == (1, "")
    assert "user denied access" in err
    assert FileStore().load() is None


@pytest.mark.parametrize("bare", [True, False])
def test_a_token_from_standard_input(server, run, monkeypatch: pytest.MonkeyPatch, *, bare: bool) -> None:
    """--token-stdin takes a bare token, whose end is not known, or a whole address; no client id is needed."""
    monkeypatch.delenv("P2P_CLIENT_ID")
    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    text = address.partition("access_token=")[2] if bare else address
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))
    status, out, _ = run("login", "--token-stdin")
    assert status == 0
    assert (" for as long as the token lasts; scopes: not known." in out) is bare
    assert f"access_token={kept().token.reveal()}" in address


@pytest.mark.parametrize("text", ["", "\n", "two words", "https://app.example/cb", "no-such-token"])
def test_what_is_no_token(run, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """An empty, malformed or unknown token is one sentence that does not quote it, and nothing is kept."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status, out, err = run("login", "--token-stdin")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert not text.strip() or text.strip() not in err
    assert FileStore().load() is None


def test_pasting_through_a_pipe(server, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--paste does not listen: the redirect URL is the one on file, and the address is read from standard input."""
    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"'{address}'\n"))
    monkeypatch.setattr("p2p_analytics.auth.Listener.__init__", lambda *_a, **_k: pytest.fail("it listened"))
    status, out, err = run("login", "--paste")
    assert status == 0
    assert out.startswith("Signed in as ")
    assert "redirect_uri" not in err


def test_without_a_port(server, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives no port goes on with pasting."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(address))
    monkeypatch.setattr("socketserver.TCPServer.server_bind", refuse)
    status, out, err = run("login")
    assert (status, out[:13]) == (0, "Signed in as ")
    assert "paste the address instead" in err


BROWSER = """
import json, os, sys
from pathlib import Path
from urllib.parse import urlsplit
page = Path(urlsplit(sys.argv[-1]).path)
seen = {"argv": sys.argv, "page": str(page), "modes": [], "text": "", "listed": ""}
if page.exists():
    seen |= {"modes": [path.stat().st_mode & 0o777 for path in (page, page.parent)], "text": page.read_text()}
for process in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        seen["listed"] += process.read_text()
    except OSError:
        pass
record = Path(os.environ["RECORD"])
record.with_suffix(".new").write_text(json.dumps(seen))
record.with_suffix(".new").replace(record)
"""


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_no_process_list_shows_where_the_browser_is_sent(server, tmp_path, monkeypatch, mask: int) -> None:
    """The browser is given a page that only its owner reads; the nonce is in no argument, the page gone at the end."""
    (tmp_path / "browser.py").write_text(BROWSER)
    record = tmp_path / "seen.json"
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("BROWSER", f"{sys.executable} {tmp_path / 'browser.py'} %s")
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [sys.executable, "-m", "p2p_analytics", "login"]
    with (
        subprocess.Popen(  # noqa: S603 - our own interpreter and words
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=mask
        ) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.kill)
        wait_until(lambda: record.exists() or process.poll() is not None)
        seen = json.loads(record.read_text())
        assert seen["modes"] == [0o600, 0o700], seen["argv"]
        assert [path.parent for path in tmp_path.glob("*/sign-in.html")] == [Path(seen["page"]).parent]
        address = html.unescape(re.findall(r"url=([^\"]*)", seen["text"])[0])
        nonce = re.findall(r"callback%2F([0-9a-f]{32})", address)[0]
        assert nonce not in seen["listed"] + str(seen["argv"])
        assert "p2p_analytics" in seen["listed"]
        with urllib.request.urlopen(server.sign_in(address, server.viewer), timeout=20) as page:  # noqa: S310 - loopback
            assert b"You are signed in" in page.read()
        output = process.stdout.read()
        assert process.wait(20) == 0, output
    assert nonce in output, "for who opens the address by hand"
    assert "If the browser shows no page to sign in at, open the address above" in output
    assert not Path(seen["page"]).parent.exists()


def test_the_page_of_a_killed_sign_in_is_removed_by_the_next(
    server, browser: list[str], run, tmp_path, monkeypatch
) -> None:
    """Only old pages of ours go: neither a fresh one, nor one with other files, nor a link, nor another's page."""
    monkeypatch.setenv("HOME", str(tmp_path))
    own = _browser._PAGE.format(address="http://127.0.0.1/x")
    kept = {"p2p-sign-in-fresh000", "p2p-sign-in-more0000", "p2p-sign-in-other000", "p2p-sign-in-link0000",
            "p2p-sign-in-linked00", "p2p-sign-in-Notours0", "p2p-sign-in-toolong00", "p2p-sign-in-folder00",
    }  # fmt: skip
    for name in kept - {"p2p-sign-in-linked00"} | {"p2p-sign-in-killed_0", "elsewhere"}:
        page = tmp_path / name / "sign-in.html"
        page.parent.mkdir()
        if "link" in name:
            page.symlink_to(tmp_path / "elsewhere" / "sign-in.html")
        elif "folder" in name:
            page.mkdir()
        else:
            page.write_text("<!doctype html><title>mine</title>" if "other" in name else own)
        if "fresh" not in name:
            os.utime(page, (0, 0), follow_symlinks=False)
    (tmp_path / "p2p-sign-in-more0000" / "notes.txt").write_text("mine")
    (tmp_path / "p2p-sign-in-linked00").symlink_to(tmp_path / "elsewhere")
    assert run("login")[0] == 0
    assert {path.name for path in tmp_path.glob("p2p-sign-in-*")} == kept
    assert (tmp_path / "elsewhere" / "sign-in.html").read_text() == own


def test_a_home_that_cannot_be_written(server, browser: list[str], run, tmp_path, monkeypatch) -> None:
    """The page is then made where temporary files are."""
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    assert run("login")[0] == 0
    assert "You are signed in" in browser[-1]


def test_a_missing_browser(server, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a display no browser is asked for, and one that fails is no error: the address is printed in any case."""
    import webbrowser

    def fail(_address: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr("webbrowser.open", fail)
    for display in ("", ":0"):
        monkeypatch.setenv("DISPLAY", display)
        monkeypatch.setattr("sys.stdin", io.StringIO("nothing useful"))
        status, _, err = run("login", "--paste")
        assert status == 1
        assert "No browser can be opened from here" in err
        assert "/oauth/authorize?" in err


def test_the_keyring(server, browser: list[str], run, keyring: list[SignIn]) -> None:
    """--keyring keeps the token there alone, also if one was in the file before; and the other way round."""
    assert run("login")[0] == 0
    assert run("login", "--keyring")[0] == 0
    assert FileStore().load() is None
    assert len(keyring) == 1
    assert "comes from the keyring." in run("whoami")[1]
    assert run("login")[0] == 0
    assert keyring == []
    assert kept().base_url == server.base_url


def test_no_keyring(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a keyring says so before anybody signs in; logout works there."""
    with pytest.raises(KeyringUnavailableError):
        KeyringStore().load()
    status, _, err = run("login", "--keyring")
    assert status == 1
    assert err.startswith("p2p-analytics: The keyring cannot be used")
    assert err.count("\n") == 1
    assert run("logout")[0] == 0


def test_the_server_flow(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--server-flow keeps 60 days and a refresh token, never the secret; whoami renews it when it is due."""
    application = server.register_application(server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback")
    monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    status, out, _ = run("login", "--server-flow", "--client-id", application.client_id)
    assert status == 0
    first = kept()
    assert f" until {datetime.now(UTC) + timedelta(days=60):%Y-%m-%d} " in out
    assert first.refresh_token is not None
    assert application.client_secret not in (Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json").read_text()
    token = AccessToken(
        first.token.reveal(), scopes=first.token.scopes, expires_at=datetime.now(UTC) + timedelta(hours=1)
    )
    FileStore().save(SignIn(first.base_url, token, first.client_id, first.refresh_token, first.ident))
    status, again, _ = run("whoami")
    assert (status, again.splitlines()[0] + "\n") == (0, out)
    assert "; it renews itself." in again
    assert kept().token.reveal() != first.token.reveal()


def test_the_secret_from_standard_input(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is piped in ends with its line."""
    application = server.register_application(server.viewer, name="Pipe", redirect_url="http://127.0.0.1/callback")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{application.client_secret}\n"))
    assert run("login", "--server-flow", "--client-id", application.client_id)[0] == 0
    assert kept().refresh_token is not None


@pytest.mark.parametrize("given", ["", "\n"])
def test_the_server_flow_without_its_secret(run, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Where the secret is neither set nor given, the sentence names it, and nobody is sent to sign in."""
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    status, _, err = run("login", "--server-flow")
    assert status == 1
    assert "oauth/authorize" not in err
    assert err.startswith("p2p-analytics: No secret of the application: set P2P_CLIENT_SECRET")


def test_a_variable_that_stays(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logout cannot unset P2P_ACCESS_TOKEN, and says so."""
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "CANARY")
    status, out, _ = run("logout")
    assert status == 0
    assert "P2P_ACCESS_TOKEN is still set" in out
    assert "CANARY" not in out


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
        """Tell whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def type(self, text: str | bytes) -> None:
        """Type a line, or the bytes of keys."""
        os.write(self.screen, text if isinstance(text, bytes) else f"{text}\n".encode())

    def shown(self) -> str:
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
    token = kept().token.reveal()
    assert redirect.endswith(token)
    assert token not in out + err + login.shown()
    assert login.echoes()


def test_pasting_alone(server, terminal) -> None:
    """Where nothing listens, to paste is no alternative."""
    login = terminal("login", "--no-browser", "--paste")
    login.type(server.sign_in(login.address(), server.viewer))
    assert login.said[-1].startswith("Paste the address that the browser ended at")
    assert login.process.wait(timeout=30) == 0


def test_the_redirect_while_a_terminal_waits(server, terminal) -> None:
    """The redirect ends the wait for a pasted address, and the terminal shows again what is typed."""
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
    """Ctrl-C ends with 130 and one line; the terminal is as before, and nobody listens or is signed in."""
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
