"""Faults: which request meets which, what it sees of it, and whether what it asked for was done."""

from __future__ import annotations

import http.client
import json
import socket
import struct
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.faults import faults
from p2p_analytics.sandbox.faults.faults import Faults, Kind
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
    """Pay once, and return the status and the body, or the errors in their place."""
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
def test_what_a_write_meets(
    own: SandboxServer, monkeypatch: pytest.MonkeyPatch, kind: str, answer: tuple[Any, bytes], done: int
) -> None:
    """Each fault shows itself in its way, is over after one request, and what was asked is done or not as stated."""
    monkeypatch.setattr(faults, "DRIP_SECONDS", 0)
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
    """The tables of this file leave no kind out."""
    tried = {mark.args[1][place][0] for test in (test_what_a_write_meets, test_hostile_next_links)
             for mark in test.pytestmark for place in range(len(mark.args[1]))}  # fmt: skip
    assert tried == set(Kind)


def test_a_429_says_how_long_to_wait(ask: Asking, own: SandboxServer) -> None:
    """The answer has Retry-After, and is the one that the rate limit gives."""
    own.faults = "429"
    answer = ask(on=own).get("/me")
    assert (answer.headers["Retry-After"], answer.json()["error"]["code"]) == ("1", "277")


def test_a_cut_answer_promises_more_than_comes(own: SandboxServer) -> None:
    """Content-Length is that of the whole answer, half of it comes, and then the end of the connection."""
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
    """After the headers comes one byte and then, for as long as is set, nothing."""
    monkeypatch.setattr(faults, "DRIP_SECONDS", 600)
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
    """The link of a list leads elsewhere or nowhere new, without the token; the items are as they should be."""
    own.faults = f"ok {kind}"
    me = ask(on=own)
    good, bad = (me.ok("/payments", limit=2, status="settled") for _ in range(2))
    assert bad["pagination"]["next"] == link.format(port=urlsplit(own.base_url).port)
    assert bad["data"] == good["data"]


def test_a_last_page_has_the_hostile_link_too(ask: Asking, own: SandboxServer) -> None:
    """Where the list ends, the hostile link takes the place of null; what is no list stays as it is."""
    own.faults = "next-host*2"
    me = ask(on=own)
    assert me.ok("/payments", after="2025-06-30")["pagination"]["next"].startswith("http://elsewhere.invalid/")
    assert set(me.ok("/me")) == {"data"}


@pytest.mark.parametrize("path", ["/payments", "/payments?status=settled&action=pay&actor={me}", "/users/{me}/friends"])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("always", [False, True], ids=["once", "for ever"])
def test_a_list_that_claims_to_end(ask: Asking, own: SandboxServer, path: str, at: int, *, always: bool) -> None:
    """`empty-page` is a last page without items, `no-next` a page without its link; others stay as they are."""
    me = ask(on=own)
    path = path.format(me=me.ok("/me")["data"]["user"]["id"])
    honest = me.ok(path, limit=1)
    assert honest["pagination"]["next"]
    for kind, faulty in {
        "empty-page": {"data": [], "pagination": {"next": None}},
        "no-next": {"data": honest["data"], "pagination": {"next": None}},
    }.items():
        own.faults = f"ok*{at} {kind}" + "*100" * always
        pages = [me.ok(path, limit=1) for _ in range(4)]
        assert pages == [faulty if place == at or (always and place > at) else honest for place in range(4)]
        own.faults = f"{kind}:1"
        assert [me.ok(path, limit=1), me.ok(path, limit=1)] == [faulty, faulty]


@pytest.mark.parametrize("kind", ["empty-page", "no-next"])
def test_only_a_list_claims_to_end(ask: Asking, own: SandboxServer, kind: str) -> None:
    """Profiles, single payments and errors have no page to lose."""
    me = ask(on=own)
    one = me.ok("/payments", limit=1)["data"][0]["id"]
    paths = ("/me", f"/payments/{one}", "/payments?limit=0", "/users/1/friends")
    honest = [me.get(path).content for path in paths]
    own.faults = f"{kind}:1"
    assert [me.get(path).content for path in paths] == honest


