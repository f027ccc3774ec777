"""Masking of the token in responses, errors, logs and debug output."""

import base64
import http.client
import logging
import pickle
from urllib.parse import quote

import pytest
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client import Client
from p2p_analytics.client.http.adapter import mask_token
from p2p_analytics.client.http.deadline import DEADLINE_POOLS
from p2p_analytics.client.http.transport import CachePolicy
from support.canary import CANARY
from support.connections import serve_raw, transport_to
from support.exceptions import format_everything

GOOD = {"data": {"id": "7"}}


def test_debuglevel_prints_no_request_of_ours(start_service, monkeypatch, capfd) -> None:
    """``debuglevel`` prints other requests of the same program, but none with the token."""
    for kind in (http.client.HTTPConnection, urllib3.connection.HTTPConnection):
        monkeypatch.setattr(kind, "debuglevel", 1, raising=False)
    service = start_service(lambda *_: (200, {"Location": f"/?access_token={CANARY}"}, GOOD))
    requests.get(f"{service.base_url}/others", timeout=5)
    assert "send: " in capfd.readouterr().out
    transport, _ = transport_to(service.base_url)
    transport.get("/me", {})
    transport.write("POST", "/payments", {"note": "x"})
    assert [asked["access_token"] for _, asked in service.asked[1:]] == [CANARY] * 2
    assert capfd.readouterr().out == ""
    assert {name: pool.ConnectionCls.debuglevel for name, pool in DEADLINE_POOLS.items()} == {"http": 0, "https": 0}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_log_record_leads_to_no_frame_with_the_token(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """urllib3 logs a malformed header with an exception; its frames hold the token, so handlers get no exception."""
    caplog.set_level(logging.DEBUG)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nbroken {CANARY} line\r\nX-More: 1\r\n\r\n{{}}".encode()
    serving = serve_raw(lambda connection: connection.sendall(head))
    with serving as base_url, transport_to(base_url)[0]._sessions.borrow() as session:
        response = session.request(method, f"{base_url}/me", data={"a": "b"}, timeout=(1, 1))
    assert (response.status_code, "Failed to parse headers" in caplog.text) == (200, True)
    assert CANARY not in caplog.text + repr([vars(record) for record in caplog.records])
    held = [each for record in caplog.records for each in (*(record.args or ()), *(record.exc_info or ()))]
    assert not any(isinstance(each, BaseException) for each in held)


@pytest.mark.parametrize("place", ["message", "code"])
def test_a_token_that_the_service_reencodes_is_not_quoted(start_service, place: str) -> None:
    """Message and code of an error hide the token in every encoding."""
    encoded = base64.b64encode(CANARY.encode()).decode()
    envelope = {"message": "Bad token", "code": "1"} | {place: f"No {encoded}, {CANARY[::-1]}"}
    with pytest.raises(errors.ApiError) as caught:
        transport_to(start_service(lambda *_: (400, {}, {"error": envelope})).base_url)[0].get("/me", {})
    text = format_everything(caught.value)
    assert "No ***, ***" in text
    assert not any(spelled in text for spelled in (encoded, CANARY[::-1]))


def test_a_token_in_a_record_is_masked(start_service, tmp_path) -> None:
    """If a record repeats the token, neither the cache nor the result nor an error holds it."""
    token = f"{CANARY}-{CANARY}"
    data = {"user": {"id": "7", "username": "ann", "display_name": f"Ann {token}"}, "balance": f"much {token}"}
    service = start_service(lambda *_: {"data": data})
    with Client(token, base_url=service.base_url, cache_dir=tmp_path) as client:
        with pytest.raises(errors.RecordError) as caught:
            client.me()
        assert CANARY not in format_everything(caught.value)
        assert client.me(lenient=True).user.display_name == "Ann ***"
        service.answer = lambda *_: {"data": {"note": token}}
        for is_cached in (False, True):
            response = client._transport.get("/payments", {}, policy=CachePolicy.SHORT)
            assert (response.from_cache, response.value) == (is_cached, b'{"data": {"note": "***"}}')


@pytest.mark.parametrize("equals", ["=", "\\u003d", "\\u003D", "%3D", "%3d", "%253D", "&#61;", "&#x3D;", "&equals;"])
@pytest.mark.parametrize("end", ["&before=x", "\\u0026before=x", ""])
def test_a_token_after_an_escaped_equals_sign_is_masked(equals: str, end: str) -> None:
    """JSON and HTML writers may escape "=" and "&"; text after the token is kept."""
    body = f'{{"data": [], "pagination": {{"next": "/v1/payments?Access_Token{equals}{CANARY}{end}"}}}}'.encode()
    assert mask_token(body, None) == body.replace(CANARY.encode(), b"***")


ESCAPES = {
    "slash": lambda char: char.replace("/", "\\/"),
    "JSON": lambda char: char if char.isalnum() else f"\\u{ord(char):04x}",
    "JSON in upper case": lambda char: char if char.isalnum() else f"\\u{ord(char):04X}",
    "JSON for HTML": lambda char: f"\\u{ord(char):04x}" if char in "+<>" else char.replace("/", "\\/"),
    "JSON, every character": lambda char: f"\\u{ord(char):04x}",
    "address": lambda char: quote(char, safe=""),
    "address in lower case": lambda char: quote(char, safe="").lower() if not char.isalnum() else char,
    "address, every character": lambda char: f"%{ord(char):02X}",
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
@pytest.mark.parametrize(
    "token", ["c0ffee/0123-4567_89ab.cdef~", "/+c0ffee==/0123456789abcdef", "(c0ffee)[0123]{4}|5?*^$"]
)
@pytest.mark.parametrize("own", [True, False])
def test_an_escaped_token_is_masked(escape, token: str, own: bool) -> None:  # noqa: FBT001
    """Our own token is masked anywhere, another one after its parameter; text after it is kept."""
    spelled, before = "".join(map(escape, token)), "" if own else "access_token="
    ends = ["", "&limit=5", "\\u0026limit=5", " rest", "\\u0020rest", "\\u000arest", '\\"', "\\u0022", "\\u0027"]
    body = "".join(f'{{"note": "{before}{spelled}{end}"}}\n' for end in ends)
    masked = mask_token(body.encode(), AccessToken(token if own else "x" * 20)).decode()
    assert masked == body.replace(spelled, "***")


def test_only_the_wire_holds_the_token(start_service, caplog: pytest.LogCaptureFixture) -> None:
    """The service gets it as a query parameter; response, request, session and log do not hold it, pickled or not."""
    caplog.set_level(logging.DEBUG)
    service = start_service(lambda *_: (200, {"Location": f"/x?access_token={CANARY}"}, GOOD))
    with transport_to(service.base_url)[0]._sessions.borrow() as session:
        response = session.get(f"{service.base_url}/me", timeout=(1, 1), allow_redirects=False)
        pickled = [pickle.dumps(response), pickle.dumps(session)]
    assert service.asked == [("/v1/me", {"access_token": CANARY})]
    assert "urllib3" in {record.name.partition(".")[0] for record in caplog.records}
    held = [response.url, response.request.url, response.headers, response.raw.headers, response.cookies, caplog.text]
    assert CANARY not in repr([*held, response.history, *pickled])
