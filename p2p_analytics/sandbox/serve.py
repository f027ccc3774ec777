"""The sandbox in the foreground of a shell."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from p2p_analytics.sandbox.server import SandboxServer
from p2p_analytics.sandbox.town import build


def serve(  # noqa: PLR0913 - each is one option of the command
    port: int = 8400,
    *,
    db: str | Path | None = None,
    seed: int = build.SEED,
    people: int | None = None,
    years: int | None = None,
    latency: float = 0.0,
    dialect: str = "documented",
    strict_redirect: bool = False,
    rate_limit: tuple[int, float] | None = None,
    faults: str = "",
    rate_limit_status: int = 429,
) -> None:
    """Run a sandbox in the foreground until Ctrl-C or SIGTERM; the settings are the ones of `SandboxServer`.

    Prints the base URL, a few usernames, the client id, the authorization address, and the command that signs in.
    """
    sandbox = SandboxServer(
        seed,
        people=people,
        years=years,
        port=port,
        db=db,
        latency=latency,
        dialect=dialect,
        strict_redirect=strict_redirect,
        rate_limit=rate_limit,
        faults=faults,
        rate_limit_status=rate_limit_status,
    )
    with _interrupt_on_signals(), contextlib.suppress(KeyboardInterrupt), sandbox as server:
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
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
