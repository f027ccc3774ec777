"""The server as a context manager and as a foreground command: its start, its end, and what it leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.errors import SandboxError
from p2p_analytics.sandbox.runtime import middleware
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]


def running_servers() -> int:
    """Return how many sandboxes of this process are running."""
    return sum(thread.name == "p2p-sandbox" for thread in threading.enumerate())


def test_what_a_running_sandbox_tells(ask: Asking, default_server: SandboxServer) -> None:
    """The base URL is loopback and ends in /v1; the viewer comes first among the people; now is the town's."""
    address = urlsplit(default_server.base_url)
    assert (address.scheme, address.hostname, address.path) == ("http", "127.0.0.1", "/v1")
    assert default_server.people[0].username == default_server.viewer == "maya-lindqvist"
    assert len(default_server.people) == 12
    assert default_server.now.isoformat() == "2025-06-30T18:00:00+00:00"
    other = default_server.people[3].user_id  # a token can be asked for by user id as well
    assert ask(other).get_body("/me")["data"]["user"]["id"] == other


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the block the port refuses, the thread has ended and the temporary folder is gone, also after an error.

    A client that keeps its connection open does not delay the end.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads = running_servers()
    server = SandboxServer(people=3, years=1)
    with requests.Session() as session, contextlib.suppress(ZeroDivisionError), server:
        assert running_servers() == threads + 1
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        session.get(f"{server.base_url}/me", timeout=5)
        raise ZeroDivisionError
    assert (list(tmp_path.iterdir()), running_servers()) == ([], threads)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port), timeout=2)
    with pytest.raises(SettingError, match="not running"):
        _ = server.store


def test_settings_that_cannot_be(tmp_path: Path, default_server: SandboxServer) -> None:
    """A taken port, a folder that is not there, odd numbers and none: one sentence each, and nothing keeps running."""
    threads = running_servers()
    taken = urlsplit(default_server.base_url).port
    odd = [{"port": 70_000}, {"latency": -1}, {"people": 1}]
    none = [{"seed": "a"}, {"seed": 1.5}, {"people": "3"}, {"years": 1.5}, {"port": "x"}]
    for settings in ({"port": taken}, {"db": tmp_path / "no" / "db"}, *odd, *none):
        with pytest.raises(SettingError, match=r"\.$"), SandboxServer(**settings):
            pass
    assert running_servers() == threads


def test_an_unknown_person(default_server: SandboxServer) -> None:
    """An unknown person is a ValueError with one sentence that names existing people."""
    made = [{"date_created": default_server.now, "actor": "x"}]
    for call in (
        lambda: default_server.token("nobody"),
        lambda: default_server.token("1"),
        lambda: default_server.add_payments("nobody", []),
        lambda: default_server.add_payments(default_server.viewer, made),
    ):
        with pytest.raises(
            UnknownPersonError, match=r"^No person of this town has the username .*maya-lindqvist.*\.$"
        ) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, SandboxError)
    with pytest.raises(SettingError, match="access_profile"):  # a scope outside the document
        default_server.token(default_server.viewer, "read_minds")


def test_a_second_start_is_refused(ask: Asking) -> None:
    """A running sandbox cannot be started again, which leaves it as it is; a stopped one can, also a failed one."""
    server = SandboxServer(people=3, years=1).start()
    try:
        base_url, threads = server.base_url, running_servers()
        with pytest.raises(SettingError, match="running already"):
            server.start()
        with pytest.raises(SettingError, match="running already"), server:
            pass
        assert (server.base_url, running_servers()) == (base_url, threads)
        assert ask(on=server).get("/me").status_code == 200
        taken = SandboxServer(people=3, years=1, port=urlsplit(base_url).port)
        with pytest.raises(SettingError, match="Port"):
            taken.start()
    finally:
        server.stop()
    with taken:
        assert taken.viewer == "maya-lindqvist"


def test_its_repr() -> None:
    """Which town, and where it answers while it does; no token."""
    server = SandboxServer(8, people=3, years=1)
    assert repr(server) == "<SandboxServer of seed 8: not running>"
    with server:
        token = server.token(server.viewer)
        assert repr(server) == f"<SandboxServer of seed 8: {server.base_url}>"
        server.reset(seed=9)
        assert repr(server).startswith("<SandboxServer of seed 9: http://127.0.0.1:")
        assert token not in repr(server)
    assert repr(server) == "<SandboxServer of seed 9: not running>"


