"""login, whoami and logout as people use them: with a browser, without one, and in a pipe."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, FileStore, KeyringStore, KeyringUnavailableError, SignIn

WRONG = "https://app.example/not-this-one\n"


def test_with_a_browser(server, browser: list[str], run, name: str) -> None:
    """Login opens the browser, catches the redirect, says who it is; whoami says it again; logout forgets it."""
    code, out, err = run("login")
    token = FileStore().load().token
    said = f"Signed in as {name} until {token.expires_at:%H:%M} UTC; scopes: access_friends, access_profile.\n"
    assert (code, out) == (0, said)
    assert timedelta(minutes=29) < token.expires_at - datetime.now(UTC) <= timedelta(minutes=30)
    assert f"{server.base_url}/oauth/authorize?client_id={server.client_id}" in err
    assert "You are signed in" in browser[-1]
    code, again, _ = run("whoami")
    assert (code, again.splitlines()[0] + "\n") == (0, out)
    assert f"comes from the state file {os.environ['P2P_STATE_DIR']}" in again
    with p2p.Client(base_url=server.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer
    assert run("logout")[:2] == (0, f"Signed out: deleted from {FileStore().name}.\n")
    code, out, err = run("whoami")
    assert (code, out, err[:30]) == (1, "", "p2p-analytics: Not signed in: ")
    assert run("logout")[:2] == (0, "Nothing was kept, so nothing is deleted.\n")


def test_the_options(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Service, application and scopes may be options; without them the error names option and variable."""
    for variable in ("P2P_BASE_URL", "P2P_CLIENT_ID"):
        monkeypatch.delenv(variable)
    no_url = (1, "", "p2p-analytics: No base URL: give --base-url or set P2P_BASE_URL.\n")
    assert run("login") == no_url
    no_id = (1, "", "p2p-analytics: No client id: give --client-id or set P2P_CLIENT_ID.\n")
    assert run(f"login --base-url {server.base_url}") == no_id
    settings = f"--base-url {server.base_url} --client-id {server.client_id}"
    code, out, _ = run(f"login {settings} --scope access_balance --scope access_profile")
    assert (code, out.partition("; ")[2]) == (0, "scopes: access_balance, access_profile.\n")
    assert run("whoami").code == 0
    assert run("whoami --base-url https://other.example").code == 1
    run("logout")
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "CANARY")
    assert run("whoami") == no_url
    code, out, _ = run("logout")
    assert (code, "P2P_ACCESS_TOKEN is still set" in out, "CANARY" in out) == (0, True, False)


def test_privacy_mode_names_nobody(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that others see shows neither name nor handle where ``P2P_PRIVACY`` is set."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for command in ("login", "whoami"):
        code, out, err = run(command)
        assert (code, server.viewer in out + err) == (0, False)
        assert out.startswith("Signed in as (name hidden by privacy mode) until ")


def test_who_declines(server, run, open_pages) -> None:
    """A declined consent is one sentence and exit code 1, and nothing is kept."""
    open_pages(
        lambda address: requests.get(
            server.sign_in(address, server.viewer, allow=False), timeout=10, allow_redirects=False
        )
    )
    code, out, err = run("login")
    assert (code, out, "user denied access" in err) == (1, "", True)
    assert FileStore().load() is None


@pytest.mark.parametrize("bare", [True, False])
def test_a_token_from_standard_input(address: str, run, type_lines, monkeypatch: pytest.MonkeyPatch, *, bare) -> None:
    """--token-stdin takes a bare token, with an unknown expiry, or a whole address; no client id is needed."""
    monkeypatch.delenv("P2P_CLIENT_ID")
    token = address.partition("access_token=")[2]
    type_lines(f"{token if bare else address}\n")
    code, out, _ = run("login --token-stdin")
    assert (code, " for as long as the token lasts; scopes: not known." in out) == (0, bare)
    assert FileStore().load().token.reveal() == token.partition("&")[0]
    code, _, err = run("login --token-stdin --server-flow")
    said = "A token that is given needs no flow: leave out --server-flow or --token-stdin."
    assert (code, err) == (2, f"p2p-analytics: {said}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        *(("--token-stdin", text) for text in ("", "\n", "two words", "https://app.example/cb", "no-such-token")),
        ("--token-stdin", None),
        ("--paste", None),
        ("--server-flow", ""),
        ("--server-flow", "\n"),
    ],
)
def test_what_is_no_token(run, type_lines, monkeypatch: pytest.MonkeyPatch, words: str, text: str | None) -> None:
    """Without input, or with a wrong token, nothing is kept, and one sentence does not quote it."""
    type_lines(text or "")
    if text is None:  # as a service manager starts a command
        monkeypatch.setattr("sys.stdin", None)
    code, out, err = run("login", *words.split())
    assert (code, out, "Traceback" in err) == (1, "", False)
    assert (text or "").strip() in ("", "?") or text not in err
    last = err.splitlines()[-1]
    secret = "p2p-analytics: No secret of the application: set P2P_CLIENT_SECRET, or give it on standard input."
    assert last == secret if words == "--server-flow" else last.startswith("p2p-analytics: ")
    assert FileStore().load() is None


