"""Each endpoint's fields, as the interface document lists them, and the scopes it asks for."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

USER = {
    "id", "username", "first_name", "last_name", "display_name", "date_joined", "profile_picture_url", "about",
    "email", "phone", "is_friend", "friends_count",
}  # fmt: skip
FRIEND = {"username", "about", "last_name", "display_name", "first_name", "profile_picture_url", "id"}
EMBEDDED = {
    "username", "first_name", "last_name", "display_name", "about", "profile_picture_url", "id", "date_joined",
}  # fmt: skip
LISTED = {
    "status", "date_completed", "target", "audience", "actor", "note", "amount", "action", "date_created", "id",
}  # fmt: skip
TARGET = {"type", "email", "phone", "user"}


def test_me_has_balance_and_user(ask: Asking, default_server: SandboxServer) -> None:
    """GET /me: data is a balance and a User with all 12 fields; is_friend is false as in the sample."""
    body = ask().get_body("/me")
    assert set(body) == {"data"}
    assert set(body["data"]) == {"balance", "user"}
    user = body["data"]["user"]
    assert set(user) == USER
    assert user["username"] == "maya-lindqvist"
    assert user["is_friend"] is False
    assert isinstance(user["id"], str)
    assert isinstance(user["friends_count"], int)


@pytest.mark.parametrize(
    ("scope", "field"), [("access_email", "email"), ("access_phone", "phone"), ("access_balance", "balance")]
)
def test_optional_scopes_fill_one_field_each(ask: Asking, scope: str, field: str) -> None:
    """Email, phone and balance are null, never omitted, unless the matching optional scope was granted."""

    def fields(*scopes: str) -> dict[str, object]:
        data = ask(None, "access_profile", *scopes).get_body("/me")["data"]
        return {"balance": data["balance"], "email": data["user"]["email"], "phone": data["user"]["phone"]}

    assert fields() == {"balance": None, "email": None, "phone": None}
    granted = fields(scope)
    assert granted.pop(field) is not None
    assert set(granted.values()) == {None}


def test_user_has_all_fields(ask: Asking, default_server: SandboxServer) -> None:
    """GET /users/:id: all 12 fields; is_friend is a boolean for others, and their email and phone stay null."""
    me, other = ask(), default_server.people[1]
    user = me.get_body(f"/users/{other.user_id}")["data"]
    assert set(user) == USER
    assert user["id"] == other.user_id
    assert isinstance(user["is_friend"], bool)
    assert (user["email"], user["phone"]) == (None, None)


def test_user_oneself(ask: Asking, default_server: SandboxServer) -> None:
    """GET /users/:id for oneself: is_friend is null, and the optional scopes fill email and phone."""
    user = ask().get_body(f"/users/{default_server.people[0].user_id}")["data"]
    assert user["is_friend"] is None
    assert user["email"] == "maya-lindqvist@example.com"
    assert user["phone"].startswith("1555")


def test_friends_items(ask: Asking, default_server: SandboxServer) -> None:
    """GET /users/:id/friends: seven fields an item, as many as friends_count says, all of them is_friend."""
    me = ask()
    mine = default_server.people[0].user_id
    body = me.get_body(f"/users/{mine}/friends", limit=50)
    assert set(body) == {"data", "pagination"}
    assert set(body["pagination"]) == {"next"}
    assert {frozenset(item) for item in body["data"]} == {frozenset(FRIEND)}
    assert len(body["data"]) == me.get_body("/me")["data"]["user"]["friends_count"]
    assert {me.get_body(f"/users/{item['id']}")["data"]["is_friend"] for item in body["data"]} == {True}
    strangers = {one.user_id for one in default_server.people} - {item["id"] for item in body["data"]} - {mine}
    assert {me.get_body(f"/users/{stranger}")["data"]["is_friend"] for stranger in strangers} == {False}


def test_listed_payments(ask: Asking) -> None:
    """GET /payments: exactly the ten fields of the samples, with full target and actor objects."""
    items = ask().list_payments()
    assert {frozenset(item) for item in items} == {frozenset(LISTED)}
    assert {frozenset(item["target"]) for item in items} == {frozenset(TARGET)}
    assert {frozenset(item["actor"]) for item in items} == {frozenset(EMBEDDED)}
    assert {frozenset(item["target"]["user"]) for item in items if item["target"]["user"]} == {frozenset(EMBEDDED)}


def test_single_payment_has_three_more_fields(ask: Asking) -> None:
    """GET /payments/:id: the listed fields with the same values, and fee, refund and medium."""
    me = ask()
    for item in me.get_body("/payments", limit=5)["data"]:
        single = me.get_body(f"/payments/{item['id']}")["data"]
        assert set(single) == LISTED | {"fee", "refund", "medium"}
        assert {name: single[name] for name in LISTED} == item
        assert single["medium"] in {"ios", "android", "web", "api"}


def test_signs_and_completion(ask: Asking) -> None:
    """Amounts are positive for a payment and negative for a charge; only pending payments are not completed."""
    for item in ask().list_payments():
        assert (item["amount"] < 0) is (item["action"] == "charge")
        assert (item["date_completed"] is None) is (item["status"] == "pending")


def test_amounts_are_exact_numbers(ask: Asking, default_server: SandboxServer) -> None:
    """An amount is a JSON number with the very digits of its cents, whatever a binary float would make of them."""
    cents = (1, 10, 29, 30, 115, 1_005, 12_345_678_901_234_567)
    with SandboxServer(years=1) as own:
        me = ask(on=own)
        ids = own.add_payments(own.viewer, [{"date_created": own.now, "amount_cents": amount} for amount in cents])
        texts = [me.get(f"/payments/{one}").text for one in ids]
        me.session.close()
    written = [text.partition('"amount":')[2].partition(",")[0] for text in texts]
    assert written == ["0.01", "0.10", "0.29", "0.30", "1.15", "10.05", "123456789012345.67"]


def test_targets(ask: Asking) -> None:
    """A user target has a user and no address, others no user; a pending email shows as null, a phone stays."""
    seen = set()
    for item in ask().list_payments():
        target = item["target"]
        if target["type"] == "user":
            assert (target["email"], target["phone"]) == (None, None)
            assert target["user"] is not None
        else:
            assert target["user"] is None
        seen.add((target["type"], item["status"] == "pending", target["email"], target["phone"]))
    assert ("email", True, None, None) in seen
    assert ("email", False, "old.address@example.net", None) in seen
    assert ("phone", True, None, "15555550142") in seen


def test_fee_and_refund(ask: Asking) -> None:
    """A fee is an object with its amount; an expired payment's refund is a whole payment with a null refund."""
    me = ask()
    items = me.list_payments()
    expired = next(item for item in items if item["status"] == "expired")
    single = me.get_body(f"/payments/{expired['id']}")["data"]
    assert set(single["refund"]) == LISTED | {"fee", "refund", "medium"}
    assert single["refund"]["refund"] is None
    assert single["refund"]["amount"] == expired["amount"] == Decimal("44.00")
    assert single["refund"]["target"]["user"] == expired["actor"]
    assert single["refund"]["id"] not in {item["id"] for item in items}
    assert me.get_body(f"/payments/{single['refund']['id']}")["data"] == single["refund"]
    van = next(item for item in items if item["note"].startswith("Moving van"))
    assert me.get_body(f"/payments/{van['id']}")["data"]["fee"] == {"amount": Decimal("2.10")}


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("/me", "access_profile"),
        ("/users/{id}", "access_profile"),
        ("/users/{id}/friends", "access_friends"),
        ("/payments", "access_profile"),
        ("/payments/{payment}", "access_profile"),
    ],
)
def test_each_endpoint_needs_its_scope(ask: Asking, default_server: SandboxServer, path: str, needed: str) -> None:
    """With its scope alone an endpoint answers; with every scope but that one it refuses: 403, code 260."""
    payment = ask().get_body("/payments", limit=1)["data"][0]["id"]
    path = path.format(id=default_server.people[0].user_id, payment=payment)
    every = {"access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments"}
    assert ask(None, needed).get(path).status_code == 200
    assert ask(None, *(every - {needed})).get_refusal(path) == (403, "260")


def test_all_three_spellings_of_datetimes(ask: Asking) -> None:
    """Datetimes occur with Z, without a zone, and with a fraction; each payment keeps to one."""
    spellings = set()
    for item in ask().list_payments():
        text = item["date_created"]
        spelling = "Z" if text.endswith("Z") else "fraction" if "." in text else "none"
        spellings.add(spelling)
        if item["date_completed"]:
            completed = item["date_completed"]
            assert ("Z" if completed.endswith("Z") else "fraction" if "." in completed else "none") == spelling
    assert spellings == {"Z", "none", "fraction"}
