"""The service's description of itself: that it is OpenAPI, says what the document says, and is what the sandbox does.

Words, fields and limits stand here as literals, from the interface document; requests are plain HTTP.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
import requests
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
CALLBACK = "http://127.0.0.1/callback"
OPERATIONS = {
    ("/me", "get"), ("/users/{user_id}", "get"), ("/users/{user_id}/friends", "get"), ("/payments", "get"),
    ("/payments", "post"), ("/payments/{payment_id}", "get"), ("/payments/{payment_id}", "put"),
    ("/oauth/access_token", "post"),
}  # fmt: skip
OBSERVED = {"CurrentUser": {"friend_request", "trust_request"}, "Target": {"merchant", "redeemable_target"}}
PAGES = ("/v1/oauth/authorize", "/v1/oauth/sign-in", "/v1/oauth/consent", "/v1/account")


@pytest.fixture(scope="module", params=["documented", "observed"])
def server(request: pytest.FixtureRequest) -> Iterator[SandboxServer]:
    """Serve the same town in each dialect."""
    with SandboxServer(people=6, years=2, dialect=request.param) as running:
        yield running
        assert running.audit() == []


@pytest.fixture(scope="module")
def description(server: SandboxServer) -> Any:
    """Return the description as it is served: below the origin, without a token."""
    response = requests.get(server.base_url.removesuffix("/v1") + "/sandbox/openapi.json", timeout=10)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


def test_where_it_is_served(server: SandboxServer) -> None:
    """At the origin and not below /v1, by GET and HEAD; the service's own requests are counted apart from it."""
    origin, before = server.base_url.removesuffix("/v1"), len(server.requests)
    address = f"{origin}/sandbox/openapi.json"
    assert requests.head(address, timeout=10).status_code == 200
    refused = requests.post(address, timeout=10)
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")
    assert refused.json().keys() == {"error"}
    assert len(server.requests) == before
    assert requests.get(f"{server.base_url}/sandbox/openapi.json", timeout=10).status_code in (400, 404)


def schema_of(description: Any, name: str) -> Any:
    """Return a schema of the description by its name."""
    return description["components"]["schemas"][name]


def operation(description: Any, path: str, method: str) -> Any:
    """Return an operation of the description."""
    return description["paths"][path][method]


