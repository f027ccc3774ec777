"""What several tests share: a scripted service, and isolation from the user's own settings."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_PROXIES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
_PROXIES += [name.upper() for name in _PROXIES]


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep every test away from the environment's tokens, addresses, proxies and caches."""
    for name in ("P2P_ACCESS_TOKEN", "P2P_BASE_URL", "P2P_CLIENT_ID", *_PROXIES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("P2P_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "p2p"))


class ScriptedService:
    """A loopback service that answers as each test says, and remembers what it was asked.

    ``answer(path, parameters)`` returns a body (a dict is sent as JSON), or a tuple of status,
    headers and body. ``asked`` holds the path and parameters of each request, in order.
    """

    def __init__(self, answer: Callable[[str, dict[str, str]], Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                address = urlsplit(self.path)
                parameters = dict(parse_qsl(address.query, keep_blank_values=True))
                service.asked.append((address.path, parameters))
                service.headers.append(dict(self.headers))
                found = service.answer(address.path, parameters)
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