def test_before_the_start_and_after_the_end() -> None:
    """A server that does not run yet, or any longer, raises SettingError; its store is closed for good."""
    server = SandboxServer(people=3, years=1)
    for _ in range(2):
        for call in (lambda: server.token("maya-lindqvist"), lambda: server.expire("none")):
            with pytest.raises(SettingError, match="not running"):
                call()
        with server:
            store = server.store
        with pytest.raises(SettingError, match="closed"):
            store.people()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files")
def test_threads_that_end_give_their_files_back() -> None:
    """50 threads, one after the other, leave no more open files than a few."""

    def count_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    with SandboxServer(people=3, years=1) as own:
        before = count_files()
        for _ in range(50):
            thread = threading.Thread(target=own.token, args=(own.viewer,))
            thread.start()
            thread.join()
        assert count_files() <= before + 10


@pytest.mark.parametrize(
    "ending",
    [
        "with server:\n    ask()",  # a request is in flight at the end of the block
        "server.start()\nask()\ndel server\ngc.collect()\ntime.sleep(0.2)",  # never stopped, and not referenced
    ],
)
def test_every_ending_is_quiet(tmp_path: Path, ending: str) -> None:
    """However a sandbox ends, with a request in flight or because Python ends: nothing printed, nothing left."""
    code = (
        "import asyncio, gc, socket, time\n"
        "from urllib.parse import urlsplit\n"
        "from p2p_analytics.sandbox import SandboxServer\n"
        "server = SandboxServer(people=3, years=1, latency=30)\n"
        "def ask():\n"
        "    global line\n"
        "    idle = len(asyncio.all_tasks(server._loop))\n"
        "    line = socket.create_connection(('127.0.0.1', urlsplit(server.base_url).port))\n"
        "    line.sendall(b'GET /v1/me HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')\n"
        "    while len(asyncio.all_tasks(server._loop)) == idle:\n"
        "        time.sleep(0.005)\n" + ending
    )
    ended = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_goes_away_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A connection that ends in the middle of a body leaves no traceback."""
    with SandboxServer(people=3, years=1) as own:
        address, idle = urlsplit(own.base_url), len(asyncio.all_tasks(own._loop))
        for path in ("/payments", "/oauth/access_token", "/oauth/sign-in"):
            head = f"POST /v1{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nab"
            with socket.create_connection((address.hostname, address.port), timeout=5) as client:
                client.sendall(head.encode())
                wait_until(lambda: len(asyncio.all_tasks(own._loop)) > idle)
            wait_until(lambda: len(asyncio.all_tasks(own._loop)) == idle)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_the_end_of_the_calendar() -> None:
    """The clock stays before the year 9000, so that writes and the end of the sandbox still find their moment."""
    with SandboxServer(people=3, years=1) as own:
        for far in (datetime.max.replace(tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)):
            with pytest.raises(SettingError, match="year 9000"):
                own.advance(far - own.now)
        with pytest.raises(SettingError, match="cannot go that far"):
            own.advance(days=10**9)
        own.advance(datetime(8999, 12, 31, tzinfo=UTC) - own.now)
        assert own.now.year == 8999


def test_an_end_with_a_broken_database_still_ends() -> None:
    """Whatever is wrong with the clock on the way out, the server stops."""
    threads = running_servers()
    own = SandboxServer(people=3, years=1).start()
    with own.store.writing() as connection:
        connection.execute("UPDATE clock SET now_us = ?", (2**62,))
    with pytest.raises(OverflowError):
        own.stop()
    assert running_servers() == threads
    own.stop()


def test_latency(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latency delays each answer, and requests wait side by side."""
    waiting, waits = asyncio.Barrier(4), []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await waiting.wait()

    # The module has its own name for asyncio, so the server's other waits stay.
    monkeypatch.setattr(middleware, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": sleep}))
    with SandboxServer(people=3, years=1, latency=0.2) as own:
        clients = [ask(on=own) for _ in range(4)]
        threads = [threading.Thread(target=client.get, args=("/me",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in clients:
            client.session.close()
    assert waits == [0.2] * 4


def test_serve_until_terminated(tmp_path: Path) -> None:
    """The foreground command prints where it is and how to get a token; SIGTERM ends it quietly, as Ctrl-C does."""
    code = "from p2p_analytics.sandbox import serve; serve(0, people=3, years=1)"
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            lines = [process.stdout.readline() for _ in range(8)]
            assert requests.get(f"{lines[0].split()[-1]}/me", timeout=5).status_code == 401
            assert "maya-lindqvist" in lines[1]
            assert "/v1/oauth/authorize?client_id=" in lines[3]
            assert lines[-1] == "Stop with Ctrl-C.\n"
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []
