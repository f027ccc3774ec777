"""Sources of a token, their order, and the service that each token is sent to."""

import os
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, FileStore, KeyringStore, Secret, SignIn, find_token
from p2p_analytics.errors import NotSignedIn, TokenError

HERE = "https://pay.example/v1"
SOON = datetime.now(UTC) + timedelta(days=1)
PAST = datetime(2025, 5, 1, 12, 30, tzinfo=UTC)


def save_sign_in(
    value: str, *, base_url: str = HERE, expires_at: datetime | None = SOON, refresh: str | None = None
) -> SignIn:
    """Save a sign-in in the state file."""
    sign_in = SignIn(base_url, AccessToken(value, expires_at=expires_at), "1001", refresh and Secret(refresh))
    FileStore().save(sign_in)
    return sign_in


@pytest.mark.usefixtures("memory_keyring")
def test_precedence_of_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argument, environment, state file and keyring, in this order; an empty variable counts as unset."""
    KeyringStore().save(SignIn(HERE, AccessToken("from-the-keyring")))
    found = find_token(base_url=HERE)
    assert (found.token.reveal(), found.source) == ("from-the-keyring", "the keyring")
    save_sign_in("from-the-file")
    found = find_token(base_url=HERE)
    assert (found.token.reveal(), found.source) == ("from-the-file", FileStore().name)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "from-the-environment\n")
    assert find_token(base_url=HERE).token.reveal() == "from-the-environment"
    assert find_token("given", base_url=HERE).token.reveal() == "given"
    for empty in ("", " \n"):
        monkeypatch.setenv("P2P_ACCESS_TOKEN", empty)
        assert find_token(base_url=HERE).token.reveal() == "from-the-file"


@pytest.mark.parametrize("text", ["CANARY two", "https://app.example/?access_token=CANARY", "CANARYé"])
def test_a_malformed_token_is_in_no_traceback(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The error names the variable and not its value, nor does the traceback with local variables."""
    monkeypatch.setenv("P2P_ACCESS_TOKEN", text)
    with pytest.raises(TokenError, match=r"^The value of P2P_ACCESS_TOKEN is not an access token.*Unset it") as caught:
        p2p.Client(base_url=HERE, cache_dir=False)
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True, lookup_lines=False)
    shown = [frame for frame in frames.stack if "/p2p_analytics/auth/" in frame.filename]
    assert shown
    assert caught.value.__context__ is None
    assert "CANARY" not in str(caught.value) + repr([frame.locals for frame in shown])


@pytest.mark.parametrize("other", ["https://pay.example:8443/v1", "https://pay.example.evil/v1", "http://127.0.0.1/v1"])
def test_a_token_of_another_service_is_not_used(other: str) -> None:
    """A stored sign-in is only used for its own service; the error names that service, and the sign-in is kept."""
    save_sign_in("CANARY", base_url=other)
    with pytest.raises(NotSignedIn, match=f"is for {other}"):
        find_token(base_url=HERE)
    with pytest.raises(NotSignedIn):
        find_token()
    assert find_token(base_url=other).token.reveal() == "CANARY"


def test_a_client_uses_a_stored_token_for_its_service(start_service) -> None:
    """Base URLs are compared in normal form: ``/v1`` and a final slash make no difference."""
    service = start_service(lambda _path, _parameters: {"data": {"balance": None, "user": {"id": "7"}}})
    save_sign_in("kept", base_url=service.base_url)
    with p2p.Client(base_url=service.base_url.removesuffix("v1"), cache_dir=False) as client:
        client.me(lenient=True)
    assert service.asked == [("/v1/me", {"access_token": "kept"})]


@pytest.mark.usefixtures("memory_keyring")
def test_an_expired_sign_in_is_deleted() -> None:
    """It is not sent; the next source is used, and without one the error says what to do and why."""
    save_sign_in("CANARY", expires_at=PAST)
    sentence = r"TokenForm.*p2p-analytics login.*P2P_ACCESS_TOKEN.*expired at 2025-05-01 12:30 UTC and was deleted"
    with pytest.raises(NotSignedIn, match=sentence):
        find_token(base_url=HERE)
    assert not (Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json").exists()
    save_sign_in("CANARY", expires_at=PAST)
    KeyringStore().save(SignIn(HERE, AccessToken("from-the-keyring")))
    assert find_token(base_url=HERE).token.reveal() == "from-the-keyring"
    assert FileStore().load() is None


def test_an_expired_sign_in_with_a_refresh_token_is_kept() -> None:
    """A refresh token outlives its access token."""
    save_sign_in("CANARY", expires_at=PAST, refresh="refresh")
    found = find_token(base_url=HERE)
    assert found.sign_in is not None
    assert found.token.expires_at == PAST
