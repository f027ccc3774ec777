"""The log of requests: the newest ones, within a bound of entries and of bytes."""

import sys

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.runtime.request_log import RequestLog

BYTES = 100_000


@pytest.fixture
def log() -> RequestLog:
    """Return a log that holds at most 100 entries in 100,000 bytes."""
    return RequestLog(100, BYTES)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/{}"), ("GET", "/{}" + "x" * 5_000), ("GET", "/{}" + "\U0001f35c" * 5_000), ("M" * 9_000, "/{}"),
        ("GET", "/{}" + "x" * 90_000),
    ],
    ids=["short", "long paths", "wide characters", "long methods", "one at a time"],
)  # fmt: skip
def test_the_size_is_bounded(log, method: str, path: str) -> None:
    """Above the bound of entries or of bytes in memory the older half is dropped, in order."""
    lengths = []
    for number in range(300):
        log.note(method, path.format(number))
        lengths.append(len(log))
        assert len(log) <= 100
        assert sum(sys.getsizeof(text) for entry in log for text in entry) <= BYTES
        assert log == [(method, path.format(kept)) for kept in range(number + 1 - len(log), number + 1)]
    assert min(lengths[100:]) <= max(lengths) // 2 + 1
    assert max(lengths) == 100 or len(method + path) > 10
    log.note("GET", "/" + "x" * 2 * BYTES)  # alone while it is the newest
    assert [len(path) for _, path in log] == [2 * BYTES + 1]
    log.note("GET", "/after")
    assert log == [("GET", "/after")]


def test_what_a_test_removes_makes_room(log) -> None:
    """A log that was cleared or cut by hand holds as much as a new one."""
    for change in (log.clear, lambda: log.__setitem__(slice(None), []), lambda: [log.pop() for _ in range(len(log))]):
        for count, size in ((9, 10_000), (2, 40_000)):
            for number in range(count):
                log.note("GET", f"/{number}" + "x" * size)
            assert len(log) == count
            change()


def test_which_requests_are_logged(ask) -> None:
    """All of the service, refused ones too, with their query but without a token, wherever it is; no pages."""
    with SandboxServer(people=3, years=1) as own:
        me = ask(on=own)
        token = me.token
        me.get("/payments", limit=3, status="settled,pending")
        me.get("/nothing", Access_Token="secret")
        own.sign_in(own.authorize_url(), own.viewer)
        odd = [f"/me;access_token={token}", f"/me/{token}", f"/me{token}", f"/me?x=1;access_token={token}",
               f"/me?{token}", f"/payments?actor=1,{token}", f"/me?x=%2D{token}"]  # fmt: skip
        for path in odd:
            me.session.get(own.base_url + path, timeout=10)
        me.session.request(token, f"{own.base_url}/me", timeout=10)
        me.get("/users/1234567890123456789")
        first = [("GET", "/v1/payments?limit=3&status=settled,pending"), ("GET", "/v1/nothing")]
        assert own.requests[:2] == first
        assert own.requests[3] == ("GET", "/v1/me/***")
        assert own.requests[-2:] == [("***", "/v1/me"), ("GET", "/v1/users/1234567890123456789")]
        assert len(own.requests) == 4 + len(odd)
        assert token not in repr(own.requests)
