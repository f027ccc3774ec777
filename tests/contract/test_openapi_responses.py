"""Responses of the sandbox, validated by its OpenAPI document."""

from typing import Any

import pytest
import requests
from contract.plain_http import EVERY
from contract.test_openapi import answer_schema_of, is_observed
from sandbox.oauth import consent, exchange

from p2p_analytics.sandbox import SandboxServer

TEST_USER, NOBODY = "145434160922624933", "999"


def check_answer(description: Any, path: str, method: str, response: requests.Response) -> Any:
    """Check an answer by the schema and the headers of its status; return its body."""
    from jsonschema import Draft202012Validator  # here, because importing it takes seconds

    described = description["paths"][path][method]["responses"]
    assert str(response.status_code) in described, response.text
    for name, header in described[str(response.status_code)]["headers"].items():
        assert response.headers[name] == header["schema"].get("const", response.headers[name])
    schema = answer_schema_of(description, path, method, response.status_code)
    Draft202012Validator({**schema, "components": description["components"]}).validate(response.json())
    return response.json()


def send(server: SandboxServer, method: str, path: str, scopes: tuple[str, ...] = EVERY, **more: Any) -> Any:
    """Send a request as the viewer, with a token in the header if scopes are given."""
    headers = {"Authorization": f"Bearer {server.token(server.viewer, *scopes)}"} if scopes else {}
    headers |= more.pop("headers", {})
    return requests.request(method, server.base_url + path, headers=headers, timeout=10, **more)


def test_answers_to_reads(dialect_server, description) -> None:
    """Successful reads are valid: each page of a history, and each of its payments alone."""
    for scopes in (EVERY, ("access_profile",)):
        check_answer(description, "/me", "get", send(dialect_server, "GET", "/me", scopes))
    for person in dialect_server.people:
        check_answer(description, "/users/{user_id}", "get", send(dialect_server, "GET", f"/users/{person.user_id}"))
        path = f"/users/{person.user_id}/friends?limit=2"
        check_answer(description, "/users/{user_id}/friends", "get", send(dialect_server, "GET", path))
    dialect_server.add_payments(dialect_server.viewer, [{"date_created": dialect_server.now, "fee_cents": 25}])
    path, found = "/payments?limit=50", []
    while path:
        page = check_answer(description, "/payments", "get", send(dialect_server, "GET", path))
        found += page["data"]
        path = (page["pagination"]["next"] or "").removeprefix(dialect_server.base_url)
    assert {one["status"] for one in found} == {"settled", "pending", "failed", "expired", "cancelled"}
    chosen = [one for place, one in enumerate(found) if place % 6 == 0 or one["status"] == "expired"]
    alone = [send(dialect_server, "GET", f"/payments/{one['id']}") for one in chosen]
    bodies = [check_answer(description, "/payments/{payment_id}", "get", one)["data"] for one in alone]
    assert any(one["fee"] for one in bodies)
    assert any(one["refund"] for one in bodies)


def test_answers_to_writes(dialect_server, description) -> None:
    """Payments of every outcome, with and without a balance, and each resolution have valid answers."""
    dialect_server.deposit(dialect_server.viewer, 10_000)
    other = dialect_server.people[1].user_id
    made = {}
    for name, target, amount, status in (
        ("paid", {"user_id": other}, "1", "settled"), ("failed", {"user_id": other}, "999999", "failed"),
        ("sent", {"email": "new@example.net"}, "0.30", "pending"), ("asked", {"user_id": other}, "-2", "pending"),
        ("called", {"phone": "4155550123"}, "-0.20", "pending"),
    ):  # fmt: skip
        for scopes in (EVERY, ("make_payments",)):
            data = {**target, "amount": amount, "note": name}
            answer = send(dialect_server, "POST", "/payments", scopes, data=data)
            body = check_answer(description, "/payments", "post", answer)
            made[name] = body["data"]["payment"]
            assert (made[name]["status"], body["data"]["balance"] is None) == (status, scopes != EVERY)
    for name in ("sent", "asked"):
        answer = send(dialect_server, "PUT", f"/payments/{made[name]['id']}", data={"action": "cancel"})
        body = check_answer(description, "/payments/{payment_id}", "put", answer)
        assert body["data"]["status"] == "cancelled"
        assert (body["data"]["refund"] is None) == (name == "asked")


def test_answers_to_exchanges(dialect_server, description) -> None:
    """Answers to a code, a refresh token and invalid ones are valid, with and without a profile."""
    viewer = dialect_server.viewer
    app = dialect_server.register_application(viewer, name="Mine", redirect_url="http://127.0.0.1/callback")

    def check(status: int, **fields: str) -> Any:
        response = exchange(dialect_server, app, **fields)
        assert response.status_code == status
        return check_answer(description, "/oauth/access_token", "post", response)

    for scopes in (EVERY, ("access_friends",)):
        code = consent(dialect_server, viewer, app, *scopes, kind="code")
        tokens = check(200, code=code)
        assert (tokens["user"] is None) == (scopes != EVERY and not is_observed(description))
        check(200, refresh_token=tokens["refresh_token"])
        check(400, code=code)
    for wrong in ({"code": "x"}, {"refresh_token": "x"}, {"grant_type": "password"}, {}):
        check(400, **wrong)
    for wrong in ({"client_id": "1"}, {"client_secret": "x"}):
        check(401, code="x", **wrong)