def test_pasting_through_a_pipe(address: str, run, type_lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """--paste does not listen. A useless line is followed by the next, a few times; the last failure ends it."""
    monkeypatch.setattr("p2p_analytics.auth.Listener.__init__", lambda *_a, **_k: pytest.fail("it listened"))
    for wrong, code in ((0, 0), (1, 0), (5, 1)):
        type_lines(WRONG * wrong + f"'{address}'\n")
        found = run("login --paste")
        assert (found.code, found.out[:13]) == (code, "" if code else "Signed in as ")
        assert (found.err.count("copy the whole address"), "redirect_uri" in found.err) == (wrong, False)


def test_without_a_port(address: str, run, type_lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives no port goes on with pasting."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    type_lines(address)
    monkeypatch.setattr("socketserver.TCPServer.server_bind", refuse)
    code, out, err = run("login")
    assert (code, out[:13], "paste the address instead" in err) == (0, "Signed in as ", True)


def test_the_keyring(server, browser: list[str], run, keyring: list[SignIn]) -> None:
    """--keyring keeps the token there alone, also if one was in the file before; and the other way round."""
    assert [run(words).code for words in ("login", "login --keyring")] == [0, 0]
    assert (FileStore().load(), len(keyring)) == (None, 1)
    assert "comes from the keyring." in run("whoami").out
    assert run("login").code == 0
    assert keyring == []
    assert FileStore().load().base_url == server.base_url


def test_no_keyring(run) -> None:
    """A machine without a keyring fails before the sign-in; logout works there."""
    with pytest.raises(KeyringUnavailableError):
        KeyringStore().load()
    code, _, err = run("login --keyring")
    assert (code, err.count("\n"), err[:42]) == (1, 1, "p2p-analytics: The keyring cannot be used ")
    assert run("logout").code == 0


@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("way", ["variable", "input"])
def test_the_server_flow(server, run, type_lines, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """--server-flow keeps 60 days and a refresh token, never the secret; whoami renews it when it is due."""
    application = server.register_application(server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback")
    type_lines(f"{application.client_secret}\n")
    if way == "variable":
        monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    code, out, _ = run(f"login --server-flow --client-id {application.client_id}")
    first = FileStore().load()
    assert (code, f" until {datetime.now(UTC) + timedelta(days=60):%Y-%m-%d} " in out) == (0, True)
    assert first.refresh_token is not None
    assert application.client_secret not in (Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json").read_text()
    monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    soon = datetime.now(UTC) + timedelta(hours=1)
    token = AccessToken(first.token.reveal(), scopes=first.token.scopes, expires_at=soon)
    FileStore().save(SignIn(first.base_url, token, first.client_id, first.refresh_token, first.ident))
    code, again, _ = run("whoami")
    assert (code, again.splitlines()[0] + "\n", "; it renews itself." in again) == (0, out, True)
    assert FileStore().load().token.reveal() != first.token.reveal()
