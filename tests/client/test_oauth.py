"""Server-side flow: codes and refresh tokens are used once, by the right application, and never shown."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.auth import AccessToken, Secret, SignIn, authorize_url, code_from_redirect
from p2p_analytics.client import oauth
from support.canary import CANARY
from support.exceptions import format_everything
from support.scripted import hang_up

SCOPES = ("access_profile", "access_friends")
REDIRECT = "http://127.0.0.1:5/callback"
ANSWER = {"access_token": f"{CANARY}-new", "expires_in": 5184000, "token_type": "bearer", "user": None}


@pytest.fixture(scope="module")
def application(server):
    """Register an application with a secret."""
    return server.register_application(server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback")


def new_code(server, application) -> Secret:
    """Approve the application as the viewer, and return the code."""
    address = authorize_url(server.base_url, application.client_id, SCOPES, redirect_uri=REDIRECT, response_type="code")
    return code_from_redirect(server.sign_in(address, server.viewer))


def exchange(server, application, code: Secret | str, **changed: str) -> SignIn:
    """Exchange a code with the settings of the application, some of them changed."""
    own = {"client_id": application.client_id, "secret": application.client_secret, "redirect_uri": REDIRECT}
    return oauth.exchange(code, base_url=server.base_url, scopes=SCOPES, **(own | changed))


def request_me(sign_in: SignIn) -> None:
    """Request /me with the token of a sign-in."""
    with p2p.Client(sign_in.token, base_url=sign_in.base_url, cache_dir=False) as client:
        client.me()


def test_a_code_is_exchanged_for_a_token_of_60_days(server, application, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service accepts the token, which has expiry and scopes, and refuses the code the second time."""
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", application.client_id)
    monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    before = datetime.now(UTC)
    code = new_code(server, application)
    sign_in = oauth.exchange(code, redirect_uri=REDIRECT, scopes=SCOPES)  # settings of the environment
    assert before <= sign_in.token.expires_at - timedelta(days=60) <= datetime.now(UTC)
    assert sign_in.token.scopes == set(SCOPES)
    assert (sign_in.base_url, sign_in.client_id) == (server.base_url, application.client_id)
    request_me(sign_in)
    with pytest.raises(errors.AuthenticationError, match=r"The code was used before: sign in again\.") as caught:
        oauth.exchange(code, redirect_uri=REDIRECT)
    assert (caught.value.status_code, caught.value.code) == (400, "257")


def test_a_refresh_replaces_both_tokens(server, application) -> None:
    """The service accepts the new pair and refuses both old tokens; the identity of the sign-in does not change."""
    first = exchange(server, application, new_code(server, application))
    second = oauth.refresh(first, secret=application.client_secret)
    request_me(second)
    with pytest.raises(errors.AuthenticationError):
        request_me(first)
    assert second.ident == first.ident
    assert second.token.scopes == set(SCOPES)
    with pytest.raises(errors.AuthenticationError, match=r"refresh token.*sign in again") as caught:
        oauth.refresh(first, secret=application.client_secret)
    assert caught.value.code == "275"
    request_me(oauth.refresh(second, secret=application.client_secret))


@pytest.mark.parametrize(
    ("changed", "code", "sentence"),
    [
        ({"secret": "wrong"}, "247", "check P2P_CLIENT_SECRET"),
        ({"client_id": "9999999999"}, "244", "check P2P_CLIENT_ID"),
        ({"redirect_uri": "http://127.0.0.1:6/callback"}, "240", "sign in again"),
    ],
)
def test_each_refusal_says_what_to_do(server, application, changed: dict[str, str], code: str, sentence: str) -> None:
    """Each error code of the exchange has its own message."""
    with pytest.raises(errors.AuthenticationError, match=sentence) as caught:
        exchange(server, application, new_code(server, application), **changed)
    assert caught.value.code == code


def test_the_form_of_the_request(start_service, caplog) -> None:
    """One form with the parameters that public clients send; a refresh token stays unless the response has another.

    No log and no repr holds a secret.
    """
    caplog.set_level(logging.DEBUG)
    service = start_service(lambda *_: ANSWER)
    own = {"base_url": service.base_url, "client_id": "1", "redirect_uri": REDIRECT}
    sign_in = oauth.exchange(f"{CANARY}&c", secret=f"{CANARY}=s", **own)
    assert sign_in.refresh_token is None
    refreshed = oauth.refresh(SignIn(service.base_url, sign_in.token, "1", Secret(f"{CANARY}-r")), secret=CANARY)
    assert refreshed.refresh_token.reveal() == f"{CANARY}-r"
    path, redirect = "POST /v1/oauth/access_token", {"redirect_uri": REDIRECT}
    assert service.asked == [
        (path, {"client_id": "1", "client_secret": f"{CANARY}=s", "code": f"{CANARY}&c"} | redirect),
        (path, {"client_id": "1", "client_secret": CANARY, "refresh_token": f"{CANARY}-r"}),
    ]
    assert ("urllib3" in caplog.text, CANARY in caplog.text + repr([sign_in, refreshed])) == (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        hang_up,
        (503, {}, {"error": {"message": f"{CANARY} client_secret={CANARY}", "code": "503"}}),
        (400, {}, {"error": {"message": CANARY, "code": 257}}),  # a number, as in the observed dialect
        (302, {"Location": f"/x?code={CANARY}"}, b""),
        (200, {}, b"<html>" + CANARY.encode()),
        {"access_token": f"{CANARY} two words"},
        {"data": ANSWER},
        ANSWER | {"expires_in": 1e300},
        ANSWER | {"expires_in": "nan"},
    ],
)
def test_a_failure_is_not_retried_and_shows_no_secret(start_service, caplog, answer) -> None:
    """One request, one error of this package, and no secret in the error, its frames or the log."""
    caplog.set_level(logging.DEBUG)
    service = start_service(lambda *_: answer)
    with pytest.raises(errors.ServiceError) as caught:
        oauth.exchange(Secret(CANARY), base_url=service.base_url, client_id="1", secret=Secret(CANARY))
    assert len(service.asked) == 1
    assert service.asked[0][1]["code"] == CANARY
    assert CANARY not in format_everything(caught.value) + caplog.text
    assert not caught.value.retryable


def test_an_unreachable_service_uses_nothing_up() -> None:
    """The error is retryable."""
    with pytest.raises(errors.TransportError, match="cannot be reached: check the base URL") as caught:
        oauth.exchange(CANARY, base_url="http://127.0.0.1:1", client_id="1", secret="s")
    assert caught.value.retryable
    assert "used up" not in str(caught.value)


def test_missing_secrets_are_refused_before_sending() -> None:
    """Without a client secret or a refresh token, nothing is sent."""
    sign_in = SignIn("https://pay.example/v1", AccessToken("a"), "1", Secret("r"))
    with pytest.raises(errors.ConfigurationError, match="set P2P_CLIENT_SECRET"):
        oauth.refresh(sign_in)
    with pytest.raises(errors.ConfigurationError, match="has no refresh token"):
        oauth.refresh(SignIn(sign_in.base_url, sign_in.token), secret="s")


@pytest.mark.parametrize("code", ["256", 257, 275])
def test_error_codes_may_be_text_or_numbers(start_service, code: str | int) -> None:
    """The observed dialect writes numbers; the message is the same."""
    service = start_service(lambda *_: (400, {}, {"error": {"message": "no", "code": code}}))
    with pytest.raises(errors.AuthenticationError, match=r"code (has expired|was used)|refresh token") as caught:
        oauth.exchange(CANARY, base_url=service.base_url, client_id="1", secret="s")
    assert caught.value.code == str(code)
