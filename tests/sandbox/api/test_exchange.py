"""The server-side flow: exchanging a code for tokens of 60 days, refreshing them, and refusals."""

from __future__ import annotations

import concurrent.futures
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import Application, SandboxServer
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Asking = Callable[..., Any]
    Refusal = Callable[[requests.Response], tuple[int, str]]

JSON = {"Content-Type": "application/json"}
CALLBACK = "https://app.example/cb?keep=1"
ALL = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")


class Clock:
    """A wall clock that a test moves."""

    now = 1_000_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(own: SandboxServer) -> Clock:
    """Return the clock of the sandbox."""
    return own._clock  # type: ignore[return-value]


own = sandbox_fixture(people=4, years=1, clock=Clock())


@pytest.fixture(scope="module")
def app(own: SandboxServer) -> Application:
    """Register an application with a redirect URL that has a query of its own."""
    return own.register_application("tom-ohara", name="Ledger", redirect_url=CALLBACK)


def new_code(own: SandboxServer, app: Application, *scopes: str, **more: str) -> str:
    """Return the code that comes of noor's consent."""
    url = own.authorize_url(*(scopes or ALL), client_id=app.client_id, response_type="code", **more)
    landed = own.sign_in(url, "noor-haddad")
    assert landed.startswith(more.get("redirect_uri", CALLBACK))
    (code,) = parse_qs(urlsplit(landed).query)["code"]
    return code


def post(own: SandboxServer, **fields: str) -> requests.Response:
    """Send the form of the exchange."""
    return requests.post(f"{own.base_url}/oauth/access_token", data=fields, timeout=10)


def exchange(own: SandboxServer, app: Application, **fields: str) -> requests.Response:
    """Send the form with the application's own id and secret."""
    return post(own, client_id=app.client_id, client_secret=app.client_secret, **fields)


def tokens_of(own: SandboxServer, app: Application, *scopes: str) -> Any:
    """Return the answer to a new code."""
    response = exchange(own, app, code=new_code(own, app, *scopes))
    assert response.status_code == 200, response.text
    return response.json()


def me(ask: Asking, own: SandboxServer, token: str) -> tuple[int, str | None]:
    """Return status and error code of GET /me with a token."""
    response = ask(on=own, token=token).get("/me")
    return response.status_code, response.json().get("error", {}).get("code")


def test_the_answer(ask: Asking, own: SandboxServer, app: Application) -> None:
    """The answer is not wrapped in data, has the user and balance of /me, and must not be kept by a cache."""
    response = exchange(own, app, code=new_code(own, app))
    assert response.headers["Cache-Control"] == "no-store"
    body = json.loads(response.content, parse_float=Decimal)
    mine = ask(on=own, token=body["access_token"]).get_body("/me")["data"]
    assert mine["user"]["username"] == "noor-haddad"
    assert list(body) == ["access_token", "expires_in", "token_type", "balance", "user", "refresh_token"]
    rest = {"expires_in": 5_184_000, "token_type": "bearer", "balance": mine["balance"], "user": mine["user"]}
    assert {name: body[name] for name in rest} == rest


def test_the_answer_keeps_to_the_scopes(own: SandboxServer, app: Application) -> None:
    """Email, phone and balance are null without their scopes, user is null without access_profile."""
    body = tokens_of(own, app, "access_profile")
    assert (body["balance"], body["user"]["email"], body["user"]["phone"]) == (None, None, None)
    body = tokens_of(own, app, "access_friends")
    assert (body["balance"], body["user"]) == (None, None)


@pytest.mark.parametrize("how", ["form", "multipart", "json", "query", "basic", "basic and id"])
def test_what_clients_send(own: SandboxServer, app: Application, how: str) -> None:
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
    response = requests.post(f"{own.base_url}/oauth/access_token", timeout=10, **sent)
    assert response.status_code == 200, response.text


def test_sixty_days(ask: Asking, own: SandboxServer, app: Application, clock: Clock) -> None:
    """A token of this flow lives 60 days to the second; its refresh token outlives it."""
    body = tokens_of(own, app)
    clock.now += 60 * 86_400 - 1
    assert me(ask, own, body["access_token"]) == (200, None)
    clock.now += 1
    assert me(ask, own, body["access_token"]) == (401, "265")
    assert exchange(own, app, refresh_token=body["refresh_token"]).status_code == 200


