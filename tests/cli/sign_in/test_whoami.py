"""whoami: the sign-in as text and JSON, also without a connection to the service."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from p2p_analytics.auth import AccessToken, FileStore, Owner, Secret, SignIn
from support.scripted import hang_up

NOWHERE = "http://127.0.0.1:9/v1"  # the discard port, at which nothing listens
ENDS = datetime(2099, 5, 31, 12, 30, tzinfo=UTC)
SAID = "Signed in as Alex Example (@alex) until 2099-05-31 12:30 UTC; scopes: access_profile."


@pytest.fixture
def kept_sign_in(address: str, run, type_lines) -> SignIn:
    """Sign in with the address on standard input, and return the stored sign-in."""
    type_lines(address)
    assert run("login --token-stdin --scope access_profile").code == 0
    return FileStore().load()


def store(base_url: str = NOWHERE, *, ends: datetime = ENDS, refresh_token: str | None = None) -> None:
    """Store a sign-in for a service that does not answer."""
    token = AccessToken("CANARY-access", scopes=["access_profile"], expires_at=ends)
    owner = Owner("7", "alex", "Alex Example")
    FileStore().save(SignIn(base_url, token, "1001", refresh_token and Secret(refresh_token), owner=owner))


def test_json(server, kept_sign_in: SignIn, name: str, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documented keys on one line, and no token; in privacy mode id, username and name are null."""
    code, out, err = run("whoami --json")
    assert (code, out.count("\n"), err, kept_sign_in.token.reveal() in out) == (0, 1, "", False)
    printed = json.loads(out)
    assert printed.pop("user_id").isdecimal()
    state = Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json"
    expected = {
        "username": server.viewer, "display_name": name.partition(" (")[0], "checked": True, "renews": False,
        "privacy": False, "base_url": server.base_url, "scopes": ["access_profile"],
        "expires_at": f"{kept_sign_in.token.expires_at:%Y-%m-%dT%H:%M:%SZ}", "source": f"the state file {state}",
    }  # fmt: skip
    assert printed == expected
    assert kept_sign_in.owner.username == server.viewer
    assert set(json.loads(state.read_text())["owner"]) == {"user_id", "username", "display_name"}
    monkeypatch.setenv("P2P_PRIVACY", "1")
    hidden = {"user_id": None, "username": None, "display_name": None, "privacy": True}
    assert json.loads(run("whoami --json").out) == expected | hidden


def test_offline(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints what the state file holds, says that it was not confirmed, names the failure, and ends with 1."""
    monkeypatch.setenv("P2P_BASE_URL", NOWHERE)
    store(refresh_token="CANARY-refresh")
    code, out, err = run("whoami")
    place = f"the state file {os.environ['P2P_STATE_DIR']}/sign-in.json"
    assert (code, out.splitlines()) == (1, [
        SAID,
        f"The token is for {NOWHERE} and comes from {place}; it renews itself.",
        "The service did not confirm this: name and scopes are those of the last sign-in.",
    ])  # fmt: skip
    assert (err[:15], err.count("\n")) == ("p2p-analytics: ", 1)
    as_json = run("whoami --json")
    printed = json.loads(as_json.out)
    assert (as_json.code, printed["checked"], printed["username"], printed["renews"]) == (1, False, "alex", True)
    assert (printed["expires_at"], as_json.err) == ("2099-05-31T12:30:00Z", err)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    private = run("whoami")
    assert (private.code, "lex" in private.out + private.err) == (1, False)
    assert private.out.startswith("Signed in as (name hidden by privacy mode) until ")
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "CANARY")
    variable = run("whoami")
    assert (variable.code, variable.out.splitlines()[0]) == (
        1, "Signed in for as long as the token lasts; scopes: not known.",
    )  # fmt: skip
    assert "CANARY" not in "".join(map(str, (out, err, as_json, private, variable)))


def test_the_service_is_asked_once(start_service, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that other commands retry is reported after one request, without a wait, with the stored sign-in."""
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"whoami waits for {seconds} seconds"))
    for answer in ((503, {"Retry-After": "30"}, b""), hang_up):
        service = start_service(lambda *_, answer=answer: answer)
        monkeypatch.setenv("P2P_BASE_URL", service.base_url)
        store(service.base_url)
        code, out, err = run("whoami")
        assert [path for path, _ in service.asked] == ["/v1/me"]
        assert (code, out.splitlines()[0], err[:15]) == (1, SAID, "p2p-analytics: ")


def test_an_unreadable_field_of_the_user(start_service, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that is not printed may have any value: the token is valid all the same."""
    user = {"id": "7", "username": "alex", "display_name": "Alex Example", "friends_count": "many"}
    service = start_service(lambda *_: {"data": {"balance": None, "user": user}})
    monkeypatch.setenv("P2P_BASE_URL", service.base_url)
    store(service.base_url)
    code, out, err = run("whoami")
    assert (code, out.splitlines()[0], err) == (0, SAID, "")


def test_an_expired_or_refused_token(run, kept_sign_in: SignIn, server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired sign-in is deleted, and a refused token leaves nothing to print: one line, and exit code 1."""
    server.expire(kept_sign_in.token.reveal())
    code, out, err = run("whoami")
    assert (code, out, err.count("\n")) == (1, "", 1)
    monkeypatch.setenv("P2P_BASE_URL", NOWHERE)
    store(ends=datetime.now(UTC) - timedelta(hours=1))
    code, out, err = run("whoami")
    assert (code, out, "expired at" in err) == (1, "", True)
