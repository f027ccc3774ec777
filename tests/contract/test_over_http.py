"""Rules of the interface document for the whole service, tested on the sandbox over plain HTTP.

Requests are plain HTTP, without vocabulary or client, except for rules about clients.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests
from contract.plain_http import EVERY, MAYA, SAM, create_payment, get, send

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
def settled_payment(town: SandboxServer, ids: dict[str, str]) -> Any:
    """Return a settled payment of 12.30, as returned by GET /payments/:payment."""
    town.deposit(MAYA, 100_000)
    made = create_payment(town, user_id=ids[SAM], amount="12.30", audience="friends")["payment"]
    return get(town, f"/payments/{made['id']}")["data"]


@pytest.fixture(scope="module")
def pending_charge(town: SandboxServer, ids: dict[str, str]) -> Any:
    """Return a pending charge of 4.50, as returned by GET /payments/:payment."""
    made = create_payment(town, user_id=ids[SAM], amount="-4.50")["payment"]
    return get(town, f"/payments/{made['id']}")["data"]


# -- the service as a whole ---------------------------------------------------------------------------


def requests_of(town: SandboxServer, ids: dict[str, str], payment: str) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Return method, path and parameters of each endpoint with a token, by its name in the document."""
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
    """All seven endpoints with a token return JSON with `data`; only the two lists have `pagination`."""
    request = create_payment(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
    paged = set()
    for name, (method, path, fields) in requests_of(town, ids, request).items():
        answer = send(town, method, path, town.token(MAYA, *EVERY), **fields)
        assert answer.status == 200, name
        assert answer.headers["Content-Type"].partition(";")[0] == "application/json"
        assert set(answer.body) - {"pagination"} == {"data"}
        paged |= {name} if "pagination" in answer.body else set()
    assert paged == {"GET /payments", "GET /users/:user_id/friends"}


def test_paths_without_a_token_or_version(town: SandboxServer, ids: dict[str, str]) -> None:
    """Each documented path below /v1 is 401 without a token; without /v1, and in /v2, it is 404."""
    for method, path, fields in requests_of(town, ids, "1").values():
        assert send(town, method, path, None, **fields).status == 401
        for prefix in ("", "/v2"):
            url = town.base_url.removesuffix("/v1") + prefix + path
            assert requests.request(method, url, timeout=10).status_code == 404
    assert send(town, "GET", "/oauth/authorize", None).status == 400


def test_a_field_without_a_value_is_null(town: SandboxServer, settled_payment: Any, pending_charge: Any) -> None:
    """Balance, email and phone without scopes, fee, refund, date_completed and an address are null, not missing."""
    me = send(town, "GET", "/me", town.token(MAYA, "access_profile")).body["data"]
    assert (me["balance"], me["user"]["email"], me["user"]["phone"]) == (None, None, None)
    assert (settled_payment["fee"], settled_payment["refund"], pending_charge["date_completed"]) == (None, None, None)
    assert (settled_payment["target"]["email"], settled_payment["target"]["phone"]) == (None, None)


def test_sandboxes_are_independent(ids: dict[str, str]) -> None:
    """A payment on one sandbox changes no balance and no list of another one."""
    with SandboxServer(people=9, years=1) as test, SandboxServer(people=9, years=1) as real:
        before = [get(real, path) for path in ("/me", "/payments")]
        assert [get(test, path)["data"] for path in ("/me", "/payments")] == [body["data"] for body in before]
        test.deposit(MAYA, 1_000)
        assert create_payment(test, user_id=ids[SAM], amount="5")["payment"]["status"] == "settled"
        assert [get(real, path) for path in ("/me", "/payments")] == before
        assert get(test, "/me") != before[0]


@pytest.mark.parametrize("address", ["http://192.0.2.1/v1", "http://service.example/v1", "http://127.0.0.1.example/v1"])
def test_a_client_uses_https_off_this_machine(town: SandboxServer, address: str) -> None:
    """The client refuses plain http except to loopback, and sends nothing."""
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
        ("date_joined", lambda value, town: parse_datetime(value) < town.now),
        ("profile_picture_url", lambda value, _: urlsplit(value).scheme == "https"),
        ("about", lambda value, _: value == "Splits everything. Sourdough and bikes."),
        ("email", lambda value, _: value == "maya-lindqvist@example.com"),
        ("phone", lambda value, _: re.fullmatch(r"1\d{10}", value)),
        ("friends_count", lambda value, town: value == len(friends_of(town, town.people[0].user_id))),
    ],
)
def test_a_field_of_the_user(town: SandboxServer, field: str, right: Callable[[Any, SandboxServer], Any]) -> None:
    """Each field has the document's type and the user's value, in /me and in /users/:user_id."""
    by_me = get(town, "/me")["data"]["user"][field]
    assert right(by_me, town)
    assert get(town, f"/users/{town.people[0].user_id}")["data"][field] == by_me