REFUSED = [
    # path, method, request, scopes of the token, status and code
    ("/me", "get", {}, (), 401, 267),
    ("/me", "get", {"params": {"access_token": "none"}}, (), 401, 261),
    ("/me", "get", {"params": {"access_token": "none"}}, EVERY, 400, 400),
    ("/me", "get", {"headers": {"Host": "example.net"}}, EVERY, 400, 400),
    ("/me", "get", {"data": b"x" * 70_000}, EVERY, 413, 413),
    ("/me", "get", {}, ("access_friends",), 403, 260),
    ("/users/{user_id}", "get", {"id": NOBODY}, EVERY, 404, 283),
    ("/users/{user_id}/friends", "get", {"id": NOBODY}, EVERY, 404, 283),
    ("/users/{user_id}/friends", "get", {"id": TEST_USER, "params": {"limit": "0"}}, EVERY, 400, 400),
    ("/users/{user_id}/friends", "get", {"id": TEST_USER}, ("access_profile",), 403, 260),
    ("/payments", "get", {"params": {"status": "odd"}}, EVERY, 400, 400),
    ("/payments/{payment_id}", "get", {"id": NOBODY}, EVERY, 404, 283),
    ("/payments/{payment_id}", "put", {"id": NOBODY, "data": {"action": "deny"}}, EVERY, 404, 283),
    ("/payments/{payment_id}", "put", {"id": NOBODY}, EVERY, 400, 241),
    ("/payments/{payment_id}", "put", {"id": NOBODY}, ("access_profile",), 403, 260),
    ("/payments", "post", {"data": {"email": "a@b.net", "note": "x"}}, EVERY, 400, 241),
    ("/payments", "post", {"data": {"email": "a@b.net", "note": "x", "amount": "0"}}, EVERY, 400, 1323),
    ("/payments", "post", {"data": {"email": "a@b.net", "note": "x", "amount": "1e7"}}, EVERY, 400, 1357),
    ("/payments", "post", {"data": {"note": "x", "amount": "1"}}, EVERY, 400, 1343),
    ("/payments", "post", {"json": {"user_id": NOBODY, "note": "x", "amount": 1}}, EVERY, 400, 1343),
    ("/payments", "post", {"json": {"email": "a@b.net", "amount": 1}}, EVERY, 400, 1355),
    ("/payments", "post", {"data": {"user_id": TEST_USER, "note": "x", "amount": "1"}}, EVERY, 400, 503),
    ("/payments", "post", {"data": {"user_id": TEST_USER, "note": "x", "amount": "0.30"}}, EVERY, 400, (503, 502)),
    ("/payments", "post", {"data": b"{", "headers": {"Content-Type": "application/json"}}, EVERY, 400, 400),
    ("/payments", "post", {}, (), 401, 267),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_answers_to_refused_requests(dialect_server, description, row: tuple[Any, ...]) -> None:
    """Each refusal has the documented status and code; as observed, 400 for not found and 502 for new users."""
    path, method, sent, scopes, status, code = row
    observed = is_observed(description)
    code = code[observed] if isinstance(code, tuple) else code
    given = dict(sent)
    address = path.partition("{")[0] + given.pop("id", "") + path.partition("}")[2]
    response = send(dialect_server, method.upper(), address, scopes, **given)
    body = check_answer(description, path, method, response)
    assert response.status_code == (400 if observed and status == 404 else status)
    assert body["error"]["code"] == (code if observed else str(code))


def test_refusals_of_a_request(dialect_server, description) -> None:
    """Paying oneself, resolving a closed or foreign payment, and approving without money have documented refusals."""
    me, other = dialect_server.people[:2]
    answer = send(dialect_server, "POST", "/payments", data={"user_id": me.user_id, "note": "x", "amount": "1"})
    assert str(check_answer(description, "/payments", "post", answer)["error"]["code"]) == "1356"
    writer = dialect_server.token(other.username, "make_payments")
    asked = {"user_id": me.user_id, "note": "x", "amount": "-900000", "access_token": writer}
    made = requests.post(f"{dialect_server.base_url}/payments", data=asked, timeout=10).json()["data"]["payment"]["id"]
    for action, token, status, code in (
        ("approve", writer, 403, "403"), ("deny", writer, 403, "403"), ("cancel", None, 403, "403"),
        ("approve", None, 409, "1319"), ("deny", None, 200, None), ("deny", None, 409, "409"),
        ("cancel", writer, 409, "409"),
    ):  # fmt: skip
        more = {"params": {"access_token": token}, "scopes": ()} if token else {}
        answer = send(dialect_server, "PUT", f"/payments/{made}", data={"action": action}, **more)
        body = check_answer(description, "/payments/{payment_id}", "put", answer)
        assert (answer.status_code, code and str(body["error"]["code"])) == (status, code)
