"""One request: what is retried, what is refused, how long it may take, and where the token goes."""

from __future__ import annotations

import base64
import gzip
import http.client
import inspect
import itertools
import logging
import pickle
import socket
import threading
import time
import traceback
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import requests
import urllib3

from p2p_analytics import errors
from p2p_analytics.auth import AccessToken
from p2p_analytics.client import Client
from p2p_analytics.client.http.adapter import mask_token
from p2p_analytics.client.http.deadline import DEADLINE_POOLS
from p2p_analytics.client.http.error_mapping import map_transport_failure
from p2p_analytics.client.http.transport import MAX_ATTEMPTS, CachePolicy, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "CANARY-9c1e"
GOOD = {"data": {"id": "7"}}
ENVELOPE = {"error": {"message": f"Bad token {CANARY}. access_token={CANARY}", "code": "261"}}


def transport_to(base_url: str, **options: object) -> tuple[Transport, list[float]]:
    """Return a transport whose waits are written down instead of slept."""
    waits: list[float] = []
    settings = {"timeout": (1.0, 1.0), "sleep": waits.append, "jitter": lambda: 0.5} | options
    return Transport(base_url, AccessToken(CANARY), **settings), waits  # type: ignore[arg-type]


def everything_said(error: BaseException) -> str:
    """Return every text that hangs on an error: messages, causes, contexts, arguments, attributes, traceback."""
    chain = [error, error.__cause__, error.__context__]
    return "".join(map(repr, chain)) + repr(vars(error)) + "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, ENVELOPE, errors.AuthenticationError),
        (400, {"error": {"message": "", "code": 261}}, errors.AuthenticationError),
        (403, {"error": {"message": "", "code": "260"}}, errors.ScopeError),
        (400, {"error": {"message": "", "code": 260}}, errors.ScopeError),
        (403, {"error": {"message": "Not yours.", "code": "403"}}, errors.InvalidRequestError),
        (403, b"<html>", errors.InvalidRequestError),
        (404, {"error": {"message": "", "code": "283"}}, errors.NotFoundError),
        (400, {"error": {"message": "Resource not found.", "code": 283}}, errors.NotFoundError),
        (400, {"error": {"message": "", "code": "1"}}, errors.InvalidRequestError),
        (409, {}, errors.InvalidRequestError),
        (302, b"", errors.ProtocolError),
    ],
)
def test_a_refusal_is_not_asked_again(scripted, status: int, body: object, kind: type[errors.ServiceError]) -> None:
    """A 4xx or a redirect is final: one request, and the class its status or code names."""
    service = scripted(lambda _path, _parameters: (status, {"Location": "http://127.0.0.1:9/v1/me"}, body))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert (len(service.asked), waits, caught.value.status_code) == (1, [], status)
    assert CANARY not in everything_said(caught.value)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, {}, b""), errors.ServerError),
        ((503, {}, {"error": {"message": "later", "code": None}}), errors.ServerError),
        ((429, {}, b""), errors.RateLimitedError),
        ((200, {}, b"<html>please log in</html>"), errors.ProtocolError),
        ((200, {}, b"null"), errors.ProtocolError),
        ((200, {}, b"[]"), errors.ProtocolError),
        ((200, {}, b'{"data": [1, 2'), errors.ProtocolError),
        ((200, {"Content-Encoding": "gzip"}, b"not gzip"), errors.TransportError),
        ((200, {"Content-Length": "9999"}, b'{"data": 1}'), errors.TransportError),
    ],
)
def test_a_passing_fault_is_asked_again_with_growing_waits(scripted, answer: object, kind: type[Exception]) -> None:
    """Five tries in all, then the last failure; with jitter at its middle the waits are 3/4 of 0.5, 1, 2, 4."""
    service = scripted(lambda _path, _parameters: answer)
    transport, waits = transport_to(service.base_url, timeout=(1.0, 0.3))
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert len(service.asked) == MAX_ATTEMPTS == 5
    assert waits == [0.375, 0.75, 1.5, 3.0]
    assert CANARY not in everything_said(caught.value)


def test_a_fault_that_passes_leaves_no_trace(scripted) -> None:
    """The first good answer counts."""
    answers = itertools.chain([(500, {}, b""), (200, {}, b"<html>")], itertools.repeat(GOOD))
    service = scripted(lambda _path, _parameters: next(answers))
    transport, waits = transport_to(service.base_url)
    assert transport.get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("header", "waits"),
    [("7", [7.5]), ("soon", [0.375]), ("-5", [0.375]), ("", [0.375]), ("1.5", [0.375])],
)
def test_retry_after_is_obeyed_where_it_can_be_read(scripted, header: str, waits: list[float]) -> None:
    """A whole number of seconds is waited (and half a second of jitter); anything else is as if it were not there."""
    answers = itertools.chain([(429, {"Retry-After": header}, b"")], itertools.repeat(GOOD))
    transport, waited = transport_to(scripted(lambda _path, _parameters: next(answers)).base_url)
    transport.get("/me", {})
    assert waited == pytest.approx(waits, abs=0.1)


