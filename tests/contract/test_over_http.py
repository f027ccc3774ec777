"""What the interface document says of the whole service, asked of the sandbox over plain HTTP.

Requests are made by hand and neither the vocabulary nor the client takes part, but where the rule is the client's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests
from contract.plain_http import EVERY, MAYA, SAM, get, pay, send

from p2p_analytics.client import Client
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable

DATETIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z?"
FRIEND = {"username", "about", "last_name", "display_name", "first_name", "profile_picture_url", "id"}
EMBEDDED = FRIEND | {"date_joined"}


town = sandbox_fixture(people=9, years=1)


@pytest.fixture(scope="module")
def ids(town: SandboxServer) -> dict[str, str]:
    """Return the user id of each username."""
    return {one.username: one.user_id for one in town.people}


@pytest.fixture(scope="module")
def paid(town: SandboxServer, ids: dict[str, str]) -> Any:
    """Return a payment of 12.30 that settled, as returned by GET /payments/:payment."""
    town.deposit(MAYA, 100_000)
    made = pay(town, user_id=ids[SAM], amount="12.30", audience="friends")["payment"]
    return get(town, f"/payments/{made['id']}")["data"]


@pytest.fixture(scope="module")
def charged(town: SandboxServer, ids: dict[str, str]) -> Any:
    """Return a charge of 4.50 that waits for its answer."""
    made = pay(town, user_id=ids[SAM], amount="-4.50")["payment"]
    return get(town, f"/payments/{made['id']}")["data"]


# -- the service as a whole ---------------------------------------------------------------------------


def requests_of(town: SandboxServer, ids: dict[str, str], payment: str) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Return each endpoint with a token by its name in the document: the method, the path, and its own parameters."""
    return {
        "GET /me": ("GET", "/me", {}),
        "GET /users/:user_id": ("GET", f"/users/{ids[SAM]}", {}),
        "GET /users/:user_id/friends": ("GET", f"/users/{ids[SAM]}/friends", {}),
        "POST /payments": ("POST", "/payments", {"user_id": ids[SAM], "note": "x", "amount": "-1"}),
        "GET /payments": ("GET", "/payments", {}),
        "GET /payments/:payment": ("GET", f"/payments/{payment}", {}),
        "PUT /payments/:payment": ("PUT", f"/payments/{payment}", {"action": "cancel"}),
    }


def test_answers_are_json_with_data(town: SandboxServer, ids: dict[str, str]) -> None:
    """All seven endpoints with a token answer JSON with `data`; `pagination` is there on the two lists alone."""
    request = pay(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
    paged = set()
    for name, (method, path, fields) in requests_of(town, ids, request).items():
        answer = send(town, method, path, town.token(MAYA, *EVERY), **fields)
        assert answer.status == 200, name
        assert answer.headers["Content-Type"].partition(";")[0] == "application/json"
        assert set(answer.body) - {"pagination"} == {"data"}
        paged |= {name} if "pagination" in answer.body else set()
    assert paged == {"GET /payments", "GET /users/:user_id/friends"}


def test_paths_without_a_token_or_version(town: SandboxServer, ids: dict[str, str]) -> None:
    """Each documented path is there below /v1 and demands the token: 401 without it; without /v1, and in /v2: 404."""
    for method, path, fields in requests_of(town, ids, "1").values():
        assert send(town, method, path, None, **fields).status == 401
        for prefix in ("", "/v2"):
            url = town.base_url.removesuffix("/v1") + prefix + path
            assert requests.request(method, url, timeout=10).status_code == 404
    assert send(town, "GET", "/oauth/authorize", None).status == 400


def test_a_field_without_a_value_is_null(town: SandboxServer, paid: Any, charged: Any) -> None:
    """Balance, email and phone without their scopes, fee, refund, date_completed and an address: null, not missing."""
    me = send(town, "GET", "/me", town.token(MAYA, "access_profile")).body["data"]
    assert (me["balance"], me["user"]["email"], me["user"]["phone"]) == (None, None, None)
    assert (paid["fee"], paid["refund"], charged["date_completed"]) == (None, None, None)
    assert (paid["target"]["email"], paid["target"]["phone"]) == (None, None)


def test_a_sandbox_touches_no_other_place(ids: dict[str, str]) -> None:
    """The same paths on two services: a payment on one changes no balance and no list of the other."""
    with SandboxServer(people=9, years=1) as test, SandboxServer(people=9, years=1) as real:
        before = [get(real, path) for path in ("/me", "/payments")]
        assert [get(test, path)["data"] for path in ("/me", "/payments")] == [body["data"] for body in before]
        test.deposit(MAYA, 1_000)
        assert pay(test, user_id=ids[SAM], amount="5")["payment"]["status"] == "settled"
        assert [get(real, path) for path in ("/me", "/payments")] == before
        assert get(test, "/me") != before[0]


@pytest.mark.parametrize("address", ["http://192.0.2.1/v1", "http://service.example/v1", "http://127.0.0.1.example/v1"])
def test_a_client_uses_https_off_this_machine(town: SandboxServer, address: str) -> None:
    """Plain http is for a loopback sandbox alone; to any other address the client makes no request at all."""
    token = town.token(MAYA)
    with pytest.raises(ConfigurationError, match="https"):
        Client(token, base_url=address, cache_dir=False)
    with Client(token, base_url=town.base_url, cache_dir=False) as client:
        assert client.me().user.id == get(town, "/me")["data"]["user"]["id"]


# -- resources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "right"),
    [
        ("id", lambda value, town: value == town.people[0].user_id and value.isdigit()),
        ("username", lambda value, _: value == "maya-lindqvist"),
        ("first_name", lambda value, _: value == "Maya"),
        ("last_name", lambda value, _: value == "Lindqvist"),
        ("display_name", lambda value, _: value == "Maya Lindqvist"),
        ("date_joined", lambda value, town: instant(value) < town.now),
        ("profile_picture_url", lambda value, _: urlsplit(value).scheme == "https"),
        ("about", lambda value, _: value == "Splits everything. Sourdough and bikes."),
        ("email", lambda value, _: value == "maya-lindqvist@example.com"),
        ("phone", lambda value, _: re.fullmatch(r"1\d{10}", value)),
        ("friends_count", lambda value, town: value == len(friends(town, town.people[0].user_id))),
    ],
)
def test_a_field_of_the_user(town: SandboxServer, field: str, right: Callable[[Any, SandboxServer], Any]) -> None:
    """Each field has the document's type and the person's own value, the same in /me and in /users/:user_id."""
    by_me = get(town, "/me")["data"]["user"][field]
    assert right(by_me, town)
    assert get(town, f"/users/{town.people[0].user_id}")["data"][field] == by_me


