"""Resources, scopes, lists and tokens of the interface document, tested on the sandbox over plain HTTP.

Requests are plain HTTP, without vocabulary or client, except for rules about clients.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from contract.plain_http import EVERY, FIELDS, MAYA, SAM, create_payment, get, send

from p2p_analytics.client import Client
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z?")
USER, FRIEND, EMBEDDED, PAYMENT, LISTED, TARGET = (
    set(FIELDS[name].split()) for name in ("User", "Friend", "EmbeddedUser", "Payment", "ListedPayment", "Target")
)

town = sandbox_fixture(people=9, years=1)


@pytest.fixture(scope="module")
def ids(town) -> dict[str, str]:
    """Return the user id of each username."""
    return {one.username: one.user_id for one in town.people}


@pytest.fixture(scope="module")
def payments(town) -> list[Any]:
    """Return all payments of maya, as listed."""
    found, query = [], {"limit": "50"}
    while query:
        body = get(town, "/payments", **query)
        found += body["data"]
        link = body["pagination"]["next"]
        query = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()} if link else {}
    return found


@pytest.fixture(scope="module")
def settled_payment(town, ids) -> Any:
    """Return a settled payment of 12.30, as returned by GET /payments/:payment."""
    town.deposit(MAYA, 100_000)
    made = create_payment(town, user_id=ids[SAM], amount="12.30", audience="friends")["payment"]
    return get(town, f"/payments/{made['id']}")["data"]


def requests_of(ids: dict[str, str], payment: str) -> dict[str, tuple[str, str, dict[str, str]]]:
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


def _friends_of(town: SandboxServer, user_id: str) -> list[Any]:
    return list(get(town, f"/users/{user_id}/friends", limit="50")["data"])


def test_answers_are_json_with_data(town, ids) -> None:
    """All seven endpoints with a token return JSON with `data`; only the two lists have `pagination`."""
    request = create_payment(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
    paged = set()
    for name, (method, path, fields) in requests_of(ids, request).items():
        answer = send(town, method, path, town.token(MAYA, *EVERY), **fields)
        assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, "application/json"), name
        assert set(answer.body) - {"pagination"} == {"data"}
        paged |= {name} if "pagination" in answer.body else set()
    assert paged == {"GET /payments", "GET /users/:user_id/friends"}


def test_paths_without_a_token_or_version(town, ids) -> None:
    """Each documented path below /v1 is 401 without a token; without /v1, and in /v2, it is 404."""
    for method, path, fields in requests_of(ids, "1").values():
        assert send(town, method, path, None, **fields).status == 401
        for prefix in ("", "/v2"):
            url = town.base_url.removesuffix("/v1") + prefix + path
            assert requests.request(method, url, timeout=10).status_code == 404
    assert send(town, "GET", "/oauth/authorize", None).status == 400


def test_sandboxes_are_independent(ids) -> None:
    """A payment on one sandbox changes no balance and no list of another one."""
    with SandboxServer(people=9, years=1) as test, SandboxServer(people=9, years=1) as real:
        before = [get(real, path) for path in ("/me", "/payments")]
        assert [get(test, path)["data"] for path in ("/me", "/payments")] == [body["data"] for body in before]
        test.deposit(MAYA, 1_000)
        assert create_payment(test, user_id=ids[SAM], amount="5")["payment"]["status"] == "settled"
        assert [get(real, path) for path in ("/me", "/payments")] == before
        assert get(test, "/me") != before[0]


def test_a_client_uses_https_off_this_machine(town) -> None:
    """The client refuses plain http except to loopback, and sends nothing."""
    token = town.token(MAYA)
    for host in ("192.0.2.1", "service.example", "127.0.0.1.example"):
        with pytest.raises(ConfigurationError, match="https"):
            Client(token, base_url=f"http://{host}/v1", cache_dir=False)
    with Client(token, base_url=town.base_url, cache_dir=False) as client:
        assert client.me().user.id == get(town, "/me")["data"]["user"]["id"]


def test_the_fields_of_a_user(town, ids) -> None:
    """/me and /users/:user_id have the user's values; is_friend of oneself is null, and false in the sample of /me."""
    data = get(town, "/me")["data"]
    user = data["user"]
    assert set(data) == {"balance", "user"}
    assert parse_datetime(user["date_joined"]) < town.now
    assert urlsplit(user["profile_picture_url"]).scheme == "https"
    assert re.fullmatch(r"1555\d{7}", user["phone"])
    assert {name: user[name] for name in USER - {"date_joined", "profile_picture_url", "phone"}} == {
        "id": ids[MAYA], "username": "maya-lindqvist", "first_name": "Maya", "last_name": "Lindqvist",
        "display_name": "Maya Lindqvist", "about": "Splits everything. Sourdough and bikes.",
        "email": "maya-lindqvist@example.com", "is_friend": False, "friends_count": len(_friends_of(town, ids[MAYA])),
    }  # fmt: skip
    assert get(town, f"/users/{ids[MAYA]}")["data"] == user | {"is_friend": None}


