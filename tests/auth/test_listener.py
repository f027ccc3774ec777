"""Loopback listener: it accepts one token from a browser that knows the nonce, and refuses every other request."""

import http.client
import queue
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, Listener
from p2p_analytics.errors import ConfigurationError, TokenError

SCOPES = ("access_profile", "access_friends")


@pytest.fixture
def outcomes() -> queue.Queue:
    """Return the queue of the outcomes of listeners."""
    return queue.Queue()


@pytest.fixture
def listener(outcomes: queue.Queue) -> Iterator[Listener]:
    """Run a listener."""
    with Listener(outcomes.put, scopes=SCOPES) as listener:
        yield listener


def send_request(
    listener: Listener, target: str = "", method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """Send one request with exactly these headers, and return status, headers and body.

    A target that is neither a path nor a URL is the query of a redirect.
    """
    parts = urlsplit(listener.redirect_uri)
    target = target if target.startswith(("/", "http:")) else f"{parts.path}?{target}"
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.putrequest(method, target, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def connect(listener: Listener) -> socket.socket:
    """Return a connection to a listener."""
    return socket.create_connection(("127.0.0.1", urlsplit(listener.redirect_uri).port), timeout=10)


def test_a_sign_in_from_end_to_end(server, listener: Listener, outcomes) -> None:
    """The listener takes the token of the redirect, with its scopes and 30 minutes, and then ends."""
    address = p2p.authorize_url(server.base_url, server.client_id, SCOPES, redirect_uri=listener.redirect_uri)
    redirect = server.sign_in(address, server.viewer)
    assert redirect.startswith(f"{listener.redirect_uri}?access_token=")
    status, headers, body = send_request(listener, urlsplit(redirect).query)
    assert (status, headers["Location"], body) == (303, "/done", "")
    token = outcomes.get(timeout=10)
    assert isinstance(token, AccessToken)
    assert token.scopes == set(SCOPES)
    assert token.expires_at is not None
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer
    assert not listener.closed
    status, _, body = send_request(listener, "/done")
    assert (status, "You are signed in" in body) == (200, True)
    listener.wait()
    assert listener.closed
    with pytest.raises(ConnectionRefusedError):
        send_request(listener, "/done")
    assert outcomes.empty()


def test_a_declined_consent(server, listener: Listener, outcomes) -> None:
    """A declined consent gives a TokenError and a page that say so."""
    address = p2p.authorize_url(server.base_url, server.client_id, SCOPES, redirect_uri=listener.redirect_uri)
    query = urlsplit(server.sign_in(address, server.viewer, allow=False)).query
    assert send_request(listener, query)[0] == 303
    outcome = outcomes.get(timeout=10)
    assert isinstance(outcome, TokenError)
    assert "user denied access" in str(outcome)
    assert "You did not agree" in send_request(listener, "/done")[2]


def test_text_of_the_address_is_not_markup() -> None:
    """Not even in the page about an error that quotes the address."""
    with Listener(print, read=Mock(side_effect=TokenError("<script> holds no token"))) as listener:
        body = send_request(listener)[2]
    assert "<p>&lt;script&gt; holds no token</p>" in body


@pytest.mark.parametrize(
    ("status", "forged"),
    [
        (404, {"target": "/callback/guess?access_token=planted"}),
        (404, {"target": "/callback?access_token=planted"}), (404, {"target": "/done"}),
        (404, {"target": "http://{host}{path}?access_token=planted"}), (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1"}), (421, {"Host": "127.0.0.1:1"}), (421, {"Host": "evil.example, {host}"}),
        (421, {"Host": "caf\u00e9"}), (403, {"Origin": "https://evil.example"}), (403, {"Origin": "null"}),
        (403, {"Sec_Fetch_Mode": "no-cors"}), (403, {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}),
        (405, {"method": "POST"}), (405, {"method": "HEAD"}), (400, {"target": "{path}?"}),
        (400, {"target": "{path}?state=1"}), (400, {"target": "{path}?access_token="}),
        (400, {"target": "{path}?access_token=two%20words"}),
        (400, {"target": "{path}?access_token=a&access_token=b"}), (400, {"target": "{path}?code=abc"}),
    ],
)  # fmt: skip
def test_forged_callbacks(listener: Listener, outcomes, status: int, forged: dict[str, str]) -> None:
    """A request that is not the service's redirect is refused and not reported, and the listener keeps waiting."""
    parts = urlsplit(listener.redirect_uri)
    request = {name: text.format(host=parts.netloc, path=parts.path) for name, text in forged.items()}
    answer = send_request(listener, **{"target": "access_token=planted", **request})
    assert answer[0] == status
    assert "planted" not in answer[2] + str(answer[1])
    assert outcomes.empty()
    assert send_request(listener, "access_token=true")[0] == 303
    assert outcomes.get(timeout=10).reveal() == "true"


def test_the_first_token_stays(listener: Listener, outcomes) -> None:
    """A second token, or a denial after it, is answered with 410 and replaces nothing."""
    assert send_request(listener, "access_token=first")[0] == 303
    for query in ("access_token=second", "error=denied"):
        assert send_request(listener, query)[0] == 410
    assert outcomes.get(timeout=10).reveal() == "first"
    assert "You are signed in" in send_request(listener, "/done")[2]
    assert outcomes.empty()


def test_of_many_tokens_at_once_one_is_taken(listener: Listener, outcomes) -> None:
    """Of twelve simultaneous tokens exactly one gets the 303 and is reported."""
    targets = [f"access_token=t{number}" for number in range(12)]
    with ThreadPoolExecutor(12) as threads:
        statuses = [answer[0] for answer in threads.map(lambda target: send_request(listener, target), targets)]
    assert sorted(statuses) == [303] + [410] * 11
    assert outcomes.qsize() == 1


@pytest.mark.parametrize("target", ["/done", "/nowhere", ""])
def test_headers(listener: Listener, target: str) -> None:
    """No response is stored, framed, sniffed, sent as a referrer or shared with another origin; nothing is loaded."""
    send_request(listener, "access_token=first")
    headers = send_request(listener, target)[1]
    expected = {
        "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": None,
    }  # fmt: skip
    assert {name: headers[name] for name in expected} == expected
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")


def test_a_huge_request_is_not_read(listener: Listener) -> None:
    """An endless request line is cut off, and the listener continues."""
    with connect(listener) as connection, pytest.raises(OSError, match=r"reset|Broken pipe"):
        connection.sendall(b"G" * 2**26)
    assert send_request(listener, "access_token=true")[0] == 303


def test_a_slow_client_does_not_block_others() -> None:
    """Silent and incomplete connections delay neither the redirect nor closing, and are closed."""
    with Listener(print, request_timeout=0.5) as listener:
        slow = [connect(listener) for _ in range(3)]
        slow[1].sendall(b"GET /")
        assert send_request(listener, "access_token=true")[0] == 303
    assert listener.closed
    for connection in slow:
        assert connection.recv(1) == b""
        connection.close()


def test_the_listener_ends(outcomes) -> None:
    """At its timeout, with a TokenError that says so; or `linger` seconds after the token if no page is fetched."""
    listener = Listener(outcomes.put, timeout=0.3)
    outcome = outcomes.get(timeout=10)
    assert isinstance(outcome, TokenError)
    assert str(outcome) == "No sign-in within 0.3 seconds: start the sign-in again."
    assert listener.closed
    listener = Listener(outcomes.put, linger=0.2)
    send_request(listener, "access_token=true")
    listener.wait()
    assert not isinstance(outcomes.get(timeout=10), TokenError)  # reported by the thread of the request
    assert outcomes.empty()


def test_closing(outcomes) -> None:
    """Closing is idempotent and possible from any thread and from on_redirect; afterwards nothing is reported."""
    with Listener(outcomes.put) as listener:
        assert not listener.closed
    assert listener.closed
    listener.close()
    assert outcomes.empty()
    closer = Listener(lambda _outcome: (closer.close(), outcomes.put(closer.closed)))
    send_request(closer, "access_token=true")
    assert outcomes.get(timeout=10)
    late = Listener(lambda outcome: (late.close(), outcomes.put(outcome)), timeout=0.3)
    assert outcomes.get(timeout=10)


def test_an_error_of_the_caller_is_not_hidden(capfd) -> None:
    """An exception in `on_redirect` is printed to stderr without the token; the browser still gets its page."""
    with Listener(Mock(side_effect=OSError("no room for it"))) as listener:
        assert send_request(listener, "access_token=CANARY")[0] == 303
        assert send_request(listener, "/done")[0] == 200
        listener.wait()
    for thread in threading.enumerate():  # the thread of the connection prints the error after it answered
        if "process_request_thread" in thread.name:
            thread.join(5)
    printed = capfd.readouterr().err
    assert "no room for it" in printed
    assert "CANARY" not in printed


def test_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free port, the error says what to do instead."""
    refuse = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr("socketserver.TCPServer.server_bind", refuse)
    with pytest.raises(ConfigurationError, match=r"permission denied.*paste the address instead"):
        Listener(print)
