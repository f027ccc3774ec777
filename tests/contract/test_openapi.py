"""OpenAPI document of the sandbox: valid, and consistent with the interface document and the routes.

Words, fields and limits are literals from the interface document; requests are plain HTTP.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests
from contract.openapi_document import answer_schema_of, operation_of, schema_of
from jsonschema import Draft202012Validator
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.sandbox import SandboxServer

EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
CALLBACK = "http://127.0.0.1/callback"
OPERATIONS = {
    ("/me", "get"), ("/users/{user_id}", "get"), ("/users/{user_id}/friends", "get"), ("/payments", "get"),
    ("/payments", "post"), ("/payments/{payment_id}", "get"), ("/payments/{payment_id}", "put"),
    ("/oauth/access_token", "post"),
}  # fmt: skip
OBSERVED = {"CurrentUser": {"friend_request", "trust_request"}, "Target": {"merchant", "redeemable_target"}}
PAGES = ("/v1/oauth/authorize", "/v1/oauth/sign-in", "/v1/oauth/consent", "/v1/account")


def test_where_it_is_served(dialect_server: SandboxServer) -> None:
    """At the origin and not below /v1, by GET and HEAD, without entering the service's request count."""
    origin, before = dialect_server.base_url.removesuffix("/v1"), len(dialect_server.requests)
    address = f"{origin}/sandbox/openapi.json"
    assert requests.head(address, timeout=10).status_code == 200
    refused = requests.post(address, timeout=10)
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")
    assert refused.json().keys() == {"error"}
    assert len(dialect_server.requests) == before
    assert requests.get(f"{dialect_server.base_url}/sandbox/openapi.json", timeout=10).status_code in (400, 404)


def find_schemas(part: Any) -> Iterator[Any]:
    """Yield every schema: the values of `schema`, and the named schemas."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from value.values() if name == "schemas" else [value] if name == "schema" else find_schemas(value)
    elif isinstance(part, list):
        for one in part:
            yield from find_schemas(one)


def test_the_document_is_valid(description: Any) -> None:
    """The document is valid OpenAPI 3.1, its schemas are valid JSON Schemas, and every reference resolves."""
    assert description["openapi"].startswith("3.1.")
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(description)] == []
    assert len(list(find_schemas(description))) > 50
    for schema in find_schemas(description):
        Draft202012Validator.check_schema(schema)
    referred = {part.partition('"')[0] for part in json.dumps(description).split('"$ref": "')[1:]}
    assert {one.rpartition("/")[2] for one in referred} == set(description["components"]["schemas"])
    identifiers = [one["operationId"] for path in description["paths"].values() for one in path.values()]
    assert len(set(identifiers)) == len(identifiers)


def test_the_validator_finds_mistakes() -> None:
    """The validator reports a document without paths, and a parameter with an invalid place."""
    assert not OPENAPI_31_VALIDATOR.is_valid({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}})
    path = {"get": {"parameters": [{"name": "x", "in": "nowhere", "schema": {}}], "responses": {}}}
    document = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {"/x": path}}
    assert not OPENAPI_31_VALIDATOR.is_valid(document)


def test_paths_are_the_routes(dialect_server: SandboxServer, description: Any) -> None:
    """Paths and methods below /v1 are the application's routes, except pages and HEAD."""
    (base,) = (one["url"] for one in description["servers"])
    assert base == dialect_server.base_url
    assert {(path, method) for path, methods in description["paths"].items() for method in methods} == OPERATIONS
    routes = dialect_server._application().app.routes
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
    """Each endpoint has the interface document's scope and parameters; the token is a parameter or a header."""
    found = operation_of(description, path, method)
    assert found["security"] == [{"oauth": [scope]}, {"access_token": [scope]}]
    assert {one["name"] for one in found.get("parameters", [])} == set(parameters.split())
    assert {one["name"] for one in found["parameters"] if one.get("required")} <= {"user_id", "payment_id"}


def test_security_schemes(dialect_server: SandboxServer, description: Any) -> None:
    """The token is `access_token` in the query, from two flows with six scopes."""
    schemes = description["components"]["securitySchemes"]
    assert (schemes["access_token"]["in"], schemes["access_token"]["name"]) == ("query", "access_token")
    flows = schemes["oauth"]["flows"]
    assert set(flows) == {"implicit", "authorizationCode"}
    for flow in flows.values():
        assert set(flow["scopes"]) == set(EVERY)
        assert flow["authorizationUrl"] == f"{dialect_server.base_url}/oauth/authorize"
    assert flows["authorizationCode"]["tokenUrl"] == f"{dialect_server.base_url}/oauth/access_token"


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
    content = operation_of(description, path, method)["requestBody"]["content"]
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
    """Each resource has exactly the document's fields, all of them required because none is ever omitted."""
    schema, more = schema_of(description, name), set()
    if "'observed'" in description["info"]["description"]:
        more = OBSERVED.get(name, set())
    assert set(schema["properties"]) - more == set(schema["required"]) - more == set(fields.split())
    assert more <= set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_words_and_limits(description: Any) -> None:
    """Enumerations are the document's; a page has 20 items by default and at most 50."""
    payment = schema_of(description, "Payment")["properties"]
    assert payment["status"]["enum"] == ["settled", "pending", "failed", "expired", "cancelled"]
    assert payment["action"]["enum"] == ["pay", "charge"]
    assert payment["audience"]["enum"] == ["public", "friends", "private"]
    assert schema_of(description, "Target")["properties"]["type"]["enum"] == ["email", "phone", "user"]
    if "documented" in description["info"]["description"]:
        assert payment["medium"]["enum"] == ["ios", "android", "web", "api"]
    for path in ("/payments", "/users/{user_id}/friends"):
        found = operation_of(description, path, "get")
        (limit,) = (one["schema"] for one in found["parameters"] if one["name"] == "limit")
        assert (limit["default"], limit["minimum"]) == (20, 1)
        assert answer_schema_of(description, path, "get", 200)["properties"]["data"]["maxItems"] == 50
    resolution = operation_of(description, "/payments/{payment_id}", "put")["requestBody"]["content"]
    for kind in resolution.values():
        assert kind["schema"]["properties"]["action"]["enum"] == ["approve", "deny", "cancel"]
    tokens = answer_schema_of(description, "/oauth/access_token", "post", 200)
    assert tokens["properties"]["expires_in"] == {"const": 5_184_000}


def test_too_many_requests(description: Any) -> None:
    """Every operation documents 429 with code 277 and a Retry-After in whole seconds."""
    code = "277" if "'documented'" in description["info"]["description"] else 277
    for path, method in OPERATIONS:
        refusal = operation_of(description, path, method)["responses"]["429"]
        assert refusal["headers"]["Retry-After"]["schema"]["type"] == "integer"
        schema = answer_schema_of(description, path, method, 429)
        assert schema["properties"]["error"]["properties"]["code"]["enum"] == [code]