def schemas(part: Any) -> Iterator[Any]:
    """Yield everything that stands under `schema` or among the named schemas."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from value.values() if name == "schemas" else [value] if name == "schema" else schemas(value)
    elif isinstance(part, list):
        for one in part:
            yield from schemas(one)


def test_it_is_openapi(description: Any) -> None:
    """It is valid OpenAPI 3.1, its schemas are valid JSON Schemas, and everything it refers to is there."""
    assert description["openapi"].startswith("3.1.")
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(description)] == []
    assert len(list(schemas(description))) > 50
    for schema in schemas(description):
        Draft202012Validator.check_schema(schema)
    referred = {part.partition('"')[0] for part in json.dumps(description).split('"$ref": "')[1:]}
    assert {one.rpartition("/")[2] for one in referred} == set(description["components"]["schemas"])
    identifiers = [one["operationId"] for path in description["paths"].values() for one in path.values()]
    assert len(set(identifiers)) == len(identifiers)


def test_what_is_no_openapi_is_told() -> None:
    """The validator of these tests finds what is wrong: a document without paths, a parameter in no place."""
    assert not OPENAPI_31_VALIDATOR.is_valid({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}})
    path = {"get": {"parameters": [{"name": "x", "in": "nowhere", "schema": {}}], "responses": {}}}
    document = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {"/x": path}}
    assert not OPENAPI_31_VALIDATOR.is_valid(document)


def test_its_paths_are_those_that_are_served(server: SandboxServer, description: Any) -> None:
    """Paths and methods below /v1 are all that the application routes there, but for pages and HEAD."""
    (base,) = (one["url"] for one in description["servers"])
    assert base == server.base_url
    assert {(path, method) for path, methods in description["paths"].items() for method in methods} == OPERATIONS
    routes = server._application().app.routes
    served = {
        (route.path.removeprefix("/v1"), method.lower())
        for route in routes
        if route.path.startswith("/v1/") and not route.path.startswith(PAGES)
        for method in route.methods - {"HEAD"}
    }
    assert served == OPERATIONS


@pytest.mark.parametrize(
    ("path", "method", "scope", "parameters"),
    [
        ("/me", "get", "access_profile", ""),
        ("/users/{user_id}", "get", "access_profile", "user_id"),
        ("/users/{user_id}/friends", "get", "access_friends", "user_id before limit after"),
        ("/payments", "get", "access_profile", "action actor status limit after before"),
        ("/payments/{payment_id}", "get", "access_profile", "payment_id"),
        ("/payments", "post", "make_payments", ""),
        ("/payments/{payment_id}", "put", "make_payments", "payment_id"),
    ],
)
def test_scopes_and_parameters(description: Any, path: str, method: str, scope: str, parameters: str) -> None:
    """Each endpoint asks for the document's scope, as a parameter or a header, and takes the document's parameters."""
    found = operation(description, path, method)
    assert found["security"] == [{"oauth": [scope]}, {"access_token": [scope]}]
    assert {one["name"] for one in found.get("parameters", [])} == set(parameters.split())
    assert {one["name"] for one in found["parameters"] if one.get("required")} <= {"user_id", "payment_id"}


def test_how_the_token_is_had(server: SandboxServer, description: Any) -> None:
    """The token is `access_token` in the query, and comes of two flows with six scopes."""
    schemes = description["components"]["securitySchemes"]
    assert (schemes["access_token"]["in"], schemes["access_token"]["name"]) == ("query", "access_token")
    flows = schemes["oauth"]["flows"]
    assert set(flows) == {"implicit", "authorizationCode"}
    for flow in flows.values():
        assert set(flow["scopes"]) == set(EVERY)
        assert flow["authorizationUrl"] == f"{server.base_url}/oauth/authorize"
    assert flows["authorizationCode"]["tokenUrl"] == f"{server.base_url}/oauth/access_token"


@pytest.mark.parametrize(
    ("path", "method", "names"),
    [
        ("/payments", "post", "access_token user_id email phone note amount audience"),
        ("/payments/{payment_id}", "put", "access_token action"),
        ("/oauth/access_token", "post", "client_id client_secret code refresh_token grant_type redirect_uri"),
    ],
)
def test_fields_of_bodies(description: Any, path: str, method: str, names: str) -> None:
    """A body is a form, multipart or JSON, with the document's parameters."""
    content = operation(description, path, method)["requestBody"]["content"]
    assert set(content) == {"application/x-www-form-urlencoded", "multipart/form-data", "application/json"}
    for kind in content.values():
        ways = kind["schema"].get("anyOf", [kind["schema"]])
        assert {name for way in ways for name in way["properties"]} == set(names.split())


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "User",
            "id username first_name last_name display_name date_joined profile_picture_url about email phone is_friend \
            friends_count",
        ),
        ("Friend", "username about last_name display_name first_name profile_picture_url id"),
        ("EmbeddedUser", "username first_name last_name display_name about profile_picture_url id date_joined"),
        (
            "Payment",
            "id status note amount action date_created date_completed audience target actor fee refund medium",
        ),
        ("ListedPayment", "status date_completed target audience actor note amount action date_created id"),
        (
            "CurrentUser",
            "id username first_name last_name display_name date_joined profile_picture_url about email \
            phone is_friend friends_count",
        ),
        ("Target", "type email phone user"),
        ("Pagination", "next"),
    ],
)
def test_fields_of_answers(description: Any, name: str, fields: str) -> None:
    """Each resource has the document's fields; all are required, since none is ever omitted, and no others."""
    schema, more = schema_of(description, name), set()
    if "'observed'" in description["info"]["description"]:
        more = OBSERVED.get(name, set())
    assert set(schema["properties"]) - more == set(schema["required"]) - more == set(fields.split())
    assert more <= set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_words_and_limits(description: Any) -> None:
    """Closed words are the document's, a page has 20 items by default and 50 at most."""
    payment = schema_of(description, "Payment")["properties"]
    assert payment["status"]["enum"] == ["settled", "pending", "failed", "expired", "cancelled"]
    assert payment["action"]["enum"] == ["pay", "charge"]
    assert payment["audience"]["enum"] == ["public", "friends", "private"]
    assert schema_of(description, "Target")["properties"]["type"]["enum"] == ["email", "phone", "user"]
    if "documented" in description["info"]["description"]:
        assert payment["medium"]["enum"] == ["ios", "android", "web", "api"]
    for path in ("/payments", "/users/{user_id}/friends"):
        found = operation(description, path, "get")
        (limit,) = (one["schema"] for one in found["parameters"] if one["name"] == "limit")
        assert (limit["default"], limit["minimum"]) == (20, 1)
        assert answer_schema(description, path, "get", 200)["properties"]["data"]["maxItems"] == 50
    resolution = operation(description, "/payments/{payment_id}", "put")["requestBody"]["content"]
    for kind in resolution.values():
        assert kind["schema"]["properties"]["action"]["enum"] == ["approve", "deny", "cancel"]
    tokens = answer_schema(description, "/oauth/access_token", "post", 200)
    assert tokens["properties"]["expires_in"] == {"const": 5_184_000}