def test_is_friend(town: SandboxServer, ids: dict[str, str]) -> None:
    """True for a friend, false for a stranger; of oneself null in /users/:user_id and false in /me (see its sample)."""
    mine = {item["id"] for item in friends_of(town, ids[MAYA])}
    for user_id in ids.values():
        expected = None if user_id == ids[MAYA] else user_id in mine
        assert get(town, f"/users/{user_id}")["data"]["is_friend"] is expected
    assert get(town, "/me")["data"]["user"]["is_friend"] is False


def test_display_name_of_a_business(town: SandboxServer, ids: dict[str, str]) -> None:
    """`display_name` of a business is its name, not first and last name."""
    cafe = get(town, f"/users/{ids['bean-and-leaf']}")["data"]
    assert cafe["display_name"] == "Bean & Leaf Café"
    assert f"{cafe['first_name']} {cafe['last_name']}".strip() != cafe["display_name"]


def test_subsets_agree_with_the_user(town: SandboxServer, ids: dict[str, str], settled_payment: Any) -> None:
    """The seven fields of a friend, and the eight of actor and target, equal those of /users/:user_id."""
    listed = next(item for item in get(town, "/payments")["data"] if item["id"] == settled_payment["id"])
    found = [(item, FRIEND) for item in friends_of(town, ids[MAYA])]
    found += [(user, EMBEDDED) for one in (settled_payment, listed) for user in (one["actor"], one["target"]["user"])]
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
def test_a_field_of_a_payment(settled_payment: Any, pending_charge: Any, field: str) -> None:
    """The payment has the values of the request; amounts are positive for a payment, negative for a charge."""
    assert settled_payment[field] == PAID[field]
    assert pending_charge[field] == CHARGED[field]


def test_people_and_dates_of_a_payment(
    town: SandboxServer, ids: dict[str, str], settled_payment: Any, pending_charge: Any
) -> None:
    """The id is numeric text; actor and target are users; date_completed is null only while pending."""
    for one in (settled_payment, pending_charge):
        assert one["id"].isdigit()
        assert (one["actor"]["id"], one["target"]["user"]["id"], one["target"]["type"]) == (ids[MAYA], ids[SAM], "user")
        assert re.fullmatch(DATETIME, one["date_created"])
        assert parse_datetime(one["date_created"]) <= town.now
    assert parse_datetime(settled_payment["date_completed"]) >= parse_datetime(settled_payment["date_created"])
    assert pending_charge["date_completed"] is None


def test_the_balance_of_me(town: SandboxServer) -> None:
    """`balance` is a number of currency units and increases with incoming money."""
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
def test_endpoints_of_each_scope(town: SandboxServer, ids: dict[str, str], scope: str) -> None:
    """With a single scope only its endpoints succeed; all others return 403 without effect."""
    request = create_payment(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
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
def test_fields_of_optional_scopes(town: SandboxServer, scope: str, filled: str) -> None:
    """With access_profile, each optional scope fills its one field of /me, and of oneself in /users/:user_id."""
    token = town.token(MAYA, "access_profile", scope)
    me = send(town, "GET", "/me", token).body["data"]
    shown = {"balance": me["balance"], "email": me["user"]["email"], "phone": me["user"]["phone"]}
    assert {name for name, value in shown.items() if value is not None} == {filled}
    user = send(town, "GET", f"/users/{me['user']['id']}", token).body["data"]
    assert {name for name in ("email", "phone") if user[name] is not None} == {filled} - {"balance"}


# -- errors, and missing resources --------------------------------------------------------------------


def test_each_kind_of_error(town: SandboxServer, ids: dict[str, str]) -> None:
    """The HTTP status is the error's status; codes distinguish errors; the message is a readable sentence."""
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


def test_rate_limits_are_optional(town: SandboxServer) -> None:
    """By default a hundred consecutive requests succeed; a configured limit returns 429, 277 and Retry-After."""
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
def test_no_event_endpoints(town: SandboxServer, path: str) -> None:
    """Events, webhooks and notifications are not found."""
    for method in ("GET", "POST"):
        assert send(town, method, path, town.token(MAYA, *EVERY)).status == 404


def test_no_deprecation_headers(town: SandboxServer) -> None:
    """No answer has a header that announces a deprecation."""
    headers = send(town, "GET", "/me", town.token(MAYA)).headers
    assert not {name.lower() for name in headers} & {"deprecation", "sunset", "warning", "link"}


# -- shared -------------------------------------------------------------------------------------------


def parse_datetime(text: str) -> datetime:
    """Return a datetime of the document, with or without Z and fraction, as UTC."""
    assert re.fullmatch(DATETIME, text)
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


def friends_of(town: SandboxServer, user_id: str) -> list[Any]:
    """Return the friends of a user with fewer than fifty friends."""
    body = get(town, f"/users/{user_id}/friends", limit="50")
    assert body["pagination"]["next"] is None
    return list(body["data"])
