"""login, whoami and logout as people use them: with a browser, without one, in a terminal and in a pipe."""

from __future__ import annotations

import http.client
import io
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, FileStore, KeyringStore, KeyringUnavailableError, SignIn
from support.cli.sign_in import load_sign_in, name_of, target_of


def test_with_a_browser(server, browser: list[str], run) -> None:
    """Login opens the browser, catches the redirect, says who it is; whoami says it again; logout forgets it."""
    status, out, err = run("login")
    assert status == 0
    ends = f"{load_sign_in().token.expires_at:%H:%M}"
    assert out == f"Signed in as {name_of(server)} until {ends} UTC; scopes: access_friends, access_profile.\n"
    assert timedelta(minutes=29) < load_sign_in().token.expires_at - datetime.now(UTC) <= timedelta(minutes=30)  # type: ignore[operator]
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
    """--token-stdin takes a bare token, with an unknown expiry, or a whole address; no client id is needed."""
    monkeypatch.delenv("P2P_CLIENT_ID")
    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    text = address.partition("access_token=")[2] if bare else address
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))
    status, out, _ = run("login", "--token-stdin")
    assert status == 0
    assert (" for as long as the token lasts; scopes: not known." in out) is bare
    assert f"access_token={load_sign_in().token.reveal()}" in address


@pytest.mark.parametrize("text", ["", "\n", "two words", "https://app.example/cb", "no-such-token"])
def test_what_is_no_token(run, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """An empty, malformed or unknown token is one sentence that does not quote it, and nothing is kept."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    status, out, err = run("login", "--token-stdin")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert not text.strip() or text.strip() not in err
    assert FileStore().load() is None


@pytest.mark.parametrize("words", [["--token-stdin"], ["--paste"]])
def test_a_closed_standard_input(run, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """A service manager starts a command without one: the sentence says that nothing was entered."""
    monkeypatch.setattr("sys.stdin", None)
    status, out, err = run("login", *words)
    assert (status, out) == (1, "")
    assert "start the sign-in again" in err
    assert "Traceback" not in err
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


def test_pasting_a_wrong_line_through_a_pipe(server, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next line is read after a useless one, a few times; the last failure ends the sign-in."""
    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"https://app.example/not-this-one\n{address}\n"))
    status, out, err = run("login", "--paste")
    assert (status, out[:13]) == (0, "Signed in as ")
    assert err.count("copy the whole address") == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("https://app.example/not-this-one\n" * 5 + f"{address}\n"))
    status, out, err = run("login", "--paste")
    assert (status, out) == (1, "")
    assert err.count("copy the whole address") == 5


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


def test_the_keyring(server, browser: list[str], run, keyring: list[SignIn]) -> None:
    """--keyring keeps the token there alone, also if one was in the file before; and the other way round."""
    assert run("login")[0] == 0
    assert run("login", "--keyring")[0] == 0
    assert FileStore().load() is None
    assert len(keyring) == 1
    assert "comes from the keyring." in run("whoami")[1]
    assert run("login")[0] == 0
    assert keyring == []
    assert load_sign_in().base_url == server.base_url


def test_no_keyring(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a keyring fails before the sign-in; logout works there."""
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
    first = load_sign_in()
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
    assert load_sign_in().token.reveal() != first.token.reveal()


def test_the_secret_from_standard_input(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that is piped in ends with its line."""
    application = server.register_application(server.viewer, name="Pipe", redirect_url="http://127.0.0.1/callback")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{application.client_secret}\n"))
    assert run("login", "--server-flow", "--client-id", application.client_id)[0] == 0
    assert load_sign_in().refresh_token is not None


@pytest.mark.parametrize("given", ["", "\n"])
def test_the_server_flow_without_its_secret(run, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Without a secret in the environment or the input, the error names it, and no sign-in starts."""
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
