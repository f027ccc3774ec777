"""login, whoami and logout as people use them: with a browser, without one, and in a pipe."""

import io
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, FileStore, KeyringStore, SignIn

WRONG = "https://app.example/not-this-one\n"


def test_with_a_browser(server, browser: list[str], run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Login opens the browser, catches the redirect, says who it is unless that is private; logout forgets it."""
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
    monkeypatch.setenv("P2P_PRIVACY", "1")
    code, out, err = run("login")
    assert (code, server.viewer in out + err) == (0, False)
    assert out.startswith("Signed in as (name hidden by privacy mode) until ")


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


def test_a_token_from_standard_input(address: str, run, type_lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """--token-stdin takes a bare token, with an unknown expiry, or a whole address; no client id is needed."""
    monkeypatch.delenv("P2P_CLIENT_ID")
    token = address.partition("access_token=")[2]
    for text in (token, address):
        type_lines(f"{text}\n")
        code, out, _ = run("login --token-stdin")
        assert (code, " for as long as the token lasts; scopes: not known." in out) == (0, text == token)
        assert FileStore().load().token.reveal() == token.partition("&")[0]
    said = "p2p-analytics: A token that is given needs no flow: leave out --server-flow or --token-stdin.\n"
    assert run("login --token-stdin --server-flow") == (2, "", said)


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("--token-stdin", ["", "\n", "two words", "https://app.example/cb", "no-such-token", None]),
        ("--paste", [None]),
        ("--server-flow", ["", "\n"]),
    ],
)
def test_what_is_no_token(
    run, type_lines, monkeypatch: pytest.MonkeyPatch, words: str, texts: list[str | None]
) -> None:
    """Without input, or with a wrong token, nothing is kept, and one sentence does not quote it."""
    secret = "p2p-analytics: No secret of the application: set P2P_CLIENT_SECRET, or give it on standard input."
    for text in texts:
        type_lines(text or "")
        if text is None:  # as a service manager starts a command
            monkeypatch.setattr("sys.stdin", None)
        code, out, err = run("login", *words.split())
        assert (code, out, "Traceback" in err) == (1, "", False)
        assert (text or "").strip() == "" or text not in err
        last = err.splitlines()[-1]
        assert last == secret if words == "--server-flow" else last.startswith("p2p-analytics: ")
        assert FileStore().load() is None


def test_pasting_through_a_pipe(address: str, run, type_lines) -> None:
    """--paste does not listen. A useless line is followed by the next, a few times; the last failure ends it."""
    for wrong, code in ((0, 0), (1, 0), (5, 1)):
        type_lines(WRONG * wrong + f"'{address}'\n")
        found = run("login --paste")
        assert (found.code, found.out[:13]) == (code, "" if code else "Signed in as ")
        assert (found.err.count("copy the whole address"), "redirect_uri" in found.err) == (wrong, False)


def test_bytes_that_are_no_text_through_a_pipe(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are one sentence, and what was read does not hang on the error."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8"))
    said = "The input is not text: start the sign-in again and enter the requested text."
    assert run("login --token-stdin") == (1, "", f"p2p-analytics: {said}\n")


def test_without_a_port(address: str, run, type_lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that gives no port goes on with pasting."""
    type_lines(address)
    monkeypatch.setattr(
        "socketserver.TCPServer.server_bind", Mock(side_effect=PermissionError(13, "Permission denied"))
    )
    code, out, err = run("login")
    assert (code, out[:13], "paste the address instead" in err) == (0, "Signed in as ", True)


def test_the_keyring(server, browser: list[str], run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--keyring keeps the token there alone, also if one was in the file before; and the other way round.

    A machine without a keyring fails before the sign-in; logout works there.
    """
    code, _, err = run("login --keyring")
    assert (code, err.count("\n"), err[:42]) == (1, 1, "p2p-analytics: The keyring cannot be used ")
    assert run("logout").code == 0
    kept: list[SignIn] = []
    monkeypatch.setattr(KeyringStore, "load", lambda _self: kept[-1] if kept else None)
    monkeypatch.setattr(KeyringStore, "save", lambda _self, sign_in: kept.append(sign_in))
    monkeypatch.setattr(KeyringStore, "delete", lambda _self: bool(kept) and not kept.clear())
    assert [run(words).code for words in ("login", "login --keyring")] == [0, 0]
    assert (FileStore().load(), len(kept)) == (None, 1)
    assert "comes from the keyring." in run("whoami").out
    assert run("login").code == 0
    assert (kept, FileStore().load().base_url) == ([], server.base_url)


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
