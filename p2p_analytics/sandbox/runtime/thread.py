"""A web server in a thread of this process, on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import describe_os_error
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

HOST: Final = "127.0.0.1"
_THREAD: Final = "p2p-sandbox"
_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0


@contextlib.contextmanager
def listen(port: int) -> Iterator[socket.socket]:
    """Hold a loopback port; 0 is any free one."""
    # Named TCP, so that asyncio turns Nagle's algorithm off: it would add 40 ms to each answer.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError, TypeError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else "there is no such port"
            raise SettingError(
                f"Port {port} cannot be used ({reason}); choose another, or 0 for any free one."
            ) from None
        yield listener


@contextlib.contextmanager
def run_server(application: ASGIApp, listener: socket.socket) -> Iterator[asyncio.AbstractEventLoop]:
    """Serve in a daemon thread, from the moment that it answers until the end of the block; give its event loop."""
    import uvicorn

    from p2p_analytics.sandbox.faults.connection import Protocol

    # No access log: its lines would hold the token. No log configuration: the process's own stays as it is, and
    # may have a handler on that very logger, so the lines are refused at the logger too.
    config = uvicorn.Config(
        application,
        http=Protocol,  # on h11, which bounds the size of headers
        ws="none",  # there are no websockets, and their library logs the headers of a handshake
        proxy_headers=False,  # or whoever asks could name the address that they are counted by
        access_log=False,
        log_config=None,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    logging.getLogger("uvicorn.access").addFilter(_holds_no_token)
    logging.getLogger("uvicorn.error").addFilter(_is_worth_knowing)
    # The first logs each request with its query and headers where the level is TRACE, the second parts of its body.
    for name in ("uvicorn.asgi", "python_multipart.multipart"):
        logging.getLogger(name).addFilter(_is_not_ours)
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
            raise SettingError("The sandbox's server did not start.")
        time.sleep(0.005)
    try:
        yield loop
    finally:
        server.should_exit = True
        thread.join(_STOP_SECONDS)


def _is_worth_knowing(record: logging.LogRecord) -> bool:
    """Pass records but those of requests that a stop cuts off, or that ask for a protocol that is not spoken.

    Whoever stops a sandbox means to end its requests too, and a request to upgrade is answered like any other.
    """
    if record.threadName != _THREAD:
        return True
    cut = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut and not str(record.msg).startswith(("Cancel ", "Unsupported upgrade", "No supported WebSocket"))


def _is_not_ours(record: logging.LogRecord) -> bool:
    """Pass records of other threads than a sandbox's, which may hold a token; its answer says what is wrong."""
    return record.threadName != _THREAD


def _holds_no_token(record: logging.LogRecord) -> bool:
    return TOKEN_PARAMETER not in record.getMessage()
