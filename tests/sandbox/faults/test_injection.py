"""Faults: the response to a request with a fault, and whether the request was processed."""

from __future__ import annotations

import http.client
import json
import socket
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.faults import injection
from p2p_analytics.sandbox.faults.specification import Kind
from support.servers import sandbox_fixture
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


# Each test sets the faults.
own = sandbox_fixture(people=3, years=1)


@pytest.fixture(autouse=True)
def _no_faults_left(own: SandboxServer) -> None:
    own.faults = ""


def pay(server: SandboxServer) -> tuple[Any, bytes]:
    """Pay once, and return the status and the body, or the type of the error and an empty body."""
    token, other = server.token(server.viewer, "make_payments"), server.people[1].user_id
    connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=5)
    fields = {"access_token": token, "user_id": other, "amount": "0.01", "note": "fault"}
    try:
        connection.request("POST", "/v1/payments", urlencode(fields), FORM)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return type(error), b""
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("kind", "answer", "done"),
    [
        ("ok", (200, b'{"data":'), 1),
        ("429", (429, b'{"error":'), 0),
        ("500", (500, b'{"error":'), 0),
        ("502", (502, b"<!doctype html>"), 0),
        ("503", (503, b"<!doctype html>"), 0),
        ("504", (504, b"<!doctype html>"), 0),
        ("html", (200, b"<!doctype html>"), 0),
        ("reset", (ConnectionResetError, b""), 0),
        ("lost", (ConnectionResetError, b""), 1),
        ("cut", (http.client.IncompleteRead, b""), 1),
        ("cut-reset", (ConnectionResetError, b""), 1),
        ("drip", (200, b'{"data":'), 1),
        ("garbage", (200, b'{"data": \xff'), 1),
        ("empty", (200, b""), 1),
        ("next-host", (200, b'{"data":'), 1),
        ("empty-page", (200, b'{"data":'), 1),
        ("no-next", (200, b'{"data":'), 1),
        ("bound-zone", (200, b'{"data":'), 1),
        ("bound-day", (200, b'{"data":'), 1),
    ],
)
def test_a_write_with_a_fault(
    own: SandboxServer, monkeypatch: pytest.MonkeyPatch, kind: str, answer: tuple[Any, bytes], done: int
) -> None:
    """Each fault has its response, affects one request, and processes the request or does not."""
    monkeypatch.setattr(injection, "DRIP_SECONDS", 0)
    own.link_bank(own.viewer)
    before = own.state()["counts"]["payments"]
    own.faults = kind
    status, body = pay(own)
    assert status == answer[0]
    assert body.startswith(answer[1])
    assert own.state()["counts"]["payments"] == before + done
    assert own.state()["faults_to_come"] == []
    assert pay(own)[0] == 200


def test_every_kind_is_tried() -> None:
    """The tables of this file contain every kind."""
    tried = {mark.args[1][place][0] for test in (test_a_write_with_a_fault, test_hostile_next_links)
             for mark in test.pytestmark for place in range(len(mark.args[1]))}  # fmt: skip
    assert tried == set(Kind)


def test_a_429_has_retry_after(ask: Asking, own: SandboxServer) -> None:
    """The response has Retry-After and the error code of the rate limit."""
    own.faults = "429"
    answer = ask(on=own).get("/me")
    assert (answer.headers["Retry-After"], answer.json()["error"]["code"]) == ("1", "277")


