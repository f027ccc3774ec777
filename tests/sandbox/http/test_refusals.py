"""Everything that is refused is refused in the document's envelope, and nothing makes the service fail."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

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


def test_no_token(ask: Asking, default_server: SandboxServer) -> None:
    """A request without a token, or with a blank one: 401, code 267."""
    for target in ("/v1/me", "/v1/me?access_token=", "/v1/payments?access_token=%20"):
        status, headers, body = send(default_server, "GET", target)
        assert (status, envelope(status, body)) == (401, "267")
        assert headers["www-authenticate"].startswith("Bearer")


def test_invalid_token(default_server: SandboxServer) -> None:
    """A token that was never issued, whatever it looks like: 401, code 261."""
    for token in ("nonsense", "null", "\ud83d", "ä", "x" * 4_096, "a\x00b", "' OR 1=1 --"):
        status, _, body = send(default_server, "GET", f"/v1/me?access_token={quote(token, errors='surrogatepass')}")
        assert (status, envelope(status, body)) == (401, "261")


def test_expired_token(ask: Asking, default_server: SandboxServer) -> None:
    """An expired token, by age or by a test, is 401, code 265."""
    assert ask(token=default_server.token(default_server.viewer, seconds=0)).get_refusal("/me") == (401, "265")
    token = default_server.token(default_server.viewer)
    me = ask(token=token)
    me.get_body("/me")
    default_server.expire(token)
    assert me.get_refusal("/me") == (401, "265")


def test_the_token_may_be_a_header(ask: Asking, default_server: SandboxServer) -> None:
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
def test_an_id_of_nobody(default_server: SandboxServer, path: str) -> None:
    """Malformed ids and unknown ids are 404, code 283, and cause no failure."""
    query = f"?access_token={default_server.token(default_server.viewer)}"
    for odd in ODD:
        status, _, body = send(default_server, "GET", path.format(odd) + query)
        assert (status, envelope(status, body)) == (404, "283"), odd


@pytest.mark.parametrize("name", ["limit", "before", "after", "action", "actor", "status"])
def test_odd_parameters(default_server: SandboxServer, name: str) -> None:
    """Any value of a parameter is either understood or refused with the envelope."""
    token = default_server.token(default_server.viewer)
    for path in ("/v1/payments", f"/v1/users/{default_server.people[0].user_id}/friends"):
        for odd in ODD:
            status, _, body = send(default_server, "GET", f"{path}?access_token={token}&{name}={odd}")
            assert status == 200 or (status, envelope(status, body)) == (400, "400"), odd


def test_unknown_paths(default_server: SandboxServer) -> None:
    """A path outside the document: 404 in the envelope."""
    for target in (
        "/", "/v1", "/v1/", "/v2/me", "/v1/me/", "/v1/nothing", "/me", "/v1//me", "/docs", "/openapi.json",
        "/v1/users/", "/v1/payments/1/2", "/v1/%2e%2e/me",
    ):  # fmt: skip
        status, _, body = send(default_server, "GET", target)
        assert (status, envelope(status, body)) == (404, "283"), target


@pytest.mark.parametrize(
    ("method", "target", "allow"),
    [
        ("POST", "/v1/me", "GET, HEAD"),
        ("DELETE", "/v1/payments/1", "GET, HEAD, PUT"),
        ("PATCH", "/v1/oauth/authorize", "GET, HEAD"),
        ("GET", "/v1/oauth/consent", "POST"),
        ("GET", "/v1/oauth/access_token", "POST"),
        ("PUT", "/v1/account/developer", "GET, HEAD, POST"),
        ("PROPFIND", "/v1/payments", "GET, HEAD, POST"),
    ],
)
def test_wrong_method(default_server: SandboxServer, method: str, target: str, allow: str) -> None:
    """A method that a path does not take: 405 with the complete Allow header."""
    status, headers, body = send(default_server, method, target)
    assert (status, envelope(status, body)) == (405, "405")
    assert headers["allow"] == allow


@pytest.mark.parametrize(("path", "status"), [("/me", 200), ("/payments", 200), ("/nothing", 404)])
def test_head(default_server: SandboxServer, path: str, status: int) -> None:
    """HEAD answers as GET does, with the same length, and without the body (RFC 9110)."""
    target = f"/v1{path}?access_token={default_server.token(default_server.viewer)}"
    got, headers, body = send(default_server, "GET", target)
    head, head_headers, nothing = send(default_server, "HEAD", target)
    assert (got, head, nothing) == (status, status, b"")
    assert head_headers["content-length"] == headers["content-length"] == str(len(body))


def test_headers_of_answers(default_server: SandboxServer) -> None:
    """Data and errors are for a private cache at most, and are JSON whatever a browser guesses."""
    query = f"?access_token={default_server.token(default_server.viewer)}"
    for path in ("/me", "/payments", "/nothing", "/payments/1"):
        for more in ("", query):
            _, headers, _ = send(default_server, "GET", f"/v1{path}{more}")
            found = [headers[name] for name in ("cache-control", "x-content-type-options", "content-type")]
            assert found == ["private", "nosniff", "application/json"]


def test_other_hosts(default_server: SandboxServer) -> None:
    """A Host header that is not this machine's own name: 400, so no web page reads the sandbox by its name."""
    target = f"/v1/me?access_token={default_server.token(default_server.viewer)}"
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]", "", "[::1"):
        status, _, body = send(default_server, "GET", target, Host=host)
        assert (status, envelope(status, body)) == (400, "400")
    for host in ("localhost", "LOCALHOST:99", "127.0.0.1", "[::1]", "[::1]:8400"):
        assert send(default_server, "GET", target, Host=host)[0] == 200


def test_large_bodies(default_server: SandboxServer) -> None:
    """A body over 64 KB: 413, whether its length is declared or it comes in chunks."""
    url = f"{default_server.base_url}/oauth/consent"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"ticket=" + b"x" * 70_000, iter([b"ticket=", *[b"x" * 10_000] * 7])):
        response = requests.post(url, data=body, headers=headers, timeout=10)
        assert (response.status_code, envelope(response.status_code, response.content)) == (413, "413")


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=x",
                                  "text/x", "application/x-www-form-urlencoded"])  # fmt: skip
def test_odd_forms(default_server: SandboxServer, kind: str) -> None:
    """Any body of a form is refused with the envelope, never a failure."""
    for step in ("oauth/sign-in", "oauth/consent", "oauth/access_token", "account/sign-in", "account/sign-out",
                 "account/developer", "account/developer/1001", "account/applications"):  # fmt: skip
        for body in (b"", b"\x00\xff", b"ticket=%ff%zz&ticket=2", b"--x\r\n\r\n", b"a=1&" * 500):
            url = f"{default_server.base_url}/{step}"
            response = requests.post(url, data=body, headers={"Content-Type": kind}, timeout=10)
            assert 400 <= response.status_code < 500
            envelope(response.status_code, response.content)


def test_garbage_on_the_wire(default_server: SandboxServer) -> None:
    """Bytes that are no HTTP get a 400 and do not hurt the next request."""
    host, port = urlsplit(default_server.base_url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"\x16\x03\x01\x00\xa5 nonsense\r\n\r\n")
        assert b" 400 " in raw.recv(1_000)
    assert send(default_server, "GET", "/v1/me")[0] == 401


def test_a_failure_is_an_envelope_too(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the sandbox itself answers with the envelope and status 500, without saying what broke."""
    with SandboxServer(people=3, years=1) as own:
        me = ask(on=own)
        monkeypatch.setattr(own.store, "payments", lambda *_: 1 / 0)
        response = me.get("/payments")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "500")
    assert "division" not in response.text
