"""OpenAPI document of the sandbox: valid, and consistent with the interface document and the routes.

Words, fields and limits are literals from the interface document; requests are plain HTTP.
"""

import json
from collections.abc import Iterator
from typing import Any

import requests
from contract.plain_http import EVERY, FIELDS

# Scope, parameters, and fields of the body of each operation.
OPERATIONS = {
    ("/me", "get"): ("access_profile", "", ""),
    ("/users/{user_id}", "get"): ("access_profile", "user_id", ""),
    ("/users/{user_id}/friends", "get"): ("access_friends", "user_id before after limit", ""),
    ("/payments", "get"): ("access_profile", "action actor status limit after before", ""),
    ("/payments/{payment_id}", "get"): ("access_profile", "payment_id", ""),
    ("/payments", "post"): ("make_payments", "", "user_id email phone note amount audience access_token"),
    ("/payments/{payment_id}", "put"): ("make_payments", "payment_id", "action access_token"),
    ("/oauth/access_token", "post"): (None, "", "client_id client_secret code refresh_token grant_type redirect_uri"),
}  # fmt: skip
OBSERVED = {"CurrentUser": {"friend_request", "trust_request"}, "Target": {"merchant", "redeemable_target"}}
PAGES = ("/v1/oauth/authorize", "/v1/oauth/sign-in", "/v1/oauth/consent", "/v1/account")


def is_observed(description: Any) -> bool:
    """Return whether a description is of the observed dialect."""
    return "'observed'" in description["info"]["description"]


def answer_schema_of(description: Any, path: str, method: str, status: int) -> Any:
    """Return the schema of an answer."""
    answer = description["paths"][path][method]["responses"][str(status)]
    return answer["content"]["application/json"]["schema"]


def find_schemas(part: Any) -> Iterator[Any]:
    """Yield every schema: the values of `schema`, and the named schemas."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from value.values() if name == "schemas" else [value] if name == "schema" else find_schemas(value)
    elif isinstance(part, list):
        for one in part:
            yield from find_schemas(one)


def test_where_it_is_served(dialect_server) -> None:
    """At the origin, by GET and HEAD, without entering the service's request count."""
    origin, before = dialect_server.base_url.removesuffix("/v1"), len(dialect_server.requests)
    address = f"{origin}/sandbox/openapi.json"
    assert requests.head(address, timeout=10).status_code == 200
    refused = requests.post(address, timeout=10)
    assert (refused.status_code, refused.headers["Allow"], set(refused.json())) == (405, "GET, HEAD", {"error"})
    assert len(dialect_server.requests) == before


def test_the_document_is_valid(description) -> None:
    """The document is valid OpenAPI 3.1, its schemas are valid JSON Schemas, and every reference resolves."""
    from jsonschema import Draft202012Validator  # here, because importing these takes seconds
    from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

    assert description["openapi"].startswith("3.1.")
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(description)] == []
    for schema in find_schemas(description):
        Draft202012Validator.check_schema(schema)
    referred = {part.partition('"')[0] for part in json.dumps(description).split('"$ref": "')[1:]}
    assert {one.rpartition("/")[2] for one in referred} == set(description["components"]["schemas"])
    identifiers = [one["operationId"] for path in description["paths"].values() for one in path.values()]
    assert len(set(identifiers)) == len(identifiers)


def test_paths_are_the_routes(dialect_server, description) -> None:
    """Paths and methods below /v1 are the application's routes, except pages and HEAD."""
    assert [one["url"] for one in description["servers"]] == [dialect_server.base_url]
    found = {(path, method) for path, methods in description["paths"].items() for method in methods}
    served = {
        (route.path.removeprefix("/v1"), method.lower())
        for route in dialect_server._application().app.routes
        if route.path.startswith("/v1/") and not route.path.startswith(PAGES)
        for method in route.methods - {"HEAD"}
    }
    assert found == served == set(OPERATIONS)