def test_too_many_requests(description: Any) -> None:
    """Every operation may be answered with 429, the code 277, and a Retry-After in whole seconds."""
    code = "277" if "'documented'" in description["info"]["description"] else 277
    for path, method in OPERATIONS:
        refusal = operation(description, path, method)["responses"]["429"]
        assert refusal["headers"]["Retry-After"]["schema"]["type"] == "integer"
        schema = answer_schema(description, path, method, 429)
        assert schema["properties"]["error"]["properties"]["code"]["enum"] == [code]


def answer_schema(description: Any, path: str, method: str, status: int) -> Any:
    """Return the schema of an answer."""
    answer = operation(description, path, method)["responses"][str(status)]
    return answer["content"]["application/json"]["schema"]


def check(description: Any, path: str, method: str, response: requests.Response) -> Any:
    """Hold an answer against the schema and the headers that are described for its status; return its body."""
    described = operation(description, path, method)["responses"]
    assert str(response.status_code) in described, response.text
    for name, header in described[str(response.status_code)]["headers"].items():
        assert name in response.headers
        assert response.headers[name] == header["schema"].get("const", response.headers[name])
    body = response.json()
    validator(description, path, method, response.status_code).validate(body)
    return body


def validator(description: Any, path: str, method: str, status: int) -> Draft202012Validator:
    """Return the validator of an answer."""
    schema = answer_schema(description, path, method, status)
    return Draft202012Validator({**schema, "components": description["components"]})


def send(server: SandboxServer, method: str, path: str, scopes: tuple[str, ...] = EVERY, **more: Any) -> Any:
    """Ask as the viewer, with a token in the header where there are scopes."""
    headers = {"Authorization": f"Bearer {server.token(server.viewer, *scopes)}"} if scopes else {}
    headers |= more.pop("headers", {})
    return requests.request(method, server.base_url + path, headers=headers, timeout=10, **more)


