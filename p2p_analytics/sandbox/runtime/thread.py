"""A web server in a thread of this process, on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from p2p_analytics.errors import describe_os_error
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.runtime.protocol import Protocol

HOST: Final = "127.0.0.1"
_THREAD: Final = "p2p-sandbox"
_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 2  # for requests in flight


@contextlib.contextmanager
def listen(port: int) -> Iterator[socket.socket]:
    """Listen on a loopback port; 0 chooses a free one. Connections wait until the server runs."""
    # Named TCP, so that asyncio turns Nagle's algorithm off: it would add 40 ms to each answer.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # a port that is only bound can be bound again
        except (OSError, OverflowError, TypeError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else "there is no such port"
            raise SettingError(
                f"Port {port} cannot be used ({reason}): choose another with --port, or 0 for any free one."
            ) from None
        yield listener


@contextlib.contextmanager
def run_server(
    application: ASGIApp, listener: socket.socket, request_seconds: float
) -> Iterator[asyncio.AbstractEventLoop]:
    """Serve in a daemon thread until the end of the block; yield its event loop when requests are accepted.

    A connection that delivers no whole request within `request_seconds` is closed.
    """
    config = uvicorn.Config(
        application,
        # On h11, which bounds the size of headers.
        http=functools.partial(Protocol, request_seconds=request_seconds),  # type: ignore[arg-type] # it is only called
        ws="none",  # not used, and the library logs the headers of a handshake
        proxy_headers=False,  # otherwise clients could choose the address that they are counted by
        access_log=False,  # its lines contain the token
        log_config=None,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_relevant)
    # The process's own log configuration is not replaced, and may have a handler on the access log. At level TRACE the
    # others log query and headers of each request, and parts of its body. All of these can contain a token.
    for name in ("uvicorn.access", "uvicorn.asgi", "python_multipart.multipart"):
        logging.getLogger(name).addFilter(_is_of_another_thread)
    server = uvicorn.Server(config)
    loop = asyncio.new_event_loop()

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(server.serve(sockets=[listener]))

    thread = threading.Thread(target=serve, name=_THREAD, daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            server.should_exit = True
            raise SettingError(f"The sandbox's server did not start within {_START_SECONDS:.0f} seconds: try again.")
        time.sleep(0.005)
    try:
        yield loop
    finally:
        server.should_exit = True
        thread.join(_STOP_SECONDS)


def _is_relevant(record: logging.LogRecord) -> bool:
    """Drop records about requests that a stop cancels, and about upgrade requests.

    Cancelling requests is the purpose of a stop, and an upgrade request is answered like any other.
    """
    if _is_of_another_thread(record):
        return True
    cut = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut and not str(record.msg).startswith(("Cancel ", "Unsupported upgrade", "No supported WebSocket"))


def _is_of_another_thread(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD
