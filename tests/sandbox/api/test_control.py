"""Control routes: they require a header that web pages cannot send, and return no secret."""

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import requests

from support.servers import sandbox_fixture

HEADER = {"X-Sandbox-Control": "1"}
GETS, POSTS = ("state", "requests"), ("advance", "deposit", "faults", "latency", "rate-limit", "reset")

own = sandbox_fixture(people=3, years=1)


@pytest.fixture
def control(own) -> Callable[..., requests.Response]:
    """Return a caller of control routes that sends `fields` as JSON."""
    origin = own.base_url.removesuffix("/v1")

    def call(method: str, name: str, fields: Any = None, **more: Any) -> requests.Response:
        options = {"headers": HEADER, "json": fields, **more}
        return requests.request(method, f"{origin}/sandbox/{name}", timeout=10, allow_redirects=False, **options)

    return call


def test_state(own, control) -> None:
    """Town, clock, settings, counts and the findings of the audit; over HTTP they equal `state` in Python."""
    own.reset()
    state = control("GET", "state").json()
    assert state == own.state()
    assert state["town"] == {"seed": 7, "people": 3, "years": 1}
    assert (state["viewer"], state["now"]) == ("maya-lindqvist", "2025-06-30T18:00:00+00:00")
    settings = {"dialect": "documented", "latency": 0, "faults": "", "rate_limit": None, "strict_redirect": False}
    assert {name: state[name] for name in settings} == settings
    assert state["audit"] == []
    query = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM payments), (SELECT count(*) FROM entries)"
    counted = own.store.connection.execute(query).fetchone()
    assert tuple(state["counts"][name] for name in ("users", "payments", "ledger_entries")) == counted
    assert (state["counts"]["applications"], state["counts"]["tokens"], state["counts"]["requests"]) == (1, 0, 0)
    own.store.write("UPDATE users SET balance_cents = balance_cents + 1 WHERE username = ?", (own.viewer,))
    (sentence,) = control("GET", "state").json()["audit"]
    assert "their entries sum to" in sentence
    own.reset()


def test_head_of_the_reading_routes(control) -> None:
    """HEAD requires the header as GET does, and returns the status and headers of GET without a body."""
    for name in GETS:
        answer = control("HEAD", name)
        assert (answer.status_code, answer.content, answer.headers["Content-Type"]) == (200, b"", "application/json")
        assert answer.headers["Content-Length"] == str(len(control("GET", name).content))
        assert control("HEAD", name, headers={}).status_code == 403


def test_requests(ask, own, control) -> None:
    """The newest requests to the service, in order and without tokens; control requests are not listed."""
    own.reset()
    me = ask(on=own)
    me.get_body("/payments", limit=1)
    me.get_body("/me")
    listed = control("GET", "requests")
    expected = [{"method": "GET", "path": "/v1/payments?limit=1"}, {"method": "GET", "path": "/v1/me"}]
    assert listed.json() == {"requests": expected}


def test_advance_and_deposit(ask, own, control) -> None:
    """The clock moves forward by days and hours; cents are added to the balance of the given user."""
    before, me = own.now, ask(own.viewer, "access_profile", "access_balance", on=own)
    state = control("POST", "advance", {"days": 1, "hours": 1.5}).json()
    assert state["now"] == own.now.isoformat() == (before + timedelta(days=1, minutes=90)).isoformat()
    balance = me.get_balance()
    assert control("POST", "deposit", {"user": own.viewer, "cents": 1_234}).json()["audit"] == []
    assert me.get_balance() - balance == Decimal("12.34")


def test_settings(own, control) -> None:
    """Faults, latency and rate limit can be set and removed, and never apply to control routes."""
    for name, fields, state, none in (
        ("faults", {"faults": "ok 503"}, {"faults": "ok 503", "faults_to_come": ["ok", "503"]}, {"faults": ""}),
        ("faults", {"faults": "500:1"}, {"faults": "500:1", "faults_to_come": []}, {"faults": ""}),
        ("latency", {"seconds": 60}, {"latency": 60}, {"seconds": 0}),
        ("rate-limit", {"requests": 1, "seconds": 9}, {"rate_limit": {"requests": 1, "seconds": 9}}, {}),
    ):
        answer = control("POST", name, fields).json()
        assert {key: answer[key] for key in state} == state
        assert [control("GET", "state").status_code for _ in range(3)] == [200] * 3
        assert control("POST", name, none).status_code == 200
    assert (own.faults, own.latency, own.rate_limit) == ("", 0, None)


