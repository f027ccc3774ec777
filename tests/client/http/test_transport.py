"""Transport: retries and their waits, error classes, certificates and proxies."""

import gzip
import inspect
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client.http.error_mapping import map_transport_failure
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY
from support.connections import client_to, transport_to
from support.exceptions import format_everything

GOOD = {"data": {"id": "7"}}
ENVELOPE = {"error": {"message": f"Bad token {CANARY}. access_token={CANARY}", "code": "261"}}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, {}, b""), errors.ServerError),
        ((429, {}, b""), errors.RateLimitedError),
        ((200, {}, b"<html>please log in</html>"), errors.ProtocolError),
        ((200, {"Content-Length": "9999"}, b'{"data": 1}'), errors.TransportError),
    ],
)
def test_a_transient_fault_is_retried_with_exponential_backoff(start_service, answer: object, kind: type) -> None:
    """Five attempts, then the last failure; with jitter at its midpoint the waits are 3/4 of 0.5, 1, 2, 4."""
    service = start_service(lambda *_: answer)
    transport, waits = transport_to(service.base_url, timeout=(1.0, 0.1))
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert (len(service.asked), waits) == (5, [0.375, 0.75, 1.5, 3.0])
    assert CANARY not in format_everything(caught.value)


@pytest.mark.parametrize("max_attempts", [1, 7])
def test_the_number_of_attempts_is_a_setting_of_the_client(start_service, max_attempts: int) -> None:
    """A client sends a request that fails for a moment as often as its `max_attempts` says, and then raises."""
    service = start_service(lambda *_: (503, {}, b""))
    with client_to(service.base_url, max_attempts=max_attempts) as client, pytest.raises(errors.ServerError):
        client.me()
    assert len(service.asked) == max_attempts


@pytest.mark.parametrize(
    ("header", "waits"),
    [("7", [7.5]), (None, [20]), ("soon", [0.375]), ("-5", [0.375]), ("", [0.375]), ("1.5", [0.375])],
    ids=["seconds", "date", "word", "negative", "empty", "fraction"],
)
def test_a_readable_retry_after_is_obeyed(start_service, header: str | None, waits: list[float]) -> None:
    """A number of seconds is waited, plus jitter, or until a date; any other value is ignored."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    answers = iter([(429, {"Retry-After": date if header is None else header}, b""), GOOD])
    transport, waited = transport_to(start_service(lambda *_: next(answers)).base_url)
    assert transport.get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert waited == pytest.approx(waits, abs=5 if header is None else 0.1)


def test_a_long_retry_after_raises_at_once(start_service) -> None:
    """The transport does not wait a day; the error has the requested delay."""
    service = start_service(lambda *_: (429, {"Retry-After": "86400"}, b""))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(errors.RateLimitedError) as caught:
        transport.get("/me", {})
    assert (caught.value.retry_after, waits, len(service.asked)) == (86400.0, [], 1)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, ENVELOPE, errors.AuthenticationError),
        (403, {"error": {"message": "", "code": "260"}}, errors.ScopeError),
        (400, {"error": {"message": "", "code": 260}}, errors.ScopeError),
        (403, b"<html>", errors.InvalidRequestError),
        (400, {"error": {"message": "Resource not found.", "code": 283}}, errors.NotFoundError),
        (409, {}, errors.InvalidRequestError),
        (302, b"", errors.ProtocolError),
    ],
)
def test_a_refusal_is_not_retried(start_service, status: int, body: object, kind: type[errors.ServiceError]) -> None:
    """A 4xx or a redirect is final: one request, and the error class of its status or code."""
    service = start_service(lambda *_: (status, {"Location": "http://127.0.0.1:9/v1/me"}, body))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert (len(service.asked), waits, caught.value.status_code) == (1, [], status)
    assert CANARY not in format_everything(caught.value)


def test_certificates_are_verified_also_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS hides the token from a proxy; a failed verification is not retried, and its message names the remedy."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with transport_to("https://pay.example/v1")[0]._sessions.borrow() as session:
        assert session.proxies["https"] == "http://127.0.0.1:9"
        assert session.verify is True or isinstance(session.verify, str)
    failure = map_transport_failure(requests.exceptions.SSLError("self-signed"), "https://pay.example/v1")
    assert ("REQUESTS_CA_BUNDLE" in str(failure), failure.retryable) == (True, False)


def test_every_error_of_requests_and_urllib3_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exception class of requests and urllib3 becomes a ServiceError."""
    roots = (requests.RequestException, urllib3.exceptions.HTTPError)
    classes = [kind for module in (requests.exceptions, urllib3.exceptions) for kind in vars(module).values()
               if inspect.isclass(kind) and issubclass(kind, roots)]  # fmt: skip
    assert len(classes) > 40

    def fail(*_arguments: object, **_options: object) -> None:
        raise raised

    monkeypatch.setattr(requests.Session, "send", fail)
    for kind in classes:
        raised = kind.__new__(kind)
        raised.args = (f"Max retries exceeded with url: /v1/me?access_token={CANARY}",)
        with pytest.raises(errors.ServiceError) as caught:
            transport_to("https://pay.example/v1")[0].get("/me", {})
        assert (caught.value.__cause__, caught.value.__context__) == (None, None), kind
        assert CANARY not in repr(caught.value) + str(caught.value), kind


def test_an_expired_token_is_not_sent(start_service) -> None:
    """The transport checks the expiry before sending."""
    service = start_service(lambda *_: GOOD)
    token = AccessToken(CANARY, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.TokenError, match="sign in again"):
        Transport(service.base_url, token, timeout=(1, 1)).get("/me", {})
    assert service.asked == []


def test_netrc_adds_nothing_and_loopback_bypasses_proxies(start_service, tmp_path, monkeypatch) -> None:
    """With `trust_env`, requests would add an Authorization header; a proxy would get the token in clear text."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    proxy, service = start_service(lambda *_: GOOD), start_service(lambda *_: GOOD)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
    transport_to(service.base_url)[0].get("/me", {})
    assert (len(service.asked), len(proxy.asked), "Authorization" in service.headers[0]) == (1, 0, False)


def test_a_session_reaches_only_the_service(start_service) -> None:
    """The session has one adapter, for the base URL and its path; other URLs have none."""
    base_url = start_service(lambda *_: GOOD).base_url
    for address in ("http://127.0.0.1:1/v1/me", base_url + ".evil.example/me", "https://evil.example/"):
        with transport_to(base_url)[0]._sessions.borrow() as session, pytest.raises(requests.exceptions.InvalidSchema):
            session.get(address, timeout=(1, 1))


def test_a_compressed_response_is_decompressed(start_service) -> None:
    """Gzip, which every request accepts, with the length of the compressed body."""
    service = start_service(lambda *_: (200, {"Content-Encoding": "gzip"}, gzip.compress(b'{"data": {"id": "7"}}')))
    assert transport_to(service.base_url)[0].get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert len(service.asked) == 1