def test_is_friend(town: SandboxServer, ids: dict[str, str]) -> None:
    """True for a friend, false for a stranger; of oneself null in /users/:user_id, false in /me as in its sample."""
    mine = {item["id"] for item in friends(town, ids[MAYA])}
    for user_id in ids.values():
        expected = None if user_id == ids[MAYA] else user_id in mine
        assert get(town, f"/users/{user_id}")["data"]["is_friend"] is expected
    assert get(town, "/me")["data"]["user"]["is_friend"] is False


def test_a_business_shows_its_own_name(town: SandboxServer, ids: dict[str, str]) -> None:
    """`display_name` is the best name to show: of a business its name, and not first and last name together."""
    cafe = get(town, f"/users/{ids['bean-and-leaf']}")["data"]
    assert cafe["display_name"] == "Bean & Leaf Café"
    assert f"{cafe['first_name']} {cafe['last_name']}".strip() != cafe["display_name"]


def test_subsets_agree_with_the_user(town: SandboxServer, ids: dict[str, str], paid: Any) -> None:
    """A friend's seven fields, and the eight of actor and target, have the values of /users/:user_id."""
    listed = next(item for item in get(town, "/payments")["data"] if item["id"] == paid["id"])
    found = [(item, FRIEND) for item in friends(town, ids[MAYA])]
    found += [(user, EMBEDDED) for one in (paid, listed) for user in (one["actor"], one["target"]["user"])]
    assert len(found) > 5
    for user, fields in found:
        whole = get(town, f"/users/{user['id']}")["data"]
        assert user == {name: whole[name] for name in fields}


PAID = {
    "status": "settled", "note": "lunch", "amount": Decimal("12.30"), "action": "pay", "audience": "friends",
    "fee": None, "refund": None, "medium": "api",
}  # fmt: skip
CHARGED = PAID | {"status": "pending", "amount": Decimal("-4.50"), "action": "charge", "audience": "private"}


@pytest.mark.parametrize("field", list(PAID))
def test_a_field_of_a_payment(paid: Any, charged: Any, field: str) -> None:
    """The payment has the values of the request; amounts are positive for a payment, negative for a charge."""
    assert paid[field] == PAID[field]
    assert charged[field] == CHARGED[field]


def test_who_and_when_of_a_payment(town: SandboxServer, ids: dict[str, str], paid: Any, charged: Any) -> None:
    """The id is numeric text; the actor created it, the target got it; completed is null only while pending."""
    for one in (paid, charged):
        assert one["id"].isdigit()
        assert (one["actor"]["id"], one["target"]["user"]["id"], one["target"]["type"]) == (ids[MAYA], ids[SAM], "user")
        assert re.fullmatch(DATETIME, one["date_created"])
        assert instant(one["date_created"]) <= town.now
    assert instant(paid["date_completed"]) >= instant(paid["date_created"])
    assert charged["date_completed"] is None


def test_the_balance_of_me(town: SandboxServer) -> None:
    """`balance` is a number of currency units and follows what comes in."""
    before = get(town, "/me")["data"]["balance"]
    town.deposit(MAYA, 125)
    assert get(town, "/me")["data"]["balance"] - before == Decimal("1.25")


# -- authorization ------------------------------------------------------------------------------------

