"""Faults: the response to a request with a fault, and whether the request was processed."""

import http.client
import socket
import struct
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.faults.injection import misread_bound
from p2p_analytics.sandbox.faults.settings import Timing
from p2p_analytics.sandbox.faults.specification import Kind
from p2p_analytics.sandbox.http.parameters import instant_us
from support.servers import sandbox_fixture
from support.waiting import wait_until

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NOON = "2025-03-02T12:00:00"

own = sandbox_fixture(people=3, years=1, timing=Timing(drip=0.0))


@pytest.fixture(autouse=True)
def _no_faults_left(own) -> None:
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


def _list_records(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ok", (200, b'{"data":', 1)), ("429", (429, b'{"error":', 0)), ("500", (500, b'{"error":', 0)),
        ("502", (502, b"<!doctype html>", 0)), ("503", (503, b"<!doctype html>", 0)),
        ("504", (504, b"<!doctype html>", 0)), ("html", (200, b"<!doctype html>", 0)),
        ("reset", (ConnectionResetError, b"", 0)), ("lost", (ConnectionResetError, b"", 1)),
        ("cut", (http.client.IncompleteRead, b"", 1)), ("cut-reset", (ConnectionResetError, b"", 1)),
        ("drip", (200, b'{"data":', 1)), ("garbage", (200, b'{"data": \xff', 1)), ("empty", (200, b"", 1)),
        ("next-host", (200, b'{"data":', 1)), ("empty-page", (200, b'{"data":', 1)),
        ("no-next", (200, b'{"data":', 1)), ("bound-zone", (200, b'{"data":', 1)),
        ("bound-day", (200, b'{"data":', 1)),
    ],
)  # fmt: skip
def test_a_write_with_a_fault(own, caplog, kind: str, expected: tuple[Any, bytes, int]) -> None:
    """Each fault has its response, affects one request, processes the request or does not, and logs nothing."""
    own.link_bank(own.viewer)
    before = own.state()["counts"]["payments"]
    own.faults = kind
    status, body = pay(own)
    assert (status, body[: len(expected[1])], own.state()["counts"]["payments"] - before) == expected
    assert own.state()["faults_to_come"] == []
    assert pay(own)[0] == 200
    assert _list_records(caplog) == []


def test_a_cut_response_is_shorter_than_its_length(own) -> None:
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


