"""What several tests share: a scripted service, and isolation from the user's own settings."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator


_PROXIES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
_PROXIES += [name.upper() for name in _PROXIES]


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep every test away from the environment's tokens, addresses, proxies, caches, sign-ins and keyring."""
    names = ("ACCESS_TOKEN", "BASE_URL", "CLIENT_ID", "CLIENT_SECRET", "PRIVACY")
    for name in (*(f"P2P_{name}" for name in names), *_PROXIES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("P2P_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "p2p"))
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path_factory.mktemp("state") / "p2p"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


class ScriptedService:
    """A loopback service that answers as each test says, and remembers what it was asked.

    ``answer(path, parameters)`` returns a body (a dict is sent as JSON), or a tuple of status,
    headers and body, or a function that is given the connection and does with it what it likes.
    ``asked`` holds the path and parameters of each request, in order. The parameters of a POST or
    PUT are its form fields, and its path is the whole address after the method: "POST /v1/payments".
    What ``unread`` is set to is given the connection of a POST or PUT before its body is read.
    """

    def __init__(self, answer: Callable[[str, dict[str, str]], Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.unread: Callable[[socket.socket], None] | None = None
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 2**16  # head and body in one packet, or each answer waits for an acknowledgement

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                address = urlsplit(self.path)
                self._answer(address.path, dict(parse_qsl(address.query, keep_blank_values=True)))

            def do_POST(self) -> None:
                path = f"{self.command} {self.path}"
                if service.unread is not None:
                    service.asked.append((path, {}))
                    service.unread(self.connection)
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer(path, dict(parse_qsl(body, keep_blank_values=True)))

            def do_PUT(self) -> None:
                self.do_POST()

            def _answer(self, path: str, parameters: dict[str, str]) -> None:
                service.asked.append((path, parameters))
                service.headers.append(dict(self.headers))
                found = service.answer(path, parameters)
                if callable(found):
                    found(self.connection)
                    self.close_connection = True
                    return
                status, headers, body = found if isinstance(found, tuple) else (200, {}, found)
                payload = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(payload)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def scripted() -> Iterator[Callable[[Callable[[str, dict[str, str]], Any]], ScriptedService]]:
    """Return a function that starts a scripted service; all are stopped after the test."""
    services: list[ScriptedService] = []

    def start(answer: Callable[[str, dict[str, str]], Any]) -> ScriptedService:
        services.append(ScriptedService(answer))
        return services[-1]

    yield start
    for service in services:
        service.close()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write down which kind of fault a test is a cell of."""
    item.user_properties.extend(("fault", mark.args[0]) for mark in item.iter_markers("fault"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one row for each kind of fault."""
    cells: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            cells.update((kind, outcome) for name, kind in report.user_properties if name == "fault")
    if cells:
        terminalreporter.section("fault matrix")
        for kind in sorted({kind for kind, _ in cells}):
            right, wrong = cells[kind, "passed"], cells[kind, "failed"]
            terminalreporter.write_line(f"{kind:<8}{right + wrong:>4} cells, {right} right, {wrong} wrong")
