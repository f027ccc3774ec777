"""Rate limits: off by default, counted per user and application, with an exact Retry-After."""

import contextlib
from typing import Any

import pytest
import requests
from starlette.requests import Request

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.errors import RateLimitError
from p2p_analytics.sandbox.faults.rate_limit import MOST_KEYS, RateLimit, read_rate
from p2p_analytics.sandbox.faults.settings import RequestSettings
from support.servers import sandbox_fixture

REFUSED = (429, "277")
TIME = [1_000.0]
running = sandbox_fixture(people=3, years=1, monotonic=lambda: TIME[0])


@pytest.fixture
def own(running) -> SandboxServer:
    """Return the sandbox, which serves two requests in ten seconds and has counted none."""
    running.rate_limit = (2, 10)
    return running


@pytest.mark.parametrize(("after", "wait"), [(0.0, 10), (0.5, 10), (9.0, 1), (9.999, 1)])
def test_the_wait_is_true(after: float, wait: int) -> None:
    """The third request in ten seconds is refused with whole seconds, and served after these seconds."""
    limit = RateLimit((2, 10), lambda: TIME[0])
    limit.count_request("me")
    limit.count_request("me")
    TIME[0] += after
    with pytest.raises(RateLimitError) as refused:
        limit.count_request("me")
    assert refused.value.headers == {"Retry-After": str(wait)}
    TIME[0] += wait
    limit.count_request("me")


def test_whose_requests_are_counted_together(ask, own) -> None:
    """Tokens of one user and application share a count; another user or application has its own."""
    first, second = own.token(own.viewer), own.token(own.viewer)
    assert [ask(on=own, token=token).get("/me").status_code for token in (first, second, first)] == [200, 200, 429]
    assert ask(on=own, token=own.token(own.people[1].username)).get("/me").status_code == 200
    through_demo = own.sign_in(own.authorize_url(), own.viewer).partition("access_token=")[2]
    assert ask(on=own, token=through_demo).get("/me").status_code == 200


def test_every_endpoint_counts_and_nothing_else(ask, own, refusal) -> None:
    """Lists and writes share one count, and no write above it is carried out; pages and control routes have none."""
    other, before = own.people[1].user_id, own.state()["counts"]["payments"]
    me = ask(own.viewer, "access_profile", "make_payments", on=own)
    me.create(user_id=other)
    me.get_body("/payments")
    assert me.get_refusal(f"/users/{other}") == REFUSED
    assert refusal(me.post(user_id=other)) == REFUSED
    for _ in range(5):
        assert requests.get(own.authorize_url(), timeout=5).status_code == 200
        state = own.base_url.removesuffix("/v1") + "/sandbox/state"
        counts = requests.get(state, headers={"X-Sandbox-Control": "1"}, timeout=5).json()["counts"]
        assert counts["payments"] == before + 1


def test_without_a_token_the_address_counts(ask, own, refusal) -> None:
    """Token exchanges and requests without a valid token share the count of their address, not that of a user."""
    exchange = f"{own.base_url}/oauth/access_token"
    assert refusal(requests.post(exchange, data={"client_id": "1"}, timeout=5)) == (400, "241")
    assert ask(on=own, token="guess").get_refusal("/me") == (401, "261")
    assert refusal(requests.post(exchange, data={"client_id": "1"}, timeout=5)) == REFUSED
    assert ask(on=own, token="guess").get_refusal("/me") == REFUSED
    assert ask(on=own).get("/me").status_code == 200


def test_an_address_is_the_connections(own) -> None:
    """A forwarding header does not change the address that is counted."""
    said = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(3)]
    assert [requests.get(f"{own.base_url}/me", headers=one, timeout=5).status_code for one in said] == [401, 401, 429]


LOCAL = ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "::1%lo", "0:0:0:0:0:0:0:1", "localhost"]


