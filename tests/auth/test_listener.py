"""Loopback listener: it accepts one token from a browser that knows the nonce, and refuses every other request."""

from __future__ import annotations

import http.client
import queue
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, Listener
from p2p_analytics.auth._listener import render_page
from p2p_analytics.errors import ConfigurationError, TokenError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCOPES = ("access_profile", "access_friends")


class ListenerFactory:
    """Factory of listeners that records their outcomes and closes them after the test."""

    def __init__(self) -> None:
        self.outcomes: queue.Queue[Any] = queue.Queue()
        self.listeners: list[Listener] = []

    def listen(self, **settings: Any) -> Listener:
        """Start a listener."""
        self.listeners.append(Listener(self.outcomes.put, scopes=SCOPES, **settings))
        return self.listeners[-1]

    def wait_for_outcome(self) -> AccessToken | TokenError:
        """Wait for the next outcome of a listener, and return it."""
        return self.outcomes.get(timeout=10)


@pytest.fixture
def factory() -> Iterator[ListenerFactory]:
    """Return a factory of listeners."""
    factory = ListenerFactory()
    yield factory
    for listener in factory.listeners:
        listener.close()


def send_request(
    listener: Listener, target: str | None = None, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, str]:
    """Send one request with exactly these headers, and return status, headers and body."""
    parts = urlsplit(listener.redirect_uri)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.putrequest(method, target or parts.path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def callback(listener: Listener, query: str) -> str:
    """Return the target of a redirect to the listener."""
    return f"{urlsplit(listener.redirect_uri).path}?{query}"


def test_a_sign_in_from_end_to_end(server: p2p.sandbox.SandboxServer, factory: ListenerFactory) -> None:
    """The listener takes the token of the redirect, with its scopes and 30 minutes, and then ends."""
    listener = factory.listen()
    address = p2p.authorize_url(server.base_url, server.client_id, SCOPES, redirect_uri=listener.redirect_uri)
    redirect = server.sign_in(address, server.viewer)
    assert redirect.startswith(f"{listener.redirect_uri}?access_token=")
    status, headers, body = send_request(listener, callback(listener, urlsplit(redirect).query))
    assert (status, headers["Location"], body) == (303, "/done", "")
    token = factory.wait_for_outcome()
    assert isinstance(token, AccessToken)
    assert token.scopes == set(SCOPES)
    assert token.expires_at is not None
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        assert client.me().user.username == server.viewer
    assert not listener.closed
    status, _, body = send_request(listener, "/done")
    assert status == 200
    assert "You are signed in" in body
    listener._thread.join(10)
    assert listener.closed
    with pytest.raises(ConnectionRefusedError):
        send_request(listener, "/done")
    assert factory.outcomes.empty()


def test_a_declined_consent(server: p2p.sandbox.SandboxServer, factory: ListenerFactory) -> None:
    """A declined consent gives a TokenError and a page that say so; text of the address is not markup."""
    listener = factory.listen()
    address = p2p.authorize_url(server.base_url, server.client_id, SCOPES, redirect_uri=listener.redirect_uri)
    query = urlsplit(server.sign_in(address, server.viewer, allow=False)).query
    body = send_request(listener, callback(listener, "access_token=a&access_token=b&state=%3Cscript%3E"))[2]
    assert send_request(listener, callback(listener, f"{query}&state=%3Cscript%3E"))[0] == 303
    outcome = factory.wait_for_outcome()
    assert isinstance(outcome, TokenError)
    assert "user denied access" in str(outcome)
    done = send_request(listener, "/done")[2]
    assert "You did not agree" in done
    assert "<script" not in body + done
    assert b"<h1>a&lt;b</h1><p>&lt;script&gt;</p>" in render_page("a<b", "<script>")


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
def test_forged_callbacks(factory: ListenerFactory, status: int, forged: dict[str, str]) -> None:
    """A request that is not the service's redirect is refused and not reported, and the listener keeps waiting."""
    listener = factory.listen()
    parts = urlsplit(listener.redirect_uri)
    request = {name: text.format(host=parts.netloc, path=parts.path) for name, text in forged.items()}
    answer = send_request(listener, **{"target": callback(listener, "access_token=planted"), **request})
    assert answer[0] == status
    assert "planted" not in answer[2] + str(answer[1])
    assert factory.outcomes.empty()
    assert send_request(listener, callback(listener, "access_token=true"))[0] == 303
    assert factory.wait_for_outcome().reveal() == "true"  # type: ignore[union-attr]


def test_the_first_token_stays(factory: ListenerFactory) -> None:
    """A second token, or a denial after it, is answered with 410 and replaces nothing."""
    listener = factory.listen()
    assert send_request(listener, callback(listener, "access_token=first"))[0] == 303
    for query in ("access_token=second", "error=denied"):
        assert send_request(listener, callback(listener, query))[0] == 410
    assert factory.wait_for_outcome().reveal() == "first"  # type: ignore[union-attr]
    assert "You are signed in" in send_request(listener, "/done")[2]
    assert factory.outcomes.empty()


def test_of_many_tokens_at_once_one_is_taken(factory: ListenerFactory) -> None:
    """Of twelve simultaneous tokens exactly one gets the 303 and is reported."""
    listener = factory.listen()
    statuses: queue.Queue[int] = queue.Queue()

    def hand_over(number: int) -> None:
        statuses.put(send_request(listener, callback(listener, f"access_token=t{number}"))[0])

    threads = [threading.Thread(target=hand_over, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses.queue) == [303] + [410] * 11
    assert factory.outcomes.qsize() == 1


@pytest.mark.parametrize("target", ["/done", "/nowhere", None])
def test_headers(factory: ListenerFactory, target: str | None) -> None:
    """No response is stored, framed, sniffed, sent as a referrer or shared with another origin; nothing is loaded."""
    listener = factory.listen()
    send_request(listener, callback(listener, "access_token=first"))
    headers = send_request(listener, target)[1]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


def test_a_huge_request_is_not_read(factory: ListenerFactory) -> None:
    """An endless request line is cut off, and the listener continues."""
    listener = factory.listen()
    port = urlsplit(listener.redirect_uri).port
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
        pytest.raises(OSError, match=r"reset|Broken pipe"),
    ):
        connection.sendall(b"G" * 2**26)
    assert send_request(listener, callback(listener, "access_token=true"))[0] == 303


def test_a_slow_client_does_not_block_others(factory: ListenerFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent and incomplete connections delay neither the redirect nor closing, and are closed."""
    monkeypatch.setattr("p2p_analytics.auth._listener._HEAD_SECONDS", 0.5)
    listener = factory.listen()
    port = urlsplit(listener.redirect_uri).port
    slow = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(3)]
    slow[1].sendall(b"GET /")
    assert send_request(listener, callback(listener, "access_token=true"))[0] == 303
    listener.close()
    assert listener.closed
    for connection in slow:
        assert connection.recv(1) == b""
        connection.close()


def test_the_listener_ends(factory: ListenerFactory) -> None:
    """At its timeout, with a TokenError that says so; or `linger` seconds after the token if no page is fetched."""
    listener = factory.listen(timeout=0.3)
    outcome = factory.wait_for_outcome()
    assert isinstance(outcome, TokenError)
    assert str(outcome) == "No sign-in within 0.3 seconds: start the sign-in again."
    assert listener.closed
    listener = factory.listen(linger=0.2)
    send_request(listener, callback(listener, "access_token=true"))
    listener._thread.join(10)
    assert listener.closed
    assert not isinstance(factory.wait_for_outcome(), TokenError)  # reported by the thread of the request
    assert factory.outcomes.empty()


def test_closing(factory: ListenerFactory) -> None:
    """Closing is idempotent and possible from any thread and from on_redirect; afterwards nothing is reported."""
    with factory.listen() as listener:
        assert not listener.closed
    assert listener.closed
    listener.close()
    assert factory.outcomes.empty()
    closing: queue.Queue[object] = queue.Queue()

    def close(_outcome: object) -> None:
        closer.close()
        closing.put(closer.closed)

    closer = Listener(close)
    send_request(closer, callback(closer, "access_token=true"))
    assert closing.get(timeout=10)
    late = Listener(lambda outcome: (late.close(), closing.put(outcome)), timeout=0.3)
    assert closing.get(timeout=10)


def test_an_error_of_the_caller_is_not_hidden(factory: ListenerFactory, capfd: pytest.CaptureFixture[str]) -> None:
    """An exception in `on_redirect` is printed to stderr without the token; the browser still gets its page."""

    def fail(_outcome: object) -> None:
        raise OSError("no room for it")

    with Listener(fail) as listener:
        assert send_request(listener, callback(listener, "access_token=CANARY"))[0] == 303
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

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socketserver.TCPServer.server_bind", refuse)
    with pytest.raises(ConfigurationError, match=r"permission denied.*paste the address instead"):
        Listener(print)


def test_nothing_is_logged(
    factory: ListenerFactory, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The request line holds the token and is never logged."""
    listener = factory.listen()
    send_request(listener, callback(listener, "access_token=CANARY"))
    send_request(listener, "/nowhere?access_token=CANARY")
    send_request(listener, "/done")
    factory.wait_for_outcome()
    assert capfd.readouterr() == ("", "")
    assert "CANARY" not in caplog.text
