"""The server-side flow: exchanging a code for tokens of 60 days, refreshing them, and refusals."""

import concurrent.futures
import json
from decimal import Decimal
from typing import Any

import pytest
import requests
from sandbox.oauth import EVERY, consent, exchange, issue_tokens, post

from p2p_analytics.sandbox import Application, SandboxServer
from support.servers import sandbox_fixture

JSON = {"Content-Type": "application/json"}
CALLBACK, ELSEWHERE = "https://app.example/cb?keep=1", "https://app.example/else"
NOOR = "noor-haddad"
TIME = [1_000_000_000.0]

own = sandbox_fixture(people=4, years=1, clock=lambda: TIME[0])


@pytest.fixture(scope="module")
def app(own) -> Application:
    """Register an application with a redirect URL that has a query of its own."""
    return own.register_application("tom-ohara", name="Ledger", redirect_url=CALLBACK)


def new_code(own: SandboxServer, app: Application, **more: str) -> str:
    """Return the code that comes of noor's consent to every scope."""
    return consent(own, NOOR, app, *EVERY, kind="code", **more)


@pytest.fixture
def use(ask, own) -> Any:
    """Return a function that returns status and error code of GET /me with a token."""

    def status_and_code(token: str, on: SandboxServer = own) -> tuple[int, str | None]:
        response = ask(on=on, token=token).get("/me")
        return response.status_code, response.json().get("error", {}).get("code")

    return status_and_code


def test_the_answer(ask, own, app) -> None:
    """The answer is not wrapped in data, has the user and balance of /me, and must not be kept by a cache."""
    response = exchange(own, app, code=new_code(own, app))
    assert response.headers["Cache-Control"] == "no-store"
    body = json.loads(response.content, parse_float=Decimal)
    mine = ask(on=own, token=body["access_token"]).get_body("/me")["data"]
    assert mine["user"]["username"] == NOOR
    assert list(body) == ["access_token", "expires_in", "token_type", "balance", "user", "refresh_token"]
    rest = {"expires_in": 5_184_000, "token_type": "bearer", "balance": mine["balance"], "user": mine["user"]}
    assert {name: body[name] for name in rest} == rest


def test_the_answer_keeps_to_the_scopes(own, app) -> None:
    """Email, phone and balance are null without their scopes, user is null without access_profile."""
    body = issue_tokens(own, NOOR, app, "access_profile")
    assert (body["balance"], body["user"]["email"], body["user"]["phone"]) == (None, None, None)
    body = issue_tokens(own, NOOR, app, "access_friends")
    assert (body["balance"], body["user"]) == (None, None)


@pytest.mark.parametrize("how", ["form", "multipart", "json", "query", "basic", "basic and id"])
def test_what_clients_send(own, app, how: str) -> None:
    """The same fields may come as a form, multipart, JSON, query, or the client's as Basic; the grant type may miss."""
    client = {"client_id": app.client_id, "client_secret": app.client_secret}
    rest = {"code": new_code(own, app), "redirect_uri": CALLBACK, "state": "", "extra": "1"}
    rest |= {} if how == "form" else {"grant_type": "authorization_code"}
    sent: dict[str, Any] = {
        "form": {"data": client | rest},
        "multipart": {"files": {name: (None, value) for name, value in (client | rest).items()}},
        "json": {"json": {**client, **rest, "client_id": int(app.client_id), "nothing": None, "more": [1.5, {}]}},
        "query": {"params": client | rest},
        "basic": {"data": rest, "auth": tuple(client.values())},
        "basic and id": {"data": {"client_id": app.client_id, **rest}, "auth": tuple(client.values())},
    }[how]
    response = post(own, **sent)
    assert response.status_code == 200, response.text


def test_sixty_days(own, app, use) -> None:
    """A token of this flow lives 60 days to the second; its refresh token outlives it."""
    body = issue_tokens(own, NOOR, app)
    TIME[0] += 60 * 86_400 - 1
    assert use(body["access_token"]) == (200, None)
    TIME[0] += 1
    assert use(body["access_token"]) == (401, "265")
    assert exchange(own, app, refresh_token=body["refresh_token"]).status_code == 200


