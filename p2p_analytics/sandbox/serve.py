"""The sandbox in the foreground of a shell."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from p2p_analytics.sandbox.server import SandboxServer


def serve(port: int = 8400, **settings: Any) -> None:  # noqa: ANN401 - as SandboxServer declares them
    """Run a sandbox in the foreground until Ctrl-C or SIGTERM; the settings are the ones of `SandboxServer`.

    Prints the base URL, a few usernames, the client id, the authorization address, and the command that signs in.
    """
    with (
        _interrupt_on_signals(),
        contextlib.suppress(KeyboardInterrupt),
        SandboxServer(port=port, **settings) as server,
    ):
        names = ", ".join(one.username for one in server.people[:5])
        print(  # noqa: T201 - the command's output
            f"Base URL     {server.base_url}\n"
            f"People       {names} ({len(server.people)} in all)\n"
            f"Client id    {server.client_id}\n"
            f"For a token  open {server.authorize_url()}\n"
            "             and read access_token in the address you are sent to; nothing needs to answer there\n"
            f"To sign in   p2p-analytics login --base-url {server.base_url} --client-id {server.client_id}\n"
            f"Your own app open {server.base_url}/account/developer to register it\n"
            "Stop with Ctrl-C.",
            flush=True,
        )
        threading.Event().wait()


@contextlib.contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the temporary folder is removed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # not on Windows
    before = {name: signal.signal(getattr(signal, name), interrupt) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
