"""Everything that is refused is refused in the document's envelope, and nothing makes the service fail."""

import http.client
import json
import socket
from urllib.parse import quote, urlsplit

import pytest

from p2p_analytics.sandbox import SandboxServer

ODD = [
    "%00", "a%00b", "%ff%fe", "%", "%zz", "9" * 4_096, "1" * 20, "9223372036854775807", "9223372036854775808",
    "-1", "0", "01", "1.0", "1e3", "%D9%A1", "..%2f..%2fetc", "null", "%F0%9F%8D%95", "'%20OR%201=1--", "+1", "1%20",
]  # fmt: skip


def envelope(status: int, body: bytes) -> str:
    """Return the code of an error envelope."""
    assert status < 500
    error = json.loads(body)
    assert set(error) == {"error"}
    assert {name: type(value) for name, value in error["error"].items()} == {"message": str, "code": str}
    return error["error"]["code"]


def send(server: SandboxServer, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request with a verbatim request target."""
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=10)
    try:
        connection.putrequest(method, target, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read()
    finally:
        connection.close()


def refuse(server: SandboxServer, method: str, target: str, **headers: str) -> tuple[int, str]:
    """Return the status and the code of a refused request."""
    status, _, body = send(server, method, target, **headers)
    return status, envelope(status, body)


@pytest.mark.parametrize(
    ("code", "queries"),
    [
        ("267", ["", "?access_token=", "?access_token=%20"]),
        ("261", [f"?access_token={quote(token, errors='surrogatepass')}" for token in (
            "nonsense", "null", "\ud83d", "ä", "x" * 4_096, "a\x00b", "' OR 1=1 --")]),
    ],
)  # fmt: skip
def test_invalid_token(default_server, code: str, queries: list[str]) -> None:
    """No token, or a blank one: 401, code 267; one that was never issued, whatever it looks like: 401, code 261."""
    for query in queries:
        status, headers, body = send(default_server, "GET", f"/v1/me{query}")
        assert (status, envelope(status, body)) == (401, code)
        assert headers["www-authenticate"].startswith("Bearer")


def test_expired_token(ask, default_server) -> None:
    """An expired token, by age or by a test, is 401, code 265."""
    assert ask(token=default_server.token(default_server.viewer, seconds=0)).get_refusal("/me") == (401, "265")
    me = ask()
    me.get_body("/me")
    default_server.expire(me.token)
    assert me.get_refusal("/me") == (401, "265")


def test_the_token_may_be_a_header(ask, default_server) -> None:
    """A bearer token in the Authorization header is taken as well, alone or with the same one in the query."""
    token, other = default_server.token(default_server.viewer), default_server.token(default_server.viewer)
    assert send(default_server, "GET", "/v1/me", Authorization=f"bearer {token}")[0] == 200
    assert send(default_server, "GET", f"/v1/me?access_token={token}", Authorization=f"Bearer  {token} ")[0] == 200
    assert send(default_server, "GET", f"/v1/me?access_token={token}&access_token=%20{token}")[0] == 200
    for second in (other, "none", token[:-1], token.swapcase()):
        for asked in (
            {"target": f"/v1/me?access_token={token}", "Authorization": f"Bearer {second}"},
            {"target": f"/v1/me?access_token={second}&access_token={token}"},
        ):
            status, _, body = send(default_server, "GET", **asked)
            assert (status, envelope(status, body)) == (400, "400")
            assert token.encode() not in body
    assert send(default_server, "GET", f"/v1/me?access_token={token}", Authorization="Basic eDp5")[0] == 200


@pytest.mark.parametrize("path", ["/v1/users/{}", "/v1/users/{}/friends", "/v1/payments/{}"])
def test_an_id_of_nobody(default_server, path: str) -> None:
    """Malformed ids and unknown ids are 404, code 283, and cause no failure."""
    query = f"?access_token={default_server.token(default_server.viewer)}"
    for odd in ODD:
        assert refuse(default_server, "GET", path.format(odd) + query) == (404, "283"), odd


@pytest.mark.parametrize(
    ("path", "names"),
    [("/v1/payments", "limit before after action actor status"), ("/v1/users/{}/friends", "limit before after")],
)
def test_odd_parameters(default_server, path: str, names: str) -> None:
    """Any value of a parameter is either understood or refused with the envelope."""
    target = (
        f"{path.format(default_server.people[0].user_id)}?access_token={default_server.token(default_server.viewer)}"
    )
    for name in names.split():
        for odd in ODD:
            status, _, body = send(default_server, "GET", f"{target}&{name}={odd}")
            assert status == 200 or (status, envelope(status, body)) == (400, "400"), odd


def test_unknown_paths(default_server) -> None:
    """A path outside the document: 404 in the envelope."""
    for target in (
        "/", "/v1", "/v1/", "/v2/me", "/v1/me/", "/v1/nothing", "/me", "/v1//me", "/docs", "/openapi.json",
        "/v1/users/", "/v1/payments/1/2", "/v1/%2e%2e/me", "/sandbox/nothing",
    ):  # fmt: skip
        assert refuse(default_server, "GET", target) == (404, "283"), target


def test_wrong_method(default_server) -> None:
    """A method that a path does not take: 405 with the complete Allow header."""
    for method, target, allow in (
        ("POST", "/v1/me", "GET, HEAD"), ("DELETE", "/v1/payments/1", "GET, HEAD, PUT"),
        ("PATCH", "/v1/oauth/authorize", "GET, HEAD"), ("GET", "/v1/oauth/consent", "POST"),
        ("GET", "/v1/oauth/access_token", "POST"), ("PUT", "/v1/account/developer", "GET, HEAD, POST"),
        ("PROPFIND", "/v1/payments", "GET, HEAD, POST"),
    ):  # fmt: skip
        status, headers, body = send(default_server, method, target)
        assert (status, envelope(status, body), headers["allow"]) == (405, "405", allow)


@pytest.mark.parametrize(("path", "status"), [("/me", 200), ("/payments", 200), ("/nothing", 404)])
def test_head(default_server, path: str, status: int) -> None:
    """HEAD answers as GET does, with the same length, and without the body (RFC 9110)."""
    target = f"/v1{path}?access_token={default_server.token(default_server.viewer)}"
    got, headers, body = send(default_server, "GET", target)
    head, head_headers, nothing = send(default_server, "HEAD", target)
    assert (got, head, nothing) == (status, status, b"")
    assert head_headers["content-length"] == headers["content-length"] == str(len(body))


def test_headers_of_answers(default_server) -> None:
    """Data and errors are for a private cache at most, and are JSON whatever a browser guesses."""
    query = f"?access_token={default_server.token(default_server.viewer)}"
    for path in ("/me", "/payments", "/nothing", "/payments/1"):
        for more in ("", query):
            _, headers, _ = send(default_server, "GET", f"/v1{path}{more}")
            found = [headers[name] for name in ("cache-control", "x-content-type-options", "content-type")]
            assert found == ["private", "nosniff", "application/json"]


def test_other_hosts(default_server) -> None:
    """A Host header that is not this machine's own name: 400, so no web page reads the sandbox by its name."""
    target = f"/v1/me?access_token={default_server.token(default_server.viewer)}"
    control = {"X-Sandbox-Control": "1"}
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]", "", "[::1"):
        for path in (target, "/sandbox/state"):
            assert refuse(default_server, "GET", path, Host=host, **control) == (400, "400")
    for host in ("localhost", "LOCALHOST:99", "127.0.0.1", "[::1]", "[::1]:8400"):
        assert send(default_server, "GET", target, Host=host)[0] == 200


def test_garbage_on_the_wire(default_server) -> None:
    """Bytes that are no HTTP get a 400 and do not hurt the next request."""
    host, port = urlsplit(default_server.base_url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"\x16\x03\x01\x00\xa5 nonsense\r\n\r\n")
        assert b" 400 " in raw.recv(1_000)
    assert send(default_server, "GET", "/v1/me")[0] == 401


def test_a_failure_is_an_envelope_too(ask) -> None:
    """A mistake in the sandbox itself answers with the envelope and status 500, without saying what broke."""
    with SandboxServer(people=3, years=1) as own:
        own.store.write("DROP TABLE party", ())
        response = ask(on=own).get("/payments")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "500")
    assert "party" not in response.text