@pytest.mark.parametrize(
    ("peers", "counts"),
    [
        ([{"client": (host, 1)} for host in LOCAL], 1),
        ([{"client": (host, 1), "server": ("127.0.0.1", 80)} for host in ("192.0.2.1", "192.0.2.2", "::1")], 1),
        ([{"client": (host, 1), "server": ("192.0.2.9", 80)} for host in ("192.0.2.1", "192.0.2.2", "2001:db8::1")], 3),
        ([{"client": None}, {}, {"client": None, "server": ("/run/socket", None)}], 1),
    ],
    ids=["names of loopback", "reached over loopback", "other machines", "no address"],
)
def test_which_peers_share_a_count(peers: list[dict[str, Any]], counts: int) -> None:
    """Every name of a loopback peer is this machine; other machines have counts of their own."""
    request_settings = RequestSettings(rate_limit=(1, 10), monotonic=lambda: TIME[0])
    entrance = Authenticator(None, request_settings)  # type: ignore[arg-type] # no token is looked at
    served = 0
    for peer in peers:
        with contextlib.suppress(RateLimitError):
            entrance.count_address(Request({"type": "http", "headers": [], **peer}))
            served += 1
    assert served == counts


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
def test_a_body_that_cannot_be_read_counts(own, refusal, kind: str) -> None:
    """A write with unreadable parameters, and so without a token, is counted for its address."""
    query, headers = {"access_token": own.token(own.viewer, "make_payments")}, {"Content-Type": kind}
    address = f"{own.base_url}/payments"
    answers = [requests.post(address, params=query, headers=headers, data=b"{", timeout=5) for _ in range(3)]
    assert [refusal(one) for one in answers] == [(400, "400"), (400, "400"), REFUSED]


def test_memory_is_bounded() -> None:
    """The number of counts is bounded, and the oldest are dropped first."""
    limit = RateLimit((1, 10), lambda: TIME[0])
    for key in range(MOST_KEYS + 100):
        limit.count_request(key)
    assert len(limit._windows) == MOST_KEYS
    limit.count_request(0)  # dropped, so counted from 0
    with pytest.raises(RateLimitError):
        limit.count_request(MOST_KEYS + 99)
    TIME[0] += 10
    limit.count_request("somebody")
    assert len(limit._windows) == 1


def test_rates_as_text() -> None:
    """A rate is requests, a slash and seconds, or a pair of them; everything else is refused with one sentence."""
    assert [read_rate(text) for text in ("10/60", " 1/0.5 ", "1000000/86400")] == [
        (10, 60.0), (1, 0.5), (1_000_000, 86_400.0),
    ]  # fmt: skip
    for text in ("", "10", "10/", "/5", "0/5", "5/0", "-1/5", "1.5/5", "5/1e3", "1000001/5", "1/86401"):
        with pytest.raises(SettingError, match=r"^A rate limit is [^.]+(\.\d[^.]*)?\.$"):
            read_rate(text)
    for value in ((0, 5), (1.5, 5), (1, 0), (1, float("nan")), (1, float("inf")), (1,), "10/60", 3):
        with pytest.raises(SettingError, match="A rate limit is"):
            SandboxServer(rate_limit=value)


@pytest.mark.parametrize("status", [429, 400])
def test_the_status_of_a_rate_limit(ask, status: int) -> None:
    """As observed, 277 comes with 429 or, by a switch, with 400; the wait and all other errors stay as they are."""
    options = {"dialect": "observed", "rate_limit": (1, 60), "rate_limit_status": status, "monotonic": lambda: 0.0}
    with SandboxServer(people=3, years=1, **options) as server:
        me = ask(on=server)
        assert me.get("/me").status_code == 200
        refused = me.get("/me")
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, 277)
        assert refused.headers["Retry-After"] == "60"
        server.rate_limit, server.faults = None, "429"
        refused = me.get("/me")
        assert (refused.status_code, refused.headers["Retry-After"]) == (status, "1")
        assert requests.get(f"{server.base_url}/me", timeout=10).status_code == 401
        described = requests.get(server.base_url.removesuffix("v1") + "sandbox/openapi.json", timeout=10).json()
        assert "277:" in described["paths"]["/me"]["get"]["responses"][str(status)]["description"]
        assert server.state()["rate_limit_status"] == status


@pytest.mark.parametrize(
    ("dialect", "status"),
    [("documented", 400), ("observed", 503), ("observed", 400.0), ("observed", "400"), ("observed", None),
     ("documented", 429.0), ("observed", [400])],
)  # fmt: skip
def test_a_rate_limit_has_no_other_status(dialect: str, status: Any) -> None:
    """400 is of the observed dialect alone, and there is no third status."""
    with pytest.raises(SettingError, match=r"rate_limit_status cannot be .* it is 429"):
        SandboxServer(people=3, years=1, dialect=dialect, rate_limit_status=status).start()
