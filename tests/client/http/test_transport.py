"""Transport: error classes, certificates and proxies."""

from __future__ import annotations

import gzip
import inspect
from datetime import UTC, datetime

import pytest
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client.http.error_mapping import map_transport_failure
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY
from support.connections import transport_to
from support.exceptions import format_everything

GOOD = {"data": {"id": "7"}}

ENVELOPE = {"error": {"message": f"Bad token {CANARY}. access_token={CANARY}", "code": "261"}}


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
    service = start_service(lambda _path, _parameters: (status, {"Location": "http://127.0.0.1:9/v1/me"}, body))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert (len(service.asked), waits, caught.value.status_code) == (1, [], status)
    assert CANARY not in format_everything(caught.value)


def test_an_unreachable_service_is_one_sentence() -> None:
    """The error of a refused connection says what to check, and holds no URL with a token."""
    transport, _waits = transport_to("http://127.0.0.1:1/v1")
    with pytest.raises(errors.TransportError, match="cannot be reached: check the base URL") as caught:
        transport.get("/me", {})
    assert CANARY not in format_everything(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_certificates_are_verified() -> None:
    """A failed verification is not retried, and its message names the remedy."""
    transport, _ = transport_to("https://pay.example/v1")
    with transport._sessions.borrow() as session:
        assert session.verify is True or isinstance(session.verify, str)
    failure = map_transport_failure(requests.exceptions.SSLError("self-signed"), "https://pay.example/v1")
    assert "REQUESTS_CA_BUNDLE" in str(failure)
    assert not failure.retryable


def test_every_error_of_requests_and_urllib3_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exception class of requests and urllib3 becomes a ServiceError."""
    roots = (requests.RequestException, urllib3.exceptions.HTTPError)
    classes = [kind for module in (requests.exceptions, urllib3.exceptions) for kind in vars(module).values()
               if inspect.isclass(kind) and issubclass(kind, roots)]  # fmt: skip
    assert len(classes) > 40

    def fail(*_arguments: object, **_options: object) -> None:
        raise raised

    for kind in classes:
        transport, _ = transport_to("https://pay.example/v1")
        raised = kind.__new__(kind)
        raised.args = (f"Max retries exceeded with url: /v1/me?access_token={CANARY}",)
        monkeypatch.setattr(requests.Session, "send", fail)
        with pytest.raises(errors.ServiceError) as caught:
            transport.get("/me", {})
        assert (caught.value.__cause__, caught.value.__context__) == (None, None), kind
        assert CANARY not in repr(caught.value) + str(caught.value), kind


def test_an_expired_token_is_not_sent(start_service) -> None:
    """The transport checks the expiry before sending."""
    service = start_service(lambda _path, _parameters: GOOD)
    token = AccessToken(CANARY, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.TokenError, match="sign in again"):
        Transport(service.base_url, token, timeout=(1, 1)).get("/me", {})
    assert service.asked == []


def test_netrc_adds_nothing(start_service, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `trust_env`, requests would add an Authorization header for the host."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    service = start_service(lambda _path, _parameters: GOOD)
    transport_to(service.base_url)[0].get("/me", {})
    assert "Authorization" not in service.headers[0]


def test_loopback_bypasses_proxies(start_service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment would get the token in clear text."""
    proxy = start_service(lambda _path, _parameters: GOOD)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
    service = start_service(lambda _path, _parameters: GOOD)
    transport_to(service.base_url)[0].get("/me", {})
    assert (len(service.asked), len(proxy.asked)) == (1, 0)


def test_a_proxy_of_the_environment_is_used_for_https(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS hides the token from the proxy."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    transport, _ = transport_to("https://pay.example/v1")
    with transport._sessions.borrow() as session:
        assert session.proxies["https"] == "http://127.0.0.1:9"


def test_a_session_reaches_only_the_service(start_service) -> None:
    """The session has one adapter, for the base URL and its path; other URLs have none."""
    service = start_service(lambda _path, _parameters: GOOD)
    transport, _ = transport_to(service.base_url)
    for address in ("http://127.0.0.1:1/v1/me", service.base_url + ".evil.example/me", "https://evil.example/"):
        with transport._sessions.borrow() as session, pytest.raises(requests.exceptions.InvalidSchema):
            session.get(address, timeout=(1, 1))


def test_a_compressed_response_is_decompressed(start_service) -> None:
    """Gzip, which every request accepts, with the length of the compressed body."""
    packed = gzip.compress(b'{"data": {"id": "7"}}')
    service = start_service(lambda _path, _parameters: (200, {"Content-Encoding": "gzip"}, packed))
    assert transport_to(service.base_url)[0].get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert len(service.asked) == 1