def test_a_code_lives_ten_minutes(own: SandboxServer, app: Application, clock: Clock, refusal: Refusal) -> None:
    """A code is good for ten minutes of the wall clock, then 256."""
    in_time, late = new_code(own, app), new_code(own, app)
    clock.now += 10 * 60 - 1
    assert exchange(own, app, code=in_time).status_code == 200
    clock.now += 1
    assert refusal(exchange(own, app, code=late)) == (400, "256")


def test_a_code_used_twice(ask: Asking, own: SandboxServer, app: Application, refusal: Refusal) -> None:
    """A second use is 257 and revokes what the first one gave, refreshed tokens too (RFC 6749, 4.1.2)."""
    code = new_code(own, app)
    first = exchange(own, app, code=code).json()
    second = exchange(own, app, refresh_token=first["refresh_token"]).json()
    unhurt = tokens_of(own, app)
    assert refusal(exchange(own, app, code=code)) == (400, "257")
    assert me(ask, own, second["access_token"]) == (401, "262")
    assert refusal(exchange(own, app, refresh_token=second["refresh_token"])) == (400, "275")
    assert me(ask, own, unhurt["access_token"]) == (200, None)


def test_a_code_is_redeemed_once_whoever_is_first(ask: Asking, own: SandboxServer, app: Application) -> None:
    """Of eight simultaneous redemptions one gets tokens, seven get 257, and the tokens are revoked."""
    code = new_code(own, app)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: exchange(own, app, code=code), range(8)))
    won = [one.json() for one in answers if one.status_code == 200]
    assert [one.json()["error"]["code"] for one in answers if one.status_code != 200] == ["257"] * 7
    assert me(ask, own, won[0]["access_token"]) == (401, "262")


def test_a_code_belongs_to_its_client(ask: Asking, own: SandboxServer, app: Application, refusal: Refusal) -> None:
    """Another application's attempt is 255, before and after the redemption, and spoils nothing."""
    other = own.register_application("tom-ohara", name="Other", redirect_url=CALLBACK)
    code = new_code(own, app)
    assert refusal(exchange(own, other, code=code)) == (400, "255")
    body = exchange(own, app, code=code).json()
    assert refusal(exchange(own, other, code=code)) == (400, "255")
    assert refusal(exchange(own, other, refresh_token=body["refresh_token"])) == (400, "275")
    assert me(ask, own, body["access_token"]) == (200, None)


def test_a_code_belongs_to_its_redirect(own: SandboxServer, app: Application, refusal: Refusal) -> None:
    """A redirect_uri in the exchange must be the address the code went to; it may be left out."""
    elsewhere = "https://app.example/else"
    code = new_code(own, app, redirect_uri=elsewhere)
    assert refusal(exchange(own, app, code=code, redirect_uri=CALLBACK)) == (400, "240")
    assert exchange(own, app, code=code, redirect_uri=elsewhere).status_code == 200
    assert exchange(own, app, code=new_code(own, app, redirect_uri=elsewhere)).status_code == 200


def test_refresh(ask: Asking, own: SandboxServer, app: Application, refusal: Refusal) -> None:
    """A refresh gives the same answer with two new tokens of the same scopes; the old ones are dead at once."""
    old = tokens_of(own, app, "access_profile")
    response = exchange(own, app, refresh_token=old["refresh_token"], grant_type="refresh_token")
    new = response.json()
    assert set(new) == set(old)
    assert new["user"] == old["user"]
    assert len({old["access_token"], old["refresh_token"], new["access_token"], new["refresh_token"]}) == 4
    assert me(ask, own, old["access_token"]) == (401, "259")
    assert refusal(exchange(own, app, refresh_token=old["refresh_token"])) == (400, "275")
    for secret in (new["refresh_token"], new_code(own, app)):  # neither is an access token
        assert me(ask, own, secret) == (401, "261")
    me_now = ask(on=own, token=new["access_token"])
    assert me_now.get_body("/me")["data"]["balance"] is None
    assert me_now.get_refusal(f"/users/{new['user']['id']}/friends") == (403, "260")


def test_exchanges_that_are_refused(own: SandboxServer, app: Application, refusal: Refusal) -> None:
    """Each wrong field has its code; the right form, sent last, shows that nothing was used up."""
    form = {"client_id": app.client_id, "client_secret": app.client_secret, "code": new_code(own, app)}
    for change, expected in (
        ({"client_id": ""}, (400, "241")),
        ({"client_secret": ""}, (400, "241")),
        ({"code": ""}, (400, "241")),
        ({"code": "", "grant_type": "authorization_code", "refresh_token": "x"}, (400, "241")),
        ({"grant_type": "refresh_token"}, (400, "241")),
        ({"client_id": "nobody"}, (401, "244")),
        ({"client_id": "1001"}, (401, "247")),
        ({"client_secret": "guess"}, (401, "247")),
        ({"client_secret": "\ud83d"}, (400, "400")),
        ({"code": "guess"}, (400, "240")),
        ({"code": "", "refresh_token": "guess"}, (400, "275")),
        ({"grant_type": "password"}, (400, "276")),
        ({"refresh_token": "x"}, (400, "400")),
    ):
        sent = {name: value.encode(errors="surrogatepass") for name, value in (form | change).items()}
        assert refusal(post(own, **sent)) == expected
    assert post(own, **form).status_code == 200


