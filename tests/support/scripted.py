"""Loopback service with scripted answers."""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest


class ScriptedService:
    """A loopback service that answers as a test scripts it, and records the requests.

    ``answer(path, parameters)`` returns a body (a dict is sent as JSON), or a tuple of status, headers and body, or a
    function that is called with the connection instead of an answer. ``asked`` holds the path and parameters of each
    request, in order. The parameters of a POST or PUT are its form fields, and its path is the method and the whole
    address: "POST /v1/payments". If ``unread`` is set, it is called with the connection of a POST or PUT before the
    body is read, instead of ``answer``.
    """

    def __init__(self, answer: Callable[[str, dict[str, str]], Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.unread: Callable[[socket.socket], None] | None = None
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 2**16  # head and body in one packet; otherwise each answer waits for an acknowledgement

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

            do_PUT = do_POST  # noqa: N815 - the name that http.server looks for

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
def start_service() -> Iterator[Callable[..., ScriptedService]]:
    """Return a function that starts a scripted service; all of them stop after the test."""
    with contextlib.ExitStack() as running:
        yield lambda answer: running.enter_context(contextlib.closing(ScriptedService(answer)))


def hang_up(connection: socket.socket) -> None:
    """Close a connection in order, without an answer."""
    connection.shutdown(socket.SHUT_RDWR)


def reset(connection: socket.socket) -> None:
    """Close a connection with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