def test_scopes_and_parameters(description) -> None:
    """Each operation has the document's scope, parameters and body, and 429 with 277 and Retry-After in seconds."""
    for (path, method), (scope, parameters, fields) in OPERATIONS.items():
        found = description["paths"][path][method]
        assert found["security"] == ([{"oauth": [scope]}, {"access_token": [scope]}] if scope else [])
        given = found.get("parameters", [])
        assert {one["name"] for one in given} == set(parameters.split())
        assert {one["name"] for one in given if one.get("required")} <= {"user_id", "payment_id"}
        content = found["requestBody"]["content"] if fields else {}
        kinds = {"application/x-www-form-urlencoded", "multipart/form-data", "application/json"}
        assert set(content) == (kinds if fields else set())
        for kind in content.values():
            ways = kind["schema"].get("anyOf", [kind["schema"]])
            assert {name for way in ways for name in way["properties"]} == set(fields.split())
        assert found["responses"]["429"]["headers"]["Retry-After"]["schema"]["type"] == "integer"
        error = answer_schema_of(description, path, method, 429)["properties"]["error"]
        assert error["properties"]["code"]["enum"] == [277 if is_observed(description) else "277"]


def test_security_schemes(dialect_server, description) -> None:
    """The token is `access_token` in the query, from two flows with six scopes."""
    schemes = description["components"]["securitySchemes"]
    assert (schemes["access_token"]["in"], schemes["access_token"]["name"]) == ("query", "access_token")
    flows = schemes["oauth"]["flows"]
    assert set(flows) == {"implicit", "authorizationCode"}
    for flow in flows.values():
        assert set(flow["scopes"]) == set(EVERY)
        assert flow["authorizationUrl"] == f"{dialect_server.base_url}/oauth/authorize"
    assert flows["authorizationCode"]["tokenUrl"] == f"{dialect_server.base_url}/oauth/access_token"


def test_fields_of_answers(description) -> None:
    """Each resource has exactly the document's fields, all of them required because none is ever omitted."""
    for name, fields in {**FIELDS, "CurrentUser": FIELDS["User"], "Pagination": "next"}.items():
        schema = description["components"]["schemas"][name]
        more = OBSERVED.get(name, set()) if is_observed(description) else set()
        assert set(schema["properties"]) == set(schema["required"]) == set(fields.split()) | more
        assert schema["additionalProperties"] is False


def test_words_and_limits(description) -> None:
    """Enumerations are the document's; a page has 20 items by default and at most 50."""
    schemas = description["components"]["schemas"]
    payment = schemas["Payment"]["properties"]
    assert payment["status"]["enum"] == ["settled", "pending", "failed", "expired", "cancelled"]
    assert payment["action"]["enum"] == ["pay", "charge"]
    assert payment["audience"]["enum"] == ["public", "friends", "private"]
    assert schemas["Target"]["properties"]["type"]["enum"] == ["email", "phone", "user"]
    if not is_observed(description):
        assert payment["medium"]["enum"] == ["ios", "android", "web", "api"]
    refused = description["paths"]["/payments"]["post"]["responses"]["400"]["description"]
    assert [refused.count(f"{code}: ") for code in ("502", "503")] == [int(is_observed(description)), 1]
    for path in ("/payments", "/users/{user_id}/friends"):
        found = description["paths"][path]["get"]["parameters"]
        (limit,) = (one["schema"] for one in found if one["name"] == "limit")
        assert (limit["default"], limit["minimum"]) == (20, 1)
        assert answer_schema_of(description, path, "get", 200)["properties"]["data"]["maxItems"] == 50
    for kind in description["paths"]["/payments/{payment_id}"]["put"]["requestBody"]["content"].values():
        assert kind["schema"]["properties"]["action"]["enum"] == ["approve", "deny", "cancel"]
    tokens = answer_schema_of(description, "/oauth/access_token", "post", 200)
    assert tokens["properties"]["expires_in"] == {"const": 5_184_000}