@pytest.mark.parametrize(
    ("kind", "asked", "shown"),
    [  # A payment at each hour of two days, and what the service shows is the newest before the bound that it reads.
        ("bound-zone", "2025-03-02T12:00:00", "2025-03-02T06:00:00"),
        ("bound-zone", "2025-03-02T12:00:00Z", "2025-03-02T06:00:00"),
        ("bound-zone", "2025-03-02T14:30:00+02:00", "2025-03-02T07:00:00"),
        ("bound-zone", "2025-03-02T12:00:00.000001", "2025-03-02T07:00:00"),
        ("bound-zone", "2025-03-02T03:00:00", "2025-03-01T21:00:00"),
        ("bound-zone", "2025-03-02", "2025-03-01T18:00:00"),
        ("bound-day", "2025-03-02T12:00:00", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-02T12:00:00.5Z", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-03T01:00:00+02:00", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-02", "2025-03-01T23:00:00"),
    ],
)
def test_a_bound_that_is_misread(ask: Asking, kind: str, asked: str, shown: str) -> None:
    """`before` is read 5 h earlier or as its day, with filters too; `after` and lists without `before` are honest."""
    with SandboxServer(people=3, years=1) as own:
        hours = [datetime(2025, 3, day, hour, tzinfo=UTC) for day in (1, 2) for hour in range(24)]
        own.add_payments(own.viewer, [{"date_created": hour, "spelling": 0} for hour in hours])
        me = ask(on=own)
        unbounded, after = me.ok("/payments", limit=3), me.ok("/payments", limit=50, after=asked, action="pay")
        own.faults = f"{kind}:1"
        for filters in ({}, {"status": "settled", "action": "pay", "after": "2025-03-01T00:00:00"}):
            assert me.ok("/payments", limit=1, before=asked, **filters)["data"][0]["date_created"][:19] == shown
        assert me.ok("/payments", limit=3) == unbounded
        assert me.ok("/payments", limit=50, after=asked, action="pay") == after


@pytest.mark.parametrize("kind", ["bound-zone", "bound-day"])
@pytest.mark.parametrize(
    "before",
    ["", "yesterday", "2025-02-30", "0001-01-01", "0001-01-01T03:00:00+09:00", "9999-12-31T23:59:59-23:00", "\xff"],
)
def test_a_bound_at_the_edge_is_answered(ask: Asking, own: SandboxServer, kind: str, before: str) -> None:
    """Whatever stands in `before`, the answer has the honest status and code."""
    own.faults = f"ok {kind}"
    me = ask(on=own)
    honest, faulty = (me.get("/payments", before=before, limit=50) for _ in range(2))
    assert faulty.status_code == honest.status_code
    if honest.status_code != 200:
        assert faulty.json() == honest.json()


HOURS = "2025-03-02T12:00:00"


@pytest.mark.parametrize(
    ("query", "before"),
    [
        (f"before={HOURS}", HOURS),
        (f"%62efore={HOURS.replace(':', '%3A')}", HOURS),
        (f"before=+{HOURS}+", HOURS),
        (f"before=&before={HOURS}&before=%20", HOURS),
        ("before=2025-03-02T14:00:00+02:00", HOURS),
        (f"x=%ff%C3%28&before={HOURS}&note=%00&=&x", HOURS),
        (f"before={HOURS}&before={HOURS}", None),
        (f"before={HOURS}&%62efore=2025-03-02", None),
        (f"before={HOURS}%00", None),
        (f"Before={HOURS}&before[]={HOURS}", ""),
    ],
)
@pytest.mark.parametrize("kind", ["bound-zone", "bound-day"])
def test_a_bound_is_misread_however_it_is_spelled(
    ask: Asking, own: SandboxServer, query: str, before: str | None, kind: str
) -> None:
    """A faulty answer is the honest one to the misread bound, other parameters unharmed; what is refused stays so."""
    me = ask(on=own)
    address = f"/payments?{query}&status=settled&limit=50"
    honest = me.get(address)
    own.faults = kind
    faulty = me.get(address)
    if before is None:
        assert (honest.status_code, faulty.status_code) == (400, 400)
        assert faulty.json() == honest.json()
    elif before:
        misread = {"bound-zone": "2025-03-02T07:00:00", "bound-day": "2025-03-02"}[kind]
        assert faulty.content == me.get("/payments", before=misread, status="settled", limit=50).content
    else:
        assert faulty.json() == honest.json()


@pytest.mark.parametrize("kind", ["empty-page", "no-next"])
def test_the_head_of_a_faulty_list(own: SandboxServer, kind: str) -> None:
    """HEAD has the length of the faulty page, and no body."""
    own.faults = f"{kind}*2"
    address = f"{own.base_url}/payments?access_token={own.token(own.viewer)}"
    head, whole = requests.head(address, timeout=5), requests.get(address, timeout=5)
    assert head.headers["Content-Length"] == str(len(whole.content))
    assert head.content == b""


def test_other_lists_are_not_misread(ask: Asking, own: SandboxServer) -> None:
    """`before` of a list of friends is an id, and stays one."""
    me = ask(on=own)
    path = f"/users/{me.ok('/me')['data']['user']['id']}/friends"
    honest = me.ok(path, before=own.people[-1].user_id)
    for kind in ("bound-zone", "bound-day"):
        own.faults = kind
        assert me.ok(path, before=own.people[-1].user_id) == honest


def test_a_note_that_looks_like_a_link_stays(ask: Asking) -> None:
    """Only the list's own link is changed, whatever stands in a note."""
    with SandboxServer(people=3, years=1) as own:
        note = '"pagination":{"next":null}'
        own.add_payments(own.viewer, [{"date_created": own.now, "note": note}])
        own.faults = "next-host"
        page = ask(on=own).ok("/payments", limit=1)
        assert page["data"][0]["note"] == note
        assert page["pagination"]["next"].startswith("http://elsewhere.invalid/")


def test_faults_are_the_endpoints_alone(own: SandboxServer) -> None:
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


@pytest.mark.parametrize(
    ("spec", "met"),
    [
        ("", ["ok", "ok"]),
        ("503", ["503", "ok", "ok"]),
        ("ok*3 503 reset", ["ok", "ok", "ok", "503", "reset", "ok"]),
        ("  429*2\n drip\t", ["429", "429", "drip", "ok"]),
        ("500*0 504", ["504", "ok"]),
        ("reset:1", ["reset"] * 5),
        ("html:0", ["ok"] * 5),
    ],
)
def test_which_requests_meet_a_fault(spec: str, met: list[str]) -> None:
    """A script is met in order, and then all is well; a rate of one is met by all, a rate of none by nobody."""
    found = Faults(spec)
    assert [found.draw() for _ in met] == met


def test_rates_are_shares_and_repeat() -> None:
    """Of 10,000 requests about the given shares meet each fault, the same ones for the same seed and no other."""
    spec = "503:0.1, reset:.05"
    first, again, other = ([made.draw() for _ in range(10_000)] for made in map(Faults, [spec] * 3, [1, 1, 2]))
    assert first == again
    assert first != other
    counts = Counter(first)
    assert set(counts) == {"ok", "503", "reset"}
    assert abs(counts["503"] - 1_000) < 120
    assert abs(counts["reset"] - 500) < 90


def test_a_run_repeats(ask: Asking) -> None:
    """Two sandboxes of the same seed and rates give the same requests the same answers."""
    runs = []
    for _ in range(2):
        with SandboxServer(people=3, years=1, faults="503:0.3,429:0.2") as own:
            me = ask(on=own)
            runs.append([me.get("/me").status_code for _ in range(40)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 429, 503}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("503:2", "add up to more than 1"),
        ("503:0.6,reset:0.6", "add up to more than 1"),
        ("503:0.1,503:0.2", "two rates"),
        ("503:x", "not a rate of a fault"),
        ("503:", "not a rate of a fault"),
        ("503:0.1,", "not a rate of a fault"),
        ("503:-0.1", "not a rate of a fault"),
        ("503:0.1 reset", "not a rate of a fault"),
        ("503,reset", "not a step of a fault script"),
        ("ok*x", "not a step of a fault script"),
        ("earthquake", "There is no fault 'earthquake'; there are ok, 429, 500"),
        ("earthquake:0.1", "There is no fault"),
        ("ok*10001", "at most 10000 steps"),
        ("ok*9999 503*2", "at most 10000 steps"),
    ],
)
def test_specifications_that_cannot_be_read(own: SandboxServer, spec: str, reason: str) -> None:
    """One sentence says what is wrong, at the start and while it runs, and the faults before stay."""
    own.faults = "503 reset"
    for attempt in (lambda: SandboxServer(faults=spec), lambda: setattr(own, "faults", spec)):
        with pytest.raises(SettingError, match=reason) as caught:
            attempt()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
    assert own.faults == "503 reset"
    assert own.state()["faults_to_come"] == ["503", "reset"]
    own.faults = ""