def test_reset(ask, own, control) -> None:
    """A reset builds the same town or that of another seed; the body is optional, and old tokens are refused."""
    old = own.token(own.viewer)
    assert control("POST", "reset", {"seed": 8}).json()["town"]["seed"] == own.seed == 8
    assert ask(on=own, token=old).get_refusal("/me") == (401, "261")
    assert control("POST", "reset").json()["town"]["seed"] == 8
    assert control("POST", "reset", {"seed": 7}).json()["town"]["seed"] == 7


@pytest.mark.parametrize("name", GETS + POSTS)
def test_requests_without_the_header_are_refused(own, control, refusal, name: str) -> None:
    """Without the header every request, also a form that a page could send, is 403 and changes nothing."""
    before = own.state()
    form = {"data": {"seed": "8", "days": "1", "faults": "500:1"}}
    for headers in ({}, {"X-Sandbox-Control": "0"}, {"X-Requested-With": "1"}, {"Origin": "https://elsewhere.invalid"}):
        for body in ({},) if name in GETS else ({}, form, {"fields": {"days": 1}}):
            answer = control("GET" if name in GETS else "POST", name, headers=headers, **body)
            assert refusal(answer) == (403, "403")
    assert own.state() == before


def test_cors_preflights_are_refused(control) -> None:
    """No response to a preflight, or to a request with an Origin, has a CORS header."""
    for name in GETS + POSTS:
        asks = {
            "Origin": "https://elsewhere.invalid",
            "Access-Control-Request-Method": "GET" if name in GETS else "POST",
            "Access-Control-Request-Headers": "x-sandbox-control, content-type",
        }
        for method, headers in (("OPTIONS", asks), (asks["Access-Control-Request-Method"], asks | HEADER)):
            answer = control(method, name, headers=headers)
            assert not [header for header in answer.headers if header.lower().startswith("access-control")]
            assert (answer.status_code == 405) == (method == "OPTIONS")


def test_invalid_bodies_are_refused(own, control, refusal) -> None:
    """Bodies that are not JSON, or have invalid fields, are refused with one sentence and change nothing."""
    before = own.state()
    for name, bodies in {
        "advance": ([1], {"weeks": 1}, {"days": "1"}, {"days": True}, {"days": -1}, {"days": 1e300}),
        "deposit": (
            {"user": "nobody-at-all", "cents": 1}, {"user": "\ud800", "cents": 1}, {"user": "9" * 5_000, "cents": 1},
            {"user": own.viewer}, {"user": own.viewer, "cents": 1.5}, {"user": own.viewer, "cents": -(10**9)},
            {"user": own.viewer, "cents": 10**13},
        ),
        "faults": ({"faults": "earthquake"}, {}),
        "latency": ({"seconds": 61},),
        "rate-limit": ({"requests": 5}, {"requests": 0, "seconds": 1}),
        "reset": ({"seed": "8"}, {"seed": -1}, {"seed": 2**63}),
    }.items():  # fmt: skip
        for body in bodies:
            assert refusal(control("POST", name, body)) == (400, "400"), (name, body)
    for sent, kind, status in (
        (b"days=1", "application/x-www-form-urlencoded", 415),
        (b'{"days": 1}', "text/plain", 415),
        (b"{", "application/json", 400),
        (b"x" * 70_000, "application/json", 413),
    ):
        answer = control("POST", "advance", data=sent, headers={**HEADER, "Content-Type": kind})
        assert refusal(answer) == (status, str(status))
    assert own.state() == before


def test_responses_have_no_secret(own, control) -> None:
    """No response of a control route has a token or a secret that was issued before, also if it was sent to it."""
    app = own.register_application(own.viewer, name="Mine", redirect_url="http://127.0.0.1/callback")
    secrets = [own.token(own.viewer), app.client_secret]
    for secret in secrets:
        requests.get(f"{own.base_url}/me", params={"access_token": secret, "limit": secret}, timeout=5)
    told = [control("GET", name).text for name in GETS]
    for secret in secrets:  # in the wrong place
        told += [control("POST", "faults", {"faults": spec}).text for spec in (secret, f"{secret}:1")]
        told.append(control("POST", "deposit", {"user": secret, "cents": 1}).text)
    assert [json.loads(text)["error"]["code"] for text in told[2:]] == ["400"] * 6
    assert [secret for secret in secrets if secret[:25] in "".join(told)] == []