def test_a_cut_response_is_shorter_than_its_length(own: SandboxServer) -> None:
    """Content-Length is that of the whole response, half of it is sent, then the connection ends."""
    query = urlencode({"access_token": own.token(own.viewer)})
    whole = requests.get(f"{own.base_url}/payments?{query}", timeout=5).content
    own.faults = "cut"
    with socket.create_connection(("127.0.0.1", urlsplit(own.base_url).port), timeout=5) as connection:
        connection.sendall(f"GET /v1/payments?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while part := connection.recv(65_536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    assert f"content-length: {len(whole)}".encode() in head.lower()
    assert body == whole[: len(whole) // 2]


def test_a_drip_is_one_byte_at_a_time(own: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the headers one byte is sent, and then nothing for the seconds that are set."""
    monkeypatch.setattr(injection, "DRIP_SECONDS", 600)
    own.faults = "drip"
    with socket.create_connection(("127.0.0.1", urlsplit(own.base_url).port), timeout=5) as connection:
        connection.sendall(b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while not received.endswith(b"\r\n\r\n{"):
            received += connection.recv(65_536)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert received.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        ("next-host", "http://elsewhere.invalid/v1/payments?limit=2&status=settled"),
        ("next-user", "http://127.0.0.1:{port}@elsewhere.invalid/v1/payments?limit=2&status=settled"),
        ("next-slashes", "//elsewhere.invalid/v1/payments?limit=2&status=settled"),
        ("next-path", "http://127.0.0.1:{port}/v1/payments/elsewhere?limit=2&status=settled"),
        ("next-repeats", "http://127.0.0.1:{port}/v1/payments?limit=2&status=settled"),
    ],
)
def test_hostile_next_links(ask: Asking, own: SandboxServer, kind: str, link: str) -> None:
    """The next link leads to another host or to the same page, without the token; the items do not change."""
    own.faults = f"ok {kind}"
    me = ask(on=own)
    good, bad = (me.get_body("/payments", limit=2, status="settled") for _ in range(2))
    assert bad["pagination"]["next"] == link.format(port=urlsplit(own.base_url).port)
    assert bad["data"] == good["data"]


def test_a_last_page_has_the_hostile_link_too(ask: Asking, own: SandboxServer) -> None:
    """On the last page the hostile link replaces null; other responses do not change."""
    own.faults = "next-host*2"
    me = ask(on=own)
    assert me.get_body("/payments", after="2025-06-30")["pagination"]["next"].startswith("http://elsewhere.invalid/")
    assert set(me.get_body("/me")) == {"data"}


@pytest.mark.parametrize("path", ["/payments", "/payments?status=settled&action=pay&actor={me}", "/users/{me}/friends"])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("always", [False, True], ids=["once", "for ever"])
def test_a_list_that_claims_to_end(ask: Asking, own: SandboxServer, path: str, at: int, *, always: bool) -> None:
    """`empty-page` is a last page without items, `no-next` a page without its link; other pages do not change."""
    me = ask(on=own)
    path = path.format(me=me.get_body("/me")["data"]["user"]["id"])
    honest = me.get_body(path, limit=1)
    assert honest["pagination"]["next"]
    for kind, faulty in {
        "empty-page": {"data": [], "pagination": {"next": None}},
        "no-next": {"data": honest["data"], "pagination": {"next": None}},
    }.items():
        own.faults = f"ok*{at} {kind}" + "*100" * always
        pages = [me.get_body(path, limit=1) for _ in range(4)]
        assert pages == [faulty if place == at or (always and place > at) else honest for place in range(4)]
        own.faults = f"{kind}:1"
        assert [me.get_body(path, limit=1), me.get_body(path, limit=1)] == [faulty, faulty]


@pytest.mark.parametrize("kind", ["empty-page", "no-next"])
def test_only_a_list_claims_to_end(ask: Asking, own: SandboxServer, kind: str) -> None:
    """Profiles, single payments and errors do not change."""
    me = ask(on=own)
    one = me.get_body("/payments", limit=1)["data"][0]["id"]
    paths = ("/me", f"/payments/{one}", "/payments?limit=0", "/users/1/friends")
    honest = [me.get(path).content for path in paths]
    own.faults = f"{kind}:1"
    assert [me.get(path).content for path in paths] == honest


@pytest.mark.parametrize("kind", ["empty-page", "no-next"])
def test_the_head_of_a_faulty_list(own: SandboxServer, kind: str) -> None:
    """HEAD has the length of the faulty page, and no body."""
    own.faults = f"{kind}*2"
    address = f"{own.base_url}/payments?access_token={own.token(own.viewer)}"
    head, whole = requests.head(address, timeout=5), requests.get(address, timeout=5)
    assert head.headers["Content-Length"] == str(len(whole.content))
    assert head.content == b""


def test_a_note_that_looks_like_a_link_stays(ask: Asking) -> None:
    """Only the next link of the list is changed, whatever text a note has."""
    with SandboxServer(people=3, years=1) as own:
        note = '"pagination":{"next":null}'
        own.add_payments(own.viewer, [{"date_created": own.now, "note": note}])
        own.faults = "next-host"
        page = ask(on=own).get_body("/payments", limit=1)
        assert page["data"][0]["note"] == note
        assert page["pagination"]["next"].startswith("http://elsewhere.invalid/")


def test_only_endpoints_have_faults(own: SandboxServer) -> None:
    """Every endpoint fails, the token exchange among them; pages, control routes and other addresses do not."""
    own.faults = "500:1"
    origin = own.base_url.removesuffix("/v1")
    asked = {
        "/v1/me": 500, "/v1/payments": 500, "/v1/users/1/friends": 500, "/v1/oauth/access_token": 500,
        "/v1/nothing": 500, "/v1/oauth/authorize": 400, "/v1/account/sign-in": 200, "/v1/account": 200,
        "/sandbox/state": 200, "/": 404,
    }  # fmt: skip
    headers = {"X-Sandbox-Control": "1"}
    found = {path: requests.get(origin + path, headers=headers, timeout=5).status_code for path in asked}
    own.faults = ""
    assert found == asked


def test_a_run_repeats(ask: Asking) -> None:
    """Two sandboxes with the same seed and rates give the same responses to the same requests."""
    runs = []
    for _ in range(2):
        with SandboxServer(people=3, years=1, faults="503:0.3,429:0.2") as own:
            me = ask(on=own)
            runs.append([me.get("/me").status_code for _ in range(40)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 429, 503}


def test_no_fault_is_an_error_of_the_sandbox(
    own: SandboxServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault logs nothing."""
    monkeypatch.setattr(injection, "DRIP_SECONDS", 0)
    for kind in Kind:
        own.faults = kind
        pay(own)
    assert [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))] == []


@pytest.mark.parametrize("kind", ["lost", "cut", "cut-reset", "drip"])
def test_a_client_that_disconnects_first(own: SandboxServer, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    """A request of a client that has disconnected is processed all the same, and nothing is logged."""
    token, before = own.token(own.viewer, "make_payments"), own.state()["counts"]["payments"]
    body = urlencode({"access_token": token, "email": "gone@example.net", "amount": "-1", "note": "x"})
    own.faults = kind
    connection = http.client.HTTPConnection(urlsplit(own.base_url).netloc, timeout=5)
    with own.store.writing():
        connection.request("POST", "/v1/payments", body, FORM)
        wait_until(lambda: not own._request_settings.faults.to_come)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        requests.get(f"{own.base_url}/account/sign-in", timeout=5)  # by its response the server has seen the disconnect
    assert pay(own)[0] == 200  # behind the other in the queue of writes
    assert own.state()["counts"]["payments"] == before + 2
    assert [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))] == []


def test_a_head_is_faulty_too(own: SandboxServer) -> None:
    """HEAD has the fault of GET, without a body."""
    own.faults = "503"
    assert requests.head(f"{own.base_url}/me", timeout=5).status_code == 503
    own.faults = "reset"
    with pytest.raises(requests.ConnectionError):
        requests.head(f"{own.base_url}/me", timeout=5)
    assert json.loads(requests.get(f"{own.base_url}/me", timeout=5).content)["error"]["code"] == "267"
