"""No log record and no trace of an in-process sandbox holds a token, at any level and of any logger."""

import asyncio
import contextlib
import http.client
import logging
import socket
import threading
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
import requests
from sandbox.oauth import consent, exchange, post

from p2p_analytics.sandbox import SandboxServer


class Records(logging.Handler):
    """Keeps each record of the service's threads as text: message, arguments, exception, and every other attribute."""

    def __init__(self) -> None:
        super().__init__(level=1)
        self.texts: list[str] = []
        self.tests_own = {thread.ident for thread in threading.enumerate()}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, except records of the test's own client."""
        if record.thread not in self.tests_own:
            text = logging.Formatter("%(message)s").format(record)
            self.texts.append(f"{record.name} {text} {vars(record)!r}")


@pytest.fixture
def records(monkeypatch) -> Iterator[Records]:
    """Enable all loggers, down to level 1, including the web server's before it starts."""
    names = ["uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio", *logging.root.manager.loggerDict]
    loggers = [logging.root, *map(logging.getLogger, names)]
    handler = Records()
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    for logger in loggers:
        for name, value in (("level", 1), ("disabled", False), ("propagate", True)):
            monkeypatch.setattr(logger, name, value)
        logger._cache.clear()
    logging.root.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)
        logger._cache.clear()


def use(server: SandboxServer) -> list[str]:
    """Sign in both ways, ask with the token in every place, also badly, and return every secret there was."""
    app = server.register_application(server.viewer, name="Mine", redirect_url="http://127.0.0.1/back")
    client = {"client_id": app.client_id, "client_secret": app.client_secret}
    code = consent(server, server.viewer, app, kind="code")
    tokens = exchange(server, app, code=code).json()
    renewed = post(server, json={**client, "refresh_token": tokens["refresh_token"]}).json()
    both = [consent(server, server.viewer, app, "access_profile", "make_payments"), server.token(server.viewer)]
    payment = {"email": "log@example.net", "amount": "0.01", "note": "x"}
    with requests.Session() as session:
        for secret in both:
            bearer, form = {"Authorization": f"Bearer {secret}"}, {**payment, "access_token": secret}
            kind = f"multipart/form-data; boundary={secret}"
            for path in ("/me", "/payments", "/nothing", f"/users/{secret}", f"/{quote(secret[::-1])}/x"):
                session.get(server.base_url + path, params={"access_token": secret, "limit": secret}, timeout=10)
                session.get(server.base_url + path, headers={**bearer, "X-Token": secret, "Cookie": secret}, timeout=10)
            for more in (
                {"data": form},
                {"json": form},
                {"params": form},
                {"data": payment, "headers": bearer},
                {"files": {name: (None, value) for name, value in form.items()}},
                {"data": b"--x\r\n" + secret.encode(), "headers": {"Content-Type": kind}},
                {"data": secret.encode() + b"{", "headers": {"Content-Type": "application/json"}},
            ):
                session.post(f"{server.base_url}/payments", timeout=10, **more)
            session.put(f"{server.base_url}/payments/1", data={**form, "action": "deny"}, timeout=10)
            session.request(secret[:20], f"{server.base_url}/me", timeout=10)
            upgrade = {"Upgrade": "websocket", "Connection": "upgrade", **bearer}
            session.get(f"{server.base_url}/me", headers=upgrade, timeout=10)
    raw(server, both[0])
    secrets = [code, app.client_secret, *both]
    return [*secrets, *(one[name] for one in (tokens, renewed) for name in ("access_token", "refresh_token"))]


def raw(server: SandboxServer, token: str) -> None:
    """Send bytes that are not HTTP, and incomplete requests, with the token in them."""
    port = urlsplit(server.base_url).port
    head = f"GET /v1/me?access_token={token} HTTP/1.1\r\nHost: localhost\r\n"
    for text in (
        f"GET /v1/me?access_token={token}\x00 HTTP/1.1\r\n\r\n",
        f"{token}\r\n\r\n",
        f"{head}{token}\x01: x\r\n\r\n",
        f"{head}Content-Length: 9\r\n\r\n{token[:3]}",
        f"{head}Content-Length: {token}\r\n\r\n",
        f"{head}X: {token}",
        f"{head}Transfer-Encoding: chunked\r\n\r\n{token}\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(text.encode())
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass


@pytest.mark.parametrize(
    ("debug", "faults"), [(False, ""), (True, "500:0.1,cut:0.1,lost:0.1,reset:0.1,garbage:0.1,next-repeats:0.1")]
)
def test_no_record_holds_a_token(records, monkeypatch, faults: str, *, debug: bool) -> None:
    """With the root logger at level 1 and every logger enabled, no record of the service holds a token or secret."""
    if debug:  # asyncio logs every callback that it runs, with its arguments
        monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
        never_slow = property(lambda _loop: 0.0, lambda *_: None)
        monkeypatch.setattr(asyncio.BaseEventLoop, "slow_callback_duration", never_slow, raising=False)
    with SandboxServer(people=3, years=1) as server:
        logging.getLogger("uvicorn.access").addHandler(records)  # the server's start has removed all others
        secrets = use(server)
        server.faults = faults
        for _ in range(20):
            with contextlib.suppress(requests.RequestException):
                requests.get(f"{server.base_url}/payments", params={"access_token": secrets[-2]}, timeout=10).close()
    assert any("uvicorn" in text for text in records.texts), "the web server's own records are seen by this test"
    assert any("Executing" in text for text in records.texts) == debug
    for secret in secrets:
        for form in (secret, secret[::-1], quote(secret), secret[:20]):
            assert not [text for text in records.texts if form in text]


def test_a_handshake_is_an_ordinary_request(caplog) -> None:
    """There are no websockets: a request to upgrade passes the same checks and has the same answer as any other."""
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    with SandboxServer(people=3, years=1) as server:
        address, query = f"{server.base_url}/me", {"access_token": server.token(server.viewer)}
        plain, upgraded, elsewhere = (
            requests.get(address, params=query, headers=headers, timeout=10)
            for headers in ({}, upgrade, upgrade | {"Host": "example.net"})
        )
        assert (plain.status_code, elsewhere.status_code, len(server.requests)) == (200, 400, 3)
        assert (upgraded.status_code, upgraded.content) == (200, plain.content)
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_a_process_that_debugs_its_http(monkeypatch, capfd) -> None:
    """The played browser prints no token where every connection of the process prints what goes over it."""
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    with SandboxServer(people=3, years=1) as server:
        landed = server.sign_in(server.authorize_url(), server.viewer)
    assert "?access_token=" in landed
    assert capfd.readouterr() == ("", "")