def test_bodies_that_cannot_be_read(own: SandboxServer, refusal: Refusal) -> None:
    """A body or header of another shape, and a field given twice, are 400 in the envelope."""
    for sent in (
        {"json": ["code"]}, {"json": {"code": ["x"]}}, {"json": {"code": 1.5}}, {"json": {"code": True}},
        {"data": b"{", "headers": JSON},
        {"data": b"[" * 60_000, "headers": {"Content-Type": "application/json; charset=utf-8"}},
        {"data": b'{"code":' + b"9" * 5_000 + b"}", "headers": JSON},
        {"data": b'{"client_id":"1","client_secret":"x","code":"\\udfff"}', "headers": JSON},
        {"data": {}, "headers": {"Authorization": "Basic %%%"}},
        {"data": {}, "headers": {"Authorization": "Basic eA=="}},
        {"data": [("code", "1"), ("code", "2")], "params": {"client_id": "1", "client_secret": "1"}},
        {"data": {"client_id": "1"}, "params": {"client_id": "2"}},
    ):  # fmt: skip
        assert refusal(requests.post(f"{own.base_url}/oauth/access_token", timeout=10, **sent)) == (400, "400")


def test_an_application_that_is_gone(ask: Asking, own: SandboxServer, refusal: Refusal) -> None:
    """After its application was deleted a token is 259, a code and a refresh token meet 244."""
    gone = own.register_application("tom-ohara", name="Gone", redirect_url=CALLBACK)
    body, code = tokens_of(own, gone), new_code(own, gone)
    own._tokens.oauth_store.remove_application(gone.client_id)
    assert me(ask, own, body["access_token"]) == (401, "259")
    assert refusal(exchange(own, gone, code=code)) == (401, "244")
    assert refusal(exchange(own, gone, refresh_token=body["refresh_token"])) == (401, "244")


def test_nothing_secret_is_stored(tmp_path: Path, capfd: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Secret, code, access and refresh tokens of both flows are in no file, log line, counted request or repr."""
    caplog.set_level("DEBUG", logger="uvicorn")
    with SandboxServer(people=3, years=1, db=tmp_path / "db") as own:
        app = own.register_application(own.viewer, name="App", redirect_url=CALLBACK)
        code, token = new_code(own, app), own.token(own.viewer)
        first = exchange(own, app, code=code).json()
        second = exchange(own, app, refresh_token=first["refresh_token"]).json()
        query = {"client_id": app.client_id, "client_secret": app.client_secret, "code": code}
        requests.post(f"{own.base_url}/oauth/access_token", params=query, timeout=10)
        for path in ("/me", "/nothing", "/payments/1"):
            requests.get(own.base_url + path, params={"access_token": token}, timeout=10)
        own.expire(token)
        stored = b"".join(one.read_bytes() for one in tmp_path.iterdir())
        told = "".join((repr(own.requests), repr(app), str(app), caplog.text, *capfd.readouterr()))
    secrets = {app.client_secret, code, token}
    secrets |= {body[name] for body in (first, second) for name in body if "_token" in name}
    assert (len(secrets), b"oauth_tokens" in stored) == (7, True)
    assert [secret for secret in secrets if secret.encode() in stored or secret in told] == []


def test_tokens_outlive_the_server(ask: Asking, tmp_path: Path) -> None:
    """With a database file, applications, refresh tokens and what was revoked are still there after a restart."""
    with SandboxServer(people=3, years=1, db=tmp_path / "db") as own:
        app = own.register_application(own.viewer, name="App", redirect_url=CALLBACK)
        kept, dead = tokens_of(own, app), tokens_of(own, app)
        exchange(own, app, refresh_token=dead["refresh_token"])
    with SandboxServer(people=3, years=1, db=tmp_path / "db") as own:
        assert me(ask, own, kept["access_token"]) == (200, None)
        assert me(ask, own, dead["access_token"]) == (401, "259")
        assert exchange(own, app, refresh_token=kept["refresh_token"]).status_code == 200