def test_a_code_lives_ten_minutes(own, app, refusal) -> None:
    """A code is good for ten minutes of the wall clock, then 256."""
    in_time, late = new_code(own, app), new_code(own, app)
    TIME[0] += 10 * 60 - 1
    assert exchange(own, app, code=in_time).status_code == 200
    TIME[0] += 1
    assert refusal(exchange(own, app, code=late)) == (400, "256")


def test_a_code_used_twice(own, app, use, refusal) -> None:
    """A second use is 257 and revokes what the first one gave, refreshed tokens too (RFC 6749, 4.1.2)."""
    code = new_code(own, app)
    first = exchange(own, app, code=code).json()
    second = exchange(own, app, refresh_token=first["refresh_token"]).json()
    unhurt = issue_tokens(own, NOOR, app)
    assert refusal(exchange(own, app, code=code)) == (400, "257")
    assert use(second["access_token"]) == (401, "262")
    assert refusal(exchange(own, app, refresh_token=second["refresh_token"])) == (400, "275")
    assert use(unhurt["access_token"]) == (200, None)


def test_a_code_is_redeemed_once_whoever_is_first(own, app, use) -> None:
    """Of eight simultaneous redemptions one gets tokens, seven get 257, and the tokens are revoked."""
    code = new_code(own, app)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: exchange(own, app, code=code), range(8)))
    (won,) = (one.json() for one in answers if one.status_code == 200)
    assert [one.json()["error"]["code"] for one in answers if one.status_code != 200] == ["257"] * 7
    assert use(won["access_token"]) == (401, "262")


def test_a_code_belongs_to_its_client(own, app, use, refusal) -> None:
    """Another application's attempt is 255, before and after the redemption, and spoils nothing."""
    other = own.register_application("tom-ohara", name="Other", redirect_url=CALLBACK)
    code = new_code(own, app)
    assert refusal(exchange(own, other, code=code)) == (400, "255")
    body = exchange(own, app, code=code).json()
    assert refusal(exchange(own, other, code=code)) == (400, "255")
    assert refusal(exchange(own, other, refresh_token=body["refresh_token"])) == (400, "275")
    assert use(body["access_token"]) == (200, None)


def test_a_code_belongs_to_its_redirect(own, app, refusal) -> None:
    """A redirect_uri in the exchange must be the address the code went to; it may be left out."""
    code = new_code(own, app, redirect_uri=ELSEWHERE)
    assert refusal(exchange(own, app, code=code, redirect_uri=CALLBACK)) == (400, "240")
    assert exchange(own, app, code=code, redirect_uri=ELSEWHERE).status_code == 200
    assert exchange(own, app, code=new_code(own, app, redirect_uri=ELSEWHERE)).status_code == 200


def test_refresh(ask, own, app, use, refusal) -> None:
    """A refresh gives the same answer with two new tokens of the same scopes; the old ones are dead at once."""
    old = issue_tokens(own, NOOR, app, "access_profile")
    new = exchange(own, app, refresh_token=old["refresh_token"], grant_type="refresh_token").json()
    assert set(new) == set(old)
    assert new["user"] == old["user"]
    assert len({old["access_token"], old["refresh_token"], new["access_token"], new["refresh_token"]}) == 4
    assert use(old["access_token"]) == (401, "259")
    assert refusal(exchange(own, app, refresh_token=old["refresh_token"])) == (400, "275")
    for secret in (new["refresh_token"], new_code(own, app)):  # neither is an access token
        assert use(secret) == (401, "261")
    me_now = ask(on=own, token=new["access_token"])
    assert me_now.get_body("/me")["data"]["balance"] is None
    assert me_now.get_refusal(f"/users/{new['user']['id']}/friends") == (403, "260")