def test_answers_to_reads(server: SandboxServer, description: Any) -> None:
    """Every read that succeeds is answered as described: each page of a history, and each payment in it alone."""
    for scopes in (EVERY, ("access_profile",)):
        check(description, "/me", "get", send(server, "GET", "/me", scopes))
    for person in server.people:
        check(description, "/users/{user_id}", "get", send(server, "GET", f"/users/{person.user_id}"))
        path = f"/users/{person.user_id}/friends?limit=2"
        check(description, "/users/{user_id}/friends", "get", send(server, "GET", path))
    server.add_payments(server.viewer, [{"date_created": server.now, "amount_cents": 100, "fee_cents": 25}])
    path, found = "/payments?limit=50", []
    while path:
        page = check(description, "/payments", "get", send(server, "GET", path))
        found += page["data"]
        path = (page["pagination"]["next"] or "").removeprefix(server.base_url)
    assert {one["status"] for one in found} == {"settled", "pending", "failed", "expired", "cancelled"}
    alone = [send(server, "GET", f"/payments/{one['id']}") for one in found[::3]]
    bodies = [check(description, "/payments/{payment_id}", "get", one)["data"] for one in alone]
    assert any(one["fee"] for one in bodies)
    assert any(one["refund"] for one in bodies)


def test_answers_to_writes(server: SandboxServer, description: Any) -> None:
    """Payments of every outcome, with and without a balance, and each way to end one, are answered as described."""
    server.deposit(server.viewer, 10_000)
    other = server.people[1].user_id
    made = {}
    for name, target, amount, status in (
        ("paid", {"user_id": other}, "1", "settled"), ("failed", {"user_id": other}, "999999", "failed"),
        ("sent", {"email": "new@example.net"}, "0.30", "pending"), ("asked", {"user_id": other}, "-2", "pending"),
        ("called", {"phone": "4155550123"}, "-0.20", "pending"),
    ):  # fmt: skip
        for scopes in (EVERY, ("make_payments",)):
            data = {**target, "amount": amount, "note": name}
            body = check(description, "/payments", "post", send(server, "POST", "/payments", scopes, data=data))
            made[name] = body["data"]["payment"]
            assert made[name]["status"] == status
    for name in ("sent", "asked"):
        answer = send(server, "PUT", f"/payments/{made[name]['id']}", data={"action": "cancel"})
        body = check(description, "/payments/{payment_id}", "put", answer)
        assert body["data"]["status"] == "cancelled"
        assert (body["data"]["refund"] is None) == (name == "asked")


def test_answers_to_exchanges(server: SandboxServer, description: Any) -> None:
    """A code and a refresh token are answered as described, with and without a profile; wrong ones too.

    As observed, the user is there without a profile too.
    """
    observed = "'observed'" in description["info"]["description"]
    app = server.register_application(server.viewer, name="Mine", redirect_url=CALLBACK)
    client = {"client_id": app.client_id, "client_secret": app.client_secret}

    def exchange(**fields: str) -> Any:
        response = requests.post(f"{server.base_url}/oauth/access_token", data={**client, **fields}, timeout=10)
        return response.status_code, check(description, "/oauth/access_token", "post", response)

    for scopes in (EVERY, ("access_friends",)):
        url = server.authorize_url(*scopes, client_id=app.client_id, response_type="code")
        code = server.sign_in(url, server.viewer).rpartition("code=")[2]
        status, tokens = exchange(code=code)
        assert (status, tokens["user"] is None) == (200, scopes != EVERY and not observed)
        assert exchange(refresh_token=tokens["refresh_token"])[0] == 200
        assert exchange(code=code)[0] == 400
    for wrong, status in (
        ({"code": "x"}, 400), ({"refresh_token": "x"}, 400), ({"grant_type": "password"}, 400), ({}, 400),
        ({"client_id": "1", "code": "x"}, 401), ({"client_secret": "x", "code": "x"}, 401),
    ):  # fmt: skip
        assert exchange(**wrong)[0] == status