def test_is_friend(town, ids) -> None:
    """True for a friend, false for a stranger, and the addresses of both are null."""
    mine = {item["id"] for item in _friends_of(town, ids[MAYA])}
    for user_id in set(ids.values()) - {ids[MAYA]}:
        user = get(town, f"/users/{user_id}")["data"]
        assert (user["is_friend"], user["email"], user["phone"]) == (user_id in mine, None, None)


def test_subsets_agree_with_the_user(town, ids, settled_payment) -> None:
    """A friend, and the actor and target of a payment, have the values of /users/:user_id."""
    for user in (*_friends_of(town, ids[MAYA]), settled_payment["actor"], settled_payment["target"]["user"]):
        whole = get(town, f"/users/{user['id']}")["data"]
        assert user == {name: whole[name] for name in user}


def test_the_fields_of_a_payment(town, ids, settled_payment) -> None:
    """Values of the request; amounts are positive for a payment, negative for a charge; what has no value is null."""
    paid = {
        "status": "settled", "note": "lunch", "amount": Decimal("12.30"), "action": "pay", "audience": "friends",
        "fee": None, "refund": None, "medium": "api",
    }  # fmt: skip
    made = create_payment(town, user_id=ids[SAM], amount="-4.50")["payment"]
    pending_charge = get(town, f"/payments/{made['id']}")["data"]
    charged = {"status": "pending", "amount": Decimal("-4.50"), "action": "charge", "audience": "private"}
    for one, expected in ((settled_payment, paid), (pending_charge, paid | charged)):
        assert {name: one[name] for name in paid} == expected
        assert one["id"].isdigit()
        assert (one["actor"]["id"], one["target"]["user"]["id"]) == (ids[MAYA], ids[SAM])
        assert (one["target"]["type"], one["target"]["email"], one["target"]["phone"]) == ("user", None, None)
        assert parse_datetime(one["date_created"]) <= town.now
        item = next(item for item in get(town, "/payments", limit="50")["data"] if item["id"] == one["id"])
        assert item == {name: one[name] for name in LISTED}
    assert parse_datetime(settled_payment["date_completed"]) >= parse_datetime(settled_payment["date_created"])
    assert pending_charge["date_completed"] is None


def test_every_word_and_form_occurs(town, payments) -> None:
    """Lists have all words, datetimes with Z, without and with a fraction, and a completion unless they are pending."""
    assert {item["status"] for item in payments} == {"settled", "pending", "failed", "expired", "cancelled"}
    assert {item["action"] for item in payments} == {"pay", "charge"}
    assert {item["audience"] for item in payments} == {"public", "friends", "private"}
    forms = set()
    for item in payments:
        assert (item["amount"] < 0) is (item["action"] == "charge")
        assert (item["date_completed"] is None) is (item["status"] == "pending")
        texts = [text for text in (item["date_created"], item["date_completed"]) if text]
        assert all(DATETIME.fullmatch(text) for text in texts)
        (form,) = {(text.endswith("Z"), "." in text) for text in texts}  # each payment has one form
        forms.add(form)
    assert forms == {(True, False), (False, False), (False, True)}
    media = {get(town, f"/payments/{item['id']}")["data"]["medium"] for item in payments[:10]}
    assert media <= {"ios", "android", "web", "api"}


