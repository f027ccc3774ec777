"""Answers of the sandbox over HTTP, compared with literals from the interface document.

The requests are plain HTTP, without vocabulary or client.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

import pytest

from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from p2p_analytics.sandbox import SandboxServer

USER = {
    "id",
    "username",
    "first_name",
    "last_name",
    "display_name",
    "date_joined",
    "profile_picture_url",
    "about",
    "email",
    "phone",
    "is_friend",
    "friends_count",
}
FRIEND = {"username", "about", "last_name", "display_name", "first_name", "profile_picture_url", "id"}
EMBEDDED = {"username", "first_name", "last_name", "display_name", "about", "profile_picture_url", "id", "date_joined"}
LISTED = {"status", "date_completed", "target", "audience", "actor", "note", "amount", "action", "date_created", "id"}
PAYMENT = LISTED | {"fee", "refund", "medium"}
DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z?")


two_year_server = sandbox_fixture(seed=5, years=2)


def get_answer(server: SandboxServer, path: str, scopes: str = "", **query: str) -> tuple[int, dict[str, Any]]:
    """Return the status and body of a GET as the viewer, with these scopes or all scopes for reading."""
    token = server.token(server.viewer, *scopes.split())
    address = f"{server.base_url}{path}?{urlencode(query | {'access_token': token})}"
    try:
        with urlopen(address, timeout=20) as answer:  # noqa: S310 - loopback
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.fixture(scope="module")
def payments(two_year_server: SandboxServer) -> list[dict[str, Any]]:
    """Return some pages of the list of payments."""
    found: list[dict[str, Any]] = []
    query = {"limit": "50"}
    while query:
        body = get_answer(two_year_server, "/payments", **query)[1]
        found += body["data"]
        following = body["pagination"]["next"]
        query = {name: values[0] for name, values in parse_qs(urlsplit(following).query).items()} if following else {}
    return found


def test_me(two_year_server: SandboxServer) -> None:
    """`data` has balance and user, with every field."""
    status, body = get_answer(two_year_server, "/me")
    assert status == 200
    assert body.keys() == {"data"}
    assert body["data"].keys() == {"balance", "user"}
    assert body["data"]["user"].keys() == USER


def test_optional_scopes(two_year_server: SandboxServer) -> None:
    """Email, phone and balance are null, not missing, without their own scope."""
    for scopes, filled in (
        ("access_profile", set()),
        ("access_profile access_email", {"email"}),
        ("access_profile access_phone", {"phone"}),
        ("access_profile access_balance", {"balance"}),
    ):
        data = get_answer(two_year_server, "/me", scopes)[1]["data"]
        shown = {"balance": data["balance"], "email": data["user"]["email"], "phone": data["user"]["phone"]}
        assert {name for name, value in shown.items() if value is not None} == filled


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/me", "access_profile"),
        ("/users/{id}", "access_profile"),
        ("/users/{id}/friends", "access_friends"),
        ("/payments", "access_profile"),
        ("/payments/{payment}", "access_profile"),
    ],
)
def test_scopes(two_year_server: SandboxServer, payments: list[dict[str, Any]], path: str, scope: str) -> None:
    """Each endpoint succeeds with its scope and is refused with every other one."""
    path = path.format(id=two_year_server.people[0].user_id, payment=payments[0]["id"])
    assert get_answer(two_year_server, path, scope)[0] == 200
    others = {"access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments"} - {
        scope
    }
    status, body = get_answer(two_year_server, path, " ".join(sorted(others)))
    assert status == 403
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"message", "code"}


def test_another_user(two_year_server: SandboxServer) -> None:
    """`data` is a User with all its fields."""
    body = get_answer(two_year_server, f"/users/{two_year_server.people[1].user_id}")[1]
    assert body.keys() == {"data"}
    assert body["data"].keys() == USER
    assert body["data"]["id"] == two_year_server.people[1].user_id


def test_friends(two_year_server: SandboxServer) -> None:
    """`data` and `pagination`; an item has the seven fields of its subset."""
    body = get_answer(two_year_server, f"/users/{two_year_server.people[0].user_id}/friends")[1]
    assert body.keys() == {"data", "pagination"}
    assert body["data"]
    assert all(friend.keys() == FRIEND for friend in body["data"])


def test_listed_payments(payments: list[dict[str, Any]]) -> None:
    """A listed payment has ten fields, an actor of eight, and a target of one of three kinds."""
    assert payments
    for item in payments:
        assert item.keys() == LISTED
        assert item["actor"].keys() == EMBEDDED
        assert item["target"].keys() == {"type", "email", "phone", "user"}
        assert item["target"]["type"] in {"email", "phone", "user"}
        assert item["status"] in {"settled", "pending", "failed", "expired", "cancelled"}
        assert item["action"] in {"pay", "charge"}
        assert item["audience"] in {"public", "friends", "private"}
        assert (item["amount"] > 0) == (item["action"] == "pay")
        assert (item["date_completed"] is None) >= (item["status"] == "pending")
        if item["target"]["user"] is not None:
            assert item["target"]["user"].keys() == EMBEDDED
            assert item["target"]["email"] is item["target"]["phone"] is None


def test_every_word_and_form_occurs(payments: list[dict[str, Any]]) -> None:
    """The town has all statuses, both actions, and datetimes with Z, without Z, and with fractions."""
    assert {item["status"] for item in payments} == {"settled", "pending", "failed", "expired", "cancelled"}
    assert {item["action"] for item in payments} == {"pay", "charge"}
    created = [item["date_created"] for item in payments]
    assert all(DATETIME.fullmatch(text) for text in created)
    assert {(text.endswith("Z"), "." in text) for text in created} >= {(True, False), (False, False), (False, True)}


def test_one_payment(two_year_server: SandboxServer, payments: list[dict[str, Any]]) -> None:
    """`data` is a payment with all thirteen fields and one of four media, without a balance."""
    for item in payments[:10]:
        body = get_answer(two_year_server, f"/payments/{item['id']}")[1]
        assert body.keys() == {"data"}
        assert body["data"].keys() == PAYMENT
        assert body["data"]["medium"] in {"ios", "android", "web", "api"}
        assert {name: body["data"][name] for name in ("id", "amount", "note", "status")} == {
            name: item[name] for name in ("id", "amount", "note", "status")
        }


@pytest.mark.parametrize(("limit", "size"), [(None, 20), ("1", 1), ("50", 50), ("1000", 50)])
def test_page_sizes(two_year_server: SandboxServer, limit: str | None, size: int) -> None:
    """20 by default, 50 at most."""
    assert len(get_answer(two_year_server, "/payments", **({"limit": limit} if limit else {}))[1]["data"]) == size


def test_next_links(two_year_server: SandboxServer) -> None:
    """A next link is an absolute URL of the same list, with the request's filters and without the token."""
    following = get_answer(two_year_server, "/payments", status="settled,pending", action="charge", limit="3")[1][
        "pagination"
    ]["next"]
    query = parse_qs(urlsplit(following).query)
    assert following.startswith(f"{two_year_server.base_url}/payments?")
    assert "access_token" not in following
    assert (query["status"], query["action"], query["limit"]) == (["settled,pending"], ["charge"], ["3"])
    assert "before" in query


@pytest.mark.parametrize("path", ["/nothing", "/payments/1", "/users/1"])
def test_errors_have_the_envelope(two_year_server: SandboxServer, path: str) -> None:
    """A missing resource returns {error: {message, code}}, both text."""
    status, body = get_answer(two_year_server, path)
    assert 400 <= status < 500
    assert body.keys() == {"error"}
    assert {type(value) for value in body["error"].values()} == {str}
    assert body["error"].keys() == {"message", "code"}