def test_exchanges_that_are_refused(own, app, refusal) -> None:
    """Each wrong field has its code; the right form, sent last, shows that nothing was used up."""
    form = {"client_id": app.client_id, "client_secret": app.client_secret, "code": new_code(own, app)}
    for change, expected in (
        ({"client_id": ""}, (400, "241")), ({"client_secret": ""}, (400, "241")), ({"code": ""}, (400, "241")),
        ({"code": "", "grant_type": "authorization_code", "refresh_token": "x"}, (400, "241")),
        ({"grant_type": "refresh_token"}, (400, "241")), ({"client_id": "nobody"}, (401, "244")),
        ({"client_id": "1001"}, (401, "247")), ({"client_secret": "guess"}, (401, "247")),
        ({"client_secret": "\ud83d"}, (400, "400")), ({"code": "guess"}, (400, "240")),
        ({"code": "", "refresh_token": "guess"}, (400, "275")), ({"grant_type": "password"}, (400, "276")),
        ({"refresh_token": "x"}, (400, "400")),
    ):  # fmt: skip
        sent = {name: value.encode(errors="surrogatepass") for name, value in (form | change).items()}
        assert refusal(post(own, data=sent)) == expected
    assert post(own, data=form).status_code == 200


def test_bodies_that_cannot_be_read(own, refusal) -> None:
    """A body or header of another shape, and a field given twice, are 400 in the envelope."""
    for sent in (
        {"json": ["code"]}, {"json": {"code": ["x"]}}, {"json": {"code": 1.5}}, {"json": {"code": True}},
        {"data": b"[" * 60_000, "headers": {"Content-Type": "application/json; charset=utf-8"}},
        {"data": b'{"code":' + b"9" * 5_000 + b"}", "headers": JSON},
        {"data": b'{"client_id":"1","client_secret":"x","code":"\\udfff"}', "headers": JSON},
        {"data": {}, "headers": {"Authorization": "Basic %%%"}},
        {"data": {}, "headers": {"Authorization": "Basic eA=="}},
        {"data": [("code", "1"), ("code", "2")], "params": {"client_id": "1", "client_secret": "1"}},
        {"data": {"client_id": "1"}, "params": {"client_id": "2"}},
    ):  # fmt: skip
        assert refusal(post(own, **sent)) == (400, "400")


def test_an_application_that_is_gone(own, use, refusal) -> None:
    """After its application was deleted a token is 259, a code and a refresh token meet 244."""
    gone = own.register_application("tom-ohara", name="Gone", redirect_url=CALLBACK)
    body, code = issue_tokens(own, NOOR, gone), new_code(own, gone)
    own._tokens.oauth_store.remove_application(gone.client_id)
    assert use(body["access_token"]) == (401, "259")
    assert refusal(exchange(own, gone, code=code)) == (401, "244")
    assert refusal(exchange(own, gone, refresh_token=body["refresh_token"])) == (401, "244")


def test_nothing_secret_is_stored(use, tmp_path, capfd, caplog) -> None:
    """No secret, code or token is in a file, log line, counted request or repr; a restart still knows them all."""
    caplog.set_level("DEBUG", logger="uvicorn")
    with SandboxServer(people=3, years=1, db=tmp_path / "db") as own:
        app = own.register_application(own.viewer, name="App", redirect_url=CALLBACK)
        code, token = consent(own, NOOR, app, kind="code"), own.token(own.viewer)
        first = exchange(own, app, code=code).json()
        second = exchange(own, app, refresh_token=first["refresh_token"]).json()
        post(own, params={"client_id": "1001", "client_secret": app.client_secret, "code": code})
        for path in ("/me", "/nothing", "/payments/1"):
            requests.get(own.base_url + path, params={"access_token": token}, timeout=10)
        own.expire(token)
        stored = b"".join(one.read_bytes() for one in tmp_path.iterdir())
        told = "".join((repr(own.requests), repr(app), str(app), caplog.text, *capfd.readouterr()))
    secrets = {app.client_secret, code, token}
    secrets |= {body[name] for body in (first, second) for name in body if "_token" in name}
    assert (len(secrets), b"oauth_tokens" in stored) == (7, True)
    assert [secret for secret in secrets if secret.encode() in stored or secret in told] == []
    with SandboxServer(people=3, years=1, db=tmp_path / "db") as own:
        assert use(second["access_token"], own) == (200, None)
        assert use(first["access_token"], own) == (401, "259")
        assert exchange(own, app, refresh_token=second["refresh_token"]).status_code == 200