def test_fee_and_refund(town, payments) -> None:
    """A fee is an object with its amount; an expired payment's refund is a whole payment with a null refund."""
    expired = next(item for item in payments if item["status"] == "expired")
    refund = get(town, f"/payments/{expired['id']}")["data"]["refund"]
    assert set(refund) == PAYMENT
    assert (refund["refund"], refund["amount"], expired["amount"]) == (None, Decimal("44.00"), Decimal("44.00"))
    assert refund["target"]["user"] == expired["actor"]
    assert refund["id"] not in {item["id"] for item in payments}
    assert get(town, f"/payments/{refund['id']}")["data"] == refund
    van = next(item for item in payments if item["note"].startswith("Moving van"))
    assert get(town, f"/payments/{van['id']}")["data"]["fee"] == {"amount": Decimal("2.10")}


GRANTS = {
    "access_profile": {"GET /me", "GET /users/:user_id", "GET /payments", "GET /payments/:payment"},
    "access_email": set(),
    "access_phone": set(),
    "access_balance": set(),
    "access_friends": {"GET /users/:user_id/friends"},
    "make_payments": {"POST /payments", "PUT /payments/:payment"},
}


@pytest.mark.parametrize("scope", GRANTS)
def test_endpoints_of_each_scope(town, ids, scope: str) -> None:
    """Endpoints succeed with their scope alone, and are refused with all others: 403, code 260, without effect."""
    request = create_payment(town, user_id=ids[SAM], amount="-1")["payment"]["id"]
    others = town.token(MAYA, *(set(EVERY) - {scope}))
    token, served = town.token(MAYA, scope), set()
    for name, (method, path, fields) in requests_of(ids, request).items():
        if name in GRANTS[scope]:
            refused = send(town, method, path, others, **fields)
            assert (refused.status, refused.body["error"]["code"]) == (403, "260")
        status = send(town, method, path, token, **fields).status
        assert status in (200, 403)
        served |= {name} if status == 200 else set()
    assert served == GRANTS[scope]
    status = get(town, f"/payments/{request}")["data"]["status"]
    assert status == ("cancelled" if scope == "make_payments" else "pending")


@pytest.mark.parametrize(
    ("scope", "filled"),
    [("access_email", {"email"}), ("access_phone", {"phone"}), ("access_balance", {"balance"}), ("", set())],
)
def test_fields_of_optional_scopes(town, scope: str, filled: set[str]) -> None:
    """With access_profile, each optional scope fills its one field of /me and /users/:user_id; the others are null."""
    token = town.token(MAYA, "access_profile", *([scope] if scope else []))
    me = send(town, "GET", "/me", token).body["data"]
    shown = {"balance": me["balance"], "email": me["user"]["email"], "phone": me["user"]["phone"]}
    assert {name for name, value in shown.items() if value is not None} == filled
    user = send(town, "GET", f"/users/{me['user']['id']}", token).body["data"]
    assert {name for name in ("email", "phone") if user[name] is not None} == filled - {"balance"}


def test_rate_limits_are_optional(town) -> None:
    """By default fifty consecutive requests succeed, and no header names a limit."""
    token = town.token(MAYA)
    answers = [send(town, "GET", "/me", token) for _ in range(50)]
    assert {answer.status for answer in answers} == {200}
    assert not [name for name in answers[-1].headers if "ratelimit" in name.lower() or name == "Retry-After"]


def test_neither_events_nor_deprecations(town) -> None:
    """Events, webhooks and notifications are not found, and no header announces a deprecation."""
    token = town.token(MAYA, *EVERY)
    for path in ("/events", "/webhooks", "/notifications"):
        assert [send(town, method, path, token).status for method in ("GET", "POST")] == [404, 404]
    headers = {name.lower() for name in send(town, "GET", "/me", token).headers}
    assert not headers & {"deprecation", "sunset", "warning", "link"}


