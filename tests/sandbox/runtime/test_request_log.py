"""The log of requests: the newest ones, within a bound of entries and of bytes."""

from __future__ import annotations

import http.client
import sys
import tracemalloc
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.runtime import request_log
from p2p_analytics.sandbox.runtime.request_log import RequestLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Asking = Callable[..., Any]

BYTES = 100_000


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> RequestLog:
    """Return a log that holds at most 100 entries in 100,000 bytes."""
    monkeypatch.setattr(request_log, "LARGEST_COUNT", 100)
    monkeypatch.setattr(request_log, "LARGEST_BYTES", BYTES)
    return RequestLog()


def size(log: RequestLog) -> int:
    """Return what the texts of a log take in memory."""
    return sum(sys.getsizeof(text) for entry in log for text in entry)


def test_the_count_is_bounded(log: RequestLog) -> None:
    """Above the largest count the older half is dropped, in order; the newest entries stay."""
    for number in range(1_000):
        log.note("GET", f"/{number}")
        assert len(log) <= 100
        assert log[-1] == ("GET", f"/{number}")
    assert len(log) >= 50
    assert [int(path[1:]) for _, path in log] == list(range(1_000 - len(log), 1_000))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", lambda number: f"/{number}" + "x" * 5_000),
        ("GET", lambda number: f"/{number}" + "\U0001f35c" * 5_000),
        ("M" * 9_000, lambda number: f"/{number}"),
        ("GET", lambda number: f"/{number}" + "x" * (90_000 if number % 7 == 0 else 1)),
    ],
    ids=["long paths", "wide characters", "long methods", "few long ones"],
)
def test_the_bytes_are_bounded(log: RequestLog, method: str, path: Callable[[int], str]) -> None:
    """However long method and path are, and of whatever characters, the log takes no more than its bytes."""
    for number in range(300):
        log.note(method, path(number))
        assert size(log) <= BYTES
        assert log[-1] == (method, path(number))


def test_one_entry_larger_than_all(log: RequestLog) -> None:
    """An entry above the bound is alone while it is the newest, and goes with the next one."""
    log.note("GET", "/before")
    log.note("GET", "/" + "x" * 2 * BYTES)
    assert [method for method, _ in log] == ["GET"]
    assert len(log[0][1]) > BYTES
    log.note("GET", "/after")
    assert log == [("GET", "/after")]


def test_what_a_test_removes_makes_room(log: RequestLog) -> None:
    """A log that was cleared or cut by hand holds as much as a new one."""
    for change in (log.clear, lambda: log.__setitem__(slice(None), []), lambda: [log.pop() for _ in range(len(log))]):
        for _ in range(5):
            for number in range(9):
                log.note("GET", f"/{number}" + "x" * 10_000)
            change()
            assert log == []
        log.note("GET", "/" + "x" * 40_000)
        log.note("GET", "/" + "x" * 40_000)
        assert len(log) == 2
        change()


def test_long_requests_leave_the_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests with queries of 50 KB leave less than twice the bound, and the newest can be read."""
    monkeypatch.setattr(request_log, "LARGEST_BYTES", 300_000)
    with SandboxServer(people=3, years=1) as own:
        connection = http.client.HTTPConnection(urlsplit(own.base_url).netloc, timeout=10)
        tracemalloc.start()
        try:
            for number in range(40):
                connection.request("GET", f"/v1/me?number={number}&x={'y ' * 9_999}".replace(" ", "%ff"))
                connection.getresponse().read()
            kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/sandbox/gate.py")])  # noqa: FBT003
        finally:
            tracemalloc.stop()
            connection.close()
        assert sum(one.size for one in kept.statistics("filename")) < 600_000
        assert own.requests[-1][1].startswith("/v1/me?number=39&")
        assert len(own.requests) <= 3


def test_requests_are_counted_without_the_token(ask: Asking) -> None:
    """Service requests are counted, refused ones too, with their query but without the token; sign-in pages are not."""
    with SandboxServer(people=3, years=1) as own:
        me = ask(on=own)
        me.get("/payments", limit=3, status="settled,pending")
        me.get("/me")
        me.get("/nothing", Access_Token="secret")
        own.sign_in(own.authorize_url(), own.viewer)
        me.session.close()
        assert own.requests == [
            ("GET", "/v1/payments?limit=3&status=settled,pending"), ("GET", "/v1/me"), ("GET", "/v1/nothing"),
        ]  # fmt: skip


def test_a_token_in_an_odd_place_is_not_kept(ask: Asking) -> None:
    """A token in the path, behind a semicolon, under another name or as a name is not among the counted requests."""
    with SandboxServer(people=3, years=1) as own:
        me = ask(on=own)
        token = me.token
        for odd in (f"/me;access_token={token}", f"/me/{token}", f"/me{token}", f"/me?x=1;access_token={token}",
                    f"/me?{token}", f"/payments?actor=1,{token}", f"/me?x=%2D{token}"):  # fmt: skip
            me.session.get(own.base_url + odd, timeout=10)
        me.session.request(token, f"{own.base_url}/me", timeout=10)
        me.get("/users/1234567890123456789")
        me.session.close()
        seen = [path for _, path in own.requests]
        assert own.requests[-2] == ("***", "/v1/me")
        assert token not in repr(own.requests)
    assert len(seen) == 9
    assert seen[1] == "/v1/me/***"
    assert seen[-1] == "/v1/users/1234567890123456789"
