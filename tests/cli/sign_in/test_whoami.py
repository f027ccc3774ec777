"""whoami: the sign-in as JSON, and without a connection to the service."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from p2p_analytics.auth import AccessToken, FileStore, Owner, Secret, SignIn
from support.cli.sign_in import load_sign_in, name_of
from support.scripted import hang_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from p2p_analytics.sandbox import SandboxServer

NOWHERE = "http://127.0.0.1:9/v1"  # the discard port, at which nothing listens
ENDS = datetime(2099, 5, 31, 12, 30, tzinfo=UTC)
KEYS = {
    "user_id", "username", "display_name", "checked", "base_url", "expires_at", "scopes", "source", "renews", "privacy",
}  # fmt: skip


@pytest.fixture
def kept_sign_in(server: SandboxServer, run, monkeypatch: pytest.MonkeyPatch) -> SignIn:
    """Sign in with the address on standard input, and return the stored sign-in."""
    address = server.sign_in(server.authorize_url("access_profile"), server.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(address))
    assert run("login", "--token-stdin", "--scope", "access_profile")[0] == 0
    return load_sign_in()


def store(base_url: str = NOWHERE, *, ends: datetime = ENDS, refresh_token: str | None = None) -> None:
    """Store a sign-in for a service that does not answer."""
    token = AccessToken("CANARY-access", scopes=["access_profile"], expires_at=ends)
    owner = Owner("7", "alex", "Alex Example")
    FileStore().save(SignIn(base_url, token, "1001", refresh_token and Secret(refresh_token), owner=owner))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the service that does not answer."""
    monkeypatch.setenv("P2P_BASE_URL", NOWHERE)


def test_json(server: SandboxServer, kept_sign_in: SignIn, run) -> None:
    """The documented keys on one line, and no token."""
    status, out, err = run("whoami", "--json")
    assert (status, out.count("\n"), err) == (0, 1, "")
    printed = json.loads(out)
    assert set(printed) == KEYS
    assert printed["username"] == server.viewer
    assert name_of(server) == f"{printed['display_name']} (@{server.viewer})"
    assert printed["user_id"].isdecimal()
    assert (printed["checked"], printed["renews"], printed["privacy"]) == (True, False, False)
    assert printed["base_url"] == server.base_url
    assert printed["scopes"] == ["access_profile"]
    assert printed["expires_at"] == f"{kept_sign_in.token.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    assert printed["source"] == f"the state file {os.environ['P2P_STATE_DIR']}/sign-in.json"
    assert kept_sign_in.token.reveal() not in out


def test_json_in_privacy_mode(
    server: SandboxServer, kept_sign_in: SignIn, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Id, username and name are null."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    printed = json.loads(run("whoami", "--json")[1])
    assert (printed["user_id"], printed["username"], printed["display_name"]) == (None, None, None)
    assert printed["privacy"] is True


def test_the_state_file_holds_the_owner(server: SandboxServer, kept_sign_in: SignIn) -> None:
    """Login stores id, username and display name, for whoami without a connection."""
    assert kept_sign_in.owner is not None
    assert kept_sign_in.owner.username == server.viewer
    stored = json.loads((Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json").read_text())
    assert set(stored["owner"]) == {"user_id", "username", "display_name"}


@pytest.mark.usefixtures("offline")
def test_offline(run) -> None:
    """It prints what the state file holds, says that it was not confirmed, names the failure, and ends with 1."""
    store()
    status, out, err = run("whoami")
    assert status == 1
    assert out.splitlines() == [
        "Signed in as Alex Example (@alex) until 2099-05-31 12:30 UTC; scopes: access_profile.",
        f"The token is for {NOWHERE} and comes from the state file {os.environ['P2P_STATE_DIR']}/sign-in.json.",
        "The service did not confirm this: name and scopes are those of the last sign-in.",
    ]
    assert err.startswith("p2p-analytics: ")
    assert err.count("\n") == 1
    assert "CANARY" not in out + err


def refuse_for_a_moment(_path: str, _parameters: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Return an answer that other commands ask for again, after a while."""
    return 503, {"Retry-After": "30"}, b""


def not_answer(_path: str, _parameters: dict[str, str]) -> Callable[..., None]:
    """Hang up without an answer."""
    return hang_up


@pytest.mark.parametrize("answer", [refuse_for_a_moment, not_answer])
def test_the_service_is_asked_once(start_service, run, monkeypatch: pytest.MonkeyPatch, answer) -> None:
    """A failure that other commands retry is reported after one request, without a wait, with the stored sign-in."""
    service = start_service(answer)
    monkeypatch.setenv("P2P_BASE_URL", service.base_url)
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"whoami waits for {seconds} seconds"))
    store(service.base_url)
    status, out, err = run("whoami")
    assert [path for path, _ in service.asked] == ["/v1/me"]
    assert status == 1
    assert out.startswith("Signed in as Alex Example (@alex) until 2099-05-31 12:30 UTC; scopes: access_profile.\n")
    assert err.startswith("p2p-analytics: ")


@pytest.mark.usefixtures("offline")
def test_offline_as_json(run) -> None:
    """`checked` is false, the error stays on standard error, and the exit code is 1."""
    store(refresh_token="CANARY-refresh")
    status, out, err = run("whoami", "--json")
    printed = json.loads(out)
    assert (status, printed["checked"], printed["username"], printed["renews"]) == (1, False, "alex", True)
    assert printed["expires_at"] == "2099-05-31T12:30:00Z"
    assert err.count("\n") == 1
    assert "CANARY" not in out + err


@pytest.mark.usefixtures("offline")
def test_offline_in_privacy_mode(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored name is hidden too."""
    store()
    monkeypatch.setenv("P2P_PRIVACY", "1")
    status, out, err = run("whoami")
    assert status == 1
    assert out.startswith("Signed in as (name hidden by privacy mode) until ")
    assert "lex" not in out + err


@pytest.mark.usefixtures("offline")
def test_offline_with_a_variable(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the token in P2P_ACCESS_TOKEN nothing else is known."""
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "CANARY")
    status, out, err = run("whoami")
    assert status == 1
    assert out.startswith("Signed in for as long as the token lasts; scopes: not known.\n")
    assert "CANARY" not in out + err


@pytest.mark.usefixtures("offline")
def test_offline_with_an_expired_token(run) -> None:
    """An expired sign-in is deleted, and there is nothing to print."""
    store(ends=datetime.now(UTC) - timedelta(hours=1))
    status, out, err = run("whoami")
    assert (status, out) == (1, "")
    assert "expired at" in err


def test_a_refused_token(server: SandboxServer, kept_sign_in: SignIn, run) -> None:
    """A service that answers and refuses the token leaves nothing to print: one line, and exit code 1."""
    server.expire(kept_sign_in.token.reveal())
    status, out, err = run("whoami")
    assert (status, out, err.count("\n")) == (1, "", 1)