def test_no_fault_is_an_error_of_the_sandbox(
    own: SandboxServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for leaves no word in the log."""
    monkeypatch.setattr(faults, "DRIP_SECONDS", 0)
    for kind in Kind:
        own.faults = kind
        pay(own)
    assert [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))] == []


@pytest.mark.parametrize("kind", ["lost", "cut", "cut-reset", "drip"])
def test_a_client_that_went_first(own: SandboxServer, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    """Where nobody is there any more to meet a fault, what was asked is done all the same, and nothing is logged."""
    token, before = own.token(own.viewer, "make_payments"), own.state()["counts"]["payments"]
    body = urlencode({"access_token": token, "email": "gone@example.net", "amount": "-1", "note": "x"})
    own.faults = kind
    connection = http.client.HTTPConnection(urlsplit(own.base_url).netloc, timeout=5)
    with own.store.writing():
        connection.request("POST", "/v1/payments", body, FORM)
        wait_until(lambda: not own._request_settings.faults.to_come)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        requests.get(f"{own.base_url}/account/sign-in", timeout=5)  # by then the server has seen the end
    assert pay(own)[0] == 200  # behind the other in the queue of writes
    assert own.state()["counts"]["payments"] == before + 2
    assert [record.getMessage() for record in caplog.records if record.name.startswith(("uvicorn", "asyncio"))] == []


def test_a_head_is_faulty_too(own: SandboxServer) -> None:
    """HEAD meets what GET would, without a body."""
    own.faults = "503"
    assert requests.head(f"{own.base_url}/me", timeout=5).status_code == 503
    own.faults = "reset"
    with pytest.raises(requests.ConnectionError):
        requests.head(f"{own.base_url}/me", timeout=5)
    assert json.loads(requests.get(f"{own.base_url}/me", timeout=5).content)["error"]["code"] == "267"