GRANTS = {
    "access_profile": {"GET /me", "GET /users/:user_id", "GET /payments", "GET /payments/:payment"},
    "access_email": set(),
    "access_phone": set(),
    "access_balance": set(),
    "access_friends": {"GET /users/:user_id/friends"},
    "make_payments": {"POST /payments", "PUT /payments/:payment"},
}


@pytest.mark.parametrize("scope", GRANTS)
def test_what_a_scope_grants(town: SandboxServer, ids: dict[str, str], scope: str) -> None:
    """With one scope alone exactly its endpoints answer; every other one refuses with 403 and does nothing."""
    request = pay(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
    token, served = town.token(MAYA, scope), set()
    for name, (method, path, fields) in requests_of(town, ids, request).items():
        status = send(town, method, path, token, **fields).status
        assert status in (200, 403)
        served |= {name} if status == 200 else set()
    assert served == GRANTS[scope]
    status = get(town, f"/payments/{request}")["data"]["status"]
    assert status == ("cancelled" if scope == "make_payments" else "pending")


@pytest.mark.parametrize(
    ("scope", "filled"), [("access_email", "email"), ("access_phone", "phone"), ("access_balance", "balance")]
)
def test_what_an_optional_scope_fills(town: SandboxServer, scope: str, filled: str) -> None:
    """Beside access_profile each optional scope fills its one field of /me, and of oneself in /users/:user_id."""
    token = town.token(MAYA, "access_profile", scope)
    me = send(town, "GET", "/me", token).body["data"]
    shown = {"balance": me["balance"], "email": me["user"]["email"], "phone": me["user"]["phone"]}
    assert {name for name, value in shown.items() if value is not None} == {filled}
    user = send(town, "GET", f"/users/{me['user']['id']}", token).body["data"]
    assert {name for name in ("email", "phone") if user[name] is not None} == {filled} - {"balance"}


# -- errors, and missing resources --------------------------------------------------------------------


def test_each_kind_of_error(town: SandboxServer, ids: dict[str, str]) -> None:
    """The HTTP status is the error's status; codes distinguish errors; the message is a sentence for people."""
    reader, writer = town.token(MAYA, "access_profile"), town.token(MAYA, "make_payments")
    found = [
        send(town, "GET", "/me", None),
        send(town, "GET", "/me", "never-issued"),
        send(town, "GET", f"/users/{ids[SAM]}/friends", reader),
        send(town, "GET", "/payments/1", reader),
        send(town, "GET", "/payments", reader, status="odd"),
        send(town, "POST", "/payments", writer, user_id=ids[SAM], amount="1"),
    ]
    assert [(one.status, one.body["error"]["code"]) for one in found] == [
        (401, "267"), (401, "261"), (403, "260"), (404, "283"), (400, "400"), (400, "1355"),
    ]  # fmt: skip
    for one in found:
        assert one.headers["Content-Type"].startswith("application/json")
        assert set(one.body) == {"error"}
        assert set(one.body["error"]) == {"message", "code"}
        assert one.body["error"]["message"].endswith(".")


def test_rate_limits_are_asked_for(town: SandboxServer) -> None:
    """A hundred requests on end are answered without a word of a limit; one that is set answers 429, 277 and a wait."""
    token = town.token(MAYA)
    with requests.Session() as session:
        for _ in range(100):
            answer = session.get(f"{town.base_url}/me", params={"access_token": token}, timeout=10)
            assert answer.status_code == 200
            assert not [name for name in answer.headers if "ratelimit" in name.lower() or name == "Retry-After"]
    town.rate_limit = (1, 60)
    try:
        assert send(town, "GET", "/me", token).status == 200
        refused = send(town, "GET", "/me", token)
    finally:
        town.rate_limit = None
    assert (refused.status, refused.body["error"]["code"], refused.headers["Retry-After"]) == (429, "277", "60")


@pytest.mark.parametrize("path", ["/events", "/webhooks", "/notifications"])
def test_there_are_no_events(town: SandboxServer, path: str) -> None:
    """Nothing is served beside the document's endpoints: events, webhooks and notifications are not found."""
    for method in ("GET", "POST"):
        assert send(town, method, path, town.token(MAYA, *EVERY)).status == 404


def test_nothing_announces_a_change(town: SandboxServer) -> None:
    """No answer carries a header by which services announce a deprecation."""
    headers = send(town, "GET", "/me", town.token(MAYA)).headers
    assert not {name.lower() for name in headers} & {"deprecation", "sunset", "warning", "link"}


# -- shared -------------------------------------------------------------------------------------------


def instant(text: str) -> datetime:
    """Return a datetime of the document, with or without Z and fraction, as UTC."""
    assert re.fullmatch(DATETIME, text)
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


def friends(town: SandboxServer, user_id: str) -> list[Any]:
    """Return the friends of a user who has fewer than fifty."""
    body = get(town, f"/users/{user_id}/friends", limit="50")
    assert body["pagination"]["next"] is None
    return list(body["data"])