def parse_datetime(text: str) -> datetime:
    """Return a datetime of the document, with or without Z and fraction, as UTC."""
    assert DATETIME.fullmatch(text)
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def crowd() -> Iterator[SandboxServer]:
    """Run a town of sixty people, all of them friends of maya."""
    with SandboxServer(people=60, years=1) as server:
        maya, *others = (int(one.user_id) for one in server.people)
        with server.store.writing() as connection:
            pairs = [pair for other in others for pair in ((maya, other), (other, maya))]
            connection.executemany("INSERT OR IGNORE INTO friendships VALUES (?, ?)", pairs)
        yield server


@pytest.mark.parametrize(
    ("limit", "size"), [({}, 20), ({"limit": "3"}, 3), ({"limit": "50"}, 50), ({"limit": "51"}, 50)]
)
def test_page_sizes_of_both_lists(crowd, limit: dict[str, str], size: int) -> None:
    """Payments and friends have 20 items per page by default, `limit` on request, and at most 50."""
    for path in ("/payments", f"/users/{crowd.people[0].user_id}/friends"):
        body = get(crowd, path, **limit)
        assert len(body["data"]) == size
        assert body["pagination"]["next"] is not None


def test_next_links_need_the_token_appended(crowd) -> None:
    """A next link without the token is 401, with `&access_token=` it is the next page; friends use `after`."""
    mine = crowd.people[0].user_id
    token = crowd.token(MAYA, *EVERY)
    for path, continued in (("/payments", "before"), (f"/users/{mine}/friends", "after")):
        first = get(crowd, path, limit="30")
        link = first["pagination"]["next"]
        assert set(parse_qs(urlsplit(link).query)) == {continued, "limit"}
        assert requests.get(link, timeout=10).status_code == 401
        second = requests.get(f"{link}&access_token={token}", timeout=10).json()
        seen, more = ({item["id"] for item in page["data"]} for page in (first, second))
        assert more
        assert not seen & more
    assert len(seen | more) == 59


@pytest.mark.parametrize("space", ["%20", "+"])
def test_a_token_of_the_client_side_flow(space: str) -> None:
    """Scopes are separated by an encoded space; after consent, `access_token` is valid for exactly 30 minutes."""
    time = [1_000_000_000.0]
    with SandboxServer(people=3, years=1, clock=lambda: time[0]) as own:
        scopes = f"access_profile{space}access_email"
        landed = own.sign_in(f"{own.base_url}/oauth/authorize?client_id={own.client_id}&scope={scopes}", own.viewer)
        assert landed.startswith("http://127.0.0.1/callback?access_token=")
        (token,) = parse_qs(urlsplit(landed).query)["access_token"]
        assert send(own, "GET", "/me", token).body["data"]["user"]["email"] is not None
        time[0] += 30 * 60 - 1
        assert send(own, "GET", "/me", token).status == 200
        time[0] += 1
        assert send(own, "GET", "/me", token).status == 401


def test_display_name_of_a_business(town, ids) -> None:
    """`display_name` of a business is its name, not first and last name."""
    cafe = get(town, f"/users/{ids['bean-and-leaf']}")["data"]
    names = [cafe[name] for name in ("first_name", "last_name", "display_name")]
    assert names == ["Bean & Leaf", "", "Bean & Leaf Café"]


def test_targets_of_lists(payments) -> None:
    """A user target has no address; a pending email is null, a closed one shown, a phone stays."""
    targets = [(one["target"], one["status"] == "pending") for one in payments]
    seen = {(each["type"], is_pending, each["email"], each["phone"]) for each, is_pending in targets}
    assert all((each["user"] is not None) is (each["type"] == "user") for each, _ in targets)
    assert {one[2:] for one in seen if one[0] == "user"} == {(None, None)}
    assert seen >= {
        ("email", True, None, None),
        ("email", False, "old.address@example.net", None),
        ("phone", True, None, "15555550142"),
    }