def test_retry_after_may_be_a_date(scripted) -> None:
    """An HTTP date is waited for."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    answers = itertools.chain([(503, {"Retry-After": date}, b"")], itertools.repeat(GOOD))
    transport, waited = transport_to(scripted(lambda _path, _parameters: next(answers)).base_url)
    transport.get("/me", {})
    assert 15 < waited[0] < 21


def test_a_long_retry_after_is_told_instead_of_slept(scripted) -> None:
    """A day is not waited; the error says how long the service asks for."""
    service = scripted(lambda _path, _parameters: (429, {"Retry-After": "86400"}, b""))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(errors.RateLimitedError) as caught:
        transport.get("/me", {})
    assert (caught.value.retry_after, waits, len(service.asked)) == (86400.0, [], 1)


def test_the_deadline_bounds_all_tries_together(scripted) -> None:
    """A wait that would pass the deadline is not begun."""
    clock = itertools.count(step=2.0)
    service = scripted(lambda _path, _parameters: (500, {}, b""))
    transport, waits = transport_to(service.base_url, deadline=10.0, monotonic=lambda: next(clock))
    with pytest.raises(errors.ServerError):
        transport.get("/me", {})
    assert len(service.asked) < MAX_ATTEMPTS
    assert len(waits) == len(service.asked) - 1


@contextmanager
def raw_service(talk) -> Iterator[str]:
    """Serve one raw conversation per connection on loopback."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                try:
                    talk(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def _drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(60):
        connection.sendall(b" ")
        time.sleep(0.05)


def _drip_headers(connection: socket.socket) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nX-Slow: yes, it is slow\r\n\r\n":
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def _drip_chunk(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=")
    for _ in range(60):
        connection.sendall(b"y")
        time.sleep(0.1)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")
    for _ in range(200):
        connection.sendall(b" " * 65536)


@pytest.mark.parametrize(
    ("talk", "kind"),
    [(_drip, errors.TransportError), (_drip_headers, errors.TransportError), (_drip_chunk, errors.TransportError),
     (_reset, errors.TransportError), (lambda _: None, errors.TransportError), (_flood, errors.ProtocolError)],
)  # fmt: skip
def test_a_broken_conversation_ends_in_one_typed_error(talk, kind: type[Exception]) -> None:
    """A slow drip, a reset, an empty answer and a flood all end, soon, in this package's error."""
    with raw_service(talk) as base_url:
        transport, _waits = transport_to(base_url, timeout=(1.0, 0.3), deadline=2.0)
        started = time.monotonic()
        with pytest.raises(kind) as caught:
            transport.get("/me", {})
        took = time.monotonic() - started
    assert took < 3.5, "two seconds in all, and what stopping costs"
    assert CANARY not in everything_said(caught.value)


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    """A refused connection says what to check, and quotes no address with a token."""
    transport, _waits = transport_to("http://127.0.0.1:1/v1")
    with pytest.raises(errors.TransportError, match="cannot be reached: check the base URL") as caught:
        transport.get("/me", {})
    assert CANARY not in everything_said(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_packed_answer_is_unpacked(scripted) -> None:
    """Gzip, which every request offers, with the length of the packed body."""
    packed = gzip.compress(b'{"data": {"id": "7"}}')
    service = scripted(lambda _path, _parameters: (200, {"Content-Encoding": "gzip"}, packed))
    assert transport_to(service.base_url)[0].get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert len(service.asked) == 1


def test_a_certificate_is_demanded_and_its_failure_named() -> None:
    """Certificates are checked; one that cannot be is not asked again, and the sentence names the cure."""
    transport, _ = transport_to("https://pay.example/v1")
    with transport._sessions.borrow() as session:
        assert session.verify is True or isinstance(session.verify, str)
    failure = map_transport_failure(requests.exceptions.SSLError("self-signed"), "https://pay.example/v1")
    assert "REQUESTS_CA_BUNDLE" in str(failure)
    assert not failure.retryable


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_debug_level_of_the_library_below_prints_nothing(
    scripted, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], method: str
) -> None:
    """Who debugs other requests of the same program with ``debuglevel`` does not see ours."""
    for kind in (http.client.HTTPConnection, urllib3.connection.HTTPConnection):
        monkeypatch.setattr(kind, "debuglevel", 1, raising=False)
    service = scripted(lambda _path, _parameters: (200, {"Location": f"/?access_token={CANARY}"}, GOOD))
    requests.get(f"{service.base_url}/others", timeout=5)
    assert "send: " in capfd.readouterr().out
    transport, _ = transport_to(service.base_url)
    _ = transport.get("/me", {}) if method == "GET" else transport.write("POST", "/payments", {"note": "x"})
    assert CANARY in service.asked[-1][1]["access_token"]
    assert capfd.readouterr().out == ""
    for kind in DEADLINE_POOLS.values():
        assert kind.ConnectionCls.debuglevel == 0


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_log_record_leads_to_no_frame_with_the_token(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """A malformed header line is logged with an exception below; handlers that print variables find no token."""
    shown = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            shown.append(record.getMessage() + repr(record.args) + repr(record.exc_text))
            for error in (*(record.args or ()), *(record.exc_info or ())):
                if isinstance(error, BaseException):
                    shown.extend(traceback.TracebackException.from_exception(error, capture_locals=True).format())

    def talk(connection: socket.socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nbroken {CANARY} line\r\nX-More: 1\r\n\r\n{{}}"
        connection.sendall(head.encode())

    caplog.set_level(logging.DEBUG)
    handler = Handler()
    logging.getLogger().addHandler(handler)
    try:
        with raw_service(talk) as base_url, transport_to(base_url)[0]._sessions.borrow() as session:
            answer = session.request(method, f"{base_url}/me", data={"a": "b"}, timeout=(1, 1))
    finally:
        logging.getLogger().removeHandler(handler)
    assert answer.status_code == 200
    assert "Failed to parse headers" in str(shown)
    assert CANARY not in str(shown)


@pytest.mark.parametrize(
    "spell",
    [quote, lambda text: text[::-1], str.lower, lambda text: "".join(f"%{ord(char):x}" for char in text), " ".join,
     lambda text: base64.b64encode(text.encode()).decode(), lambda text: f"{text[:9]} and more"],
)  # fmt: skip
@pytest.mark.parametrize("place", ["message", "code"])
def test_a_token_that_the_service_respells_is_not_quoted(scripted, spell, place: str) -> None:
    """However an error of the service spells the token, its message and code hide it."""
    envelope = {"message": "Bad token", "code": "1"} | {place: f"No {spell(CANARY)}"}
    service = scripted(lambda _path, _parameters: (400, {}, {"error": envelope}))
    with pytest.raises(errors.ApiError) as caught:
        transport_to(service.base_url)[0].get("/me", {})
    said = everything_said(caught.value)
    assert "No ***" in said
    assert spell(CANARY) not in said


def test_a_token_in_the_answer_goes_no_further(scripted) -> None:
    """A next link that repeats the token is rewritten before anything, the cache too, sees it."""
    link = {"data": [], "pagination": {"next": f"/v1/payments?limit=5&access_token={CANARY}&before=x"}}
    service = scripted(lambda _path, _parameters: (200, {"Link": f"</x?access_token={CANARY}>"}, link))
    answer = transport_to(service.base_url)[0].get("/payments", {})
    assert CANARY.encode() not in answer.value
    assert b"&before=x" in answer.value


def test_a_token_among_the_data_goes_no_further(scripted, tmp_path) -> None:
    """A service that repeats the token in a record: cache, result and the error about the record do not hold it."""
    token = f"{CANARY}-{CANARY}"
    data = {"user": {"id": "7", "username": "ann", "display_name": f"Ann {token}"}, "balance": f"much {token}"}
    service = scripted(lambda _path, _parameters: {"data": data})
    client = Client(token, base_url=service.base_url, cache_dir=tmp_path)
    with pytest.raises(errors.RecordError) as caught:
        client.me()
    assert CANARY not in everything_said(caught.value)
    assert client.me(lenient=True).user.display_name == "Ann ***"
    service.answer = lambda _path, _parameters: {"data": {"note": token}}
    for kept in (False, True):
        answer = client._transport.get("/payments", {}, policy=CachePolicy.SHORT)
        assert (answer.from_cache, answer.value) == (kept, b'{"data": {"note": "***"}}')
    client.close()


@pytest.mark.parametrize("equals", ["=", "\\u003d", "\\u003D", "%3D", "%3d", "%253D", "&#61;", "&#x3D;", "&equals;"])
@pytest.mark.parametrize("end", ["&before=x", "\\u0026before=x", "&amp;before=x", ""])
def test_a_token_in_the_answer_is_found_behind_an_escaped_equals_sign(scripted, equals: str, end: str) -> None:
    """JSON writers escape "=" and "&", as some do for HTML; what follows the token stays."""
    body = f'{{"data": [], "pagination": {{"next": "/v1/payments?Access_Token{equals}{CANARY}{end}"}}}}'.encode()
    answer = transport_to(scripted(lambda _path, _parameters: (200, {}, body)).base_url)[0].get("/payments", {})
    assert answer.value == body.replace(CANARY.encode(), b"***")


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
def test_an_escaped_token_in_the_answer_goes_no_further(escape, token: str, own: bool) -> None:  # noqa: FBT001
    """The own token is found anywhere, another's behind its parameter; what follows stays."""
    spelled, before = "".join(map(escape, token)), "" if own else "access_token="
    ends = [
        "",
        "&limit=5",
        "\\u0026limit=5",
        " rest",
        "\\u0020rest",
        "\\nrest",
        "\\u000arest",
        '\\"',
        "\\u0022",
        "\\u0027",
    ]
    body = "".join(f'{{"note": "{before}{spelled}{end}"}}\n' for end in ends)
    kept = mask_token(body.encode(), AccessToken(token if own else "x" * 20)).decode()
    assert kept == body.replace(spelled, "***")


def test_every_error_of_the_library_below_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exception class of requests and urllib3, raised below, comes out as a ServiceError of ours."""
    below = (requests.RequestException, urllib3.exceptions.HTTPError)
    classes = [kind for module in (requests.exceptions, urllib3.exceptions) for kind in vars(module).values()
               if inspect.isclass(kind) and issubclass(kind, below)]  # fmt: skip
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


def test_the_token_is_on_the_wire_and_nowhere_above(scripted, caplog: pytest.LogCaptureFixture) -> None:
    """The service gets it as a query parameter; answer, request, session and log do not hold it, pickled or not."""
    caplog.set_level(logging.DEBUG)
    service = scripted(lambda _path, _parameters: (200, {"Location": f"/x?access_token={CANARY}"}, GOOD))
    transport, _ = transport_to(service.base_url)
    with transport._sessions.borrow() as session:
        response = session.get(f"{service.base_url}/me", timeout=(1, 1), allow_redirects=False)
        pickled = [pickle.dumps(response), pickle.dumps(session)]
    assert service.asked == [("/v1/me", {"access_token": CANARY})]
    assert "urllib3" in {record.name.partition(".")[0] for record in caplog.records}
    held = [response.url, response.request.url, response.headers, response.raw.headers, response.cookies, caplog.text]
    assert CANARY not in repr([*held, response.history, *pickled])


def test_an_expired_token_is_not_sent(scripted) -> None:
    """Its expiry is known before sending, so nothing is sent."""
    service = scripted(lambda _path, _parameters: GOOD)
    token = AccessToken(CANARY, expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(errors.TokenError, match="sign in again"):
        Transport(service.base_url, token, timeout=(1, 1)).get("/me", {})
    assert service.asked == []


def test_netrc_adds_nothing(scripted, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netrc entry for the host would make requests add an Authorization header by itself."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    service = scripted(lambda _path, _parameters: GOOD)
    transport_to(service.base_url)[0].get("/me", {})
    assert "Authorization" not in service.headers[0]


def test_no_proxy_stands_between_this_machine_and_itself(scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback goes straight, whatever the environment says: a proxy would get the token in clear text."""
    proxy = scripted(lambda _path, _parameters: GOOD)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
    service = scripted(lambda _path, _parameters: GOOD)
    transport_to(service.base_url)[0].get("/me", {})
    assert (len(service.asked), len(proxy.asked)) == (1, 0)


def test_a_proxy_of_the_environment_is_used_for_https(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the token travels inside TLS."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    transport, _ = transport_to("https://pay.example/v1")
    with transport._sessions.borrow() as session:
        assert session.proxies["https"] == "http://127.0.0.1:9"


def test_nothing_but_the_service_can_be_reached(scripted) -> None:
    """The session has one adapter, for the base address and its path; another address has none."""
    service = scripted(lambda _path, _parameters: GOOD)
    transport, _ = transport_to(service.base_url)
    for address in ("http://127.0.0.1:1/v1/me", service.base_url + ".evil.example/me", "https://evil.example/"):
        with transport._sessions.borrow() as session, pytest.raises(requests.exceptions.InvalidSchema):
            session.get(address, timeout=(1, 1))


def test_time_that_is_over_before_there_is_a_connection_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves slowly uses up the time; the drip that follows does not get another round of it."""
    resolve = socket.getaddrinfo

    def slow(*arguments: object, **options: object) -> object:
        time.sleep(0.5)
        return resolve(*arguments, **options)  # type: ignore[arg-type]

    with raw_service(_drip) as base_url:
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        transport, _waits = transport_to(base_url, timeout=(2.0, 0.3), deadline=0.4)
        started = time.monotonic()
        with pytest.raises(errors.TransportError):
            transport.get("/me", {})
        assert time.monotonic() - started < 2.5