def test_a_drip_is_one_byte_at_a_time() -> None:
    """After the headers one byte is sent, and then nothing for the seconds that are set."""
    with (
        SandboxServer(people=3, years=1, faults="drip", timing=Timing(drip=600)) as own,
        socket.create_connection(("127.0.0.1", urlsplit(own.base_url).port), timeout=5) as connection,
    ):
        connection.sendall(b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while not received.endswith(b"\r\n\r\n{"):
            received += connection.recv(65_536)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert received.startswith(b"HTTP/1.1 401 ")


def test_hostile_next_links(ask, own) -> None:
    """The next link leads to another host or to the same page, without the token; the items do not change."""
    me, host, query = ask(on=own), urlsplit(own.base_url).netloc, "limit=2&status=settled"
    for kind, link in {
        "next-host": f"http://elsewhere.invalid/v1/payments?{query}",
        "next-user": f"http://{host}@elsewhere.invalid/v1/payments?{query}",
        "next-slashes": f"//elsewhere.invalid/v1/payments?{query}",
        "next-path": f"http://{host}/v1/payments/elsewhere?{query}",
        "next-repeats": f"http://{host}/v1/payments?{query}",
    }.items():
        own.faults = f"ok {kind}"
        good, bad = (me.get_body("/payments", limit=2, status="settled") for _ in range(2))
        assert (bad["pagination"]["next"], bad["data"]) == (link, good["data"])


@pytest.mark.parametrize("path", ["/payments", "/payments?status=settled&action=pay&actor={me}", "/users/{me}/friends"])
def test_a_list_that_claims_to_end(ask, own, path: str) -> None:
    """`empty-page` is a last page without items, `no-next` a page without its link; other pages do not change."""
    me = ask(on=own)
    path = path.format(me=me.get_body("/me")["data"]["user"]["id"])
    honest = me.get_body(path, limit=1)
    assert honest["pagination"]["next"]
    for kind, data in (("empty-page", []), ("no-next", honest["data"])):
        own.faults = f"ok {kind} ok"
        pages = [me.get_body(path, limit=1) for _ in range(3)]
        assert pages == [honest, {"data": data, "pagination": {"next": None}}, honest]
        own.faults = f"{kind}:1"
        head = requests.head(f"{own.base_url}{path}", params={"access_token": me.token, "limit": 1}, timeout=5)
        assert (head.headers["Content-Length"], head.content) == (str(len(me.get(path, limit=1).content)), b"")


@pytest.mark.parametrize("kind", ["empty-page", "no-next", "next-host"])
def test_only_the_link_of_a_list_changes(ask, own, kind: str) -> None:
    """On the last page too; profiles, single payments, errors, and notes that look like a link do not change."""
    me, note = ask(on=own), '"pagination":{"next":null}'
    (one,) = own.add_payments(own.viewer, [{"date_created": own.now, "note": note}])
    paths = ("/me", f"/payments/{one}", "/payments?limit=0", "/users/1/friends")
    honest = [me.get(path).content for path in paths]
    last = me.get_body("/payments", after="2025-06-30")
    own.faults = f"{kind}:1"
    assert [me.get(path).content for path in paths] == honest
    page = me.get_body("/payments", after="2025-06-30")
    assert page["data"] == ([] if kind == "empty-page" else last["data"])
    link = page["pagination"]["next"]
    assert link is None if kind != "next-host" else link.startswith("http://elsewhere.invalid/")


def test_only_endpoints_have_faults(own) -> None:
    """Every endpoint fails, HEAD and the token exchange too; pages, control routes and other addresses do not."""
    own.faults = "500:1"
    origin = own.base_url.removesuffix("/v1")
    asked = {
        "/v1/me": 500, "/v1/payments": 500, "/v1/users/1/friends": 500, "/v1/oauth/access_token": 500,
        "/v1/nothing": 500, "/v1/oauth/authorize": 400, "/v1/account/sign-in": 200, "/v1/account": 200,
        "/sandbox/state": 200, "/": 404,
    }  # fmt: skip
    assert requests.head(f"{own.base_url}/me", timeout=5).status_code == 500
    headers = {"X-Sandbox-Control": "1"}
    found = {path: requests.get(origin + path, headers=headers, timeout=5).status_code for path in asked}
    own.faults = ""
    assert found == asked


@pytest.mark.parametrize("kind", ["lost", "cut", "cut-reset", "drip"])
def test_a_client_that_disconnects_first(own, caplog, kind: str) -> None:
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
    assert _list_records(caplog) == []


@pytest.mark.parametrize(
    ("asked", "zone", "day"),
    [
        (NOON, "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        (f"{NOON}Z", "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        ("2025-03-03T01:00:00+02:00", "2025-03-02T18:00:00", "2025-03-02T00:00:00"),
        ("2025-03-02T12:00:00.000001", "2025-03-02T07:00:00.000001", "2025-03-02T00:00:00"),
        ("2025-03-02T03:00:00", "2025-03-01T22:00:00", "2025-03-02T00:00:00"),
        ("2025-03-02", "2025-03-01T19:00:00", "2025-03-02T00:00:00"),
        (" 2025-03-02T12:00:00 ", "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        ("0001-01-01", "0001-01-01T00:00:00", "0001-01-01T00:00:00"),
        ("0001-01-01T03:00:00+09:00", "0001-01-01T00:00:00", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59-23:00", "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"),
        *((text, text, text) for text in ("", "yesterday", "2025-02-30", f"{NOON}\0")),
    ],
)
def test_a_bound_that_is_misread(asked: str, zone: str, day: str) -> None:
    """`before` is read 5 h earlier or as its day, within the range of datetime; other texts and requests stay."""
    query = f"%62efore={asked.replace('+', '%2B')}&after={NOON}"
    scope = {"method": "GET", "path": "/v1/payments", "query_string": query.encode()}
    for kind, expected in ((Kind.BOUND_ZONE, zone), (Kind.BOUND_DAY, day), (Kind.UNAVAILABLE, asked)):
        found = misread_bound(kind, scope, instant_us)["query_string"].decode("ascii")
        assert parse_qsl(found, keep_blank_values=True) == [("before", expected), ("after", NOON)]
        for other in (scope | {"path": "/v1/users/1/friends"}, scope | {"method": "POST"}):
            assert misread_bound(kind, other, instant_us) == other


def test_other_names_are_not_misread() -> None:
    """Each `before` is misread; names that look like it are not."""
    query = f"Before={NOON}&before[]={NOON}&before={NOON}&before={NOON}"
    scope = {"method": "GET", "path": "/v1/payments", "query_string": query.encode()}
    found = parse_qsl(misread_bound(Kind.BOUND_DAY, scope, instant_us)["query_string"].decode())
    day = "2025-03-02T00:00:00"
    assert found == [("Before", NOON), ("before[]", NOON), ("before", day), ("before", day)]