TEST_USER, NOBODY = "145434160922624933", "999"
REFUSED = [
    # path, method, what is sent, the scopes of the token, status and code
    ("/me", "get", {}, (), 401, 267),
    ("/me", "get", {"params": {"access_token": "none"}}, (), 401, 261),
    ("/me", "get", {"params": {"access_token": "none"}}, EVERY, 400, 400),
    ("/me", "get", {"headers": {"Host": "example.net"}}, EVERY, 400, 400),
    ("/me", "get", {"data": b"x" * 70_000}, EVERY, 413, 413),
    ("/me", "get", {}, ("access_friends",), 403, 260),
    ("/users/{user_id}", "get", {"id": NOBODY}, EVERY, 404, 283),
    ("/users/{user_id}", "get", {"id": "x"}, EVERY, 404, 283),
    ("/users/{user_id}/friends", "get", {"id": NOBODY}, EVERY, 404, 283),
    ("/users/{user_id}/friends", "get", {"id": TEST_USER, "params": {"limit": "0"}}, EVERY, 400, 400),
    ("/users/{user_id}/friends", "get", {"id": TEST_USER}, ("access_profile",), 403, 260),
    ("/payments", "get", {"params": {"before": "2024-02-30"}}, EVERY, 400, 400),
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
def test_answers_to_what_is_refused(server: SandboxServer, description: Any, row: tuple[Any, ...]) -> None:
    """Each refusal has its status and code, as described; as observed, what is not found is 400, and 502 is its own."""
    path, method, sent, scopes, status, code = row
    observed = "'observed'" in description["info"]["description"]
    code = code[observed] if isinstance(code, tuple) else code
    given = dict(sent)
    address = path.partition("{")[0] + given.pop("id", "") + path.partition("}")[2]
    response = send(server, method.upper(), address, scopes, **given)
    body = check(description, path, method, response)
    assert response.status_code == (400 if observed and status == 404 else status)
    assert body["error"]["code"] == (code if observed else str(code))


def test_own_and_closed_payments(server: SandboxServer, description: Any) -> None:
    """Paying oneself, ending what has ended, what is another's to end, and approving without money: as described."""
    me, other = server.people[:2]
    answer = send(server, "POST", "/payments", data={"user_id": me.user_id, "note": "x", "amount": "1"})
    assert str(check(description, "/payments", "post", answer)["error"]["code"]) == "1356"
    asked = {"user_id": me.user_id, "note": "x", "amount": "-900000"}
    asked["access_token"] = server.token(other.username, "make_payments")
    payment = requests.post(f"{server.base_url}/payments", data=asked, timeout=10).json()["data"]["payment"]["id"]
    for action, status, code in (
        ("cancel", 403, "403"), ("approve", 409, "1319"), ("deny", 200, None), ("deny", 409, "409"),
    ):  # fmt: skip
        answer = send(server, "PUT", f"/payments/{payment}", data={"action": action})
        body = check(description, "/payments/{payment_id}", "put", answer)
        assert answer.status_code == status
        assert code is None or str(body["error"]["code"]) == code


def test_a_schema_refuses_what_is_not_so(server: SandboxServer, description: Any) -> None:
    """A field more or less, anywhere in an answer, is no answer as described."""
    newest = send(server, "GET", "/payments?limit=1").json()["data"][0]["id"]
    for path, address in (
        ("/me", "/me"), ("/payments", "/payments?limit=1"), ("/payments/{payment_id}", f"/payments/{newest}"),
    ):  # fmt: skip
        body, judge = send(server, "GET", address).json(), validator(description, path, "get", 200)
        assert judge.is_valid(body)
        for steps in places(body):
            for change in ("remove", "add"):
                other = copy.deepcopy(body)
                parent = other
                for step in steps[:-1]:
                    parent = parent[step]
                if change == "remove":
                    del parent[steps[-1]]
                else:
                    parent[f"{steps[-1]}_"] = parent[steps[-1]]
                assert not judge.is_valid(other), (steps, change)


def places(part: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each field of each object in a body."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield (*above, name)
            yield from places(value, (*above, name))
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from places(value, (*above, number))


def test_each_error_code_of_a_payment_is_listed_once(server: SandboxServer, description: Any) -> None:
    """The documented dialect lists 503 alone for amounts to the test user, the observed one 502 beside it."""
    refused = description["paths"]["/payments"]["post"]["responses"]["400"]["description"]
    counts = {code: refused.count(f"{code}: ") for code in ("502", "503")}
    assert counts == {"502": int(server.state()["dialect"] == "observed"), "503": 1}
